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

/// Extractor: the signed-in user, with their present role. Answers 401 without one. Answers 400 for an unknown query
/// parameter. If the route reads no body, it also answers 400 for a JSON body with a field.
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
    /// Finds the user of these headers.
    pub async fn of(state: &AppState, headers: &HeaderMap) -> Result<Self> {
        let secret = secret(state, headers).ok_or_else(|| Error::Unauthenticated {
            code: "not_signed_in",
            message: "sign in, or send an API token as bearer".into(),
        })?;
        Ok(Self(sessions::authenticate(&state.app, &secret).await?))
    }
}

/// The secret of the session or token in a request; `None` without one. A bearer has precedence over a cookie, because
/// a client sends a bearer on purpose.
pub fn secret(state: &AppState, headers: &HeaderMap) -> Option<String> {
    token::bearer(headers).map(str::to_owned).or_else(|| session::read(&state.settings, headers))
}
