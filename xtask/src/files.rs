//! The files of the repository, and complaints about them.

use crate::exec;
use crate::source::Source;
use anyhow::{Context, Result, bail};
use std::fmt;
use std::fs;

/// A file of the repository.
pub struct File {
    /// The path from the repository's root, with forward slashes.
    pub path: String,
    /// The file's text.
    pub text: String,
    /// The parts of a Rust file that the checks need. Empty for any other file.
    pub source: Source,
}

/// A fault: its file, its line from 1 (0 means the whole file), and a message that says what to do.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complaint(pub String, pub usize, pub String);

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Complaint(path, line, message) = self;
        if *line == 0 { write!(f, "{path}: {message}") } else { write!(f, "{path}:{line}: {message}") }
    }
}

impl File {
    /// Parses a file if its name ends in `.rs`. A file that is not valid Rust causes a complaint.
    pub fn read(path: &str, text: String, found: &mut Vec<Complaint>) -> File {
        let source = if path.ends_with(".rs") { Source::read(&text) } else { Ok(Source::default()) };
        let source = source.map_err(|error| found.push(Complaint(path.to_owned(), 0, error.to_string())));
        File { path: path.to_owned(), text, source: source.unwrap_or_default() }
    }

    /// Adds a complaint about a line, unless that line or the line above has a `tidy-allow:` with a reason.
    pub fn complain(&self, line: usize, message: impl Into<String>, found: &mut Vec<Complaint>) {
        let near = self.text.lines().skip(line.saturating_sub(2)).take(if line < 2 { line } else { 2 });
        let reasons = near.filter_map(|line| line.split_once("tidy-allow:"));
        if !reasons.into_iter().any(|(_, why)| why.trim().len() >= 8) {
            found.push(Complaint(self.path.clone(), line, message.into()));
        }
    }
}

/// Prints the complaints. If there are any, it fails with an error that names the check `who`.
pub fn tell(who: &str, mut found: Vec<Complaint>) -> Result<()> {
    found.sort();
    found.iter().for_each(|complaint| eprintln!("{complaint}"));
    match found.len() {
        0 => Ok(()),
        count => bail!("{who} has {count} complaint{}", if count == 1 { "" } else { "s" }),
    }
}

/// All files that git tracks or would add, and complaints about invalid Rust files. Ignored files, such as build
/// results, are left out.
pub fn all() -> Result<(Vec<File>, Vec<Complaint>)> {
    let mut git = exec::command("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = exec::output(&mut git).context("`git ls-files` failed: the checks read the files git knows")?;
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    let mut found = Vec::new();
    // A file that cannot be read as text is left out: a picture, or a file that git lists although it was deleted.
    let texts = paths.filter_map(|path| Some((path, fs::read_to_string(exec::root().join(path)).ok()?)));
    let files = texts.map(|(path, text)| File::read(path, text, &mut found)).collect();
    Ok((files, found))
}
