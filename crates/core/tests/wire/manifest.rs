//! The signed list, and the index made from it.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::event::{DoorSettings, EventRules};
use admit_core::gate::GateRules;
use admit_core::ids::{EventId, GateId, OrganizationId, TicketId};
use admit_core::manifest::index::Prefix;
use admit_core::manifest::*;
use admit_core::short_code::ShortCode;
use admit_core::sign::ApiKey;
use admit_core::ticket::{Group, TicketRules, TicketStatus};
use admit_core::wire::manifest::{GuestName, ManifestTail, NamesTail};
use proptest::prelude::*;

use crate::sample::*;

/// All parts of a list, owned by the test.
struct Made {
    organization_id: OrganizationId,
    event_id: EventId,
    event: EventRules,
    door: DoorSettings,
    gates: Vec<(GateId, GateRules)>,
    codes: Vec<(BarcodeHash, TicketId, TicketRules, Option<Group>)>,
    key: String,
}

fn made(codes: usize) -> Made {
    let rules = |i: usize| TicketRules { entry_limit: 1 + i as u32 % 3, ..ticket_rules() };
    // Every second ticket belongs to a booking of three tickets.
    let group = |i: usize| i.is_multiple_of(2).then(|| Group::of(&id("event-1"), &format!("order-{}", i / 6)));
    Made {
        organization_id: id("org-1"),
        event_id: id("event-1"),
        event: event_rules(),
        door: door_settings(),
        gates: vec![(id("north-main"), gate_rules())],
        codes: (0..codes)
            .map(|i| (BarcodeHash::of(&format!("TOKEN-{i}")), id(&format!("tkt-{i}")), rules(i), group(i)))
            .collect(),
        key: ApiKey::from_random([9; 32]).as_str().to_owned(),
    }
}

impl Made {
    fn large(&self, version: u64) -> Large {
        let codes: Vec<_> = self
            .codes
            .iter()
            .map(|(hash, ticket_id, rules, group)| Code { hash: *hash, ticket_id, rules, group: *group })
            .collect();
        let input = Input {
            organization_id: &self.organization_id,
            event_id: &self.event_id,
            event: &self.event,
            door: &self.door,
            version,
            gates: &self.gates,
            codes: &codes,
        };
        large_part(&input).unwrap()
    }
    fn body(&self, version: u64) -> (Vec<u8>, String) {
        envelope(&self.large(version).bytes, &tail(), &self.key)
    }
    fn read(&self, body: &[u8], header: Option<&str>) -> Result<Manifest, ManifestError> {
        read(body, header, &self.key, Expected { organization_id: &self.organization_id, event_id: &self.event_id })
    }
}

fn tail() -> ManifestTail {
    ManifestTail {
        generated_at: at("2025-12-07T17:45:00Z"),
        expires_at: at("2025-12-08T05:00:00Z"),
        offset_seconds: -5,
        epoch: epoch(),
        serial: 9,
    }
}

#[test]
fn a_list_reads_back_as_built() {
    let made = made(50);
    let (body, header) = made.body(7);
    let read = made.read(&body, Some(&header)).unwrap();
    assert_eq!((read.version, read.serial, read.epoch, read.offset_seconds), (7, 9, epoch(), -5));
    assert_eq!((read.generated_at, read.expires_at), (tail().generated_at, tail().expires_at));
    assert_eq!(read.event, made.event);
    assert_eq!(
        read.door,
        DoorSettings { verdict_fields: Vec::new(), ..made.door.clone() },
        "fields come with the names"
    );
    assert_eq!(read.gates, made.gates.iter().cloned().collect::<BTreeMap<_, _>>());
    let index = read.into_index(None).unwrap();
    assert_eq!(index.len(), 50);
    for (hash, ticket_id, rules, group) in &made.codes {
        let found = index.find(hash).unwrap();
        assert_eq!((found.ticket_id, found.rules, found.group), (ticket_id.as_str(), rules, *group));
        let booked = |group| index.codes_of_group(group).any(|other| other == found);
        assert!(group.is_none_or(booked));
        assert_eq!(index.by_ticket(ticket_id.as_str()).unwrap().prefix, hash.prefix());
    }
    assert_eq!(index.find(&BarcodeHash::of("TOKEN-50")), None);
    assert_eq!(index.by_ticket("tkt-50"), None);
}

/// The members stand in the order that the format fixes: the large part first, the signature last.
#[test]
fn the_members_stand_in_their_order() {
    let (body, _) = made(1).body(7);
    let text = String::from_utf8(body).unwrap();
    let members = [
        "event_id",
        "event_name",
        "manifest_version",
        "organization_id",
        "content_hash",
        "starts_at",
        "ends_at",
        "staff_pin",
        "re_entry",
        "min_gap_seconds",
        "clock",
        "gates",
        "tickets",
        "generated_at",
        "expires_at",
        "offset_seconds",
        "epoch",
        "serial",
        "signature",
    ];
    let mut from = 0;
    for member in members {
        // A ticket has an `expires_at`, too. So each member is searched after the one before, and the tail's after the
        // codes.
        if member == "generated_at" {
            from = text.rfind("\"generated_at\":").unwrap();
        }
        from += text[from..].find(&format!("\"{member}\":")).unwrap_or_else(|| panic!("{member} is out of its order"));
    }
    let ticket = r#"{"ticket_id":"tkt-0","barcode_hash":"#;
    assert!(text.contains(ticket), "{text}");
    assert!(text.contains(r#""zone":"vip","gate_ids":["north-main","south"],"entry_limit":1,"is_valid":true,"expires_at":null,"status":"active","valid_from":"2025-12-07T18:00:00Z"}"#));
    assert!(text.contains(r#""gates":[{"gate_id":"north-main","name":"North","access_rules":{"zones":["general","vip"],"max_concurrent":1000,"entry_rules":["check_ticket_valid","check_not_duplicate"]},"direction":"both","names_on_devices":true}]"#));
}

#[test]
fn no_single_flipped_bit_is_believed() {
    let made = made(3);
    let (body, header) = made.body(7);
    for at in 0..body.len() {
        let mut flipped = body.clone();
        flipped[at] ^= 1 << (at % 8);
        assert_eq!(made.read(&flipped, Some(&header)).unwrap_err(), ManifestError::HeaderSignature, "byte {at}");
        assert_eq!(made.read(&flipped, None).unwrap_err(), ManifestError::BodySignature, "byte {at}, at a later start");
    }
}

#[test]
fn no_cut_list_is_believed() {
    let made = made(3);
    let (body, header) = made.body(7);
    for len in 0..body.len() {
        assert!(made.read(&body[..len], Some(&header)).is_err());
        assert!(made.read(&body[..len], None).is_err());
    }
    for garbage in [&b""[..], b"{}", b"null", &[0xff; 300], b",\"signature\":\"HMAC-SHA256=\"}"] {
        assert!(made.read(garbage, None).is_err());
    }
}

#[test]
fn a_signature_inside_the_list_is_not_its_signature() {
    let mut made = made(1);
    made.event.name = r#"x","signature":"HMAC-SHA256=00"#.to_owned();
    let (body, header) = made.body(7);
    assert_eq!(made.read(&body, Some(&header)).unwrap().event.name, made.event.name);
}

#[test]
fn the_same_version_is_the_same_bytes_whatever_order_codes_come_in() {
    let mut made = made(40);
    let first = made.large(7);
    made.codes.reverse();
    assert_eq!(made.large(7), first);
    made.codes[0].2.gate_ids.reverse();
    assert_eq!(made.large(7).content_hash, first.content_hash, "a ticket's gates are a set");
    made.codes[0].2.status = TicketStatus::Voided;
    assert_ne!(made.large(7).content_hash, first.content_hash);
}

#[test]
fn two_codes_with_one_prefix_are_refused_wherever_they_meet() {
    let mut twin = BarcodeHash::of("TOKEN-1");
    twin.0[31] ^= 1;
    let made = made(3);
    let rules = ticket_rules();
    let codes = [BarcodeHash::of("TOKEN-1"), twin].map(|hash| Found {
        prefix: hash.prefix(),
        ticket_id: "t",
        rules: &rules,
        group: None,
    });
    assert_eq!(Index::from_records(codes).unwrap_err(), IndexError::DuplicatePrefix(twin.prefix()));
    let index = Index::from_records([codes[0]]).unwrap();
    assert!(index.apply_delta(codes, &[]).is_err());
    let ticket = id::<TicketId>("t");
    let listed = codes.map(|_| Code { hash: twin, ticket_id: &ticket, rules: &rules, group: None });
    let input = Input {
        organization_id: &made.organization_id,
        event_id: &made.event_id,
        event: &made.event,
        door: &made.door,
        version: 1,
        gates: &[],
        codes: &listed,
    };
    assert!(large_part(&input).is_err());
    assert!(delta_part(&input, 0, &[], [0; 32]).is_err());
}

#[test]
fn a_ticket_has_all_its_codes() {
    let rules = ticket_rules();
    let prefix = |text: &str| BarcodeHash::of(text).prefix();
    let record = |code, ticket_id| Found { prefix: prefix(code), ticket_id, rules: &rules, group: None };
    let codes = [record("a", "t-1"), record("b", "t-2"), record("c", "t-1")];
    let index = Index::from_records(codes).unwrap();
    let mut found: Vec<Prefix> = index.codes_of("t-1").map(|found| found.prefix).collect();
    let mut wanted = vec![prefix("a"), prefix("c")];
    found.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    assert_eq!(index.codes_of("t-3").count(), 0);
    assert!(Index::default().is_empty() && Index::default().find(&BarcodeHash::of("a")).is_none());
}

/// A few codes, so that upserts and tombstones often meet codes that exist.
fn codes() -> impl Strategy<Value = BTreeMap<u8, (u8, u8)>> {
    prop::collection::btree_map(0_u8..40, (0_u8..12, 0_u8..4), 0..40)
}

/// Code hashes: some spread evenly as real ones are, others close together at either end and in between.
fn crowded() -> impl Strategy<Value = BTreeSet<Prefix>> {
    let spread = any::<Prefix>();
    let crowd = (prop::sample::select(vec![0_u8, 1, 127, 128, 254, 255]), any::<u8>(), 0_usize..15)
        .prop_map(|(of, one, at)| std::array::from_fn(|i| if i == at { one } else { of }));
    prop::collection::btree_set(prop_oneof![spread, crowd], 0..200)
}

fn rules_of(class: u8) -> TicketRules {
    TicketRules { entry_limit: u32::from(class), ..ticket_rules() }
}

/// The booking of a ticket: two of the four classes of tickets have one.
fn group_of(class: u8) -> Option<Group> {
    (class % 2 == 1).then_some(Group([class; 6]))
}

fn listed<'a>(record: &'a (Prefix, String), class: u8, rules: &'a [TicketRules]) -> Found<'a> {
    Found { prefix: record.0, ticket_id: &record.1, rules: &rules[usize::from(class)], group: group_of(class) }
}

fn record(code: u8, ticket: u8) -> (Prefix, String) {
    (BarcodeHash::of(&format!("TOKEN-{code}")).prefix(), format!("tkt-{ticket}"))
}

fn index_of(codes: &BTreeMap<u8, (u8, u8)>) -> Index {
    let rules: Vec<_> = (0..4).map(rules_of).collect();
    let records: Vec<_> = codes.iter().map(|(code, (ticket, class))| (record(*code, *ticket), *class)).collect();
    Index::from_records(records.iter().map(|(record, class)| listed(record, *class, &rules))).unwrap()
}

proptest! {
    /// A delta applied to a list gives the list that the server would build whole: the same codes and the same hash.
    #[test]
    fn a_delta_leads_to_the_very_list_built_whole(before in codes(), changed in codes(), gone in prop::collection::btree_set(0_u8..40, 0..10)) {
        let mut after = before.clone();
        after.retain(|code, _| !gone.contains(code));
        after.extend(changed.iter().map(|(code, held)| (*code, *held)));
        let rules: Vec<_> = (0..4).map(rules_of).collect();
        let upserts: Vec<_> = changed.iter().map(|(code, (ticket, class))| (record(*code, *ticket), *class)).collect();
        let tombstones: Vec<_> = gone.iter().map(|code| record(*code, 0).0).collect();
        let upserts = upserts.iter().map(|(record, class)| listed(record, *class, &rules));
        let (old, whole) = (index_of(&before), index_of(&after));
        let by_delta = old.apply_delta(upserts, &tombstones).unwrap();
        prop_assert_eq!(by_delta.content_hash(), whole.content_hash());
        prop_assert!(by_delta.iter().eq(whole.iter()));
        prop_assert_eq!(old.content_hash(), index_of(&before).content_hash(), "the old one stays as it was");
        for (code, (ticket, class)) in &after {
            let (prefix, ticket_id) = record(*code, *ticket);
            prop_assert!(by_delta.codes_of(&ticket_id).any(|found| found.prefix == prefix && *found.rules == rules_of(*class)));
        }
        for class in [1, 3] {
            let booked = after.values().filter(|(_, other)| *other == class).count();
            prop_assert_eq!(by_delta.codes_of_group(Group([class; 6])).count(), booked);
        }
        let streamed = content_hash(whole.iter());
        prop_assert_eq!(streamed, whole.content_hash(), "the server's half agrees");
    }

    /// However unevenly the hashes lie, each code leads to its own ticket. A code that is not listed leads to no
    /// ticket.
    #[test]
    fn every_code_is_found_and_no_other(codes in crowded(), others in crowded()) {
        let rules = ticket_rules();
        let names: Vec<_> = codes.iter().map(|prefix| format!("{prefix:?}")).collect();
        let index = Index::from_records(codes.iter().zip(&names).map(|(prefix, name)| Found { prefix: *prefix, ticket_id: name, rules: &rules, group: None })).unwrap();
        let neighbours = codes.iter().flat_map(|prefix| {
            let value = u128::from_be_bytes(*prefix);
            [value.wrapping_sub(1), value, value.wrapping_add(1)].map(u128::to_be_bytes)
        });
        for prefix in neighbours.chain(others) {
            let hash: [u8; 32] = std::array::from_fn(|at| *prefix.get(at).unwrap_or(&7));
            let found = index.find(&BarcodeHash(hash)).map(|found| found.ticket_id.to_owned());
            prop_assert_eq!(found, codes.contains(&prefix).then(|| format!("{prefix:?}")));
        }
    }

    /// Reading any bytes gives a list or an error, and never panics.
    #[test]
    fn no_bytes_make_reading_panic(body in prop::collection::vec(any::<u8>(), 0..400), header in ".{0,90}") {
        let made = made(0);
        prop_assert!(made.read(&body, Some(&header)).is_err());
        prop_assert!(made.read(&body, None).is_err());
    }
}

impl Made {
    fn input<R>(&self, version: u64, with: impl FnOnce(&Input<'_>) -> R) -> R {
        let codes: Vec<_> = self
            .codes
            .iter()
            .map(|(hash, ticket_id, rules, group)| Code { hash: *hash, ticket_id, rules, group: *group })
            .collect();
        with(&Input {
            organization_id: &self.organization_id,
            event_id: &self.event_id,
            event: &self.event,
            door: &self.door,
            version,
            gates: &self.gates,
            codes: &codes,
        })
    }
    fn compact(&self, version: u64) -> (Vec<u8>, String) {
        let large = self.input(version, |input| compact_part(input).unwrap());
        let (rest, header) = compact_tail(&large.bytes, &tail(), &self.key);
        ([large.bytes, rest].concat(), header)
    }
}

/// Both forms hold the same list: no part that distinguishes lists differs between them.
#[test]
fn the_compact_form_reads_back_as_the_list_it_stands_for() {
    let mut made = made(700);
    // Ids of four kinds: UUIDs in Admit's notation, in upper case and without hyphens, and texts of the greatest
    // length.
    for (i, (_, ticket_id, rules, _)) in made.codes.iter_mut().enumerate() {
        *ticket_id = match i % 4 {
            0 => id(&format!("0197{i:04x}-1a2b-7c3d-8e4f-0123456789ab")),
            1 => id(&format!("0197{i:04X}-1A2B-7C3D-8E4F-0123456789AB")),
            2 => id(&format!("0197{i:04x}1a2b7c3d8e4f0123456789ab")),
            _ => id(&format!("{i:~<128}")),
        };
        rules.entry_limit = 1 + i as u32 % 300;
    }
    let (json, json_header) = made.body(7);
    let (body, header) = made.compact(7);
    let (plain, compact) = (made.read(&json, Some(&json_header)).unwrap(), made.read(&body, Some(&header)).unwrap());
    assert_eq!(compact.identity(), plain.identity());
    assert_eq!((compact.event.clone(), compact.gates.clone()), (plain.event.clone(), plain.gates.clone()));
    assert_eq!((compact.expires_at, compact.serial), (plain.expires_at, plain.serial));
    let (compact, plain) = (compact.into_index(None).unwrap(), plain.into_index(None).unwrap());
    assert!(compact.iter().eq(plain.iter()));
    assert!(body.len() * 2 < json.len(), "{} of {}", body.len(), json.len());
    assert!(made.read(&body, None).is_ok(), "at a later start its own signature stands alone");
}

#[test]
fn a_compact_delta_leads_to_the_list_it_names() {
    let mut made = made(40);
    let old = made.read(&made.compact(7).0, None).unwrap().into_index(None).unwrap();
    made.codes[3].2.status = TicketStatus::Voided;
    let gone = made.codes.remove(5).0;
    let after = made.large(9).content_hash;
    let changed = Made { codes: vec![made.codes[3].clone()], ..made };
    let large = changed.input(9, |input| compact_delta_part(input, 7, &[gone], after).unwrap());
    let (rest, header) = compact_tail(&large.bytes, &tail(), &changed.key);
    let body = [large.bytes, rest].concat();
    let delta = changed.read(&body, Some(&header)).unwrap();
    assert_eq!(delta.clone().into_index(Some((&old, 7))).unwrap().content_hash(), after);
    assert_eq!(delta.into_index(Some((&old, 6))).unwrap_err(), ManifestError::WrongBase { since: 7, have: 6 });
}

#[test]
fn no_compact_list_with_a_flipped_bit_or_a_cut_end_is_believed() {
    let made = made(3);
    let (body, header) = made.compact(7);
    for at in 0..body.len() {
        let mut flipped = body.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(made.read(&flipped, Some(&header)).is_err(), "byte {at}");
        assert!(made.read(&flipped, None).is_err(), "byte {at}, at a later start");
        assert!(made.read(&body[..at], Some(&header)).is_err(), "{at} bytes of it");
        assert!(made.read(&body[..at], None).is_err(), "{at} bytes of it, at a later start");
    }
    let other = ApiKey::from_random([8; 32]);
    let expected = Expected { organization_id: &made.organization_id, event_id: &made.event_id };
    assert_eq!(read(&body, None, other.as_str(), expected).unwrap_err(), ManifestError::BodySignature);
}

proptest! {
    /// A signed list is not trusted to be well-formed: reading it never panics.
    #[test]
    fn no_signed_compact_bytes_make_reading_panic(at in 0_usize..900, with in prop::collection::vec(any::<u8>(), 0..40)) {
        let made = made(6);
        let (body, _) = made.compact(7);
        let mut signed = body[..body.len() - 32].to_vec();
        let at = at.min(signed.len());
        let end = (at + with.len()).min(signed.len());
        signed.splice(at..end, with);
        let mac = admit_core::sign::hmac_sha256(made.key.as_bytes(), &signed);
        let _ = made.read(&[signed, mac.to_vec()].concat(), None);
    }
}

fn names(count: usize) -> Vec<GuestName> {
    (0..count)
        .map(|i| GuestName {
            ticket_id: id(&format!("tkt-{i:03}")),
            name: format!("Zoë \"{i}\" O'Brien"),
            party_size: 1 + i as u32,
            note: (i % 2 == 0).then(|| "by the side door".into()),
            flag: (i % 3 == 0).then(|| "vip".into()),
            fields: if i % 2 == 0 { vec![format!("Table {i}"), String::new()] } else { Vec::new() },
        })
        .collect()
}

/// The names part is signed and ordered like the list. A change applied to it gives the whole names part.
#[test]
fn names_are_believed_only_signed_and_a_change_leads_to_all_of_them() {
    let made = made(0);
    let expected = Expected { organization_id: &made.organization_id, event_id: &made.event_id };
    let tail = NamesTail { generated_at: tail().generated_at, epoch: epoch(), serial: 12 };
    let sign = |large: &Large| {
        let (rest, header) = names_tail(&large.bytes, &tail, &made.key);
        ([large.bytes.as_slice(), &rest].concat(), header)
    };
    let reversed = names(5).into_iter().rev().collect();
    let labels = ["Table", "Company"].map(str::to_owned);
    let input = |version| NamesInput {
        organization_id: &made.organization_id,
        event_id: &made.event_id,
        version,
        labels: &labels,
    };
    let (body, header) = sign(&names_part(input(7), reversed));
    let read = |body: &[u8], header: Option<&str>, active: Option<&Names>| {
        read_names(body, header, &made.key, expected, active)
    };
    let held = read(&body, Some(&header), None).unwrap();
    assert_eq!((held.version, held.by_ticket.values().cloned().collect::<Vec<_>>()), (7, names(5)));
    let shown = |i: usize| held.fields(&held.by_ticket[&id(&format!("tkt-00{i}"))]).collect::<Vec<_>>();
    assert_eq!((shown(1), shown(2)), (Vec::new(), vec![("Table", "Table 2")]));
    let relabelled = names_delta_part(
        NamesInput { labels: &[], ..input(7) },
        7,
        Vec::new(),
        names_part(input(7), names(5)).content_hash,
    );
    let (other_labels, header) = sign(&relabelled);
    assert_eq!(read(&other_labels, Some(&header), Some(&held)).unwrap_err(), ManifestError::ContentHash);
    for at in 0..body.len() {
        let mut flipped = body.clone();
        flipped[at] ^= 1 << (at % 8);
        assert_eq!(read(&flipped, Some(&header), None).unwrap_err(), ManifestError::HeaderSignature, "byte {at}");
        assert_eq!(read(&flipped, None, None).unwrap_err(), ManifestError::BodySignature, "byte {at}");
    }
    let mut after = names(6);
    after[2].name = "Countess".into();
    let whole = names_part(input(9), after.clone());
    let changed = vec![after[5].clone(), after[2].clone()];
    let delta = names_delta_part(input(9), 7, changed.clone(), whole.content_hash);
    let (body, header) = sign(&delta);
    let now = read(&body, Some(&header), Some(&held)).unwrap();
    assert_eq!((now.version, now.by_ticket.values().cloned().collect::<Vec<_>>()), (9, after));
    assert_eq!(read(&body, Some(&header), None).unwrap_err(), ManifestError::WrongBase { since: 7, have: 0 });
    let lacking = names_delta_part(input(9), 7, vec![changed[0].clone()], whole.content_hash);
    let (body, header) = sign(&lacking);
    assert_eq!(read(&body, Some(&header), Some(&held)).unwrap_err(), ManifestError::ContentHash);
    let (old, header) = sign(&names_part(input(7), names(5)));
    assert_eq!(read(&old, Some(&header), Some(&now)).unwrap_err(), ManifestError::Older { incoming: 7, active: 9 });
    let other = id("another");
    let elsewhere = names_part(NamesInput { organization_id: &other, ..input(9) }, names(1));
    let (body, header) = sign(&elsewhere);
    assert_eq!(read(&body, Some(&header), None).unwrap_err(), ManifestError::WrongOrganization);
}

/// If two tickets share a short code, it means neither. Two codes of one ticket may share one.
#[test]
fn a_short_code_means_the_only_ticket_that_has_it() {
    let rules = ticket_rules();
    let code = |first: u8, last: u8| {
        let mut prefix = [first; 16];
        prefix[15] = last;
        prefix
    };
    let listed =
        [(code(1, 0), "one"), (code(2, 0), "two"), (code(2, 1), "three"), (code(3, 0), "four"), (code(3, 1), "four")];
    let found = listed.map(|(prefix, ticket_id)| Found { prefix, ticket_id, rules: &rules, group: None });
    let index = Index::from_records(found).unwrap();
    let means = |first: u8| index.find_short(ShortCode([first; 5])).map(|found| found.ticket_id.to_owned());
    assert_eq!([means(1), means(2), means(3), means(4)], [Some("one".into()), None, Some("four".into()), None]);
}
