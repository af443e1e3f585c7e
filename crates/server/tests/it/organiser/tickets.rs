//! Tickets and guests.

use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, patch, post};
use crate::server::{TestServer, problem};

const TICKETS: &str = "/api/events/{event}/tickets";

#[tokio::test]
async fn one_ticket_is_answered_as_one_and_many_as_many() {
    let server = TestServer::start().await;
    let one = post(&server, TICKETS, json!({ "guest": { "name": "Ana", "party_size": 3 } }), 201).await;
    assert_eq!(one["barcode"].as_str().unwrap().len(), 36);
    assert!(one["barcode_hash"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!((&one["entry_limit"], &one["zone"], &one["status"]), (&json!(3), &json!("general"), &json!("active")));
    assert_eq!((&one["guest"]["name"], &one["scanned"]), (&json!("Ana"), &json!(false)));
    let many =
        post(&server, TICKETS, json!([{ "barcode": "X-1" }, { "barcode": "X-2", "gate_ids": ["main"] }]), 201).await;
    assert_eq!((&many[0]["barcode"], &many[1]["gate_ids"]), (&json!("X-1"), &json!(["main"])));
    let taken = as_owner(&server, &server.home, Method::POST, TICKETS).json(&json!({ "barcode": "X-1" })).send();
    problem(taken.await.unwrap(), 409, "barcode_taken").await;
    let wrong = as_owner(&server, &server.home, Method::POST, TICKETS).json(&json!([{}, { "entry_limit": 0 }])).send();
    assert_eq!(problem(wrong.await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], "[1].entry_limit");
    let shape =
        as_owner(&server, &server.home, Method::POST, TICKETS).json(&json!([{}, { "entry_limit": "x" }])).send();
    assert_eq!(problem(shape.await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], "[1].entry_limit");
    // The answer that makes a ticket shows its code. Later answers show the end of the code.
    let mut shown = get(&server, &format!("/api/tickets/{}", one["id"].as_str().unwrap())).await;
    for field in ["barcode", "barcode_hash", "short_code"] {
        assert_eq!(shown.get(field), None);
        shown[field] = one[field].clone();
    }
    assert_eq!(shown, one);
}

#[tokio::test]
async fn tickets_are_found_and_paged() {
    let server = TestServer::start().await;
    post(&server, TICKETS, json!({ "barcode": "Z-1", "guest": { "name": "Amélie Brânză" } }), 201).await;
    let found = get(&server, &format!("{TICKETS}?q=AM%C3%89LIE")).await;
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    assert_eq!(found["items"][0]["code_end"], "1");
    let mut seen = Vec::new();
    let mut path = format!("{TICKETS}?limit=4");
    loop {
        let page = get(&server, &path).await;
        seen.extend(page["items"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("{TICKETS}?limit=4&cursor={cursor}");
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 11);
    assert_eq!(get(&server, &format!("{TICKETS}?status=voided")).await["items"], json!([]));
    let none = json!({ "all": 0, "to_come": 0, "came": 0, "voided": 0, "refunded": 0 });
    let counts = get(&server, &format!("{TICKETS}/counts")).await;
    assert_eq!((&counts["all"], &counts["voided"]), (&json!(11), &json!(0)));
    let one = get(&server, &format!("{TICKETS}/counts?q=AM%C3%89LIE")).await;
    assert_eq!((&one["all"], &one["to_come"]), (&json!(1), &json!(1)));
    assert_eq!(get(&server, &format!("{TICKETS}/counts?q=nobody")).await, none);
    for (query, field) in [("status=lost", "status"), ("entered=maybe", "entered"), ("entered=", "entered")] {
        let answer = as_owner(&server, &server.home, Method::GET, &format!("{TICKETS}?{query}")).send().await.unwrap();
        assert_eq!(problem(answer, 400, "invalid_request").await["errors"][0]["path"], field);
    }
}

#[tokio::test]
async fn a_ticket_is_found_by_the_number_of_its_order() {
    let server = TestServer::start().await;
    let pair = json!([{ "barcode": "P-1", "order_id": " XK7QP " }, { "barcode": "P-2", "order_id": "XK7QP" }]);
    let made = post(&server, TICKETS, pair, 201).await;
    assert_eq!(made[0]["order_id"], "XK7QP", "without the white space around it");
    let found = get(&server, &format!("{TICKETS}?q=xk7")).await;
    assert_eq!(found["items"].as_array().unwrap().len(), 2);
    let guest = json!({ "name": "Ana", "order_id": "XK8" });
    let guest = post(&server, "/api/events/{event}/guests", guest, 201).await;
    assert_eq!(guest["ticket"]["order_id"], "XK8");
    let long = json!({ "order_id": "x".repeat(65) });
    let wrong = as_owner(&server, &server.home, Method::POST, TICKETS).json(&long).send().await.unwrap();
    assert_eq!(problem(wrong, 400, "invalid_request").await["errors"][0]["path"], "order_id");
}

#[tokio::test]
async fn a_ticket_is_changed_from_now_or_from_the_start() {
    let server = TestServer::start().await;
    let made = post(&server, TICKETS, json!({ "barcode": "Y-1" }), 201).await;
    let path = format!("/api/tickets/{}", made["id"].as_str().unwrap());
    let changed = patch(&server, &path, json!({ "status": "voided", "expires_at": "2026-06-07T20:00:00Z" })).await;
    assert_eq!((&changed["status"], &changed["expires_at"]), (&json!("voided"), &json!("2026-06-07T20:00:00Z")));
    let changed = patch(&server, &path, json!({ "status": "active", "expires_at": null, "effective": "start" })).await;
    assert_eq!((&changed["status"], &changed["expires_at"]), (&json!("active"), &Value::Null));
    let wrong = as_owner(&server, &server.home, Method::PATCH, &path).json(&json!({ "effective": "later" })).send();
    assert_eq!(problem(wrong.await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], "effective");
    let none = as_owner(&server, &server.home, Method::PATCH, "/api/tickets/none").json(&json!({})).send();
    problem(none.await.unwrap(), 404, "not_found").await;
}

#[tokio::test]
async fn a_guest_is_made_found_and_changed() {
    let server = TestServer::start().await;
    let body = json!({ "name": "Noah", "email": "N@X.example", "party_size": 2, "note": "By the wall" });
    let made = post(&server, "/api/events/{event}/guests", body, 201).await;
    assert_eq!((&made["email"], &made["ticket"]["entry_limit"]), (&json!("n@x.example"), &json!(2)));
    let path = format!("/api/guests/{}", made["id"].as_str().unwrap());
    let changed = patch(&server, &path, json!({ "party_size": 5, "note": null, "flag": "Check ID" })).await;
    assert_eq!(
        (&changed["party_size"], &changed["note"], &changed["flag"]),
        (&json!(5), &Value::Null, &json!("Check ID"))
    );
    let ticket = get(&server, &format!("/api/tickets/{}", made["ticket"]["id"].as_str().unwrap())).await;
    assert_eq!(ticket["entry_limit"], 5);
    let found = get(&server, "/api/events/{event}/guests?q=noa").await;
    assert_eq!((&found["items"][0]["status"], &found["items"][0]["actual_count"]), (&json!("pending"), &json!(0)));
}
