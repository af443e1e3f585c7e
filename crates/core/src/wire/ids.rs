//! The JSON form of identifiers, times, hashes and values of a closed list, such as `draft`. Each is a string that is
//! checked as it is read. So an error names the field that is wrong.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

/// Writes a text as a JSON string. Three dozen types share this function, so that the compiler does not repeat its code
/// for each.
#[inline(never)]
pub(super) fn put<S: Serializer>(to: S, text: &str) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

macro_rules! as_text {
    ($text:ident: $($path:path),* $(,)?) => {$(
        impl Serialize for $path {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::wire::ids::put(serializer, &self.$text())
            }
        }
        impl<'de> Deserialize<'de> for $path {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $path;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a string")
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    )*};
}
pub(super) use as_text;

as_text! {
    as_str: crate::ids::OrganizationId, crate::ids::UserId, crate::ids::EventId, crate::ids::GateId, crate::ids::TicketId,
    crate::ids::GuestId, crate::ids::GuestListId, crate::ids::EntryTypeId, crate::ids::DeviceId, crate::ids::ScanId,
    crate::ids::BatchId, crate::ids::LogId, crate::ids::KeyId, crate::ids::IncidentId,
    crate::event::BarcodeKind, crate::event::EventStatus, crate::event::ReEntry, crate::gate::Direction, crate::gate::EntryRule,
    crate::ticket::TicketStatus,
    crate::scan::ScanKind, crate::scan::Stage, crate::scan::Method, crate::scan::Outcome, crate::scan::Form,
    crate::scan::SignatureState, crate::scan::PersonClass, crate::review::Decision, crate::decide::Reason, crate::decide::Advice,
    crate::decide::Screen, crate::reduce::ConflictReason, crate::reduce::LeftOut,
    crate::incident::IncidentKind, crate::incident::Severity, crate::incident::Role,
}
as_text! {
    to_string: crate::barcode::BarcodeHash, crate::rule::Epoch,
}

crate::words::described!(crate::barcode::BarcodeHash, &[]);
crate::words::described!(crate::rule::Epoch, &[]);
crate::words::described!(crate::time::Timestamp, &[], DateTime);

impl Serialize for crate::time::Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for crate::time::Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

impl Serialize for crate::event::Days {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.begin().serialize(serializer)
    }
}
impl<'de> Deserialize<'de> for crate::event::Days {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        super::bounded::at_most(deserializer, crate::limits::DAYS, "days").map(Self::new)
    }
}

impl Serialize for crate::event::ZoneLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.zones().serialize(serializer)
    }
}
impl<'de> Deserialize<'de> for crate::event::ZoneLimits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Deserialize::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for crate::scan::Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&crate::barcode::hex(&self.0))
    }
}
impl<'de> Deserialize<'de> for crate::scan::Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        crate::barcode::unhex(&text).map(Self).ok_or_else(|| D::Error::custom("must be 64 hexadecimal digits"))
    }
}
