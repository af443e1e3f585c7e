//! Follows the guide `docs/guides/guest-list.md`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::bucket::Bucket;
use crate::reader::{Guide, Office, Shell, until, with};
use crate::sink::{Mail, Sink};

const GUIDE: &str = include_str!("../../../../docs/guides/guest-list.md");
/// The server's address in the guide.
const SERVER: &str = "https://tickets.example.org";

/// The token in the answer about a guest, which opens their page.
fn token(guest: &Value) -> String {
    guest["ticket"]["barcode"].as_str().unwrap().to_owned()
}

/// Waits for the mail to this guest with this text in its subject.
async fn mail(sink: &Sink, token: &str, subject: &str) -> Mail {
    let found = || {
        let mails = sink.mails().into_iter();
        // The sink writes a file while the mail arrives, so an incomplete one is ignored.
        let mut whole = mails.filter(|mail| mail.is_well_formed() && mail.headers().contains(&"Subject"));
        whole.find(|mail| mail.header("Subject") == subject && mail.text("text/plain").contains(token))
    };
    until("the mail is there", || async { found().is_some() }).await;
    found().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_an_empty_event_to_a_pass_in_the_inbox() {
    let (mut guide, mut sink, bucket) = (Guide::open(GUIDE), Sink::start(&[]), Bucket::start().await);
    let folder = tempfile::Builder::new().prefix("admit-guide-").tempdir().unwrap();
    let (mut shell, mut office) = (Shell::at(folder.path()), Office::new());
    shell.set("ADMIT_LISTEN", &office.listen);
    shell.run("admit user add --data-dir ./data --organization 'Old Harbour' --email you@example.org").await;

    let serve = guide.take("sh", "admit serve");
    let ours = [(SERVER, office.url.as_str()), ("smtps://user:password@mail.example.org", &sink.url())];
    let serve = with(&serve, &ours);
    let mut server = shell.start(&serve);
    office.serves().await;
    let objects = guide.take("sh", "OBJECTS_URL=");

    let key = guide.take("sh", "admit token create");
    let key = shell.run(&format!("{key}printf '%s' \"$TOKEN\"")).await;
    office.acts_with(&key);
    let event = office.event().await;
    shell.set("TOKEN", &key);
    shell.set("EVENT", &event);

    // Adds a guest, and waits for the pass.
    let add = with(&guide.take("sh", "/guests"), &[(SERVER, &office.url)]);
    let ana = shell.answer(&add).await;
    let pass = mail(&sink, &token(&ana), "Your pass for Night").await;
    assert!(pass.text("text/plain").contains("Party of 2"));
    let picture = folder.path().join(format!("data/objects/qr-codes/{}.png", token(&ana)));
    assert_eq!(std::fs::read(picture).unwrap(), pass.bytes("image/png"), "kept in `objects/` of the data folder");

    // The next mail has the organisation's own colour, subject and reply address.
    shell.answer(&with(&guide.take("sh", "/api/letterhead"), &[(SERVER, &office.url)])).await;
    let bo = shell.answer(&with(&add, &[("Ana Silva", "Bo Ek"), ("ana@example.org", "bo@example.org")])).await;
    let letter = mail(&sink, &token(&bo), "Night: you are on the list").await;
    assert!(letter.text("text/html").contains("#0f766e"));
    assert!(letter.header("Reply-To").contains("office@example.org"));

    // The next mail has the organisation's own texts. Null restores the server's default.
    let change = with(&guide.take("sh", "/api/mail-templates/pass"), &[(SERVER, &office.url)]);
    assert_eq!(shell.answer(&change).await["own"]["html"], json!(null));
    let el = shell.answer(&with(&add, &[("Ana Silva", "El Ito"), ("ana@example.org", "el@example.org")])).await;
    let letter = mail(&sink, &token(&el), "Night: see you there, El Ito").await;
    assert!(letter.text("text/plain").starts_with("Dear El Ito,\nYour pass: http"), "{}", letter.text("text/plain"));
    let none = json!({ "subject": null, "text": null });
    office.call(Method::PATCH, "/api/mail-templates/pass", Some(none)).await;

    // The mail server answers that the mailbox does not exist. The run gives up and names the reason.
    sink.stop();
    sink.start_again(&["-f", "RCPT", "-B", "'550 5.1.1 no such user'"]);
    let cy = shell.answer(&with(&add, &[("Ana Silva", "Cy Low"), ("ana@example.org", "cy@example.org")])).await;
    let open = with(guide.inline("?state=open").trim_start_matches("GET "), &[("$EVENT", &event)]);
    let gave_up = with(&open, &[("?state=open", guide.inline("?state=gave_up"))]);
    let runs = async |path: &str| office.get(path).await["items"].as_array().unwrap().clone();
    until("the run gave up", || async { !runs(&gave_up).await.is_empty() }).await;
    let run = runs(&gave_up).await.remove(0);
    sink.stop();
    sink.start_again(&[]);
    let before = sink.count();
    let (run, guest) = (run["id"].as_str().unwrap(), ana["id"].as_str().unwrap());
    shell.set("RUN", run);
    shell.set("GUEST", guest);
    shell.run(&with(&guide.take("sh", "/retry"), &[(SERVER, &office.url)])).await;
    mail(&sink, &token(&cy), "Night: you are on the list").await;
    mail(&sink, &token(&ana), "Night: you are on the list").await;
    assert_eq!(sink.count(), before + 2, "one after it was mended, one because it was lost");
    until("nothing is on its way", || async { runs(&open).await.is_empty() }).await;

    // One request shows for all guests whether mail goes out.
    let health = shell.answer(&with(&guide.take("sh", "/api/mail/health"), &[(SERVER, &office.url)])).await;
    assert_eq!(health, json!({ "mail_problem": null }));

    // The pictures are stored in an S3-compatible service.
    server.kill().await.unwrap();
    let foreign = "s3://KEY:SECRET@bucket/prefix?endpoint=https%3A%2F%2Fs3.example.net&region=eu-central-1";
    let _server = shell.start(&format!("{}{serve}", with(&objects, &[(foreign, &bucket.url())])));
    office.serves().await;
    let di = shell.answer(&with(&add, &[("Ana Silva", "Di Roy"), ("ana@example.org", "di@example.org")])).await;
    let letter = mail(&sink, &token(&di), "Night: you are on the list").await;
    let name = format!("{}.png", token(&di));
    assert_eq!(bucket.objects()[&name], letter.bytes("image/png"));
    assert!(letter.text("text/plain").contains(&format!("https://pictures.example.org/prefix/qr-codes/{name}")));
    assert_eq!(office.call(Method::GET, "/api/letterhead", None).await["color"], "#0f766e");

    // At the door: a gate's devices have names by default, and the API gives a guest's history.
    let gate = json!({ "id": "main", "name": "Main" });
    office.call(Method::POST, &format!("/api/events/{event}/gates"), Some(gate)).await;
    let allows = shell.answer(&with(&guide.take("sh", "names_on_devices"), &[(SERVER, &office.url)])).await;
    assert_eq!((&allows["id"], &allows["names_on_devices"]), (&json!("main"), &json!(false)));
    let story = shell.answer(&with(&guide.take("sh", "/timeline"), &[(SERVER, &office.url)])).await;
    let story: Vec<&Value> = story["items"].as_array().unwrap().iter().map(|moment| &moment["what"]).collect();
    assert_eq!(story, ["resent", "added"]);
    guide.ends();
}
