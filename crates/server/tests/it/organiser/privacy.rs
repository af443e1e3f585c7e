//! Who may see addresses and codes. A person who has a code can get in, and a member who only looks needs no address.

use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, post};
use crate::member::Member;
use crate::server::{TestServer, problem};

const CODE: &str = "GALA-2026-0007";
const EMAIL: &str = "countess@guests.example";
const PHONE: &str = "+491701234567";

/// A ticket with a guest who has an address and a number.
async fn ana(server: &TestServer) -> Value {
    let guest = json!({ "name": "Ana", "email": EMAIL, "phone": PHONE });
    post(server, "/api/events/{event}/tickets", json!({ "barcode": CODE, "guest": guest }), 201).await
}

#[tokio::test]
async fn who_only_looks_sees_names_and_finds_nobody_by_what_they_may_not_see() {
    let server = TestServer::start().await;
    let made = ana(&server).await;
    let (ticket, guest) = (made["id"].as_str().unwrap(), made["guest"]["id"].as_str().unwrap());
    let viewer = Member::new(&server, "viewer").await;
    for path in [
        "/api/events/{event}/guests?q=ana",
        &format!("/api/guests/{guest}"),
        "/api/events/{event}/tickets?q=ana",
        &format!("/api/tickets/{ticket}"),
    ] {
        let seen = viewer.get(path).await.to_string();
        assert!(seen.contains("Ana"), "{path}: {seen}");
        for hidden in [CODE, EMAIL, PHONE, "0007", "sha256:"] {
            assert!(!seen.contains(hidden), "{path} shows {hidden}: {seen}");
        }
    }
    // Nobody finds them letter by letter either. The beginning of an address or of a code finds nothing; the whole
    // code does.
    for (q, found) in [("countess@", 0), ("GALA", 0), (CODE, 1)] {
        for list in ["guests", "tickets"] {
            let listed = viewer.get(&format!("/api/events/{{event}}/{list}?q={q}")).await;
            assert_eq!(listed["items"].as_array().unwrap().len(), found, "{list} {q}");
            let counted = viewer.get(&format!("/api/events/{{event}}/{list}/counts?q={q}")).await;
            assert_eq!(counted["all"], json!(found), "{list} {q}");
        }
        let listed = get(&server, &format!("/api/events/{{event}}/guests?q={q}")).await;
        assert_eq!(listed["items"].as_array().unwrap().len(), usize::from(q != "GALA"), "the owner, {q}");
    }
    let refused = viewer.ask(Method::POST, &format!("/api/tickets/{ticket}/code")).send().await.unwrap();
    problem(refused, 403, "forbidden").await;
}

#[tokio::test]
async fn an_unknown_code_that_was_scanned_is_not_told_to_who_only_looks() {
    let server = TestServer::start().await;
    let mut phone = crate::device::Phone::pair(&server, &server.home, "a").await;
    let now = server.state.app.clock.now();
    let scan = phone.scan("12345678", admit_core::scan::Outcome::Invalid, now);
    let batch = phone.batch(vec![scan]);
    assert_eq!(phone.sync(&server, &batch).await.status(), 200);
    let viewer = Member::new(&server, "viewer").await;
    let seen = viewer.get("/api/events/{event}/scans").await;
    assert_eq!(seen["items"].as_array().unwrap().len(), 1);
    assert_eq!(seen["items"][0]["barcode_hash"], json!(null), "a number of eight digits is soon tried out");
    let own = get(&server, "/api/events/{event}/scans").await;
    assert!(own["items"][0]["barcode_hash"].as_str().unwrap().starts_with("sha256:"));
}

#[tokio::test]
async fn a_code_is_shown_by_an_act_that_is_on_record() {
    let server = TestServer::start().await;
    let made = ana(&server).await;
    let path = format!("/api/tickets/{}/code", made["id"].as_str().unwrap());
    let manager = Member::new(&server, "manager").await;
    let listed = manager.get("/api/events/{event}/tickets?q=ana").await;
    assert_eq!(listed["items"][0]["code_end"], "0007", "to tell two tickets apart");
    assert!(!listed.to_string().contains(CODE));
    let shown: Value = manager.ask(Method::POST, &path).send().await.unwrap().json().await.unwrap();
    assert_eq!((&shown["barcode"], &shown["pass_url"]), (&json!(CODE), &json!(null)), "a code that was not made here");
    assert_eq!(shown["short_code"], made["short_code"]);
    let ledger = get(&server, "/api/audit?event_id={event}").await;
    let line = ledger["items"].as_array().unwrap().iter().find(|line| line["action"] == "ticket_code_shown").unwrap();
    assert_eq!((&line["user_id"], &line["entity_id"]), (&json!(manager.user_id), &made["id"]));
    // A promoter may show only the codes of their own lists.
    let promoter = Member::new(&server, "promoter").await;
    problem(promoter.ask(Method::POST, &path).send().await.unwrap(), 404, "not_found").await;
    let list = json!({ "name": "Pat's", "promoter_id": promoter.user_id });
    let list = post(&server, "/api/events/{event}/guest-lists", list, 201).await;
    let foreign = json!({ "name": "Bo", "guest_list_id": list["id"] });
    let foreign = post(&server, "/api/events/{event}/guests", foreign, 201).await;
    let path = format!("/api/tickets/{}/code", foreign["ticket"]["id"].as_str().unwrap());
    let shown: Value = promoter.ask(Method::POST, &path).send().await.unwrap().json().await.unwrap();
    assert_eq!(shown["barcode"], foreign["ticket"]["barcode"]);
}

#[tokio::test]
async fn the_file_of_all_codes_is_on_record_too() {
    let server = TestServer::start().await;
    ana(&server).await;
    let file = as_owner(&server, &server.home, Method::GET, "/api/events/{event}/tickets/export");
    assert!(file.send().await.unwrap().text().await.unwrap().contains(CODE));
    let ledger = get(&server, "/api/audit?event_id={event}").await;
    assert_eq!(ledger["items"][0]["action"], "tickets_exported");
}

#[tokio::test]
async fn who_manages_no_members_sees_their_names_only() {
    let server = TestServer::start().await;
    let door = Member::new(&server, "door").await;
    let manager = Member::new(&server, "manager").await;
    let owner = get(&server, "/api/members").await;
    assert!(owner["items"].as_array().unwrap().iter().all(|one| one["email"].is_string() && one["role"].is_string()));
    for one in door.get("/api/members").await["items"].as_array().unwrap() {
        assert_eq!((one["name"].is_string(), &one["email"], &one["role"]), (true, &json!(null), &json!(null)));
    }
    // A manager assigns guest lists to promoters, so a manager sees roles but no addresses.
    for one in manager.get("/api/members").await["items"].as_array().unwrap() {
        assert_eq!((one["role"].is_string(), &one["email"]), (true, &json!(null)));
    }
}

#[tokio::test]
async fn an_api_token_has_a_role_and_an_end() {
    let server = TestServer::start().await;
    ana(&server).await;
    let made = post(&server, "/api/api-tokens", json!({ "name": "Screen", "role": "viewer" }), 201).await;
    assert_eq!((&made["role"], made["expires_at"].is_string()), (&json!("viewer"), true));
    let token = made["token"].as_str().unwrap();
    let event = server.home.event_id.as_str();
    let seen = server.get(&format!("/api/events/{event}/guests")).bearer_auth(token).send().await.unwrap();
    assert!(!seen.text().await.unwrap().contains(EMAIL));
    for (body, field) in [
        (json!({ "name": "T", "role": "admin" }), "role"),
        (json!({ "name": "T", "expires_at": "2020-01-01T00:00:00Z" }), "expires_at"),
        (json!({ "name": "T", "expires_at": "2099-01-01T00:00:00Z" }), "expires_at"),
    ] {
        let refused = as_owner(&server, &server.home, Method::POST, "/api/api-tokens").json(&body).send();
        assert_eq!(problem(refused.await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], field);
    }
}

#[tokio::test]
async fn a_ledger_is_read_by_action_and_an_unknown_action_is_refused_with_the_nearest() {
    let server = TestServer::start().await;
    let made = ana(&server).await;
    let path = format!("/api/tickets/{}/code", made["id"].as_str().unwrap());
    as_owner(&server, &server.home, Method::POST, &path).send().await.unwrap();
    let actions = async |query: &str| {
        let ledger = get(&server, &format!("/api/audit?event_id={{event}}{query}")).await;
        let lines = ledger["items"].as_array().unwrap().iter();
        lines.map(|line| line["action"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(actions("").await.len() > 1);
    assert_eq!(actions("&action=ticket_code_shown").await, ["ticket_code_shown"]);
    assert_eq!(actions("&action=gate_removed").await, [""; 0]);
    let unknown = as_owner(&server, &server.home, Method::GET, "/api/audit?action=ticket_code_show");
    let refused = problem(unknown.send().await.unwrap(), 400, "invalid_request").await;
    assert_eq!(refused["errors"][0]["path"], "action");
    assert!(refused["detail"].as_str().unwrap().ends_with("Did you mean `ticket_code_shown`?"), "{refused}");
}
