//! Arrays that a sender may not make as long as they like.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

/// Reads an array of at most `MOST` items, for `#[serde(deserialize_with)]`. What lies beyond is never held: items take many
/// times the bytes they came in, so that counting them afterwards would be too late.
pub fn at_most<'de, const MOST: usize, T, D>(source: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    source.deserialize_seq(Items::<MOST, T>(PhantomData))
}

struct Items<const MOST: usize, T>(PhantomData<T>);

impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for Items<MOST, T> {
    type Value = Vec<T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut out = Vec::new();
        while out.len() < MOST {
            match items.next_element()? {
                Some(item) => out.push(item),
                None => return Ok(out),
            }
        }
        if items.next_element::<IgnoredAny>()?.is_some() {
            return Err(A::Error::custom(format_args!("must hold at most {MOST} items")));
        }
        Ok(out)
    }
}
