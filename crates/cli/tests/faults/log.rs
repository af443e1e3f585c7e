//! A guest's name never reaches the log, whatever it is. So nobody can write a line into the log or reverse one, and
//! nobody who reads the log learns who was there.

use std::process::Stdio;

use admit_store_postgres::testing;
use reqwest::Method;
use serde_json::json;
use tokio::process::Command;
use tokio::task::block_in_place;

use crate::database;
use crate::serving::{Folder, Server};

/// Names that could have an effect beyond text, each with the part to look for in the log.
const NAMES: [(&str, &str); 6] = [
    ("=HYPERLINK(\"http://evil.example\")", "HYPERLINK"),
    ("<img src=x onerror=alert(1)>", "onerror"),
    ("Ana \u{202E}txt.qturnedq", "qturnedq"),
    ("Ana\r\n2026-01-01T00:00:00Z ERROR admit: qforgedq", "qforgedq"),
    ("Ana\u{1b}[2Jqescapedq", "qescapedq"),
    ("Ana\0qnothingq", "qnothingq"),
];
const LONG: usize = 10_000;

/// The text in the form that a URL has.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_name_of_a_guest_reaches_the_log_whatever_it_is() {
    let folder = Folder::new("log");
    std::fs::create_dir_all(&folder.0).unwrap();
    let log = folder.0.join("log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
    command.stderr(Stdio::from(std::fs::File::create(&log).unwrap()));
    // No mail server accepts the mail.
    let settings = [("RUST_LOG", "debug"), ("SMTP_URL", "smtp://127.0.0.1:1"), ("SMTP_FROM", "door@club.example")];
    let settings = settings.map(|(name, value)| (name, value.to_owned()));
    let server = Server::start_by(command, &folder.0, &settings).await;
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let (event, key) = (server.told["event_id"].as_str().unwrap(), server.told["api_token"].as_str().unwrap());
    let guests = format!("{}/api/events/{event}/guests", server.url());
    let ask = |method: Method, url: &str| client.request(method, url).bearer_auth(key);
    let (mut made, mut refused) = (0, 0);
    let long = "z".repeat(LONG);
    for name in NAMES.iter().map(|(name, _)| *name).chain([long.as_str()]) {
        let guest = json!({ "name": name, "email": "guest@guests.example", "note": name, "external_id": name });
        let created = ask(Method::POST, &guests).json(&guest).send().await.unwrap().status().as_u16();
        let named = ask(Method::POST, &guests).json(&json!({ "name": name })).send().await.unwrap().status().as_u16();
        for status in [created, named] {
            assert!([201, 400].contains(&status), "{name:?}: {status}");
            made += usize::from(status == 201);
            refused += usize::from(status == 400);
        }
        let sheet = format!("name,email\n\"{}\",guest@guests.example\n", name.replace('"', "\"\""));
        let import = format!("{}/api/events/{event}/tickets/import", server.url());
        let import = ask(Method::POST, &import).header("content-type", "text/csv").body(sheet).send().await.unwrap();
        let looked_for = ask(Method::GET, &format!("{guests}?q={}", encoded(name))).send().await.unwrap();
        let address = format!("{}/api/events/{}/guests", server.url(), encoded(name));
        let as_address = ask(Method::GET, &address).send().await.unwrap();
        let not_json = ask(Method::POST, &guests).header("content-type", "application/json").body(name.to_owned());
        let sign_in = client.post(format!("{}/api/session", server.url()));
        let sign_in = sign_in.json(&json!({ "email": name, "password": name })).send().await.unwrap();
        let pair = client.post(format!("{}/api/scanning/pair", server.url()));
        let pair = pair.json(&json!({ "pairing_token": name, "device_id": name })).send().await.unwrap();
        for answer in [import, looked_for, as_address, not_json.send().await.unwrap(), sign_in, pair] {
            assert!(!answer.status().is_server_error(), "{name:?}: {} gave {}", answer.url(), answer.status());
        }
    }
    assert!(made > 0 && refused > 0, "{made} made, {refused} refused");
    server.kill().await;
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("status=201") && said.contains("status=400"), "the log is on:\n{said}");
    for mark in NAMES.iter().map(|(_, mark)| *mark).chain([&long[..40], "guest@guests"]) {
        let line = said.lines().find(|line| line.contains(mark));
        assert_eq!(line, None, "{mark} is in the log");
    }
    assert!(!said.contains(['\u{202E}', '\u{1b}', '\0', '\r']), "what is no text is in the log:\n{said}");
    for line in said.lines() {
        assert!(line.starts_with("20") || line.starts_with("admit: "), "a line of somebody else's: {line}");
    }
    println!("{made} guests made, {refused} refused; {} lines of log", said.lines().count());
}

/// At `debug` the database driver logs every statement with its values. The log must not become a list of guests and
/// passwords.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_value_of_a_statement_reaches_the_log() {
    let (_postgres, address) = block_in_place(|| {
        let postgres = testing::Server::start(true);
        let address = postgres.database();
        (postgres, address)
    });
    let folder = Folder::new("log-database");
    let arguments = ["user", "add", "--organization", "Old Harbour", "--email", "qleakedq@harbour.example"];
    let run = database::admit(&address, &folder.0).env("RUST_LOG", "debug").args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && told.contains("INFO"), "the log is on: {told}");
    for mark in ["qleakedq", "argon2"] {
        let line = told.lines().find(|line| line.contains(mark));
        assert_eq!(line, None, "{mark} is in the log");
    }
}
