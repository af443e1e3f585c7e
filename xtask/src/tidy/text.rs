//! Laws about single files: fixed waits, time, order, SQL, serialised types.

use super::complaint::{Complaint, File};
use super::source::{self, Keep, Language, allowed, line_of, mask, words};

/// Runs the checks that read one file alone.
pub fn check(file: &File, found: &mut Vec<Complaint>) {
    no_fixed_sleeps(file, found);
    no_hash_order(file, found);
    no_sql_outside_stores(file, found);
    wire_alone_serializes(file, found);
    core_is_pure(file, found);
    core_depends_on_nothing_impure(file, found);
}

/// Complains about tests that wait a fixed time. Such a test is slow on a good day and wrong on a bad one.
fn no_fixed_sleeps(file: &File, found: &mut Vec<Complaint>) {
    const ADVICE: &str = "waits a fixed time: wait for what must become true, and mark a poll loop's own pause with \
                          `tidy-allow: why`";
    let mut report = |line: usize, what: &str| {
        if !allowed(&file.text, line) {
            found.push(Complaint::new(file, line, format!("{what} {ADVICE}")));
        }
    };
    if file.path.ends_with(".rs") {
        let code = mask(&file.text, Language::Rust, Keep::Code);
        let whole = in_folder(&file.path, "tests") || in_folder(&file.path, "store_suite");
        let tests = source::tests(&code);
        for call in ["thread::sleep", "time::sleep", "sleep_until"] {
            for at in words(&code, call) {
                if whole || tests.iter().any(|range| range.contains(&at)) {
                    report(line_of(&code, at), call);
                }
            }
        }
    }
    let web_test = file.path.starts_with("web/e2e/") || file.path.contains(".test.");
    if web_test && is_script(&file.path) {
        let code = mask(&file.text, Language::TypeScript, Keep::Code);
        for at in words(&code, "waitForTimeout") {
            report(line_of(&code, at), "waitForTimeout");
        }
        for at in words(&code, "setTimeout") {
            // A wait of 0 only lets due work happen first.
            if last_argument(&code[at..]).is_some_and(|time| is_number(time) && time != "0") {
                report(line_of(&code, at), "setTimeout");
            }
        }
    }
}

/// The text of the last argument of the call that `code` begins with.
fn last_argument(code: &str) -> Option<&str> {
    let open = code.find('(')?;
    let (mut depth, mut start) = (0_usize, open + 1);
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(code[start..at].trim());
                }
            }
            // A comma before the closing bracket separates nothing.
            b',' if depth == 1 && !code[at + 1..].trim_start().starts_with(')') => start = at + 1,
            _ => {}
        }
    }
    None
}

fn is_number(text: &str) -> bool {
    let text = text.trim_end_matches(',').trim();
    text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(|b| b.is_ascii_digit() || b"_.eE".contains(&b))
}

/// Complains about hashed collections, because the same history must give the same bytes on every machine.
fn no_hash_order(file: &File, found: &mut Vec<Complaint>) {
    if !in_crates(&file.path, &["core", "app", "sim"]) {
        return;
    }
    let code = mask(&file.text, Language::Rust, Keep::Code);
    for (word, instead) in [("HashMap", "BTreeMap"), ("HashSet", "BTreeSet")] {
        for at in words(&code, word) {
            let line = line_of(&code, at);
            if !allowed(&file.text, line) {
                let message = format!("{word} has an order that changes from run to run: use {instead}");
                found.push(Complaint::new(file, line, message));
            }
        }
    }
}

/// Complains about SQL outside the store crates. There, a test prepares every statement against both schemas.
fn no_sql_outside_stores(file: &File, found: &mut Vec<Complaint>) {
    // This crate has SQL in the tests of this check.
    let home = file.path.starts_with("crates/store-") || file.path.starts_with("xtask/");
    if home {
        return;
    }
    if file.path.ends_with(".sql") && file.path.starts_with("crates/") {
        found.push(Complaint::new(file, 0, "SQL lives in crates/store-*"));
    }
    if !file.path.ends_with(".rs") {
        return;
    }
    let strings = mask(&file.text, Language::Rust, Keep::Strings);
    for (verb, object) in
        [("SELECT", " FROM "), ("INSERT", " INTO "), ("UPDATE", " SET "), ("DELETE", " FROM "), ("CREATE", " TABLE ")]
    {
        for at in words(&strings, verb) {
            // A statement may span several lines, but not a page.
            let tail: String = strings[at..].chars().take(400).collect();
            let flat = tail.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = line_of(&strings, at);
            if flat.contains(object) && !allowed(&file.text, line) {
                let message =
                    format!("{verb} …{object}… is SQL: it lives in crates/store-*, behind a method of the port");
                found.push(Complaint::new(file, line, message));
            }
        }
    }
}

/// Complains about `Serialize` outside the folder of wire types, so that no other type can be sent by accident.
fn wire_alone_serializes(file: &File, found: &mut Vec<Complaint>) {
    let wire = file.path.starts_with("crates/core/src/wire/") || file.path == "crates/core/src/wire.rs";
    if !file.path.starts_with("crates/core/src/") || wire || !file.path.ends_with(".rs") {
        return;
    }
    let code = mask(&file.text, Language::Rust, Keep::Code);
    for at in words(&source::product(&code), "Serialize") {
        let line = line_of(&code, at);
        if !allowed(&file.text, line) {
            found.push(Complaint::new(file, line, "Serialize outside core/wire: give it a shape there and convert"));
        }
    }
}

/// Complains about time, randomness, files, threads and output in the core. Callers pass such values in as arguments.
fn core_is_pure(file: &File, found: &mut Vec<Complaint>) {
    if !file.path.starts_with("crates/core/src/") || !file.path.ends_with(".rs") {
        return;
    }
    let code = source::product(&mask(&file.text, Language::Rust, Keep::Code));
    let forbidden = [
        "SystemTime",
        "Instant",
        "std::fs",
        "std::net",
        "std::thread",
        "std::env",
        "std::process",
        "async fn",
        "async move",
        "println!",
        "eprintln!",
        "Timestamp::now",
        "Zoned::now",
        "Uuid::new_v4",
        "Uuid::now_v7",
    ];
    for word in forbidden {
        for at in words(&code, word) {
            let line = line_of(&code, at);
            if !allowed(&file.text, line) {
                found.push(Complaint::new(file, line, format!("{word} in the core: law 1, the caller passes it in")));
            }
        }
    }
}

/// Checks the same law in the core's list of dependencies.
fn core_depends_on_nothing_impure(file: &File, found: &mut Vec<Complaint>) {
    if file.path != "crates/core/Cargo.toml" {
        return;
    }
    let mut section = "";
    for (index, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
        let impure = ["tokio", "rand", "getrandom", "tracing", "log", "futures", "chrono"].contains(&name);
        if impure && section.contains("dependencies") && !section.contains("dev-dependencies") {
            found.push(Complaint::new(file, index + 1, format!("the core must not depend on {name}: law 1")));
        }
    }
}

fn in_folder(path: &str, folder: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| part == folder)
}

fn in_crates(path: &str, names: &[&str]) -> bool {
    path.ends_with(".rs") && names.iter().any(|name| path.starts_with(&format!("crates/{name}/")))
}

fn is_script(path: &str) -> bool {
    [".ts", ".js", ".mjs"].iter().any(|end| path.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        check(&File { path: path.to_owned(), text: text.to_owned() }, &mut found);
        found.into_iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn a_sleep_in_a_test_is_found() {
        assert_eq!(complaints("crates/server/tests/it/a.rs", "fn t() {\n  std::thread::sleep(d);\n}"), [2]);
        assert_eq!(complaints("crates/app/src/store_suite/a.rs", "tokio::time::sleep(d).await"), [1]);
        assert_eq!(complaints("crates/server/src/a.rs", "#[cfg(test)]\nmod tests {\n  thread::sleep(d);\n}"), [3]);
        assert_eq!(complaints("web/e2e/a.ts", "await page.waitForTimeout(50);"), [1]);
        assert_eq!(complaints("web/e2e/a.ts", "await new Promise((done) =>\n  setTimeout(done, 1_000));"), [2]);
        assert_eq!(complaints("web/e2e/a.ts", "await setTimeout(100);"), [1]);
        assert_eq!(complaints("web/scanner/src/a.test.ts", "setTimeout(() => { f(1, 2); }, 5,\n);"), [1]);
    }

    #[test]
    fn a_wait_that_is_none_passes() {
        assert!(complaints("crates/server/src/a.rs", "tokio::time::sleep(backoff).await").is_empty());
        assert!(
            complaints("crates/cli/tests/a.rs", "// tidy-allow: the pause of a poll loop\nthread::sleep(d)").is_empty()
        );
        assert!(complaints("web/e2e/a.ts", "const t = setTimeout(fail, deadline); f(\"setTimeout(x, 5)\")").is_empty());
        assert!(complaints("web/scanner/src/a.ts", "setTimeout(f, 1000)").is_empty());
        assert!(complaints("web/scanner/src/a.test.ts", "new Promise((done) => setTimeout(done, 0))").is_empty());
    }

    #[test]
    fn hash_order_is_found_in_the_three_crates_only() {
        assert_eq!(complaints("crates/core/src/a.rs", "use std::collections::HashMap;"), [1]);
        assert_eq!(complaints("crates/app/src/a.rs", "let s: HashSet<u8>;"), [1]);
        assert_eq!(complaints("crates/sim/tests/a.rs", "\nlet s: HashSet<u8>;"), [2]);
        assert!(complaints("crates/server/src/a.rs", "use std::collections::HashMap;").is_empty());
        assert!(complaints("crates/core/src/a.rs", "// a HashMap would do\nlet x: BTreeMap<u8, u8>;").is_empty());
    }

    #[test]
    fn sql_is_found_outside_the_stores() {
        assert_eq!(complaints("crates/app/src/a.rs", "q(\"SELECT id FROM scans\")"), [1]);
        assert_eq!(complaints("crates/server/src/a.rs", "q(\"\n  INSERT OR IGNORE\n  INTO t VALUES (1)\")"), [2]);
        assert_eq!(complaints("crates/cli/tests/a.rs", "q(\"UPDATE t SET a = 1\")"), [1]);
        assert_eq!(complaints("crates/cli/tests/a.rs", "q(r#\"DELETE FROM t\"#)"), [1]);
        assert_eq!(complaints("crates/app/src/a.sql", "x"), [0]);
        assert!(complaints("crates/store-sqlite/src/a.rs", "q(\"SELECT id FROM scans\")").is_empty());
        assert!(
            complaints("crates/app/src/a.rs", "// SELECT id FROM scans\nfail(\"Select a gate from the list\")")
                .is_empty()
        );
    }

    #[test]
    fn serialize_is_found_outside_the_wire() {
        assert_eq!(complaints("crates/core/src/scan.rs", "#[derive(Clone, Serialize)]\nstruct A;"), [1]);
        assert!(complaints("crates/core/src/wire/scans.rs", "#[derive(Serialize)]\nstruct A;").is_empty());
        assert!(complaints("crates/core/src/scan.rs", "#[derive(Deserialize)]\nstruct A;").is_empty());
    }

    #[test]
    fn a_clock_in_the_core_is_found() {
        assert_eq!(complaints("crates/core/src/time.rs", "use std::time::Instant;"), [1]);
        assert_eq!(complaints("crates/core/src/time.rs", "\nasync fn f() {}"), [2]);
        assert_eq!(complaints("crates/core/src/time.rs", "std::fs::read(p)"), [1]);
        assert!(complaints("crates/core/src/time.rs", "#[cfg(test)]\nmod tests { use std::fs; }").is_empty());
        assert!(complaints("crates/server/src/time.rs", "use std::time::Instant;").is_empty());
    }

    #[test]
    fn an_impure_dependency_of_the_core_is_found() {
        let with = |section: &str, line: &str| complaints("crates/core/Cargo.toml", &format!("[{section}]\n{line}\n"));
        assert_eq!(with("dependencies", "tokio.workspace = true"), [2]);
        assert_eq!(with("dependencies", "rand = \"1\""), [2]);
        assert_eq!(with("target.'cfg(unix)'.dependencies", "log = \"1\""), [2]);
        assert!(with("dependencies", "serde.workspace = true").is_empty());
        assert!(with("dev-dependencies", "rand = \"1\"").is_empty());
    }
}
