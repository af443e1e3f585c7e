//! Tests the plan of a batch's facts, case by case. Each case has stored scans, a batch and the expected plan.

use admit_core::scan::{Form, ScanKind, Stage};
use admit_core::wire::scanning::Evidence;

use super::*;
use crate::scans::decode;

/// Code and ticket of every scan here have the same name.
const KNOWN: [&str; 2] = ["fresh", "seen"];

fn scan(author: &str, scan_id: &str, code: &str) -> Scan {
    Scan {
        form: Form::V2,
        scan_id: scan_id.parse().unwrap(),
        device_id: author.parse().unwrap(),
        log_id: None,
        seq: None,
        prev: None,
        key_id: None,
        event_id: "e".parse().unwrap(),
        gate_id: "north".parse().unwrap(),
        kind: ScanKind::Entry,
        stage: Stage::Final,
        method: Method::Qr,
        barcode_hash: Some(BarcodeHash::of(code)),
        raw_hash: None,
        ticket_id: None,
        count: 1,
        outcome: Outcome::Valid,
        opened: true,
        practice: false,
        override_: None,
        walk_in: None,
        headcount: None,
        operator: None,
        target_device: None,
        target_scan_id: None,
        keep: 0,
        at: Timestamp::clamped(1_000),
        uncertainty_ms: 0,
        clock: None,
        epoch: None,
        manifest_version: 0,
        cursor: 0,
        basis: None,
    }
}
fn batch(scans: &[(Scan, SignatureState)]) -> Batch {
    let evidence = || Evidence { signature: None, sent: None, named: None };
    let item = |(scan, state): &(Scan, SignatureState)| {
        decode::item(scan.clone(), evidence(), *state, 0, Timestamp::clamped(2_000))
    };
    Batch {
        batch_id: "b1".parse().unwrap(),
        device_id: "d1".parse().unwrap(),
        endpoint: "sync",
        event_id: "e".parse().unwrap(),
        offset_seconds: 0,
        log: None,
        items: scans.iter().map(item).collect(),
        rejected: Vec::new(),
    }
}
/// The plan for a batch, after the scans of another batch were stored. Only the ticket `seen` has a state.
fn planned(stored: &Batch, sent: &Batch, quarantine: &Quarantine, room: u64) -> Facts {
    let of = |item: &Item| {
        let Fact { scan, digest, signature, offset_seconds, .. } = item.fact.clone();
        let subject_key = "ticket:seen".to_owned();
        let Scan { device_id, scan_id, event_id, .. } = scan;
        let known = KnownScan { device_id, scan_id, event_id, digest, subject_key };
        StoredId { known, signature, offset_seconds }
    };
    let mut contents: BTreeMap<(&DeviceId, &ScanId), BTreeSet<Digest>> = BTreeMap::new();
    for Item { fact, .. } in &sent.items {
        contents.entry((&fact.scan.device_id, &fact.scan.scan_id)).or_default().insert(fact.digest);
    }
    let tickets = KNOWN.map(|name| {
        let hash = BarcodeHash::of(name);
        (hash, ResolvedCode { hash, ticket_id: name.parse().unwrap(), scanned: name == "seen" })
    });
    let before = Before { stored: stored.items.iter().map(of).collect(), tickets: tickets.into(), contents };
    let stamp = Stamp { serial: 7, effective_at: Timestamp::default() };
    plan(&before, sent, stamp, quarantine, room)
}
/// A plan in short: numbers of new contents and of deliveries, kept ids, indexes of unknown codes, ids that two devices
/// used.
fn short(facts: &Facts) -> (usize, usize, Vec<&str>, Vec<usize>, Vec<&str>) {
    let Stored { kept, unknown, shared, .. } = &facts.stored;
    let (kept, shared) = (kept.iter().map(ScanId::as_str).collect(), shared.iter().map(ScanId::as_str).collect());
    (facts.scans.len(), facts.deliveries.len(), kept, unknown.clone(), shared)
}

#[test]
fn each_scan_is_stored_once_and_acknowledged_each_time() {
    use SignatureState::{Unverified, Verified};
    let free = Quarantine::default();
    let held = Quarantine::default().and_all(true);
    let entry = |code: &str| scan("d1", "s1", code);
    let claim = |code: &str| Scan { stage: Stage::Claim, opened: false, ..entry(code) };
    let elsewhere = scan("d2", "s1", "seen");
    let none = Vec::<usize>::new;
    for (what, stored, sent, quarantine, room, expected) in [
        ("a new scan", vec![], vec![(entry("fresh"), Verified)], &free, 9, (1, 0, vec!["s1"], none(), vec![])),
        (
            "a repeat",
            vec![(entry("seen"), Verified)],
            vec![(entry("seen"), Verified)],
            &free,
            9,
            (0, 0, vec!["s1"], none(), vec![]),
        ),
        (
            "twice in one batch",
            vec![],
            vec![(entry("fresh"), Verified); 2],
            &free,
            9,
            (1, 0, vec!["s1"], none(), vec![]),
        ),
        (
            "a better proof",
            vec![(entry("seen"), Unverified)],
            vec![(entry("seen"), Verified)],
            &free,
            9,
            (0, 1, vec!["s1"], none(), vec![]),
        ),
        (
            "a worse proof",
            vec![(entry("seen"), Verified)],
            vec![(entry("seen"), Unverified)],
            &free,
            9,
            (0, 0, vec!["s1"], none(), vec![]),
        ),
        (
            "a better proof that waits",
            vec![(entry("seen"), Unverified)],
            vec![(entry("seen"), Verified)],
            &held,
            9,
            (0, 0, vec!["s1"], none(), vec![]),
        ),
        ("no room", vec![], vec![(entry("fresh"), Verified)], &held, 0, (0, 0, vec![], none(), vec![])),
        (
            "a claim, and no room for its final",
            vec![],
            vec![(claim("fresh"), Verified), (entry("fresh"), Verified)],
            &held,
            1,
            (1, 0, vec![], none(), vec![]),
        ),
        (
            "an unknown code, asked and scanned",
            vec![],
            vec![(claim("forged"), Verified), (entry("forged"), Verified)],
            &free,
            9,
            (2, 0, vec!["s1"], vec![0], vec![]),
        ),
        (
            "an id of another device",
            vec![(elsewhere, Verified)],
            vec![(entry("fresh"), Verified)],
            &free,
            9,
            (1, 0, vec!["s1"], none(), vec!["s1"]),
        ),
    ] {
        let (stored, sent) = (batch(&stored), batch(&sent));
        assert_eq!(short(&planned(&stored, &sent, quarantine, room)), expected, "{what}");
    }
}

#[test]
fn nothing_is_read_about_a_ticket_without_a_state_unless_its_scan_has_a_second_content() {
    use SignatureState::Verified;
    let touched = |scans: &[Scan]| {
        let sent = batch(&scans.iter().map(|scan| (scan.clone(), Verified)).collect::<Vec<_>>());
        let facts = planned(&batch(&[]), &sent, &Quarantine::default(), 9);
        facts.touched.read().map(String::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(touched(&[scan("d1", "s1", "fresh"), scan("d1", "s2", "fresh")]).is_empty());
    assert_eq!(touched(&[scan("d1", "s1", "fresh"), scan("d1", "s2", "seen")]), ["ticket:seen"]);
    let other = Scan { count: 2, ..scan("d1", "s1", "fresh") };
    assert_eq!(touched(&[scan("d1", "s1", "fresh"), other]), ["ticket:fresh"]);
}
