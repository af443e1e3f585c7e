//! The services of passes are unreachable for a while. Runs wait, show the reason, and finish by themselves.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn while_the_object_store_is_away_runs_wait_and_then_finish_by_themselves() {
    let mut office = Office::open().await;
    office.bucket.stop();
    office.guest(ana()).await;
    let waiting = office.until(|runs| runs.len() == 1 && runs[0]["tries"].as_u64() >= Some(1)).await;
    assert_eq!((&waiting[0]["state"], &waiting[0]["step"]), (&json!("open"), &json!("upload")));
    assert!(waiting[0]["problem"].as_str().unwrap().contains("object store"), "{}", waiting[0]);
    assert!(waiting[0]["next_at"].is_string());
    assert_eq!(office.sink.count(), 0, "no mail before its object");
    office.bucket.start_again().await;
    office.until_done(1).await;
    assert_eq!((office.sink.count(), office.bucket.objects().len()), (1, 1));
}

/// Waits until `is` holds for the mail's state, and gives it.
async fn until_mail(office: &Office, is: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let problem = get(&office.server, "/api/mail/health").await["mail_problem"].take();
        if is(&problem) {
            return problem;
        }
        assert!(Instant::now() < end, "it does not come to that: {problem}");
        // tidy-allow: the pause of a poll loop
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
fn says(problem: &Value, words: &str) -> bool {
    problem["reason"].as_str().is_some_and(|reason| reason.contains(words))
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_mail_server_is_away_or_busy_all_wait_it_is_said_once_and_they_finish_by_themselves() {
    let mut office = Office::open().await;
    office.sink.stop();
    office.guest(ana()).await;
    office.guest(json!({ "name": "Bo", "email": "bo@guests.example" })).await;
    let away = until_mail(&office, |problem| says(problem, "cannot be reached")).await;
    assert!(away["since"].is_string() && away["next_at"].is_string(), "{away}");
    let waiting = office.until(|runs| runs.iter().all(|run| run["step"] == "send-email")).await;
    for run in &waiting {
        assert_eq!((&run["state"], &run["tries"]), (&json!("open"), &json!(0)), "{run}");
        assert_eq!((&run["problem"], &run["next_at"]), (&Value::Null, &Value::Null), "{run}");
    }
    // The mail server is back, and says that the account's daily quota is used up.
    office.sink.start_again(&["-r", "RCPT", "-b", "'450 4.7.28 daily quota'"]);
    let quota = until_mail(&office, |problem| says(problem, "daily quota")).await;
    assert_eq!(quota["since"], away["since"]);
    assert!(office.runs().await.iter().all(|run| run["tries"] == 0 && run["state"] == "open"));
    office.sink.stop();
    office.sink.start_again(&[]);
    office.until_done(2).await;
    assert_eq!(office.sink.count(), 2);
    until_mail(&office, Value::is_null).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_busy_waits_alone() {
    let mut office = Office::open().await;
    office.sink.stop();
    office.sink.start_again(&["-r", "RCPT", "-b", "'450 4.2.2 mailbox full'"]);
    office.guest(ana()).await;
    let waiting = office.until(|runs| runs[0]["problem"].as_str().is_some_and(|text| text.contains("450"))).await;
    assert_eq!(waiting[0]["state"], "open");
    assert!(waiting[0]["tries"].as_u64() >= Some(1));
    until_mail(&office, Value::is_null).await;
    office.sink.stop();
    office.sink.start_again(&[]);
    office.until_done(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_refused_for_good_waits_for_a_person() {
    let mut office = Office::open().await;
    office.sink.stop();
    office.sink.start_again(&["-f", "RCPT", "-B", "'550 5.1.1 no such user'"]);
    office.guest(ana()).await;
    let gave_up = office.until(|runs| runs[0]["state"] == "gave_up").await;
    assert!(gave_up[0]["problem"].as_str().unwrap().contains("refuses"), "{}", gave_up[0]);
    office.sink.stop();
    office.sink.start_again(&[]);
    let path = format!("/api/events/{{event}}/runs/{}/retry", gave_up[0]["id"].as_str().unwrap());
    assert_eq!(office.status(Method::POST, &path).await, 200);
    office.until_done(1).await;
    assert_eq!(office.status(Method::POST, &path).await, 409, "nothing is left to try");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_gave_up_are_tried_again_by_one_word() {
    let mut office = Office::open().await;
    office.sink.stop();
    office.sink.start_again(&["-f", "RCPT", "-B", "'550 5.1.1 no such user'"]);
    office.guest(ana()).await;
    office.guest(json!({ "name": "Bo", "email": "bo@guests.example" })).await;
    office.until(|runs| runs.len() == 2 && runs.iter().all(|run| run["state"] == "gave_up")).await;
    office.sink.stop();
    office.sink.start_again(&[]);
    let path = "/api/events/{event}/runs/retry";
    assert_eq!(post(&office.server, path, Value::Null, 200).await, json!({ "retried": 2 }));
    office.until_done(2).await;
    assert_eq!(office.sink.count(), 2);
    assert_eq!(post(&office.server, path, Value::Null, 200).await, json!({ "retried": 0 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_mail_server_passes_are_made_and_it_is_said_once_what_is_lacking() {
    let server = TestServer::with(Settings::default().with_public_url(URL).unwrap()).await;
    tokio::spawn(server.state.clone().carry_out_runs());
    let office = Office { server, sink: Sink::start(&[]), bucket: Bucket::start().await };
    let guest = office.guest(ana()).await;
    let problem = until_mail(&office, |problem| !problem.is_null()).await;
    assert_eq!(problem["reason"], "no mail server is set up (SMTP_URL, SMTP_FROM)");
    let waiting = office.until(|runs| runs[0]["step"] == "send-email").await;
    assert_eq!((&waiting[0]["state"], &waiting[0]["tries"]), (&json!("open"), &json!(0)), "that is no try");
    assert_eq!(waiting[0]["problem"], Value::Null, "it is said once, and not of each");
    let page = format!("/passes?token={}", guest["ticket"]["barcode"].as_str().unwrap());
    assert_eq!(office.server.get(&page).send().await.unwrap().status(), 200);
}
