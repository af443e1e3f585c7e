//! `/api/session`: signing in and out (spec §5).

use admit_app::caller::UserCaller;
use admit_app::error::Error;
use admit_app::members;
use admit_app::sessions::{self, Candidate};
use admit_core::ids::OrganizationId;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::SET_COOKIE;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::blocking;
use crate::auth::peer::Client;
use crate::auth::user::{self, User};
use crate::auth::{session, token};
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The most passwords that are hashed at a time. Each takes one core and 19 MiB.
static HASHING: Semaphore = Semaphore::const_new(2);
/// The most sign-ins that may wait. Further ones are told to come back in a second, so that a flood does not block
/// others.
static WAITING: Semaphore = Semaphore::const_new(64);

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show, create, delete)).routes(routes!(change_password))
}

/// The credentials of a person who signs in.
#[derive(Deserialize, ToSchema)]
struct SignIn {
    /// E-mail.
    email: String,
    /// The password.
    password: String,
    /// One of the user's organisations. If absent, the one that they joined first.
    organization_id: Option<OrganizationId>,
}

/// The signed-in user and their organisation.
#[derive(Serialize, ToSchema)]
struct Session {
    user_id: String,
    email: String,
    name: String,
    /// `owner`, `manager`, `promoter`, `door` or `viewer`.
    role: String,
    organization_id: String,
    organization_name: String,
}

/// The signed-in user.
#[utoipa::path(get, path = "/api/session", tag = "organisers", extensions(("x-actions" = json!([]))), responses(
    (status = 200, description = "The caller", body = Session),
    (status = 401, description = "Not signed in"),
))]
async fn show(State(state): State<AppState>, User(caller): User) -> Result<Json<Session>> {
    Ok(Json(me(&state, &caller).await?))
}

/// Signs in. The answer sets an HttpOnly cookie that is valid for 14 days.
///
/// An unknown e-mail and a wrong password get the same answer in the same time. One network address may fail 30 times a
/// minute. The session that the browser had before ends.
#[utoipa::path(post, path = "/api/session", tag = "organisers", request_body = SignIn, responses(
    (status = 200, description = "Signed in; `Set-Cookie` holds the session", body = Session),
    (status = 401, description = "`wrong_credentials`"),
    (status = 429, description = "`rate_limited`, with Retry-After"),
))]
async fn create(
    State(state): State<AppState>,
    Client(address): Client,
    headers: HeaderMap,
    JsonBody(request): JsonBody<SignIn>,
) -> Result<Response> {
    let now_ms = state.app.clock.monotonic_ms();
    if let Some(retry_after_ms) = state.sign_ins.must_wait(address, now_ms) {
        return Err(Error::Later { code: "rate_limited", retry_after_ms }.into());
    }
    // The attempt is counted before it is tried, so parallel attempts all count.
    state.sign_ins.count(address, now_ms);
    let response = sign_in(&state, request).await;
    if response.is_ok() {
        end_former(&state, &headers).await?;
    }
    match &response {
        Err(error) if error.status() == StatusCode::UNAUTHORIZED => {
            tracing::warn!(event = "session.refused", %address, "a sign-in was refused");
            if let Some(retry_after_ms) = state.sign_ins.must_wait(address, now_ms) {
                tracing::warn!(event = "session.must_wait", %address, retry_after_ms, "too many failed from there");
            }
        }
        _ => state.sign_ins.forgive(address),
    }
    response
}

/// Ends the session that a browser had before it signed in again. The new cookie replaces the old one, so nobody could
/// sign the former session out any more.
async fn end_former(state: &AppState, headers: &HeaderMap) -> Result<()> {
    let Some(secret) = session::read(&state.settings, headers) else { return Ok(()) };
    match sessions::authenticate(&state.app, &secret).await {
        Ok(caller) => Ok(sessions::delete(&state.app, &caller, &secret).await?),
        // The former session has ended already.
        Err(_) => Ok(()),
    }
}

async fn sign_in(state: &AppState, request: SignIn) -> Result<Response> {
    let candidate = sessions::look_up(&state.app, &request.email).await?;
    let candidate = in_turn(async move {
        sessions::check(&candidate, &request.password)?;
        Ok(candidate)
    })
    .await?;
    signed_in(state, candidate, request.organization_id).await
}

/// Runs work that hashes a password, when it is its turn.
async fn in_turn<T: Send + 'static>(
    work: impl Future<Output = admit_app::error::Result<T>> + Send + 'static,
) -> Result<T> {
    let place = WAITING.try_acquire().map_err(|_| Error::Later { code: "busy", retry_after_ms: 1_000 })?;
    let turn = HASHING.acquire().await.map_err(|error| Error::Bug(error.to_string()))?;
    let done = blocking(work).await;
    drop((turn, place));
    done
}

/// Makes a new session for a person whose password was right.
async fn signed_in(
    state: &AppState,
    candidate: Candidate,
    organization_id: Option<OrganizationId>,
) -> Result<Response> {
    let made = sessions::create(&state.app, candidate, organization_id).await?;
    let seconds = made.expires_at.since(state.app.clock.now()) / 1_000;
    let mut response = Json(me(state, &made.caller).await?).into_response();
    response.headers_mut().insert(SET_COOKIE, session::set(&state.settings, &made.token, seconds));
    Ok(response)
}

/// A new password for the signed-in user.
#[derive(Deserialize, ToSchema)]
struct NewPassword {
    /// The present password.
    present: String,
    /// The new password, at least 10 characters.
    password: String,
}

/// Changes the password of the signed-in user, who must give the present one.
///
/// All sessions of the user end, and the answer begins a new session. API tokens stay valid. A wrong present password
/// counts as a failed sign-in.
#[utoipa::path(post, path = "/api/session/password", tag = "organisers", request_body = NewPassword,
    extensions(("x-actions" = json!([]))), security(("session" = [])), responses(
    (status = 200, description = "Changed; `Set-Cookie` holds a fresh session", body = Session),
    (status = 403, description = "`session_needed`: an API token changes no password"),
    (status = 429, description = "`rate_limited`, with Retry-After"),
))]
async fn change_password(
    State(state): State<AppState>,
    User(caller): User,
    Client(address): Client,
    headers: HeaderMap,
    JsonBody(request): JsonBody<NewPassword>,
) -> Result<Response> {
    if token::bearer(&headers).is_some() {
        return Err(Error::denied("session_needed", "an API token changes no password: sign in").into());
    }
    let now_ms = state.app.clock.monotonic_ms();
    if let Some(retry_after_ms) = state.sign_ins.must_wait(address, now_ms) {
        return Err(Error::Later { code: "rate_limited", retry_after_ms }.into());
    }
    state.sign_ins.count(address, now_ms);
    let email = sessions::show(&state.app, &caller).await?.member.email;
    let candidate = sessions::look_up(&state.app, &email).await?;
    let present = request.present;
    let checked = in_turn(async move { sessions::check(&candidate, &present) }).await;
    if let Err(error) = checked {
        if error.status() != StatusCode::UNAUTHORIZED {
            return Err(error);
        }
        tracing::warn!(event = "session.refused", %address, "a present password was wrong");
        return Err(ApiError::field("present", "is not your present password"));
    }
    state.sign_ins.forgive(address);
    let (app, by, password) = (state.app.clone(), caller.clone(), request.password);
    in_turn(async move { members::set_password(&app, &by, &password).await }).await?;
    let candidate = sessions::look_up(&state.app, &email).await?;
    signed_in(&state, candidate, Some(caller.organization_id)).await
}

/// Signs out. This does not work for an API token, which is withdrawn at `/api/api-tokens`.
#[utoipa::path(delete, path = "/api/session", tag = "organisers", extensions(("x-actions" = json!([]))), security(("session" = [])), responses(
    (status = 204, description = "Signed out"),
    (status = 401, description = "Not signed in"),
))]
async fn delete(State(state): State<AppState>, User(caller): User, headers: HeaderMap) -> Result<Response> {
    if let Some(secret) = user::secret(&state, &headers) {
        sessions::delete(&state.app, &caller, &secret).await?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().insert(SET_COOKIE, session::clear(&state.settings));
    Ok(response)
}

async fn me(state: &AppState, caller: &UserCaller) -> Result<Session> {
    let me = sessions::show(&state.app, caller).await?;
    Ok(Session {
        user_id: me.member.user_id.to_string(),
        email: me.member.email,
        name: me.member.name,
        role: me.member.role.to_string(),
        organization_id: me.organization.organization_id.to_string(),
        organization_name: me.organization.name,
    })
}
