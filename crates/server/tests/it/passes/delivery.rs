//! Tests the way from a guest's row to a mail whose code opens the guest's pass.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::json;

use super::*;
use crate::organiser::patch;
use crate::server;

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_gets_a_mail_whose_code_opens_their_pass() {
    let office = Office::open().await;
    let guest = office.guest(ana()).await;
    let token = guest["ticket"]["barcode"].as_str().unwrap();
    let runs = office.until_done(1).await;
    let mails = office.sink.mails();
    assert_eq!(mails.len(), 1);
    let mail = &mails[0];
    assert!(mail.is_well_formed());
    assert_eq!(mail.header("From"), "home <passes@club.example>");
    assert_eq!(mail.header("To"), "Ana <ana@guests.example>");
    assert_eq!(mail.header("Subject"), "Your pass for Festival");
    assert_eq!(mail.header("Message-ID"), format!("<{}.send-email@club.example>", runs[0]["id"].as_str().unwrap()));
    // zbar reads the address of the pass from the code. The mail's picture equals the stored object.
    let png = mail.bytes("image/png");
    assert_eq!(read_code(&png), format!("{URL}/passes?token={token}"));
    assert_eq!(mail.part("image/png")["content_id"], "<pass-qr-code>");
    assert!(mail.text("text/html").contains("src=\"cid:pass-qr-code\""));
    let objects = office.bucket.objects();
    assert_eq!(objects.keys().collect::<Vec<_>>(), [&format!("{token}.png")]);
    assert_eq!(objects.values().next(), Some(&png));
    // Both forms of the mail contain what a guest needs, and the calendar file is valid.
    for form in ["text/html", "text/plain"] {
        for part in ["Festival", "home", "Harbour", "Party of 2", "(Johannesburg time)", token] {
            assert!(mail.text(form).contains(part), "{part} in {form}");
        }
    }
    assert!(mail.text("text/calendar").starts_with("BEGIN:VCALENDAR"));
    // The link of the mail opens the pass.
    let answer = office.server.get(&format!("/passes?token={token}")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.text().await.unwrap().contains("Ana"));
    // The picture's own address gives the same picture.
    let answer = office.server.get(&format!("/qr-codes/{token}.png")).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()["content-type"]), (200, &"image/png".parse().unwrap()));
    assert_eq!(answer.bytes().await.unwrap(), png);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guests_name_is_text_and_nothing_else_in_all_of_a_mail() {
    let office = Office::open().await;
    let names = ["<img src=x onerror=alert(1)>", "=HYPERLINK(\"x\")", "Ana\u{202E}txt.exe", "Đorđević, \"山田\" <a@b>"];
    for (n, name) in names.iter().enumerate() {
        office.guest(json!({ "name": name, "email": format!("g{n}@guests.example") })).await;
    }
    office.until_done(names.len()).await;
    let mails = office.sink.mails();
    assert_eq!(mails.len(), names.len());
    for mail in mails {
        assert!(mail.is_well_formed());
        assert!(!mail.text("text/html").contains("<img src=x"), "{}", mail.text("text/html"));
        assert!(!mail.text("text/html").contains('\u{202E}') && !mail.header("To").contains('\u{202E}'));
        assert!(!mail.headers().iter().any(|name| name.eq_ignore_ascii_case("bcc")));
        assert!(mail.header("To").contains("@guests.example"), "{}", mail.header("To"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_sends_every_guest_one_pass_and_the_same_file_none() {
    let office = Office::open().await;
    let rows: Vec<String> = (0..150).map(|n| format!("Guest {n},g{n}@guests.example")).collect();
    let file = format!("name,email\n{}\n", rows.join("\n"));
    let import = || async {
        let request = as_owner(
            &office.server,
            &office.server.home,
            Method::POST,
            "/api/events/{event}/tickets/import?mail_passes=1",
        );
        let answer = request.header("content-type", "text/csv").body(file.clone()).send().await.unwrap();
        server::json(answer, 200).await
    };
    assert_eq!(import().await["created"], 150);
    let end = Instant::now() + Duration::from_secs(60);
    while !get(&office.server, "/api/events/{event}/runs?state=open").await["items"].as_array().unwrap().is_empty() {
        assert!(Instant::now() < end, "{} mails", office.sink.count());
    }
    let ids: BTreeSet<String> = office.sink.mails().iter().map(|mail| mail.header("Message-ID").to_owned()).collect();
    assert_eq!((ids.len(), office.bucket.objects().len()), (150, 150));
    assert_eq!(import().await["unchanged"], 150);
    let page = get(&office.server, "/api/events/{event}/runs?limit=500").await;
    assert_eq!(page["items"].as_array().unwrap().len(), 150);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organisations_letterhead_is_on_its_mails() {
    let office = Office::open().await;
    let wrong = as_owner(&office.server, &office.server.home, Method::PATCH, "/api/letterhead");
    let wrong = wrong.json(&json!({ "color": "blue; }" })).send().await.unwrap();
    assert_eq!(server::problem(wrong, 400, "invalid_request").await["errors"][0]["path"], "color");
    let own = json!({ "color": "#FFEE00", "subject": "{event}: come in", "reply_to": "office@club.example" });
    assert_eq!(patch(&office.server, "/api/letterhead", own).await["color"], "#ffee00");
    office.guest(ana()).await;
    office.until_done(1).await;
    let mails = office.sink.mails();
    assert_eq!(mails[0].header("Subject"), "Festival: come in");
    assert_eq!(mails[0].header("Reply-To"), "office@club.example");
    assert!(mails[0].text("text/html").contains("background:#ffee00"));
}
