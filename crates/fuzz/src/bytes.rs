//! Bytes as a row of choices. A missing byte counts as nought, so that every text of bytes is a valid one, and a
//! shorter one a simpler one.

/// The bytes that are left to choose from.
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// All of them.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
    /// Nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The next one.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
    /// The next two as a number.
    pub fn short(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }
    /// One of several.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[usize::from(self.byte()) % of.len()]
    }
    /// A piece of the length that the next byte says.
    pub fn piece(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        piece
    }
    /// The same as text.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.piece()).into_owned()
    }
    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// A piece as [`Bytes::piece`] reads it.
pub fn piece(text: &str) -> Vec<u8> {
    let text = &text.as_bytes()[..text.len().min(255)];
    [&[text.len() as u8], text].concat()
}
