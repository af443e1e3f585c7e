//! Checks the links of the documentation, and rewrites them for the book.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use anyhow::Result;

/// The path of the table of contents.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// What is wrong with a link: the page, the line (counted from 1), the message.
pub type Problem = (String, usize, String);

/// The pages of the book, and the repository that they come from.
pub struct Site<'a> {
    /// The text of each page by its path in the repository. It is empty for a page that only the binary can write.
    pub pages: &'a BTreeMap<String, String>,
    /// Whether the repository has this file or folder.
    pub exists: &'a dyn Fn(&str) -> bool,
}

impl Site<'_> {
    /// Finds the links of a page whose target does not exist.
    pub fn problems(&self, page: &str, text: &str) -> Vec<Problem> {
        let mut found = Vec::new();
        for (line, range) in links(text) {
            let Some((path, anchor)) = inner(page, &text[range]) else { continue };
            let Some(path) = path else {
                found.push((page.to_owned(), line, "links to a place above the repository".to_owned()));
                continue;
            };
            if !self.pages.contains_key(&path) && !(self.exists)(&path) {
                found.push((page.to_owned(), line, format!("links to {path}, which is not there")));
                continue;
            }
            let target = self.pages.get(&path).filter(|text| !text.is_empty());
            if let (Some(anchor), Some(target)) = (anchor, target)
                && !anchors(target).contains(&anchor)
            {
                found.push((page.to_owned(), line, format!("links to {path}#{anchor}, and there is no such heading")));
            }
        }
        found
    }

    /// Writes the page for the book. Each link then leads to a page of the book, or to a copy of a file that `copy`
    /// makes.
    pub fn rewritten(&self, page: &str, text: &str, copy: &mut dyn FnMut(&str) -> Result<()>) -> Result<String> {
        let up = "../".repeat(place(page).matches('/').count());
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for (_, range) in links(text) {
            out.push_str(&text[at..range.start]);
            at = range.end;
            let Some((Some(path), anchor)) = inner(page, &text[range.clone()]) else {
                out.push_str(&text[range]);
                continue;
            };
            out.push_str(&up);
            if self.pages.contains_key(&path) {
                out.push_str(&place(&path));
            } else {
                copy(&path)?;
                out.push_str(&copied(&path));
            }
            if let Some(anchor) = anchor {
                out.push('#');
                out.push_str(&anchor);
            }
        }
        out.push_str(&text[at..]);
        Ok(out)
    }
}

/// The paths in the repository of the pages that a table of contents names.
pub fn pages(summary: &str) -> Vec<String> {
    let named = links(summary).into_iter();
    named.filter_map(|(_, range)| inner(SUMMARY, &summary[range])?.0).collect()
}

/// The path in the book of a page of the repository. mdBook renames a README, but not the links to it.
pub fn place(path: &str) -> String {
    let path = path.strip_suffix("README.md").map_or_else(|| path.to_owned(), |folder| format!("{folder}index.md"));
    path.strip_prefix("docs/").map_or_else(|| format!("repository/{path}"), str::to_owned)
}

/// The path in the book of a copied file or folder. Most get the ending `.txt`, which a browser shows. mdBook takes
/// any name with `.md` for a page.
pub fn copied(path: &str) -> String {
    let path = path.strip_suffix(".md").unwrap_or(path);
    let shown = [".png", ".svg", ".txt"].iter().any(|end| path.ends_with(end));
    if shown { place(path) } else { format!("{}.txt", place(path)) }
}

/// The target of a link within the repository: its path and its heading. The path is absent if it is above the
/// repository. `None` for an address elsewhere.
fn inner(page: &str, target: &str) -> Option<(Option<String>, Option<String>)> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) =
        target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor.to_owned())));
    if path.is_empty() {
        return Some((Some(page.to_owned()), anchor));
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Some((None, anchor)),
            ".." => {}
            name => parts.push(name),
        }
    }
    Some((Some(parts.join("/")), anchor))
}

/// Every link outside code: its line (counted from 1) and the range of its target in the text.
fn links(text: &str) -> Vec<(usize, Range<usize>)> {
    let mut found = Vec::new();
    for (index, at, line) in prose(text) {
        let plain = without_code(line);
        let mut from = 0;
        while let Some(open) = plain[from..].find("](") {
            let start = from + open + 2;
            let Some(length) = plain[start..].find(')') else { break };
            found.push((index + 1, at + start..at + start + length));
            from = start + length;
        }
    }
    found
}

/// The lines outside code blocks: number (counted from 0), offset in the text, line.
fn prose(text: &str) -> Vec<(usize, usize, &str)> {
    let (mut found, mut at, mut in_block) = (Vec::new(), 0, false);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            found.push((index, at, line));
        }
        at += line.len();
    }
    found
}

/// The line with inline code replaced by as many bytes of `x`.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    // With an odd number of backticks the last one opens nothing, so the text after it is prose.
    let last = parts.len() - 1;
    let blot = |(index, part): (usize, &&str)| {
        if index % 2 == 1 && index < last { "x".repeat(part.len()) } else { (*part).to_owned() }
    };
    parts.iter().enumerate().map(blot).collect::<Vec<_>>().join("`")
}

/// The anchors of a page's headings, as mdBook makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, _, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let name: String = title.trim().chars().filter_map(letter).collect();
        let mut free = name.clone();
        let mut count = 0;
        while !found.insert(free.clone()) {
            count += 1;
            free = format!("{name}-{count}");
        }
    }
    found
}

fn letter(c: char) -> Option<char> {
    match c {
        c if c.is_whitespace() => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(page: &str, text: &str) -> Vec<String> {
        let pages =
            [("docs/a.md", "# A\n\n## The first start\n"), ("docs/guides/b.md", "# B\n"), ("SECURITY.md", "# S\n")];
        let pages = pages.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let site = Site { pages: &pages, exists: &|path| path == "crates/x.rs" };
        site.problems(page, text).into_iter().map(|(_, line, message)| format!("{line}: {message}")).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        assert_eq!(problems("docs/guides/b.md", "\n[x](c.md)"), ["2: links to docs/guides/c.md, which is not there"]);
        let heading = ["1: links to docs/a.md#the-last, and there is no such heading"];
        assert_eq!(problems("docs/guides/b.md", "[x](../a.md#the-last)"), heading);
        assert_eq!(problems("docs/a.md", "[x](#none)"), ["1: links to docs/a.md#none, and there is no such heading"]);
        assert_eq!(problems("SECURITY.md", "[x](../../etc)").len(), 1, "nothing above the repository is ours");
    }

    #[test]
    fn what_leads_somewhere_and_what_is_no_link_pass() {
        let good = "[`a`](../a.md#the-first-start) [b](b.md) [c](../../SECURITY.md) [d](https://x.example/y) [e](../../crates/x.rs)\n\
                    `[x](y.md)`\n```\n[x](y.md)\n```\n";
        assert_eq!(problems("docs/guides/b.md", good), [""; 0]);
    }

    #[test]
    fn links_become_those_of_the_book() {
        let pages: BTreeMap<String, String> = [("docs/a.md", "# A\n"), ("SECURITY.md", "# S\n")]
            .map(|(path, text)| (path.to_owned(), text.to_owned()))
            .into();
        let site = Site { pages: &pages, exists: &|_| true };
        let mut copies = Vec::new();
        let text = "[a](../a.md#a) [s](../../SECURITY.md) [x](../../crates/x.rs) [r](../../ops/R.md) ![p](../images/p.png) \
                    [w](https://x.example)";
        let out = site.rewritten("docs/guides/b.md", text, &mut |path| {
            copies.push(path.to_owned());
            Ok(())
        });
        let wanted = "[a](../a.md#a) [s](../repository/SECURITY.md) [x](../repository/crates/x.rs.txt) [r](../repository/ops/R.txt) \
                      ![p](../images/p.png) \
                      [w](https://x.example)";
        assert_eq!(out.unwrap(), wanted);
        assert_eq!(copies, ["crates/x.rs", "ops/R.md", "docs/images/p.png"]);
    }

    #[test]
    fn headings_are_called_as_mdbook_calls_them() {
        let names = anchors("# Two words\n## `code` & more\n## Two words\n```\n# none\n```\n#none\n");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["code--more", "two-words", "two-words-1"]);
    }
}
