//! Stored values. A value that is read back equals what was written. One that cannot be read is an error, never a panic
//! or a guess.

use admit_core::barcode::BarcodeHash;
use admit_core::decide::Reason;
use admit_core::event::{EventStatus, ReEntry};
use admit_core::gate::Direction;
use admit_core::incident::{Cause, CauseScan, CauseSubject, IncidentKind, Role, Subject};
use admit_core::judgement::{self, Judgement, JudgementError};
use admit_core::occupancy::{GateFlow, Occupancy, WithoutTicket};
use admit_core::reduce::{ConflictReason, EffectiveScan, Entry, LeftOut, ScanVerdict, TicketState};
use admit_core::rule::{Change, DeviceChange, EventChange, GateChange, TicketChange};
use admit_core::scan::{Digest, Fact, Headcount, Judged, Outcome, ScanKind, SignatureState};
use admit_core::sign::{content_digest, scan_bytes};
use admit_core::ticket::TicketStatus;
use admit_core::wire::stored::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::sample::*;

fn reads_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = to_text(value);
    assert_eq!(from_text::<T>("value", &text).as_ref(), Ok(value), "{text}");
}

#[test]
fn a_scan_reads_back_whole_and_keeps_its_digest() {
    for scan in [full_scan(), bare_scan()] {
        let read = scan_from_json(&scan_to_json(&scan)).unwrap();
        assert_eq!(read, scan);
        assert_eq!(content_digest(&read), content_digest(&scan));
        reads_back(&Fact {
            digest: content_digest(&scan),
            signature: SignatureState::Bearer,
            withheld: true,
            offset_seconds: -7,
            received_at: at("2025-12-07T19:31:00Z"),
            judged: Some(Judged { serial: 4, outcome: Outcome::Duplicate }),
            scan,
        });
    }
}

/// Every field of a scan is in its signed bytes: a changed field changes the digest.
#[test]
fn every_field_of_a_scan_is_signed() {
    let json = serde_json::to_value(full_scan()).unwrap();
    let base = scan_bytes(&full_scan());
    let mut fields = 0;
    for (field, value) in json.as_object().unwrap() {
        let others = match value {
            serde_json::Value::Bool(flag) => vec![serde_json::json!(!flag)],
            serde_json::Value::Number(number) => vec![serde_json::json!(number.as_u64().unwrap() + 1)],
            serde_json::Value::String(text) => other_texts(field, text),
            serde_json::Value::Object(parts) => parts
                .iter()
                .map(|(part, value)| {
                    let mut changed = value.clone();
                    changed = match &changed {
                        serde_json::Value::Bool(flag) => serde_json::json!(!flag),
                        serde_json::Value::Number(number) => serde_json::json!(number.as_i64().unwrap() + 1),
                        serde_json::Value::String(text) => other_texts(part, text).remove(0),
                        other => panic!("{field}.{part}: {other}"),
                    };
                    let mut parts = parts.clone();
                    parts.insert(part.clone(), changed);
                    serde_json::Value::Object(parts)
                })
                .collect(),
            other => panic!("{field}: {other}"),
        };
        for other in others {
            let mut changed = json.clone();
            changed[field] = other;
            let scan: admit_core::scan::Scan = serde_json::from_value(changed).unwrap();
            assert_ne!(scan_bytes(&scan), base, "{field}");
            fields += 1;
        }
    }
    assert_eq!(fields, 37, "30 fields, three of them with ten parts");
}

fn other_texts(field: &str, text: &str) -> Vec<serde_json::Value> {
    let other = match field {
        "form" => "s2",
        "kind" => "exit",
        "stage" => "claim",
        "method" => "qr",
        "outcome" => "valid",
        "status" => "active",
        "epoch" => "1765100000000-00000000deadbeee",
        "prev" => "00000000000000000000000000000000",
        "at" | "last_entry_at" => "2025-12-07T19:30:00.124Z",
        "barcode_hash" | "raw_hash" => return vec![serde_json::json!(BarcodeHash::of("other"))],
        _ => return vec![serde_json::json!(format!("{text}x"))],
    };
    vec![serde_json::json!(other)]
}

#[test]
fn every_change_of_a_rule_reads_back_from_its_columns() {
    let ticket = |change| Change::Ticket(id("tkt-001"), change);
    let gate = |change| Change::Gate(id("north-main"), change);
    let device = |change| Change::Device(id("device-1"), change);
    let changes = [
        ticket(TicketChange::First(ticket_rules())),
        ticket(TicketChange::Status(TicketStatus::Refunded)),
        ticket(TicketChange::EntryLimit(7)),
        ticket(TicketChange::GateIds(vec![id("south")])),
        ticket(TicketChange::Zone("\"backstage\"".into())),
        ticket(TicketChange::Window { valid_from: None, expires_at: Some(at("2025-12-07T22:00:00Z")) }),
        gate(GateChange::First(gate_rules())),
        gate(GateChange::Name("Süd".into())),
        gate(GateChange::Zones(vec![])),
        gate(GateChange::Direction(Direction::Out)),
        gate(GateChange::Capacity(None)),
        gate(GateChange::Capacity(Some(9))),
        gate(GateChange::NamesOnDevices(true)),
        Change::Event(EventChange::First(event_rules())),
        Change::Event(EventChange::Name("Gala".into())),
        Change::Event(EventChange::StartsAt(at("2025-12-07T17:00:00Z"))),
        Change::Event(EventChange::EndsAt(at("2025-12-08T01:00:00Z"))),
        Change::Event(EventChange::Status(EventStatus::Ended)),
        Change::Event(EventChange::ReEntry(ReEntry::AfterExit)),
        Change::Event(EventChange::MinGapSeconds(60)),
        Change::Event(EventChange::StaffPin(None)),
        Change::Event(EventChange::StaffPin(event_rules().staff_pin)),
        Change::Event(EventChange::Door(door_settings())),
        Change::Event(EventChange::ZoneNames(door_settings().zone_names)),
        device(DeviceChange::Assignment { event_id: id("event-1"), gate_id: id("south") }),
        device(DeviceChange::LostSince(None)),
        device(DeviceChange::LostSince(Some(at("2025-12-07T20:00:00Z")))),
    ];
    for change in changes {
        let parts = change_to_parts(&change);
        let read = change_from_parts(parts.subject_kind, &parts.subject_id, parts.field, &parts.value);
        assert_eq!(read, Ok(change), "{parts:?}");
    }
}

#[test]
fn a_rule_that_this_version_does_not_know_is_an_error() {
    for (kind, subject_id, field, value) in [
        ("person", "x", "name", "\"a\""),
        ("ticket", "", "status", "\"active\""),
        ("ticket", "t", "colour", "\"red\""),
        ("ticket", "t", "status", "\"lost\""),
        ("ticket", "t", "entry_limit", "-1"),
        ("gate", "g", "zones", "{}"),
        ("event", "", "starts_at", "\"soon\""),
        ("device", "d", "assignment", "{\"event_id\":\"e\"}"),
        ("event", "", "name", "not json"),
    ] {
        assert!(change_from_parts(kind, subject_id, field, value).is_err(), "{kind} {field} {value}");
    }
}

#[test]
fn findings_read_back() {
    let entry = Entry {
        at: at("2025-12-07T19:30:00Z"),
        uncertainty_ms: 40,
        device_id: id("device-1"),
        scan_id: id("scan-1"),
        gate_id: id("south"),
        within: 1,
        over: 2,
    };
    let state =
        TicketState { within: 1, over: 2, inside_within: 3, inside_over: 4, exited: 5, entries: vec![entry.clone()] };
    let mut verdicts = Vec::new();
    for (left_out, reason, conflict_reason) in [
        (None, None, None),
        (Some(LeftOut::Excluded), Some(Reason::TooSoon), Some(ConflictReason::DuplicateScan)),
        (Some(LeftOut::Unverified), Some(Reason::TicketVoided), Some(ConflictReason::DoubleEntry)),
    ] {
        let verdict = ScanVerdict {
            device_id: id("device-1"),
            scan_id: id("scan-1"),
            digest: reason.map(|_| Digest([9; 32])),
            at: entry.at,
            implausible: true,
            gate_id: id("south"),
            kind: ScanKind::Exit,
            left_out,
            outcome: Outcome::GateAccessDenied,
            reason,
            opened: true,
            count: 1,
            within: 2,
            over: 3,
            exited: 4,
            exited_over: 5,
            conflict: true,
            conflict_reason,
            admitted_in_error: true,
            refused_in_error: true,
            basis_mismatch: true,
            headcount: Some(Headcount::Recount { inside: 412 }),
        };
        reads_back(&verdict);
        verdicts.push(verdict);
    }
    let effective = vec![EffectiveScan {
        device_id: id("device-1"),
        scan_id: id("scan-1"),
        at: entry.at,
        uncertainty_ms: 1,
        implausible: true,
        kind: ScanKind::Entry,
        count: 2,
        opened: true,
        gate_id: id("south"),
        s2: true,
        claim: true,
    }];
    let gates = [(id("south"), GateFlow { entered: 3, exited: -1, without_ticket: 2 })].into_iter().collect();
    let without_ticket = WithoutTicket { staff: 1, crew: -2, child: 3, other: 4 };
    let occupancy = Occupancy {
        inside: -1,
        inside_over: 7,
        entered: 2,
        over: 3,
        exited: 4,
        subjects: 5,
        walk_ins: 6,
        without_ticket,
        gates,
    };
    let bytes = judgement::to_bytes(&state, &occupancy, &effective, &verdicts);
    assert_eq!(judgement::from_bytes(&bytes), Ok(Judgement { state, occupancy, effective, verdicts }));
    assert_eq!(judgement::from_bytes(&[]), Err(JudgementError::Damaged("empty")));
    assert_eq!(judgement::from_bytes(&[judgement::VERSION + 1]), Err(JudgementError::Version(2)));
    assert!(judgement::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
}

#[test]
fn a_cause_reads_back_whatever_it_is_about() {
    let scan = CauseScan {
        device_id: id("device-1"),
        scan_id: id("scan-1"),
        digest: Digest([9; 32]),
        role: Role::DoubleEntry,
        gate_id: id("south"),
        at: at("2025-12-07T19:30:00Z"),
        uncertainty_ms: 40,
        within: 1,
        over: 2,
        reason: Some(Reason::WrongGate),
        manifest_version: 7,
    };
    // These identifiers contain the punctuation that joins the parts of a key.
    let subjects = [
        CauseSubject::Scans(Subject::Ticket(id("a:b"))),
        CauseSubject::Scans(Subject::Unknown(BarcodeHash::of("x"))),
        CauseSubject::Log(id("d:1"), id("l:2:3")),
        CauseSubject::Device(id("d:1")),
        CauseSubject::ScanId(id("s:1")),
    ];
    for subject in subjects {
        let cause =
            Cause { kind: IncidentKind::DoubleEntry, subject, scans: vec![scan.clone()], order_uncertain: true };
        let read = cause_from_json(&cause_to_json(&cause)).unwrap();
        assert_eq!(read, cause);
        assert_eq!(read.digest(), cause.digest());
    }
}

#[test]
fn damaged_rows_are_errors_that_name_the_field() {
    let text = scan_to_json(&full_scan());
    for (from, to, field) in [
        ("\"count\":4", "\"count\":-4", "count"),
        ("\"kind\":\"revert\"", "\"kind\":\"jump\"", "kind"),
        ("\"at\":\"2025", "\"at\":\"20x5", "at"),
        ("\"prev\":\"07", "\"prev\":\"zz", "prev"),
        ("\"outcome\":\"invalid\",", "", "outcome"),
    ] {
        assert!(text.contains(from), "{from}");
        let error = scan_from_json(&text.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.what, "scan");
        assert!(error.why.starts_with(&format!("{field}: ")), "{error}");
    }
    for cut in 0..text.len() {
        if text.is_char_boundary(cut) {
            assert!(scan_from_json(&text[..cut]).is_err());
        }
    }
}
