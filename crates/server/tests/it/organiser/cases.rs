//! Lists as people really have them (docs/samples/cases). Each is imported over HTTP into an event of its own and must
//! give the result in the table.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::{as_owner, get, post};
use crate::server::{TestServer, json as answer};

/// The result that a file must give.
#[derive(Default)]
struct Gives {
    /// Name, e-mail, code and persons of every guest, by name. A code that was made here is `*`.
    guests: &'static [(&'static str, &'static str, &'static str, u32)],
    /// The counts that are not zero: `left_out`, `joined`, `asked`, `wrong_lines`, `damaged`.
    counts: &'static [(&'static str, usize)],
    /// Lines with a wrong field, and a part of the message about each.
    wrong: &'static [(u64, &'static str)],
    /// The kinds of questions, each with its text.
    questions: &'static [(&'static str, &'static str)],
    /// The reasons why rows are left out, each with the text of the file that decided.
    because: &'static [(&'static str, &'static str)],
    /// More that the answer must contain, as JSON pointers.
    more: &'static [(&'static str, &'static str)],
}

async fn import(server: &TestServer, event: &str, name: &str, query: &str) -> Value {
    let path = format!("{}/../../docs/samples/cases/{name}", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let kind = match name.rsplit('.').next() {
        Some("xlsx") => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => "text/csv",
    };
    let path = format!("/api/events/{event}/tickets/import{query}");
    let request = as_owner(server, &server.home, Method::POST, &path).header("content-type", kind).body(file);
    let response = request.send().await.unwrap();
    let status = response.status();
    let body: Value = response.json().await.unwrap();
    assert!(status.is_success() || status == 400, "{name}: {status} {body}");
    body
}

async fn new_event(server: &TestServer, name: &str) -> String {
    let event = json!({ "name": name, "time_zone": "Europe/Berlin", "starts_at": "2026-11-28T18:00:00Z", "ends_at": "2026-11-29T02:00:00Z" });
    post(server, "/api/events", event, 201).await["id"].as_str().unwrap().to_owned()
}

/// Name, e-mail, code and persons of every ticket of an event, by name.
async fn stored(server: &TestServer, event: &str) -> Vec<(String, String, String, u64)> {
    let listed = get(server, &format!("/api/events/{event}/tickets?limit=500")).await;
    let mut codes = BTreeMap::new();
    for ticket in listed["items"].as_array().unwrap() {
        let id = ticket["id"].as_str().unwrap().to_owned();
        let shown = post(server, &format!("/api/tickets/{id}/code"), json!({}), 200).await;
        codes.insert(id, shown["barcode"].clone());
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut out: Vec<_> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ticket| {
            let code = text(&codes[ticket["id"].as_str().unwrap()]);
            // Codes that Admit makes are UUIDs.
            let code = if code.len() == 36 && code.matches('-').count() == 4 { "*".into() } else { code };
            assert_eq!(ticket["status"], "active", "{ticket}");
            (
                text(&ticket["guest"]["name"]),
                text(&ticket["guest"]["email"]),
                code,
                ticket["entry_limit"].as_u64().unwrap(),
            )
        })
        .collect();
    out.sort();
    out
}

async fn try_case(server: &TestServer, name: &str, gives: &Gives) {
    let event = new_event(server, name).await;
    let dry = import(server, &event, name, "?dry_run=1").await;
    assert_eq!(stored(server, &event).await, [], "{name}: a dry run writes nothing");
    let done = import(server, &event, name, "").await;
    for count in ["created", "updated", "unchanged", "left_out", "joined", "asked", "wrong_lines", "damaged"] {
        assert_eq!(dry[count], done[count], "{name}: a dry run says what is done: {count}");
    }
    let guests: Vec<_> = gives
        .guests
        .iter()
        .map(|(name, email, code, persons)| {
            ((*name).to_owned(), (*email).to_owned(), (*code).to_owned(), u64::from(*persons))
        })
        .collect();
    assert_eq!(stored(server, &event).await, guests, "{name}: {done}");
    for count in ["left_out", "joined", "asked", "wrong_lines", "damaged"] {
        let expected = gives.counts.iter().find(|(one, _)| *one == count).map_or(0, |(_, rows)| *rows);
        assert_eq!(done[count], expected, "{name}: {count} in {done}");
    }
    let all = |field: &str| done[field].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let wrong: Vec<(u64, String)> = all("errors")
        .iter()
        .map(|error| {
            (error["line"].as_u64().unwrap(), format!("{} {}", text(&error["field"]), text(&error["message"])))
        })
        .collect();
    assert_eq!(wrong.len(), gives.wrong.len(), "{name}: {wrong:?}");
    for ((line, said), (expected, part)) in wrong.iter().zip(gives.wrong) {
        assert!(line == expected && said.contains(part), "{name}: line {line}: {said}, not {part}");
    }
    let pairs = |field: &str, kind: &str| -> Vec<(String, String)> {
        all(field).iter().map(|one| (text(&one[kind]), text(&one["about"]))).collect()
    };
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    assert_eq!(pairs("questions", "kind"), owned(gives.questions), "{name}");
    assert_eq!(pairs("left_out_because", "reason"), owned(gives.because), "{name}");
    for (pointer, expected) in gives.more {
        let found = done.pointer(pointer).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        assert_eq!(found.as_deref(), Some(*expected), "{name}: {pointer} in {done}");
    }
    // The same file again changes nothing, and nobody gets a mail without a request.
    let again = import(server, &event, name, "").await;
    assert_eq!((&again["created"], &again["updated"]), (&json!(0), &json!(0)), "{name}: {again}");
    let runs = get(server, &format!("/api/events/{event}/runs")).await;
    assert_eq!(runs["items"], json!([]), "{name}: no mail");
}

const CASES: &[(&str, Gives)] = &[
    (
        "c01-luma.csv",
        Gives {
            guests: &[("Mira Okafor", "mira@guests.example", "https://lu.ma/check-in/evt-Demo1?pk=g-miraPk01", 1)],
            counts: &[("left_out", 3)],
            because: &[("status", "declined"), ("status", "pending_approval"), ("status", "waitlist")],
            more: &[("/export", "Luma"), ("/new_entry_types/0", "Standard")],
            ..NOTHING
        },
    ),
    (
        "c01b-luma-no-ticket-name.csv",
        Gives {
            guests: &[("Mira Okafor", "mira@guests.example", "https://lu.ma/check-in/evt-Demo1?pk=g-miraPk01", 1)],
            counts: &[("left_out", 3)],
            because: &[("status", "declined"), ("status", "pending_approval"), ("status", "waitlist")],
            more: &[("/export", "Luma")],
            ..NOTHING
        },
    ),
    (
        "c02-tito.csv",
        Gives {
            guests: &[
                ("Ada Quist", "ada@guests.example", "QX1A-1", 1),
                ("Ben Quist", "ben@guests.example", "QX1A-2", 1),
            ],
            counts: &[("left_out", 2)],
            because: &[("status", "true"), ("unassigned", "")],
            more: &[("/export", "Tito")],
            ..NOTHING
        },
    ),
    (
        "c03-helloasso.csv",
        Gives {
            guests: &[
                ("Hugo MARCHAND", "paul@guests.example", "90000002", 1),
                ("Inès MARCHAND", "paul@guests.example", "90000001", 1),
            ],
            counts: &[("left_out", 1)],
            because: &[("status", "Remboursé")],
            more: &[("/export", "HelloAsso")],
            ..NOTHING
        },
    ),
    (
        "c04-nom-prenom.csv",
        Gives {
            guests: &[
                ("Camille LEROUX", "famille.leroux@guests.example", "*", 1),
                ("Jade BESSON", "jade@guests.example", "*", 3),
                ("Théo LEROUX", "famille.leroux@guests.example", "*", 1),
            ],
            ..NOTHING
        },
    ),
    (
        "c04b-nom-prenom-ascii.csv",
        Gives {
            guests: &[
                ("Camille LEROUX", "famille.leroux@guests.example", "*", 1),
                ("Jade BESSON", "jade@guests.example", "*", 1),
                ("Theo LEROUX", "famille.leroux@guests.example", "*", 1),
            ],
            ..NOTHING
        },
    ),
    (
        "c04c-name-vorname.csv",
        Gives {
            guests: &[("Anke Brandt", "anke@guests.example", "*", 1), ("Ole Brandt", "anke@guests.example", "*", 1)],
            ..NOTHING
        },
    ),
    (
        "c05-sep-line.csv",
        Gives {
            guests: &[("Olga Brandt", "olga@guests.example", "JEM-000001", 1)],
            more: &[("/file/preamble/0", "sep=;"), ("/file/delimiter", ";")],
            ..NOTHING
        },
    ),
    (
        "c06-scientific.csv",
        Gives {
            counts: &[("wrong_lines", 3), ("damaged", 3)],
            wrong: &[
                (2, "this code was damaged by a spreadsheet: 2.38202E+13"),
                (3, "this code was damaged by a spreadsheet: 4.10072E+12"),
                (4, "this code was damaged by a spreadsheet: 2.19E+26"),
            ],
            ..NOTHING
        },
    ),
    (
        "c07-error-cells.csv",
        Gives {
            counts: &[("wrong_lines", 3), ("damaged", 3)],
            wrong: &[(2, "#NAME?"), (3, "#REF!"), (4, "#####")],
            ..NOTHING
        },
    ),
    (
        "c08-excel-text-tricks.csv",
        Gives {
            guests: &[
                ("Zero Four", "", "0030614", 1),
                ("Zero One", "", "0030611", 1),
                ("Zero Three", "", "0030613", 1),
                ("Zero Two", "", "0030612", 1),
            ],
            ..NOTHING
        },
    ),
    (
        "c09-shared-id.csv",
        Gives {
            guests: &[("Rolf Maier", "", "*", 1), ("Telia Barrios", "", "*", 3), ("Yeni Arrieta", "", "*", 2)],
            ..NOTHING
        },
    ),
    (
        "c10b-title-row-english.csv",
        Gives {
            guests: &[("Title Row Guest", "title@guests.example", "*", 2)],
            more: &[("/file/preamble/0", "Guest list export 27.11.2026")],
            ..NOTHING
        },
    ),
    (
        "c11-same-name.csv",
        Gives {
            guests: &[
                ("Mark Sommer", "", "*", 1),
                ("Paula Klein", "paula1@guests.example", "*", 1),
                ("Paula Klein", "paula2@guests.example", "*", 1),
                ("Student A", "class@guests.example", "*", 1),
                ("Student B", "class@guests.example", "*", 1),
            ],
            counts: &[("joined", 1)],
            ..NOTHING
        },
    ),
    (
        "c12-codes.csv",
        Gives {
            guests: &[
                ("Case One", "", "Qrt3AbCd", 1),
                ("Dash One", "", "abc-12345-XYZ9", 1),
                ("GS One", "", "010500045611225310COV0109", 1),
                ("GS Two", "", "PLAIN-77001", 1),
            ],
            ..NOTHING
        },
    ),
    (
        "c17-header-spaces.csv",
        Gives {
            guests: &[
                ("jane doe", "janespace@guests.example", "*", 1),
                ("john doe", "johnspace@guests.example", "*", 1),
            ],
            ..NOTHING
        },
    ),
    (
        "c18-hievents.csv",
        Gives {
            guests: &[
                ("Kim Berg", "kim@guests.example", "A-7KQ2M9", 1),
                ("Lou Berg", "kim@guests.example", "A-8LR3N0", 1),
            ],
            counts: &[("left_out", 2)],
            because: &[("status", "AWAITING_PAYMENT"), ("status", "CANCELLED")],
            more: &[("/export", "Hi.Events"), ("/new_entry_types/0", "General Admission")],
            ..NOTHING
        },
    ),
    (
        "c19-weezevent.csv",
        Gives {
            guests: &[
                ("Marc ROUSSEL", "elodie@guests.example", "WZ0000000002", 1),
                ("Élodie ROUSSEL", "elodie@guests.example", "WZ0000000001", 1),
            ],
            more: &[("/export", "Weezevent")],
            ..NOTHING
        },
    ),
    (
        "c23-utf16.csv",
        Gives {
            guests: &[("Zoë Åström", "", "U16-0001", 1)],
            more: &[("/file/encoding", "UTF-16LE"), ("/file/delimiter", "\t")],
            ..NOTHING
        },
    ),
    (
        "c23b-win1252.csv",
        Gives {
            guests: &[("Jürgen Müßig", "", "W52-0001", 1), ("Plain Name", "", "W52-0002", 1)],
            more: &[("/file/encoding", "Windows-1252")],
            ..NOTHING
        },
    ),
    (
        "c25-invisible.csv",
        Gives {
            guests: &[
                ("Invis Four", "", "ZW-000004", 1),
                ("Invis One", "invis1@guests.example", "ZW-000001", 1),
                ("Invis Three", "invis3@guests.example", "ZW-000003", 1),
                ("Invis Two", "invis2@guests.example", "ZW-000002", 1),
            ],
            ..NOTHING
        },
    ),
    ("c26-dup-headers.csv", Gives { guests: &[("Dup One", "dup1@guests.example", "*", 1)], ..NOTHING }),
    (
        "c28-day-pass-dates.csv",
        Gives {
            guests: &[
                ("Day Iso Local", "", "DAY-0003", 1),
                ("Day Local", "", "DAY-0002", 1),
                ("Day Rfc", "", "DAY-0005", 1),
                ("Day Sat", "", "DAY-0001", 1),
                ("Day Sql", "", "DAY-0004", 1),
            ],
            ..NOTHING
        },
    ),
    (
        "c32-pandas-floats.csv",
        Gives {
            counts: &[("wrong_lines", 2), ("damaged", 2)],
            wrong: &[(2, "23820220588971.0"), (3, "23820220588972.0")],
            ..NOTHING
        },
    ),
    (
        "c34-total-row.csv",
        Gives {
            guests: &[
                ("Real One", "real1@guests.example", "TOT-001", 1),
                ("Real Two", "real2@guests.example", "TOT-002", 2),
            ],
            counts: &[("left_out", 1)],
            because: &[("total", "")],
            ..NOTHING
        },
    ),
    (
        "c35-barcode-missing.csv",
        Gives {
            guests: &[("Has Code", "has@guests.example", "MIS-001", 1)],
            counts: &[("asked", 1)],
            questions: &[("missing_codes", "")],
            ..NOTHING
        },
    ),
    (
        "c37-status-words.csv",
        Gives {
            guests: &[
                ("A", "", "STW-001", 1),
                ("C", "", "STW-003", 1),
                ("D", "", "STW-004", 1),
                ("F", "", "STW-006", 1),
                ("H", "", "STW-008", 1),
                ("J", "", "STW-010", 1),
            ],
            counts: &[("left_out", 4), ("asked", 1)],
            questions: &[("status", "Transferred")],
            because: &[
                ("status", "Awaiting Payment"),
                ("status", "Declined"),
                ("status", "No"),
                ("status", "Storniert"),
            ],
            ..NOTHING
        },
    ),
    ("c39-gs1.csv", Gives { guests: &[("Gs One", "", "010123456789012810ABC123", 1)], ..NOTHING }),
];
const NOTHING: Gives = Gives { guests: &[], counts: &[], wrong: &[], questions: &[], because: &[], more: &[] };

#[tokio::test]
async fn every_list_gives_what_it_must() {
    let server = TestServer::start().await;
    for (name, gives) in CASES {
        try_case(&server, name, gives).await;
    }
    let folder = format!("{}/../../docs/samples/cases", env!("CARGO_MANIFEST_DIR"));
    let tried = |name: &str| CASES.iter().any(|(one, _)| *one == name) || name == "c16-guests.xlsx";
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(tried(&name), "{name} is a case that no test tries");
    }
}

/// This workbook has no row. It is refused, as its CSV would be.
#[tokio::test]
async fn a_workbook_without_rows_is_told_what_it_lacks() {
    let server = TestServer::start().await;
    let event = new_event(&server, "empty").await;
    let said = import(&server, &event, "c16-guests.xlsx", "").await;
    assert_eq!(said["code"], "invalid_request", "{said}");
    assert!(said["detail"].as_str().unwrap().contains("XLSX"), "{said}");
}

#[tokio::test]
async fn times_without_a_zone_are_the_events_own() {
    let server = TestServer::start().await;
    let event = new_event(&server, "days").await;
    import(&server, &event, "c28-day-pass-dates.csv", "").await;
    let listed = get(&server, &format!("/api/events/{event}/tickets")).await;
    let mut windows: Vec<(String, String, String)> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ticket| {
            let text = |field: &str| ticket[field].as_str().unwrap_or_default().to_owned();
            (text("code_end"), text("valid_from"), text("expires_at"))
        })
        .collect();
    windows.sort();
    let of = |code: &str, from: &str, until: &str| {
        (code.to_owned(), format!("2026-11-{from}Z"), format!("2026-11-{until}Z"))
    };
    assert_eq!(
        windows,
        [
            of("0001", "27T23:00:00", "28T23:00:00"),
            of("0002", "28T09:00:00", "28T22:59:00"),
            of("0003", "28T09:00:00", "28T22:59:00"),
            of("0004", "28T09:00:00", "28T22:59:00"),
            of("0005", "28T09:00:00", "28T22:59:59"),
        ]
    );
}

#[tokio::test]
async fn answers_to_what_a_file_leaves_open_let_its_rows_in() {
    let server = TestServer::start().await;
    let answered = |name: &'static str, mapping: Value| {
        let server = &server;
        async move {
            let event = new_event(server, name).await;
            let query: String = form_urlencoded::byte_serialize(mapping.to_string().as_bytes()).collect();
            let done = import(server, &event, name, &format!("?mapping={query}")).await;
            (answer_counts(&done), stored(server, &event).await.len())
        }
    };
    assert_eq!(answered("c35-barcode-missing.csv", json!({ "missing_codes": "make" })).await, ((2, 0, 0), 2));
    assert_eq!(answered("c35-barcode-missing.csv", json!({ "missing_codes": "leave_out" })).await, ((1, 1, 0), 1));
    assert_eq!(
        answered("c37-status-words.csv", json!({ "statuses": { "transferred": "active" } })).await,
        ((7, 4, 0), 7)
    );
    assert_eq!(
        answered("c37-status-words.csv", json!({ "statuses": { "Transferred": "voided" } })).await,
        ((6, 5, 0), 6)
    );
}

/// The numbers of rows that made a ticket, that are left out, and that wait.
fn answer_counts(done: &Value) -> (u64, u64, u64) {
    let count = |field: &str| done[field].as_u64().unwrap_or_else(|| panic!("{done}"));
    (count("created"), count("left_out"), count("asked"))
}

#[tokio::test]
async fn a_mapping_is_remembered_for_files_of_the_same_header() {
    let server = TestServer::start().await;
    let event = new_event(&server, "remembered").await;
    let send = |query: &'static str, mapping: Option<Value>| {
        let (server, event) = (&server, &event);
        async move {
            let mut form = String::from(
                "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"guests.csv\"\r\n\r\nWer,Wieviel\nAna,2\n\r\n",
            );
            if let Some(mapping) = mapping {
                form += &format!("--b\r\nContent-Disposition: form-data; name=\"mapping\"\r\n\r\n{mapping}\r\n");
            }
            let path = format!("/api/events/{event}/tickets/import{query}");
            let request = as_owner(server, &server.home, Method::POST, &path);
            request
                .header("content-type", "multipart/form-data; boundary=b")
                .body(form + "--b--\r\n")
                .send()
                .await
                .unwrap()
        }
    };
    answer(send("?dry_run=1", None).await, 400).await;
    let mapping = json!({ "columns": { "Wer": "name", "Wieviel": "party_size" }, "day_first": true });
    let done = answer(send("", Some(mapping)).await, 200).await;
    assert_eq!((&done["created"], &done["columns"][1]["by"]), (&json!(1), &json!("said")), "{done}");
    let again = answer(send("?dry_run=1", None).await, 200).await;
    assert_eq!((&again["unchanged"], &again["columns"][0]["becomes"]), (&json!(1), &json!("name")), "{again}");
    // A mapping that is sent replaces the stored one, so it must be complete.
    let remembered = json!({ "columns": { "#1": "name", "#2": "party_size" }, "day_first": true });
    assert_eq!(again["mapping"], remembered, "{again}");
    let anew = answer(send("?dry_run=1", Some(json!({ "columns": { "#1": "name" } }))).await, 200).await;
    assert_eq!(anew["mapping"], json!({ "columns": { "#1": "name" } }), "{anew}");
}
