//! Limits the length of sentences. People read documents and rustdoc at night, during an outage, in a second language.

use super::complaint::{Complaint, File};

/// The largest number of words per sentence.
const WORDS: usize = 30;
/// How a line of a table begins. Tables are skipped, because their cells are no sentences.
const TABLES: &str = "|";

/// Complains about each sentence of a document or of rustdoc that has more than [`WORDS`] words.
pub fn check(file: &File, found: &mut Vec<Complaint>) {
    let paragraphs = match file.path.rsplit('.').next() {
        Some("md") if !file.path.starts_with("docs/samples/") => of_markdown(&file.text),
        Some("rs") => of_rustdoc(&file.text),
        _ => return,
    };
    for (line, text) in paragraphs {
        for sentence in sentences(&text) {
            let words = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            if words > WORDS {
                let begins: String = sentence.chars().take(50).collect();
                let message = format!("a sentence of {words} words, at most {WORDS}: split \"{begins}…\"");
                found.push(Complaint::new(file, line, message));
            }
        }
    }
}

/// The paragraphs of Markdown, each with its first line. Headings, tables and code are left out.
fn of_markdown(text: &str) -> Vec<(usize, String)> {
    let mut paragraphs = Paragraphs::default();
    let mut in_code = false;
    for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text.trim())) {
        if text.starts_with("```") {
            in_code = !in_code;
        }
        if in_code || text.starts_with("```") || text.starts_with(['#', '<']) {
            paragraphs.end();
        } else {
            paragraphs.add(line, text);
        }
    }
    paragraphs.all()
}

/// The paragraphs of `///` and `//!` comments, each with its first line.
fn of_rustdoc(text: &str) -> Vec<(usize, String)> {
    let mut paragraphs = Paragraphs::default();
    let mut in_code = false;
    for (line, text) in text.lines().enumerate().map(|(at, text)| (at + 1, text.trim())) {
        let Some(doc) = text.strip_prefix("///").or_else(|| text.strip_prefix("//!")) else {
            paragraphs.end();
            in_code = false;
            continue;
        };
        if doc.trim().starts_with("```") {
            in_code = !in_code;
            paragraphs.end();
        } else if !in_code {
            paragraphs.add(line, doc.trim().trim_start_matches('#'));
        }
    }
    paragraphs.all()
}

#[derive(Default)]
struct Paragraphs {
    done: Vec<(usize, String)>,
    open: Option<(usize, String)>,
}

impl Paragraphs {
    /// Adds a line to the open paragraph, or begins a new one.
    fn add(&mut self, line: usize, text: &str) {
        let is_item =
            text.starts_with(['-', '*', '>', '|']) || text.split_once(". ").is_some_and(|(n, _)| is_number(n));
        if text.is_empty() || is_item {
            self.end();
        }
        if text.is_empty() || text.starts_with(TABLES) {
            return;
        }
        let (_, open) = self.open.get_or_insert_with(|| (line, String::new()));
        open.push(' ');
        open.push_str(text);
    }
    fn end(&mut self) {
        self.done.extend(self.open.take());
    }
    fn all(mut self) -> Vec<(usize, String)> {
        self.end();
        self.done
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Splits a paragraph into sentences; a semicolon ends one too. Text between backticks is one word, and a link counts
/// by its text.
fn sentences(paragraph: &str) -> Vec<String> {
    let text = without_links(&without_code(paragraph));
    let (mut out, mut open) = (Vec::new(), String::new());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        open.push(c);
        let is_over = rest.peek().is_some_and(|next| next.is_whitespace())
            && (c == ';' || matches!(c, '.' | '!' | '?' | ':') && !begins_small(rest.clone()));
        if is_over {
            out.push(std::mem::take(&mut open));
        }
    }
    out.push(open);
    out
}

fn begins_small(mut rest: impl Iterator<Item = char>) -> bool {
    rest.find(|c| !c.is_whitespace()).is_some_and(char::is_lowercase)
}

/// Replaces inline code by one word. A list of codes becomes one word too, so a list of names is no long sentence.
fn without_code(text: &str) -> String {
    let mut out: String =
        text.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "Code" }).collect();
    while out.contains("Code, Code") {
        out = out.replace("Code, Code", "Code");
    }
    out
}

fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("](") {
        out.push_str(before);
        rest = behind.split_once(')').map_or("", |(_, after)| after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        check(&File { path: path.to_owned(), text: text.to_owned() }, &mut found);
        found.into_iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn a_long_sentence_is_found_where_it_begins() {
        let long = "word ".repeat(WORDS + 1);
        assert_eq!(lines("docs/a.md", &format!("# Title\n\nShort one.\n\n{long}.")), [5]);
        assert_eq!(lines("docs/a.md", &format!("- Short.\n- {long}")), [2]);
        assert_eq!(lines("crates/a.rs", &format!("//! Short.\n//!\n//! {long}\nfn f() {{}}")), [3]);
        assert_eq!(lines("crates/a.rs", &format!("/// {}\n/// {}", "word ".repeat(20), "word ".repeat(20))), [1]);
    }

    #[test]
    fn what_is_no_sentence_passes() {
        let (half, long) = (format!("A{}", " word".repeat(19)), "word ".repeat(WORDS + 1));
        assert!(lines("docs/a.md", &format!("{half}. {half}; {half}: {half}")).is_empty());
        assert!(lines("docs/a.md", &format!("```\n{long}\n```\n| {long} |\n## {long}")).is_empty());
        assert!(
            lines("docs/a.md", &format!("See `{long}` and [this](https://a.example/{}).", long.replace(' ', "-")))
                .is_empty()
        );
        assert!(lines("crates/a.rs", &format!("// {long}\nlet x = \"{long}\";")).is_empty());
    }
}
