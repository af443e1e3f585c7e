//! Text search that gives the same result in both backends.

use admit_core::search::{NameQuery, Term};

use crate::value::Value;

/// A condition: the name of guest `g` matches. It has [`NAME_TERMS`] terms of [`PER_TERM`] parameters each; the macro
/// gets the numbers of the parameters. Each parameter is a LIKE pattern for `g.words`. An absent term is true; a query
/// without terms finds nobody.
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

/// The number of words of a query that the condition uses.
pub(crate) const NAME_TERMS: usize = admit_core::limits::SEARCH_WORDS;
/// The number of parameters of one term.
pub(crate) const PER_TERM: usize = 3;

/// The parameters of [`found_by_name`], in the order of their numbers.
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
