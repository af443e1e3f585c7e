//! The laws of the project that neither the compiler nor clippy can check. Each check is a function from text to
//! complaints, so that a test can show when it complains and when it does not.
//!
//! A line that must break a law has `tidy-allow: why` on itself or on the line above.

mod complaint;
mod source;
mod text;
mod layout;
mod order;
mod typescript;
mod prose;

use crate::conformance;
use crate::docs;
use crate::exec;
use anyhow::{Context, Result, bail};
use complaint::{Complaint, File};
use std::collections::BTreeMap;
use std::fs;

/// `cargo xtask tidy`: prints every complaint and fails if there is one.
pub fn run() -> Result<()> {
    let files = files()?;
    let complaints = complaints(&files);
    for Complaint { path, line, message } in &complaints {
        match line {
            0 => eprintln!("{path}: {message}"),
            _ => eprintln!("{path}:{line}: {message}"),
        }
    }
    match complaints.len() {
        0 => Ok(()),
        count => bail!("tidy has {count} complaint{}", if count == 1 { "" } else { "s" }),
    }
}

fn complaints(files: &[File]) -> Vec<Complaint> {
    let mut found = Vec::new();
    for file in files {
        text::check(file, &mut found);
        layout::check(file, &mut found);
        prose::check(file, &mut found);
    }
    order::check(files, &mut found);
    typescript::check(files, &mut found);
    layout::map_is_true(files, &mut found);
    proofs_are_there(files, &mut found);
    links_lead_somewhere(files, &mut found);
    found.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    found
}

/// Checks that every test named as a proof exists.
fn proofs_are_there(files: &[File], found: &mut Vec<Complaint>) {
    let read = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.clone());
    let faults = conformance::all_faults(&read).into_iter();
    found.extend(faults.map(|(path, line, message)| Complaint { path: path.to_owned(), line, message }));
}

/// Checks that every link of a page has a target, and that the site has every page of `docs/`.
fn links_lead_somewhere(files: &[File], found: &mut Vec<Complaint>) {
    let written = files.iter().filter(|file| file.path.ends_with(".md"));
    let mut pages: BTreeMap<String, String> = written.map(|file| (file.path.clone(), file.text.clone())).collect();
    let summary = pages.get(docs::SUMMARY).cloned().unwrap_or_default();
    let in_site = docs::links::pages(&summary);
    for path in pages.keys().filter(|path| path.starts_with("docs/") && *path != docs::SUMMARY) {
        if !in_site.contains(path) {
            let message = format!("the site lacks this page: name it in {}", docs::SUMMARY);
            found.push(Complaint { path: path.clone(), line: 0, message });
        }
    }
    // The binary writes these pages when the site is built, so their headings are not known here.
    pages.extend(docs::GENERATED.map(|path| (path.to_owned(), String::new())));
    let site = docs::links::Site { pages: &pages, exists: &|path| exec::root().join(path).exists() };
    for (path, text) in &pages {
        let problems = site.problems(path, text).into_iter();
        found.extend(problems.map(|(path, line, message)| Complaint { path, line, message }));
    }
}

/// Reads every file that git knows or would add. Ignored files, such as build outputs, are left out.
fn files() -> Result<Vec<File>> {
    let mut git = exec::command("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = exec::output(&mut git).context("`git ls-files` failed: tidy reads the files git knows")?;
    let mut files = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        // Pictures are not text, and a listed file may be deleted; both are left out.
        if let Ok(text) = fs::read_to_string(exec::root().join(path)) {
            files.push(File { path: path.to_owned(), text });
        }
    }
    Ok(files)
}
