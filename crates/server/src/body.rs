//! Reading requests: caps before anything else, then JSON whose errors name their field (spec §5 and trust.md §5 row 31).
//!
//! The order is fixed: length known (411), media type (415), encoded size (413), content decoding under caps of size,
//! ratio and depth (413), then parsing (400). Depth is counted while decoding, so a bomb of brackets ends in its first
//! few kilobytes.

use std::io::Read;
use std::time::Duration;

use admit_core::limits::{BODY_DECODED_BYTES, BODY_DEPTH, BODY_ENCODED_BYTES};
use admit_core::wire::problem;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::error::{ApiError, Result};

/// How many times larger than sent a body may become, once it is larger than [`RATIO_FREE_BYTES`]. Scans hold hashes
/// and ids: real batches shrink by less than ten.
const RATIO: usize = 32;
/// Below this size the ratio is not looked at: small bodies of one repeated row are honest.
const RATIO_FREE_BYTES: usize = 4 * 1024 * 1024;
/// Largest window a zstd frame may ask for, as a power of two: 8 MiB, what RFC 8878 asks every decoder to bear.
const ZSTD_WINDOW_LOG: u32 = 23;
/// Longest pause between two pieces of a body, in seconds: a sender that stops holds a connection, not for ever.
const PAUSE_SECONDS: u64 = 30;
/// Bytes decoded at a time.
const CHUNK: usize = 64 * 1024;

/// A JSON object as `T`. Everything that can be wrong with it is answered as a problem that names the field.
#[derive(Debug, Clone)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let RawJson(bytes) = RawJson::from_request(request, state).await?;
        is_object(&bytes)?;
        Ok(Self(parse(&bytes)?))
    }
}

/// A JSON body, decoded and within every cap, but not parsed: for an envelope whose items are judged one by one.
#[derive(Debug, Clone)]
pub struct RawJson(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for RawJson {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        let (parts, body) = request.into_parts();
        has_length(&parts.headers)?;
        has_type(&parts.headers, "application/json")?;
        read_decoded(&parts.headers, body, true).await.map(Self)
    }
}

/// A body of another media type, decoded and within every cap of size: `TYPE` is what it must say it is.
#[derive(Debug, Clone)]
pub struct CsvBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for CsvBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        let (parts, body) = request.into_parts();
        has_length(&parts.headers)?;
        has_type(&parts.headers, "text/csv")?;
        read_decoded(&parts.headers, body, false).await.map(Self)
    }
}

/// JSON lines: a file of one JSON document a line, decoded and within every cap of size.
#[derive(Debug, Clone)]
pub struct LinesBody(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for LinesBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        let (parts, body) = request.into_parts();
        has_length(&parts.headers)?;
        has_type(&parts.headers, "application/x-ndjson")?;
        read_decoded(&parts.headers, body, false).await.map(Self)
    }
}

/// A body whose bytes somebody signed: at most `most`, as sent. No content coding: what was signed is what came.
pub async fn signed_bytes(headers: &HeaderMap, body: axum::body::Body, most: usize) -> Result<Bytes> {
    has_length(headers)?;
    has_type(headers, "application/json")?;
    if coding(headers)? != Coding::Identity {
        let detail = "a signed body comes without a Content-Encoding";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_content_encoding", detail));
    }
    let too_large = || ApiError::too_large("body_too_large", format!("a body may have {most} bytes here"));
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let bytes = collect(body, most).await?.ok_or_else(too_large)?;
    Depth::default().feed(&bytes)?;
    Ok(bytes)
}

/// The query string as `T`.
#[derive(Debug, Clone)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self> {
        let query = parts.uri.query().unwrap_or_default();
        let source = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
        serde_path_to_error::deserialize(source).map(Self).map_err(|error| {
            let text = error.inner().to_string();
            let missing = text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
            let repeated = text.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`'));
            match (missing, repeated) {
                (Some(field), _) => ApiError::field(field, "is required"),
                (_, Some(field)) => ApiError::field(field, "may be given once only"),
                _ => ApiError::field(error.path().to_string(), text),
            }
        })
    }
}

/// The variables of the path as `T`: one identifier, or a tuple of them.
#[derive(Debug, Clone)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(PathRejection::FailedToDeserializePathParams(error)) => Err(match error.into_kind() {
                ErrorKind::ParseErrorAtKey { key, expected_type, .. } => {
                    ApiError::field(key, format!("must be {expected_type}"))
                }
                ErrorKind::DeserializeError { key, message, .. } => ApiError::field(key, message),
                ErrorKind::InvalidUtf8InPathParam { key } => ApiError::field(key, "must be UTF-8"),
                other => ApiError::field("path", other.to_string()),
            }),
            Err(other) => Err(ApiError::field("path", other.to_string())),
        }
    }
}

/// Parses a decoded body. Text with a NUL is refused: no name, note or id has one, and stores disagree about it.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ApiError::field("", "is empty: a JSON document is required"));
    }
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err(ApiError::field("", format!("must be UTF-8; byte {} is not", error.valid_up_to())));
    }
    if let Some(path) = nul(bytes) {
        return Err(ApiError::field(path, "must not contain a NUL character"));
    }
    problem::read(bytes).map_err(|error| ApiError::field(error.path, error.message))
}

/// Refuses an array where an object is meant: serde would take its items for the members, in the order of the code.
pub fn is_object(bytes: &[u8]) -> Result<()> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => Err(ApiError::field("", "must be an object, not an array")),
        _ => Ok(()),
    }
}

/// Where a text has a NUL, if one does. The document is walked only when the escape occurs at all.
fn nul(bytes: &[u8]) -> Option<String> {
    if !bytes.windows(6).any(|six| six == b"\\u0000") {
        return None;
    }
    fn find(value: &serde_json::Value, path: &str) -> Option<String> {
        let under = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match value {
            serde_json::Value::String(text) => text.contains('\0').then(|| path.to_owned()),
            serde_json::Value::Array(items) => {
                items.iter().enumerate().find_map(|(index, item)| find(item, &format!("{path}[{index}]")))
            }
            serde_json::Value::Object(members) => members.iter().find_map(|(key, value)| {
                if key.contains('\0') { Some(under(&key.replace('\0', "\\u0000"))) } else { find(value, &under(key)) }
            }),
            _ => None,
        }
    }
    // Not JSON at all: parsing says so in better words.
    find(&serde_json::from_slice(bytes).ok()?, "")
}

/// 411 without a length or chunks: such a request has no body, whatever its sender meant.
fn has_length(headers: &HeaderMap) -> Result<()> {
    if headers.contains_key(CONTENT_LENGTH) || headers.contains_key(TRANSFER_ENCODING) {
        return Ok(());
    }
    let detail = "send a body, with a Content-Length or in chunks";
    Err(ApiError::new(StatusCode::LENGTH_REQUIRED, "length_required", detail))
}

fn has_type(headers: &HeaderMap, expected: &str) -> Result<()> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(expected) {
        return Ok(());
    }
    let detail = format!("Content-Type must be {expected}");
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail))
}

async fn read_decoded(headers: &HeaderMap, body: axum::body::Body, json: bool) -> Result<Bytes> {
    let coding = coding(headers)?;
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > BODY_ENCODED_BYTES as u64) {
        return Err(encoded_too_large());
    }
    let encoded = collect(body, BODY_ENCODED_BYTES).await?.ok_or_else(encoded_too_large)?;
    if coding == Coding::Identity {
        let mut depth = Depth::default();
        if json {
            depth.feed(&encoded)?;
        }
        return Ok(encoded);
    }
    if encoded.len() < CHUNK {
        return decode(coding, &encoded, json);
    }
    // Long enough to matter: not on the threads that answer everybody else.
    let decoded = tokio::task::spawn_blocking(move || decode(coding, &encoded, json)).await;
    decoded.map_err(|_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the body could not be read"))?
}

/// The body's bytes; `None` as soon as they are more than `most`.
async fn collect(body: axum::body::Body, most: usize) -> Result<Option<Bytes>> {
    let mut stream = body.into_data_stream();
    let mut whole = BytesMut::new();
    let too_slow = |_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", "the body stopped coming");
    while let Some(chunk) = timeout(Duration::from_secs(PAUSE_SECONDS), stream.next()).await.map_err(too_slow)? {
        let chunk =
            chunk.map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "body_cut_off", "the body ended early"))?;
        if whole.len() + chunk.len() > most {
            return Ok(None);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(Some(whole.freeze()))
}

fn encoded_too_large() -> ApiError {
    ApiError::too_large("body_too_large", format!("a body may have {BODY_ENCODED_BYTES} bytes as sent"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Zstd,
}

fn coding(headers: &HeaderMap) -> Result<Coding> {
    let mut given = headers.get_all(CONTENT_ENCODING).iter();
    let (first, second) = (given.next(), given.next());
    let word = first.map_or("", |value| value.to_str().unwrap_or("?")).trim().to_ascii_lowercase();
    match (word.as_str(), second) {
        ("" | "identity", None) => Ok(Coding::Identity),
        ("gzip" | "x-gzip", None) => Ok(Coding::Gzip),
        ("zstd", None) => Ok(Coding::Zstd),
        _ => {
            let detail = "Content-Encoding must be gzip or zstd, once";
            Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_content_encoding", detail))
        }
    }
}

/// Decodes all members and frames of a body, never holding more than the caps allow.
fn decode(coding: Coding, encoded: &[u8], json: bool) -> Result<Bytes> {
    let broken = |_| {
        let detail = "the body does not decode as its Content-Encoding says";
        ApiError::new(StatusCode::BAD_REQUEST, "body_not_decodable", detail)
    };
    let mut reader: Box<dyn Read + '_> = match coding {
        Coding::Identity => Box::new(encoded),
        // Every member counts: a decoder of one member alone would leave the rest unseen.
        Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(encoded)),
        Coding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(encoded).map_err(broken)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(broken)?;
            Box::new(decoder)
        }
    };
    let most = encoded.len().saturating_mul(RATIO).clamp(RATIO_FREE_BYTES, BODY_DECODED_BYTES);
    let (mut depth, mut whole, mut chunk) = (Depth::default(), BytesMut::new(), vec![0; CHUNK]);
    loop {
        let read = reader.read(&mut chunk).map_err(broken)?;
        if read == 0 {
            return Ok(whole.freeze());
        }
        if whole.len() + read > most {
            let detail = format!(
                "a body may have {BODY_DECODED_BYTES} bytes after decoding, and above {RATIO_FREE_BYTES} at most \
                 {RATIO} times its size as sent"
            );
            return Err(ApiError::too_large("body_too_large", detail));
        }
        if json {
            depth.feed(&chunk[..read])?;
        }
        whole.extend_from_slice(&chunk[..read]);
    }
}

/// Counts nesting in a stream of JSON bytes, strings left out. Says nothing about whether they are JSON.
#[derive(Debug, Default)]
struct Depth {
    open: usize,
    in_string: bool,
    escaped: bool,
}

impl Depth {
    fn feed(&mut self, bytes: &[u8]) -> Result<()> {
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
                        let detail = format!("the body is nested deeper than {BODY_DEPTH} levels");
                        return Err(ApiError::too_large("body_too_deep", detail));
                    }
                }
                b']' | b'}' => self.open = self.open.saturating_sub(1),
                _ => {}
            }
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

    fn code<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().code().to_owned()
    }

    #[test]
    fn every_gzip_member_and_every_zstd_frame_is_read() {
        let two = [gzip(b"[1,"), gzip(b"2]")].concat();
        assert_eq!(decode(Coding::Gzip, &two, true).unwrap(), "[1,2]");
        let frame = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
        // A skippable frame between two real ones: magic, length, bytes.
        let skippable = [&0x184D_2A50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
        let frames = [frame(b"[1,"), skippable, frame(b"2]")].concat();
        assert_eq!(decode(Coding::Zstd, &frames, true).unwrap(), "[1,2]");
    }

    #[test]
    fn a_bomb_ends_at_the_cap() {
        let zeros = vec![b' '; BODY_DECODED_BYTES + 1];
        assert_eq!(code(decode(Coding::Gzip, &gzip(&zeros), true)), "body_too_large");
        assert_eq!(code(decode(Coding::Zstd, &zstd::encode_all(&zeros[..], 3).unwrap(), true)), "body_too_large");
        let members = gzip(&zeros[..1024 * 1024]).repeat(65);
        assert_eq!(code(decode(Coding::Gzip, &members, true)), "body_too_large");
    }

    #[test]
    fn a_bomb_of_brackets_ends_in_its_first_bytes() {
        let brackets = vec![b'['; 3 * 1024 * 1024];
        assert_eq!(code(decode(Coding::Gzip, &gzip(&brackets), true)), "body_too_deep");
        // CSV may hold any number of brackets.
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
        assert_eq!(code(decode(Coding::Gzip, &whole[..whole.len() - 3], true)), "body_not_decodable");
        assert_eq!(code(decode(Coding::Zstd, b"[1,2]", true)), "body_not_decodable");
        let wide = {
            let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
            encoder.window_log(27).unwrap();
            encoder.long_distance_matching(true).unwrap();
            encoder.write_all(&[b' '; 1024]).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(code(decode(Coding::Zstd, &wide, true)), "body_not_decodable");
    }

    #[test]
    fn a_nul_is_found_where_it_is() {
        assert_eq!(nul(br#"{"a":[{"b":"x"},{"b":"x\u0000"}]}"#).as_deref(), Some("a[1].b"));
        assert_eq!(nul(br#"{"a":"\\u0000"}"#), None, "an escaped backslash before u0000 is six plain characters");
        assert_eq!(nul(br#"{"a\u0000":1}"#).as_deref(), Some("a\\u0000"));
    }
}
