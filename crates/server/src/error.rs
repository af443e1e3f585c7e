//! Turns every error into `application/problem+json`. No other module does this (spec §5, law 13).

use admit_app::error::{Error, FieldError};
use admit_core::wire::problem::{FieldError as WireFieldError, Problem};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value};

/// The media type of every error answer (RFC 9457).
pub const PROBLEM_JSON: &str = "application/problem+json";

/// The code of a field or parameter that the organiser's API does not know.
const UNKNOWN_FIELD: &str = "unknown_field";

/// The return type of a handler.
pub type Result<T> = std::result::Result<T, ApiError>;

/// An error answer. Handlers make it with `?` from [`admit_app::error::Error`].
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError(Box<Parts>);

#[derive(Debug, Clone, PartialEq)]
struct Parts {
    status: StatusCode,
    code: String,
    detail: String,
    errors: Vec<FieldError>,
    details: Map<String, Value>,
    retry_after_ms: Option<i64>,
    /// The cause, for the log alone; it is never sent.
    cause: Option<String>,
}

impl ApiError {
    /// A problem with a status, a stable code and a sentence for people.
    pub fn new(status: StatusCode, code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            status,
            code: code.into(),
            detail: detail.into(),
            errors: Vec::new(),
            details: Map::new(),
            retry_after_ms: None,
            cause: None,
        }))
    }
    /// 400 with one wrong field. `path` is empty for the whole document.
    pub fn field(path: impl Into<String>, message: impl Into<String>) -> Self {
        Error::invalid(path, message).into()
    }
    /// 400 `unknown_field`. Each unknown name has its path and a sentence about it.
    pub fn unknown_fields(unknown: impl IntoIterator<Item = (String, String)>) -> Self {
        let errors: Vec<FieldError> = unknown.into_iter().map(|(path, message)| FieldError { path, message }).collect();
        let sentences: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
        let mut out = Self::new(StatusCode::BAD_REQUEST, UNKNOWN_FIELD, sentences.join(" "));
        out.0.errors = errors;
        out
    }
    /// 413, for one of the limits of [`admit_core::limits`].
    pub fn too_large(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, code, detail)
    }
    /// The HTTP status of the answer.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }
    /// The stable code of the problem.
    pub fn code(&self) -> &str {
        &self.0.code
    }
    /// The sentence about this occurrence.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
    /// Adds a member to the problem.
    pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(member.to_owned(), value.into());
        self
    }

    fn problem(&self) -> Problem {
        let errors = self.0.errors.iter();
        Problem {
            kind: "about:blank".to_owned(),
            title: self.0.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.0.status.as_u16(),
            code: self.0.code.clone(),
            detail: self.0.detail.clone(),
            errors: errors.map(|error| WireFieldError::new(error.path.clone(), &error.message)).collect(),
            details: self.0.details.clone(),
        }
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Invalid { code, errors } => {
                let mut out = Self::new(StatusCode::BAD_REQUEST, code, sentence(&errors));
                out.0.errors = errors;
                out
            }
            Error::Unauthenticated { code, message } => Self::new(StatusCode::UNAUTHORIZED, code, message),
            Error::Denied { code, message, details } => {
                let mut out = Self::new(StatusCode::FORBIDDEN, code, message);
                if let Some(Value::Object(members)) = details.map(|value| *value) {
                    out.0.details = members;
                }
                out
            }
            Error::NotFound { what } => {
                Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {}", what.replace('_', " ")))
            }
            Error::Gone { code, message } => Self::new(StatusCode::GONE, code, message),
            Error::Conflict { code, message } => Self::new(StatusCode::CONFLICT, code, message),
            Error::Unprocessable { code, message } => Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message),
            Error::Later { code, retry_after_ms } => {
                let status = if code == "rate_limited" {
                    StatusCode::TOO_MANY_REQUESTS
                } else {
                    StatusCode::SERVICE_UNAVAILABLE
                };
                let mut out = Self::new(status, code, format!("try again in {} s", seconds(retry_after_ms)));
                out.0.retry_after_ms = Some(retry_after_ms);
                out
            }
            Error::Bug(_) => {
                let mut out = Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "internal",
                    "something went wrong here; the log names this request's id",
                );
                out.0.cause = Some(text);
                out
            }
        }
    }
}

/// `field: message; field: message`, for the log and for clients that read only the sentence.
fn sentence(errors: &[FieldError]) -> String {
    let one = |error: &FieldError| match error.path.as_str() {
        "" => format!("the body {}", error.message),
        path => format!("{path} {}", error.message),
    };
    errors.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The code of an answer to an upload for which the server has no memory free ([`crate::adapters::upload_room`]).
const BUSY: &str = "busy";

/// Marks an answer with the code `busy`, as an extension. After an outage many phones get such an answer, and nobody
/// has to act. So it does not count as a failure of the server.
#[derive(Debug, Clone, Copy)]
pub struct Busy;

/// Whole seconds for `Retry-After`, rounded up, at least one.
fn seconds(ms: i64) -> i64 {
    ms.max(1).saturating_add(999) / 1000
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if let Some(cause) = &self.0.cause {
            tracing::error!(code = self.0.code, cause, "request failed");
        }
        let body = serde_json::to_vec(&self.problem()).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.0.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(ms) = self.0.retry_after_ms {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds(ms)));
        }
        if self.0.code == BUSY {
            response.extensions_mut().insert(Busy);
        }
        if let Some(event) = Refusal::of(self.0.status) {
            response.extensions_mut().insert((event, self.0.code.clone()));
        }
        let headers = response.headers_mut();
        if self.0.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"admit\""));
        }
        response
    }
}

/// Why an answer is a line of the log (ASVS 16.3). It is an extension of the answer, beside the code of the problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// 401 or 403: the caller tries keys, or asks for what they may not see.
    Access,
    /// 429: the caller comes more often than a limit allows.
    Limited,
    /// 400, 413 or 415: no part of the request can be used.
    Malformed,
}

impl Refusal {
    fn of(status: StatusCode) -> Option<Self> {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Some(Self::Access),
            StatusCode::TOO_MANY_REQUESTS => Some(Self::Limited),
            StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE | StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Some(Self::Malformed)
            }
            _ => None,
        }
    }
    /// Logs it. `code` is that of the problem, `address` that of the caller. Call it inside the request's span.
    pub fn log(self, status: StatusCode, code: &str, address: std::net::IpAddr) {
        let status = status.as_u16();
        match self {
            Self::Access => tracing::info!(event = "access.refused", status, code, %address, "refused"),
            Self::Limited => tracing::info!(event = "access.limited", status, code, %address, "refused"),
            Self::Malformed => tracing::info!(event = "request.malformed", status, code, %address, "refused"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_callers_too_many_requests_and_malformed_ones_are_lines_of_the_log() {
        let invalid = Error::Invalid { code: "invalid_request", errors: Vec::new() };
        let later = |code| Error::Later { code, retry_after_ms: 1 };
        let refusal = |error: ApiError| error.into_response().extensions().get::<(Refusal, String)>().cloned();
        let of = |refusal, code: &str| Some((refusal, code.to_owned()));
        assert_eq!(refusal(invalid.into()), of(Refusal::Malformed, "invalid_request"));
        assert_eq!(refusal(ApiError::too_large("body_too_large", "x")), of(Refusal::Malformed, "body_too_large"));
        assert_eq!(refusal(later("rate_limited").into()), of(Refusal::Limited, "rate_limited"));
        assert_eq!(refusal(later("busy").into()), None, "after an outage many phones hear it");
        let denied = Error::Denied { code: "forbidden", message: String::new(), details: None };
        assert_eq!(refusal(denied.into()), of(Refusal::Access, "forbidden"));
    }

    fn answered(error: Error) -> (u16, String, Option<String>) {
        let response = ApiError::from(error).into_response();
        let retry = response.headers().get(RETRY_AFTER).map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), response.headers()[CONTENT_TYPE].to_str().unwrap().to_owned(), retry)
    }

    #[test]
    fn every_kind_of_error_has_its_status_and_is_a_problem() {
        let word = || "x".to_owned();
        let cases = [
            (Error::invalid("a", "is required"), 400),
            (Error::Unauthenticated { code: "unknown_key", message: word() }, 401),
            (Error::denied("forbidden", "x"), 403),
            (Error::not_found("event"), 404),
            (Error::conflict("event_exists", "x"), 409),
            (Error::Gone { code: "pairing_token_used", message: word() }, 410),
            (Error::Unprocessable { code: "event_not_live", message: word() }, 422),
            (Error::Bug(word()), 500),
        ];
        for (error, status) in cases {
            assert_eq!(answered(error), (status, PROBLEM_JSON.to_owned(), None));
        }
    }

    #[test]
    fn to_wait_is_said_in_whole_seconds_rounded_up() {
        let later = |code, retry_after_ms| answered(Error::Later { code, retry_after_ms });
        assert_eq!(later("rate_limited", 1_001), (429, PROBLEM_JSON.to_owned(), Some("2".to_owned())));
        assert_eq!(later("busy", 0), (503, PROBLEM_JSON.to_owned(), Some("1".to_owned())));
    }

    #[test]
    fn a_bug_tells_its_cause_to_the_log_alone() {
        let error = ApiError::from(Error::Bug("row 7 has no head".into()));
        assert!(!serde_json::to_string(&error.problem()).unwrap().contains("row 7"));
    }
}
