//! Finds the caller by the text of a session or an API token.

use admit_core::access::narrowed;
use admit_core::ids::UserId;
use admit_core::sign::token_hash;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, read};
use crate::records::CredentialKind;

/// Finds the owner of a session or an API token. The role is read again at each request. So removing or demoting a
/// member has effect at once, also on the member's API tokens, which act in a role of their own. Fails with
/// `unknown_token` for anything else, including expired tokens.
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
    let is_token = credential.kind == CredentialKind::ApiToken;
    let token_ends_at = credential.expires_at.filter(|_| is_token);
    let token_hash = credential.token_hash;
    let (member, described) = read(&*app.store, &organization_id, move |tx| {
        Ok((tx.member(&user_id)?, if is_token { tx.api_token(&token_hash)? } else { None }))
    })
    .await?;
    let member = member.ok_or_else(unknown)?;
    let role = match described {
        Some(described) => narrowed(described.role, member.role).ok_or_else(unknown)?,
        None if is_token => return Err(Error::Bug("an API token without a description".into())),
        None => member.role,
    };
    Ok(UserCaller { organization_id, user_id: member.user_id, role, token_ends_at })
}

fn unknown() -> Error {
    Error::Unauthenticated { code: "unknown_token", message: "sign in, or send an API token as bearer".into() }
}
