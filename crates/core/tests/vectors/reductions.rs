//! Inputs: tickets with their rules, reviews and scans. Each input is a small story.

use admit_core::scan::Scan;
use admit_core::sign::content_digest;
use admit_core::wire::scanning::ScanV2;
use admit_core::wire::stored::from_text;
use serde_json::{Value, json};

use super::Given;
use super::cases::{item, with};

const TICKET: &str = "ticket:tkt-001";
const TICKET_ID: &str = "tkt-001";

/// A rule in the form of its database row.
fn rule(serial: u64, effective_at: Option<&str>, subject: (&str, &str), field: &str, value: Value) -> Value {
    json!({ "serial": serial, "ordinal": 0, "effective_at": effective_at, "subject_kind": subject.0, "subject_id": subject.1,
        "field": field, "value": value })
}

/// Rules of an event with two entry gates, one exit gate, and a ticket for `limit` persons.
fn rules(re_entry: &str, limit: u32) -> Vec<Value> {
    let gate = |name: &str, direction: &str| {
        json!({ "name": name, "zones": ["general"], "direction": direction, "capacity": null, "names_on_devices": false,
            "entry_rules": ["check_ticket_valid", "check_not_duplicate"] })
    };
    let event = json!({ "name": "Festival", "starts_at": "2025-12-07T18:00:00Z", "ends_at": "2025-12-07T23:00:00Z", "status": "live",
        "re_entry": re_entry, "min_gap_seconds": 300, "staff_pin": null });
    let ticket = json!({ "status": "active", "entry_limit": limit, "gate_ids": [], "zone": "general", "valid_from": null,
        "expires_at": null });
    vec![
        rule(1, None, ("event", ""), "first", event),
        rule(2, None, ("gate", "north-main"), "first", gate("North", "in")),
        rule(3, None, ("gate", "south"), "first", gate("South", "in")),
        rule(4, None, ("gate", "out"), "first", gate("Way out", "out")),
        rule(5, None, ("ticket", "tkt-001"), "first", ticket),
    ]
}

/// A verified scan in Admit's own form, received a minute after it was taken.
pub fn fact(scan_id: &str, at: &str, changes: Value) -> Value {
    let base = with(
        &item(),
        json!({ "scan_id": scan_id, "at_ms": ms(at), "epoch": "1-0000000000000001", "manifest_version": 5, "cursor": 5 }),
    );
    let (scan, _) =
        ScanV2::read(&with(&base, changes).to_string()).unwrap_or_else(|error| panic!("{scan_id}: {error}"));
    as_fact(&scan, json!({}))
}

fn as_fact(scan: &Scan, changes: Value) -> Value {
    let received = scan.at.plus_ms(60_000);
    let fact =
        json!({ "scan": scan, "digest": content_digest(scan), "signature": "verified", "received_at": received });
    with(&fact, changes)
}

/// A scan in the form of S1.
pub fn v1(scan_id: &str, at: &str, offset_seconds: i64, device: &str) -> Value {
    let json = json!({ "form": "v1", "scan_id": scan_id, "device_id": device, "event_id": "event-1", "gate_id": "south", "kind": "entry",
        "stage": "final", "method": "qr", "barcode_hash": item()["barcode_hash"], "ticket_id": "tkt-001", "count": 1,
        "outcome": "valid", "opened": true, "at": at, "uncertainty_ms": 1000, "manifest_version": 0, "cursor": 0 });
    let scan: Scan = from_text("scan", &json.to_string()).unwrap();
    as_fact(&scan, json!({ "offset_seconds": offset_seconds }))
}

fn ms(at: &str) -> i64 {
    admit_core::time::Timestamp::parse(at).unwrap().ms()
}

fn story(name: &str, rules: Vec<Value>, reviews: Vec<Value>, facts: Vec<Value>) -> Given {
    let given = json!({ "rules": rules, "epochs": [["1-0000000000000001", 0]], "subject": TICKET, "reviews": reviews, "facts": facts });
    (name.to_owned(), "reduce", given)
}

fn review(serial: u64, fact: &Value, decision: &str) -> Value {
    json!({ "serial": serial, "device_id": fact["scan"]["device_id"], "scan_id": fact["scan"]["scan_id"],
        "digest": fact["digest"], "decision": decision })
}

pub fn reductions() -> Vec<Given> {
    let south = json!({ "device_id": "device-south-2", "gate_id": "south" });
    let first = fact("s1", "2025-12-07T19:30:00Z", json!({}));
    let second = fact("s2", "2025-12-07T19:30:01Z", south.clone());
    let near = fact("s2", "2025-12-07T19:30:00.05Z", south.clone());
    let revert = |id: &str, target: &str, keep: u32| {
        fact(
            id,
            "2025-12-07T19:31:00Z",
            json!({ "kind": "revert", "target_device": "device-north-1", "target_scan_id": target, "keep": keep }),
        )
    };
    let party = |id: &str, at: &str, count: u32| fact(id, at, json!({ "count": count }));
    let unverified = with(&second, json!({ "signature": "unverified" }));
    let mut out = vec![
        story("no scans", rules("never", 1), vec![], vec![]),
        story("one entry", rules("never", 1), vec![], vec![first.clone()]),
        story(
            "two phones, one ticket: the earlier takes the entry",
            rules("never", 1),
            vec![],
            vec![second.clone(), first.clone()],
        ),
        story("the same, too near to be sure who was first", rules("never", 1), vec![], vec![near, first.clone()]),
        story(
            "a scan delivered three times is one",
            rules("never", 1),
            vec![],
            vec![first.clone(), first.clone(), first.clone()],
        ),
        story(
            "three and three of four: the second has within 1, over 2",
            rules("never", 4),
            vec![],
            vec![party("p1", "2025-12-07T19:30:00Z", 3), party("p2", "2025-12-07T19:40:00Z", 3)],
        ),
        story(
            "undone: the second scan takes the entry",
            rules("never", 1),
            vec![],
            vec![first.clone(), second.clone(), revert("r1", "s1", 0)],
        ),
        story(
            "a party undone but for one, twice, the smaller holds",
            rules("never", 4),
            vec![],
            vec![party("p1", "2025-12-07T19:30:00Z", 3), revert("r1", "p1", 2), revert("r2", "p1", 1)],
        ),
        story("a revert before its target does nothing", rules("never", 1), vec![], vec![revert("r1", "s9", 0)]),
        story("unverified counts nothing", rules("never", 1), vec![], vec![first.clone(), unverified.clone()]),
        story(
            "unverified, accepted",
            rules("never", 1),
            vec![review(8, &unverified, "accept")],
            vec![first.clone(), unverified.clone()],
        ),
        story("excluded", rules("never", 1), vec![review(8, &first, "exclude")], vec![first.clone(), second.clone()]),
        story(
            "excluded and restored: the highest serial wins",
            rules("never", 1),
            vec![review(9, &first, "restore"), review(8, &first, "exclude")],
            vec![first.clone(), second.clone()],
        ),
    ];
    out.extend(re_entry(&south));
    out.extend(doors());
    out.extend(ruled(&first));
    out.extend(odd_times(&first));
    out
}

fn re_entry(south: &Value) -> Vec<Given> {
    let at = |id: &str, at: &str| fact(id, at, json!({}));
    let exit =
        |id: &str, at: &str, count: u32| fact(id, at, json!({ "kind": "exit", "gate_id": "out", "count": count }));
    vec![
        story(
            "again after the gap, and once too soon",
            rules("after_gap", 1),
            vec![],
            vec![at("s1", "2025-12-07T19:30:00Z"), at("s2", "2025-12-07T19:35:00Z"), at("s3", "2025-12-07T19:39:59Z")],
        ),
        story(
            "in, out, in again",
            rules("after_exit", 1),
            vec![],
            vec![
                at("s1", "2025-12-07T19:30:00Z"),
                exit("x1", "2025-12-07T19:40:00Z", 1),
                at("s2", "2025-12-07T19:50:00Z"),
            ],
        ),
        story(
            "over-admitted persons leave first, and one more than was in",
            rules("after_exit", 1),
            vec![],
            vec![
                at("s1", "2025-12-07T19:30:00Z"),
                fact("s2", "2025-12-07T19:31:00Z", south.clone()),
                exit("x1", "2025-12-07T19:40:00Z", 3),
            ],
        ),
        story(
            "refused as a duplicate while in: a shut door, not an entry",
            rules("never", 1),
            vec![],
            vec![
                at("s1", "2025-12-07T19:30:00Z"),
                fact(
                    "s2",
                    "2025-12-07T19:45:00Z",
                    json!({ "outcome": "duplicate", "opened": false, "basis": { "within": 1, "inside": 1, "status": "active" } }),
                ),
            ],
        ),
    ]
}

/// Scans before the doors open, after the end, and on another day (decision 034).
fn doors() -> Vec<Given> {
    let practice = |id: &str, at: &str| fact(id, at, json!({ "practice": true }));
    let event =
        |serial: u64, at: Option<&str>, field: &str, value: Value| rule(serial, at, ("event", ""), field, value);
    let opened = [rules("never", 1), vec![event(6, None, "opened_at", json!("2025-12-07T18:30:00Z"))]].concat();
    let ended = [rules("never", 1), vec![event(6, Some("2025-12-07T22:00:00Z"), "status", json!("ended"))]].concat();
    let days = json!(["2025-12-07T05:00:00Z", "2025-12-07T20:00:00Z"]);
    let daily = [rules("daily", 1), vec![event(6, None, "days", days)]].concat();
    let limited =
        |limits: Value| [rules("never", 1), vec![event(6, None, "limits", json!({ "general": limits }))]].concat();
    let south = |id: &str, at: &str| fact(id, at, json!({ "gate_id": "south" }));
    let early = practice("s1", "2025-12-07T18:00:00Z");
    let late = practice("s1", "2025-12-07T18:31:00Z");
    let set_aside = json!({ "outcome": "expired", "override": { "by": "Ann", "reason": "crew" } });
    let at = |id: &str, at: &str| fact(id, at, json!({}));
    vec![
        story(
            "practice counts nothing and takes no place",
            opened.clone(),
            vec![],
            vec![early.clone(), at("s2", "2025-12-07T19:00:00Z")],
        ),
        story("practice, accepted", opened.clone(), vec![review(8, &early, "accept")], vec![early]),
        story("practice after the doors opened", opened, vec![], vec![late]),
        story(
            "let in after the end, and before it",
            ended,
            vec![],
            vec![at("s1", "2025-12-07T21:59:59Z"), fact("s2", "2025-12-07T22:10:00Z", set_aside)],
        ),
        // The ticket has only the rules of the scan that made it.
        story(
            "two of three persons added at the door, of whom one is undone; one comes again",
            [&rules("never", 1)[..4], &[rule(6, None, ("gate", "north-main"), "walk_ins", json!(true))]].concat(),
            vec![],
            added_at_the_door(),
        ),
        story(
            "five of the crew come in, of whom two are taken back; a recount; staff of a practice",
            rules("never", 1),
            vec![],
            counted_by_hand(),
        ),
        story(
            "once at each gate",
            limited(json!({ "per_gate": true })),
            vec![],
            vec![
                at("s1", "2025-12-07T19:00:00Z"),
                south("s2", "2025-12-07T19:10:00Z"),
                at("s3", "2025-12-07T19:20:00Z"),
            ],
        ),
        story(
            "two in all, coming and going",
            limited(json!({ "re_entry": "after_gap", "uses": 2 })),
            vec![],
            vec![at("s1", "2025-12-07T19:00:00Z"), at("s2", "2025-12-07T20:00:00Z"), at("s3", "2025-12-07T21:00:00Z")],
        ),
        story(
            "daily: twice on one day, once on the next",
            daily,
            vec![],
            vec![at("s1", "2025-12-07T19:00:00Z"), at("s2", "2025-12-07T19:59:59Z"), at("s3", "2025-12-07T20:00:00Z")],
        ),
    ]
}

/// Scans of a guest added at the door, who is the subject of the story. The ticket's id is derived from the scan's id.
fn added_at_the_door() -> Vec<Value> {
    let walk_in = json!({ "zone": "general", "party": 3, "name_digest": "ab".repeat(32) });
    let by_hand = json!({ "-barcode_hash": null, "-raw_hash": null, "-basis": null, "method": "manual" });
    let mut made = fact("s1", "2025-12-07T19:00:00Z", with(&by_hand, json!({ "ticket_id": TICKET_ID, "count": 2 })));
    made["scan"]["walk_in"] = walk_in;
    let target = json!({ "kind": "revert", "target_device": "device-north-1", "target_scan_id": "s1", "keep": 1, "opened": false });
    let undo = fact("s2", "2025-12-07T19:01:00Z", with(&by_hand, with(&json!({ "ticket_id": TICKET_ID }), target)));
    let again = fact("s3", "2025-12-07T19:10:00Z", with(&by_hand, json!({ "ticket_id": TICKET_ID, "count": 1 })));
    let scan: Scan = from_text("scan", &made["scan"].to_string()).unwrap();
    vec![as_fact(&scan, json!({})), undo, again]
}

/// Each headcount is a subject of its own. Here they share one, so that one vector shows all of them.
fn counted_by_hand() -> Vec<Value> {
    let by_hand =
        json!({ "-barcode_hash": null, "-raw_hash": null, "-basis": null, "method": "manual", "ticket_id": TICKET_ID });
    let counted = |id: &str, at: &str, count: u32, headcount: Value| {
        let mut made = fact(id, at, with(&by_hand, json!({ "count": count })));
        (made["scan"]["kind"], made["scan"]["headcount"]) = (json!("headcount"), headcount);
        made
    };
    let digested = |made: &Value| as_fact(&from_text::<Scan>("scan", &made["scan"].to_string()).unwrap(), json!({}));
    let crew = counted("s1", "2025-12-07T19:00:00Z", 5, json!({ "change": { "class": "crew", "delta": 5 } }));
    let target = json!({ "kind": "revert", "target_device": "device-north-1", "target_scan_id": "s1", "keep": 3, "opened": false });
    let undo = fact("s2", "2025-12-07T19:01:00Z", with(&by_hand, target));
    let all = counted("s3", "2025-12-07T19:10:00Z", 1, json!({ "recount": { "inside": 412 } }));
    let mut practice = counted("s4", "2025-12-07T17:00:00Z", 1, json!({ "change": { "class": "staff", "delta": 1 } }));
    practice["scan"]["practice"] = json!(true);
    vec![digested(&crew), undo, digested(&all), digested(&practice)]
}

fn ruled(first: &Value) -> Vec<Given> {
    let voided = |at: &str| {
        [rules("never", 1), vec![rule(6, Some(at), ("ticket", "tkt-001"), "status", json!("voided"))]].concat()
    };
    let knew = fact(
        "s1",
        "2025-12-07T19:30:00Z",
        json!({ "manifest_version": 6, "outcome": "invalid", "opened": false,
        "basis": { "within": 0, "inside": 0, "status": "voided" } }),
    );
    let from_start =
        [rules("never", 1), vec![rule(6, None, ("ticket", "tkt-001"), "status", json!("refunded"))]].concat();
    // The phone's list was one version too old to have the ticket.
    let overridden = fact(
        "s1",
        "2025-12-07T19:30:00Z",
        json!({ "manifest_version": 4, "cursor": 4, "outcome": "invalid", "override": { "by": "Ann", "reason": "paid" },
        "basis": { "within": 0, "inside": 0 } }),
    );
    vec![
        story(
            "voided after the entry: the entry was right",
            voided("2025-12-07T19:30:00.001Z"),
            vec![],
            vec![first.clone()],
        ),
        story(
            "voided before the entry: it happened, and was an error",
            voided("2025-12-07T19:30:00Z"),
            vec![],
            vec![first.clone()],
        ),
        story("voided later, but the phone knew already", voided("2025-12-07T19:30:05Z"), vec![], vec![knew]),
        story("refunded from the start", from_start, vec![], vec![first.clone()]),
        story("an override of a ticket that the server finds good", rules("never", 1), vec![], vec![overridden]),
    ]
}

fn odd_times(first: &Value) -> Vec<Given> {
    let long_ago = fact("s0", "2024-12-07T19:30:00Z", json!({ "device_id": "device-south-2" }));
    let mut future = fact("s1", "2025-12-07T19:30:00Z", json!({}));
    future["received_at"] = json!("2025-12-07T19:27:00Z");
    let claim = fact("c1", "2025-12-07T19:30:00Z", json!({ "stage": "claim", "outcome": "valid", "opened": false }));
    let judged = with(&claim, json!({ "judged": { "serial": 5, "outcome": "valid" } }));
    vec![
        story(
            "an implausible time counts, after all plausible ones",
            rules("never", 1),
            vec![],
            vec![long_ago, first.clone()],
        ),
        story("a time after its receipt", rules("never", 1), vec![], vec![future]),
        story(
            "v1: the offset moves the time",
            rules("never", 1),
            vec![],
            vec![first.clone(), v1("v1", "2025-12-07T19:30:10Z", -20, "device-3")],
        ),
        story(
            "v1: of several offsets the smallest holds",
            rules("never", 1),
            vec![],
            vec![
                first.clone(),
                v1("v1", "2025-12-07T19:30:10Z", -20, "device-3"),
                v1("v1", "2025-12-07T19:30:10Z", 5, "device-3"),
            ],
        ),
        story("a claim without a final, and no answer", rules("never", 1), vec![], vec![claim]),
        story("a claim without a final that the server called valid", rules("never", 1), vec![], vec![judged]),
        story(
            "one id, two contents: the open door is taken, and the reuse is an incident",
            rules("never", 1),
            vec![],
            vec![first.clone(), fact("s1", "2025-12-07T19:30:00Z", json!({ "opened": false, "outcome": "duplicate" }))],
        ),
    ]
}
