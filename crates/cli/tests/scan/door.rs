//! A day of a terminal scanner: pairing, online, without the server, online again.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::gate::Gate;
use crate::office::{Office, scan};

const SHEET: &str = "barcode,name,zone,party_size,flag,status
TICKET-ANA,Ana,general,1,,
TICKET-BO,Bo,general,3,,
TICKET-CY,Cy,general,1,ID,
TICKET-DEE,Dee,general,1,,
TICKET-EVE,Eve,general,1,,
TICKET-FAY,Fay,general,2,,
";

/// The parts of a verdict that the test compares.
fn of(verdict: &Value) -> Value {
    let keys = ["verdict", "screen", "headline", "count", "name"];
    Value::Object(keys.iter().map(|key| ((*key).to_owned(), verdict[*key].clone())).collect())
}

fn is(verdict: &str, screen: &str, headline: &str, count: u32, name: Option<&str>) -> Value {
    json!({ "verdict": verdict, "screen": screen, "headline": headline, "count": count, "name": name })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scanner_decides_with_and_without_the_server_and_hands_over_everything() {
    let mut office = Office::start("door", SHEET).await;
    let journal = office.journal();
    let link = office.link().await;
    let mut gate = Gate::start(scan(&journal, &["--pair", &link, "--name", "Turnstile 1"]));
    gate.says("ready: Night, North").await;
    gate.says("names of 6 guests").await;
    let mut told = vec![gate.scan("TICKET-ANA").await];
    assert_eq!(of(&told[0]), is("admit", "admit", "Admit", 1, Some("Ana")));
    assert_eq!((&told[0]["gate"], &told[0]["event"]), (&json!("North"), &json!("Night")));
    let again = gate.scan("TICKET-ANA").await;
    assert_eq!((&again["verdict"], &again["scan_id"]), (&json!("same"), &Value::Null));
    // Each showing of the code admits one person of the party.
    told.push(gate.scan("TICKET-BO").await);
    assert_eq!(of(&told[1]), is("admit", "admit", "Admit", 1, Some("Bo")));
    told.push(gate.scan("TICKET-BO").await);
    assert_eq!((&told[2]["already_in"], &told[2]["party"], &told[2]["count"]), (&json!(1), &json!(3), &json!(1)));
    // Staff should check this guest first, but there is no staff.
    told.push(gate.scan("TICKET-CY").await);
    assert_eq!((&told[3]["verdict"], &told[3]["question"]), (&json!("refuse"), &json!("check")));
    assert_eq!(told[3]["headline"], "Check ID");
    told.push(gate.scan("TICKET-NOBODY").await);
    assert_eq!(of(&told[4]), is("refuse", "not_in_list", "Unknown ticket", 0, None));
    // The sample code admits nobody.
    assert_eq!(gate.scan("admit-sample-ticket").await["verdict"], "sample");
    let second = scan(&journal, &[]).output().await.unwrap();
    assert_eq!(second.status.code(), Some(2));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("another process scans with"), "{said}");
    for file in ["door.journal", "door.journal-wal", "door.journal.lock"] {
        let mode = std::fs::metadata(office.folder.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }

    office.down().await;
    told.push(gate.scan("TICKET-DEE").await);
    assert_eq!(of(&told[5]), is("admit", "admit", "Admit", 1, Some("Dee")));
    gate.says("offline").await;
    told.push(gate.scan("TICKET-EVE").await);
    assert_eq!((&told[6]["decided_by"], &told[6]["online"]), (&json!("device"), &json!(false)));
    let (code, last) = gate.end().await;
    assert_eq!(code, Some(0));
    assert!(last.contains("scans wait in the journal"), "{last}");

    // The names are lost, and everything else is as before.
    let mut gate = Gate::start(scan(&journal, &["--last-sync", "0"]));
    told.push(gate.scan("TICKET-FAY").await);
    assert_eq!(of(&told[7]), is("admit", "admit", "Admit", 1, None));
    let again = gate.scan("TICKET-EVE").await;
    assert_eq!(again["verdict"], "same", "{again}");
    assert_eq!(gate.end().await.0, Some(0));

    office.up().await;
    let gate = Gate::start(scan(&journal, &["--last-sync", "60"]));
    assert_eq!(gate.end().await, (Some(0), "admit: every scan is with the server".to_owned()));
    let scans = office.scans().await;
    assert_eq!(scans.keys().filter(|(_, stage)| stage == "final").count(), told.len());
    for one in &told {
        let there = &scans[&(one["scan_id"].as_str().unwrap().to_owned(), "final".to_owned())];
        assert_eq!((&there["opened"], &there["count"]), (&one["opened"], &json!(1)), "{there}");
    }
    assert_eq!(office.let_in().await, (6, 0));
    office.in_order().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_code_is_the_exit_code_and_hooks_run_after_the_scan_is_durable() {
    let office = Office::start("once", SHEET).await;
    let journal = office.journal();
    let hook = office.folder.join("hook.sh");
    let heard = office.folder.join("heard");
    // When the hook runs, the scan's row is in the write-ahead log beside the journal.
    let script = format!(
        "#!/bin/sh\nread -r line\ngrep -aq \"$ADMIT_SCAN_ID\" {j}-wal {j} || exit 9\n\
         echo \"$ADMIT_VERDICT $ADMIT_COUNT $1 $line\" >> {}\nexit $2\n",
        heard.display(),
        j = journal.display()
    );
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (admits, refuses) = (format!("{} green 0", hook.display()), format!("{} red 3", hook.display()));
    let hooks = ["--on-admit", &admits, "--on-refuse", &refuses];
    let unpaired = scan(&journal, &["--once"]).output().await.unwrap();
    assert_eq!(unpaired.status.code(), Some(2));
    let said = String::from_utf8(unpaired.stderr).unwrap();
    assert!(said.contains("is not paired yet") && said.contains("--pair LINK"), "{said}");
    let link = office.link().await;
    let mut first = Gate::start(scan(&journal, &[&["--once", "--pair", &link], &hooks[..]].concat()));
    first.offer("TICKET-ANA").await.unwrap();
    assert_eq!(first.verdict().await.unwrap()["verdict"], "admit");
    assert_eq!(first.ended().await.0, Some(0));
    let mut second = Gate::start(scan(&journal, &[&["--once"], &hooks[..]].concat()));
    second.offer("TICKET-NOBODY").await.unwrap();
    second.says("hook").await;
    assert_eq!(second.ended().await.0, Some(1));
    let heard = std::fs::read_to_string(heard).unwrap();
    let lines: Vec<&str> = heard.lines().collect();
    assert_eq!(lines.len(), 2, "{heard}");
    assert!(lines[0].starts_with("admit 1 green {\"") && lines[1].starts_with("refuse 0 red {\""), "{heard}");
    let mut all = Gate::start(scan(&journal, &["--once", "--party", "all"]));
    all.offer("TICKET-BO").await.unwrap();
    assert_eq!(all.verdict().await.unwrap()["headline"], "Admit 3");
    assert_eq!(all.ended().await.0, Some(0));
    // Without a code there is no verdict.
    let none = Gate::start(scan(&journal, &["--once"]));
    assert_eq!(none.end().await.0, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_organiser_approves_a_scanner_that_asked_and_a_signal_ends_it_in_order() {
    let office = Office::start("asks", SHEET).await;
    let journal = office.journal();
    let mut gate = Gate::start(scan(&journal, &["--ask", "--server", &office.url("/")]));
    let line = gate.says("approve this device").await;
    let token = line.rsplit(' ').next().unwrap().to_owned();
    let path = format!("/api/pairing-requests/{token}/approve");
    office.post(&path, json!({ "event_id": office.event, "gate_id": "north" })).await;
    assert_eq!(gate.scan("TICKET-ANA").await["verdict"], "admit");
    let pid = rustix::process::Pid::from_raw(gate.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(gate.ended().await, (Some(0), "admit: every scan is with the server".to_owned()));
    // From now on the journal knows the server.
    let mut gate = Gate::start(scan(&journal, &[]));
    assert_eq!(gate.scan("TICKET-DEE").await["verdict"], "admit");
    assert_eq!(gate.end().await.0, Some(0));
    assert_eq!(office.let_in().await, (2, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn storage_that_refuses_admits_nobody() {
    let office = Office::start("storage", SHEET).await;
    let journal = office.journal();
    let hook = office.folder.join("opened");
    let (link, open) = (office.link().await, format!("touch {}", hook.display()));
    let mut gate = Gate::start(scan(&journal, &["--pair", &link, "--on-admit", &open]));
    gate.says("ready").await;
    // Another connection locks the file, so nothing can be written.
    let holder = rusqlite::Connection::open(&journal).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = gate.scan("TICKET-ANA").await;
    assert_eq!((&refused["verdict"], &refused["code"]), (&json!("error"), &json!("storage_blocked")));
    assert!(!hook.exists());
    holder.execute_batch("ROLLBACK").unwrap();
    let admitted = loop {
        let verdict = gate.scan("TICKET-ANA").await;
        if verdict["verdict"] != "error" {
            break verdict;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await; // tidy-allow: the pause of a poll loop
    };
    assert_eq!((&admitted["verdict"], &admitted["count"]), (&json!("admit"), &json!(1)));
    assert_eq!(gate.end().await.0, Some(0));
    assert!(hook.exists());
    assert_eq!((office.let_in().await, office.scans().await.len() <= 2), ((1, 0), true));
}
