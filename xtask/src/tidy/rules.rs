//! Checks single files: forbidden names, SQL, fixed waits in tests, length. Also checks that the files that
//! ARCHITECTURE.md names exist.

use crate::files::{Complaint, File};
use crate::markdown;
use regex::Regex;
use std::sync::LazyLock;

/// The most lines of a file. A longer file is hard to read as a whole, so it must be split.
const LONGEST: usize = 600;

/// A path of Rust that some files must not name.
struct Forbidden {
    /// The paths, or the last segments of paths.
    names: &'static [&'static str],
    /// Whether this rule forbids its names at a place in the given file. The second argument says whether the place is
    /// under `#[cfg(test)]`.
    applies: fn(&File, bool) -> bool,
    why: &'static str,
}

const FORBIDDEN: [Forbidden; 3] = [
    // Clippy forbids single functions to the core, such as those of the clock. This also forbids whole modules, types
    // and keywords.
    Forbidden {
        names: &[
            "SystemTime",
            "Instant",
            "std::fs",
            "std::net",
            "std::thread",
            "std::env",
            "std::process",
            "async",
            "println",
            "eprintln",
            "Timestamp::now",
            "Zoned::now",
            "Uuid::new_v4",
            "Uuid::now_v7",
        ],
        applies: |file, is_test| file.path.starts_with("crates/core/src/") && !is_test,
        why: "in the core: law 1, the caller passes it in",
    },
    Forbidden {
        names: &["Serialize"],
        applies: |file, is_test| {
            file.path.starts_with("crates/core/src/") && !file.path.starts_with("crates/core/src/wire") && !is_test
        },
        why: "outside core/wire: give it a shape there and convert",
    },
    // A test that waits a fixed time wastes time on a fast machine and fails on a slow one.
    Forbidden {
        names: &["thread::sleep", "time::sleep", "sleep_until"],
        applies: |file, is_test| is_test || file.path.contains("/tests/") || file.path.contains("/store_suite/"),
        why: WAITS,
    },
];

const WAITS: &str =
    "waits a fixed time: wait for what must become true, and mark a poll loop's own pause with `tidy-allow: why`";

/// A statement of SQL: its verb, and within 400 characters the word that follows it, such as `SELECT … FROM`.
static SQL: LazyLock<Regex> = LazyLock::new(|| {
    let parts = [("SELECT", "FROM"), ("INSERT", "INTO"), ("UPDATE", "SET"), ("DELETE", "FROM"), ("CREATE", "TABLE")];
    let parts = parts.map(|(verb, object)| format!(r"\b{verb}\b.{{0,400}}?\s{object}\s"));
    Regex::new(&format!("(?s){}", parts.join("|"))).expect("a constant")
});

/// A wait for a fixed time in a test of the web code. A time of 0 is allowed, because it only lets callbacks run that
/// are due.
static WEB_WAIT: LazyLock<Regex> = LazyLock::new(|| {
    let argument = r"(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*?";
    Regex::new(&format!(r"\bwaitForTimeout\b|\bsetTimeout\((?:{argument},)?\s*[1-9][\d_.e]*\s*,?\s*\)"))
        .expect("a constant")
});

/// Checks that read one file by itself.
pub fn check(file: &File, found: &mut Vec<Complaint>) {
    for path in &file.source.paths {
        let whole = format!("::{}::", path.segments.join("::"));
        for rule in FORBIDDEN.iter().filter(|rule| (rule.applies)(file, path.is_test)) {
            for name in rule.names.iter().filter(|name| whole.contains(&format!("::{name}::"))) {
                file.complain(path.line, format!("{name} {}", rule.why), found);
            }
        }
    }
    no_sql_outside_stores(file, found);
    not_too_long(file, found);
    manifest(file, found);
    let web_test = file.path.starts_with("web/") && (file.path.contains("/e2e/") || file.path.contains(".test."));
    if web_test && [".ts", ".js", ".mjs"].iter().any(|end| file.path.ends_with(end)) {
        for wait in WEB_WAIT.find_iter(&file.text) {
            let name = wait.as_str().split('(').next().unwrap_or_default();
            file.complain(line_of(&file.text, wait.start()), format!("{name} {WAITS}"), found);
        }
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Complains about SQL outside the store crates. In those crates a test prepares every statement against both schemas.
fn no_sql_outside_stores(file: &File, found: &mut Vec<Complaint>) {
    // xtask has SQL in the tests of this check.
    if file.path.starts_with("crates/store-") || file.path.starts_with("xtask/") {
        return;
    }
    if file.path.ends_with(".sql") && file.path.starts_with("crates/") {
        file.complain(0, "SQL lives in crates/store-*", found);
    }
    for (line, text) in &file.source.strings {
        for sql in SQL.find_iter(text) {
            let verb = sql.as_str().split_whitespace().next().unwrap_or_default();
            let line = line + line_of(text, sql.start()) - 1;
            file.complain(
                line,
                format!("{verb} is SQL: it lives in crates/store-*, behind a method of the port"),
                found,
            );
        }
    }
}

fn not_too_long(file: &File, found: &mut Vec<Complaint>) {
    let source = [".rs", ".ts", ".svelte", ".css", ".sql", ".mjs", ".js"].iter().any(|end| file.path.ends_with(end));
    let lines = file.text.lines().count();
    // A migration that has run anywhere must not be changed, so it cannot be split.
    if source && lines > LONGEST && !file.path.contains("/migrations/") {
        file.complain(0, format!("{lines} lines, at most {LONGEST}: split it"), found);
    }
}

/// Complains about a crate that does not use the lints of the workspace, such as `unsafe_code = "forbid"`. Also
/// complains if the core depends on a crate that law 1 excludes.
fn manifest(file: &File, found: &mut Vec<Complaint>) {
    let ours = file.path.starts_with("crates/") || file.path.starts_with("xtask/");
    if !ours || !file.path.ends_with("/Cargo.toml") {
        return;
    }
    let manifest: toml::Table = toml::from_str(&file.text).unwrap_or_default();
    if manifest.get("lints").and_then(|lints| lints.get("workspace")) != Some(&toml::Value::Boolean(true)) {
        file.complain(0, "needs `[lints]` with `workspace = true`", found);
    }
    let impure = Regex::new(r"^(tokio|rand|getrandom|tracing|log|futures|chrono)\b").expect("a constant");
    for (index, line) in file.text.lines().enumerate().filter(|_| file.path == "crates/core/Cargo.toml") {
        if let Some(name) = impure.find(line) {
            file.complain(index + 1, format!("the core must not depend on {}: law 1", name.as_str()), found);
        }
    }
}

/// Complains about a file that ARCHITECTURE.md names and that does not exist.
pub fn map_is_true(files: &[File], found: &mut Vec<Complaint>) {
    let Some(map) = files.iter().find(|file| file.path == "ARCHITECTURE.md") else {
        return found.push(Complaint("ARCHITECTURE.md".to_owned(), 0, "is missing".to_owned()));
    };
    for (line, code) in markdown::codes(&map.text) {
        for path in named_files(&code).into_iter().filter(|path| !files.iter().any(|file| file.path == *path)) {
            map.complain(line, format!("there is no {path}"), found);
        }
    }
}

/// Complains about an event of the log that `docs/telemetry.md` leaves out.
pub fn events_are_documented(files: &[File], found: &mut Vec<Complaint>) {
    static EVENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"\bevent = "(\w+\.\w+)""#).expect("a constant"));
    let Some(page) = files.iter().find(|file| file.path == "docs/telemetry.md") else { return };
    for file in files.iter().filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/")) {
        for (line, text) in (1..).zip(file.text.lines()) {
            for event in EVENT.captures_iter(text).filter(|event| !page.text.contains(&format!("`{}`", &event[1]))) {
                file.complain(line, format!("the event {} is not in docs/telemetry.md", &event[1]), found);
            }
        }
    }
}

/// The file paths in a piece of code. Empty for a pattern; several for `a/{b,c}.rs`.
fn named_files(code: &str) -> Vec<String> {
    static PATH: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:\./)?([\w.-]+/[\w./-]*)(?:\{([\w,/ -]+)\})?([\w./-]*)$").expect("a constant")
    });
    let source = [".rs", ".ts", ".svelte", ".sql"].iter().any(|end| code.ends_with(end));
    let Some(path) = PATH.captures(code).filter(|_| source && !code.contains("NNNN")) else { return Vec::new() };
    let choices = path.get(2).map_or("", |choices| choices.as_str()).split(',');
    choices.map(|choice| format!("{}{}{}", &path[1], choice.trim(), &path[3])).collect()
}
