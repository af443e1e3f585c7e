//! Runs in the organiser's view.

use admit_core::time::Timestamp;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn an_organiser_sees_each_step_with_its_times() {
    let office = Office::open().await;
    let guest = office.guest(ana()).await;
    let run = office.until_done(1).await.remove(0);
    assert_eq!((&run["kind"], &run["guest_id"], &run["problem"]), (&json!("pass"), &guest["id"], &Value::Null));
    let whole = get(&office.server, &format!("/api/events/{{event}}/runs/{}", run["id"].as_str().unwrap())).await;
    let steps = whole["steps"].as_array().unwrap();
    let names: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["insert-qr-code", "generate-qr-png", "upload", "send-email"]);
    for step in steps {
        assert_eq!(step["tries"], 1);
        let at = |name: &str| Timestamp::parse(step[name].as_str().unwrap()).unwrap();
        assert!(at("began_at") <= at("done_at"));
    }
    assert_eq!(office.status(Method::GET, "/api/events/{event}/runs/no-such").await, 404);
    assert_eq!(office.status(Method::GET, "/api/events/no-such/runs").await, 404);
    assert_eq!(office.status(Method::GET, "/api/events/{event}/runs?state=lost").await, 400);
    let done = get(&office.server, "/api/events/{event}/runs?state=done").await;
    assert_eq!(done["items"].as_array().unwrap().len(), 1);
    let other = get(&office.server, "/api/events/{event}/runs?guest_id=another").await;
    assert_eq!(other["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_tell_how_runs_went() {
    let mut office = Office::open().await;
    office.guest(ana()).await;
    office.until_done(1).await;
    office.sink.stop();
    office.sink.start_again(&["-f", "RCPT", "-B", "'550 5.1.1 no such user'"]);
    office.guest(json!({ "name": "Bo", "email": "bo@guests.example" })).await;
    office.until(|runs| runs.iter().any(|run| run["state"] == "gave_up")).await;
    // A run is counted a moment after it is stored.
    let lines = [
        "admit_runs_total{ended=\"done\"} 1",
        "admit_runs_total{ended=\"gave_up\"} 1",
        "admit_run_duration_seconds_count 2",
        "admit_runs_under_way 0",
    ];
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let text = office.server.state.metrics.text();
        if lines.iter().all(|line| text.lines().any(|told| told == *line)) {
            break;
        }
        assert!(Instant::now() < end, "{text}");
        tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_number_alone_makes_a_pass_and_the_run_says_that_nothing_was_mailed() {
    let office = Office::open().await;
    let guest = office.guest(json!({ "name": "Bo", "phone": "+49 30 1234567" })).await;
    let run = office.until_done(1).await.remove(0);
    assert!(run["note"].as_str().unwrap().starts_with("no e-mail address"), "{run}");
    assert_eq!((office.sink.count(), office.bucket.objects().len()), (0, 1));
    let path = format!("/api/guests/{}/resend", guest["id"].as_str().unwrap());
    assert_eq!(office.status(Method::POST, &path).await, 202);
    office.until_done(2).await;
    assert_eq!(office.bucket.objects().len(), 1, "the same object");
}

#[tokio::test(flavor = "multi_thread")]
async fn passes_of_many_guests_are_sent_by_one_call_that_can_count_first() {
    let office = Office::open().await;
    let ana = office.guest(json!({ "name": "Ana", "email": "ana@guests.example" })).await;
    let bo = office.guest(json!({ "name": "Bo" })).await;
    office.until_done(1).await;
    let path = "/api/events/{event}/guests/resend";
    let ids = json!([ana["id"], bo["id"]]);
    let mut counts = json!({ "mailed": 1, "no_email": 1, "code_of_another": 0, "ticket_not_active": 0, "just_sent": 0, "not_found": 0 });
    let counted = post(&office.server, path, json!({ "guest_ids": ids, "dry_run": true }), 202).await;
    assert_eq!((&counted, office.sink.count()), (&counts, 1));
    assert_eq!(post(&office.server, path, json!({ "guest_ids": ids }), 202).await, counts);
    office.until_done(2).await;
    assert_eq!(office.sink.count(), 2);
    (counts["mailed"], counts["just_sent"]) = (json!(0), json!(1));
    let filter = json!({ "q": "", "state": "to_come" });
    assert_eq!(post(&office.server, path, json!({ "filter": filter }), 202).await, counts);
    let ledger = get(&office.server, "/api/audit?event_id={event}").await;
    let lines = ledger["items"].as_array().unwrap().iter();
    let lines = lines.filter(|line| line["action"] == "passes_resent");
    let lines: Vec<_> = lines.map(|line| &line["changes"]["guests"]).collect();
    assert_eq!(lines, [&json!(1)], "one line, with the number");
    for (body, code, at) in [
        (json!({}), "invalid_request", "guest_ids"),
        (json!({ "guest_ids": ids, "filter": {} }), "invalid_request", "filter"),
        (json!({ "filter": { "state": "gone" } }), "invalid_request", "filter.state"),
        (json!({ "ids": ids }), "unknown_field", "ids"),
        (json!({ "filter": { "list": "x" } }), "unknown_field", "filter.list"),
    ] {
        let refused = post(&office.server, path, body, 400).await;
        assert_eq!((&refused["code"], &refused["errors"][0]["path"]), (&json!(code), &json!(at)), "{refused}");
    }
}
