//! The review queue: the guest of an incident, the counts, one answer to many incidents.

use admit_core::scan::Outcome;
use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, post};
use crate::device::Phone;
use crate::server::{TestServer, json, problem};

const INCIDENTS: &str = "/api/events/{event}/incidents";

/// Lets each of these codes in on two phones, which makes a double entry each.
async fn twice(server: &TestServer, codes: &[&str]) {
    let now = server.state.app.clock.now();
    for (name, before_ms) in [("a", 120_000), ("b", 60_000)] {
        let mut phone = Phone::pair(server, &server.home, name).await;
        let scans = codes.iter().map(|code| phone.scan(code, Outcome::Valid, now.plus_ms(-before_ms))).collect();
        let batch = phone.batch(scans);
        json(phone.sync(server, &batch).await, 200).await;
    }
}
fn ids(page: &Value) -> Vec<Value> {
    page["items"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect()
}

#[tokio::test]
async fn an_incident_says_whom_it_is_about_and_the_queue_is_counted() {
    let server = TestServer::start().await;
    let ana = post(&server, "/api/events/{event}/guests", json!({ "name": "Ana" }), 201).await;
    twice(&server, &[ana["ticket"]["barcode"].as_str().unwrap(), &server.home.barcodes[0]]).await;
    let queue = get(&server, INCIDENTS).await;
    let of_ana = queue["items"].as_array().unwrap().iter().find(|one| one["ticket_id"] == ana["ticket_id"]).unwrap();
    assert_eq!(of_ana["guest"], json!({ "id": ana["id"], "name": "Ana", "party_size": 1 }));
    assert_eq!(of_ana["entry_type"], "General");
    let nobodys = queue["items"].as_array().unwrap().iter().find(|one| one["ticket_id"] != ana["ticket_id"]).unwrap();
    assert_eq!((&nobodys["guest"], &nobodys["entry_type"]), (&Value::Null, &json!("General")));
    let counts = get(&server, &format!("{INCIDENTS}/counts")).await;
    assert_eq!(counts, json!({ "open": 2, "decided": 0, "kinds": [{ "kind": "double_entry", "open": 2 }] }));
    assert_eq!(ids(&get(&server, &format!("{INCIDENTS}?kind=double_entry")).await).len(), 2);
    assert_eq!(ids(&get(&server, &format!("{INCIDENTS}?kind=log_forked")).await).len(), 0);
    let wrong = as_owner(&server, &server.home, Method::GET, &format!("{INCIDENTS}?kind=odd")).send().await.unwrap();
    assert_eq!(problem(wrong, 400, "invalid_request").await["errors"][0]["path"], "kind");
}

#[tokio::test]
async fn many_incidents_are_answered_at_once_and_taken_back() {
    let server = TestServer::start().await;
    let codes: Vec<&str> = server.home.barcodes.iter().take(3).map(String::as_str).collect();
    twice(&server, &codes).await;
    let all = ids(&get(&server, INCIDENTS).await);
    assert_eq!(all.len(), 3);
    let resolve = format!("{INCIDENTS}/resolve");
    let over = async || get(&server, "/api/events/{event}/occupancy").await["over"].as_u64().unwrap();
    assert_eq!(over().await, 3);

    let mut asked = all[..2].to_vec();
    asked.extend([json!("nobodys"), all[0].clone()]);
    let body = json!({ "ids": asked, "decision": "exclude", "note": "came back for a coat" });
    let done = post(&server, &resolve, body, 200).await;
    assert_eq!(done["resolved"], json!(all[..2]), "each once");
    assert_eq!(done["refused"], json!([{ "id": "nobodys", "reason": "not_found" }]));
    assert_eq!(over().await, 1, "the scans that came on top count no more, the entries do");
    let counts = get(&server, &format!("{INCIDENTS}/counts")).await;
    assert_eq!((&counts["open"], &counts["decided"]), (&json!(1), &json!(2)));
    let decided = get(&server, &format!("{INCIDENTS}?decided=1")).await;
    assert_eq!(decided["items"][0]["resolution"]["note"], "came back for a coat");

    let again = post(&server, &resolve, json!({ "ids": all, "decision": "note" }), 200).await;
    assert_eq!(again["resolved"], json!([all[2]]));
    let gone = |id: &Value| json!({ "id": id, "reason": "incident_cleared" });
    assert_eq!(again["refused"], json!([gone(&all[0]), gone(&all[1])]));

    let back = post(&server, &resolve, json!({ "ids": all, "decision": "restore" }), 200).await;
    assert_eq!(back["resolved"], json!(all));
    assert_eq!(over().await, 3);
    assert_eq!(get(&server, &format!("{INCIDENTS}/counts")).await["open"], 3);
    for (body, field) in [
        (json!({ "ids": [], "decision": "note" }), "ids"),
        (json!({ "ids": vec!["i"; 501], "decision": "note" }), "ids"),
        (json!({ "ids": ["i"], "decision": "forget" }), "decision"),
    ] {
        let wrong = as_owner(&server, &server.home, Method::POST, &resolve).json(&body).send().await.unwrap();
        assert_eq!(problem(wrong, 400, "invalid_request").await["errors"][0]["path"], field);
    }
}

/// Two incidents of one ticket name the same scan. One answer decides both, and stores one decision about the scan.
#[tokio::test]
async fn two_incidents_about_one_scan_are_answered_together() {
    let server = TestServer::start().await;
    let void = json!({ "barcode": "VOID-1", "status": "voided" });
    post(&server, "/api/events/{event}/tickets", void, 201).await;
    twice(&server, &["VOID-1"]).await;
    let all = get(&server, INCIDENTS).await;
    let kinds: std::collections::BTreeSet<&str> =
        all["items"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains("admitted_in_error") && kinds.len() > 1, "{kinds:?}");
    let all = ids(&all);
    let body = json!({ "ids": all, "decision": "exclude" });
    let done = post(&server, &format!("{INCIDENTS}/resolve"), body, 200).await;
    let (mut resolved, mut asked) = (done["resolved"].as_array().unwrap().clone(), all.clone());
    resolved.sort_by_key(Value::to_string);
    asked.sort_by_key(Value::to_string);
    assert_eq!((resolved, &done["refused"]), (asked, &json!([])));
    assert_eq!(get(&server, "/api/events/{event}/overview").await["admitted"], 0);
}
