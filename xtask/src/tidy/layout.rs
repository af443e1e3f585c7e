//! Laws about the repository's files: their length, the lints of each crate, and the file names in ARCHITECTURE.md.

use super::complaint::{Complaint, File};

const LONGEST: usize = 600;

/// Files that may be longer, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Runs the checks that read one file alone.
pub fn check(file: &File, found: &mut Vec<Complaint>) {
    not_too_long(file, found, LONG_FILES);
    takes_the_lints(file, found);
}

/// Complains about a source file that is too long to read at once.
fn not_too_long(file: &File, found: &mut Vec<Complaint>, long_files: &[(&str, &str)]) {
    // A migration that has run anywhere must not change, so it may be long.
    if file.path.contains("/migrations/") {
        return;
    }
    let source = [".rs", ".ts", ".svelte", ".css", ".sql", ".mjs", ".js"].iter().any(|end| file.path.ends_with(end));
    let lines = file.text.lines().count();
    if source && lines > LONGEST && !long_files.iter().any(|(path, _)| *path == file.path) {
        let message = format!("{lines} lines: split it, or give a reason in xtask/src/tidy/layout.rs");
        found.push(Complaint::new(file, 0, message));
    }
    if long_files.iter().any(|(path, _)| *path == file.path) && lines <= LONGEST {
        found.push(Complaint::new(file, 0, "is short again: take it off the list in xtask/src/tidy/layout.rs"));
    }
}

/// Complains about a crate that does not take the workspace's lints, such as `unsafe_code = "forbid"`.
fn takes_the_lints(file: &File, found: &mut Vec<Complaint>) {
    let of_a_crate =
        (file.path.starts_with("crates/") || file.path.starts_with("xtask/")) && file.path.ends_with("/Cargo.toml");
    if !of_a_crate {
        return;
    }
    let mut lines = file.text.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    let section = lines.by_ref().take_while(|line| !line.starts_with('['));
    if !section.map(|line| line.replace(' ', "")).any(|line| line == "workspace=true") {
        found.push(Complaint::new(file, 0, "needs `[lints]` with `workspace = true`"));
    }
}

/// Complains about a file that ARCHITECTURE.md names and that does not exist.
pub fn map_is_true(files: &[File], found: &mut Vec<Complaint>) {
    let Some(map) = files.iter().find(|file| file.path == "ARCHITECTURE.md") else {
        let missing = Complaint { path: "ARCHITECTURE.md".to_owned(), line: 0, message: "is missing".to_owned() };
        return found.push(missing);
    };
    for (index, line) in map.text.lines().enumerate() {
        for quoted in line.split('`').skip(1).step_by(2) {
            for path in named_files(quoted) {
                if !files.iter().any(|file| file.path == path) {
                    found.push(Complaint::new(map, index + 1, format!("there is no {path}")));
                }
            }
        }
    }
}

/// The file paths in a backticked text: none for a pattern, several for `a/{b,c}.rs`.
fn named_files(quoted: &str) -> Vec<String> {
    let path = quoted.trim().trim_start_matches("./");
    let source = [".rs", ".ts", ".svelte", ".sql"].iter().any(|end| path.ends_with(end));
    let pattern = path.contains(['<', '*', ' ', '…']) || path.contains("NNNN");
    if !source || pattern || !path.contains('/') {
        return Vec::new();
    }
    let (Some(open), Some(close)) = (path.find('{'), path.find('}')) else { return vec![path.to_owned()] };
    if close < open {
        return vec![path.to_owned()];
    }
    let choices = path[open + 1..close].split(',');
    choices
        .flat_map(|choice| named_files(&format!("{}{}{}", &path[..open], choice.trim(), &path[close + 1..])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_owned(), text: text.to_owned() }
    }

    fn messages(work: impl FnOnce(&mut Vec<Complaint>)) -> Vec<String> {
        let mut found = Vec::new();
        work(&mut found);
        found.into_iter().map(|complaint| complaint.message).collect()
    }

    #[test]
    fn a_long_file_is_found() {
        let long = file("crates/core/src/a.rs", &"x\n".repeat(601));
        assert_eq!(messages(|found| not_too_long(&long, found, &[])).len(), 1);
        assert!(messages(|found| not_too_long(&long, found, &[("crates/core/src/a.rs", "a table")])).is_empty());
        let fair = file("crates/core/src/a.rs", &"x\n".repeat(600));
        assert!(messages(|found| not_too_long(&fair, found, &[])).is_empty());
        assert_eq!(messages(|found| not_too_long(&fair, found, &[("crates/core/src/a.rs", "a table")])).len(), 1);
        assert!(messages(|found| not_too_long(&file("notes.md", &"x\n".repeat(601)), found, &[])).is_empty());
        let migration = file("crates/store-sqlite/migrations/V1__schema.sql", &"x\n".repeat(601));
        assert!(messages(|found| not_too_long(&migration, found, &[])).is_empty());
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let of = |text: &str| messages(|found| takes_the_lints(&file("crates/app/Cargo.toml", text), found));
        assert!(of("[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n\n[dependencies]\n").is_empty());
        assert_eq!(of("[package]\nworkspace = true\n").len(), 1);
        assert_eq!(of("[lints]\n[dependencies]\nworkspace = true\n").len(), 1);
    }

    #[test]
    fn a_map_that_lies_is_found() {
        let of = |text: &str| {
            let files = [
                file("ARCHITECTURE.md", text),
                file("crates/core/src/scan.rs", ""),
                file("crates/core/src/time.rs", ""),
            ];
            messages(|found| map_is_true(&files, found))
        };
        assert!(of("See `crates/core/src/scan.rs` and `cargo test`, `crates/x/<noun>.rs`, `lib.rs`.").is_empty());
        assert!(of("See `crates/core/src/{scan,time}.rs`.").is_empty());
        assert_eq!(of("See `crates/core/src/gone.rs`."), ["there is no crates/core/src/gone.rs"]);
        assert_eq!(of("See `crates/core/src/{scan,gone}.rs`."), ["there is no crates/core/src/gone.rs"]);
        assert_eq!(messages(|found| map_is_true(&[], found)), ["is missing"]);
    }
}
