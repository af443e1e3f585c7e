//! Reads shapes from a JSON tree.
//!
//! `serde_json` can do this too, but compiles more code for each shape, because it also reads a struct from an array
//! and can borrow from its input. A phone downloads the code of every shape it reads, so this reader is as small as
//! possible.

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Error, Map, Value};

/// A JSON value that a shape is read from.
pub(crate) struct Tree(pub(crate) Value);

#[cold]
#[inline(never)]
fn wrong(found: &Value, expected: &dyn Expected) -> Error {
    let found = match found {
        Value::Null => Unexpected::Unit,
        Value::Bool(truth) => Unexpected::Bool(*truth),
        Value::Number(number) => Unexpected::Float(number.as_f64().unwrap_or_default()),
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    Error::invalid_type(found, expected)
}

impl<'de> Deserializer<'de> for Tree {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(truth),
            Value::Number(_) => self.deserialize_i64(visitor),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(Items(items.into_iter())),
            Value::Object(members) => visitor.visit_map(Members::of(members)),
        }
    }
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Value::Number(number) = &self.0 else { return Err(wrong(&self.0, &visitor)) };
        match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => visitor.visit_u64(number),
            (None, Some(number)) => visitor.visit_i64(number),
            (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
        }
    }
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }
    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }
    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }
    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_i64(visitor)
    }
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Bool(truth) => visitor.visit_bool(truth),
            other => Err(wrong(&other, &visitor)),
        }
    }
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            other => Err(wrong(&other, &visitor)),
        }
    }
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_string(visitor)
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _name: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => visitor.visit_seq(Items(items.into_iter())),
            other => Err(wrong(&other, &visitor)),
        }
    }
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Error> {
        match &self.0 {
            Value::Array(items) if items.len() != length => Err(Error::invalid_length(items.len(), &visitor)),
            _ => self.deserialize_seq(visitor),
        }
    }
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Object(members) => visitor.visit_map(Members::of(members)),
            other => Err(wrong(&other, &visitor)),
        }
    }
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let one = match self.0 {
            Value::String(tag) => Some((tag, Value::Null)),
            Value::Object(members) if members.len() == 1 => members.into_iter().next(),
            _ => None,
        };
        match one {
            Some((tag, content)) => visitor.visit_enum(Tagged { tag, content }),
            None => Err(Error::custom("must be a word, or an object of one member")),
        }
    }
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
    forward_to_deserialize_any! {
        i8 i16 i32 i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple_struct
    }
}

struct Items(std::vec::IntoIter<Value>);

impl<'de> SeqAccess<'de> for Items {
    type Error = Error;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.0.next().map(|item| seed.deserialize(Tree(item))).transpose()
    }
    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

struct Members {
    rest: serde_json::map::IntoIter,
    value: Value,
}

impl Members {
    fn of(members: Map<String, Value>) -> Self {
        Self { rest: members.into_iter(), value: Value::Null }
    }
    #[inline(never)]
    fn next_name(&mut self) -> Option<String> {
        let (name, value) = self.rest.next()?;
        self.value = value;
        Some(name)
    }
}

impl<'de> MapAccess<'de> for Members {
    type Error = Error;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next_name().map(|name| seed.deserialize(Tree(Value::String(name)))).transpose()
    }
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(Tree(self.value.take()))
    }
}

/// An enum's variant by its tag, with the variant's content.
///
/// Serde's own reader for tagged objects has a deserializer type of its own. So it compiles the code of every shape
/// inside the object a second time.
pub(crate) struct Tagged {
    tag: String,
    content: Value,
}

impl Tagged {
    /// Reads an object that carries its tag as `member`.
    pub(crate) fn read<'de, D: Deserializer<'de>>(source: D, member: &'static str) -> Result<Self, D::Error> {
        let mut rest = Map::deserialize(source)?;
        match rest.remove(member) {
            Some(Value::String(tag)) => Ok(Self { tag, content: Value::Object(rest) }),
            Some(_) => Err(D::Error::custom(format_args!("{member} must be a string"))),
            None => Err(D::Error::missing_field(member)),
        }
    }
}

impl<'de> Deserializer<'de> for Tagged {
    type Error = Error;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_enum(self)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> EnumAccess<'de> for Tagged {
    type Error = Error;
    type Variant = Tree;
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Tree), Error> {
        let tag: StringDeserializer<Error> = self.tag.into_deserializer();
        Ok((seed.deserialize(tag)?, Tree(self.content)))
    }
}

impl<'de> VariantAccess<'de> for Tree {
    type Error = Error;
    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }
    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }
    fn struct_variant<V: Visitor<'de>>(self, _fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }
}

/// Declares an enum with its JSON: an object tagged by the member `$tag`, variants in snake_case. The enum's name
/// stands twice because serde wants it as a literal.
macro_rules! tagged {
    ($tag:literal $twin:literal: $(#[$meta:meta])* pub enum $name:ident { $($body:tt)* }) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        #[serde(tag = $tag, rename_all = "snake_case")]
        pub enum $name { $($body)* }

        const _: () = {
            #[derive(serde::Deserialize)]
            #[serde(remote = $twin, rename_all = "snake_case")]
            enum Twin { $($body)* }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                    Twin::deserialize($crate::wire::tree::Tagged::read(source, $tag)?).map_err(serde::de::Error::custom)
                }
            }
        };
    };
}
pub(crate) use tagged;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::engine::{Input, Now};
    use crate::wire::journal::Entry;

    fn by_tree<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, String> {
        let tree = serde_json::from_str(json).map_err(|error| error.to_string())?;
        T::deserialize(Tree(tree)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tree_reads_as_the_text_does() {
        let input = r#"{"type":"count","scan_id":"a","count":2}"#;
        assert_eq!(by_tree::<Input>(input).unwrap(), serde_json::from_str::<Input>(input).unwrap());
        let now = format!(r#"{{"wall_ms":-5,"mono_ms":7,"random":{:?},"more":[1]}}"#, [9; 32]);
        assert_eq!(by_tree::<Now>(&now), Ok(Now { wall_ms: -5, mono_ms: 7, random: [9; 32] }));
        let row = r#"{"t":"received","epoch":null,"serial":3,"seqs":[[1,2],[4,4]],"at_ms":9}"#;
        let received = Entry::Received { epoch: None, serial: 3, seqs: vec![(1, 2), (4, 4)], held: false, at_ms: 9 };
        assert_eq!(by_tree::<Entry>(row), Ok(received));
        assert_eq!(by_tree::<Input>(r#"{"type":"tick","more":1}"#), Ok(Input::Tick));
        assert_eq!(by_tree::<Entry>(r#"{"t":"of_tomorrow","a":{}}"#), Ok(Entry::Unknown));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (json, says) in [
            (r#"{"count":2}"#, "missing field `type`"),
            (r#"{"type":5}"#, "type must be a string"),
            (r#"{"type":"dance"}"#, "unknown variant"),
            (r#"{"type":"count","scan_id":"a","count":"two"}"#, "invalid type: string \"two\""),
            (r#"{"type":"count","scan_id":"a","count":-2}"#, "invalid value"),
            (r#"{"type":"count","scan_id":{},"count":2}"#, "invalid type: map"),
            (r#"{"type":"count","scan_id":"a"}"#, "missing field `count`"),
        ] {
            let error = by_tree::<Input>(json).unwrap_err();
            assert!(error.contains(says), "{json}: {error}");
        }
        assert!(by_tree::<Now>(r#"{"wall_ms":1,"mono_ms":1,"random":[1,2]}"#).is_err());
        assert!(by_tree::<Now>("[1,1]").is_err());
    }
}
