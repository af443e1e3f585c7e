//! From a session's or an API token's text to who asks.

use admit_core::ids::UserId;
use admit_core::sign::token_hash;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, read};
use crate::records::CredentialKind;

/// Finds whose session or API token this is. The role is read anew every time: a member who was removed or demoted is
/// so at once. Fails with `unknown_token` for anything else, expired ones included.
pub async fn authenticate(app: &App, token: &str) -> Result<UserCaller> {
    let credential = app.store.credential(token_hash(token)).await?.ok_or_else(unknown)?;
    if !matches!(credential.kind, CredentialKind::Session | CredentialKind::ApiToken) {
        return Err(unknown());
    }
    if credential.expires_at.is_some_and(|end| app.clock.now() >= end) {
        return Err(unknown());
    }
    let user_id = UserId::new(credential.holder).map_err(|_| Error::Bug("a session without a user".into()))?;
    let organization_id = credential.organization_id;
    let member = read(&*app.store, &organization_id, move |tx| tx.member(&user_id)).await?.ok_or_else(unknown)?;
    Ok(UserCaller { organization_id, user_id: member.user_id, role: member.role })
}

fn unknown() -> Error {
    Error::Unauthenticated { code: "unknown_token", message: "sign in, or send an API token as bearer".into() }
}
