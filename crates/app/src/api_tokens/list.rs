//! Which API tokens there are.

use admit_core::access::Action;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::ApiTokenRecord;

/// API tokens of the organisation, newest first, withdrawn ones included.
pub async fn list(app: &App, caller: &UserCaller) -> Result<Vec<ApiTokenRecord>> {
    caller.must(Action::ManageTokens)?;
    read(&*app.store, &caller.organization_id, move |tx| tx.api_tokens()).await
}
