//! The state of a pass's mail, shown to callers who may see its guest.

use super::*;
use crate::member::Member;
use crate::server::{json as read, problem};

const GUESTS: &str = "/api/events/{event}/guests";

/// S0 "Authorization": a promoter sees the mail state of guests of their own lists only.
#[tokio::test(flavor = "multi_thread")]
async fn s0_a_promoter_sees_how_the_mail_stands_of_their_own_guests_alone() {
    let mut office = Office::open().await;
    let (pat, lists) = (Member::new(&office.server, "promoter").await, "/api/events/{event}/guest-lists");
    let own = post(&office.server, lists, json!({ "name": "Own", "promoter_id": pat.user_id }), 201).await;
    let house = post(&office.server, lists, json!({ "name": "House" }), 201).await;
    let on = |list: &Value, guest: Value| {
        let mut guest = guest;
        guest["guest_list_id"] = list["id"].clone();
        guest
    };
    let foreign = office.guest(on(&house, json!({ "name": "Theirs", "email": "theirs@guests.example" }))).await;
    let ada = office.guest(on(&own, json!({ "name": "Ada", "email": "ada@guests.example" }))).await;
    let bo = office.guest(on(&own, json!({ "name": "Bo", "phone": "+49 30 1234567" }))).await;
    office.guest(on(&own, json!({ "name": "Cy" }))).await;
    office.until_done(3).await;
    office.sink.stop();
    office.guest(on(&own, json!({ "name": "Di", "email": "di@guests.example" }))).await;
    office.until(|runs| runs.len() == 4 && runs[0]["step"] == "send-email").await;
    office.bucket.stop();
    office.guest(on(&own, json!({ "name": "Ed", "email": "ed@guests.example" }))).await;
    office.until(|runs| runs.len() == 5 && runs[0]["tries"].as_u64() >= Some(1)).await;

    let page = pat.get(GUESTS).await;
    let told = |name: &str| {
        let guests = page["items"].as_array().unwrap();
        let mail = &guests.iter().find(|guest| guest["name"] == name).unwrap()["mail"];
        let why = mail["why"].as_str().unwrap_or_default().to_owned();
        (mail["state"].as_str().unwrap().to_owned(), why, mail["at"].is_string())
    };
    assert_eq!(page["items"].as_array().unwrap().len(), 5, "none of the house's");
    assert_eq!(told("Ada"), ("sent".into(), String::new(), true));
    let (state, why, _) = told("Bo");
    assert!(state == "not_sent" && why.starts_with("no e-mail address"), "{state}: {why}");
    assert_eq!(told("Cy"), ("not_sent".into(), "no e-mail address".into(), false));
    // The reason why no mail goes out at all is shown once, to members who may see the runs.
    assert_eq!(told("Di"), ("waiting".into(), String::new(), true));
    // A promoter does not see where the server stores its pictures.
    assert_eq!(told("Ed"), ("waiting".into(), "the pass cannot be made just now: the organiser sees why".into(), true));
    let path = |guest: &Value| format!("/api/guests/{}", guest["id"].as_str().unwrap());
    assert_eq!(pat.get(&path(&ada)).await["mail"]["state"], "sent", "one alone says the same");
    let ed = page["items"].as_array().unwrap().iter().find(|guest| guest["name"] == "Ed").unwrap();
    let owners = get(&office.server, &path(ed)).await;
    assert!(owners["mail"]["why"].as_str().unwrap().contains("object store"), "{owners}");
    problem(pat.ask(Method::GET, &path(&foreign)).send().await.unwrap(), 404, "not_found").await;
    for path in ["/api/events/{event}/runs".to_owned(), format!("/api/events/{{event}}/runs?guest_id={}", id(&ada))] {
        problem(pat.ask(Method::GET, &path).send().await.unwrap(), 403, "forbidden").await;
    }

    // A pass that is requested again is mailed to a guest with an address. For a guest without one it is only made.
    for (guest, what) in [(&ada, "resent"), (&bo, "remade")] {
        let path = path(guest);
        read(pat.ask(Method::POST, &format!("{path}/resend")).send().await.unwrap(), 202).await;
        assert_eq!(pat.get(&format!("{path}/timeline")).await["items"][0]["what"], what);
    }
}

/// The server mails no pass to a guest whose code came with the request, so the guest's `mail` is null.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_told_of_the_mail_of_whoever_has_their_code_from_elsewhere() {
    let office = Office::open().await;
    let ticket = json!({ "barcode": "PAPER-1", "guest": { "name": "Eve", "email": "eve@guests.example" } });
    post(&office.server, "/api/events/{event}/tickets", ticket, 201).await;
    let page = get(&office.server, GUESTS).await;
    assert_eq!((&page["items"][0]["name"], &page["items"][0]["mail"]), (&json!("Eve"), &Value::Null));
}

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}
