//! An event's first page: its figures and its checklist.

use admit_core::scan::Outcome;
use serde_json::{Value, json};

use super::{get, patch, post};
use crate::device::Phone;
use crate::server::{TestServer, json};

const OVERVIEW: &str = "/api/events/{event}/overview";

fn states(overview: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let items = overview["checklist"].as_array().unwrap();
    items.iter().map(|item| (text(&item["key"]), text(&item["state"]))).collect()
}
fn state_of(overview: &Value, key: &str) -> String {
    states(overview).into_iter().find(|(name, _)| name == key).unwrap().1
}

#[tokio::test]
async fn the_first_page_counts_and_says_what_is_to_be_done() {
    let server = TestServer::start().await;
    let before = get(&server, OVERVIEW).await;
    assert_eq!((&before["expected"], &before["admitted"], &before["inside"]), (&json!(10), &json!(0), &json!(0)));
    assert_eq!((&before["devices"], &before["devices_needed"]), (&json!(0), &json!(2)), "one for each of two gates");
    assert_eq!((&before["gates"][0]["id"], &before["gates"][0]["name"]), (&json!("main"), &json!("main")));
    assert_eq!((&before["test_scans"], &before["mail_problem"]), (&json!(0), &Value::Null));
    let keys: Vec<String> = states(&before).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["event", "gates", "guests", "phones", "test_scan", "staff_pin", "open_doors"]);
    assert_eq!((state_of(&before, "phones").as_str(), state_of(&before, "test_scan").as_str()), ("todo", "todo"));

    let guest = json!({ "name": "Ana", "party_size": 3, "email": "ana@x.example" });
    post(&server, "/api/events/{event}/guests", guest, 201).await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let mut second = Phone::pair(&server, &server.home, "b").await;
    // The same ticket enters on two phones. The person beyond its limit counts as admitted and inside.
    for phone in [&mut phone, &mut second] {
        let at = server.state.app.clock.now().plus_ms(-60_000);
        let batch = phone.scan(&server.home.barcodes[0], Outcome::Valid, at);
        let batch = phone.batch(vec![batch]);
        json(phone.sync(&server, &batch).await, 200).await;
    }
    patch(&server, "/api/events/{event}", json!({ "capacity": 90 })).await;
    let after = get(&server, OVERVIEW).await;
    assert_eq!((&after["expected"], &after["admitted"], &after["inside"]), (&json!(13), &json!(2), &json!(2)));
    assert_eq!((&after["guests"], &after["devices"], &after["open_incidents"]), (&json!(1), &json!(2), &json!(1)));
    assert_eq!((&after["has_staff_pin"], &after["capacity"]), (&json!(true), &json!(90)));
    let passes = after["passes"].as_object().unwrap();
    assert_eq!(passes.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 1, "Ana's pass is somewhere");
    for key in ["event", "gates", "guests", "phones", "test_scan", "staff_pin", "open_doors"] {
        assert_eq!(state_of(&after, key), "done", "{key}");
    }
}
