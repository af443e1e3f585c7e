//! The bytes of an input as a sequence of choices. A missing byte counts as 0. So every input is valid, and a shorter
//! input is a simpler one.

/// The bytes that have not been read yet.
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// Begins at the first of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
    /// Whether all bytes have been read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Reads the next byte; 0 at the end.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
    /// Reads the next two bytes as a number, high byte first.
    pub fn short(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }
    /// Chooses one of several values by the next byte.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[usize::from(self.byte()) % of.len()]
    }
    /// Reads a piece: the next byte is its length. The piece is shorter if fewer bytes are left.
    pub fn piece(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        piece
    }
    /// Reads a piece as text. Bytes that are not UTF-8 are replaced.
    pub fn text(&mut self) -> String {
        String::from_utf8_lossy(self.piece()).into_owned()
    }
    /// Reads all bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Writes a text as a piece that [`Bytes::piece`] reads, cut to 255 bytes.
pub fn piece(text: &str) -> Vec<u8> {
    let text = &text.as_bytes()[..text.len().min(255)];
    [&[text.len() as u8], text].concat()
}
