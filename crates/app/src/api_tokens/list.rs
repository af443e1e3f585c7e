//! Lists API tokens.

use admit_core::access::Action;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::ApiTokenRecord;

/// The organisation's API tokens, newest first, with revoked ones.
pub async fn list(app: &App, caller: &UserCaller) -> Result<Vec<ApiTokenRecord>> {
    caller.must(Action::ManageTokens)?;
    read(&*app.store, &caller.organization_id, move |tx| tx.api_tokens()).await
}
