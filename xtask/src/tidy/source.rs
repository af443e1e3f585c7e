//! Source text in three views: code without comments and strings, strings alone, and code without tests.

/// The part of the source to keep. Everything else becomes spaces, so that lines and columns stay the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Code, without comments and without the contents of strings.
    Code,
    /// The contents of strings.
    Strings,
}

/// The two kinds of syntax that the checks read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Rust: raw strings, lifetimes, nested comments.
    Rust,
    /// TypeScript, with three kinds of quotes. It is also good enough for the script part of a Svelte file.
    TypeScript,
}

/// Replaces everything but the wanted part by spaces.
pub fn mask(text: &str, language: Language, keep: Keep) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let blank = |byte: u8| if byte == b'\n' { b'\n' } else { b' ' };
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (length, inside) = if rest.starts_with(b"//") {
            (rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()), None)
        } else if rest.starts_with(b"/*") {
            (block_comment(rest, language), None)
        } else if let Some((open, length, close)) = string(bytes, at, language) {
            (length, Some(open..length.saturating_sub(close).max(open)))
        } else {
            let byte = bytes[at];
            out.push(if keep == Keep::Code { byte } else { blank(byte) });
            at += 1;
            continue;
        };
        for (offset, &byte) in rest[..length].iter().enumerate() {
            let kept = match (&inside, keep) {
                (None, _) => false,
                (Some(range), Keep::Strings) => range.contains(&offset),
                (Some(range), Keep::Code) => !range.contains(&offset),
            };
            out.push(if kept { byte } else { blank(byte) });
        }
        at += length;
    }
    // Bytes were only replaced singly if they are ASCII, or as whole runs, so this is valid UTF-8.
    String::from_utf8_lossy(&out).into_owned()
}

fn block_comment(rest: &[u8], language: Language) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") && (depth == 0 || language == Language::Rust) {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The string or character at `at`: the lengths of its opening, of all of it, and of its closing. `None` if there is
/// none.
fn string(bytes: &[u8], at: usize, language: Language) -> Option<(usize, usize, usize)> {
    let rest = &bytes[at..];
    let quote = *rest.first()?;
    match language {
        Language::TypeScript if matches!(quote, b'"' | b'\'' | b'`') => quoted(rest, 1, quote, quote != b'`'),
        Language::TypeScript => None,
        Language::Rust if quote == b'"' => quoted(rest, 1, b'"', false),
        Language::Rust if quote == b'\'' => {
            // `'a'` and `'\n'` are characters; `'a` alone is a lifetime.
            let long = rest.get(1) == Some(&b'\\');
            let length = if long { quoted(rest, 1, b'\'', true)?.1 } else { 2 + character(rest)? };
            (length <= rest.len()).then_some((1, length, 1))
        }
        Language::Rust if quote == b'r' && !(at > 0 && is_word(bytes[at - 1]) && bytes[at - 1] != b'b') => {
            let hashes = rest[1..].iter().take_while(|&&b| b == b'#').count();
            if rest.get(1 + hashes) != Some(&b'"') {
                return None;
            }
            let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
            let body = &rest[2 + hashes..];
            let end = body.windows(close.len()).position(|window| window == close)?;
            Some((2 + hashes, 2 + hashes + end + close.len(), close.len()))
        }
        Language::Rust => None,
    }
}

fn quoted(rest: &[u8], open: usize, quote: u8, one_line: bool) -> Option<(usize, usize, usize)> {
    let mut at = open;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some((open, at + 1, 1)),
            // A single quote without a partner on its line, as in a regular expression or in a page's text, opens
            // nothing.
            b'\n' if one_line => return None,
            _ => at += 1,
        }
    }
    None
}

/// The number of bytes of the one character between two single quotes.
fn character(rest: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(&rest[1..rest.len().min(5)]);
    let valid = match &text {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&rest[1..1 + error.valid_up_to()]).ok()?,
    };
    let length = valid.chars().next()?.len_utf8();
    (rest.get(1 + length) == Some(&b'\'')).then_some(length)
}

/// Whether the byte can be part of an identifier.
pub fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// The offsets at which `word` is a whole word. `word` may contain `::` or dots.
pub fn words(code: &str, word: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let whole = |at: usize| {
        let before = at > 0 && is_word(bytes[at - 1]) && word.as_bytes().first().is_some_and(|&b| is_word(b));
        let end = at + word.len();
        let after = end < bytes.len() && is_word(bytes[end]) && word.as_bytes().last().is_some_and(|&b| is_word(b));
        !before && !after
    };
    code.match_indices(word).map(|(at, _)| at).filter(|&at| whole(at)).collect()
}

/// The line of an offset, counted from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1
}

/// Whether `line` or the line above has `tidy-allow:` with a reason of at least 8 bytes.
pub fn allowed(text: &str, line: usize) -> bool {
    let reason = |number: usize| {
        let line = number.checked_sub(1).and_then(|index| text.lines().nth(index))?;
        let (_, why) = line.split_once("tidy-allow:")?;
        (why.trim().len() >= 8).then_some(())
    };
    reason(line).or_else(|| reason(line.wrapping_sub(1))).is_some()
}

/// The masked code of a Rust file, with its `#[cfg(test)]` items replaced by spaces.
pub fn product(code: &str) -> String {
    let ranges = tests(code);
    let mut out = code.as_bytes().to_vec();
    for range in ranges {
        for byte in &mut out[range] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The ranges of the `#[cfg(test)]` items in masked code.
pub fn tests(code: &str) -> Vec<std::ops::Range<usize>> {
    let bytes = code.as_bytes();
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (start, marker) in code.match_indices("#[cfg(test)]") {
        if found.last().is_some_and(|range| range.contains(&start)) {
            continue;
        }
        let mut at = start + marker.len();
        let mut depth = 0_usize;
        let mut square = 0_usize;
        while at < bytes.len() {
            match bytes[at] {
                b'[' => square += 1,
                b']' => square = square.saturating_sub(1),
                b'{' => depth += 1,
                b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                b';' if depth == 0 && square == 0 => break,
                _ => {}
            }
            at += 1;
        }
        found.push(start..(at + 1).min(bytes.len()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Keep, Language, allowed, line_of, mask, product, words};

    fn code(text: &str) -> String {
        mask(text, Language::Rust, Keep::Code)
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        assert_eq!(code("a /* b /* c */ d */ e // f\ng"), "a                   e     \ng");
        assert_eq!(code(r#"x("HashMap \" y", z)"#), r#"x("            ", z)"#);
        assert_eq!(code(r##"r#"a " b"# c"##), r##"r#"     "# c"##);
        assert_eq!(code("fn f<'a>(c: &'a str) { '\"' }"), "fn f<'a>(c: &'a str) { ' ' }");
        assert_eq!(code(r"'\'' 'x' b'\\' end"), r"'  ' ' ' b'  ' end");
    }

    #[test]
    fn strings_can_be_seen_alone() {
        let text = "let a = \"SELECT\"; // \"no\"";
        assert_eq!(mask(text, Language::Rust, Keep::Strings).trim(), "SELECT");
        assert_eq!(mask("f('a', `b`)", Language::TypeScript, Keep::Strings).split_whitespace().count(), 2);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("Instant Instantly xInstant ::Instant", "Instant"), [0, 29]);
    }

    #[test]
    fn tests_are_not_product() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\nfn c() {}\n#[cfg(test)]\nmod more;\nfn d() {}";
        let product = product(text);
        assert!(product.contains("fn a") && product.contains("fn c") && product.contains("fn d"));
        assert!(!product.contains("fn b") && !product.contains("more"));
        assert_eq!(product.lines().count(), text.lines().count());
    }

    #[test]
    fn looking_away_needs_a_reason() {
        assert!(allowed("// tidy-allow: a poll loop's pause\nsleep()", 2));
        assert!(allowed("sleep() // tidy-allow: a poll loop's pause", 1));
        assert!(!allowed("// tidy-allow:\nsleep()", 2));
        assert!(!allowed("// tidy-allow: a poll loop's pause\n\nsleep()", 3));
    }

    #[test]
    fn lines_count_from_one() {
        assert_eq!(line_of("a\nb", 0), 1);
        assert_eq!(line_of("a\nb", 2), 2);
    }
}
