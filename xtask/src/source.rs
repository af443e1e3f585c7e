//! A Rust file as the compiler's lexer sees it: comments and strings are not code, and the body of a macro is code.

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path, such as `std::fs::read`. Each leaf of a `use` is a path of its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Path {
    /// The segments, such as `std`, `fs` and `read`.
    pub segments: Vec<String>,
    /// The line of the last segment, from 1.
    pub line: usize,
    /// Whether the path is under `#[cfg(test)]`.
    pub is_test: bool,
}

/// The parts of a file that the checks ask about.
#[derive(Debug, Default)]
pub struct Source {
    /// Every path, from top to bottom.
    pub paths: Vec<Path>,
    /// String literals as they are written, each with its line.
    pub strings: Vec<(usize, String)>,
    /// Blocks of documentation in Markdown, each with its first line.
    pub docs: Vec<(usize, String)>,
    /// Functions with their attributes.
    pub functions: Vec<(String, Vec<String>)>,
    /// The modules that are files of their own, without test modules, in the order of their `mod` lines.
    pub modules: Vec<String>,
    /// Names of the types that the file declares, tests aside.
    pub types: Vec<String>,
    /// Names of the traits that the file declares, each with its line, tests aside.
    pub traits: Vec<(String, usize)>,
    /// The type of each `impl` block with its line, tests aside.
    pub impls: Vec<(String, usize)>,
}

impl Source {
    /// Reads a file.
    pub fn read(text: &str) -> Result<Source> {
        let mut source = Source::default();
        let tokens = text
            .parse::<TokenStream>()
            .map_err(|error| anyhow!("line {} is not Rust: {error}", error.span().start().line))?;
        source.walk(tokens, false);
        Ok(source)
    }

    fn walk(&mut self, tokens: TokenStream, in_test: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut at, mut is_test, mut attributes) = (0, in_test, Vec::new());
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Punct(sign) if sign.as_char() == '#' => {
                    at += usize::from(is_sign(tokens.get(at + 1), '!'));
                    if let Some(TokenTree::Group(group)) = tokens.get(at + 1) {
                        let text = group.stream().to_string().replace(' ', "");
                        is_test |= text == "cfg(test)";
                        if text.starts_with("doc=") {
                            self.doc(group.stream());
                        } else {
                            self.walk(group.stream(), is_test);
                        }
                        attributes.push(text);
                        at += 1;
                    }
                }
                TokenTree::Ident(word) => {
                    if let (true, Some(TokenTree::Ident(name))) = (word == "fn", tokens.get(at + 1)) {
                        self.functions.push((name.to_string(), std::mem::take(&mut attributes)));
                    }
                    if let (true, false, Some(TokenTree::Ident(name))) = (word == "mod", is_test, tokens.get(at + 1))
                        && is_sign(tokens.get(at + 2), ';')
                    {
                        self.modules.push(name.to_string());
                    }
                    if let (false, Some(TokenTree::Ident(name))) = (is_test, tokens.get(at + 1))
                        && ["struct", "enum", "type"].iter().any(|keyword| word == keyword)
                    {
                        self.types.push(name.to_string());
                    }
                    if let (true, false, Some(TokenTree::Ident(name))) = (word == "trait", is_test, tokens.get(at + 1))
                    {
                        self.traits.push((name.to_string(), name.span().start().line));
                    }
                    if word == "impl" && !is_test && begins_an_item(&tokens[..at]) {
                        self.impls.extend(implemented(&tokens[at + 1..]).map(|name| (name, word.span().start().line)));
                    }
                    at = self.path(&tokens, at, Vec::new(), is_test);
                    continue;
                }
                TokenTree::Group(group) => {
                    let visibility = group.delimiter() == Delimiter::Parenthesis
                        && matches!(at.checked_sub(1).map(|at| &tokens[at]), Some(TokenTree::Ident(word)) if word == "pub");
                    if !visibility {
                        self.walk(group.stream(), is_test);
                    }
                    if group.delimiter() == Delimiter::Brace {
                        is_test = in_test;
                        attributes.clear();
                    }
                }
                TokenTree::Punct(sign) if sign.as_char() == ';' => {
                    is_test = in_test;
                    attributes.clear();
                }
                TokenTree::Literal(literal) if literal.to_string().contains('"') => {
                    self.strings.push((literal.span().start().line, literal.to_string()));
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads the rest of a path from the token `at` on. `before` has the segments so far. Returns the position after
    /// the path.
    fn path(&mut self, tokens: &[TokenTree], mut at: usize, mut before: Vec<String>, is_test: bool) -> usize {
        let mut line = 0;
        loop {
            match tokens.get(at) {
                Some(TokenTree::Ident(word)) => {
                    before.push(word.to_string());
                    line = word.span().start().line;
                    at += 1;
                }
                Some(TokenTree::Group(group)) if line > 0 && group.delimiter() == Delimiter::Brace => {
                    let tree: Vec<TokenTree> = group.stream().into_iter().collect();
                    for branch in tree.split(|token| is_sign(Some(token), ',')).filter(|branch| !branch.is_empty()) {
                        self.path(branch, 0, before.clone(), is_test);
                    }
                    return at + 1;
                }
                Some(TokenTree::Punct(sign)) if line > 0 && sign.as_char() == '*' => {
                    before.push("*".to_owned());
                    break;
                }
                _ => break,
            }
            // A brace is a part of the path only after `::`.
            if !(is_sign(tokens.get(at), ':') && is_sign(tokens.get(at + 1), ':')) {
                break;
            }
            at += 2;
        }
        if line == 0 {
            return at + 1;
        }
        self.paths.push(Path { segments: before, line, is_test });
        at
    }

    /// Adds a line of documentation: to the block right above, or as a new one.
    fn doc(&mut self, attribute: TokenStream) {
        let Some(TokenTree::Literal(literal)) = attribute.into_iter().nth(2) else { return };
        let line = literal.span().start().line;
        let syn::Lit::Str(text) = syn::Lit::new(literal) else { return };
        match self.docs.last_mut().filter(|(first, block)| first + block.lines().count() == line) {
            Some((_, block)) => block.push_str(&text.value()),
            None => self.docs.push((line, text.value())),
        }
        self.docs.last_mut().expect("one was just there").1.push('\n');
    }
}

/// Whether an item begins after these tokens. If not, an `impl` there belongs to the type of a value.
fn begins_an_item(before: &[TokenTree]) -> bool {
    match before.last() {
        None => true,
        Some(TokenTree::Group(group)) => group.delimiter() != Delimiter::Parenthesis,
        Some(TokenTree::Ident(word)) => word == "unsafe",
        sign => is_sign(sign, ';'),
    }
}

/// The last name of the type that an `impl` block is for. `tokens` follow the word `impl`. `None` if the type has no
/// name, such as a tuple.
fn implemented(tokens: &[TokenTree]) -> Option<String> {
    let (mut name, mut depth) = (None, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => break,
            TokenTree::Punct(sign) if sign.as_char() == '<' => depth += 1,
            // The `>` of an arrow closes nothing.
            TokenTree::Punct(sign) if sign.as_char() == '>' => {
                depth -= i32::from(!at.checked_sub(1).is_some_and(|at| is_sign(tokens.get(at), '-')));
            }
            TokenTree::Ident(word) if depth == 0 && word == "where" => break,
            TokenTree::Ident(word) if depth == 0 => name = (word != "for").then(|| word.to_string()),
            _ => {}
        }
    }
    name
}

fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}
