//! Reads request bodies: first the limits, then JSON with errors that name the field (spec §5 and trust §5 row 31).
//!
//! The order is fixed: length known (411), media type (415), encoded size (413), content decoding under caps of size,
//! ratio and depth (413), then parsing (400). Depth is counted while decoding, so the server refuses a body of nested
//! brackets after its first few kilobytes.

mod decode;
mod table;

use std::time::Duration;

use admit_core::limits::{BODY_ENCODED_BYTES, BODY_OBJECT_BYTES};
use axum::body::HttpBody as _;
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

pub use self::decode::Coding;
use self::decode::{CHUNK, Depth, Refused, decode};
pub use self::table::TableBody;
use crate::error::{ApiError, Result};
use crate::strict;

/// The longest pause between two pieces of a body, in seconds. After it the server ends the request.
const PAUSE_SECONDS: u64 = 30;
/// The most memory that is reserved for a body before it arrives, in bytes: enough for the largest upload of Admit's
/// scanner.
const RESERVED_BYTES: usize = 1024 * 1024;
/// How long the server keeps reading a body that it will not use, in seconds.
const DISCARD_SECONDS: u64 = 8;

/// Extractor: a JSON object as `T`, within the size limit for one object. Every error is a problem that names the
/// field. On the organiser's API an unknown field or parameter is an error too.
#[derive(Debug, Clone)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        let (parts, body) = request.into_parts();
        strict::check_request(&parts)?;
        let bytes = read_json(&parts.headers, body).await?;
        no_larger(&bytes, BODY_OBJECT_BYTES)?;
        is_object(&bytes)?;
        strict::check_body(&parts.extensions, &parts.method, &bytes)?;
        Ok(Self(parse(&bytes)?))
    }
}

/// Extractor: a JSON body that is decoded and within all limits, but not parsed. Its items are judged one by one. On
/// the organiser's API an unknown field is refused.
#[derive(Debug, Clone)]
pub struct RawJson(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for RawJson {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        let (parts, body) = request.into_parts();
        let bytes = read_json(&parts.headers, body).await?;
        strict::check_body(&parts.extensions, &parts.method, &bytes)?;
        Ok(Self(bytes))
    }
}

async fn read_json(headers: &HeaderMap, body: axum::body::Body) -> Result<Bytes> {
    has_length(headers)?;
    has_type(headers, "application/json")?;
    read_decoded(headers, body, true).await
}

impl<S: Send + Sync> FromRequest<S> for TableBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self> {
        let (parts, body) = request.into_parts();
        has_length(&parts.headers)?;
        let given = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let kind = table::Kind::of(given)?;
        kind.read(read_decoded(&parts.headers, body, false).await?).await
    }
}

/// Extractor: a file with one JSON document per line, decoded and within the size limits.
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

/// Reads a signed body of at most `most` bytes. A content coding is refused, because the signature is over the sent
/// bytes.
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

/// Extractor: the query string as `T`.
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

/// Extractor: the variables of the path as `T`, one identifier or a tuple of them.
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

/// Parses a decoded body, as [`decode::document`] does.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    decode::document(bytes).map_err(|error| ApiError::field(error.path, error.message))
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        let detail = refused.detail();
        match refused {
            Refused::NotDecodable => Self::new(StatusCode::BAD_REQUEST, "body_not_decodable", detail),
            Refused::TooLarge => Self::too_large("body_too_large", detail),
            Refused::TooDeep => Self::too_large("body_too_deep", detail),
        }
    }
}

/// Refuses a decoded body with more than `most` bytes.
pub fn no_larger(bytes: &[u8], most: usize) -> Result<()> {
    match bytes.len() > most {
        true => {
            Err(ApiError::too_large("body_too_large", format!("a body may have {most} bytes here, after decoding")))
        }
        false => Ok(()),
    }
}

/// Refuses an array where an object is expected. serde would read the array's items as the object's members, in the
/// order in which the code declares them.
pub fn is_object(bytes: &[u8]) -> Result<()> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => Err(ApiError::field("", "must be an object, not an array")),
        _ => Ok(()),
    }
}

/// Checks the headers before the body is read, and gives its content coding.
pub fn json_head(headers: &HeaderMap) -> Result<Coding> {
    has_length(headers)?;
    has_type(headers, "application/json")?;
    coding(headers)
}

/// Fails with 411 if a request has neither a length nor chunks, because it then has no body.
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
        return Ok(decode(coding, &encoded, json)?);
    }
    // Decoding may take long, so it does not run on the threads that answer other requests.
    let decoded = tokio::task::spawn_blocking(move || decode(coding, &encoded, json)).await;
    let lost = |_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the body could not be read");
    Ok(decoded.map_err(lost)??)
}

/// Reads the body's bytes; `None` as soon as they are more than `most`.
async fn collect(body: axum::body::Body, most: usize) -> Result<Option<Bytes>> {
    // A length in a header alone must not make the server reserve that memory.
    let said = usize::try_from(body.size_hint().lower()).unwrap_or(most);
    let mut whole = BytesMut::with_capacity(said.min(RESERVED_BYTES));
    let mut stream = body.into_data_stream();
    let too_slow = |_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", "the body stopped coming");
    while let Some(chunk) = timeout(Duration::from_secs(PAUSE_SECONDS), stream.next()).await.map_err(too_slow)? {
        // A connection that ends, or stops, says nothing about the device, whose failed syncs are counted. So the
        // error is not a 400.
        let chunk =
            chunk.map_err(|_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_cut_off", "the body ended early"))?;
        if whole.len() + chunk.len() > most {
            return Ok(None);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(Some(whole.freeze()))
}

/// Reads a body to its end and drops it. A client that still sends does not read an answer that comes early.
pub async fn discard(body: axum::body::Body) {
    let mut stream = body.into_data_stream();
    let mut left = BODY_ENCODED_BYTES;
    let to_its_end = async {
        while let Some(Ok(chunk)) = stream.next().await
            && chunk.len() <= left
        {
            left -= chunk.len();
        }
    };
    let _ = timeout(Duration::from_secs(DISCARD_SECONDS), to_its_end).await;
}

fn encoded_too_large() -> ApiError {
    ApiError::too_large("body_too_large", format!("a body may have {BODY_ENCODED_BYTES} bytes as sent"))
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
