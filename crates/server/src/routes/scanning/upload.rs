//! What the two ways of uploading share: a body is read, and judged, once there is room for it.

use std::pin::pin;

use admit_app::error::Error;
use admit_core::limits::BODY_ENCODED_BYTES;
use axum::extract::{FromRequest as _, Request};
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use tokio::time::timeout;

use crate::adapters::upload_room::Judging;
use crate::body::{RawJson, discard};
use crate::error::Result;
use crate::state::AppState;

/// How many times its length a compressed body is taken for until it is known.
const COMPRESSED: usize = 8;
/// What a body in chunks is taken for, as some proxies send every body on.
const USUAL_BYTES: usize = 1024 * 1024;

/// Reads an upload's body and waits until it can be judged; it weighs `times` its length beside others. Without room for it:
/// 503 `busy`, which counts as no sync.
pub async fn read(state: &AppState, request: Request, times: usize) -> Result<(Bytes, Judging)> {
    let place = match state.uploads.read(length(request.headers())).await {
        Ok(place) => place,
        Err(retry_after_ms) => {
            // Who is still sending would not hear the answer.
            discard(request.into_body()).await;
            return Err(Error::Later { code: "busy", retry_after_ms }.into());
        }
    };
    let mut place = Some(place);
    let mut reading = pin!(RawJson::from_request(request, state));
    let read = match timeout(state.uploads.quick(), &mut reading).await {
        Ok(read) => read,
        Err(_) => {
            // What comes slowly must not stand before what comes quickly.
            place = None;
            reading.await
        }
    };
    let RawJson(body) = read?;
    let judging = state.uploads.judge(body.len().saturating_mul(times)).await;
    drop(place);
    Ok((body, judging))
}

/// Bytes that a body is going to take; none of one that is refused for what its head says.
fn length(headers: &HeaderMap) -> usize {
    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let coded = headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    match said {
        Some(length) if length > BODY_ENCODED_BYTES => 0,
        Some(length) if coded => length.saturating_mul(COMPRESSED),
        Some(length) => length,
        None => USUAL_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_takes_what_its_head_says() {
        let length_of = |lines: &[(&'static str, &'static str)]| {
            let name = |name: &'static str| http::HeaderName::from_static(name);
            let lines = lines.iter().map(|(key, value)| (name(key), http::HeaderValue::from_static(value)));
            length(&lines.collect())
        };
        assert_eq!(length_of(&[("content-length", "1000")]), 1_000);
        assert_eq!(length_of(&[("content-length", "1000"), ("content-encoding", "identity")]), 1_000);
        assert_eq!(length_of(&[("content-length", "1000"), ("content-encoding", "gzip")]), 8_000);
        assert_eq!(length_of(&[("transfer-encoding", "chunked")]), USUAL_BYTES);
        assert_eq!(length_of(&[("content-length", "99999999999")]), 0, "refused at once");
    }
}
