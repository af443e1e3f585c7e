//! The inputs of the test vectors for codes, hashes, signatures, verdicts and screens.

use admit_core::decide::{Advice, Reason};
use admit_core::ids::{DeviceId, EventId, ScanId};
use admit_core::scan::{Headcount, Outcome, ScanKind};
use admit_core::sign::ApiKey;
use serde_json::{Value, json};

use super::Given;

fn given(name: impl Into<String>, what: &'static str, given: Value) -> Given {
    (name.into(), what, given)
}

/// `base` with some members replaced. A `null` under the name `-member` removes that member.
pub fn with(base: &Value, changes: Value) -> Value {
    let mut out = base.clone();
    for (member, value) in changes.as_object().unwrap() {
        match member.strip_prefix('-') {
            Some(member) => {
                out.as_object_mut().unwrap().remove(member);
            }
            None => out[member] = value.clone(),
        }
    }
    out
}

pub fn barcodes() -> Vec<Given> {
    let reads = [
        ("plain", "TOKEN-A-0001"),
        ("trimmed", "  TOKEN-A-0001\r\n"),
        ("uuid", "7d7e9c4e-2b1a-4f0d-9a3c-0f1e2d3c4b5a"),
        ("pass url", "https://tickets.example/passes?token=7d7e9c4e-2b1a-4f0d-9a3c-0f1e2d3c4b5a"),
        ("pass url, more parameters", "https://tickets.example/sub/passes/?lang=de&token=abc&x=1#frag"),
        ("url of something else", "https://tickets.example/other?token=abc"),
        ("pass url without a token", "https://tickets.example/passes?token="),
        ("s2 code, dashed", "3KQR-7F92-4M1X"),
        ("s2 code, undashed", "3KQR7F924M1X"),
        ("s2 code, four groups", "3KQR-7F92-4M1X-ab9Z"),
        ("dashes elsewhere", "3K-QR7F924M1X"),
        ("Luma's check-in page", "https://lu.ma/check-in/evt-1?pk=g-1"),
        ("AIM prefix", "]Q1PLAIN-77001"),
        ("GS1 with AIM prefix and separators", "]C1\u{1d}010500045611225310COV0109\u{1d}"),
        ("GS1 as it is printed for people", "(01)05000456112253(10)COV0109"),
        ("ECI flag as text", "\\000026PLAIN-77001"),
        ("AIM prefix and ECI flag", "]Q1\\000026PLAIN-77001"),
        ("invisible characters, no-break hyphen", "\u{feff}ZW\u{2011}000004\u{200b}"),
        ("decomposed letters", "Zoe\u{308}-1"),
        ("emoji", "🎟 Ünïcode"),
        ("empty", ""),
        ("white space", " \t "),
        ("control character", "a\u{1}b"),
        ("NUL", "a\u{0}b"),
        ("512 bytes", &"x".repeat(512)),
        ("513 bytes", &"x".repeat(513)),
        ("513 bytes in fewer characters", &"ü".repeat(257)),
    ]
    .map(|(name, read)| given(name, "candidates", json!(read)));
    reads.into()
}

/// Pairs of a guest's name and a search that finds it. The store's tests ask both databases the same (`find_name`).
const TYPED: &[(&str, &str)] = &[
    ("Łukasz Żółć", "lukasz zolc"),
    ("Łukasz Żółć", "zolc luk"),
    ("Øystein Ærø", "aero oyst"),
    ("Straße Müller", "strasse muller"),
    ("Straße Müller", "mueller"),
    ("Seán O’Brien", "o'brien"),
    ("Seán O’Brien", "obrien sean"),
    ("Seán O’Brien", "o brien"),
    ("Sean Obrien", "o brien sean"),
    ("Sean Obrien", "sean o brien"),
    ("Jean‑Luc D'Angelo", "jean luc dangelo"),
    ("Jean‑Luc D'Angelo", "jeanluc"),
    ("María-José García", "maria jose garcia"),
    ("田中 さくら", "サクラ"),
    ("田中さくら", "さくら"),
    ("İbrahim Işık", "ibrahim isik"),
    ("Nguyễn Văn Đức", "duc nguyen"),
    ("محمد علي", "محمد"),
    ("Дмитрий Ёлкин", "елкин дм"),
    ("김민수", "민수"),
    ("Ｆｕｌｌ Ｗｉｄｔｈ", "full wid"),
    ("Hans Mueller", "müller"),
    ("Hans Muller", "mueller"),
    ("Hans Muller", "muel"),
    ("Susan Muster", "sue"),
    ("Ana Botha", "ana bota"),
    ("Ana Botha", "tha"),
    ("Ana Botha", "--"),
    ("Ana Botha", "100%"),
    ("Ana", "ана"),
    ("A B C D E F G H I J", "a b c d e f g h nothing"),
];

pub fn names() -> Vec<Given> {
    let find = |(name, typed): &(&str, &str)| {
        given(format!("{name} by {typed}"), "find_name", json!({ "name": name, "typed": typed }))
    };
    let texts = [
        "Seán O’Brien",
        "  Jean‑Luc   D'Angelo ",
        "Łódź STRAẞE",
        "Müller-Lüdenscheidt",
        "ｶﾞｸ ガク がく",
        "مُحَمَّد",
        "हिन्दी",
        "김민수",
        "e\u{301}\u{200b}\u{a0}x",
        "--",
    ];
    let of = |what: &'static str| texts.map(|text| given(format!("{what} {text}"), what, json!(text)));
    let mut out: Vec<Given> = TYPED.iter().map(find).collect();
    out.extend(["for_search", "for_identity", "search_words"].into_iter().flat_map(of));
    out
}

/// An entry as Admit's own scanner sends it.
pub fn item() -> Value {
    json!({
        "scan_id": "5b0c9f6e-8a41-4d0e-9c77-1f2e3d4c5b6a",
        "device_id": "device-north-1",
        "log_id": "0123456789abcdef0123456789abcdef",
        "seq": 1,
        "prev": "00000000000000000000000000000000",
        "key_id": "key-1",
        "event_id": "550e8400-e29b-41d4-a716-446655440000",
        "gate_id": "north-main",
        "kind": "entry",
        "stage": "final",
        "method": "qr",
        "barcode_hash": "sha256:5df1b5bd3c5cd2e5bb2ee5eb2e1a4f0d9a3c0f1e2d3c4b5a69788796a5b4c3d2",
        "raw_hash": "sha256:5df1b5bd3c5cd2e5bb2ee5eb2e1a4f0d9a3c0f1e2d3c4b5a69788796a5b4c3d2",
        "ticket_id": "tkt-001",
        "count": 1,
        "outcome": "valid",
        "opened": true,
        "keep": 0,
        "at_ms": 1_765_135_800_000_i64,
        "uncertainty_ms": 40,
        "clock": { "wall_ms": 1_765_135_799_120_i64, "mono_ms": 81_234, "session_id": "session-1" },
        "epoch": "1765100000000-00000000deadbeef",
        "manifest_version": 7,
        "cursor": 9,
        "basis": { "within": 0, "inside": 0, "status": "active" },
        "signature": "",
    })
}

/// A headcount of `count` persons. An undo can take back part of it.
fn counted_by_hand(count: u32) -> Value {
    let item = item();
    let id = |field: &str| item[field].as_str().unwrap();
    let (event_id, device_id) = (EventId::new(id("event_id")).unwrap(), DeviceId::new(id("device_id")).unwrap());
    let subject = Headcount::subject_id(&event_id, &device_id, &ScanId::new(id("scan_id")).unwrap()).unwrap();
    with(
        &item,
        json!({ "kind": "headcount", "method": "manual", "-barcode_hash": null, "-raw_hash": null, "-basis": null,
            "count": count, "ticket_id": subject.as_str() }),
    )
}

/// Upload items of every shape, each named by what is special in it.
fn items() -> Vec<(&'static str, Value)> {
    let base = item();
    vec![
        ("entry", base.clone()),
        (
            "revert that keeps one",
            with(
                &base,
                json!({ "kind": "revert", "seq": 2, "prev": "ffeeddccbbaa99887766554433221100",
                    "-raw_hash": null, "-ticket_id": null, "-basis": null, "target_device": "device-south-2",
                    "target_scan_id": "scan/9", "keep": 1, "opened": false }),
            ),
        ),
        (
            "a guest added at the door",
            with(
                &base,
                json!({ "-barcode_hash": null, "-raw_hash": null, "-basis": null, "method": "manual", "count": 2,
                    "ticket_id": "ed861ed3-223c-5205-acbc-e6f6d2a8785f",
                    "walk_in": { "zone": "general", "party": 3, "name_digest": "ab".repeat(32) } }),
            ),
        ),
        (
            "two of the crew who went out",
            with(&counted_by_hand(2), json!({ "headcount": { "change": { "class": "crew", "delta": -2 } } })),
        ),
        (
            "everybody inside, counted by hand",
            with(&counted_by_hand(1), json!({ "headcount": { "recount": { "inside": 412 } } })),
        ),
        (
            "override of a party, every optional field there",
            with(
                &base,
                json!({ "count": 4, "outcome": "invalid", "override": { "by": "Zoë \"Z\" O'Neil", "reason": "paid\nat the door 🎟" },
                    "operator": "Änne", "clock": { "wall_ms": -1, "mono_ms": -5, "session_id": "s", "corrected": true },
                    "basis": { "within": 2, "inside": 1, "last_entry_at": "2025-12-07T19:29:59.5Z", "status": "voided" } }),
            ),
        ),
        (
            "manual exit, nothing optional there",
            with(
                &base,
                json!({ "kind": "exit", "method": "manual", "-barcode_hash": null, "-raw_hash": null, "-epoch": null,
                    "-basis": null, "manifest_version": 0, "cursor": 0 }),
            ),
        ),
        ("claim", with(&base, json!({ "stage": "claim", "outcome": "duplicate", "opened": false }))),
        (
            "largest numbers",
            with(
                &base,
                json!({ "seq": 9_007_199_254_740_991_u64, "count": 10_000, "uncertainty_ms": 9_007_199_254_740_991_u64,
                    "at_ms": 253_402_207_200_000_i64, "manifest_version": 9_007_199_254_740_991_u64,
                    "cursor": 9_007_199_254_740_991_u64, "epoch": "9223372036854775807-ffffffffffffffff",
                    "basis": { "within": 4_294_967_295_u32, "inside": 4_294_967_295_u32 } }),
            ),
        ),
    ]
}

/// The form in which the server stores a v2 item.
fn stored(item: &Value) -> Value {
    let (scan, _) = admit_core::wire::scanning::ScanV2::read(&item.to_string()).unwrap();
    json!(scan)
}

pub fn hashes() -> Vec<Given> {
    let mut out = vec![
        given("a code", "barcode_hash", json!("TOKEN-A-0001")),
        given("a code beyond ASCII", "barcode_hash", json!("🎟 Ünïcode")),
        given("a device key", "api_key", json!("00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff")),
        given(
            "a staff PIN",
            "pin",
            json!({ "digits": "4711", "salt": "000102030405060708090a0b0c0d0e0f", "iterations": 1000 }),
        ),
        given(
            "a witness",
            "witness",
            json!({ "secret": "a secret", "epoch": "1765100000000-00000000deadbeef", "event_id": "event-1", "serial": 9,
                "audit_head": "11".repeat(32) }),
        ),
        given("an empty ledger", "audit", json!([])),
    ];
    for (name, item) in items() {
        out.push(given(format!("scan v2: {name}"), "scan", stored(&item)));
    }
    let v1 = json!({ "form": "v1", "scan_id": "scan-1", "device_id": "device-1", "event_id": "event-1", "gate_id": "north-main",
        "kind": "entry", "stage": "final", "method": "qr", "barcode_hash": format!("sha256:{}", "ab".repeat(32)),
        "ticket_id": "tkt-001", "count": 1, "outcome": "valid", "opened": true, "at": "2025-12-07T19:30:00Z",
        "uncertainty_ms": 1000, "manifest_version": 0, "cursor": 0 });
    out.push(given("scan v1", "scan", v1));
    let line = |n: u64, action: &str| {
        json!({ "serial": n + 4, "n": n, "at": "2025-12-07T19:30:00.25Z", "actor": "user:u-1", "action": action,
            "entity_type": "Ticket", "entity_id": "tkt-001", "changes": r#"{"status":["active","voided"]}"#, "metadata": "{}" })
    };
    out.push(given("a ledger of two lines", "audit", json!([line(1, "ticket_voided"), line(2, "ticket_restored")])));
    let pair = |id: &str, byte: &str| json!([id, byte.repeat(32)]);
    let batch = json!({ "device_id": "device-1", "endpoint": "sync", "scans": [pair("a", "01"), pair("b", "02")], "malformed": [] });
    out.push(given("a batch", "batch", batch.clone()));
    out.push(given(
        "the same in another order",
        "batch",
        with(&batch, json!({ "scans": [pair("b", "02"), pair("a", "01")] })),
    ));
    out.push(given("with a malformed item", "batch", with(&batch, json!({ "malformed": ["{\"scan_id\":7}"] }))));
    out.push(given("at the other endpoint", "batch", with(&batch, json!({ "endpoint": "scans_sync" }))));
    out
}

pub fn signatures() -> Vec<Given> {
    let key = ApiKey::from_random([0x5a; 32]);
    let other = ApiKey::from_random([0x5b; 32]);
    let mut out = Vec::new();
    for (name, item) in items() {
        out.push(given(format!("v2: {name}"), "sign_v2", json!({ "api_key": key.as_str(), "item": item })));
    }
    let signed = |item: &Value| {
        let answer = admit_core::vectors::answer("sign_v2", &json!({ "api_key": key.as_str(), "item": item })).unwrap();
        answer["item"].clone()
    };
    let good = signed(&item());
    let v2 = |name: &str, key: &ApiKey, item: Value| {
        given(format!("v2: {name}"), "verify_v2", json!({ "api_key": key.as_str(), "item": item }))
    };
    out.push(v2("a good signature", &key, good.clone()));
    out.push(v2(
        "members in another order and one unknown are the same scan",
        &key,
        with(&good, json!({ "unknown": 1 })),
    ));
    out.push(v2("another key", &other, good.clone()));
    out.push(v2("another count", &key, with(&good, json!({ "count": 2 }))));
    out.push(v2("another time", &key, with(&good, json!({ "at_ms": 1_765_135_800_001_i64 }))));
    out.push(v2("an absent field is not an empty one", &key, with(&good, json!({ "operator": "" }))));
    out.push(v2("no signature", &key, with(&good, json!({ "signature": "" }))));
    let v1_form = good["signature"].as_str().unwrap().replace("HMAC-SHA256-V2=", "HMAC-SHA256=");
    out.push(v2("the other form's prefix", &key, with(&good, json!({ "signature": v1_form }))));
    out.extend(signatures_v1(&key, &other));
    out
}

fn signatures_v1(key: &ApiKey, other: &ApiKey) -> Vec<Given> {
    let base = json!({ "scan_id": "scan-uuid-1", "ticket_id": "tkt-001", "barcode_hash": format!("sha256:{}", "a3".repeat(32)),
        "scanned_at": "2025-12-07T19:30:00Z", "gate_id": "north-main", "outcome": "valid", "signature": "" });
    let items = [
        ("known ticket", base.clone()),
        ("unknown ticket is signed as null", with(&base, json!({ "-ticket_id": null, "outcome": "invalid" }))),
        (
            "time as sent, with offset and fraction; quotes and backslashes in ids",
            with(
                &base,
                json!({ "scanned_at": "2025-12-07T21:30:00.123456+02:00", "scan_id": "a\"b\\c", "gate_id": "</gate>&'" }),
            ),
        ),
    ];
    let mut out: Vec<Given> = items
        .iter()
        .map(|(name, item)| given(format!("v1: {name}"), "sign_v1", json!({ "api_key": key.as_str(), "item": item })))
        .collect();
    let answer = admit_core::vectors::answer("sign_v1", &json!({ "api_key": key.as_str(), "item": base })).unwrap();
    let good = answer["item"].clone();
    for (name, key, item) in [
        ("a good signature", key, good.clone()),
        ("the outcome is not signed", key, with(&good, json!({ "outcome": "duplicate" }))),
        ("another key", other, good.clone()),
        ("the same moment in another spelling", key, with(&good, json!({ "scanned_at": "2025-12-07T19:30:00.0Z" }))),
        ("another gate", key, with(&good, json!({ "gate_id": "south" }))),
        ("not hexadecimal", key, with(&good, json!({ "signature": "HMAC-SHA256=x1y2z3..." }))),
    ] {
        out.push(given(format!("v1: {name}"), "verify_v1", json!({ "api_key": key.as_str(), "item": item })));
    }
    out
}

pub fn verdicts() -> Vec<Given> {
    let event = json!({ "name": "Paris Music Festival", "starts_at": "2025-12-07T18:00:00Z", "ends_at": "2025-12-07T23:00:00Z",
        "status": "live", "re_entry": "never", "min_gap_seconds": 300, "staff_pin": null });
    let ticket = json!({ "status": "active", "entry_limit": 2, "gate_ids": [], "zone": "general",
        "valid_from": "2025-12-07T18:00:00Z", "expires_at": "2025-12-07T22:00:00Z" });
    let gate = json!({ "name": "North", "zones": ["general", "vip"], "direction": "in", "capacity": 100,
        "names_on_devices": false, "entry_rules": ["check_ticket_valid", "check_not_duplicate"] });
    let last = json!({ "at": "2025-12-07T19:00:00Z", "gate_id": "south", "device_id": "device-2" });
    let none_in = json!({ "used": 0, "inside": 0, "last_entry": null });
    let all_in = json!({ "used": 2, "inside": 2, "last_entry": last });
    let base = json!({ "event": event, "ticket": ticket, "standing": none_in, "gate_id": "north-main", "gate": gate,
        "at": "2025-12-07T19:30:00Z", "kind": "entry", "area_inside": 0 });
    let of = |ticket_changes: Value| with(&base, json!({ "ticket": with(&ticket, ticket_changes) }));
    let voided_elsewhere = json!({ "status": "voided", "gate_ids": ["south"] });
    let checks_nothing = with(&gate, json!({ "entry_rules": [] }));
    let cases = vec![
        ("valid", base.clone()),
        ("one of two is in", with(&base, json!({ "standing": { "used": 1, "inside": 1, "last_entry": last } }))),
        ("unknown code", with(&base, json!({ "ticket": null }))),
        ("voided", of(json!({ "status": "voided" }))),
        ("refunded", of(json!({ "status": "refunded" }))),
        ("used", of(json!({ "status": "used" }))),
        ("status comes before gate", of(voided_elsewhere)),
        ("named gates decide alone: here", of(json!({ "gate_ids": ["north-main"], "zone": "backstage" }))),
        ("named gates decide alone: elsewhere", of(json!({ "gate_ids": ["south"] }))),
        ("wrong zone", of(json!({ "zone": "backstage" }))),
        ("unknown gate", with(&base, json!({ "gate": null }))),
        ("all are in", with(&base, json!({ "standing": all_in }))),
        (
            "all are in and it is too late: duplicate comes first",
            with(&base, json!({ "standing": all_in, "at": "2025-12-07T22:30:00Z" })),
        ),
        (
            "too soon",
            with(&base, json!({ "standing": all_in, "event": with(&event, json!({ "re_entry": "after_gap" })) })),
        ),
        (
            "all were let in today",
            with(&base, json!({ "standing": all_in, "event": with(&event, json!({ "re_entry": "daily" })) })),
        ),
        (
            "all were let in at this gate",
            with(
                &base,
                json!({ "standing": all_in, "event": with(&event, json!({ "limits": { "general": { "per_gate": true } } })) }),
            ),
        ),
        (
            "all entries in all are used",
            with(
                &base,
                json!({ "standing": with(&all_in, json!({ "used": 0, "spent": 5 })),
                    "event": with(&event, json!({ "re_entry": "daily", "limits": { "general": { "uses": 5 } } })) }),
            ),
        ),
        (
            "a draft says what the night will",
            with(&base, json!({ "event": with(&event, json!({ "status": "draft" })) })),
        ),
        ("the event has ended", with(&base, json!({ "event": with(&event, json!({ "status": "ended" })) }))),
        (
            "the event has ended: the end comes before gate, limit and window",
            with(
                &of(json!({ "gate_ids": ["south"] })),
                json!({ "event": with(&event, json!({ "status": "ended" })), "standing": all_in, "at": "2025-12-08T03:00:00Z" }),
            ),
        ),
        (
            "the event has ended: status comes first",
            with(&of(json!({ "status": "voided" })), json!({ "event": with(&event, json!({ "status": "ended" })) })),
        ),
        (
            "the event has ended: exits go on",
            with(
                &base,
                json!({ "kind": "exit", "standing": all_in, "event": with(&event, json!({ "status": "ended" })) }),
            ),
        ),
        ("window: at its very end", with(&base, json!({ "at": "2025-12-07T22:00:00Z" }))),
        ("window: just before its end", with(&base, json!({ "at": "2025-12-07T21:59:59.999Z" }))),
        ("window: before its start", with(&base, json!({ "at": "2025-12-07T17:59:59.999Z" }))),
        ("window: at its very start", with(&base, json!({ "at": "2025-12-07T18:00:00Z" }))),
        ("window: open", of(json!({ "valid_from": null, "expires_at": null }))),
        ("the area is full: only advice", with(&base, json!({ "area_inside": 100 }))),
        ("the area has room for one of two", with(&base, json!({ "area_inside": 99 }))),
        ("the area has room for both", with(&base, json!({ "area_inside": 98 }))),
        (
            "exit: limit and window don't apply",
            with(&base, json!({ "kind": "exit", "standing": all_in, "at": "2025-12-08T03:00:00Z" })),
        ),
        ("exit: status applies", with(&of(json!({ "status": "voided" })), json!({ "kind": "exit" }))),
        ("exit: gate applies", with(&of(json!({ "gate_ids": ["south"] })), json!({ "kind": "exit" }))),
        ("exit: unknown code", with(&base, json!({ "kind": "exit", "ticket": null }))),
        (
            "a gate that checks nothing but the place",
            with(&of(json!({ "status": "voided" })), json!({ "gate": checks_nothing, "standing": all_in })),
        ),
    ];
    let mut out: Vec<Given> =
        cases.into_iter().map(|(name, question)| given(format!("decide: {name}"), "decide", question)).collect();
    out.extend(screens());
    out
}

/// The whole table of screens, in every combination.
fn screens() -> Vec<Given> {
    let mut out = Vec::new();
    let reasons = || std::iter::once(None).chain(Reason::ALL.iter().copied().map(Some));
    for outcome in Outcome::ALL {
        for reason in reasons() {
            for kind in [ScanKind::Entry, ScanKind::Exit] {
                for (party, flagged) in [(false, false), (true, false), (false, true), (true, true)] {
                    for advice in [None, Some(Advice::AreaFull)] {
                        // Party, flag and advice change the screen of valid scans only. For other outcomes one line is
                        // enough.
                        if *outcome != Outcome::Valid && (party || flagged || advice.is_some()) {
                            continue;
                        }
                        if *outcome == Outcome::Valid && reason.is_some() {
                            continue;
                        }
                        let reason_word = reason.map_or("no reason", Reason::as_str);
                        let name = format!(
                            "screen: {outcome}, {reason_word}, {kind}, party {party}, flagged {flagged}, {advice:?}"
                        );
                        let question = json!({ "outcome": outcome, "reason": reason, "advice": advice, "kind": kind,
                            "party": party, "flagged": flagged });
                        out.push(given(name, "screen", question));
                    }
                }
            }
        }
    }
    out
}

/// The vector from the tests of the Standard Webhooks libraries, and variations of it.
pub fn webhooks() -> Vec<Given> {
    let signed = json!({
        "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "at": "2021-02-25T15:02:10Z",
        "body": "{\"test\": 2432232314}",
    });
    let good = json!({
        "secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "timestamp": "1614265330",
        "signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        "body": "{\"test\": 2432232314}",
        "now": "2021-02-25T15:02:10Z",
    });
    let other = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
    let ours = good["signature"].as_str().unwrap().to_owned();
    let verify = |name: &str, changes: Value| given(name, "verify_webhook", with(&good, changes));
    vec![
        given("the standard's own vector", "sign_webhook", signed.clone()),
        given("a body beyond ASCII", "sign_webhook", with(&signed, json!({ "body": "{\"name\":\"Zoë 🎟\"}" }))),
        verify("the standard's own vector, checked", json!({})),
        verify("one good signature among others", json!({ "signature": format!("{other} v2,xyz {ours}") })),
        verify("without padding", json!({ "signature": ours.trim_end_matches('=') })),
        verify(
            "the secret before",
            json!({ "secrets": [
            "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] }),
        ),
        verify("another signature", json!({ "signature": other })),
        verify("no signature of version 1", json!({ "signature": ours.replace("v1", "v1a") })),
        verify("another id", json!({ "id": "msg_other" })),
        verify("another body", json!({ "body": "{\"test\":2432232314}" })),
        verify("another time", json!({ "timestamp": "1614265331" })),
        verify("another secret", json!({ "secrets": ["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="] })),
        verify("five minutes late", json!({ "now": "2021-02-25T15:07:10Z" })),
        verify("later than that", json!({ "now": "2021-02-25T15:07:11Z" })),
        verify("five minutes early", json!({ "now": "2021-02-25T14:57:10Z" })),
        verify("earlier than that", json!({ "now": "2021-02-25T14:57:09Z" })),
        verify("a dot in the id", json!({ "id": "msg.1" })),
        verify("a time that is none", json!({ "timestamp": "yesterday" })),
        verify("eleven signatures", json!({ "signature": format!("{ours} ").repeat(11) })),
    ]
}
