//! Identifiers: opaque printable ASCII of 1–128 characters (spec D2). Admit makes UUIDs, and clients may send other
//! ids. A scan has a dozen of them and is copied often, so a copy of an identifier shares its text.

use std::fmt;
use std::sync::Arc;

/// The error for a text that is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 printable ASCII characters without spaces")]
pub struct IdError;

fn check(text: &str) -> Result<(), IdError> {
    let ok = (1..=crate::limits::ID_CHARS).contains(&text.len()) && text.bytes().all(|b| (0x21..=0x7e).contains(&b));
    if ok { Ok(()) } else { Err(IdError) }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a text as an identifier. Fails unless it is 1–128 printable ASCII characters.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                text.into().parse()
            }
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        crate::words::described!($name, &[]);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }
        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                check(text)?;
                Ok(Self(text.into()))
            }
        }
    )*};
}
// `crate::wire::ids` gives each of these types its JSON form.
ids! {
    /// An organisation, the owner of all data. The server takes the id from the credential, never from the request
    /// (spec §3).
    OrganizationId,
    /// A person who signs in.
    UserId,
    /// An event that people need a ticket for.
    EventId,
    /// A gate, by its slug such as `north-main` (spec §3).
    GateId,
    /// A ticket.
    TicketId,
    /// A guest.
    GuestId,
    /// A guest list of a promoter.
    GuestListId,
    /// An entry type (zone).
    EntryTypeId,
    /// A scanning device.
    DeviceId,
    /// A scan. The id is unique only within the device that made the scan (spec D2).
    ScanId,
    /// An upload batch. The id is unique within organisation, device and endpoint (spec D2).
    BatchId,
    /// A device's log: 128 random bits, drawn when the device makes an empty journal (spec §3).
    LogId,
    /// The key a signature was made under (spec D4).
    KeyId,
    /// An incident in the review queue.
    IncidentId,
}

/// The 16 bytes of a UUID in lower case with its four dashes, the form that Admit writes. `None` for any other text.
pub fn uuid_to_bytes(text: &str) -> Option<[u8; 16]> {
    if text.len() != uuid::fmt::Hyphenated::LENGTH {
        return None;
    }
    let uuid = uuid::Uuid::try_parse(text).ok()?;
    (uuid.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()) == text).then(|| uuid.into_bytes())
}
/// Writes 16 bytes as the text that [`uuid_to_bytes`] reads.
pub fn uuid_of_bytes(bytes: [u8; 16]) -> String {
    uuid::Uuid::from_bytes(bytes).hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()).to_owned()
}
/// A UUID v4 made from random bytes that the caller drew, since core has no randomness of its own (law 1).
pub fn uuid_v4(random: [u8; 16]) -> String {
    uuid::Builder::from_random_bytes(random).into_uuid().hyphenated().to_string()
}

/// A UUID v5 computed from texts. S2-form scans without an `offline_id` get their id from (device, code, time) (spec
/// §4).
pub fn uuid_v5(parts: &[&str]) -> String {
    let mut name = Vec::new();
    for part in parts {
        name.extend_from_slice(&(part.len() as u32).to_be_bytes());
        name.extend_from_slice(part.as_bytes());
    }
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, &name).hyphenated().to_string()
}
