//! `/api/mail-templates`: the texts of the organisation's mails. `/mail-preview` shows one as a page without scripts.

use admit_app::mail_templates::{self, Draft, MailTemplate, MailTemplatePatch, RenderedMail, default_template};
use admit_app::records::{MailKind, MailPart, MailTemplateRecord};
use axum::extract::State;
use axum::extract::rejection::FormRejection;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Form, Json, Router};
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, X_FRAME_OPTIONS};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, present};
use crate::auth::user::User;
use crate::body::JsonBody;
use crate::error::{ApiError, Result};
use crate::openapi::ProblemDoc;
use crate::state::AppState;

/// The content security policy of a preview. It allows styles and pictures inside the page, no script and no network.
/// Only our own pages may frame it.
const PREVIEW_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'self'";

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(update)).routes(routes!(preview))
}

/// The route of the preview page. It answers a form and is not part of the OpenAPI document.
pub fn pages() -> Router<AppState> {
    Router::new().route("/mail-preview", post(preview_page))
}

/// The three templates of a mail. For one that is null, the server uses its default.
#[derive(Serialize, ToSchema)]
struct MailTextsView {
    /// Template of the subject, one line.
    subject: Option<String>,
    /// Template of the body as text.
    text: Option<String>,
    /// Template of the body as HTML.
    html: Option<String>,
}

impl From<MailTemplateRecord> for MailTextsView {
    fn from(one: MailTemplateRecord) -> Self {
        Self { subject: one.subject, text: one.text, html: one.html }
    }
}

/// A name that a template may use.
#[derive(Serialize, ToSchema)]
struct MailVariableView {
    /// The name, as in `{{ event }}`.
    name: &'static str,
    /// The value that replaces the name.
    about: &'static str,
}

/// The templates of one kind of mail.
#[derive(Serialize, ToSchema)]
struct MailTemplateView {
    /// `pass`: the mail that brings a guest's pass, or tells of a change.
    kind: &'static str,
    /// The organisation's own templates.
    own: MailTextsView,
    /// The server's default templates. They are used for own templates that are null.
    default: MailTextsView,
    /// The names that the templates may use.
    variables: Vec<MailVariableView>,
}

impl From<MailTemplate> for MailTemplateView {
    fn from(one: MailTemplate) -> Self {
        let default = |part| Some(default_template(one.kind, part).to_owned());
        let (subject, text, html) = (default(MailPart::Subject), default(MailPart::Text), default(MailPart::Html));
        let variables = one.variables.iter();
        Self {
            kind: one.kind.as_str(),
            default: MailTextsView { subject, text, html },
            variables: variables.map(|one| MailVariableView { name: one.name, about: one.about }).collect(),
            own: one.own.into(),
        }
    }
}

/// The templates to change. Absent ones keep their values. Null restores the server's default.
#[derive(Deserialize, ToSchema)]
struct MailTemplatePatchRequest {
    /// Template of the subject, one line.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    subject: Option<Option<String>>,
    /// Template of the body as text. It must show `{{ pass_url }}`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    text: Option<Option<String>>,
    /// Template of the body as HTML. It must show `{{ pass_url }}`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    html: Option<Option<String>>,
}

/// The templates to show. For absent ones the saved templates are used.
#[derive(Deserialize, ToSchema)]
struct MailPreviewRequest {
    /// Template of the subject, one line.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    subject: Option<Option<String>>,
    /// Template of the body as text.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    text: Option<Option<String>>,
    /// Template of the body as HTML.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    html: Option<Option<String>>,
    /// True shows the mail about a changed pass. False shows the first mail.
    #[serde(default)]
    changed: bool,
}

impl From<MailPreviewRequest> for Draft {
    fn from(one: MailPreviewRequest) -> Self {
        let patch = MailTemplatePatch { subject: one.subject, text: one.text, html: one.html };
        Self { patch, changed: one.changed }
    }
}

/// A sample mail.
#[derive(Serialize, ToSchema)]
struct MailPreviewView {
    /// The subject, one line.
    subject: String,
    /// The body as text.
    text: String,
    /// The body as HTML. It contains the code's picture as a `data:` address.
    html: String,
}

impl From<RenderedMail> for MailPreviewView {
    fn from(one: RenderedMail) -> Self {
        Self { subject: one.subject, text: one.text, html: one.html }
    }
}

/// The templates of every kind of mail: the organisation's own and the server's defaults.
#[utoipa::path(get, path = "/api/mail-templates", tag = "organisers", extensions(("x-actions" = json!(["read_events"]))),
    security(("session" = []), ("api_token" = [])),
    responses((status = 200, description = "The templates", body = List<MailTemplateView>)))]
async fn list(State(state): State<AppState>, User(caller): User) -> Result<Json<List<MailTemplateView>>> {
    let templates = mail_templates::list(&state.app, &caller).await?;
    Ok(Json(List::whole(templates.into_iter().map(MailTemplateView::from).collect())))
}

/// Changes templates of the mail with a pass, or restores the server's defaults.
#[utoipa::path(patch, path = "/api/mail-templates/pass", tag = "organisers", request_body = MailTemplatePatchRequest,
    extensions(("x-actions" = json!(["manage_events"]))), security(("session" = []), ("api_token" = [])), responses(
    (status = 200, description = "Changed", body = MailTemplateView),
    (status = 400, description = "A template is wrong: the message says the line", body = ProblemDoc,
        content_type = "application/problem+json"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    JsonBody(request): JsonBody<MailTemplatePatchRequest>,
) -> Result<Json<MailTemplateView>> {
    let patch = MailTemplatePatch { subject: request.subject, text: request.text, html: request.html };
    Ok(Json(mail_templates::update(&state.app, &caller, MailKind::Pass, patch).await?.into()))
}

/// Shows a sample of the mail with a pass. The templates need not be saved.
#[utoipa::path(post, path = "/api/mail-templates/pass/preview", tag = "organisers", request_body = MailPreviewRequest,
    extensions(("x-actions" = json!(["manage_events"]))), security(("session" = []), ("api_token" = [])), responses(
    (status = 200, description = "The mail", body = MailPreviewView),
    (status = 400, description = "A template is wrong: the message says the line", body = ProblemDoc,
        content_type = "application/problem+json"),
))]
async fn preview(
    State(state): State<AppState>,
    User(caller): User,
    JsonBody(request): JsonBody<MailPreviewRequest>,
) -> Result<Json<MailPreviewView>> {
    Ok(Json(mail_templates::preview(&state.app, &caller, MailKind::Pass, request.into()).await?.into()))
}

/// The fields of the preview's form. For an absent text the saved template is used.
#[derive(Deserialize)]
struct PreviewForm {
    html: Option<String>,
    #[serde(default)]
    changed: bool,
}

/// The HTML of a preview as a page of its own, for a frame of the organiser's app. The app's policy would forbid its
/// styles.
async fn preview_page(
    State(state): State<AppState>,
    User(caller): User,
    form: std::result::Result<Form<PreviewForm>, FormRejection>,
) -> Result<Response> {
    let wrong = |wrong: FormRejection| ApiError::new(wrong.status(), "invalid_request", wrong.body_text());
    let Form(form) = form.map_err(wrong)?;
    let patch = MailTemplatePatch { html: form.html.map(Some), ..MailTemplatePatch::default() };
    let draft = Draft { patch, changed: form.changed };
    let mail = mail_templates::preview(&state.app, &caller, MailKind::Pass, draft).await?;
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(PREVIEW_POLICY)),
        (X_FRAME_OPTIONS, HeaderValue::from_static("SAMEORIGIN")),
    ];
    Ok((headers, mail.html).into_response())
}
