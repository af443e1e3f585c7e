//! `cargo xtask docs`: the documentation as a site with a search, in `target/docs-site`.
//!
//! 1. `docs/SUMMARY.md` names the pages: those of `docs/`, some of the root, and the reference pages that are made from
//!    the binary.
//! 2. Every link is checked and rewritten for the book. Files of the repository that a page links are copied into the
//!    book, so that the site works without the repository.
//! 3. `docs/reference.rs` writes the pages of the command line and the HTTP interface from the binary.
//! 4. mdBook makes the site from the copy in `target/docs-book`.

mod reference;

use crate::files::{Complaint, tell};
use crate::{dist, exec, markdown, product};
use anyhow::{Context, Result};
pub use reference::PAGES as GENERATED;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The table of contents.
pub const SUMMARY: &str = "docs/SUMMARY.md";
/// The version of mdBook that makes the site.
const MDBOOK: (&str, &str) = ("mdbook", "0.5.4");

/// The pages of the book, and the files of the repository that they may link.
pub struct Site<'a> {
    /// The text of each page, by its path in the repository. It is empty for a page that is made from the binary.
    pub pages: &'a BTreeMap<String, String>,
    /// Whether the repository has this file or folder.
    pub exists: &'a dyn Fn(&str) -> bool,
}

impl Site<'_> {
    /// The links of a page that lead nowhere.
    pub fn problems(&self, page: &str, text: &str) -> Vec<Complaint> {
        let mut found = Vec::new();
        for link in markdown::links(text) {
            let Some((path, anchor)) = inner(page, &text[link.target]) else { continue };
            let target = path.as_ref().and_then(|path| self.pages.get(path)).filter(|text| !text.is_empty());
            let message = match (path, anchor, target) {
                (None, ..) => "links to a place above the repository".to_owned(),
                (Some(path), ..) if !self.pages.contains_key(&path) && !(self.exists)(&path) => {
                    format!("links to {path}, which is not there")
                }
                (Some(path), Some(anchor), Some(target)) if !markdown::anchors(target).contains(&anchor) => {
                    format!("links to {path}#{anchor}, and there is no such heading")
                }
                _ => continue,
            };
            found.push(Complaint(page.to_owned(), link.line, message));
        }
        found
    }

    /// The page as the book has it: each link leads to a page of the book, or to a copy of the file, which `copy`
    /// makes.
    pub fn rewritten(&self, page: &str, text: &str, copy: &mut dyn FnMut(&str) -> Result<()>) -> Result<String> {
        let up = "../".repeat(place(page).matches('/').count());
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for target in markdown::links(text).into_iter().map(|link| link.target) {
            let Some((Some(path), anchor)) = inner(page, &text[target.clone()]) else { continue };
            let there = if self.pages.contains_key(&path) { place(&path) } else { copied(&path) };
            if !self.pages.contains_key(&path) {
                copy(&path)?;
            }
            let anchor = anchor.map_or(String::new(), |anchor| format!("#{anchor}"));
            out += &format!("{}{up}{there}{anchor}", &text[at..target.start]);
            at = target.end;
        }
        Ok(out + &text[at..])
    }
}

/// The pages that a table of contents names, by their paths in the repository.
pub fn pages(summary: &str) -> Vec<String> {
    let links = markdown::links(summary).into_iter();
    links.filter_map(|link| inner(SUMMARY, &summary[link.target])?.0).collect()
}

/// The path of a page within the book. mdBook renames `README.md` to `index.md`, but does not change the links to it.
fn place(path: &str) -> String {
    let path = path.strip_suffix("README.md").map_or_else(|| path.to_owned(), |folder| format!("{folder}index.md"));
    path.strip_prefix("docs/").map_or_else(|| format!("repository/{path}"), str::to_owned)
}

/// The path within the book of a copied file or folder that is no page. A text gets the ending `.txt`, so that a
/// browser shows it. The ending `.md` is removed, because mdBook would take the file for a page.
fn copied(path: &str) -> String {
    let path = path.strip_suffix(".md").unwrap_or(path);
    let shown = [".png", ".svg", ".txt"].iter().any(|end| path.ends_with(end));
    if shown { place(path) } else { format!("{}.txt", place(path)) }
}

/// The target of a link within the repository. The first value is its path, `None` if it points above the repository;
/// the second is its heading. The result is `None` for an address elsewhere.
fn inner(page: &str, target: &str) -> Option<(Option<String>, Option<String>)> {
    if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { Some(page.to_owned()) } else { beside(page, path) };
    Some((path, anchor.map(str::to_owned)))
}

/// The path in the repository of `path`, which is relative to `file`. `None` if it is above the repository.
pub fn beside(file: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Builds the site. `prepare` builds the binary. It is called if the binary, which `ADMIT_BIN` may name, does not
/// exist.
pub fn build(prepare: impl FnOnce() -> Result<()>) -> Result<()> {
    dist::install(MDBOOK.0, MDBOOK.1)?;
    let binary = std::env::var("ADMIT_BIN").unwrap_or_else(|_| product::built("admit"));
    if !Path::new(&binary).exists() {
        prepare()?;
    }
    let (root, book) = (exec::root(), exec::root().join("target/docs-book"));
    let _ = fs::remove_dir_all(&book);
    let generated = reference::pages(&binary)?;
    let read = |path: &str| generated.get(path).cloned().or_else(|| fs::read_to_string(root.join(path)).ok());
    let summary = read(SUMMARY).context("docs/SUMMARY.md is missing")?;
    let text = |path: String| Ok((path.clone(), read(&path).with_context(|| format!("{SUMMARY} names {path}"))?));
    let pages = pages(&summary).into_iter().map(text).collect::<Result<BTreeMap<String, String>>>()?;
    let site = Site { pages: &pages, exists: &|path| root.join(path).exists() };
    let mut complaints = site.problems(SUMMARY, &summary);
    write(&book, "SUMMARY.md", &site.rewritten(SUMMARY, &summary, &mut |_| Ok(()))?)?;
    for (path, text) in &pages {
        complaints.extend(site.problems(path, text));
        let text = site.rewritten(path, text, &mut |file| copy(&root, &book, file))?;
        write(&book, &place(path), &text)?;
    }
    tell("the documentation", complaints)?;
    fs::copy(root.join("docs/book.toml"), book.join("book.toml")).context("copying docs/book.toml")?;
    exec::run(exec::command(dist::tools().join("bin").join(MDBOOK.0)).arg("build").arg(&book))?;
    println!("the site: {}", root.join("target/docs-site/index.html").display());
    Ok(())
}

/// Copies a linked file into the book. For a folder it writes a list of the names in it.
fn copy(root: &Path, book: &Path, path: &str) -> Result<()> {
    let from = root.join(path);
    if !from.is_dir() {
        return write(book, &copied(path), fs::read(&from).with_context(|| format!("copying {path}"))?);
    }
    let names = fs::read_dir(&from)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    write(book, &copied(path), format!("{path}\n\n{}\n", names.join("\n")))
}

fn write(book: &Path, place: &str, text: impl AsRef<[u8]>) -> Result<()> {
    let path = book.join("src").join(place);
    fs::create_dir_all(path.parent().unwrap_or(book))?;
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}
