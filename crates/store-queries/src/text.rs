//! Searching text the same way in both backends.

pub(crate) use admit_core::fold::fold as folded;

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
