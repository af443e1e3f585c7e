//! Reads arrays whose length is bounded, whatever the sender sends.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

/// Reads an array of at most `most` items. Errors call the items `what`. Reading stops at the first item too many.
/// Items take many times their bytes in memory, so counting them afterwards would be too late.
pub fn at_most<'de, T, D>(source: D, most: usize, what: &'static str) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    source.deserialize_seq(Items { most, what, of: PhantomData })
}

struct Items<T> {
    most: usize,
    what: &'static str,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
    type Value = Vec<T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut out = Vec::new();
        while out.len() < self.most {
            match items.next_element()? {
                Some(item) => out.push(item),
                None => return Ok(out),
            }
        }
        if items.next_element::<IgnoredAny>()?.is_some() {
            let Self { most, what, .. } = self;
            return Err(A::Error::custom(format_args!("must hold at most {most} {what}")));
        }
        Ok(out)
    }
}
