//! A Markdown page as CommonMark reads it: sentences, links, headings, code, tables.

use anyhow::Result;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::ops::Range;

/// A link or picture.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// The line of the link's beginning, from 1.
    pub line: usize,
    /// The text that a page shows.
    pub text: String,
    /// The bytes of the page's text that hold the target.
    pub target: Range<usize>,
}

fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter()
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Paragraphs and list items, each with its first line. Headings, tables and code blocks are left out. Code within a
/// paragraph becomes the word `Code`, and a link becomes its text.
pub fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let (mut found, mut open, mut skipped) = (Vec::new(), None, 0_usize);
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::CodeBlock(_) | Tag::Table(_) | Tag::HtmlBlock) => skipped += 1,
            Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Table | TagEnd::HtmlBlock) => skipped -= 1,
            Event::Start(Tag::Paragraph | Tag::Item) => {
                found.extend(open.replace((line_of(text, range.start), String::new())));
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item) => found.extend(open.take()),
            other if skipped == 0 => {
                // The sign `[` lets a link begin a sentence, even if its text begins in lower case, such as the name of
                // a file.
                let sign = matches!(other, Event::Start(Tag::Link { .. })).then_some("[");
                if let (Some((_, open)), Some(words)) = (&mut open, sign.or(words(&other, Some("Code")))) {
                    open.push_str(words);
                }
            }
            _ => {}
        }
    }
    found
}

/// The text of an event. `code`, if given, replaces the text of code.
fn words<'a>(event: &'a Event, code: Option<&'a str>) -> Option<&'a str> {
    match event {
        Event::Text(text) => Some(text),
        Event::Code(text) => Some(code.unwrap_or(text)),
        Event::SoftBreak | Event::HardBreak => Some(" "),
        _ => None,
    }
}

/// Every link and picture outside code.
pub fn links(text: &str) -> Vec<Link> {
    let (mut found, mut open) = (Vec::<Link>::new(), Vec::new());
    for (event, range) in events(text) {
        match &event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let place = text[range.clone()].rfind(&**dest_url).map(|at| range.start + at);
                let target = place.map_or(0..0, |at| at..at + dest_url.len());
                open.push(Link { line: line_of(text, range.start), text: String::new(), target });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => found.extend(open.pop()),
            other => {
                if let (Some(link), Some(words)) = (open.last_mut(), words(other, None)) {
                    link.text.push_str(words);
                }
            }
        }
    }
    found.sort_by_key(|link| link.target.start);
    found
}

/// The names by which links name the headings, as mdBook makes them.
pub fn anchors(text: &str) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), None::<String>);
    for (event, _) in events(text) {
        match &event {
            Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let title = open.take().unwrap_or_default();
                let name: String = title.trim().chars().filter_map(letter).collect();
                let names = (0..).map(|count| if count == 0 { name.clone() } else { format!("{name}-{count}") });
                let free = names.into_iter().find(|name| !found.contains(name));
                found.extend(free);
            }
            other => {
                if let (Some(title), Some(words)) = (&mut open, words(other, None)) {
                    title.push_str(words);
                }
            }
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

/// The pieces of code within paragraphs, each with its line.
pub fn codes(text: &str) -> Vec<(usize, String)> {
    let code = |(event, range): (Event, Range<usize>)| match event {
        Event::Code(code) => Some((line_of(text, range.start), code.into_string())),
        _ => None,
    };
    events(text).filter_map(code).collect()
}

/// The rows of all tables, without the header rows: line and cells, as they are written.
pub fn rows(text: &str) -> Vec<(usize, Vec<&str>)> {
    let (mut found, mut in_head) = (Vec::new(), false);
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::TableHead) => in_head = true,
            Event::End(TagEnd::TableHead) => in_head = false,
            Event::Start(Tag::TableRow) => found.push((line_of(text, range.start), Vec::new())),
            Event::Start(Tag::TableCell) if !in_head => {
                if let Some((_, cells)) = found.last_mut() {
                    cells.push(text[range].trim_matches('|').trim());
                }
            }
            _ => {}
        }
    }
    found
}

/// The items of the numbered list under a heading: line, number, and the text of each.
pub fn items<'a>(text: &'a str, heading: &str) -> Vec<(usize, usize, &'a str)> {
    let (mut found, mut title, mut lists) = (Vec::new(), None, Vec::new());
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => title = Some(text[range].trim_start_matches('#').trim()),
            Event::Start(Tag::List(first)) => lists.push(first),
            Event::End(TagEnd::List(_)) => drop(lists.pop()),
            Event::Start(Tag::Item) if title == Some(heading) => {
                if let [Some(number)] = &mut lists[..] {
                    found.push((line_of(text, range.start), *number as usize, &text[range]));
                    *number += 1;
                }
            }
            _ => {}
        }
    }
    found
}

/// Renders a page from a template.
pub fn rendered(template: &str, values: &serde_json::Value) -> Result<String> {
    let mut jinja = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    jinja.set_syntax(syntax?);
    jinja.set_undefined_behavior(UndefinedBehavior::Chainable);
    // This filter makes a text fit into a cell of a table.
    jinja.add_filter("cell", |text: &str| {
        text.replace('|', "\\|").replace('<', "&lt;").split_whitespace().collect::<Vec<_>>().join(" ")
    });
    jinja.add_template("kind.jinja", include_str!("docs/kind.jinja"))?;
    Ok(jinja.render_str(template, minijinja::Value::from(Serde(values)))?)
}
