//! Builds a list. The large part is made once for all devices, and the small signed rest for each (spec §5, D5).

use std::collections::BTreeMap;

use super::index::{BucketHasher, IndexError, class_bytes};
use crate::barcode::BarcodeHash;
use crate::event::{DoorSettings, EventRules};
use crate::gate::GateRules;
use crate::ids::{EventId, GateId, OrganizationId, TicketId};
use crate::sign::Authenticator;
use crate::ticket::{Group, TicketRules};
use crate::wire::manifest::{ContentHash, ManifestGate, ManifestHead, ManifestTail, ManifestTicket};
use crate::wire::stored::to_text;

/// A code, its ticket and the ticket's newest rules.
#[derive(Debug, Clone, Copy)]
pub struct Code<'a> {
    /// The hash of the code.
    pub hash: BarcodeHash,
    /// The ticket that holds the code.
    pub ticket_id: &'a TicketId,
    /// The ticket's newest rules.
    pub rules: &'a TicketRules,
    /// The ticket's booking. Absent if it has none.
    pub group: Option<Group>,
}

/// The input that a list is built from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The organisation that the list belongs to.
    pub organization_id: &'a OrganizationId,
    /// The event of the list.
    pub event_id: &'a EventId,
    /// The newest rules of the event.
    pub event: &'a EventRules,
    /// The event's settings for devices that have no effect on decisions.
    pub door: &'a DoorSettings,
    /// Serial of the event's last rule change. Lists with the same version have the same content for ever.
    pub version: u64,
    /// The gates and their newest rules, in order of id.
    pub gates: &'a [(GateId, GateRules)],
    /// All codes of the event in any order. For a delta, only those that are new or changed.
    pub codes: &'a [Code<'a>],
}

/// The part of a list that is the same for every device: JSON up to the end of the codes, without the closing brace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Large {
    /// The bytes of the part.
    pub bytes: Vec<u8>,
    /// The content hash that stands in these bytes.
    pub content_hash: [u8; 32],
}

/// Builds the large part of a whole list. Fails if two codes have hashes with the same first bytes, because the list
/// has room for those bytes only.
pub fn large_part(input: &Input<'_>) -> Result<Large, IndexError> {
    let (codes, content_hash) = put_codes(&sorted(input.codes)?);
    let bytes = [&head(input, content_hash), b",\"tickets\":".as_slice(), &codes].concat();
    Ok(Large { bytes, content_hash })
}

/// Builds the large part of a delta from version `since`. `input.codes` are the codes that are new or changed,
/// `tombstones` those that are gone. `content_hash` is that of the whole list after the delta.
pub fn delta_part(
    input: &Input<'_>,
    since: u64,
    tombstones: &[BarcodeHash],
    content_hash: [u8; 32],
) -> Result<Large, IndexError> {
    let (codes, _) = put_codes(&sorted(input.codes)?);
    let mut gone = tombstones.to_vec();
    gone.sort_unstable();
    let since = format!(",\"since\":{since},\"upserts\":");
    let gone = format!(",\"tombstones\":{}", to_text(&gone));
    let bytes = [&head(input, content_hash), since.as_bytes(), &codes, gone.as_bytes()].concat();
    Ok(Large { bytes, content_hash })
}

/// Makes the rest of the body for one device, with its signature, and the value of `X-Signature` for the whole body.
/// The body is `large` followed by this rest. The caller sends them as two pieces, so the large one is never copied or
/// compressed again.
pub fn signed_tail(large: &[u8], tail: &ManifestTail, api_key: &str) -> (Vec<u8>, String) {
    sign_behind(large, &to_text(tail), api_key)
}

/// Makes the bytes that follow a large part: the members of a JSON object, and the signature over the large part and
/// these members.
pub(super) fn sign_behind(large: &[u8], object: &str, api_key: &str) -> (Vec<u8>, String) {
    // A tail has members, so its object's opening brace becomes the comma after the large part.
    let members = object.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    let unsigned = format!(",{members}");
    // Both signatures cover nearly the same bytes. The common beginning is hashed once.
    let mut common = Authenticator::new(api_key.as_bytes());
    common.update(large);
    common.update(unsigned.as_bytes());
    let mut own = common.clone();
    own.update(b"}");
    let end = format!(",\"signature\":\"{}\"}}", own.signature());
    common.update(end.as_bytes());
    ([unsigned, end].concat().into_bytes(), common.signature())
}

/// The whole body, made of the large part and its [`signed_tail`], and the value of `X-Signature`.
pub fn envelope(large: &[u8], tail: &ManifestTail, api_key: &str) -> (Vec<u8>, String) {
    let (rest, header) = signed_tail(large, tail, api_key);
    ([large, &rest].concat(), header)
}

pub(super) fn sorted<'a>(codes: &[Code<'a>]) -> Result<Vec<Code<'a>>, IndexError> {
    let mut codes = codes.to_vec();
    codes.sort_by_key(|code| code.hash);
    match codes.windows(2).find(|pair| pair[0].hash.prefix() == pair[1].hash.prefix()) {
        Some(pair) => Err(IndexError::DuplicatePrefix(pair[0].hash.prefix())),
        None => Ok(codes),
    }
}

/// The JSON members before the codes, without the closing brace.
pub(super) fn head(input: &Input<'_>, content_hash: [u8; 32]) -> Vec<u8> {
    let head = ManifestHead {
        event_id: input.event_id.clone(),
        event_name: input.event.name.clone(),
        manifest_version: input.version,
        organization_id: input.organization_id.clone(),
        content_hash: ContentHash(content_hash),
        starts_at: input.event.starts_at,
        ends_at: input.event.ends_at,
        staff_pin: input.event.staff_pin.clone(),
        re_entry: input.event.re_entry,
        min_gap_seconds: input.event.min_gap_seconds,
        status: input.event.status,
        days: input.event.days.clone(),
        limits: input.event.limits.clone(),
        walk_ins: input.event.walk_ins,
        clock: input.door.clock.clone(),
        barcode_kinds: input.door.barcode_kinds.clone(),
        zone_names: input.door.zone_names.clone(),
        gates: input.gates.iter().map(|(gate_id, rules)| ManifestGate::of(gate_id, rules)).collect(),
    };
    let mut bytes = to_text(&head).into_bytes();
    bytes.pop();
    bytes
}

/// Writes the array of codes, which come sorted, and computes their content hash. Codes whose tickets have the same
/// rules form a class, and their JSON ends in the same way. That end is made once per class, so a code costs little
/// more than its hash and its ticket's id.
fn put_codes(codes: &[Code<'_>]) -> (Vec<u8>, [u8; 32]) {
    let mut out = Vec::with_capacity(codes.len() * 272 + 2);
    let mut hasher = BucketHasher::new();
    let mut classes: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    let mut class = Vec::new();
    out.push(b'[');
    for (i, code) in codes.iter().enumerate() {
        class_bytes(code.rules, &mut class);
        hasher.add(&code.hash.prefix(), code.ticket_id.as_str(), &class, code.group);
        if !classes.contains_key(&class) {
            classes.insert(class.clone(), class_json(code));
        }
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"ticket_id\":");
        put_text(&mut out, code.ticket_id.as_str());
        out.extend_from_slice(b",\"barcode_hash\":\"sha256:");
        out.extend(
            code.hash.0.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]),
        );
        out.push(b'"');
        if let Some(group) = code.group {
            out.extend_from_slice(format!(",\"group\":\"{group}\"").as_bytes());
        }
        out.extend_from_slice(classes.get(&class).map_or(&[], Vec::as_slice));
    }
    out.push(b']');
    (out, hasher.content_hash())
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes an identifier as a JSON string. It is printable ASCII, so only two characters need escaping.
fn put_text(out: &mut Vec<u8>, id: &str) {
    out.push(b'"');
    for byte in id.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// The end of a code's JSON, from `zone` on: the part that all codes of a class share.
fn class_json(code: &Code<'_>) -> Vec<u8> {
    let whole = to_text(&ManifestTicket::of(code.hash, code.ticket_id, code.rules, None));
    let shared = whole.find(",\"zone\":").map_or("", |at| &whole[at..]);
    shared.as_bytes().to_vec()
}
