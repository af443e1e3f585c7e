//! The page of a pass.

use admit_core::limits::PASS_GUESSES_PER_MINUTE;

use super::*;
use crate::organiser::patch;

struct Shown {
    office: Office,
    guest: String,
    ticket: String,
    token: String,
}

impl Shown {
    async fn open(body: Value) -> Self {
        let office = Office::open().await;
        let guest = office.guest(body).await;
        office.until_done(1).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (ticket, token) = (text(&guest["ticket"]["id"]), text(&guest["ticket"]["barcode"]));
        Self { office, guest: text(&guest["id"]), ticket, token }
    }
    async fn page(&self) -> String {
        let answer = self.office.server.get(&format!("/passes?token={}", self.token)).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.text().await.unwrap()
    }
    /// The standing that the page shows.
    async fn standing(&self) -> String {
        let page = self.page().await;
        page.split("<strong>").nth(1).unwrap().split('<').next().unwrap().to_owned()
    }
    async fn change(&self, body: Value) {
        patch(&self.office.server, &format!("/api/tickets/{}", self.ticket), body).await;
    }
    async fn enters(&self, id: &str) {
        let phone = crate::device::Phone::pair(&self.office.server, &self.office.server.home, id).await;
        let body = json!({ "ticket_code": self.token, "scanned_at": self.office.server.state.app.clock.now(), "offline_id": id });
        let answer = phone.bearer(self.office.server.post("/api/scans")).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_says_how_it_stands() {
    let shown = Shown::open(ana()).await;
    assert_eq!(shown.standing().await, "Valid");
    shown.enters("one").await;
    assert_eq!(shown.standing().await, "Partly used");
    assert!(shown.page().await.contains("1 of 2 are in; 1 may still come in."));
    shown.enters("two").await;
    assert_eq!(shown.standing().await, "Used");
    assert!(!shown.page().await.contains("class=\"code\""), "a code that lets nobody in is not shown");
    shown.change(json!({ "status": "voided" })).await;
    assert_eq!(shown.standing().await, "Cancelled");
}

/// The guest's timeline shows the first visit of the page. Fetching the picture does not count, nor do later visits.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_look_at_a_pass_is_told_and_only_the_first() {
    let shown = Shown::open(ana()).await;
    let server = &shown.office.server;
    let path = format!("/api/guests/{}/timeline", shown.guest);
    let looks = async || {
        let story = get(server, &path).await;
        story["items"].as_array().unwrap().iter().filter(|moment| moment["what"] == "opened").count()
    };
    let picture = server.get(&format!("/qr-codes/{}.png", shown.token)).send().await.unwrap();
    assert_eq!((picture.status().as_u16(), looks().await), (200, 0));
    tokio::join!(shown.page(), shown.page());
    let end = Instant::now() + Duration::from_secs(60);
    while looks().await == 0 {
        assert!(Instant::now() < end, "the first look is never told");
        tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
    }
    shown.page().await;
    // This write comes after those of the visits.
    shown.change(json!({ "status": "voided" })).await;
    assert!(shown.page().await.contains("Cancelled"));
    assert_eq!(looks().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_event_of_a_pass_goes_into_a_calendar_while_the_pass_is_good() {
    let shown = Shown::open(ana()).await;
    let server = &shown.office.server;
    assert!(shown.page().await.contains(&format!("href=\"passes.ics?token={}\"", shown.token)));
    let answer = server.get(&format!("/passes.ics?token={}", shown.token)).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.headers()["content-type"], "text/calendar; charset=utf-8");
    assert_eq!(answer.headers()["cache-control"], "no-store");
    let file = answer.text().await.unwrap();
    assert!(file.starts_with("BEGIN:VCALENDAR\r\n") && file.contains("\r\nSUMMARY:"), "{file}");
    assert_eq!(server.get("/passes.ics?token=wrong").send().await.unwrap().status(), 404);
    shown.change(json!({ "status": "voided" })).await;
    assert!(!shown.page().await.contains("passes.ics"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_of_another_time_says_so() {
    let shown = Shown::open(ana()).await;
    let now = shown.office.server.state.app.clock.now();
    shown.change(json!({ "valid_from": now.plus_ms(3_600_000) })).await;
    assert_eq!(shown.standing().await, "Not yet valid");
    shown.change(json!({ "valid_from": null, "expires_at": now.plus_ms(-1) })).await;
    assert_eq!(shown.standing().await, "Over");
    shown.change(json!({ "expires_at": null })).await;
    assert_eq!(shown.standing().await, "Valid");
    patch(&shown.office.server, "/api/events/{event}", json!({ "status": "ended" })).await;
    assert_eq!(shown.standing().await, "Over");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_small_runs_nothing_and_is_kept_by_nobody() {
    let name = "<script>alert(1)</script>\u{202E}".repeat(6);
    let shown = Shown::open(json!({ "name": name, "email": "g@guests.example", "party_size": 12 })).await;
    let answer = shown.office.server.get(&format!("/passes?token={}", shown.token)).send().await.unwrap();
    let headers = answer.headers().clone();
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert_eq!(header("cache-control"), "no-store");
    assert!(header("x-robots-tag").contains("noindex"));
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'nonce-") && !policy.contains("script-src"), "{policy}");
    let page = answer.text().await.unwrap();
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert!(page.contains(&format!("<style nonce=\"{nonce}\">")));
    assert!(!page.contains("<script") && !page.contains('\u{202E}') && !page.contains(" style="), "{page}");
    assert!(!page.contains("http-equiv") && !page.contains("src=") && !page.contains("url(http"), "nothing is fetched");
    let asked = shown.office.server.get(&format!("/passes?token={}", shown.token)).header("accept-encoding", "gzip");
    let sent = asked.send().await.unwrap();
    assert_eq!(sent.headers()["content-encoding"], "gzip");
    let bytes = sent.bytes().await.unwrap().len();
    assert!((5_000..=20_000).contains(&bytes), "{bytes} bytes");
    assert!(page.contains("12 persons"));
    // zbar can read the drawing when it is turned into pixels.
    let path = page.split("stroke=\"#000\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(path.starts_with("M4 4.5h7"), "{path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_tells_nothing_and_many_of_them_must_wait() {
    let shown = Shown::open(ana()).await;
    let other = shown.office.server.other.barcodes[0].clone();
    let ask = |token: String, from: &'static str| {
        let request = shown.office.server.get(&format!("/passes?token={token}")).header("x-forwarded-for", from);
        async move { request.send().await.unwrap() }
    };
    let mut bodies = Vec::new();
    let wrong = ["", "x", "CODE-0001", &other, "7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f", &shown.token.to_uppercase()];
    for token in wrong {
        let answer = ask(token.to_owned(), "203.0.113.9").await;
        assert_eq!(answer.status(), 404, "{token}");
        let nonce_free = answer.text().await.unwrap();
        bodies.push(nonce_free.split("nonce=\"").nth(1).unwrap()[32..].to_owned());
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]), "all the same");
    for n in 0..PASS_GUESSES_PER_MINUTE as usize - wrong.len() {
        assert_eq!(ask(format!("guess-{n}"), "203.0.113.9").await.status(), 404);
    }
    let answer = ask("one-more".to_owned(), "203.0.113.9").await;
    assert_eq!(answer.status(), 429);
    assert!(answer.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() <= 60);
    for from in ["203.0.113.9", "203.0.113.10"] {
        // Guests share the address of the hall with the person who guesses there.
        assert_eq!(ask(shown.token.clone(), from).await.status(), 200, "a right one opens its page");
    }
    let picture = shown.office.server.get("/qr-codes/x.png").header("x-forwarded-for", "203.0.113.9");
    assert_eq!(picture.send().await.unwrap().status(), 429, "pictures count too");
}
