//! A signed-in person: a session's cookie, or an API token as bearer.

use admit_app::caller::UserCaller;
use admit_app::error::Error;
use admit_app::sessions;
use axum::extract::FromRequestParts;
use http::HeaderMap;
use http::request::Parts;

use super::{session, token};
use crate::error::{ApiError, Result};
use crate::state::AppState;
use crate::strict;

/// Extractor: who asks, with their role read anew. 401 without one; 400 for a query parameter, or a field of a body
/// that is not read, which the route does not know.
#[derive(Debug, Clone)]
pub struct User(pub UserCaller);

impl FromRequestParts<AppState> for User {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self> {
        let caller = Self::of(state, &parts.headers).await?;
        strict::check_request(parts)?;
        Ok(caller)
    }
}

impl User {
    /// Finds the user that these headers come from.
    pub async fn of(state: &AppState, headers: &HeaderMap) -> Result<Self> {
        let secret = secret(state, headers).ok_or_else(|| Error::Unauthenticated {
            code: "not_signed_in",
            message: "sign in, or send an API token as bearer".into(),
        })?;
        Ok(Self(sessions::authenticate(&state.app, &secret).await?))
    }
}

/// The session's or token's text that a request brings. A bearer goes before a cookie: a client that sends one means
/// it.
pub fn secret(state: &AppState, headers: &HeaderMap) -> Option<String> {
    token::bearer(headers).map(str::to_owned).or_else(|| session::read(&state.settings, headers))
}
