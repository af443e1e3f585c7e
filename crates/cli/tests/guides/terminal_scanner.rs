//! Follows the guide `docs/guides/terminal-scanner.md`.

use reqwest::Method;
use serde_json::{Value, json};

use crate::reader::{Guide, Office, Shell, with};

const GUIDE: &str = include_str!("../../../../docs/guides/terminal-scanner.md");

#[tokio::test(flavor = "multi_thread")]
async fn a_scanner_is_paired_and_scans_as_the_guide_says() {
    let mut guide = Guide::open(GUIDE);
    let folder = tempfile::Builder::new().prefix("admit-terminal-").tempdir().unwrap();
    let (mut shell, mut office) = (Shell::at(folder.path()), Office::new());
    shell.set("ADMIT_LISTEN", &office.listen);
    shell.run("admit user add --data-dir ./data --organization 'Old Harbour' --email you@example.org").await;
    let mut server = shell.start("admit serve --data-dir ./data");
    office.serves().await;
    office.acts_with(&shell.run("admit token create --data-dir ./data --email you@example.org").await);
    let event = office.event().await;
    let office = &office;
    let post = async |path: &str, body: Value| -> Value {
        office.call(Method::POST, &format!("/api/events/{event}/{path}"), Some(body)).await
    };
    post("gates", json!({ "id": "north", "name": "North", "zones": ["general"] })).await;
    std::fs::write(folder.path().join("tickets.csv"), "barcode,zone\nTICKET-1,general\n").unwrap();
    shell.run(&format!("admit import tickets.csv --data-dir ./data --event {event}")).await;
    let token = post("pairing-tokens", json!({ "gate_id": "north" })).await;
    let token = token["pairing_token"].as_str().unwrap();
    shell.set("LINK", &format!("{}/scan/#pair={token}", office.url));

    shell.run(&guide.take("sh", "--pair")).await;
    let verdict = shell.answer(&guide.take("sh", "--once")).await;
    assert_eq!((&verdict["verdict"], &verdict["gate"]), (&json!("admit"), &json!("North")));
    let rule = guide.take("udev", "SYMLINK");
    let unit = guide.take("ini", "ExecStart");
    assert!(rule.contains("input/ticket-reader") && unit.contains("evdev:/dev/input/ticket-reader"));
    // Runs the unit's command with its options, on an existing reader.
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let table = [
        ("/usr/bin/admit", "echo TICKET-1 | admit"),
        ("/var/lib/admit-scan/door.journal", "door.journal"),
        ("evdev:/dev/input/ticket-reader", "stdin"),
        ("/usr/local/bin/gate-open", "true"),
        ("/usr/local/bin/gate-refuse", "true"),
    ];
    assert_eq!(shell.answer(&with(start, &table)).await["verdict"], "same");
    std::fs::write(folder.path().join("gate-open"), guide.take("bash", "gpioset")).unwrap();
    shell.run("sh -n gate-open").await;
    let help = shell.run("admit scan --help").await;
    for option in GUIDE
        .split(|c: char| !(c.is_ascii_lowercase() || c == '-'))
        .filter(|word| word.starts_with("--") && word.len() > 3)
    {
        let others = ["--system", "--home-dir", "--create-home", "--reload", "--now", "--mode", "--sec"];
        assert!(help.contains(option) || others.contains(&option), "{option}");
    }
    guide.ends();
    server.kill().await.unwrap();
}
