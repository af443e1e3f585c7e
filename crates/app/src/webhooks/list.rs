//! Which webhook endpoints there are.

use admit_core::access::Action;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::WebhookEndpointRecord;

/// Webhook endpoints of the organisation, newest first, those that take nothing included.
pub async fn list(app: &App, caller: &UserCaller) -> Result<Vec<WebhookEndpointRecord>> {
    caller.must(Action::ManageTokens)?;
    read(&*app.store, &caller.organization_id, |tx| tx.webhook_endpoints()).await
}
