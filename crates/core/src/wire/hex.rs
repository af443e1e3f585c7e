//! Byte strings as lower-case hexadecimal: `#[serde(with = "hex")]` for `[u8; N]`, `hex::option` for an optional one.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::Serializer;

use crate::barcode;

pub(crate) fn serialize<S: Serializer, const N: usize>(bytes: &[u8; N], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&barcode::hex(bytes))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(deserializer: D) -> Result<[u8; N], D::Error> {
    let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
    barcode::unhex(&text)
        .ok_or_else(|| D::Error::custom(format_args!("must be {} lower-case hexadecimal digits", N * 2)))
}

/// Hexadecimal text for `Option<[u8; N]>`. `null` or an absent member is `None`.
pub(crate) mod option {
    use super::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer, const N: usize>(
        bytes: &Option<[u8; N]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match bytes {
            Some(bytes) => super::serialize(bytes, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, const N: usize>(
        deserializer: D,
    ) -> Result<Option<[u8; N]>, D::Error> {
        struct Bytes<const N: usize>([u8; N]);
        impl<'de, const N: usize> Deserialize<'de> for Bytes<N> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                super::deserialize(deserializer).map(Self)
            }
        }
        Ok(Option::<Bytes<N>>::deserialize(deserializer)?.map(|bytes| bytes.0))
    }
}
