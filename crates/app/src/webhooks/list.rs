//! Lists webhook endpoints.

use admit_core::access::Action;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::WebhookEndpointRecord;

/// The organisation's webhook endpoints, newest first, with disabled ones.
pub async fn list(app: &App, caller: &UserCaller) -> Result<Vec<WebhookEndpointRecord>> {
    caller.must(Action::ManageTokens)?;
    read(&*app.store, &caller.organization_id, |tx| tx.webhook_endpoints()).await
}
