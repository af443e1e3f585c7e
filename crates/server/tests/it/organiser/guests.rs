//! Guests: finding, showing and changing them, their history, and a promoter's own guests.

use admit_core::limits::{BARCODE_BYTES, NAME_CHARS};
use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, patch, post};
use crate::device::Phone;
use crate::member::Member;
use crate::server::{TestServer, json, problem};

const GUESTS: &str = "/api/events/{event}/guests";

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}
fn names(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_guest_is_found_without_accents_by_list_and_by_whether_they_came() {
    let server = TestServer::start().await;
    let list = post(&server, "/api/events/{event}/guest-lists", json!({ "name": "Crew" }), 201).await;
    let amelie = json!({ "name": "Amélie Brânză", "guest_list_id": id(&list), "email": "ana@x.example" });
    let amelie = post(&server, GUESTS, amelie, 201).await;
    post(&server, GUESTS, json!({ "name": "Straße Łódź" }), 201).await;
    for (query, found) in [
        ("q=amelie", vec!["Amélie Brânză"]),
        ("q=%C3%A1m%C3%88lie+branza", vec!["Amélie Brânză"]),
        ("q=lodz", vec!["Straße Łódź"]),
        ("q=strasse", vec!["Straße Łódź"]),
        ("q=Ana%40X.ex", vec!["Amélie Brânză"]),
        ("q=+AMELIE+", vec!["Amélie Brânză"]),
        ("q=+", vec!["Amélie Brânză", "Straße Łódź"]),
        ("sort=added", vec!["Straße Łódź", "Amélie Brânză"]),
        ("state=came", vec![]),
        ("state=to_come&q=a", vec!["Amélie Brânză"]),
        ("mail=refused", vec![]),
        ("q=ml", vec![]),
        ("q=branza+amelie", vec!["Amélie Brânză"]),
        ("q=--", vec![]),
    ] {
        assert_eq!(names(&get(&server, &format!("{GUESTS}?{query}")).await), found, "{query}");
    }
    let path = format!("{GUESTS}?guest_list_id={}", id(&list));
    assert_eq!(names(&get(&server, &path).await), ["Amélie Brânză"]);
    for field in ["state", "mail", "sort"] {
        let path = format!("{GUESTS}?{field}=maybe");
        let wrong = as_owner(&server, &server.home, Method::GET, &path).send().await.unwrap();
        assert_eq!(problem(wrong, 400, "invalid_request").await["errors"][0]["path"], field);
    }
    let nothing = json!([]);
    // These are the longest texts that a search accepts: as long as a name or a code may be.
    for (list, most) in [(GUESTS, NAME_CHARS), ("/api/events/{event}/tickets", BARCODE_BYTES)] {
        let longest = format!("{list}?q={}", "%C3%A9".repeat(most));
        assert_eq!(get(&server, &longest).await["items"], nothing);
        for wrong in ["x".repeat(most + 1), "x".repeat(60_000), "a%00b".to_owned()] {
            let answer =
                as_owner(&server, &server.home, Method::GET, &format!("{list}?q={wrong}")).send().await.unwrap();
            assert_eq!(problem(answer, 400, "invalid_request").await["errors"][0]["path"], "q");
        }
    }
    let tickets = get(&server, "/api/events/{event}/tickets?q=branza").await;
    assert_eq!(tickets["items"][0]["guest"]["id"], amelie["id"]);
}

#[tokio::test]
async fn a_guests_story_is_told_from_the_ledger_and_the_doors() {
    let server = TestServer::start().await;
    let guest = post(&server, GUESTS, json!({ "name": "Ana", "party_size": 2 }), 201).await;
    let path = format!("/api/guests/{}", id(&guest));
    patch(&server, &path, json!({ "party_size": 3 })).await;
    patch(&server, &path, json!({ "ticket_status": "voided" })).await;
    patch(&server, &path, json!({ "ticket_status": "active" })).await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let at = server.state.app.clock.now();
    let scan = phone.scan(guest["ticket"]["barcode"].as_str().unwrap(), admit_core::scan::Outcome::Valid, at);
    let batch = phone.batch(vec![scan]);
    json(phone.sync(&server, &batch).await, 200).await;
    let story = get(&server, &format!("{path}/timeline")).await;
    let items = story["items"].as_array().unwrap();
    let mut what: Vec<&str> = items.iter().map(|moment| moment["what"].as_str().unwrap()).collect();
    what.sort_unstable();
    assert_eq!(what, ["added", "changed", "changed", "changed", "entered"]);
    let entered = items.iter().find(|moment| moment["what"] == "entered").unwrap();
    assert_eq!((&entered["persons"], &entered["counts"]), (&json!(1), &json!(true)));
    let fields: Vec<&Value> = items.iter().filter(|m| m["what"] == "changed").map(|m| &m["fields"]).collect();
    assert!(fields.contains(&&json!(["party_size"])) && fields.contains(&&json!(["status"])), "{fields:?}");
    let shown = get(&server, &path).await;
    assert_eq!(
        (&shown["status"], &shown["actual_count"], &shown["ticket"]["entry_limit"], &shown["ticket"]["status"]),
        (&json!("checked_in"), &json!(1), &json!(3), &json!("active"))
    );
    let wrong = as_owner(&server, &server.home, Method::PATCH, &path).json(&json!({ "ticket_status": "gone" })).send();
    assert_eq!(problem(wrong.await.unwrap(), 400, "invalid_request").await["errors"][0]["path"], "ticket_status");
}

/// A guest whose ticket is void is no longer expected, and the list says so.
#[tokio::test]
async fn the_list_of_guests_says_how_their_tickets_stand() {
    let server = TestServer::start().await;
    let mut expected = Vec::new();
    for word in ["active", "used", "voided", "refunded"] {
        let guest = post(&server, GUESTS, json!({ "name": word }), 201).await;
        let path = format!("/api/guests/{}", id(&guest));
        patch(&server, &path, json!({ "ticket_status": word })).await;
        assert_eq!(get(&server, &path).await["ticket_status"], word);
        expected.push((json!(word), json!(word), json!("pending")));
    }
    let page = get(&server, &format!("{GUESTS}?sort=added")).await;
    let mut found: Vec<(Value, Value, Value)> = Vec::new();
    for one in page["items"].as_array().unwrap() {
        found.push((one["name"].clone(), one["ticket_status"].clone(), one["status"].clone()));
    }
    expected.reverse();
    assert_eq!(found, expected);
}

/// The list shows names instead of ids. The counts are of the same guests as the list.
#[tokio::test]
async fn guests_are_listed_with_what_a_person_needs_and_counted() {
    let server = TestServer::start().await;
    let list = post(&server, "/api/events/{event}/guest-lists", json!({ "name": "Crew" }), 201).await;
    let ana = json!({ "name": "Ana", "party_size": 3, "guest_list_id": id(&list), "order_id": "XK7QP" });
    let ana = post(&server, GUESTS, ana, 201).await;
    let bo = post(&server, GUESTS, json!({ "name": "Bo" }), 201).await;
    patch(&server, &format!("/api/guests/{}", id(&bo)), json!({ "ticket_status": "voided" })).await;
    post(&server, GUESTS, json!({ "name": "Cy" }), 201).await;
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let at = server.state.app.clock.now();
    let code = ana["ticket"]["barcode"].as_str().unwrap();
    let scan = phone.scan(code, admit_core::scan::Outcome::Valid, at);
    let batch = phone.batch(vec![scan]);
    json(phone.sync(&server, &batch).await, 200).await;
    let found = get(&server, &format!("{GUESTS}?q={code}")).await;
    let one = &found["items"][0];
    assert_eq!((&one["name"], &one["inside"], &one["last_at"]), (&json!("Ana"), &json!(1), &json!(at)));
    assert_eq!((&one["last_gate"], &one["order_id"]), (&json!("main"), &json!("XK7QP")));
    assert_eq!((&one["entry_type"], &one["guest_list"]), (&json!("General"), &json!("Crew")));
    assert_eq!(names(&get(&server, &format!("{GUESTS}?sort=last")).await)[0], "Ana");
    for (state, found) in [
        ("inside", vec!["Ana"]),
        ("came", vec!["Ana"]),
        ("to_come", vec!["Cy"]),
        ("no_show", vec![]),
        ("voided", vec!["Bo"]),
    ] {
        assert_eq!(names(&get(&server, &format!("{GUESTS}?state={state}")).await), found, "{state}");
    }
    let counts = get(&server, &format!("{GUESTS}/counts")).await;
    let numbers =
        ["all", "inside", "to_come", "came", "no_show", "voided", "persons"].map(|name| counts[name].as_u64());
    assert_eq!(numbers, [3, 1, 1, 1, 0, 1, 5].map(Some));
    // Every page shows the same number: the persons whom valid tickets admit, including tickets without a guest.
    let nameless =
        post(&server, "/api/events/{event}/tickets", json!([{ "barcode": "NAMELESS", "entry_limit": 7 }]), 201).await;
    let expected = async || {
        let mut numbers = Vec::new();
        for path in
            [format!("{GUESTS}/counts"), "/api/events/{event}/overview".into(), "/api/events/{event}/occupancy".into()]
        {
            numbers.push(get(&server, &path).await["expected"].as_u64().unwrap());
        }
        assert!(numbers.iter().all(|one| *one == numbers[0]), "{numbers:?}");
        numbers[0]
    };
    let before = expected().await;
    patch(&server, &format!("/api/tickets/{}", id(&nameless[0])), json!({ "status": "voided" })).await;
    assert_eq!(expected().await, before - 7);
    assert_eq!(get(&server, &format!("{GUESTS}/counts")).await["persons"], 5);
    assert_eq!(get(&server, &format!("{GUESTS}/counts?q=bo")).await["expected"], 0, "Bo's ticket is voided");
    assert_eq!(counts["lists"], json!([{ "id": list["id"], "name": "Crew", "guests": 1 }]));
    assert_eq!(
        (&counts["entry_types"][0]["name"], &counts["entry_types"][0]["guests"]),
        (&json!("General"), &json!(3))
    );
    let some = get(&server, &format!("{GUESTS}/counts?q=c")).await;
    assert_eq!((&some["all"], &some["to_come"], &some["lists"][0]["guests"]), (&json!(1), &json!(1), &json!(0)));
    patch(&server, "/api/events/{event}", json!({ "status": "ended" })).await;
    let over = get(&server, &format!("{GUESTS}/counts")).await;
    assert_eq!((&over["to_come"], &over["no_show"]), (&json!(0), &json!(1)));
}

/// spec D17: a guest who never came is a no-show once the event is over, and a late scan corrects it.
#[tokio::test]
async fn no_show_is_derived_when_the_event_ends_and_corrected_by_a_late_scan() {
    let server = TestServer::start().await;
    let guest = post(&server, GUESTS, json!({ "name": "Late" }), 201).await;
    let path = format!("/api/guests/{}", id(&guest));
    let mut phone = Phone::pair(&server, &server.home, "a").await;
    let at = server.state.app.clock.now();
    assert_eq!(get(&server, &path).await["status"], "pending");
    patch(&server, "/api/events/{event}", json!({ "status": "ended" })).await;
    assert_eq!(get(&server, &path).await["status"], "no_show");
    let scan = phone.scan(guest["ticket"]["barcode"].as_str().unwrap(), admit_core::scan::Outcome::Valid, at);
    let batch = phone.batch(vec![scan]);
    json(phone.sync(&server, &batch).await, 200).await;
    assert_eq!(get(&server, &path).await["status"], "checked_in");
}

/// S0 "Authorization": a promoter sees, changes, voids and imports guests of their own lists, and no others.
#[tokio::test]
async fn s0_a_promoter_has_their_own_lists_and_nothing_else() {
    let server = TestServer::start().await;
    let pat = Member::new(&server, "promoter").await;
    let lists = "/api/events/{event}/guest-lists";
    let own = post(&server, lists, json!({ "name": "Own", "promoter_id": pat.user_id }), 201).await;
    let house = post(&server, lists, json!({ "name": "House" }), 201).await;
    let foreign = post(&server, GUESTS, json!({ "name": "Theirs", "guest_list_id": house["id"] }), 201).await;
    assert_eq!(names(&pat.get(lists).await), ["Own"]);
    // A list that a file or a webhook made gets its promoter later.
    let path = format!("{lists}/{}", id(&house));
    let given = patch(&server, &path, json!({ "promoter_id": pat.user_id, "name": "Pat's" })).await;
    assert_eq!((&given["promoter_id"], &given["name"]), (&json!(pat.user_id), &json!("Pat's")));
    // Both lists may have been made in one millisecond, so either may come first.
    let page = pat.get(lists).await;
    let mut both = names(&page);
    both.sort();
    assert_eq!(both, ["Own", "Pat's"]);
    let own_word = pat.ask(Method::PATCH, &path).json(&json!({ "promoter_id": null })).send().await.unwrap();
    problem(own_word, 403, "forbidden").await;
    patch(&server, &path, json!({ "promoter_id": null, "name": "House" })).await;
    assert_eq!(names(&pat.get(lists).await), ["Own"]);

    let csv =
        "name,email,status,guest_list\nMine,mine@guests.example,paid,House\nDeclined,d@guests.example,declined,House\n";
    let import = |list: &Value| {
        let path = format!("/api/events/{{event}}/tickets/import?guest_list_id={}", id(list));
        pat.ask(Method::POST, &path).header("content-type", "text/csv").body(csv).send()
    };
    let done = json(import(&own).await.unwrap(), 200).await;
    assert_eq!((&done["created"], &done["ignored_columns"]), (&json!(1), &json!(["guest_list"])));
    assert_eq!(done["left_out"], 1, "whoever is declined gets no ticket, whosever file it is");
    assert_eq!(
        problem(import(&house).await.unwrap(), 400, "invalid_request").await["errors"][0]["path"],
        "guest_list_id"
    );
    let everywhere = pat.ask(Method::POST, "/api/events/{event}/tickets/import").header("content-type", "text/csv");
    let nowhere = problem(everywhere.body(csv).send().await.unwrap(), 400, "invalid_request").await;
    assert_eq!(nowhere["errors"][0]["path"], "guest_list_id", "a promoter says which of their lists");

    let page = pat.get(GUESTS).await;
    assert_eq!(names(&page), ["Mine"], "the others are not there, also without naming a list");
    let mine = format!("/api/guests/{}", id(&page["items"][0]));
    let shown = pat.get(&mine).await;
    assert_eq!(shown["ticket"]["status"], "active", "a file of theirs voids nothing");
    let changed = pat.ask(Method::PATCH, &mine).json(&json!({ "ticket_status": "voided" })).send().await.unwrap();
    json(changed, 200).await;
    assert_eq!(get(&server, &mine).await["ticket"]["status"], "voided");
    assert_eq!(pat.get(&format!("{mine}/timeline")).await["items"][0]["by"], "Pat");

    let foreign = format!("/api/guests/{}", id(&foreign));
    for request in [
        pat.ask(Method::GET, &foreign),
        pat.ask(Method::GET, &format!("{foreign}/timeline")),
        pat.ask(Method::PATCH, &foreign).json(&json!({ "name": "Stolen" })),
    ] {
        problem(request.send().await.unwrap(), 404, "not_found").await;
    }
    for path in
        ["/api/events/{event}/tickets", "/api/events/{event}/scans", "/api/events/{event}/devices", "/api/audit"]
    {
        problem(pat.ask(Method::GET, path).send().await.unwrap(), 403, "forbidden").await;
    }
}

/// The guest's phone is empty: the organiser checks the guest in, sees a refusal, sets it aside, and undoes the
/// check-in.
#[tokio::test]
async fn a_guest_is_checked_in_from_the_office_and_that_is_undone() {
    let server = TestServer::start().await;
    let guest = post(&server, GUESTS, json!({ "name": "Ana" }), 201).await;
    let path = format!("/api/guests/{}", id(&guest));
    let check_in = format!("{path}/check-in");
    let ask = |id: &str| json!({ "scan_id": id, "gate_id": "main", "count": 1 });
    let first = post(&server, &check_in, ask("c1"), 200).await;
    let said = json!({
        "scan_id": "c1", "outcome": "valid", "reason": null, "opened": true, "persons": 1, "last_at": null, "last_gate": null,
    });
    assert_eq!(first, said);
    assert_eq!(post(&server, &check_in, ask("c1"), 200).await, first);
    assert_eq!(get(&server, &path).await["actual_count"], 1);
    let entered = &get(&server, &format!("{path}/timeline")).await["items"][0];
    assert_eq!((&entered["what"], &entered["device"]), (&json!("entered"), &json!("Office")));
    let refused = post(&server, &check_in, ask("c2"), 200).await;
    assert_eq!((&refused["reason"], &refused["opened"]), (&json!("already_scanned"), &json!(false)));
    let mut aside = ask("c3");
    aside["override_reason"] = json!("left by mistake");
    assert_eq!(post(&server, &check_in, aside, 200).await["opened"], true);
    for id in ["c3", "c1", "c1"] {
        let undone = post(&server, &format!("{check_in}/undo"), json!({ "scan_id": id }), 200).await;
        assert_eq!(undone, json!({ "persons": 1 }));
    }
    assert_eq!(get(&server, &path).await["actual_count"], 0);
    let list = get(&server, "/api/events/{event}/devices").await;
    assert_eq!(list["items"], json!([]), "the office is no phone");
}

#[tokio::test]
async fn a_check_in_that_can_not_be_says_which_field_is_wrong() {
    let server = TestServer::start().await;
    let guest = post(&server, GUESTS, json!({ "name": "Ana" }), 201).await;
    let path = format!("/api/guests/{}/check-in", id(&guest));
    for (gate, count, field) in [("main", 0, "count"), ("main", 2, "count"), ("nowhere", 1, "gate_id")] {
        let body = json!({ "scan_id": "c1", "gate_id": gate, "count": count });
        let answer = as_owner(&server, &server.home, Method::POST, &path).json(&body).send().await.unwrap();
        assert_eq!(problem(answer, 400, "invalid_request").await["errors"][0]["path"], field);
    }
    let body = json!({ "scan_id": "phone-1" });
    let undo = as_owner(&server, &server.home, Method::POST, &format!("{path}/undo")).json(&body).send().await.unwrap();
    problem(undo, 404, "not_found").await;
}
