//! The common part of `/api/scanning/sync` and `/api/scans/sync`: it reads an upload's body when the server has memory
//! for it.

use std::pin::pin;
use std::time::Instant;

use admit_app::caller::DeviceCaller;
use admit_app::error::Error;
use admit_core::limits::BODY_ENCODED_BYTES;
use axum::extract::{FromRequest as _, Request};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use tokio::time::timeout;

use crate::adapters::upload_room::Judging;
use crate::body::{Coding, RawJson, discard, json_head};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The assumed ratio of decoded to sent size of a compressed body.
const COMPRESSED: usize = 8;
/// The assumed size of a body without a length, in bytes. Some proxies send every body in chunks.
const USUAL_BYTES: usize = 1024 * 1024;

/// Reads an upload's body, and waits until the server has memory to judge its scans. This memory is `times` the body's
/// length. If it does not become free in time, the function fails with 503 `busy`. The upload counts for the sync limit
/// once its body is read.
#[tracing::instrument(target = "admit::trace", name = "upload.read", skip_all)]
pub async fn read(state: &AppState, caller: &DeviceCaller, request: Request, times: usize) -> Result<(Bytes, Judging)> {
    let came = Instant::now();
    let coding = json_head(request.headers())?;
    let busy = |retry_after_ms| ApiError::from(Error::Later { code: "busy", retry_after_ms });
    let mut place = match state.uploads.read(length(request.headers(), coding), times).await {
        Ok(place) => place,
        Err(retry_after_ms) => {
            // A client that is still sending would not read an early answer.
            discard(request.into_body()).await;
            return Err(busy(retry_after_ms));
        }
    };
    let mut reading = pin!(RawJson::from_request(request, state));
    let read = match timeout(state.uploads.quick(), &mut reading).await {
        Ok(read) => read,
        Err(_) => {
            place = state.uploads.slowed(place);
            reading.await
        }
    };
    let RawJson(body) = read?;
    // The limit is checked before the wait, so a device that sends too often does not wait.
    state.syncs.take(&caller.organization_id, &caller.device_id, state.app.clock.monotonic_ms()).await?;
    let judging = state.uploads.judge(body.len().saturating_mul(times), came).await.map_err(busy)?;
    drop(place);
    Ok((body, judging))
}

/// The number of bytes of memory that a body will take; 0 if it will be refused for its length.
fn length(headers: &HeaderMap, coding: Coding) -> usize {
    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    match said {
        Some(length) if length > BODY_ENCODED_BYTES => 0,
        Some(length) if coding != Coding::Identity => length.saturating_mul(COMPRESSED),
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
            let lines = [("content-type", "application/json")].iter().chain(lines);
            let lines = lines.map(|(key, value)| (name(key), http::HeaderValue::from_static(value)));
            let headers = lines.collect();
            length(&headers, json_head(&headers).unwrap())
        };
        assert_eq!(length_of(&[("content-length", "1000")]), 1_000);
        assert_eq!(length_of(&[("content-length", "1000"), ("content-encoding", "identity")]), 1_000);
        assert_eq!(length_of(&[("content-length", "1000"), ("content-encoding", "gzip")]), 8_000);
        assert_eq!(length_of(&[("transfer-encoding", "chunked")]), USUAL_BYTES);
        assert_eq!(length_of(&[("content-length", "99999999999")]), 0, "refused at once");
    }
}
