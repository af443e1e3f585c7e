//! Decodes a body's bytes under caps of size, ratio and depth, and parses it with errors that name their field.
//! Nothing here uses HTTP, so the fuzz targets can call it alone.

use std::fmt;
use std::io::Read;

use admit_core::limits::{BODY_DECODED_BYTES, BODY_DEPTH};
use admit_core::wire::problem::{self, FieldError};
use bytes::{Bytes, BytesMut};
use serde::Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};

/// The largest allowed ratio of decoded to sent size, once the body is larger than [`RATIO_FREE_BYTES`]. Scans contain
/// hashes and ids, so real batches have a ratio below ten.
const RATIO: usize = 32;
/// Below this decoded size, in bytes, the ratio is not checked. Honest clients may send small bodies that repeat one
/// row.
const RATIO_FREE_BYTES: usize = 4 * 1024 * 1024;
/// The largest window of a zstd frame, as a power of two: 8 MiB, which RFC 8878 asks every decoder to support.
const ZSTD_WINDOW_LOG: u32 = 23;
/// The number of bytes decoded at a time.
pub const CHUNK: usize = 64 * 1024;

/// The content coding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// No coding.
    Identity,
    /// Any number of gzip members.
    Gzip,
    /// Any number of zstd frames.
    Zstd,
}

/// Why a body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The bytes are not valid in the coding that the header names.
    NotDecodable,
    /// The decoded body exceeds the size limit or the ratio.
    TooLarge,
    /// The JSON is nested deeper than [`BODY_DEPTH`].
    TooDeep,
}

impl Refused {
    /// The reason as a sentence for the client.
    pub fn detail(self) -> String {
        match self {
            Self::NotDecodable => "the body does not decode as its Content-Encoding says".to_owned(),
            Self::TooLarge => format!(
                "a body may have {BODY_DECODED_BYTES} bytes after decoding, and above {RATIO_FREE_BYTES} at most \
                 {RATIO} times its size as sent"
            ),
            Self::TooDeep => format!("the body is nested deeper than {BODY_DEPTH} levels"),
        }
    }
}

/// The largest allowed decoded size, in bytes, of a body of which a client sent `encoded` bytes.
pub fn most(encoded: usize) -> usize {
    encoded.saturating_mul(RATIO).clamp(RATIO_FREE_BYTES, BODY_DECODED_BYTES)
}

/// Decodes all gzip members or zstd frames of a body, and never holds more than the caps allow. With `json` the nesting
/// depth is capped too.
pub fn decode(coding: Coding, encoded: &[u8], json: bool) -> Result<Bytes, Refused> {
    let broken = |_| Refused::NotDecodable;
    let mut reader: Box<dyn Read + '_> = match coding {
        Coding::Identity => Box::new(encoded),
        // Every member is decoded. A decoder of one member would ignore the rest.
        Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(encoded)),
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(encoded).map_err(broken)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(broken)?;
            Box::new(decoder)
        }
    };
    let most = most(encoded.len());
    let (mut depth, mut whole, mut chunk) = (Depth::default(), BytesMut::new(), vec![0; CHUNK]);
    loop {
        let read = reader.read(&mut chunk).map_err(broken)?;
        if read == 0 {
            return Ok(whole.freeze());
        }
        if whole.len() + read > most {
            return Err(Refused::TooLarge);
        }
        if json {
            depth.feed(&chunk[..read])?;
        }
        whole.extend_from_slice(&chunk[..read]);
    }
}

/// Counts the nesting depth in a stream of JSON bytes, outside of strings. It does not check whether they are valid
/// JSON.
#[derive(Debug, Default)]
pub struct Depth {
    open: usize,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    /// Reads the next bytes. Fails when the depth exceeds the limit.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        for &byte in bytes {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'[' | b'{' => {
                    self.open += 1;
                    if self.open > BODY_DEPTH {
                        return Err(Refused::TooDeep);
                    }
                }
                b']' | b'}' => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Parses a decoded body. Refuses text with a NUL: no name, note or id has one, and SQLite and PostgreSQL treat it
/// differently.
pub fn document<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FieldError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(FieldError::new("", "is empty: a JSON document is required"));
    }
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(FieldError::new("", format!("must be UTF-8; byte {} is not", error.valid_up_to())));
    }
    if let Some(path) = nul(bytes) {
        return Err(FieldError::new(path, "must not contain a NUL character"));
    }
    problem::read(bytes)
}

/// The path of the first text with a NUL, if there is one. The document is read only if the escape `\u0000` occurs. It
/// is never held as a tree, which would need a hundred times its size.
fn nul(bytes: &[u8]) -> Option<String> {
    if !bytes.windows(6).any(|six| six == b"\\u0000") {
        return None;
    }
    let mut walk = Walk::default();
    // The walk ends at the first NUL, or where the text is no JSON. The parser gives a better message for the latter.
    let _ = walk.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    walk.found.then_some(walk.path)
}

/// A walk through a document to the first text with a NUL.
#[derive(Default)]
struct Walk {
    /// The path of the present place.
    path: String,
    /// Whether a NUL was found at `path`.
    found: bool,
}

impl Walk {
    fn text<E: serde::de::Error>(&mut self, text: &str) -> Result<(), E> {
        self.found = text.contains('\0');
        if self.found { Err(E::custom("a NUL")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Walk {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Walk {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.text(text)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let above = self.path.len();
        for index in 0_usize.. {
            self.path.push_str(&format!("[{index}]"));
            if items.next_element_seed(&mut *self)?.is_none() {
                break;
            }
            self.path.truncate(above);
        }
        self.path.truncate(above);
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let above = self.path.len();
        while let Some(key) = members.next_key::<String>()? {
            if above > 0 {
                self.path.push('.');
            }
            self.path.push_str(&key.replace('\0', "\\u0000"));
            self.text(&key)?;
            members.next_value_seed(&mut *self)?;
            self.path.truncate(above);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_gzip_member_and_every_zstd_frame_is_read() {
        let two = [gzip(b"[1,"), gzip(b"2]")].concat();
        assert_eq!(decode(Coding::Gzip, &two, true).unwrap(), "[1,2]");
        let frame = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
        // A skippable frame between two real ones: magic number, length, bytes.
        let skippable = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
        let frames = [frame(b"[1,"), skippable, frame(b"2]")].concat();
        assert_eq!(decode(Coding::Zstd, &frames, true).unwrap(), "[1,2]");
    }

    #[test]
    fn a_bomb_ends_at_the_cap() {
        let zeros = vec![b' '; BODY_DECODED_BYTES + 1];
        assert_eq!(decode(Coding::Gzip, &gzip(&zeros), true), Err(Refused::TooLarge));
        assert_eq!(decode(Coding::Zstd, &zstd::encode_all(&zeros[..], 3).unwrap(), true), Err(Refused::TooLarge));
        let members = gzip(&zeros[..1024 * 1024]).repeat(65);
        assert_eq!(decode(Coding::Gzip, &members, true), Err(Refused::TooLarge));
    }

    #[test]
    fn a_bomb_of_brackets_ends_in_its_first_bytes() {
        let brackets = vec![b'['; 3 * 1024 * 1024];
        assert_eq!(decode(Coding::Gzip, &gzip(&brackets), true), Err(Refused::TooDeep));
        // CSV may contain any number of brackets.
        assert!(decode(Coding::Gzip, &gzip(&brackets), false).is_ok());
    }

    #[test]
    fn depth_is_counted_outside_strings_only() {
        let fits = format!("{}{}", "[".repeat(BODY_DEPTH), "]".repeat(BODY_DEPTH));
        assert!(Depth::default().feed(fits.as_bytes()).is_ok());
        assert!(Depth::default().feed(format!("[{fits}]").as_bytes()).is_err());
        let text = format!("\"\\\"{}\"", "[".repeat(100));
        assert!(Depth::default().feed(text.as_bytes()).is_ok());
    }

    #[test]
    fn what_is_cut_off_or_is_not_what_it_says_is_refused() {
        let whole = gzip(b"[1,2,3]");
        assert_eq!(decode(Coding::Gzip, &whole[..whole.len() - 3], true), Err(Refused::NotDecodable));
        assert_eq!(decode(Coding::Zstd, b"[1,2]", true), Err(Refused::NotDecodable));
        let wide = {
            let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
            encoder.window_log(27).unwrap();
            encoder.long_distance_matching(true).unwrap();
            encoder.write_all(&[b' '; 1024]).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(decode(Coding::Zstd, &wide, true), Err(Refused::NotDecodable));
    }

    #[test]
    fn a_nul_is_found_where_it_is() {
        assert_eq!(nul(br#"{"a":[{"b":"x"},{"b":"x\u0000"}]}"#).as_deref(), Some("a[1].b"));
        assert_eq!(nul(br#"{"a":"\\u0000"}"#), None, "an escaped backslash before u0000 is six plain characters");
        assert_eq!(nul(br#"{"a\u0000":1}"#).as_deref(), Some("a\\u0000"));
        assert_eq!(
            nul(br#"{"a":{"b":[1,-2,0.5,null,true,"x"],"c":[[],{"d":"\u0000"}]}}"#).as_deref(),
            Some("a.c[1].d")
        );
        assert_eq!(nul(br#"["\u0000","#).as_deref(), Some("[0]"), "before it turns out to be no JSON");
        assert_eq!(nul(br#"[,"\u0000"]"#), None, "parsing says what this is");
    }
}
