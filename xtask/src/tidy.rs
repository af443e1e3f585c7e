//! Checks the laws of ARCHITECTURE.md that neither the compiler nor clippy can check. Each check is a function from
//! files to complaints. So a test can show that it complains when it must, and only then.
//!
//! A line that must break a law has a comment `tidy-allow: why`, in the same line or in the line above.

mod order;
mod prose;
mod rules;

use crate::files::{Complaint, File, all, tell};
use crate::{docs, exec, proof};
use anyhow::Result;
use std::collections::BTreeMap;

/// `cargo xtask tidy`.
pub fn run() -> Result<()> {
    let (files, mut found) = all()?;
    found.extend(complaints(&files));
    tell("tidy", found)
}

fn complaints(files: &[File]) -> Vec<Complaint> {
    let mut found = proof::read(files).complaints;
    laws(files, &mut found);
    found
}

fn laws(files: &[File], found: &mut Vec<Complaint>) {
    files.iter().for_each(|file| rules::check(file, found));
    rules::map_is_true(files, found);
    rules::events_are_documented(files, found);
    found.extend(prose::long_sentences(files));
    found.extend(prose::riddles(files));
    order::check(files, found);
    links_lead_somewhere(files, found);
}

/// Complains about links that lead nowhere, and about pages of `docs/` that the site lacks.
fn links_lead_somewhere(files: &[File], found: &mut Vec<Complaint>) {
    let written = files.iter().filter(|file| file.path.ends_with(".md"));
    let mut pages: BTreeMap<String, String> = written.map(|file| (file.path.clone(), file.text.clone())).collect();
    let in_site = docs::pages(pages.get(docs::SUMMARY).map_or("", String::as_str));
    let of_docs = pages.keys().filter(|path| path.starts_with("docs/") && *path != docs::SUMMARY);
    let lost = of_docs.filter(|path| !in_site.contains(path));
    let message = format!("the site lacks this page: name it in {}", docs::SUMMARY);
    found.extend(lost.map(|path| Complaint(path.clone(), 0, message.clone())));
    // The build of the site makes these pages from the binary, so their headings are not known here.
    pages.extend(docs::GENERATED.map(|path| (path.to_owned(), String::new())));
    let site = docs::Site { pages: &pages, exists: &|path| exec::root().join(path).exists() };
    found.extend(pages.iter().flat_map(|(path, text)| site.problems(path, text)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `broken.txt` has the files of a repository with faults, and the complaints that the checks must make about it.
    #[test]
    fn a_broken_repository_is_found_broken_and_no_more() {
        let (repository, expected) = include_str!("tidy/broken.txt").split_once("=== expected\n").unwrap();
        let mut found = Vec::new();
        let texts = repository.split("=== ").skip(1).map(|file| file.split_once('\n').unwrap());
        let mut files: Vec<File> = texts.map(|(path, text)| File::read(path, text.to_owned(), &mut found)).collect();
        files.push(File::read("crates/core/src/long.rs", "//\n".repeat(601), &mut found));
        files.push(File::read("crates/store-sqlite/migrations/V1__schema.sql", "--\n".repeat(601), &mut found));
        laws(&files, &mut found);
        found.sort();
        let found: String = found.iter().map(|complaint| format!("{complaint}\n")).collect();
        assert!(found == expected, "{found}");
    }
}
