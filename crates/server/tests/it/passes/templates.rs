//! An organisation's own mail templates: the server checks them, shows them, mails with them, and restores the
//! defaults.

use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::*;
use crate::organiser::patch;
use crate::server;

const PASS: &str = "/api/mail-templates/pass";
const PREVIEW: &str = "/api/mail-templates/pass/preview";

async fn refusal(server: &TestServer, method: Method, path: &str, body: Value) -> (String, String) {
    let answer = as_owner(server, &server.home, method, path).json(&body).send().await.unwrap();
    let error = server::problem(answer, 400, "invalid_request").await["errors"][0].clone();
    (error["path"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organisations_own_texts_are_in_its_mails_until_it_goes_back() {
    let office = Office::open().await;
    let own = json!({
        "subject": "{{ guest }}, come to {{ event }}",
        "html": "<p>Dear <b>{{ guest }}</b>, <a href=\"{{ pass_url }}\">your pass</a></p>",
    });
    let saved = patch(&office.server, PASS, own.clone()).await;
    assert_eq!((&saved["own"]["subject"], &saved["own"]["text"]), (&own["subject"], &Value::Null));
    office.guest(json!({ "name": "<i>Ana</i>", "email": "ana@guests.example" })).await;
    office.until_done(1).await;
    let mail = office.sink.mails().remove(0);
    assert_eq!(mail.header("Subject"), "<i>Ana</i>, come to Festival");
    assert!(mail.text("text/html").starts_with("<p>Dear <b>&lt;i&gt;Ana&lt;/i&gt;</b>"), "{}", mail.text("text/html"));
    assert!(mail.text("text/plain").contains("This is your check-in code"), "the default text");
    // Another organisation's templates are unchanged. The ledger says which parts changed, and not their text.
    let other =
        as_owner(&office.server, &office.server.other, Method::GET, "/api/mail-templates").send().await.unwrap();
    assert_eq!(server::json(other, 200).await["items"][0]["own"]["subject"], Value::Null);
    let ledger = get(&office.server, "/api/audit").await;
    let lines = ledger["items"].as_array().unwrap();
    let line = lines.iter().find(|line| line["action"] == "mail_template_updated").expect("a line of the change");
    assert!(line.to_string().contains("own_html") && !line.to_string().contains("Dear"), "{line}");
    // Restores the server's default templates.
    let back = patch(&office.server, PASS, json!({ "subject": null, "html": null })).await;
    assert_eq!(back["own"], json!({ "subject": null, "text": null, "html": null }));
    let default = &back["default"];
    let same = patch(&office.server, PASS, json!({ "html": default["html"], "text": default["text"] })).await;
    assert_eq!(same["own"]["html"], Value::Null, "the server's own text is no text of one's own");
    office.guest(json!({ "name": "Bo", "email": "bo@guests.example" })).await;
    office.until_done(2).await;
    assert!(office.sink.mails().iter().any(|mail| mail.header("Subject") == "Your pass for Festival"));
}

#[tokio::test]
async fn a_template_that_would_not_work_is_refused_by_its_line() {
    let server = TestServer::start().await;
    let wrong = [
        (json!({ "text": "Hi\n{{ gest }} {{ pass_url }}" }), "text", "`gest` in line 2"),
        (json!({ "html": "<a href=\"{{ pass_url }}\">\n{% if %}" }), "html", "line 2"),
        (json!({ "html": "<p>{{ guest }}</p>" }), "html", "{{ pass_url }}"),
        (json!({ "text": "{{ pass_url }}{{ 'x' * 900000000 }}" }), "text", "simpler"),
        (json!({ "subject": "a\r\nBcc: all@x.example" }), "subject", "one line"),
    ];
    for (body, path, part) in wrong {
        for (method, to) in [(Method::PATCH, PASS), (Method::POST, PREVIEW)] {
            let (at, message) = refusal(&server, method, to, body.clone()).await;
            assert!(at == path && message.contains(part), "{body}: {at} {message}");
        }
    }
    let (_, message) = refusal(&server, Method::PATCH, PASS, json!({ "text": "{{ gest }}" })).await;
    assert!(message.contains("Did you mean `guest`?"), "{message}");
    assert_eq!(get(&server, "/api/mail-templates").await["items"][0]["own"]["text"], Value::Null, "nothing was saved");
}

#[tokio::test]
async fn a_preview_is_a_page_that_runs_nothing_and_stands_in_our_frames_alone() {
    let server = TestServer::start().await;
    let shown = post(&server, PREVIEW, json!({ "subject": "{{ guest }}!", "changed": true }), 200).await;
    assert_eq!(shown["subject"], "Ana Silva!");
    assert!(shown["text"].as_str().unwrap().contains("your code is the same"));
    assert!(shown["html"].as_str().unwrap().contains("src=\"data:image/png;base64,"));
    let form = |token: Option<&str>, html: &str| {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.append_pair("html", html).append_pair("changed", "false");
        let request = server.request(Method::POST, "/mail-preview").body(body.finish());
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        match token {
            Some(token) => request.bearer_auth(token).send(),
            None => request.send(),
        }
    };
    let html = "<script>alert(1)</script><a href=\"{{ pass_url }}\">{{ organization }}</a>";
    let page: Response = form(Some(&server.home.token), html).await.unwrap();
    assert_eq!(page.status(), 200);
    let header = |name: &str| page.headers()[name].to_str().unwrap().to_owned();
    let policy = header("content-security-policy");
    for part in ["sandbox;", "default-src 'none'", "frame-ancestors 'self'"] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    assert!(!policy.contains("script-src") && !policy.contains("allow-scripts"), "{policy}");
    assert_eq!(header("x-frame-options"), "SAMEORIGIN");
    assert!(page.text().await.unwrap().contains(">home</a>"));
    assert_eq!(form(None, html).await.unwrap().status(), 401);
    assert_eq!(form(Some(&server.home.token), "no link").await.unwrap().status(), 400);
}
