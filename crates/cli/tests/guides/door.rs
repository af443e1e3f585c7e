//! Follows the guide `docs/guides/door.md`.

use serde_json::{Value, json};

use crate::reader::{Guide, Office, Shell, with};

const GUIDE: &str = include_str!("../../../../docs/guides/door.md");
/// The server's address in the guide.
const SERVER: &str = "https://tickets.example.org";

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_the_guide_sets_at_the_door_is_set() {
    let mut guide = Guide::open(GUIDE);
    let folder = tempfile::Builder::new().prefix("admit-door-").tempdir().unwrap();
    let (mut shell, mut office) = (Shell::at(folder.path()), Office::new());
    shell.set("ADMIT_LISTEN", &office.listen);
    shell.run("admit user add --data-dir ./data --organization 'Old Harbour' --email you@example.org").await;
    let mut server = shell.start("admit serve --data-dir ./data");
    office.serves().await;
    let key = shell.run("admit token create --data-dir ./data --email you@example.org").await.trim().to_owned();
    office.acts_with(&key);
    let event = office.event().await;
    let types = office.get(&format!("/api/events/{event}/entry-types")).await;
    shell.set("TOKEN", &key);
    shell.set("EVENT", &event);
    shell.set("TYPE", types["items"][0]["id"].as_str().unwrap());
    let url = office.url.clone();
    let mut said: Vec<Value> = Vec::new();
    for mark in [
        "\"walk_ins\": true",
        "/pairing-tokens",
        "\"staff_pin\"",
        "\"barcode_kinds\"",
        "\"re_entry\": \"daily\"",
        "\"per_gate\"",
        "\"order_id\"",
        "\"walk_ins\": 30",
        "/occupancy",
        "/check-in",
        "\"verdict_fields\"",
    ] {
        if mark == "/check-in" {
            let guests = office.get(&format!("/api/events/{event}/guests?limit=50")).await;
            shell.set("GUEST", guests["items"][0]["id"].as_str().unwrap());
        }
        said.push(shell.answer(&with(&guide.take("sh", mark), &[(SERVER, &url)])).await);
    }
    assert_eq!((&said[0]["walk_ins"], &said[0]["names_on_devices"]), (&json!(true), &json!(true)));
    assert!(said[1]["url"].as_str().unwrap().contains("#pair="), "{}", said[1]);
    assert_eq!((&said[5]["per_gate"], &said[5]["uses"]), (&json!(true), &json!(4)));
    let people = json!({ "staff": 0, "crew": 0, "child": 0, "other": 0 });
    assert_eq!(
        (&said[8]["without_ticket"], &said[8]["present"], &said[8]["recounts"]),
        (&people, &json!(0), &json!([]))
    );
    assert_eq!(
        (&said[9]["outcome"], &said[9]["opened"], &said[9]["persons"]),
        (&json!("valid"), &json!(true), &json!(1))
    );
    let now = office.get(&format!("/api/events/{event}")).await;
    let wanted = json!({
        "status": "live", "has_staff_pin": true, "re_entry": "daily", "day_starts_at": "05:00", "walk_ins": 30,
        "barcode_kinds": ["aztec", "ean_13"], "verdict_fields": ["Table", "Wristband"],
    });
    for (field, value) in wanted.as_object().unwrap() {
        assert_eq!(now[field], *value, "{field}");
    }
    let tickets = office.get(&format!("/api/events/{event}/tickets?limit=50")).await;
    let orders: Vec<&Value> = tickets["items"].as_array().unwrap().iter().map(|ticket| &ticket["order_id"]).collect();
    assert_eq!(orders, [&json!("ORDER-7"), &json!("ORDER-7")]);
    guide.ends();
    server.kill().await.unwrap();
}
