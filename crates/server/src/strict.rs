//! Refuses JSON fields and query parameters that the organiser's API does not know (decision 029).
//!
//! The known names come from the document that `/openapi.json` serves. So a route that is described is strict without
//! code of its own. The extractors [`User`](crate::auth::user::User) and [`JsonBody`](crate::body::JsonBody) call this
//! module. The module does not check the bodies of devices and webhooks, which may have unknown fields.

mod nearest;
mod unknown;
mod body;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{FromRequestParts, MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::request::Parts;
use http::{Extensions, Method};
use serde_json::Value;

use self::body::Shape;
use self::unknown::{LISTED, REPEATED_CHARS, Unknown};
use crate::error::{ApiError, Result};

/// The most bytes that are read of a body which the operation does not use, such as an empty object.
const UNREAD_BYTES: usize = 64 * 1024;

/// Whether an operation belongs to the organiser's API: it accepts a person's credential, or it is the sign-in.
pub fn is_organisers(operation: &Value) -> bool {
    let has = |list: &Value, found: &dyn Fn(&Value) -> bool| list.as_array().is_some_and(|all| all.iter().any(found));
    has(&operation["tags"], &|tag| tag == "organisers")
        || has(&operation["security"], &|one| one.get("session").is_some())
}

/// The names that every organiser's operation knows, by method and path pattern.
#[derive(Debug, Default)]
pub struct KnownNames(BTreeMap<(String, String), Arc<Operation>>);

/// The names that one operation knows.
#[derive(Debug, Default)]
struct Operation {
    /// The names of its query parameters.
    parameters: Vec<String>,
    /// The shape of the operation's JSON body; `None` if the body has another media type.
    body: Option<Shape>,
    /// Whether the operation uses no body. A client may then send a JSON object, but it must be empty.
    is_bodiless: bool,
}

impl KnownNames {
    /// Reads the names out of an OpenAPI document.
    pub fn of(document: &Value) -> Self {
        let mut known = BTreeMap::new();
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in item.as_object().into_iter().flatten() {
                if is_organisers(operation) {
                    let key = (method.to_ascii_uppercase(), path.clone());
                    known.insert(key, Arc::new(Operation::of(document, operation)));
                }
            }
        }
        Self(known)
    }

    /// The organiser's operation that a request came to; `None` for any other operation.
    fn find(extensions: &Extensions, method: &Method) -> Option<Arc<Operation>> {
        let Self(known) = &**extensions.get::<Arc<Self>>()?;
        let path = extensions.get::<MatchedPath>()?.as_str().to_owned();
        // The GET operation also answers HEAD.
        let method = if method == Method::HEAD { &Method::GET } else { method };
        known.get(&(method.as_str().to_owned(), path)).cloned()
    }
}

impl Operation {
    fn of(document: &Value, operation: &Value) -> Self {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let in_query = parameters.filter(|one| one["in"] == "query").filter_map(|one| one["name"].as_str());
        let is_bodiless = operation["requestBody"].is_null();
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let body =
            if is_bodiless { Some(Shape::empty()) } else { schema.is_object().then(|| Shape::of(document, schema)) };
        Self { parameters: in_query.map(str::to_owned).collect(), body, is_bodiless }
    }

    fn unknown_parameters(&self, query: &str) -> Result<()> {
        let known: Vec<&str> = self.parameters.iter().map(String::as_str).collect();
        let given = form_urlencoded::parse(query.as_bytes());
        let unknown = given.filter(|(name, _)| !known.contains(&name.as_ref()));
        refuse(unknown.take(LISTED).map(|(name, _)| Unknown::new("", &name, "parameter", &known)).collect())
    }
}

/// Fails with 400 `unknown_field` if the list is not empty.
fn refuse(unknown: Vec<Unknown>) -> Result<()> {
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(ApiError::unknown_fields(unknown.into_iter().map(|one| (one.path, one.message)))),
    }
}

/// The result of [`read_unread`], in the extensions of a request.
#[derive(Debug, Clone)]
struct Unread(Result<()>);

/// Middleware: reads the body of a request to an organiser's operation that uses none, so that [`check_request`] can
/// refuse its fields. The sender is not authenticated yet, so this function refuses nothing itself.
pub async fn read_unread(request: Request, next: Next) -> Response {
    let operation = KnownNames::find(request.extensions(), request.method());
    let shape = operation.as_ref().filter(|operation| operation.is_bodiless).and_then(|one| one.body.as_ref());
    let Some(shape) = shape.filter(|_| !request.body().is_end_stream()) else { return next.run(request).await };
    let (mut parts, body) = request.into_parts();
    let found = match to_bytes(body, UNREAD_BYTES).await {
        Ok(json) => refuse(body::unknown(shape, &json)),
        Err(_) => Err(ApiError::too_large("body_too_large", "this call reads no body: leave it out")),
    };
    parts.extensions.insert(Unread(found));
    next.run(Request::from_parts(parts, Body::empty())).await
}

/// Refuses an unknown query parameter, or an unknown field of an unused body, on an organiser's operation. Other
/// operations accept anything.
pub fn check_request(parts: &Parts) -> Result<()> {
    check_query(parts)?;
    parts.extensions.get::<Unread>().map_or(Ok(()), |unread| unread.0.clone())
}

fn check_query(parts: &Parts) -> Result<()> {
    match (KnownNames::find(&parts.extensions, &parts.method), parts.uri.query()) {
        (Some(operation), Some(query)) => operation.unknown_parameters(query),
        _ => Ok(()),
    }
}

/// Refuses unknown fields of a JSON body on an organiser's operation, at any depth. It ignores a body that is no JSON,
/// because the parser gives a better message.
pub fn check_body(extensions: &Extensions, method: &Method, json: &[u8]) -> Result<()> {
    let operation = KnownNames::find(extensions, method);
    match operation.as_ref().and_then(|operation| operation.body.as_ref()) {
        Some(shape) => refuse(body::unknown(shape, json)),
        None => Ok(()),
    }
}

/// Says that `name` is no word of a closed vocabulary, and names the nearest known one. The text completes a sentence
/// that begins with the name of a field.
pub fn unknown_word(name: &str, kind: &str, known: &[&str]) -> String {
    let name: String = name.chars().take(REPEATED_CHARS).collect();
    format!("names no {kind}: `{name}` is unknown. {}", nearest::advice(&name, kind, known))
}

/// Extractor: the result of [`check_request`], for a route that learns only later who the caller is.
#[derive(Debug)]
pub struct RequestCheck(pub Result<()>);

impl<S: Send + Sync> FromRequestParts<S> for RequestCheck {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> std::result::Result<Self, Infallible> {
        Ok(Self(check_request(parts)))
    }
}
