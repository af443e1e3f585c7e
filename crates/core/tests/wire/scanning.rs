//! The wire shapes of `/api/scanning/*`.

use admit_core::ids::{DeviceId, EventId, ScanId};
use admit_core::reduce::{ConflictReason, TicketState};
use admit_core::scan::{Headcount, Outcome, PersonClass, Scan, ScanKind, Stage};
use admit_core::sign::{ApiKey, sign_v2, verify_v2};
use admit_core::wire::scanning::*;
use serde_json::{Value, json};

use crate::sample::*;

fn v2() -> Value {
    serde_json::to_value(ScanV2::of(&full_scan(), "HMAC-SHA256-V2=00").unwrap()).unwrap()
}

/// A copy of `base` with the member at a dotted path set, or removed when the value is `None`.
fn set(base: &Value, path: &str, value: Option<Value>) -> Value {
    let mut out = base.clone();
    let (parent, member) = match path.rsplit_once('.') {
        Some((parent, member)) => (out.get_mut(parent).unwrap(), member),
        None => (&mut out, path),
    };
    let members = parent.as_object_mut().unwrap();
    match value {
        Some(value) => members.insert(member.to_owned(), value),
        None => members.remove(member),
    };
    out
}

#[test]
fn a_scan_of_ours_crosses_the_wire_whole_and_its_signature_still_holds() {
    let key = ApiKey::from_random([3; 32]).scan_key();
    let scan = full_scan();
    let item = ScanV2::of(&scan, &sign_v2(&key, &scan)).unwrap();
    let (read, signature) = ScanV2::read(&serde_json::to_string(&item).unwrap()).unwrap();
    assert_eq!(read, scan);
    assert!(verify_v2(&key, &read, &signature));
    assert_eq!(Scan::try_from(item).unwrap(), scan);
}

#[test]
fn what_our_form_always_has_cannot_be_left_out_of_it() {
    for (field, scan) in [
        ("log_id", Scan { log_id: None, ..full_scan() }),
        ("seq", Scan { seq: None, ..full_scan() }),
        ("prev", Scan { prev: None, ..full_scan() }),
        ("key_id", Scan { key_id: None, ..full_scan() }),
        ("clock", Scan { clock: None, ..full_scan() }),
    ] {
        assert_eq!(ScanV2::of(&scan, "").unwrap_err().path, field);
    }
}

#[test]
fn a_malformed_scan_of_ours_is_refused_by_the_name_of_its_field() {
    let long = |n: usize| Some(json!("x".repeat(n)));
    let table: Vec<(&str, Option<Value>)> = vec![
        ("scan_id", None),
        ("scan_id", Some(json!(7))),
        ("scan_id", Some(json!(""))),
        ("scan_id", Some(json!("with space"))),
        ("scan_id", long(129)),
        ("device_id", Some(json!("d\u{0}"))),
        ("log_id", Some(json!(null))),
        ("seq", Some(json!(0))),
        ("seq", Some(json!(-1))),
        ("seq", Some(json!(1.5))),
        ("seq", Some(json!("1"))),
        ("seq", Some(json!(9_007_199_254_740_992_u64))),
        ("prev", Some(json!("00"))),
        ("prev", Some(json!("0G".repeat(16)))),
        ("key_id", None),
        ("event_id", None),
        ("gate_id", Some(json!({}))),
        ("kind", Some(json!("jump"))),
        ("kind", Some(json!(["entry"]))),
        ("stage", Some(json!("Final"))),
        ("method", Some(json!("camera"))),
        ("barcode_hash", Some(json!("sha256:00"))),
        ("barcode_hash", Some(json!("ab".repeat(32)))),
        ("count", Some(json!(0))),
        ("count", Some(json!(10_001))),
        ("count", Some(json!(4_294_967_296_u64))),
        ("count", Some(json!(true))),
        ("outcome", Some(json!("go"))),
        ("opened", Some(json!("true"))),
        ("opened", None),
        ("override", Some(json!("Ann"))),
        ("override.by", None),
        ("override.by", long(201)),
        ("override.reason", long(2_001)),
        ("override.reason", Some(json!("a\u{0}b"))),
        ("operator", long(201)),
        ("operator", Some(json!([]))),
        ("target_device", None),
        ("target_scan_id", None),
        ("keep", Some(json!(10_001))),
        ("at_ms", Some(json!(-1))),
        ("at_ms", Some(json!(253_402_207_200_001_i64))),
        ("at_ms", Some(json!("2025-12-07T19:30:00Z"))),
        ("at_ms", Some(json!(1e300))),
        ("uncertainty_ms", Some(json!(-1))),
        ("uncertainty_ms", Some(json!(u64::MAX))),
        ("clock", None),
        ("clock.wall_ms", None),
        ("clock.mono_ms", Some(json!(0.5))),
        ("clock.session_id", long(129)),
        ("epoch", Some(json!("1"))),
        ("epoch", Some(json!(5))),
        ("manifest_version", Some(json!(u64::MAX))),
        ("cursor", Some(json!("1765100000000-00000000deadbeef.9"))),
        ("basis", Some(json!([]))),
        ("basis.within", Some(json!(-1))),
        ("basis.status", Some(json!("gone"))),
        ("basis.last_entry_at", Some(json!("soon"))),
        ("signature", None),
        ("signature", Some(json!(1))),
    ];
    for (path, value) in table {
        let item = set(&v2(), path, value.clone()).to_string();
        let error = ScanV2::read(&item).unwrap_err();
        assert_eq!(error.path, path, "{value:?}: {error}");
        assert!(!error.message.is_empty());
    }
    for whole in ["null", "[]", "7", "\"x\"", "{", "", "\u{feff}{}"] {
        assert!(ScanV2::read(whole).is_err(), "{whole}");
    }
}

#[test]
fn an_entry_must_name_its_code_or_by_hand_its_ticket() {
    let entry = set(&set(&v2(), "kind", Some(json!("entry"))), "barcode_hash", None);
    assert!(ScanV2::read(&entry.to_string()).is_ok(), "by hand with a ticket");
    for (path, value) in [("method", Some(json!("qr"))), ("ticket_id", None)] {
        let error = ScanV2::read(&set(&entry, path, value).to_string()).unwrap_err();
        assert_eq!(error.path, "barcode_hash", "{error}");
    }
}

#[test]
fn a_headcount_is_about_no_ticket_and_says_what_was_counted() {
    let id = |field: &str| v2()[field].as_str().unwrap().to_owned();
    let (event_id, device_id) = (EventId::new(id("event_id")).unwrap(), DeviceId::new(id("device_id")).unwrap());
    let subject = Headcount::subject_id(&event_id, &device_id, &ScanId::new(id("scan_id")).unwrap()).unwrap();
    let mut good = v2();
    for (path, value) in [
        ("kind", Some(json!("headcount"))),
        ("method", Some(json!("manual"))),
        ("opened", Some(json!(true))),
        ("outcome", Some(json!("valid"))),
        ("stage", Some(json!("final"))),
        ("barcode_hash", None),
        ("override", None),
        ("count", Some(json!(3))),
        ("ticket_id", Some(json!(subject.as_str()))),
        ("headcount", Some(json!({ "change": { "class": "staff", "delta": -3 } }))),
    ] {
        good = set(&good, path, value);
    }
    let (scan, _) = ScanV2::read(&good.to_string()).unwrap();
    assert_eq!(scan.headcount, Some(Headcount::Change { class: PersonClass::Staff, delta: -3 }));
    let wrong = [
        ("headcount", None, "headcount"),
        ("kind", Some(json!("entry")), "headcount"),
        ("method", Some(json!("qr")), "barcode_hash"),
        ("opened", Some(json!(false)), "kind"),
        ("outcome", Some(json!("duplicate")), "outcome"),
        ("barcode_hash", Some(v2()["barcode_hash"].clone()), "barcode_hash"),
        ("override", Some(json!({ "by": "Ada", "reason": "x" })), "override"),
        ("ticket_id", Some(json!("tkt-001")), "ticket_id"),
        ("count", Some(json!(2)), "count"),
        ("headcount", Some(json!({ "change": { "class": "staff", "delta": 0 } })), "headcount.change.delta"),
        ("headcount", Some(json!({ "change": { "class": "staff", "delta": -51 } })), "headcount.change.delta"),
        ("headcount", Some(json!({ "recount": { "inside": 1_000_001 } })), "headcount.recount.inside"),
        ("headcount", Some(json!({ "recount": { "inside": 7 } })), "count"),
    ];
    for (path, value, named) in wrong {
        let error = ScanV2::read(&set(&good, path, value.clone()).to_string()).unwrap_err();
        assert_eq!(error.path, named, "{path} {value:?}: {error}");
    }
}

#[test]
fn absent_optional_fields_and_unknown_ones_are_fine() {
    let mut item = v2();
    for field in [
        "raw_hash",
        "ticket_id",
        "override",
        "operator",
        "epoch",
        "basis",
        "count",
        "keep",
        "manifest_version",
        "cursor",
    ] {
        item = set(&item, field, None);
    }
    let (scan, _) = ScanV2::read(&set(&item, "made_up", Some(json!({ "a": [1] }))).to_string()).unwrap();
    assert_eq!((scan.count, scan.keep, scan.manifest_version, scan.cursor), (1, 0, 0, 0));
    assert_eq!((scan.epoch, scan.basis, scan.operator), (None, None, None));
}

#[test]
fn of_a_malformed_item_its_place_in_the_log_is_still_read() {
    let broken = set(&v2(), "count", Some(json!(0)));
    let readable = Readable::of(&broken.to_string());
    assert_eq!(readable, Readable { scan_id: Some(id("scan-1")), log_id: Some(id("log-1")), seq: Some(3) });
    let worse = json!({ "scan_id": "has space", "log_id": 5, "seq": 0 });
    assert_eq!(Readable::of(&worse.to_string()), Readable::default());
    assert_eq!(Readable::of("{\"scan_id\":"), Readable::default());
    assert_eq!(Readable::of("[1]"), Readable::default());
}

#[test]
fn a_scan_of_s1s_form_opened_the_door_iff_it_was_valid() {
    let json = json!({ "scan_id": "s", "ticket_id": "t", "barcode_hash": format!("sha256:{}", "ab".repeat(32)),
        "scanned_at": "2025-12-07T21:30:00.50+02:00", "gate_id": "g", "outcome": "valid", "signature": "" });
    let mut item = ScanV1::read(&json.to_string()).unwrap();
    item.sign("key");
    assert!(item.verify("key") && !item.verify("kez"));
    assert!(
        item.signed_text().contains(r#""scanned_at":"2025-12-07T21:30:00.50+02:00""#),
        "the text is signed as sent"
    );
    let scan = item.clone().into_scan(&id("d"), &id("e"));
    assert_eq!(scan.at, at("2025-12-07T19:30:00.5Z"));
    assert_eq!((scan.opened, scan.count, scan.uncertainty_ms), (true, 1, 1_000));
    assert_eq!((scan.kind, scan.stage), (ScanKind::Entry, Stage::Final));
    assert!(!ScanV1 { outcome: Outcome::Duplicate, ..item }.into_scan(&id("d"), &id("e")).opened);
    for (path, value) in [
        ("scan_id", None),
        ("ticket_id", Some(json!(5))),
        ("barcode_hash", None),
        ("barcode_hash", Some(json!("sha256:AB"))),
        ("scanned_at", Some(json!("2025-12-07"))),
        ("scanned_at", Some(json!(1_765_135_800))),
        ("gate_id", Some(json!(""))),
        ("outcome", Some(json!("maybe"))),
        ("signature", None),
    ] {
        assert_eq!(ScanV1::read(&set(&json, path, value).to_string()).unwrap_err().path, path);
    }
    assert_eq!(ScanV1::read(&set(&json, "ticket_id", None).to_string()).unwrap().ticket_id, None);
}

#[test]
fn an_envelope_is_checked_and_its_items_are_left_as_they_are() {
    let base = json!({ "device_id": "d", "sync_batch_id": "b", "offset_seconds": 5, "scans": [{ "x": 1.50 }, "nonsense", null] });
    let read = |json: &Value| admit_core::wire::problem::read::<SyncRequest>(json.to_string().as_bytes());
    let request = read(&base).unwrap();
    assert_eq!(
        request.scans.iter().map(|item| item.get()).collect::<Vec<_>>(),
        [r#"{"x":1.5}"#, "\"nonsense\"", "null"]
    );
    assert!(!request.is_ours());
    assert_eq!(request.check(2, 9).unwrap_err().path, "scans");
    assert!(request.check(3, 9).is_ok());
    let ours = read(&set(&base, "format", Some(json!(2)))).unwrap();
    assert!(ours.is_ours() && ours.check(2, 3).is_ok() && ours.check(3, 2).is_err());
    for (path, value, wrong) in
        [("format", Some(json!(3)), "format"), ("log_id", Some(json!("l")), "head"), ("head", Some(json!(1)), "head")]
    {
        assert_eq!(read(&set(&base, path, value)).unwrap().check(50, 1_000).unwrap_err().path, wrong);
    }
    for (path, value) in [
        ("device_id", None),
        ("sync_batch_id", Some(json!(""))),
        ("sync_batch_id", None),
        ("format", Some(json!("2"))),
        ("batch_created_at", Some(json!("now"))),
        ("offset_seconds", Some(json!(1.5))),
        ("offset_seconds", Some(json!(1e30))),
        ("scans", None),
        ("scans", Some(json!({}))),
        ("scans", Some(json!("[]"))),
    ] {
        assert_eq!(read(&set(&base, path, value)).unwrap_err().path, path);
    }
}

#[test]
fn a_cursor_is_written_epoch_dot_serial_and_read_only_so() {
    let cursor = Cursor::at(epoch(), 42);
    assert_eq!(cursor.to_string(), "1765100000000-00000000deadbeef.42");
    assert_eq!(cursor.to_string().parse(), Ok(cursor.clone()));
    let within = Cursor { after: Some(id("t/1.\"x")), ..cursor };
    assert_eq!(within.to_string(), "1765100000000-00000000deadbeef.42/742f312e2278");
    assert_eq!(within.to_string().parse(), Ok(within));
    for text in [
        "",
        "42",
        "1765100000000-00000000deadbeef",
        "1765100000000-00000000deadbeef.042",
        "1-1.1",
        "x.1",
        "1765100000000-00000000deadbeef.-1",
        "1765100000000-00000000deadbeef.42/",
        "1765100000000-00000000deadbeef.42/7",
        "1765100000000-00000000deadbeef.42/zz",
        "1765100000000-00000000deadbeef.42/20",
        "1765100000000-00000000deadbeef.42/+f",
        "1765100000000-00000000deadbeef.42/ü",
    ] {
        assert!(text.parse::<Cursor>().is_err(), "{text}");
    }
}

#[test]
fn a_witness_is_one_header_line_and_ours_only_under_our_secret() {
    let witness = Witness::new(b"secret", epoch(), &id("e\"1\\"), 42, [5; 32]);
    let header = witness.to_string();
    assert!(header.bytes().all(|byte| (0x20..0x7f).contains(&byte)), "fit for a header: {header}");
    let read: Witness = header.parse().unwrap();
    assert_eq!(read, witness);
    assert!(read.is_ours(b"secret") && !read.is_ours(b"other"));
    assert!(!Witness { serial: 43, ..read }.is_ours(b"secret"));
    for text in ["", "{}", "null", &header[1..]] {
        assert!(text.parse::<Witness>().is_err(), "{text}");
    }
}

/// The exact bytes of each answer: a changed line here means that the wire format changed.
#[test]
fn answers_look_as_written_here() {
    let cursor = Cursor::at(epoch(), 42);
    let now = at("2025-12-07T19:31:00Z");
    let scan = |scan_id: &str| ConflictScan {
        device_id: id("d"),
        scan_id: id(scan_id),
        gate_id: id("g"),
        at: now,
        uncertainty_ms: 40,
        count: 1,
    };
    let (result, severity) = Conflict::words(ConflictReason::DoubleEntry);
    let sync = SyncAnswer {
        batch_id: id("b"),
        processed: vec![id("s1"), id("s2")],
        skipped: vec![],
        rejected: vec![Rejected {
            scan_id: Some("s3".into()),
            index: 2,
            reason: "count: must be 1 to 10000".into(),
            kept: true,
        }],
        conflicts: vec![Conflict {
            scan_id: id("s2"),
            ticket_id: Some(id("t")),
            result,
            severity,
            conflict_reason: ConflictReason::DoubleEntry,
            entry_scans: vec![scan("s1")],
            double_entry_scans: vec![scan("s2")],
        }],
        cursor: cursor.clone(),
        server_time: now,
    };
    let written = r#"{"batch_id":"b","processed":["s1","s2"],"skipped":[],"rejected":[{"scan_id":"s3","index":2,"reason":"count: must be 1 to 10000","kept":true}],"conflicts":[{"scan_id":"s2","ticket_id":"t","result":"DOUBLE_ENTRY","severity":"CRITICAL","conflict_reason":"double_entry","entry_scans":[{"device_id":"d","scan_id":"s1","gate_id":"g","at":"2025-12-07T19:31:00Z","uncertainty_ms":40,"count":1}],"double_entry_scans":[{"device_id":"d","scan_id":"s2","gate_id":"g","at":"2025-12-07T19:31:00Z","uncertainty_ms":40,"count":1}]}],"cursor":"1765100000000-00000000deadbeef.42","server_time":"2025-12-07T19:31:00Z"}"#;
    assert_eq!(serde_json::to_string(&sync).unwrap(), written);
    assert_eq!(serde_json::from_str::<SyncAnswer>(written).unwrap(), sync);

    let pair = PairAnswer {
        device_id: id("d"),
        api_key: "admit_dk_x".into(),
        key_id: id("k"),
        organization_id: id("o"),
        event_id: id("e"),
        gate_id: id("g"),
        epoch: epoch(),
        name: None,
    };
    let written = r#"{"device_id":"d","api_key":"admit_dk_x","key_id":"k","organization_id":"o","event_id":"e","gate_id":"g","epoch":"1765100000000-00000000deadbeef"}"#;
    assert_eq!(serde_json::to_string(&pair).unwrap(), written);
    assert!(!format!("{pair:?}").contains("admit_dk_"), "a key never reaches a log");

    let changes = ChangesAnswer {
        items: vec![ChangedTicket {
            ticket_id: id("t"),
            rules: ticket_rules(),
            barcode_hashes: vec![],
            prefix: TicketState::default(),
            scans: vec![],
        }],
        event: None,
        gates: Some(vec![ChangedGate { gate_id: id("g"), rules: gate_rules() }]),
        devices: vec![NamedDevice { device_id: id("d"), name: "North 1".into() }],
        manifest_version: 7,
        cursor,
        more: false,
        resync: false,
        server_time: now,
    };
    let written = r#"{"items":[{"ticket_id":"t","rules":{"status":"active","entry_limit":4,"gate_ids":["north-main","south"],"zone":"vip","valid_from":"2025-12-07T18:00:00Z","expires_at":null},"barcode_hashes":[],"prefix":{"within":0,"over":0,"inside_within":0,"inside_over":0,"exited":0,"entries":[]},"scans":[]}],"gates":[{"gate_id":"g","rules":{"name":"North","zones":["general","vip"],"direction":"both","capacity":1000,"names_on_devices":true,"entry_rules":["check_ticket_valid","check_not_duplicate"]}}],"devices":[{"device_id":"d","name":"North 1"}],"manifest_version":7,"cursor":"1765100000000-00000000deadbeef.42","more":false,"server_time":"2025-12-07T19:31:00Z"}"#;
    assert_eq!(serde_json::to_string(&changes).unwrap(), written);
    assert_eq!(serde_json::from_str::<ChangesAnswer>(written).unwrap(), changes);

    let status = LogStatusAnswer { missing: vec![(1, 3), (7, 7)] };
    assert_eq!(serde_json::to_string(&status).unwrap(), r#"{"missing":[[1,3],[7,7]]}"#);
    let time = TimeAnswer { received_at_ms: 1, sent_at_ms: 2, server_time: now };
    let written = r#"{"received_at_ms":1,"sent_at_ms":2,"server_time":"2025-12-07T19:31:00Z"}"#;
    assert_eq!(serde_json::to_string(&time).unwrap(), written);
}
