//! Fuzz target: the signed list. A wrong signature ends reading at once, so most inputs are signed here first. The code
//! after the check of the signature must refuse nonsense too, in case a server ever signs it.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, OrganizationId, TicketId};
use admit_core::manifest::Found;
use admit_core::manifest::compact::MAGIC;
use admit_core::manifest::{
    Code, Content, Expected, Identity, Index, Input, Manifest, ManifestError, Names, NamesInput, Standing,
    compact_part, compact_tail, compare, delta_part, envelope, large_part, names_part, names_tail, read, read_names,
};
use admit_core::rule::Epoch;
use admit_core::sign::{body_signature, hmac_sha256};
use admit_core::ticket::Group;
use admit_core::time::Timestamp;
use admit_core::wire::manifest::{GuestName, ManifestTail, NamesTail};

use crate::bytes::Bytes;
use crate::phone::EVENING;
use crate::server::{Server, ticket};

/// The key with which everything here is signed.
pub const KEY: &str = "admit_dk_5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

/// The values of an input's first byte. It says how the target signs the other bytes before it reads them.
const RAW: u8 = 0;
const JSON: u8 = 1;
const COMPACT: u8 = 2;
const NAMES: u8 = 3;
const RAW_NAMES: u8 = 4;

/// Reads a list of tickets, or a list of names.
pub fn manifest(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let dress = bytes.byte() % 5;
    let rest = bytes.rest();
    match dress {
        RAW => list(rest, Some(&body_signature(KEY, rest)), false),
        // Bytes that begin like a compact list are read as one. Nobody signed them as such.
        JSON => list(&signed_json(rest), None, !rest.starts_with(MAGIC)),
        COMPACT => list(&signed_compact(rest), None, true),
        NAMES => names(&signed_json(rest)),
        _ => names(rest),
    }
}

/// Adds the signature to a JSON object. `open` is the object without its closing brace.
pub fn signed_json(open: &[u8]) -> Vec<u8> {
    let signature = body_signature(KEY, &[open, b"}"].concat());
    [open, b",\"signature\":\"", signature.as_bytes(), b"\"}"].concat()
}

fn signed_compact(open: &[u8]) -> Vec<u8> {
    let signed = [MAGIC.as_slice(), open].concat();
    let mac = hmac_sha256(KEY.as_bytes(), &signed);
    [signed.as_slice(), &mac].concat()
}

fn expected<R>(then: impl FnOnce(Expected<'_>) -> R) -> R {
    let (organization_id, event_id) = (OrganizationId::new("org"), EventId::new("event"));
    let (organization_id, event_id) = (organization_id.expect("an id"), event_id.expect("an id"));
    then(Expected { organization_id: &organization_id, event_id: &event_id })
}

fn list(body: &[u8], header: Option<&str>, signed: bool) {
    let outcome = expected(|expected| read(body, header, KEY, expected));
    // Bytes without a signature are not accepted as a list. Bytes signed here are not refused for their signature.
    let about_signature = matches!(outcome, Err(ManifestError::BodySignature | ManifestError::HeaderSignature));
    assert!(!(signed && about_signature), "{outcome:?}");
    let Ok(manifest) = outcome else { return };
    assert_eq!(compare(&manifest.identity(), &manifest.identity()), Ok(Standing::Same));
    let other = expected(|expected| read(body, header, &KEY.replace('5', "6"), expected));
    assert!(other.is_err(), "another device's key opens nothing");
    let base = base();
    match &manifest.content {
        Content::Full(index) => {
            look_up(index);
            same_in_both_forms(&manifest, index);
        }
        Content::Delta(delta) => {
            let version = delta.since;
            if let Ok(index) = manifest.clone().into_index(Some((&base, version))) {
                look_up(&index);
            }
            assert!(manifest.clone().into_index(None).is_err());
        }
    }
}

/// A list that a device may already have: three tickets.
fn base() -> Index {
    let rules = ticket(1);
    let records = ["A-1", "A-2", "P-4"].map(|code| (BarcodeHash::of(code).prefix(), code));
    Index::from_records(records.iter().map(|(prefix, id)| Found {
        prefix: *prefix,
        ticket_id: id,
        rules: &rules,
        group: None,
    }))
    .expect("three codes")
}

fn look_up(index: &Index) {
    assert_eq!(index.iter().count(), index.len());
    for found in index.iter() {
        let mut hash = [0; 32];
        hash[..16].copy_from_slice(&found.prefix);
        assert_eq!(index.find(&BarcodeHash(hash)), Some(found));
        assert!(index.codes_of(found.ticket_id).any(|other| other.prefix == found.prefix));
        assert!(index.by_ticket(found.ticket_id).is_some());
        let of_group = found.group.is_none_or(|group| index.codes_of_group(group).any(|other| other == found));
        assert!(of_group);
    }
}

/// Writes the list that was read, once as JSON and once in the compact form. Checks that both texts are read as the
/// same list.
fn same_in_both_forms(manifest: &Manifest, index: &Index) {
    let ids: Vec<TicketId> =
        index.iter().map(|found| TicketId::new(found.ticket_id).expect("ids of a list are ids")).collect();
    let hash = |prefix: [u8; 16]| {
        let mut hash = [0; 32];
        hash[..16].copy_from_slice(&prefix);
        BarcodeHash(hash)
    };
    let codes: Vec<Code<'_>> = index
        .iter()
        .zip(&ids)
        .map(|(found, ticket_id)| Code { hash: hash(found.prefix), ticket_id, rules: found.rules, group: found.group })
        .collect();
    let gates: Vec<_> = manifest.gates.iter().map(|(id, rules)| (id.clone(), rules.clone())).collect();
    let input = Input {
        organization_id: &manifest.organization_id,
        event_id: &manifest.event_id,
        event: &manifest.event,
        door: &manifest.door,
        version: manifest.version,
        gates: &gates,
        codes: &codes,
    };
    let large = compact_part(&input).expect("codes of an index differ");
    assert_eq!(large.content_hash, manifest.content_hash);
    let tail = ManifestTail {
        generated_at: manifest.generated_at,
        expires_at: manifest.expires_at,
        offset_seconds: manifest.offset_seconds,
        epoch: manifest.epoch,
        serial: manifest.serial,
    };
    let (rest, header) = compact_tail(&large.bytes, &tail, KEY);
    let compact = [large.bytes, rest].concat();
    let (json, json_header) = envelope(&large_part(&input).expect("codes of an index differ").bytes, &tail, KEY);
    let of =
        |body: &[u8], header: &str| expected(|expected| read(body, Some(header), KEY, expected)).expect("our own list");
    let (compact, json) = (of(&compact, &header), of(&json, &json_header));
    assert_eq!(compact.identity(), json.identity());
    // Reading removes repeated gates and sorts them. Only the hash of the sent bytes differs.
    assert_eq!((&compact.event, &compact.gates), (&manifest.event, &manifest.gates));
    let sent = Identity { rules_hash: compact.identity().rules_hash, ..manifest.identity() };
    assert_eq!(compact.identity(), sent);
}

fn names(body: &[u8]) {
    let active = Names {
        version: 3,
        epoch: epoch(),
        generated_at: Timestamp::clamped(EVENING),
        serial: 3,
        whole: true,
        labels: Vec::new(),
        by_ticket: Default::default(),
    };
    for active in [None, Some(&active)] {
        if let Ok(names) = expected(|expected| read_names(body, None, KEY, expected, active)) {
            assert!(names.by_ticket.iter().all(|(id, name)| name.ticket_id == *id));
        }
    }
}

fn epoch() -> Epoch {
    Epoch { restored_at_ms: 1, random: 1 }
}

/// The input from which [`manifest`] makes this signed body again. It has the body without its signature, after the
/// first byte `dress`.
fn undressed(dress: u8, body: &[u8]) -> Vec<u8> {
    let cut = match dress {
        JSON | NAMES => body.len() - signed_json(b"").len(),
        _ => body.len() - 32,
    };
    let from = if dress == COMPACT { MAGIC.len() } else { 0 };
    [&[dress], &body[from..cut]].concat()
}

/// Lists as Admit's server makes them.
pub fn seeds() -> Vec<Vec<u8>> {
    let server = Server::new();
    let whole = server.manifest(KEY, EVENING).body;
    let manifest = expected(|expected| read(&whole, None, KEY, expected)).expect("our own list");
    let tail = ManifestTail {
        generated_at: manifest.generated_at,
        expires_at: manifest.expires_at,
        offset_seconds: -5,
        epoch: epoch(),
        serial: 9,
    };
    let gates: Vec<_> = manifest.gates.iter().map(|(id, rules)| (id.clone(), rules.clone())).collect();
    let rules = ticket(2);
    let ids = ["A-1", "A-9", "7d7e9c4e-2b1a-4f0d-9a3c-0f1e2d3c4b5a"].map(|id| TicketId::new(id).expect("an id"));
    let codes: Vec<Code<'_>> = ids
        .iter()
        .map(|id| Code {
            hash: BarcodeHash::of(id.as_str()),
            ticket_id: id,
            rules: &rules,
            group: id.as_str().starts_with('A').then_some(Group([7; 6])),
        })
        .collect();
    let input = Input {
        organization_id: &manifest.organization_id,
        event_id: &manifest.event_id,
        event: &manifest.event,
        door: &manifest.door,
        version: 9,
        gates: &gates,
        codes: &codes,
    };
    let small = large_part(&input).expect("three codes");
    let delta = delta_part(&input, 3, &[BarcodeHash::of("P-4")], small.content_hash).expect("three codes");
    let compact = compact_part(&input).expect("three codes");
    let compact = [compact.bytes.clone(), compact_tail(&compact.bytes, &tail, KEY).0].concat();
    let guest = |id: &TicketId| GuestName {
        ticket_id: id.clone(),
        name: "Zoë".into(),
        party_size: 2,
        note: Some("by the window".into()),
        flag: None,
        fields: vec!["7".into()],
    };
    let labels = ["Table".to_owned()];
    let (organization_id, event_id) = (&manifest.organization_id, &manifest.event_id);
    let input = NamesInput { organization_id, event_id, version: 4, labels: &labels };
    let named = names_part(input, ids.iter().map(guest).collect::<Vec<_>>());
    let names_end = NamesTail { generated_at: manifest.generated_at, epoch: epoch(), serial: 4 };
    let named = [named.bytes.clone(), names_tail(&named.bytes, &names_end, KEY).0].concat();
    let mut seeds = vec![
        undressed(JSON, &envelope(&small.bytes, &tail, KEY).0),
        undressed(JSON, &envelope(&delta.bytes, &tail, KEY).0),
        undressed(COMPACT, &compact),
        undressed(NAMES, &named),
    ];
    let bare = |dress: u8, body: &[u8]| [&[dress], body].concat();
    seeds.push(bare(RAW, &envelope(&small.bytes, &tail, KEY).0));
    seeds.push(bare(RAW, &compact));
    seeds.push(bare(RAW_NAMES, &named));
    seeds
}
