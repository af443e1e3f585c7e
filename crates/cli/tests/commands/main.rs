//! The commands as a person types them.

#[path = "../../../server/tests/it/private_redis.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod private_redis;

mod doctor;
mod keeping;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("admit-commands-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn admit(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
    command.args(arguments);
    for name in ["ADMIT_DATA_DIR", "ADMIT_SECRET", "DATABASE_URL", "PUBLIC_URL", "ADMIT_LISTEN"] {
        command.env_remove(name);
    }
    command
}
fn run(arguments: &[&str], folder: &Path) -> Output {
    admit(arguments).arg("--data-dir").arg(folder).output().unwrap()
}
fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
/// Runs a command, which must succeed, and gives its output.
fn said(arguments: &[&str], folder: &Path) -> String {
    let output = run(arguments, folder);
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
/// Runs a command, which must fail, and gives its error message.
fn complaint(arguments: &[&str], folder: &Path) -> String {
    let output = run(arguments, folder);
    assert!(!output.status.success(), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// Starts the demo and reads the one line that it prints.
fn demo(folder: &Path) -> (Child, Value) {
    let mut command = admit(&["demo", "--json", "--port", "0"]);
    let mut child = command.arg("--data-dir").arg(folder).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, serde_json::from_str(&line).unwrap())
}

/// Stops the process in order: SIGTERM, and an exit code of 0.
fn stop(mut child: Child) {
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert!(child.wait().unwrap().success());
}

async fn get(told: &Value, path: &str) -> Value {
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let url = format!("{}{path}", told["url"].as_str().unwrap());
    let answer = client.get(url).bearer_auth(told["api_token"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.json().await.unwrap()
}

#[tokio::test]
async fn the_demo_is_kept_and_the_other_commands_work_on_its_folder() {
    let folder = Folder::new("demo");
    let (child, first) = demo(&folder.0);
    for member in ["url", "email", "password", "api_token", "organization_id", "event_id"] {
        assert!(first[member].as_str().is_some_and(|text| !text.is_empty()), "{member} in {first}");
    }
    assert_eq!(first["gates"].as_array().unwrap().len(), 4);
    assert!(!first["sample_barcodes"].as_array().unwrap().is_empty());
    let event = first["event_id"].as_str().unwrap();
    let tickets = get(&first, &format!("/api/events/{event}/tickets?limit=1")).await;
    assert_eq!(tickets["items"].as_array().unwrap().len(), 1);
    stop(child);

    let (child, second) = demo(&folder.0);
    for member in ["email", "password", "organization_id", "event_id", "gates"] {
        assert_eq!(first[member], second[member], "{member}");
    }
    assert_eq!(get(&second, "/api/session").await["email"], second["email"]);
    stop(child);

    let table = said(&["export", "--event", event], &folder.0);
    assert_eq!(table.lines().count(), 20_001);
    let file = folder.0.join("again.csv");
    std::fs::write(&file, table).unwrap();
    let again = said(&["import", file.to_str().unwrap(), "--event", event], &folder.0);
    assert!(again.starts_with("0 created, 0 updated, 20000 unchanged"), "{again}");
    let printed = said(&["import", file.to_str().unwrap(), "--event", event, "--dry-run", "--json"], &folder.0);
    let report: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&report["unchanged"], &report["dry_run"]), (&20_000.into(), &true.into()));
    std::fs::write(&file, "name,email\nGuest,not an address\n").unwrap();
    let wrong = run(&["import", file.to_str().unwrap(), "--event", event, "--dry-run"], &folder.0);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong.stdout));
    assert!(text(&wrong.stderr).contains("line 2: email"), "{}", text(&wrong.stderr));
    assert!(said(&["rebuild", "--check"], &folder.0).contains("0 differ"));
    said(&["rebuild"], &folder.0);
    assert!(said(&["audit", "verify"], &folder.0).contains("0 broken"));
}

// tidy-allow: what somebody with the database's file could do, behind the store's back
const LEDGER: &str = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'audit%'";
// tidy-allow: the same
const TRIGGER: &str = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'audit%'";
// tidy-allow: the same
const CHANGE: &str = "UPDATE ledger SET action = 'nothing' WHERE rowid = (SELECT max(rowid) FROM ledger)";

#[test]
fn a_ledger_that_was_tampered_with_is_found() {
    let folder = Folder::new("ledger");
    let (child, _) = demo(&folder.0);
    stop(child);
    let new = ["user", "add", "--organization", "Harbour", "--email", "ines@harbour.example"];
    said(&new, &folder.0);
    assert!(said(&["audit", "verify"], &folder.0).contains("0 broken"));
    let database = rusqlite::Connection::open(folder.0.join("admit.db")).unwrap();
    let name = |of: &str| database.query_row(of, [], |row| row.get::<_, String>(0));
    let table = name(LEDGER).unwrap();
    let change = CHANGE.replace(" ledger", &format!(" {table}"));
    assert!(database.execute(&change, []).is_err(), "a ledger is insert-only");
    // An attacker with the file removes the triggers first.
    while let Ok(trigger) = name(TRIGGER) {
        database.execute(&format!("DROP TRIGGER {trigger}"), []).unwrap();
    }
    assert_eq!(database.execute(&change, []).unwrap(), 1);
    drop(database);
    let output = run(&["audit", "verify"], &folder.0);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("1 broken"), "{}", text(&output.stdout));
}

// tidy-allow: the same
const NOTED: &str = "SELECT COUNT(*) FROM ledger WHERE action = 'event_ledgers_anchored'";
// tidy-allow: the same
const CUT: &str = // tidy-allow: the same
    "DELETE FROM ledger WHERE event_id = ?1 AND n = (SELECT audit_n FROM event_heads WHERE event_id = ?1)";
const HIDE: &str = concat!(
    // tidy-allow: the same
    "UPDATE event_heads SET audit_n = audit_n - 1, audit_head = COALESCE(",
    // tidy-allow: the same
    "(SELECT head FROM ledger l WHERE l.event_id = ?1 ORDER BY n DESC LIMIT 1), zeroblob(32)) WHERE event_id = ?1",
);

/// spec D14: every hour the organisation's ledger records the ends of its events' ledgers. An attacker removes the
/// last lines of one, and sets the event's head to match. The other ledger reveals it.
#[test]
fn d14_a_ledger_whose_last_lines_were_taken_off_is_found() {
    let folder = Folder::new("cut");
    let (child, told) = demo(&folder.0);
    let database = rusqlite::Connection::open(folder.0.join("admit.db")).unwrap();
    let name = |of: &str| database.query_row(of, [], |row| row.get::<_, String>(0));
    let table = name(LEDGER).unwrap();
    let noted = NOTED.replace(" ledger", &format!(" {table}"));
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while database.query_row(&noted, [], |row| row.get::<_, i64>(0)).unwrap() == 0 {
        assert!(std::time::Instant::now() < until, "a server notes it when it starts");
        std::thread::sleep(std::time::Duration::from_millis(20)); // tidy-allow: the pause of a poll loop
    }
    stop(child);
    assert!(said(&["audit", "verify"], &folder.0).contains("0 broken"));
    while let Ok(trigger) = name(TRIGGER) {
        database.execute(&format!("DROP TRIGGER {trigger}"), []).unwrap();
    }
    let event = told["event_id"].as_str().unwrap();
    for step in [CUT, HIDE] {
        assert_eq!(database.execute(&step.replace(" ledger", &format!(" {table}")), [event]).unwrap(), 1);
    }
    drop(database);
    let output = run(&["audit", "verify"], &folder.0);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains(&format!("{event}: broken at line")), "{}", text(&output.stdout));
}

/// spec D14: every organisation has a ledger, also one without events. `audit verify` follows each.
#[test]
fn d14_the_ledger_of_an_organisation_without_events_is_followed_too() {
    let folder = Folder::new("no-events");
    let made = said(&["user", "add", "--organization", "Harbour", "--email", "ines@harbour.example"], &folder.0);
    let organization = made.lines().find_map(|line| line.strip_prefix("organization_id: ")).unwrap().to_owned();
    said(&["user", "add", "--organization-id", &organization, "--email", "jo@harbour.example"], &folder.0);
    let fine = said(&["audit", "verify"], &folder.0);
    assert!(fine.starts_with("1 ledgers, ") && !fine.starts_with("1 ledgers, 0 lines"), "{fine}");
    let database = rusqlite::Connection::open(folder.0.join("admit.db")).unwrap();
    let name = |of: &str| database.query_row(of, [], |row| row.get::<_, String>(0));
    let table = name(LEDGER).unwrap();
    while let Ok(trigger) = name(TRIGGER) {
        database.execute(&format!("DROP TRIGGER {trigger}"), []).unwrap();
    }
    assert_eq!(database.execute(&CHANGE.replace(" ledger", &format!(" {table}")), []).unwrap(), 1);
    drop(database);
    let output = run(&["audit", "verify"], &folder.0);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
}

#[test]
fn users_and_tokens_are_made_and_mistakes_are_told() {
    let folder = Folder::new("users");
    let made = said(&["user", "add", "--organization", "Harbour", "--email", "ines@harbour.example"], &folder.0);
    let field = |name: &str| made.lines().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
    let (organization, password) = (field("organization_id: "), field("password: "));
    assert!(password.len() >= 20, "{password}");
    let add = ["user", "add", "--organization-id", &organization, "--role", "viewer", "--email"];
    said(&[&add[..], &["jo@harbour.example"]].concat(), &folder.0);
    let twice = complaint(&[&add[..], &["jo@harbour.example"]].concat(), &folder.0);
    assert!(twice.contains("email_taken"), "{twice}");
    let token = said(&["token", "create", "--email", "ines@harbour.example"], &folder.0);
    assert!(token.trim().starts_with("admit_at_"), "{token}");
    let renewed = said(&["user", "password", "--email", "ines@harbour.example"], &folder.0);
    let new = renewed.lines().find_map(|line| line.strip_prefix("password: ")).unwrap();
    assert!(new.len() >= 20 && new != password, "{renewed}");
    // A viewer may make no tokens, with this command either.
    let refused = complaint(&["token", "create", "--email", "jo@harbour.example"], &folder.0);
    assert!(refused.contains("forbidden"), "{refused}");
    let nobody = complaint(&["token", "create", "--email", "nobody@harbour.example"], &folder.0);
    assert!(nobody.contains("nobody signs in as"), "{nobody}");
}

#[test]
fn another_secret_than_the_databases_is_refused_at_the_start() {
    let folder = Folder::new("secret");
    said(&["user", "add", "--organization", "Old Harbour", "--email", "ana@harbour.example"], &folder.0);
    let other = "x".repeat(40);
    let refused = complaint(&["rebuild", "--check", "--secret", &other], &folder.0);
    assert!(refused.contains("ADMIT_SECRET is not the one"), "{refused}");
    let short = complaint(&["rebuild", "--check", "--secret", "short"], &folder.0);
    assert!(short.contains("at least 32 characters"), "{short}");
}

#[test]
fn the_document_and_the_simulator_need_no_folder() {
    let output = admit(&["openapi"]).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["paths"]["/api/scanning/sync"].is_object());
    let output = admit(&["simulate", "--level", "0", "--seeds", "3", "--from", "7"]).output().unwrap();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let output = admit(&["simulate", "--level", "0", "--seeds", "1", "--from", "7"]).output().unwrap();
    assert!(text(&output.stdout).contains("seed 7"), "{}", text(&output.stdout));
}
