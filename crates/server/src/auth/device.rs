//! Authentication of devices, by API key as bearer. The middleware around every device route authenticates. Before the
//! handler runs, it checks the witness that the device sent. Afterwards it adds the newest witness to the answer (spec
//! §3 "Epoch and witness").

use admit_app::caller::DeviceCaller;
use admit_app::error::Error;
use admit_app::ports::{TRACES, read};
use admit_app::records::Head;
use admit_app::{devices, epochs};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::wire::scanning::{WITNESS_HEADER, Witness};
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use tracing::Instrument as _;

use super::token;
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// Extractor: the device that sends the request. It works only behind [`frame`].
#[derive(Debug, Clone)]
pub struct Device(pub DeviceCaller);

impl FromRequestParts<AppState> for Device {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &AppState) -> Result<Self> {
        let missing = || Error::Bug("a device route outside the device frame".into());
        Ok(parts.extensions.get::<Device>().cloned().ok_or_else(missing)?)
    }
}

/// An extension that a handler adds to its answer: the event whose witness the answer brings. Without it the answer
/// brings the witness of the device's own event.
#[derive(Debug, Clone)]
pub struct WitnessOf(pub EventId);

/// An extension with the witness itself, for a handler that has it.
#[derive(Debug, Clone)]
struct Newest(Witness);

/// Records the event's head as a handler wrote or read it. The server makes the answer's witness of this head and need
/// not read the head again.
pub fn tell_newest(state: &AppState, event_id: &EventId, head: &Head, response: &mut Response) {
    response.extensions_mut().insert(Newest(epochs::witness_of(&state.app, event_id, head)));
}

/// Finds the device with this key. Fails with 401 `unknown_key` if there is none.
pub async fn authenticate(state: &AppState, headers: &HeaderMap) -> Result<DeviceCaller> {
    let missing = || Error::Unauthenticated { code: "no_key", message: "send the device's API key as bearer".into() };
    let key = token::bearer(headers).ok_or_else(missing)?;
    Ok(devices::authenticate(&state.app, key).await?)
}

/// The middleware around every route that takes [`Device`].
pub async fn frame(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let span = tracing::info_span!(target: TRACES, "device.authenticate");
    let caller = match authenticate(&state, request.headers()).instrument(span).await {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    let organization_id = caller.organization_id.clone();
    let device_id = caller.device_id.clone();
    if let Err(error) = look_at_witness(&state, &organization_id, request.headers()).await {
        return error.into_response();
    }
    request.extensions_mut().insert(Device(caller));
    let mut response = next.run(request).await;
    if let Some(Newest(witness)) = response.extensions().get::<Newest>().cloned() {
        put_witness(&witness, response.headers_mut());
        return response;
    }
    let named = response.extensions().get::<WitnessOf>().map(|one| one.0.clone());
    let event_id = match named {
        Some(event_id) => Some(event_id),
        None => {
            let device = read(&*state.app.store, &organization_id, move |tx| tx.device(&device_id)).await;
            device.ok().flatten().map(|device| device.event_id)
        }
    };
    if let Some(event_id) = event_id {
        add_witness(&state, &organization_id, &event_id, response.headers_mut()).await;
    }
    response
}

/// Checks the witness of a request. A text that is no witness is ignored, as is one of another server.
pub async fn look_at_witness(state: &AppState, organization_id: &OrganizationId, headers: &HeaderMap) -> Result<()> {
    let text = headers.get(WITNESS_HEADER).and_then(|value| value.to_str().ok());
    match text.and_then(|text| text.parse::<Witness>().ok()) {
        Some(witness) => Ok(epochs::check_witness(&state.app, organization_id, &witness).await?),
        None => Ok(()),
    }
}

/// Adds the event's newest witness to an answer. If that fails the answer goes out without it.
pub async fn add_witness(state: &AppState, org: &OrganizationId, event_id: &EventId, headers: &mut HeaderMap) {
    if let Ok(witness) = epochs::witness(&state.app, org, event_id).await {
        put_witness(&witness, headers);
    }
}

fn put_witness(witness: &Witness, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::from_str(&witness.to_string()) {
        headers.insert(HeaderName::from_static(WITNESS_HEADER), value);
    }
}
