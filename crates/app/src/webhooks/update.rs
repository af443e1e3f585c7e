//! Changes a webhook endpoint: its name, its columns, and whether it takes messages.

use admit_core::access::Action;
use admit_core::wire::stored;
use admit_core::wire::webhooks::WebhookColumns;
use serde_json::{Map, json};

use super::create::checked_columns;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, write};
use crate::records::WebhookEndpointRecord;

/// The fields to change. `None` leaves a field unchanged.
#[derive(Debug, Clone, Default)]
pub struct WebhookEndpointPatch {
    /// The new purpose; absent: unchanged.
    pub name: Option<String>,
    /// The column of the sender's table for each of the guest's values; absent: unchanged. The new mapping replaces the
    /// whole old one.
    pub columns: Option<WebhookColumns>,
    /// Whether the endpoint takes messages; absent: unchanged.
    pub enabled: Option<bool>,
}

/// Changes an endpoint. A patch that changes nothing writes nothing.
pub async fn update(
    app: &App,
    caller: &UserCaller,
    endpoint_id: &str,
    patch: WebhookEndpointPatch,
) -> Result<WebhookEndpointRecord> {
    caller.must(Action::ManageTokens)?;
    let now = app.clock.now();
    let mut checks = Checks::default();
    let name = patch.name.map(|name| checks.name("name", &name));
    let columns = patch.columns.map(|columns| checked_columns(&mut checks, columns));
    checks.finish()?;
    let by = caller.clone();
    let endpoint_id = endpoint_id.to_owned();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.hold_organization()?;
        let before = tx.webhook_endpoint(&endpoint_id)?.ok_or_else(|| Error::not_found("webhook_endpoint"))?;
        let disabled_at = match patch.enabled {
            None => before.disabled_at,
            Some(true) => None,
            Some(false) => before.disabled_at.or(Some(now)),
        };
        let after = WebhookEndpointRecord {
            name: name.clone().unwrap_or_else(|| before.name.clone()),
            columns: columns.clone().unwrap_or_else(|| before.columns.clone()),
            disabled_at,
            ..before.clone()
        };
        if after == before {
            return Ok(before);
        }
        tx.update_webhook_endpoint(&after)?;
        let mut said = Map::new();
        if after.name != before.name {
            said.insert("name".to_owned(), json!({ "from": before.name, "to": after.name }));
        }
        if after.columns != before.columns {
            let text = |one: &WebhookEndpointRecord| stored::to_text(&one.columns);
            said.insert("columns".to_owned(), json!({ "from": text(&before), "to": text(&after) }));
        }
        if after.disabled_at != before.disabled_at {
            said.insert("enabled".to_owned(), json!(after.disabled_at.is_none()));
        }
        let entity = ("WebhookEndpoint", endpoint_id.as_str());
        tx.append_audit(line::of(&by, None, "webhook_endpoint_updated", entity, said.into()))?;
        Ok(after)
    })
    .await
}
