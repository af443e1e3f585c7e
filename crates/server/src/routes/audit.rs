//! `/api/audit`: who did what.

use admit_app::audits;
use admit_app::records::AuditRecord;
use admit_core::barcode::hex;
use admit_core::ids::EventId;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, page};
use crate::auth::user::User;
use crate::body::Query;
use crate::error::{ApiError, Result};
use crate::state::AppState;
use crate::strict;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// One line of an audit ledger.
#[derive(Serialize, ToSchema)]
struct AuditView {
    /// The line's place in its ledger, from 1.
    n: u64,
    /// The serial of the event's change. In the organisation's ledger it equals `n`.
    serial: u64,
    at: Timestamp,
    event_id: Option<String>,
    /// The user who acted. Null if a device or the system acted.
    user_id: Option<String>,
    /// The device that acted. Null if none did.
    device_id: Option<String>,
    /// The action's word, such as `ticket_updated`.
    action: String,
    /// The kind of the changed object, such as `Gate`.
    entity_type: String,
    /// The id of the changed object.
    entity_id: String,
    /// The changed values as JSON.
    changes: Value,
    metadata: Value,
    /// The head of the SHA-256 hash chain after this line, as hexadecimal digits.
    head: String,
}

impl From<AuditRecord> for AuditView {
    fn from(one: AuditRecord) -> Self {
        // A value that is not JSON is shown as text, because a ledger hides nothing.
        let value = |text: String| serde_json::from_str(&text).unwrap_or(Value::String(text));
        Self {
            n: one.n,
            serial: one.serial,
            at: one.at,
            event_id: one.line.event_id.map(|id| id.to_string()),
            user_id: one.line.user_id.map(|id| id.to_string()),
            device_id: one.line.device_id.map(|id| id.to_string()),
            action: one.line.action,
            entity_type: one.line.entity_type,
            entity_id: one.line.entity_id,
            changes: value(one.line.changes),
            metadata: value(one.line.metadata),
            head: hex(&one.head),
        }
    }
}

/// A ledger line in this API's form, for commands that write ledger lines with the same names.
pub fn as_json(record: AuditRecord) -> serde_json::Result<Value> {
    serde_json::to_value(AuditView::from(record))
}

/// Reads an action. The error names the nearest known one.
fn action(name: &str) -> Result<&'static str> {
    audits::action(name).ok_or_else(|| ApiError::field("action", strict::unknown_word(name, "action", audits::ACTIONS)))
}

#[derive(Default, Deserialize)]
struct AuditQuery {
    limit: Option<usize>,
    cursor: Option<String>,
    event_id: Option<EventId>,
    action: Option<String>,
}

/// Lines of an event's ledger, or of the organisation's, newest first.
#[utoipa::path(get, path = "/api/audit", tag = "organisers", params(
        ("limit" = Option<usize>, Query, description = "1–500, 50 by default", minimum = 1, maximum = 500),
        ("cursor" = Option<String>, Query),
        ("event_id" = Option<String>, Query, description = "The event whose ledger is read. If absent, the organisation's own ledger"),
        ("action" = Option<String>, Query, description = "Only lines of this action"),
    ), extensions(("x-actions" = json!(["read_audit"]))), responses(
    (status = 200, description = "A page", body = List<AuditView>),
    (status = 404, description = "No such event"),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Query(query): Query<AuditQuery>,
) -> Result<Json<List<AuditView>>> {
    let action = query.action.as_deref().map(action).transpose()?;
    let listed = audits::list(&state.app, &caller, query.event_id, action, page(query.limit, query.cursor)?).await?;
    Ok(Json(List::of(listed, AuditView::from)))
}
