//! Verifies and reads a list. Nothing in it is trusted before its signatures hold over the exact bytes received (spec
//! D5).

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::compact::{self, Columns, CompactError};
use super::index::{Builder, Index, IndexError, Prefix, Upsert};
use crate::event::{DoorSettings, EventRules};
use crate::gate::GateRules;
use crate::ids::{EventId, GateId, OrganizationId};
use crate::rule::Epoch;
use crate::sign::{Authenticator, V1_PREFIX, check_body_signature};
use crate::time::Timestamp;
use crate::wire::manifest::{ManifestHead, ManifestJson, ManifestTail, ManifestTicket, each_code};
use crate::wire::problem::{self, FieldError};
use crate::wire::stored::to_text;

/// Most PBKDF2 rounds that a list may ask of a phone. Admit's servers ask for far fewer.
const MOST_PIN_ITERATIONS: u32 = 5_000_000;

/// Why a list is refused. The device then goes on with the list in use (trust §5, faults 18–20).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// `X-Signature` is not the signature of this body.
    #[error("the header's signature does not fit the list: it was changed on the way, or is for another device")]
    HeaderSignature,
    /// The signature inside the body is missing or wrong.
    #[error("the list's own signature does not fit it: it was changed, cut off, or is for another device")]
    BodySignature,
    /// The signatures hold, but this version cannot read the list.
    #[error("the list cannot be read: {0}")]
    Malformed(FieldError),
    /// The signatures hold, but the list belongs to another organisation.
    #[error("the list belongs to another organisation")]
    WrongOrganization,
    /// The signatures hold, but the list belongs to this other event.
    #[error("the list belongs to another event ({0})")]
    WrongEvent(EventId),
    /// The list's codes do not have the content hash that it names.
    #[error("the list's codes do not hash to what it names")]
    ContentHash,
    /// Two codes cannot be told apart, or there are too many codes.
    #[error("the list cannot be indexed: {0}")]
    Index(#[from] IndexError),
    /// The delta starts from another version than the list in use.
    #[error("the changes start from version {since}, this device has version {have}")]
    WrongBase {
        /// The version from which the delta starts.
        since: u64,
        /// The version of the list in use.
        have: u64,
    },
    /// The list is older than the one in use, so it may be a replay (fault 18).
    #[error("the list is older (version {incoming}) than the one in use (version {active})")]
    Older {
        /// The version of the refused list.
        incoming: u64,
        /// The version of the list in use.
        active: u64,
    },
    /// The list has the version in use, but other content. Either somebody forged it, or a server changed the content
    /// of a version, which no server may do (fault 19).
    #[error("version {0} came with other content than the version {0} in use")]
    SameVersionOtherContent(u64),
}

/// The organisation and the event that a list must belong to.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The device's organisation.
    pub organization_id: &'a OrganizationId,
    /// The device's event.
    pub event_id: &'a EventId,
}

/// A list whose signatures were verified.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The organisation that the list belongs to.
    pub organization_id: OrganizationId,
    /// The event of the list.
    pub event_id: EventId,
    /// Serial of the last rule change in the list.
    pub version: u64,
    /// The event's newest rules.
    pub event: EventRules,
    /// The event's settings for devices that have no effect on decisions.
    pub door: DoorSettings,
    /// The newest rules of each gate.
    pub gates: BTreeMap<GateId, GateRules>,
    /// The content hash of the list's codes. If this list is a delta: the hash of all codes after the delta was
    /// applied.
    pub content_hash: [u8; 32],
    /// When the server handed the list out.
    pub generated_at: Timestamp,
    /// From this time on, verdicts by this list are amber.
    pub expires_at: Timestamp,
    /// Server time minus device time when the list was handed out, in seconds.
    pub offset_seconds: i64,
    /// The server's epoch.
    pub epoch: Epoch,
    /// The event's head serial when the server handed the list out.
    pub serial: u64,
    /// The list's codes, or their changes.
    pub content: Content,
    /// The hash of the rules of the event and its gates.
    rules_hash: [u8; 32],
}

/// The codes of a list.
#[derive(Debug, Clone)]
pub enum Content {
    /// All codes, indexed and checked against the content hash.
    Full(Index),
    /// The codes that changed since another version.
    Delta(Delta),
}

/// The codes that changed since another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The version from which the delta starts.
    pub since: u64,
    /// Codes that are new or changed.
    pub upserts: Vec<Upsert>,
    /// Prefixes of the codes that are gone.
    pub tombstones: Vec<Prefix>,
}

/// The fields that tell two lists apart. Compare only lists that the same version of this code read: another version
/// may hash the same rules differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The server's epoch.
    pub epoch: Epoch,
    /// Serial of the last rule change in the list.
    pub version: u64,
    /// The content hash of the list's codes.
    pub content_hash: [u8; 32],
    /// The hash of the rules of the event and its gates.
    pub rules_hash: [u8; 32],
}

impl Manifest {
    /// The fields that tell this list from another.
    pub fn identity(&self) -> Identity {
        let Self { epoch, version, content_hash, rules_hash, .. } = *self;
        Identity { epoch, version, content_hash, rules_hash }
    }
    /// The index of the list's codes. A whole list comes with its index. A delta is applied to `active`, the index at
    /// version `active_version`, and the result is checked against the content hash.
    pub fn into_index(self, active: Option<(&Index, u64)>) -> Result<Index, ManifestError> {
        let delta = match self.content {
            Content::Full(index) => return Ok(index),
            Content::Delta(delta) => delta,
        };
        let (base, have) = active.ok_or(ManifestError::WrongBase { since: delta.since, have: 0 })?;
        if have != delta.since {
            return Err(ManifestError::WrongBase { since: delta.since, have });
        }
        let index = base.apply_delta(delta.upserts.iter().map(Upsert::record), &delta.tombstones)?;
        if index.content_hash() == self.content_hash { Ok(index) } else { Err(ManifestError::ContentHash) }
    }
}

/// How an incoming list compares with the one in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The incoming list is newer by (epoch, version), so the device takes it.
    Newer,
    /// The lists are the same. The device only notes that its list is fresh.
    Same,
}

/// Compares the list in use with an incoming one by (epoch, version). Fails if the incoming list is older, since a
/// device never goes back to an older list (invariant I15).
pub fn compare(active: &Identity, incoming: &Identity) -> Result<Standing, ManifestError> {
    let place = |identity: &Identity| (identity.epoch, identity.version);
    match place(incoming).cmp(&place(active)) {
        std::cmp::Ordering::Greater => Ok(Standing::Newer),
        std::cmp::Ordering::Less => Err(ManifestError::Older { incoming: incoming.version, active: active.version }),
        std::cmp::Ordering::Equal if incoming == active => Ok(Standing::Same),
        std::cmp::Ordering::Equal => Err(ManifestError::SameVersionOtherContent(active.version)),
    }
}

/// Verifies and reads a list, in JSON or in the compact form. The first bytes tell the two apart. `body` must be
/// exactly the bytes received, after content decoding. `header` is the value of `X-Signature`. It is `None` for a body
/// from the cache, of which only the signature inside is checked.
pub fn read(
    body: &[u8],
    header: Option<&str>,
    api_key: &str,
    expected: Expected<'_>,
) -> Result<Manifest, ManifestError> {
    let (head, tail, content) = if compact::is_compact(body) {
        read_compact(body, header, api_key)?
    } else {
        check_signatures(body, header, api_key)?;
        let json: ManifestJson<'_> = problem::read(body).map_err(ManifestError::Malformed)?;
        let content = read_codes(&json)?;
        let (head, tail) = json.into_head_and_tail();
        (head, tail, content)
    };
    check_head(&head, expected)?;
    if let Content::Full(index) = &content
        && index.content_hash() != head.content_hash.0
    {
        return Err(ManifestError::ContentHash);
    }
    Ok(Manifest {
        rules_hash: rules_hash(&head),
        event: head.event_rules(),
        door: head.door_settings(),
        organization_id: head.organization_id,
        event_id: head.event_id,
        version: head.manifest_version,
        gates: head.gates.into_iter().map(|gate| gate.into_rules()).collect(),
        content_hash: head.content_hash.0,
        generated_at: tail.generated_at,
        expires_at: tail.expires_at,
        offset_seconds: tail.offset_seconds,
        epoch: tail.epoch,
        serial: tail.serial,
        content,
    })
}

/// Checks the signature inside a signed JSON body, and the one in `header` if it is given. Call this before you trust
/// anything in the body.
pub(super) fn check_signatures(body: &[u8], header: Option<&str>, api_key: &str) -> Result<(), ManifestError> {
    let (signed, signature) = cut_signature(body).ok_or_else(|| unsigned(body, header, api_key))?;
    // Both signatures cover nearly the same bytes. The common beginning is hashed once.
    let mut own = Authenticator::new(api_key.as_bytes());
    own.update(signed);
    let mut whole = own.clone();
    own.update(b"}");
    whole.update(&body[signed.len()..]);
    if header.is_some_and(|header| !whole.check(header)) {
        return Err(ManifestError::HeaderSignature);
    }
    if own.check(signature) { Ok(()) } else { Err(ManifestError::BodySignature) }
}

fn read_compact(
    body: &[u8],
    header: Option<&str>,
    api_key: &str,
) -> Result<(ManifestHead, ManifestTail, Content), ManifestError> {
    let envelope = compact::open(body).ok_or_else(|| unsigned(body, header, api_key))?;
    let mut own = Authenticator::new(api_key.as_bytes());
    own.update(envelope.signed);
    let mut whole = own.clone();
    whole.update(&body[envelope.signed.len()..]);
    if header.is_some_and(|header| !whole.check(header)) {
        return Err(ManifestError::HeaderSignature);
    }
    if !own.check(&envelope.signature()) {
        return Err(ManifestError::BodySignature);
    }
    let (head, tail, columns) = compact::read_signed(envelope.signed).map_err(|error| match error {
        CompactError::Malformed(error) => ManifestError::Malformed(error),
        CompactError::Index(error) => ManifestError::Index(error),
    })?;
    let content = match columns {
        Columns::Full(builder) => Content::Full(builder.finish()?),
        Columns::Delta { since, upserts, tombstones } => Content::Delta(Delta { since, upserts, tombstones }),
    };
    Ok((head, tail, content))
}

/// The error for a body that does not end in a signature. It is about the header `X-Signature` if that signature is
/// wrong, otherwise about the body's own signature.
fn unsigned(body: &[u8], header: Option<&str>, api_key: &str) -> ManifestError {
    match header {
        Some(header) if !check_body_signature(api_key, body, header) => ManifestError::HeaderSignature,
        _ => ManifestError::BodySignature,
    }
}

/// Cuts `,"signature":"…"` out by its position at the end. The signature covers the bytes before this member, followed
/// by `}`.
fn cut_signature(body: &[u8]) -> Option<(&[u8], &str)> {
    const OPEN: &[u8] = b",\"signature\":\"";
    let value_len = V1_PREFIX.len() + 64;
    let from = body.len().checked_sub(OPEN.len() + value_len + 2)?;
    let (signed, rest) = body.split_at(from);
    let value = rest.strip_prefix(OPEN)?.strip_suffix(b"\"}")?;
    Some((signed, std::str::from_utf8(value).ok()?))
}

fn read_codes(json: &ManifestJson<'_>) -> Result<Content, ManifestError> {
    let malformed = |path: &str, message: &str| ManifestError::Malformed(FieldError::new(path, message));
    match (json.tickets, json.upserts, json.since, &json.tombstones) {
        (Some(tickets), None, None, None) => {
            let mut builder = Builder::default();
            let mut failed = None;
            each_code("tickets", tickets, |ticket| {
                let upsert = upsert(&ticket);
                builder.push(upsert.record()).map_err(|error| {
                    let shown = FieldError::new("", &error);
                    failed = Some(error);
                    shown
                })
            })
            .map_err(|error| failed.take().map_or(ManifestError::Malformed(error), ManifestError::Index))?;
            Ok(Content::Full(builder.finish()?))
        }
        (None, Some(upserts), Some(since), Some(tombstones)) => {
            let mut list = Vec::new();
            each_code("upserts", upserts, |ticket| {
                list.push(upsert(&ticket));
                Ok(())
            })
            .map_err(ManifestError::Malformed)?;
            let tombstones = tombstones.iter().map(|hash| hash.prefix()).collect();
            Ok(Content::Delta(Delta { since, upserts: list, tombstones }))
        }
        _ => Err(malformed("tickets", "is required, or else since, upserts and tombstones together")),
    }
}

fn upsert(ticket: &ManifestTicket<'_>) -> Upsert {
    Upsert {
        prefix: ticket.barcode_hash.prefix(),
        ticket_id: ticket.ticket_id.as_str().to_owned(),
        rules: ticket.rules(),
        group: ticket.group,
    }
}

fn check_head(head: &ManifestHead, expected: Expected<'_>) -> Result<(), ManifestError> {
    if head.organization_id != *expected.organization_id {
        return Err(ManifestError::WrongOrganization);
    }
    if head.event_id != *expected.event_id {
        return Err(ManifestError::WrongEvent(head.event_id.clone()));
    }
    if head.staff_pin.as_ref().is_some_and(|pin| !(1..=MOST_PIN_ITERATIONS).contains(&pin.iterations)) {
        let message = format!("must be 1 to {MOST_PIN_ITERATIONS}");
        return Err(ManifestError::Malformed(FieldError::new("staff_pin.iterations", message)));
    }
    Ok(())
}

/// The hash of the rules of the event and its gates, as this version of the code reads them. A whole list and a delta
/// of the same list version have the same hash.
fn rules_hash(head: &ManifestHead) -> [u8; 32] {
    Sha256::digest(to_text(head)).into()
}
