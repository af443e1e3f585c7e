//! Tests `docs/start/try.md` and `examples/scanner.py`. A scanner in another language pairs, verifies the list,
//! decides without a network, and uploads its scans, as `docs/reference/protocol.md` says.

use reqwest::Method;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::reader::{Guide, with};

const TRY: &str = include_str!("../../../../docs/start/try.md");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/scanner.py");

/// The script's verdicts, without the blanks between their parts.
fn lines(said: &str) -> Vec<String> {
    said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scanner_in_python_scans_with_and_without_a_network() {
    let (mut guide, mut desk) = (Guide::open(TRY), Desk::open().await);
    for demo in ["admit demo\n", "admit demo --crowd\n", "admit demo --lan\n"] {
        assert_eq!(guide.take("sh", "admit demo"), demo);
    }
    let gate = json!({ "id": "north", "name": "North", "zones": ["general"] });
    desk.office.call(Method::POST, &format!("/api/events/{}/gates", desk.event), Some(gate)).await;
    desk.write("tickets.csv", "barcode,zone\nA-1,general\nA-2,general\nA-3,general\n");
    desk.shell.run("admit import tickets.csv --data-dir ./data --event $EVENT").await;
    let link = desk.link("north").await;
    desk.shell.set("LINK", &link);

    desk.write("codes.txt", "A-1\nA-2\nA-1\nNOPE\n");
    let block = with(&guide.take("sh", "scanner.py"), &[("examples/scanner.py", SCRIPT)]);
    let said = lines(&desk.shell.run(&block).await);
    assert!(said[0].starts_with("list: version ") && said[0].ends_with(", 3 codes"), "{said:?}");
    let verdicts = ["valid - A-1", "valid - A-2", "duplicate already_scanned A-1", "invalid unknown_code NOPE"];
    assert_eq!(said[1..5], verdicts);
    assert_eq!(said[5], "received: 4, rejected: 0, conflicts: 1");
    let occupancy = desk.office.get(&format!("/api/events/{}/occupancy", desk.event)).await;
    assert_eq!((&occupancy["entered"], &occupancy["tickets_entered"]), (&json!(2), &json!(2)));

    // Without a server the stored list decides, and the scans wait.
    desk.stop().await;
    desk.write("codes.txt", "A-3\nA-2\n");
    let later = block.replace(" \"$LINK\"", "");
    let said = lines(&desk.shell.run(&later).await);
    assert_eq!(said[1..3], ["valid - A-3", "duplicate already_scanned A-2"]);
    assert!(said[3].starts_with("not sent, and kept in the journal"), "{said:?}");

    // When the server is back, the waiting scans are uploaded once.
    desk.start_again().await;
    desk.write("codes.txt", "");
    let said = lines(&desk.shell.run(&later).await);
    assert_eq!(said[1..], ["received: 2, rejected: 0, conflicts: 1"]);
    let said = lines(&desk.shell.run(&later).await);
    assert_eq!(said.len(), 1, "nothing is lacking: {said:?}");
    let scans = desk.office.get(&format!("/api/events/{}/scans?limit=50", desk.event)).await;
    let scans: Vec<&Value> = scans["items"].as_array().unwrap().iter().collect();
    assert_eq!(scans.len(), 6);
    assert!(scans.iter().all(|scan| scan["signature"] == "verified"), "{scans:?}");
    let occupancy = desk.office.get(&format!("/api/events/{}/occupancy", desk.event)).await;
    assert_eq!(occupancy["entered"], 3);

    // Without a server, a stored list that somebody changed is refused.
    desk.stop().await;
    let list = desk.folder.path().join("door.jsonl.list");
    let text = std::fs::read_to_string(&list).unwrap();
    std::fs::write(&list, text.replace("\"entry_limit\":1", "\"entry_limit\":9")).unwrap();
    let refused = desk.shell.run(&format!("{} 2>&1 || true", later.trim())).await;
    assert!(refused.contains("a signature of the list does not fit it"), "{refused}");
    guide.ends();
}
