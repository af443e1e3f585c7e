//! Follows the guide `docs/guides/import.md`.

use serde_json::{Value, json};

use crate::reader::{Guide, Office, Shell, with};

const GUIDE: &str = include_str!("../../../../docs/guides/import.md");
/// The server's address in the guide.
const SERVER: &str = "https://tickets.example.org";

/// The guide's file names, with the files that the test uses for them.
const FILES: [(&str, &[u8]); 7] = [
    ("guests.csv", b"name,email\nAna Silva,ana@example.org\nNo Address,not one\n"),
    ("luma.csv", include_bytes!("../../../../docs/samples/cases/c01-luma.csv")),
    ("tito.csv", include_bytes!("../../../../docs/samples/cases/c02-tito.csv")),
    ("eventbrite.csv", include_bytes!("../../../../docs/samples/eventbrite-attendees.csv")),
    ("pretix.csv", include_bytes!("../../../../docs/samples/pretix-check-in-list.csv")),
    ("spreadsheet.xlsx", include_bytes!("../../../../docs/samples/spreadsheet.xlsx")),
    (
        "odd.csv",
        "Wer;Wieviel;Firma;Status;Code\nBo Ek;2;Hafen;vielleicht;O-1\nCy Low;3;Hafen;ja;O-2\nDi Moe;1;;ja;\n"
            .as_bytes(),
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_list_of_the_guide_comes_in() {
    let mut guide = Guide::open(GUIDE);
    let folder = tempfile::Builder::new().prefix("admit-import-").tempdir().unwrap();
    for (name, bytes) in FILES {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let (mut shell, mut office) = (Shell::at(folder.path()), Office::new());
    shell.set("ADMIT_LISTEN", &office.listen);
    shell.run("admit user add --data-dir ./data --organization 'Old Harbour' --email you@example.org").await;
    let mut server = shell.start("admit serve --data-dir ./data");
    office.serves().await;
    let key = shell.run("admit token create --data-dir ./data --email you@example.org").await.trim().to_owned();
    office.acts_with(&key);
    let event = office.event().await;
    shell.set("TOKEN", &key);
    shell.set("EVENT", &event);
    let names = async || {
        let listed = office.get(&format!("/api/events/{event}/guests?limit=500")).await;
        let mut names: Vec<String> = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|guest| guest["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };

    // With the command: first a dry run, then the import. One line is wrong, which the exit code shows.
    let dry = shell.run(&format!("{} || true", guide.take("sh", "--dry-run").trim())).await;
    assert!(dry.contains("1 created") && dry.contains("nothing was written"), "{dry}");
    let done = shell.run(&format!("{} || true", guide.take("sh", "admit import guests.csv").trim())).await;
    assert!(done.contains("1 created") && done.contains("1 wrong lines"), "{done}");
    assert_eq!(names().await, ["Ana Silva"]);

    // Over HTTP: a dry run. Then the command's import is undone.
    let asked = with(&guide.take("sh", "/tickets/import"), &[(SERVER, &office.url)]);
    let tried: Value = shell.answer(&asked).await;
    assert_eq!((&tried["unchanged"], &tried["dry_run"]), (&json!(1), &json!(true)));
    let import =
        office.get(&format!("/api/events/{event}/imports")).await["items"][0]["id"].as_str().unwrap().to_owned();
    shell.set("IMPORT", &import);
    let undone = shell.answer(&with(&guide.take("sh", "/undo"), &[(SERVER, &office.url)])).await;
    assert_eq!(undone["withdrawn"], 1);
    assert_eq!(names().await, [""; 0], "the list is as it was before");

    // Each system that the guide lists.
    for (file, came) in [
        ("luma.csv", "1 created"),
        ("tito.csv", "2 created"),
        ("eventbrite.csv", "2 created"),
        ("pretix.csv", "3 created"),
        ("spreadsheet.xlsx", "3 created"),
    ] {
        let said = shell.run(&guide.take("sh", &format!("admit import {file}"))).await;
        assert!(said.contains(came), "{file}: {said}");
    }
    assert_eq!(names().await.len(), 11);

    // A file whose columns nobody could guess, with a mapping.
    std::fs::write(folder.path().join("mapping.json"), guide.take("json", "Wieviel")).unwrap();
    let said = shell.run(&guide.take("sh", "--mapping mapping.json")).await;
    assert!(said.contains("2 created") && said.contains("1 left out"), "{said}");
    server.kill().await.unwrap();
}
