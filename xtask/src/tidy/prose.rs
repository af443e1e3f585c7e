//! Checks the sentences of documents and rustdoc. People read them at night, during an outage, in a second language.

use crate::files::{Complaint, File};
use crate::markdown;
use regex::Regex;
use std::sync::LazyLock;

/// Most words of a sentence.
const WORDS: usize = 30;
/// No sentence may begin with these words, because the reader must then guess what it is about. A question or a title
/// may.
const RIDDLES: [&str; 3] = ["What ", "Whoever ", "Of which "];

/// Sentences of too many words.
pub fn long_sentences(files: &[File]) -> Vec<Complaint> {
    complaints(files, |sentence| {
        let words = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
        (words > WORDS).then(|| format!("a sentence of {words} words, at most {WORDS}: split"))
    })
}

/// Sentences that open with a riddle.
pub fn riddles(files: &[File]) -> Vec<Complaint> {
    complaints(files, |sentence| {
        let opens = RIDDLES.iter().any(|riddle| sentence.starts_with(riddle));
        (opens && sentence.ends_with(['.', ';', ':'])).then(|| "opens with a riddle, say who does what:".to_owned())
    })
}

fn complaints(files: &[File], wrong: impl Fn(&str) -> Option<String>) -> Vec<Complaint> {
    let mut found = Vec::new();
    for file in files {
        for (first, text) in texts(file) {
            for (line, paragraph) in markdown::paragraphs(text) {
                for sentence in sentences(&paragraph) {
                    if let Some(message) = wrong(&sentence) {
                        let begins: String = sentence.chars().take(50).collect();
                        file.complain(first + line - 1, format!("{message} \"{begins}…\""), &mut found);
                    }
                }
            }
        }
    }
    found
}

/// The Markdown texts of a file, each with its first line: a whole page, or the documentation blocks of a Rust file.
fn texts(file: &File) -> Vec<(usize, &str)> {
    match file.path.rsplit('.').next() {
        Some("md") if !file.path.starts_with("docs/samples/") => vec![(1, &file.text)],
        Some("rs") => file.source.docs.iter().map(|(line, text)| (*line, text.as_str())).collect(),
        _ => Vec::new(),
    }
}

/// Splits a paragraph into sentences. A semicolon ends one too. A list of code words counts as one word, so that a
/// vocabulary is no long sentence.
fn sentences(paragraph: &str) -> Vec<String> {
    static LIST: LazyLock<Regex> = LazyLock::new(|| Regex::new("Code(, Code)+").expect("a constant"));
    static END: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(;|[.!?:])\s+").expect("a constant"));
    let text = LIST.replace_all(paragraph, "Code");
    let (mut found, mut from) = (Vec::new(), 0);
    for over in END.captures_iter(&text) {
        let (sign, whole) = (over.get_match(), &over[1]);
        if whole == ";" || !text[sign.end()..].starts_with(char::is_lowercase) {
            found.push(text[from..sign.end()].trim().to_owned());
            from = sign.end();
        }
    }
    found.push(text[from..].trim().to_owned());
    found
}
