//! Webhooks: accepted messages from an organiser's own table of guests, and refused ones (trust §5, faults 32–34).

mod refusals;
mod supabase;

use admit_app::ports::{Scope, write};
use admit_app::records::WebhookEndpointRecord;
use admit_core::time::Timestamp;
use admit_core::webhook::{WebhookSecret, seconds};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::organiser::{as_owner, get, patch, post};
use crate::server::{Org, PASSWORD, TestServer, json as read, problem};

/// A webhook endpoint, with its secret.
pub struct Endpoint {
    pub id: String,
    pub path: String,
    pub secret: WebhookSecret,
}

impl Endpoint {
    /// Makes an endpoint for an organisation's event.
    pub async fn of(server: &TestServer, org: &Org, columns: Value) -> Self {
        let body = json!({ "event_id": org.event_id.as_str(), "name": "our database", "columns": columns });
        let request = as_owner(server, org, Method::POST, "/api/webhook-endpoints").json(&body);
        let made = read(request.send().await.unwrap(), 201).await;
        let id = made["id"].as_str().unwrap().to_owned();
        let path = format!("/api/webhooks/guests/{id}");
        assert_eq!(made["url"], format!("{}{path}", server.url));
        Self { id, path, secret: WebhookSecret::parse(made["secret"].as_str().unwrap()).unwrap() }
    }
    pub async fn new(server: &TestServer) -> Self {
        Self::of(server, &server.home, json!(null)).await
    }
    /// A message signed with the time `at`.
    pub fn signed(&self, server: &TestServer, webhook_id: &str, at: Timestamp, body: &[u8]) -> RequestBuilder {
        server
            .post(&self.path)
            .header("content-type", "application/json")
            .header("webhook-id", webhook_id)
            .header("webhook-timestamp", seconds(at))
            .header("webhook-signature", self.secret.sign(webhook_id, at, body))
            .body(body.to_vec())
    }
    /// Sends a message that is signed now.
    pub async fn send(&self, server: &TestServer, webhook_id: &str, body: &Value) -> Response {
        let now = server.state.app.clock.now();
        self.signed(server, webhook_id, now, body.to_string().as_bytes()).send().await.unwrap()
    }
    /// Sends a message that must be accepted, and gives the status in its answer.
    pub async fn take(&self, server: &TestServer, webhook_id: &str, body: Value) -> String {
        let answer = read(self.send(server, webhook_id, &body).await, 200).await;
        answer["status"].as_str().unwrap().to_owned()
    }
}

/// A row with the usual columns.
fn row(id: u64, name: &str, party_size: u32) -> Value {
    let email = format!("{}@example.org", name.to_lowercase());
    json!({ "id": id, "name": name, "email": email, "phone": null, "party_size": party_size })
}
fn change(kind: &str, record: &Value, sequence: u64) -> Value {
    let record = Some(record).filter(|_| kind != "DELETE");
    json!({ "type": kind, "table": "guests", "schema": "public", "record": record, "old_record": null, "sequence": sequence })
}

/// Name, e-mail, party size and external id of every guest, newest first.
async fn guests(server: &TestServer) -> Vec<(String, Option<String>, u64, String)> {
    let listed = get(server, "/api/events/{event}/guests?sort=added").await;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let one = |guest: &Value| {
        let size = guest["party_size"].as_u64().unwrap();
        (text(&guest["name"]).unwrap(), text(&guest["email"]), size, text(&guest["external_id"]).unwrap_or_default())
    };
    listed["items"].as_array().unwrap().iter().map(one).collect()
}
fn guest(name: &str, party_size: u64, external_id: &str) -> (String, Option<String>, u64, String) {
    (name.into(), Some(format!("{}@example.org", name.to_lowercase())), party_size, external_id.into())
}

#[tokio::test]
async fn a_row_makes_a_guest_with_a_ticket_and_a_changed_row_changes_both() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let made = read(endpoint.send(&server, "m1", &change("INSERT", &row(7, "Ana", 3), 1)).await, 200).await;
    assert_eq!((&made["status"], &made["external_id"]), (&json!("created"), &json!("7")));
    assert_eq!(guests(&server).await, [guest("Ana", 3, "7")]);
    let path = format!("/api/tickets/{}", made["ticket_id"].as_str().unwrap());
    let ticket = get(&server, &path).await;
    assert_eq!((&ticket["entry_limit"], &ticket["guest"]["id"]), (&json!(3), &made["guest_id"]));
    let barcode = ticket["code_end"].clone();

    assert_eq!(endpoint.take(&server, "m2", change("UPDATE", &row(7, "Ana", 3), 2)).await, "unchanged");
    let changed = read(endpoint.send(&server, "m3", &change("UPDATE", &row(7, "Anna", 5), 3)).await, 200).await;
    assert_eq!((&changed["status"], &changed["guest_id"]), (&json!("updated"), &made["guest_id"]));
    assert_eq!(guests(&server).await, [guest("Anna", 5, "7")]);
    let ticket = get(&server, &path).await;
    assert_eq!((&ticket["entry_limit"], &ticket["code_end"]), (&json!(5), &barcode), "the pass stays good");

    let ledger = get(&server, "/api/audit?event_id={event}").await;
    let lines: Vec<&str> = ledger["items"].as_array().unwrap().iter().filter_map(|l| l["action"].as_str()).collect();
    assert_eq!(lines.iter().filter(|action| **action == "guest_received").count(), 2, "{lines:?}");
}

#[tokio::test]
async fn the_least_form_is_a_record_and_a_column_that_is_not_there_changes_nothing() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    assert_eq!(endpoint.take(&server, "m1", json!({ "record": row(7, "Ana", 2) })).await, "created");
    assert_eq!(endpoint.take(&server, "m2", json!({ "record": { "id": 7, "party_size": "4" } })).await, "updated");
    assert_eq!(guests(&server).await, [guest("Ana", 4, "7")]);
    assert_eq!(endpoint.take(&server, "m3", json!({ "record": { "id": "7", "email": null } })).await, "updated");
    assert_eq!(guests(&server).await, [("Ana".into(), None, 4, "7".into())]);
    let phone_only = json!({ "record": { "id": "8", "phone": "+49 30 1234567" } });
    assert_eq!(endpoint.take(&server, "m4", phone_only).await, "created");
    assert_eq!(guests(&server).await[0].0, "+49 30 1234567");
}

/// As floating-point numbers these two ids would be equal.
#[tokio::test]
async fn two_rows_whose_ids_differ_in_the_last_of_twenty_digits_are_two_guests() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let now = server.state.app.clock.now();
    for (n, id) in ["12345678901234567890", "12345678901234567891", "\"0012345678901234567890\""].iter().enumerate() {
        let changed = r#""updated_at":"2026-06-07 19:30:00.123456+00""#;
        let body = format!(r#"{{"type":"INSERT","record":{{"id":{id},"name":"Guest {n}",{changed}}}}}"#);
        let answer = endpoint.signed(&server, &format!("m{n}"), now, body.as_bytes()).send().await.unwrap();
        let made = read(answer, 200).await;
        assert_eq!((&made["status"], made["external_id"].as_str()), (&json!("created"), Some(id.trim_matches('"'))));
    }
    assert_eq!(guests(&server).await.len(), 3);
}

#[tokio::test]
async fn columns_are_named_by_the_endpoint() {
    let server = TestServer::start().await;
    post(&server, "/api/events/{event}/entry-types", json!({ "name": "Backstage", "zone": "backstage" }), 201).await;
    let columns = json!({ "external_id": "guest_no", "name": "full_name", "party_size": "pax", "guest_list": "list",
        "entry_type": "area", "email": "mail", "phone": null });
    let endpoint = Endpoint::of(&server, &server.home, columns.clone()).await;
    let record = json!({ "guest_no": "A-1", "full_name": "Ana", "pax": 2, "list": "Friends", "area": "backstage",
        "mail": "ana@example.org", "phone": { "not": "read" }, "id": 99 });
    let made = read(endpoint.send(&server, "m1", &json!({ "record": record })).await, 200).await;
    assert_eq!(guests(&server).await, [guest("Ana", 2, "A-1")]);
    let ticket = get(&server, &format!("/api/tickets/{}", made["ticket_id"].as_str().unwrap())).await;
    assert_eq!(ticket["zone"], "backstage");
    let lists = get(&server, "/api/events/{event}/guest-lists").await;
    assert_eq!(lists["items"][0]["name"], "Friends", "a list that is named first is made");
    // An error names the sender's own columns.
    let wrong =
        json!({ "record": { "guest_no": "A-2", "full_name": "Bo", "mail": "no address", "area": "Roof", "pax": 0 } });
    let told = problem(endpoint.send(&server, "m2", &wrong).await, 400, "invalid_request").await;
    let paths: Vec<&str> = told["errors"].as_array().unwrap().iter().map(|e| e["path"].as_str().unwrap()).collect();
    for path in ["record.mail", "record.area", "record.pax"] {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
    // The organiser sees the error and corrects the mapping. Then the same message is accepted.
    let seen = &get(&server, "/api/webhook-endpoints").await["items"][0];
    assert!(seen["problem"].as_str().unwrap().contains("record.mail"), "{seen}");
    assert!(seen["refused_at"].is_string() && seen["received_at"].is_string());
    let mended =
        json!({ "columns": { "external_id": "guest_no", "name": "full_name", "email": null, "party_size": null } });
    let after = patch(&server, &format!("/api/webhook-endpoints/{}", endpoint.id), mended).await;
    assert_eq!(
        (&after["columns"]["email"], &after["columns"]["phone"]),
        (&json!(null), &json!("phone")),
        "taken whole"
    );
    assert_eq!(endpoint.take(&server, "m2", wrong).await, "created");
}

#[tokio::test]
async fn the_same_message_again_has_the_same_bytes_and_no_effect() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let body = change("INSERT", &row(7, "Ana", 3), 1);
    let first = endpoint.send(&server, "m1", &body).await.bytes().await.unwrap();
    patch(&server, &format!("/api/guests/{}", guest_id(&first)), json!({ "name": "Ana by hand" })).await;
    let before = server.place().rows();
    for _ in 0..2 {
        let again = endpoint.send(&server, "m1", &body).await;
        assert_eq!(again.status(), 200);
        assert_eq!(again.bytes().await.unwrap(), first);
    }
    assert_eq!(server.place().rows(), before, "nothing was written");
}

fn guest_id(answer: &[u8]) -> String {
    serde_json::from_slice::<Value>(answer).unwrap()["guest_id"].as_str().unwrap().to_owned()
}

/// Trust.md fault 32.
#[tokio::test]
async fn an_id_with_another_body_is_refused_and_put_on_record() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    endpoint.take(&server, "m1", change("INSERT", &row(7, "Ana", 3), 1)).await;
    let other = change("INSERT", &row(7, "Mallory", 9), 2);
    problem(endpoint.send(&server, "m1", &other).await, 409, "webhook_id_reused").await;
    assert_eq!(guests(&server).await, [guest("Ana", 3, "7")]);
    let ledger = get(&server, "/api/audit").await;
    let line = &ledger["items"][0];
    assert_eq!((&line["action"], &line["entity_id"]), (&json!("webhook_id_reused"), &json!(endpoint.id)));
    // The same id at another endpoint is another message.
    let second = Endpoint::new(&server).await;
    assert_eq!(second.take(&server, "m1", change("INSERT", &row(8, "Bo", 1), 1)).await, "created");
}

#[tokio::test]
async fn an_older_change_does_not_overwrite_a_newer_one() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    // The sender's own order decides, whatever its clock says.
    assert_eq!(endpoint.take(&server, "m2", change("UPDATE", &row(7, "New", 2), 20)).await, "created");
    assert_eq!(endpoint.take(&server, "m1", change("INSERT", &row(7, "Old", 1), 10)).await, "ignored");
    assert_eq!(endpoint.take(&server, "m3", change("UPDATE", &row(7, "Other", 1), 20)).await, "ignored", "as old");
    assert_eq!(guests(&server).await, [guest("New", 2, "7")]);
    assert_eq!(endpoint.take(&server, "m4", change("UPDATE", &row(7, "Newer", 2), 21)).await, "updated");
    // The row's own time decides, to the microsecond.
    let at = |name: &str, time: &str| {
        let mut record = row(8, name, 1);
        record["updated_at"] = json!(time);
        json!({ "record": record })
    };
    assert_eq!(endpoint.take(&server, "m5", at("Late", "2026-06-07T21:30:00.123457+02:00")).await, "created");
    assert_eq!(endpoint.take(&server, "m6", at("Early", "2026-06-07T19:30:00.123456Z")).await, "ignored");
    assert_eq!(endpoint.take(&server, "m7", at("Later", "2026-06-07T19:30:00.123458")).await, "updated");
    assert_eq!(guests(&server).await[0].0, "Later");
}

#[tokio::test]
async fn a_deleted_row_is_on_record_and_its_ticket_stays_good() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let made = read(endpoint.send(&server, "m1", &change("INSERT", &row(7, "Ana", 3), 1)).await, 200).await;
    let gone =
        json!({ "type": "DELETE", "table": "guests", "record": null, "old_record": row(7, "Ana", 3), "sequence": 2 });
    let answer = read(endpoint.send(&server, "m2", &gone).await, 200).await;
    assert_eq!((&answer["status"], &answer["guest_id"]), (&json!("recorded"), &made["guest_id"]));
    let ticket = get(&server, &format!("/api/tickets/{}", made["ticket_id"].as_str().unwrap())).await;
    assert_eq!(ticket["status"], "active");
    let ledger = get(&server, "/api/audit?event_id={event}").await;
    assert_eq!(ledger["items"][0]["action"], "guest_row_deleted");
    assert_eq!(endpoint.take(&server, "m3", change("UPDATE", &row(7, "Late", 1), 1)).await, "ignored");
    assert_eq!(endpoint.take(&server, "m4", change("INSERT", &row(7, "Ana", 3), 3)).await, "unchanged", "back again");
    let never = json!({ "type": "DELETE", "old_record": { "id": 99 } });
    let answer = read(endpoint.send(&server, "m5", &never).await, 200).await;
    assert_eq!((&answer["status"], &answer["guest_id"]), (&json!("recorded"), &json!(null)), "nobody knew it");
}

/// A row is changed, deleted and made again. Only the deletion and the last message arrive in time.
#[tokio::test]
async fn what_a_deleted_row_said_is_not_taken_for_taken_in() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    assert_eq!(endpoint.take(&server, "m1", change("INSERT", &row(7, "Ana", 1), 1)).await, "created");
    let gone = json!({ "type": "DELETE", "record": null, "old_record": row(7, "Ana", 3), "sequence": 3 });
    assert_eq!(endpoint.take(&server, "m3", gone).await, "recorded");
    let touched =
        json!({ "type": "UPDATE", "record": row(7, "Ana", 3), "old_record": row(7, "Ana", 3), "sequence": 5 });
    assert_eq!(endpoint.take(&server, "m5", touched).await, "updated");
    assert_eq!(endpoint.take(&server, "m2", change("UPDATE", &row(7, "Ana", 3), 2)).await, "ignored");
    assert_eq!(endpoint.take(&server, "m4", change("INSERT", &row(7, "Ana", 3), 4)).await, "ignored");
    assert_eq!(guests(&server).await, [guest("Ana", 3, "7")]);
}

/// Nothing is ever removed from the ledger, and a table's key may be an address.
#[tokio::test]
async fn the_ledger_names_a_row_by_its_guest_and_not_by_its_own_id() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let of = |id: &str, name: &str| json!({ "id": id, "name": name, "email": id });
    let made = endpoint.send(&server, "m1", &change("INSERT", &of("ana@secret.example", "Ana"), 1)).await;
    let made = read(made, 200).await;
    endpoint.take(&server, "m2", change("UPDATE", &of("ana@secret.example", "Anna"), 2)).await;
    for (message, id) in [("m3", "ana@secret.example"), ("m4", "nobody@secret.example")] {
        let gone = json!({ "type": "DELETE", "old_record": of(id, "Anna"), "sequence": 3 });
        assert_eq!(endpoint.take(&server, message, gone).await, "recorded");
    }
    let ledger = get(&server, "/api/audit?event_id={event}").await;
    assert!(!ledger.to_string().contains("secret.example"), "{ledger}");
    let lines = ledger["items"].as_array().unwrap().iter();
    let of_rows = lines.filter(|line| line["action"].as_str().unwrap().starts_with("guest_r"));
    let entities: Vec<&Value> = of_rows.map(|line| &line["entity_id"]).collect();
    let ana = &made["guest_id"];
    assert_eq!(entities, [&json!(""), ana, ana, ana], "newest first; nobody knew the last row");
}

/// A guest unsubscribed, or asked to be forgotten: the row stays without its addresses.
#[tokio::test]
async fn a_row_whose_addresses_are_taken_away_loses_them_here_and_is_sent_nothing() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let was = json!({ "id": 7, "name": "Ana", "email": "ana@example.org", "phone": "+49 30 1234567" });
    let is = json!({ "id": 7, "name": "Ana", "email": null, "phone": null });
    endpoint.take(&server, "m1", change("INSERT", &was, 1)).await;
    let runs = get(&server, "/api/events/{event}/runs").await["items"].as_array().unwrap().len();
    let old = json!({ "email": "ana@example.org", "phone": "+49 30 1234567" });
    let erased = json!({ "type": "UPDATE", "record": is, "old_record": old, "sequence": 2 });
    let answer = read(endpoint.send(&server, "m2", &erased).await, 200).await;
    assert_eq!(answer["status"], "updated");
    let guest = get(&server, &format!("/api/guests/{}", answer["guest_id"].as_str().unwrap())).await;
    assert_eq!((&guest["email"], &guest["phone"]), (&json!(null), &json!(null)));
    let after = get(&server, "/api/events/{event}/runs").await["items"].as_array().unwrap().len();
    assert_eq!(after, runs, "nothing new is on its way");
    let gone = json!({ "type": "DELETE", "old_record": is, "sequence": 3 });
    assert_eq!(endpoint.take(&server, "m3", gone).await, "recorded");
    // A guest without a name was called by their address, so the name goes as well.
    let named_so = json!({ "id": 8, "name": null, "email": "bo@example.org", "phone": null });
    endpoint.take(&server, "m4", change("INSERT", &named_so, 4)).await;
    let is = json!({ "id": 8, "name": null, "email": null, "phone": null });
    let erased = json!({ "type": "UPDATE", "record": is, "old_record": { "email": "bo@example.org" }, "sequence": 5 });
    assert_eq!(endpoint.take(&server, "m5", erased).await, "updated");
    assert_eq!(guests(&server).await[0], ("8".into(), None, 1, "8".into()));
}

#[tokio::test]
async fn a_guest_from_a_file_and_from_the_database_is_one_by_their_id() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let file = "external_id,name,email\n7,Ana,ana@example.org\n";
    let request = as_owner(&server, &server.home, Method::POST, "/api/events/{event}/tickets/import");
    read(request.header("content-type", "text/csv").body(file).send().await.unwrap(), 200).await;
    assert_eq!(endpoint.take(&server, "m1", change("UPDATE", &row(7, "Ana", 4), 1)).await, "updated");
    assert_eq!(guests(&server).await, [guest("Ana", 4, "7")]);
}

/// The site writes `last_login`, and the trigger sends the whole row. The organiser's correction in Admit stays.
#[tokio::test]
async fn a_change_of_one_column_leaves_what_a_person_mended_in_the_others() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let update = |was: &Value, is: &Value, sequence: u64| json!({ "type": "UPDATE", "record": is, "old_record": was, "sequence": sequence });
    let with = |row: &Value, field: &str, value: Value| {
        let mut row = row.clone();
        row[field] = value;
        row
    };
    let typo = with(&row(7, "Ana", 2), "email", json!("ann@example.org"));
    let made = read(endpoint.send(&server, "m1", &change("INSERT", &typo, 1)).await, 200).await;
    let path = format!("/api/guests/{}", made["guest_id"].as_str().unwrap());
    patch(&server, &path, json!({ "email": "ana@example.org", "party_size": 4 })).await;
    let seen = with(&typo, "last_login", json!("2026-06-07"));
    assert_eq!(endpoint.take(&server, "m2", update(&typo, &seen, 2)).await, "unchanged");
    assert_eq!(guests(&server).await, [guest("Ana", 4, "7")]);
    // A sender may leave unchanged columns out of the old row.
    assert_eq!(endpoint.take(&server, "m3", update(&json!({ "last_login": null }), &seen, 3)).await, "unchanged");
    let renamed = with(&seen, "name", json!("Anna"));
    assert_eq!(endpoint.take(&server, "m4", update(&json!({ "name": "Ana" }), &renamed, 4)).await, "updated");
    let mended = ("Anna".into(), Some("ana@example.org".into()), 4, "7".into());
    assert_eq!(guests(&server).await, [mended]);
    // The next message makes up for a lost one, because it still differs from what was received.
    let grown = with(&renamed, "party_size", json!(5));
    assert_eq!(endpoint.take(&server, "m6", update(&grown, &grown, 6)).await, "updated");
    assert_eq!(guests(&server).await[0].2, 5);
    // A guest who is not here yet takes the whole row, even if nothing changed.
    assert_eq!(endpoint.take(&server, "m7", update(&row(8, "Bo", 3), &row(8, "Bo", 3), 7)).await, "created");
    assert_eq!(guests(&server).await[0], guest("Bo", 3, "8"));
    // A sender who does not send the old row means the whole new row.
    assert_eq!(endpoint.take(&server, "m8", change("UPDATE", &grown, 8)).await, "updated");
    assert_eq!(guests(&server).await[1].1.as_deref(), Some("ann@example.org"));
}

/// A guest without a name is called by their e-mail address, and by the new one when it changes. A name that a person
/// gave stays.
#[tokio::test]
async fn a_guest_without_a_name_is_called_by_their_present_address() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let nameless =
        |email: Value, phone: Value, name: Value| json!({ "id": 17, "name": name, "email": email, "phone": phone });
    let update = |was: &Value, is: &Value, sequence: u64| json!({ "type": "UPDATE", "record": is, "old_record": was, "sequence": sequence });
    let of = async || guests(&server).await.remove(0).0;
    let old = nameless(json!("old@example.org"), Value::Null, Value::Null);
    endpoint.take(&server, "m1", change("INSERT", &old, 1)).await;
    assert_eq!(of().await, "old@example.org");
    let new = nameless(json!("new@example.org"), Value::Null, Value::Null);
    assert_eq!(endpoint.take(&server, "m2", update(&old, &new, 2)).await, "updated");
    assert_eq!(of().await, "new@example.org");
    let phoned = nameless(json!("new@example.org"), json!("555 100"), json!(""));
    assert_eq!(endpoint.take(&server, "m3", update(&new, &phoned, 3)).await, "updated");
    assert_eq!(of().await, "new@example.org", "nothing of it changed");
    let id = get(&server, "/api/events/{event}/guests?sort=added").await["items"][0]["id"].as_str().unwrap().to_owned();
    let named = as_owner(&server, &server.home, Method::PATCH, &format!("/api/guests/{id}"));
    read(named.json(&json!({ "name": "Ana" })).send().await.unwrap(), 200).await;
    endpoint
        .take(&server, "m4", update(&phoned, &nameless(json!("x@example.org"), json!("555 100"), json!("")), 4))
        .await;
    assert_eq!(of().await, "Ana");
}

#[tokio::test]
async fn rows_of_two_tables_with_one_id_are_not_taken_for_one_guest() {
    let server = TestServer::start().await;
    let (first, second) = (Endpoint::new(&server).await, Endpoint::new(&server).await);
    assert_eq!(first.take(&server, "m1", change("INSERT", &row(7, "Ana", 2), 1)).await, "created");
    let refused = second.send(&server, "m1", &change("INSERT", &row(7, "Bo", 1), 1)).await;
    let problem = problem(refused, 400, "invalid_request").await;
    assert_eq!(problem["errors"][0]["path"], "record.id");
    assert!(problem["errors"][0]["message"].as_str().unwrap().contains("our database"), "{problem}");
    assert_eq!(guests(&server).await, [guest("Ana", 2, "7")]);
    assert_eq!(second.take(&server, "m2", change("INSERT", &row(8, "Bo", 1), 1)).await, "created");
    // An endpoint that replaces another receives the same rows, once the former is switched off.
    let path = format!("/api/webhook-endpoints/{}", first.id);
    patch(&server, &path, json!({ "enabled": false })).await;
    assert_eq!(second.take(&server, "m3", change("UPDATE", &row(7, "Ana", 3), 2)).await, "updated");
    assert_eq!(guests(&server).await, [guest("Bo", 1, "8"), guest("Ana", 3, "7")]);
}

/// If a promoter numbers guests like the organiser's database, no row changes a guest of the promoter.
#[tokio::test]
async fn a_row_is_no_promoters_guest_of_the_same_number() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let member = json!({ "email": "pat@home.example", "name": "Pat", "password": PASSWORD, "role": "promoter" });
    let pat = post(&server, "/api/members", member, 201).await["id"].clone();
    let list =
        post(&server, "/api/events/{event}/guest-lists", json!({ "name": "Own", "promoter_id": pat }), 201).await;
    let session = json!({ "email": "pat@home.example", "password": PASSWORD });
    let answer = server.post("/api/session").json(&session).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let path =
        format!("/api/events/{}/tickets/import?guest_list_id={}", server.home.event_id, list["id"].as_str().unwrap());
    let file = server.post(&path).header("cookie", cookie).header("content-type", "text/csv");
    read(file.body("external_id,name\n7,Friend\n").send().await.unwrap(), 200).await;
    assert_eq!(endpoint.take(&server, "m1", change("INSERT", &row(7, "Ana", 2), 1)).await, "created");
    let found = guests(&server).await;
    assert_eq!(found, [guest("Ana", 2, "7"), ("Friend".into(), None, 1, "7".into())]);
}

#[tokio::test]
async fn a_guests_story_tells_what_came_from_the_database() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let made = read(endpoint.send(&server, "m1", &change("INSERT", &row(7, "Ana", 3), 1)).await, 200).await;
    endpoint.take(&server, "m2", change("UPDATE", &row(7, "Anna", 5), 2)).await;
    let gone = json!({ "type": "DELETE", "old_record": row(7, "Anna", 5), "sequence": 3 });
    endpoint.take(&server, "m3", gone).await;
    let path = format!("/api/guests/{}", made["guest_id"].as_str().unwrap());
    let story = get(&server, &format!("{path}/timeline")).await;
    let told = |moment: &Value| (moment["what"].clone(), moment["by"].clone());
    let mut told: Vec<(Value, Value)> = story["items"].as_array().unwrap().iter().map(told).collect();
    told.sort_by_key(|(what, _)| what.to_string());
    assert_eq!(told, ["added", "received", "row_deleted"].map(|what| (json!(what), json!("our database"))));
    assert_eq!(get(&server, &path).await["has_pass"], json!(false), "PUBLIC_URL is not known here");
}

/// Trust.md fault 34.
#[tokio::test]
async fn both_secrets_are_good_in_the_overlap_and_the_old_one_is_refused_after_it() {
    let server = TestServer::start().await;
    let old = Endpoint::new(&server).await;
    let rotate = format!("/api/webhook-endpoints/{}/rotate-secret", old.id);
    let told = post(&server, &rotate, json!(null), 200).await;
    let secret = WebhookSecret::parse(told["secret"].as_str().unwrap()).unwrap();
    let new = Endpoint { id: old.id.clone(), path: old.path.clone(), secret };
    assert!(told["former_secret_until"].is_string());
    assert_eq!(old.take(&server, "m1", change("INSERT", &row(1, "Ana", 1), 1)).await, "created");
    assert_eq!(new.take(&server, "m2", change("INSERT", &row(2, "Bo", 1), 2)).await, "created");
    // During the overlap a sender signs with both secrets.
    let (now, body) = (server.state.app.clock.now(), change("INSERT", &row(3, "Cy", 1), 3).to_string());
    let both = [&old, &new].map(|one| one.secret.sign("m3", now, body.as_bytes())).join(" ");
    let request = server.post(&new.path).header("content-type", "application/json").header("webhook-id", "m3");
    let request = request.header("webhook-timestamp", seconds(now)).header("webhook-signature", both);
    read(request.body(body).send().await.unwrap(), 200).await;
    // After a second rotation the oldest secret ends at once; the one before does not.
    let told = post(&server, &rotate, json!(null), 200).await;
    let secret = WebhookSecret::parse(told["secret"].as_str().unwrap()).unwrap();
    let newest = Endpoint { id: old.id.clone(), path: old.path.clone(), secret };
    problem(old.send(&server, "m4", &change("INSERT", &row(4, "Di", 1), 4)).await, 401, "webhook_refused").await;
    assert_eq!(new.take(&server, "m4", change("INSERT", &row(4, "Di", 1), 4)).await, "created");
    assert_eq!(newest.take(&server, "m5", change("INSERT", &row(5, "Ed", 1), 5)).await, "created");
    assert_eq!(guests(&server).await.len(), 5);
    // Ends the overlap without waiting for a day.
    end_overlap(&server, &new.id).await;
    problem(new.send(&server, "m6", &change("INSERT", &row(6, "Flo", 1), 6)).await, 401, "webhook_refused").await;
    assert_eq!(newest.take(&server, "m6", change("INSERT", &row(6, "Flo", 1), 6)).await, "created");
}

async fn end_overlap(server: &TestServer, endpoint_id: &str) {
    let (id, scope) = (endpoint_id.to_owned(), Scope::organization(&server.home.owner.organization_id));
    write(&*server.state.app.store, scope, move |tx| {
        let endpoint = tx.webhook_endpoint(&id)?.unwrap();
        let former = endpoint.former.clone().map(|(sealed, _)| (sealed, Timestamp::START));
        tx.update_webhook_endpoint(&WebhookEndpointRecord { former, ..endpoint })
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_endpoint_that_is_switched_off_says_so_and_goes_on_when_switched_on() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let path = format!("/api/webhook-endpoints/{}", endpoint.id);
    assert_eq!(patch(&server, &path, json!({ "enabled": false })).await["enabled"], false);
    let body = change("INSERT", &row(7, "Ana", 3), 1);
    problem(endpoint.send(&server, "m1", &body).await, 410, "webhook_endpoint_disabled").await;
    assert_eq!(patch(&server, &path, json!({ "enabled": true, "name": "again" })).await["name"], "again");
    assert_eq!(endpoint.take(&server, "m1", body).await, "created");
    let listed = get(&server, "/api/webhook-endpoints").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert!(!listed.to_string().contains("whsec_"), "a secret is shown once");
}

#[tokio::test]
async fn messages_beyond_the_limit_are_told_when_to_come_again() {
    let settings = admit_server::Settings { webhooks_per_minute: 2, ..Default::default() };
    let server = TestServer::with(settings).await;
    let endpoint = Endpoint::new(&server).await;
    for n in 0..2 {
        endpoint.take(&server, &format!("m{n}"), change("INSERT", &row(n, "Ana", 1), 1)).await;
    }
    let refused = endpoint.send(&server, "m9", &change("INSERT", &row(9, "Ana", 1), 1)).await;
    assert!(refused.headers().contains_key("retry-after"));
    problem(refused, 429, "rate_limited").await;
    // A sender without the secret uses up no limit, and another endpoint has its own.
    assert_eq!(
        Endpoint::new(&server).await.take(&server, "m1", change("INSERT", &row(5, "Bo", 1), 1)).await,
        "created"
    );
}

#[tokio::test]
async fn the_same_message_at_once_makes_one_guest() {
    let server = TestServer::start().await;
    let endpoint = Endpoint::new(&server).await;
    let body = change("INSERT", &row(7, "Ana", 3), 1);
    let answers = futures_util::future::join_all((0..8).map(|_| endpoint.send(&server, "m1", &body))).await;
    let mut bytes = Vec::new();
    for answer in answers {
        assert_eq!(answer.status(), 200);
        bytes.push(answer.bytes().await.unwrap());
    }
    assert!(bytes.windows(2).all(|two| two[0] == two[1]));
    assert_eq!(guests(&server).await.len(), 1);
}
