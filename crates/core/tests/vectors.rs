//! Tests `vectors/*.json` against the core, and against an independent implementation (`tests/python/verify.py`).
//!
//! `ADMIT_WRITE_VECTORS=1 cargo test -p admit-core --test vectors write` writes the files again from the inputs in
//! `tests/vectors/`. A changed `out` is a changed wire format: every device and binding in use would have to change
//! too.

#[path = "vectors/blocks.rs"]
mod blocks;
#[path = "vectors/cases.rs"]
mod cases;
#[path = "vectors/manifests.rs"]
mod manifests;
#[path = "vectors/reductions.rs"]
mod reductions;

use std::path::PathBuf;
use std::process::Command;

use admit_core::vectors::{self, FILES};
use serde_json::{Value, json};

/// A case without its answer: name, kind, input.
pub type Given = (String, &'static str, Value);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors")
}

fn read(name: &str) -> String {
    let path = folder().join(format!("{name}.json"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_vector_holds() {
    for name in FILES {
        let cases = vectors::run(name, &read(name)).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert!(cases >= 5, "{name}.json has only {cases} cases");
    }
}

#[test]
fn the_files_hold_the_cases_that_the_inputs_here_make() {
    for (name, _, given) in inputs() {
        let file: Value = serde_json::from_str(&read(name)).unwrap();
        let held: Vec<_> = file["cases"].as_array().unwrap().iter().map(|case| (&case["name"], &case["in"])).collect();
        assert_eq!(held.len(), given.len(), "{name}.json");
        for ((held_name, held_in), (name_here, _, given)) in held.into_iter().zip(&given) {
            assert_eq!((held_name, held_in), (&json!(name_here), given), "{name}.json");
        }
    }
}

#[test]
fn a_wrong_vector_is_found() {
    let mut file: Value = serde_json::from_str(&read("signatures")).unwrap();
    let case = file["cases"].as_array_mut().unwrap().iter_mut().find(|case| case["what"] == "verify_v2").unwrap();
    case["out"] = json!(!case["out"].as_bool().unwrap());
    let wrong = vectors::run("signatures", &file.to_string()).unwrap_err();
    assert_eq!(wrong.lines().count(), 1, "{wrong}");
    assert!(vectors::run("signatures", r#"{"cases":[]}"#).is_err());
}

/// Spec §8: an implementation that shares no code with this one signs the same bytes in the same way.
#[test]
fn an_independent_implementation_agrees() {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/python/verify.py");
    let output = Command::new("python3").arg(&script).arg(folder()).output();
    let output = output.unwrap_or_else(|error| {
        panic!("python3 is needed to check signatures independently (Debian: apt-get install python3): {error}")
    });
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    // The check reports how many cases it checked, so that it cannot pass by checking none.
    let counts: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
    let wanted = [
        ("scan_bytes", 6),
        ("v2", 4),
        ("v2_refused", 3),
        ("v1", 3),
        ("v1_refused", 3),
        ("manifest_bodies", 3),
        ("content_hashes", 2),
        ("scan_keys", 1),
        ("pins", 1),
    ];
    for (what, least) in wanted {
        assert!(counts[what].as_u64().unwrap_or(0) >= least, "{what}: {out}");
    }
}

/// The name, the description and the inputs of each file of vectors.
fn inputs() -> Vec<(&'static str, &'static str, Vec<Given>)> {
    vec![
        ("barcodes", "From what a reader reads to the texts that are tried, in order (spec D12).", cases::barcodes()),
        ("names", "Names as they are searched and compared, and whether what staff type finds them.", cases::names()),
        ("hashes", "Digests: codes, scans (with their exact bytes), batches, keys, PIN, ledgers.", cases::hashes()),
        ("signatures", "Scan signatures v1 and v2 (spec D6), good and bad.", cases::signatures()),
        (
            "webhooks",
            "Standard Webhooks: the standard's own vector (github.com/standard-webhooks/standard-webhooks, libraries), and what must be refused.",
            cases::webhooks(),
        ),
        ("manifests", "Signed lists: built, read, refused (spec D5, §5).", manifests::manifests()),
        ("verdicts", "decide, and the table from (outcome, reason) to the screen (spec §4).", cases::verdicts()),
        (
            "reductions",
            "reduce: a ticket's state from its rules, reviews and scans (spec §4).",
            reductions::reductions(),
        ),
        ("blocks", "Scans as the server stores them, to the byte, and what is damaged.", blocks::blocks()),
    ]
}

#[test]
fn write() {
    if std::env::var_os("ADMIT_WRITE_VECTORS").is_none() {
        return; // Only on demand: what is written here is checked by the tests above.
    }
    std::fs::create_dir_all(folder()).unwrap();
    for (name, about, given) in inputs() {
        let cases: Vec<_> = given
            .into_iter()
            .map(|(name, what, given)| {
                let out = vectors::answer(what, &given).unwrap_or_else(|error| panic!("{name}: {error}"));
                json!({ "name": name, "what": what, "in": given, "out": out })
            })
            .collect();
        // One case per line, so that a diff shows a change of a case as one line.
        let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
        let text = format!("{{\"about\":{},\n\"cases\":[\n{}\n]}}\n", json!(about), lines.join(",\n"));
        std::fs::write(folder().join(format!("{name}.json")), text).unwrap();
    }
}
