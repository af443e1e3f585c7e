//! Creates a webhook endpoint.

use admit_core::access::Action;
use admit_core::ids::EventId;
use admit_core::limits::{COLUMN_CHARS, WEBHOOK_ENDPOINTS};
use admit_core::webhook::WebhookSecret;
use admit_core::wire::webhooks::WebhookColumns;
use serde_json::json;

use super::secrets;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, write};
use crate::records::{WebhookEndpointRecord, WebhookHealth};

/// The endpoint to create.
#[derive(Debug, Clone)]
pub struct NewWebhookEndpoint {
    /// The event whose guests the endpoint changes.
    pub event_id: EventId,
    /// The endpoint's purpose, in the caller's words.
    pub name: String,
    /// Which column holds which value. Absent means the usual names.
    pub columns: Option<WebhookColumns>,
}

/// An endpoint with its secret, which is shown only this once.
#[derive(Debug, Clone)]
pub struct ShownSecret {
    /// The endpoint.
    pub endpoint: WebhookEndpointRecord,
    /// The endpoint's secret.
    pub secret: WebhookSecret,
}

/// Creates an endpoint. Its id is random, so the address alone tells nobody what it belongs to.
pub async fn create(app: &App, caller: &UserCaller, new: NewWebhookEndpoint) -> Result<ShownSecret> {
    caller.must(Action::ManageTokens)?;
    let now = app.clock.now();
    let mut checks = Checks::default();
    let name = checks.name("name", &new.name);
    let columns = checked_columns(&mut checks, new.columns.unwrap_or_default());
    checks.finish()?;
    let endpoint_id = app.seeded_ids().uuid();
    let secret = secrets::drawn(app)?;
    let endpoint = WebhookEndpointRecord {
        sealed_secret: secrets::seal(app, &endpoint_id, &secret)?,
        endpoint_id,
        event_id: new.event_id,
        name,
        columns,
        former: None,
        created_at: now,
        disabled_at: None,
        health: WebhookHealth::default(),
    };
    let by = caller.clone();
    let made = endpoint.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        events::require(tx, &made.event_id)?;
        tx.hold_organization()?;
        if tx.webhook_endpoints()?.len() >= WEBHOOK_ENDPOINTS {
            let message = format!("an organisation has at most {WEBHOOK_ENDPOINTS} webhook endpoints");
            return Err(Error::Unprocessable { code: "too_many_webhook_endpoints", message });
        }
        tx.insert_webhook_endpoint(&made)?;
        let said = json!({ "name": made.name, "event_id": made.event_id.as_str() });
        let entity = ("WebhookEndpoint", made.endpoint_id.as_str());
        tx.append_audit(line::of(&by, None, "webhook_endpoint_created", entity, said))
    })
    .await?;
    Ok(ShownSecret { endpoint, secret })
}

/// Checks the names of columns.
pub(super) fn checked_columns(checks: &mut Checks, columns: WebhookColumns) -> WebhookColumns {
    let mut checked = |field: &str, name: String| {
        let path = format!("columns.{field}");
        checks.line(&path, &name, 1, COLUMN_CHARS)
    };
    WebhookColumns {
        external_id: checked("external_id", columns.external_id),
        name: columns.name.map(|name| checked("name", name)),
        email: columns.email.map(|name| checked("email", name)),
        phone: columns.phone.map(|name| checked("phone", name)),
        party_size: columns.party_size.map(|name| checked("party_size", name)),
        guest_list: columns.guest_list.map(|name| checked("guest_list", name)),
        entry_type: columns.entry_type.map(|name| checked("entry_type", name)),
        updated_at: columns.updated_at.map(|name| checked("updated_at", name)),
    }
}
