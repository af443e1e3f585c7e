//! Inputs: scans in the form in which a server keeps them, and bytes that are not a block.

use admit_core::barcode::hex;
use admit_core::block::{self, Kept};
use admit_core::scan::{Fact, WalkIn};
use serde_json::{Value, json};

use super::Given;
use super::reductions::{fact, v1};

fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

fn kept(fact: &Value, signature: Option<&str>) -> Value {
    json!({ "fact": fact, "signature": signature, "sent": null })
}

fn bytes(facts: &[Value]) -> Vec<u8> {
    let fact = |fact: &Value| serde_json::from_value::<Fact>(fact.clone()).unwrap();
    let kept: Vec<_> = facts.iter().map(|one| Kept { fact: fact(one), signature: None, sent: None }).collect();
    block::write(&kept).unwrap()
}

pub fn blocks() -> Vec<Given> {
    let first = fact("s1", "2025-12-07T19:30:00Z", json!({}));
    let prev = first["digest"].as_str().unwrap()[..32].to_owned();
    let second = fact("s2", "2025-12-07T19:30:02.3Z", json!({ "seq": 2, "prev": prev }));
    let override_ = json!({ "by": "Zoë", "reason": "guest list" });
    let walk_in = json!({ "zone": "general", "party": 2, "name_digest": "07".repeat(32) });
    let made = WalkIn::ticket_id(&id("550e8400-e29b-41d4-a716-446655440000"), &id("device-north-1"), &id("s6"));
    let made = made.unwrap().to_string();
    let signed = format!("HMAC-SHA256-V2={}", "5a".repeat(32));
    let write = |name: &str, kept: Vec<Value>| (name.to_owned(), "block_write", json!(kept));
    let read = |name: &str, bytes: &[u8]| (name.to_owned(), "block_read", json!(hex(bytes)));
    let whole = bytes(&[first.clone(), second.clone()]);
    let mut later = whole.clone();
    later[0] = 2;
    let mut changed = whole.clone();
    changed[40] ^= 1;
    vec![
        write("one scan", vec![kept(&first, Some(&signed))]),
        write("two of a log: the second's prev follows from the first", vec![kept(&first, None), kept(&second, None)]),
        write(
            "of S1's form, received with an offset",
            vec![kept(&v1("s3", "2025-12-07T19:30:05Z", -7, "device-south-2"), None)],
        ),
        write(
            "an undo",
            vec![kept(
                &fact(
                    "s4",
                    "2025-12-07T19:31:00Z",
                    json!({ "kind": "revert", "target_device": "device-north-1", "target_scan_id": "s1", "keep": 1 }),
                ),
                None,
            )],
        ),
        write(
            "a refusal set aside",
            vec![kept(&fact("s5", "2025-12-07T19:31:00Z", json!({ "override": override_ })), None)],
        ),
        write(
            "a walk-in",
            vec![kept(
                &fact(
                    "s6",
                    "2025-12-07T19:31:00Z",
                    json!({ "method": "manual", "-barcode_hash": null, "-raw_hash": null, "ticket_id": made, "walk_in": walk_in }),
                ),
                None,
            )],
        ),
        write(
            "a scan for practice",
            vec![kept(&fact("s7", "2025-12-07T19:31:00Z", json!({ "practice": true })), None)],
        ),
        write("a signature that is no 64 digits", vec![kept(&first, Some("HMAC-SHA256-V2=none"))]),
        read("a block of two", &whole),
        read("a bit is another", &changed),
        read("the end is missing", &whole[..whole.len() - 1]),
        read("a later version", &later),
    ]
}
