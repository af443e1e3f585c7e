//! Builds `/openapi.json` from the descriptions of all routes.

mod answers;
mod closed;
mod texts;
pub mod vocabularies;

use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi, ToSchema};

/// The frame of the document; [`crate::router`] adds the routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Admit",
        description = "Offline-first event check-in. JSON in snake_case, times in RFC 3339 UTC, every error an \
                       `application/problem+json` with a stable `code` and the path of the field. The organiser's API \
                       refuses unknown fields and parameters (`unknown_field`) and names the nearest known one; \
                       what devices and webhooks send may hold more. Bodies may be gzip or zstd."
    ),
    components(schemas(ProblemDoc, FieldErrorDoc)),
    modifiers(&Credentials),
    tags(
        (name = "organisers", description = "What organisers ask. A session's cookie, or an API token as bearer."),
        (name = "devices", description = "What scanners ask. Bearer: the device's API key."),
        (name = "guests", description = "What guests open. The token is the right to see it."),
        (name = "webhooks", description = "What an organiser's own database sends. Signed as Standard Webhooks wants it."),
        (name = "live", description = "The live stream (server-sent events)."),
        (name = "watching", description = "Health."),
    )
)]
pub struct Frame;

/// `application/problem+json` (RFC 9457): every error.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "describes `admit_core::wire::problem::Problem`, which is what is sent")]
pub struct ProblemDoc {
    /// Names the kind of problem.
    #[schema(rename = "type", example = "about:blank")]
    kind: String,
    /// The kind in plain words.
    #[schema(example = "Bad Request")]
    title: String,
    /// HTTP status.
    #[schema(example = 400)]
    status: u16,
    /// Stable word for programs.
    #[schema(example = "invalid_request")]
    code: String,
    /// This occurrence in plain words.
    detail: String,
    /// The fields that are wrong, if that is the problem.
    errors: Option<Vec<FieldErrorDoc>>,
}

/// A field that is wrong, and how to mend it.
#[derive(ToSchema)]
#[schema(as = FieldError)]
#[expect(dead_code, reason = "describes `admit_core::wire::problem::FieldError`, which is what is sent")]
pub struct FieldErrorDoc {
    /// Path of the field; empty for the document itself.
    #[schema(example = "scans[3].count")]
    path: String,
    /// The error and the right value, in words.
    #[schema(example = "must be 1 to 10000")]
    message: String,
}

/// Completes the routes' descriptions by rule: names of operations, vocabularies, common answers, roles.
pub fn finish(document: &mut utoipa::openapi::OpenApi) {
    name_operations(document);
    texts::inline(document);
    vocabularies::name_words(document);
    vocabularies::widen_counts(document);
    closed::close(document);
    answers::complete(document);
}

/// Gives every operation a unique name made of its method and path, because handlers of two nouns may have the same
/// name.
fn name_operations(document: &mut utoipa::openapi::OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let words: Vec<&str> =
            path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let named = [
            ("get", &mut item.get),
            ("post", &mut item.post),
            ("patch", &mut item.patch),
            ("delete", &mut item.delete),
            ("put", &mut item.put),
            ("head", &mut item.head),
        ];
        for (method, operation) in named {
            if let Some(operation) = operation {
                operation.operation_id = Some(format!("{method}_{}", words.join("_")));
            }
        }
    }
}

struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = |format| {
            let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format(format);
            SecurityScheme::Http(bearer.build())
        };
        components.add_security_scheme("device_key", bearer("the device's API key, given once when it is paired"));
        components.add_security_scheme("api_token", bearer("an organiser's API token"));
        let signature = ApiKeyValue::with_description(
            "webhook-signature",
            "Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body` under the endpoint's secret, \
             beside `webhook-id` and `webhook-timestamp`",
        );
        components.add_security_scheme("webhook_signature", SecurityScheme::ApiKey(ApiKey::Header(signature)));
        let cookie = ApiKey::Cookie(ApiKeyValue::new("admit_session"));
        components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
    }
}
