//! Searching text the same way in both backends.

use admit_core::search::{NameQuery, Term};

use crate::value::Value;

/// Whether guest `g` is found by a name: a condition over [`NAME_TERMS`] terms of [`PER_TERM`] parameters each, whose
/// numbers it is given. Each parameter is a LIKE pattern of `g.words`. A term that is absent is true; a query without terms
/// finds nobody.
macro_rules! found_by_name {
    ($a:literal $b:literal $c:literal $(, $word:literal $plain:literal $joined:literal)*) => {
        concat!(
            "((g.words LIKE $", $a, " OR g.words LIKE $", $b, " OR g.words LIKE $", $c, ")",
            $(" AND (CAST($", $word, " AS TEXT) IS NULL OR g.words LIKE $", $word, " OR g.words LIKE $", $plain,
                " OR g.words LIKE $", $joined, ")",)*
            ")"
        )
    };
}
pub(crate) use found_by_name;

/// Terms of a query that a statement takes.
pub(crate) const NAME_TERMS: usize = admit_core::limits::SEARCH_WORDS;
/// Parameters of a term.
pub(crate) const PER_TERM: usize = 3;

/// The parameters of [`found_by_name`], in the order of the numbers it is given.
pub(crate) fn name_patterns(text: Option<&str>) -> Vec<Value<'static>> {
    let query = text.map(NameQuery::new);
    let terms = query.as_ref().map_or(&[][..], NameQuery::terms);
    let mut values: Vec<Value<'static>> = terms.iter().flat_map(patterns).collect();
    values.resize(NAME_TERMS * PER_TERM, Value::Null);
    values
}

fn patterns(term: &Term) -> [Value<'static>; PER_TERM] {
    let begins = |word: &String| format!("% {word}%");
    let plain = term.plain.as_ref().map(|word| format!("% {word} %"));
    [begins(&term.word).into(), plain.into(), term.joined.as_ref().map(begins).into()]
}

/// A LIKE pattern (ESCAPE '!') that finds the text anywhere.
pub(crate) fn contains(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars() {
        if matches!(c, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
