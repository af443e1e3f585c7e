//! Inputs: signed lists, whole lists and deltas, and every reason to refuse one.

use admit_core::barcode::BarcodeHash;
use admit_core::sign::{ApiKey, body_signature};
use serde_json::{Value, json};

use super::Given;
use super::cases::with;

fn event() -> Value {
    json!({ "name": "Fête \"Été\" </script>", "starts_at": "2025-12-07T18:00:00Z", "ends_at": "2025-12-07T23:00:00Z", "status": "live",
        "re_entry": "after_gap", "min_gap_seconds": 300, "staff_pin": { "salt": "000102030405060708090a0b0c0d0e0f",
        "hash": "ab".repeat(32), "iterations": 60000 } })
}

fn gates() -> Value {
    let both = json!(["check_ticket_valid", "check_not_duplicate"]);
    json!([
        ["north-main", { "name": "North Entrance - Main", "zones": ["general", "vip"], "direction": "in", "capacity": 1000,
            "names_on_devices": false, "entry_rules": both }],
        ["south", { "name": "South", "zones": ["vip"], "direction": "both", "capacity": null, "names_on_devices": true,
            "entry_rules": both }],
    ])
}

fn ticket(changes: Value) -> Value {
    let base = json!({ "status": "active", "entry_limit": 1, "gate_ids": [], "zone": "general", "valid_from": null,
        "expires_at": "2025-12-07T22:00:00Z" });
    with(&base, changes)
}

fn hash(code: &str) -> String {
    BarcodeHash::of(code).to_string()
}

fn codes() -> Vec<Value> {
    vec![
        // Two tickets of one booking.
        json!([hash("TOKEN-1"), "tkt-001", ticket(json!({})), "0a1b2c3d4e5f"]),
        json!([
            hash("TOKEN-2"),
            "tkt-002",
            ticket(json!({ "entry_limit": 4, "zone": "vip", "gate_ids": ["south", "north-main"] })),
            "0a1b2c3d4e5f"
        ]),
        json!([hash("TOKEN-3"), "tkt-003", ticket(json!({ "status": "voided" }))]),
        json!([
            hash("TOKEN-4"),
            "tkt-004",
            ticket(json!({ "valid_from": "2025-12-07T20:00:00.5Z", "expires_at": null }))
        ]),
        // A second code of the first ticket.
        json!([hash("TOKEN-1-REPRINT"), "tkt-001", ticket(json!({})), "0a1b2c3d4e5f"]),
    ]
}

fn build() -> Value {
    json!({
        "organization_id": "org-1",
        "event_id": "event-1",
        "event": event(),
        "door": { "clock": { "zone": "Europe/Paris", "offsets": [
            { "from": "2025-10-08T18:00:00Z", "offset_s": 7200 }, { "from": "2025-10-26T01:00:00Z", "offset_s": 3600 },
        ] }, "barcode_kinds": ["ean_13"], "zone_names": { "vip": "VIP lounge" } },
        "version": 7,
        "gates": gates(),
        "codes": codes(),
        "tail": { "generated_at": "2025-12-07T17:45:00Z", "expires_at": "2025-12-08T05:00:00Z", "offset_seconds": 5,
            "epoch": "1765100000000-00000000deadbeef", "serial": 9 },
        "api_key": ApiKey::from_random([0x5a; 32]).as_str(),
    })
}

fn made(input: &Value) -> (String, String, String) {
    let made = admit_core::vectors::answer("build_manifest", input).unwrap();
    let text = |member: &str| made[member].as_str().unwrap_or_else(|| panic!("{member} of {made}")).to_owned();
    (text("body"), text("header"), text("content_hash"))
}

/// Changes a body and signs it again, which only the holder of the key can do.
fn resigned(body: &str, change: impl FnOnce(&str) -> String, key: &str) -> (String, String) {
    let from = body.rfind(",\"signature\":").unwrap();
    let unsigned = change(&body[..from]);
    let signature = body_signature(key, format!("{unsigned}}}").as_bytes());
    let body = format!("{unsigned},\"signature\":\"{signature}\"}}");
    let header = body_signature(key, body.as_bytes());
    (body, header)
}

/// The delta to version 9: a voided ticket, a new code and a removed code.
fn delta(full: &Value) -> Value {
    let changed = vec![
        json!([hash("TOKEN-2"), "tkt-002", ticket(json!({ "status": "refunded", "entry_limit": 4, "zone": "vip" }))]),
        json!([hash("TOKEN-5"), "tkt-005", ticket(json!({}))]),
    ];
    let kept = codes().into_iter().filter(|code| code[0] != hash("TOKEN-2") && code[0] != hash("TOKEN-4"));
    let after: Vec<Value> = kept.chain(changed.iter().cloned()).collect();
    let (_, _, content_hash) = made(&with(full, json!({ "version": 9, "codes": after })));
    let tombstones = vec![hash("TOKEN-4")];
    let part = json!({ "since": 7, "tombstones": tombstones, "content_hash": content_hash });
    with(full, json!({ "version": 9, "codes": changed, "delta": part }))
}

pub fn manifests() -> Vec<Given> {
    let full = build();
    let empty = with(
        &full,
        json!({ "codes": [], "gates": [], "door": {}, "event": with(&event(), json!({ "staff_pin": null })) }),
    );
    let changes = delta(&full);
    let twice = with(&full, json!({ "codes": [codes()[0], codes()[0]] }));
    let mut out: Vec<Given> = [
        ("a whole list", full.clone()),
        ("a list without codes", empty.clone()),
        ("the changes since another", changes.clone()),
        ("one code twice", twice),
    ]
    .map(|(name, input)| (format!("build: {name}"), "build_manifest", input))
    .into();
    out.extend(whole(&full, &empty));
    out.extend(ordered(&full, &changes));
    out
}

fn read(input: &Value, body: &str, header: Option<&str>) -> Value {
    json!({
        "organization_id": input["organization_id"], "event_id": input["event_id"], "api_key": input["api_key"], "body": body,
        "header": header, "active": null,
        "find": [hash("TOKEN-1"), hash("TOKEN-2"), hash("TOKEN-1-REPRINT"), hash("TOKEN-4"), hash("TOKEN-5"), hash("UNKNOWN")],
    })
}

/// Cases of whole lists: some are read, some are refused.
fn whole(full: &Value, empty: &Value) -> Vec<Given> {
    let (body, header, content_hash) = made(full);
    let key = full["api_key"].as_str().unwrap();
    let base = read(full, &body, Some(&header));
    let mut out = Vec::new();
    let mut add = |name: &str, case: Value| out.push((format!("read: {name}"), "read_manifest", case));
    add("a whole list, as downloaded", base.clone());
    add("a whole list, at a later start", with(&base, json!({ "header": null })));
    let (no_codes, its_header, _) = made(empty);
    add("a list without codes", read(empty, &no_codes, Some(&its_header)));
    let other_key = ApiKey::from_random([1; 32]);
    add("under another key, as downloaded", with(&base, json!({ "api_key": other_key.as_str() })));
    add("under another key, at a later start", with(&base, json!({ "api_key": other_key.as_str(), "header": null })));
    let flipped = body.replacen("\"entry_limit\":1", "\"entry_limit\":9", 1);
    add("changed on the way", with(&base, json!({ "body": flipped })));
    add("changed in storage", with(&base, json!({ "body": flipped, "header": null })));
    let resent = body_signature(key, flipped.as_bytes());
    add("changed, with a header to match", with(&base, json!({ "body": flipped, "header": resent })));
    add("cut off", with(&base, json!({ "body": &body[..body.len() - 1], "header": null })));
    add("followed by white space", with(&base, json!({ "body": format!("{body}\n"), "header": null })));
    add("empty", with(&base, json!({ "body": "", "header": null })));
    add("another organisation's", with(&base, json!({ "organization_id": "org-2" })));
    add("another event's", with(&base, json!({ "event_id": "event-2" })));
    let (wrong, wrong_header) = resigned(&body, |body| body.replace(&content_hash, &hash("something else")), key);
    add("signed, but its codes are not those it names", with(&base, json!({ "body": wrong, "header": wrong_header })));
    let (bad, bad_header) = resigned(&body, |body| body.replacen("\"entry_limit\":1", "\"entry_limit\":\"1\"", 1), key);
    add("signed, but malformed", with(&base, json!({ "body": bad, "header": bad_header })));
    let (bad, bad_header) =
        resigned(&body, |body| body.replacen("\"iterations\":60000", "\"iterations\":4000000000", 1), key);
    add("signed, but its PIN would take for ever", with(&base, json!({ "body": bad, "header": bad_header })));
    let again = codes()[0][0].as_str().unwrap().to_owned();
    let (bad, bad_header) = resigned(&body, |body| body.replace(&hash("TOKEN-2"), &again), key);
    add("signed, but with one code twice", with(&base, json!({ "body": bad, "header": bad_header })));
    out
}

/// Cases of lists that arrive while another list is in use.
fn ordered(full: &Value, changes: &Value) -> Vec<Given> {
    let (body, header, _) = made(full);
    let key = full["api_key"].as_str().unwrap();
    let (delta_body, delta_header, _) = made(changes);
    let mut out = Vec::new();
    let mut add = |name: &str, active: &str, case: Value| {
        out.push((format!("read: {name}"), "read_manifest", with(&case, json!({ "active": active }))));
    };
    let incoming = read(changes, &delta_body, Some(&delta_header));
    add("changes upon the list they start from", &body, incoming.clone());
    let later = with(full, json!({ "version": 8 }));
    add("changes upon another version", &made(&later).0, incoming.clone());
    let forged = with(changes, json!({ "delta": with(&changes["delta"], json!({ "tombstones": [] })) }));
    let (bad, bad_header, _) = made(&forged);
    add("changes that do not hash to what they name", &body, read(changes, &bad, Some(&bad_header)));
    let base = read(full, &body, Some(&header));
    let (fresh, fresh_header) = resigned(&body, |body| body.replace("17:45:00Z", "17:50:00Z"), key);
    add("the same, handed out again", &body, read(full, &fresh, Some(&fresh_header)));
    add("an older one replayed", &made(&later).0, base.clone());
    let new_epoch = with(&full["tail"], json!({ "epoch": "1765100000001-0000000000000000" }));
    let (restored, restored_header, _) = made(&with(full, json!({ "version": 3, "tail": new_epoch })));
    add("a lower version of a newer epoch", &body, read(full, &restored, Some(&restored_header)));
    add("a higher version of an older epoch", &restored, base.clone());
    let other = with(full, json!({ "codes": codes()[..4].to_vec() }));
    let (other_body, other_header, _) = made(&other);
    add("the same version with other codes", &body, read(full, &other_body, Some(&other_header)));
    let clock = json!({ "zone": "Europe/Paris", "offsets": [{ "from": "2025-10-08T18:00:00Z", "offset_s": 7200 }] });
    let other = with(full, json!({ "door": { "clock": clock, "barcode_kinds": ["ean_13"] } }));
    let (other_body, other_header, _) = made(&other);
    add("the same version with another clock", &body, read(full, &other_body, Some(&other_header)));
    let other = with(full, json!({ "gates": [] }));
    let (other_body, other_header, _) = made(&other);
    add("the same version with other gates", &body, read(full, &other_body, Some(&other_header)));
    out
}
