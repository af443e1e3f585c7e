//! Notes that a signed message was refused, so that the person who looks after the endpoint sees why.

use admit_core::limits::WEBHOOK_PROBLEM_CHARS;
use serde_json::json;

use crate::caller::WebhookCaller;
use crate::error::Result;
use crate::ports::{App, Scope, write};
use crate::records::NewAudit;

/// The error code for a message whose id came before with another body.
pub const REUSED: &str = "webhook_id_reused";

/// Notes why the newest refused message was refused. An id that came again with another body gets a ledger line. Two
/// messages may share an id by mistake, or a person who knows the secret may be testing the endpoint.
pub async fn refused(app: &App, caller: &WebhookCaller, code: &str, problem: &str) -> Result<()> {
    let now = app.clock.now();
    let problem: String = format!("{code}: {problem}").chars().take(WEBHOOK_PROBLEM_CHARS).collect();
    let reused = code == REUSED;
    let by = caller.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.note_webhook_refused(&by.endpoint_id, now, &problem)?;
        if !reused {
            return Ok(());
        }
        tx.append_audit(NewAudit {
            event_id: None,
            user_id: None,
            device_id: None,
            action: REUSED,
            entity_type: "WebhookEndpoint",
            entity_id: by.endpoint_id.clone(),
            changes: json!({ "webhook_id": by.webhook_id }).to_string(),
            metadata: "{}".to_owned(),
        })
    })
    .await
}
