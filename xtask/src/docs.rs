//! `cargo xtask docs`: the documentation as a site with a search, in `target/docs-site`.
//!
//! 1. `docs/SUMMARY.md` names the pages: pages of `docs/`, some of the root, and pages that the binary writes.
//! 2. `docs/links.rs` checks every link and changes it into a link of the book. Linked files of the repository are
//!    copied next to the pages, so the site needs no other server.
//! 3. `docs/reference.rs` writes the pages about the command line and the HTTP interface, from the binary.
//! 4. mdBook makes the site from the copy in `target/docs-book`.

pub mod links;
mod reference;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{dist, exec, product};
pub use links::SUMMARY;
pub use reference::PAGES as GENERATED;

/// mdBook, which makes the site, and its version.
const MDBOOK: (&str, &str) = ("mdbook", "0.5.4");

/// Builds the site. Calls `prepare` to build the binary if the one in `ADMIT_BIN`, or else the usual one, is absent.
pub fn build(prepare: impl FnOnce() -> Result<()>) -> Result<()> {
    dist::install(MDBOOK.0, MDBOOK.1)?;
    let binary = std::env::var("ADMIT_BIN").unwrap_or_else(|_| product::binary());
    if !Path::new(&binary).exists() {
        prepare()?;
    }
    let (root, book) = (exec::root(), exec::root().join("target/docs-book"));
    let _ = fs::remove_dir_all(&book);
    let generated = reference::pages(&binary)?;
    let read = |path: &str| generated.get(path).cloned().or_else(|| fs::read_to_string(root.join(path)).ok());
    let summary = read(SUMMARY).context("docs/SUMMARY.md is missing")?;
    let mut pages = BTreeMap::new();
    for path in links::pages(&summary) {
        let text = read(&path).with_context(|| format!("{SUMMARY} names {path}, which is not there"))?;
        pages.insert(path, text);
    }
    let site = links::Site { pages: &pages, exists: &|path| root.join(path).exists() };
    let mut complaints = site.problems(SUMMARY, &summary);
    write(&book, "SUMMARY.md", &site.rewritten(SUMMARY, &summary, &mut |_| Ok(()))?)?;
    for (path, text) in &pages {
        complaints.extend(site.problems(path, text));
        let text = site.rewritten(path, text, &mut |file| copy(&root, &book, file))?;
        write(&book, &links::place(path), &text)?;
    }
    for (path, line, message) in &complaints {
        eprintln!("{path}:{line}: {message}");
    }
    if !complaints.is_empty() {
        bail!("{} links of the documentation lead nowhere", complaints.len());
    }
    fs::copy(root.join("docs/book.toml"), book.join("book.toml")).context("copying docs/book.toml")?;
    exec::run(exec::command(dist::tools().join("bin").join(MDBOOK.0)).arg("build").arg(&book))?;
    println!("the site: {}", root.join("target/docs-site/index.html").display());
    Ok(())
}

fn write(book: &Path, place: &str, text: &str) -> Result<()> {
    let path = book.join("src").join(place);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

/// Copies a linked file next to the pages. For a folder it writes the names of the folder's files.
fn copy(root: &Path, book: &Path, path: &str) -> Result<()> {
    let from = root.join(path);
    if from.is_dir() {
        let mut names = Vec::new();
        for entry in fs::read_dir(&from)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        return write(book, &links::copied(path), &format!("{path}\n\n{}\n", names.join("\n")));
    }
    let to = book.join("src").join(links::copied(path));
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(&from, &to).with_context(|| format!("copying {path}"))?;
    Ok(())
}
