//! Identifiers: opaque printable ASCII, 1–128 characters (spec D2). Ours are UUIDs; clients may bring others.

use std::fmt;

/// Why a text is not an identifier.
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
        pub struct $name(String);

        impl $name {
            /// Takes a text as an identifier. Fails unless it is 1–128 printable ASCII characters.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                check(&text)?;
                Ok(Self(text))
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
                Self::new(text)
            }
        }
    )*};
}
// Its `crate::wire::ids` counterpart gives each of these its JSON form.
ids! {
    /// An organisation: owns all; taken from the credential, never the request (spec §3).
    OrganizationId,
    /// A person who signs in.
    UserId,
    /// An event.
    EventId,
    /// A gate's slug, such as `north-main` (spec §3).
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
    /// A scan; unique within its device only (spec D2).
    ScanId,
    /// An upload batch; unique within organisation, device and endpoint (spec D2).
    BatchId,
    /// A device's log: 128 random bits made with an empty journal (spec §3).
    LogId,
    /// The key a signature was made under (spec D4).
    KeyId,
    /// An incident (review queue).
    IncidentId,
}

/// The bytes of a UUID written as ours are: in lower case, with its four dashes.
pub fn uuid_to_bytes(text: &str) -> Option<[u8; 16]> {
    if text.len() != uuid::fmt::Hyphenated::LENGTH {
        return None;
    }
    let uuid = uuid::Uuid::try_parse(text).ok()?;
    (uuid.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()) == text).then(|| uuid.into_bytes())
}
/// The text of [`uuid_to_bytes`].
pub fn uuid_of_bytes(bytes: [u8; 16]) -> String {
    uuid::Uuid::from_bytes(bytes).hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()).to_owned()
}
/// A UUID v4 text made from random bytes that the caller drew: core has no randomness of its own (law 1).
pub fn uuid_v4(random: [u8; 16]) -> String {
    uuid::Builder::from_random_bytes(random).into_uuid().hyphenated().to_string()
}

/// The UUID v5 of S2-form scans without an `offline_id`: of (device, code, time) (spec §4).
pub fn uuid_v5(parts: &[&str]) -> String {
    let mut name = Vec::new();
    for part in parts {
        name.extend_from_slice(&(part.len() as u32).to_be_bytes());
        name.extend_from_slice(part.as_bytes());
    }
    uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, &name).hyphenated().to_string()
}
