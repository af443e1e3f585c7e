//! Gives a webhook endpoint a new secret. The old one is still accepted for a day (docs/faults.md, row 34).

use admit_core::access::Action;
use admit_core::limits::WEBHOOK_OVERLAP_MS;
use serde_json::json;

use super::create::ShownSecret;
use super::secrets;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, write};
use crate::records::WebhookEndpointRecord;

/// Draws a new secret. At most two are accepted: a second rotation within the day ends the oldest at once.
pub async fn rotate_secret(app: &App, caller: &UserCaller, endpoint_id: &str) -> Result<ShownSecret> {
    caller.must(Action::ManageTokens)?;
    let until = app.clock.now().plus_ms(WEBHOOK_OVERLAP_MS);
    let secret = secrets::drawn(app)?;
    let sealed = secrets::seal(app, endpoint_id, &secret)?;
    let by = caller.clone();
    let endpoint_id = endpoint_id.to_owned();
    let endpoint = write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.hold_organization()?;
        let before = tx.webhook_endpoint(&endpoint_id)?.ok_or_else(|| Error::not_found("webhook_endpoint"))?;
        let after = WebhookEndpointRecord {
            sealed_secret: sealed.clone(),
            former: Some((before.sealed_secret.clone(), until)),
            ..before
        };
        tx.update_webhook_endpoint(&after)?;
        let said = json!({ "former_until": until.to_string() });
        let entity = ("WebhookEndpoint", endpoint_id.as_str());
        tx.append_audit(line::of(&by, None, "webhook_secret_rotated", entity, said))?;
        Ok(after)
    })
    .await?;
    Ok(ShownSecret { endpoint, secret })
}
