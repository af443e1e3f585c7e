//! Signs a user out.

use admit_core::sign::token_hash;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, Scope, write};
use crate::records::CredentialKind;

/// Ends a session. A token that is no session, or no longer one, changes nothing. An API token is revoked by its id
/// instead.
pub async fn delete(app: &App, caller: &UserCaller, token: &str) -> Result<()> {
    let hash = token_hash(token);
    let is_session = app
        .store
        .credential(hash)
        .await?
        .is_some_and(|one| one.kind == CredentialKind::Session && one.organization_id == caller.organization_id);
    if !is_session {
        return Ok(());
    }
    let by = caller.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.delete_credential(&hash)?;
        tx.append_audit(line::of(&by, None, "signed_out", ("User", by.user_id.as_str()), json!({})))
    })
    .await
}
