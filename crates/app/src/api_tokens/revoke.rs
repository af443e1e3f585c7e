//! Revokes an API token.

use admit_core::access::Action;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Scope, write};

/// Revokes a token at once. Revoking it again changes nothing.
pub async fn revoke(app: &App, caller: &UserCaller, api_token_id: &str) -> Result<()> {
    caller.must(Action::ManageTokens)?;
    let now = app.clock.now();
    let by = caller.clone();
    let id = api_token_id.to_owned();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        let tokens = tx.api_tokens()?;
        let token = tokens.iter().find(|one| one.api_token_id == id).ok_or_else(|| Error::not_found("api_token"))?;
        if token.revoked_at.is_some() {
            return Ok(());
        }
        tx.revoke_api_token(&id, now)?;
        let said = json!({ "name": token.name });
        tx.append_audit(line::of(&by, None, "api_token_revoked", ("ApiToken", &id), said))
    })
    .await
}
