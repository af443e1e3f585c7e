//! A new API token.

use admit_core::access::Action;
use admit_core::sign::token_hash;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::ports::{App, Scope, write};
use crate::records::*;

/// What every API token's text begins with, so that secret scanners find a leaked one.
pub const API_TOKEN_PREFIX: &str = "admit_at_";

/// A new API token.
#[derive(Debug, Clone)]
pub struct NewApiToken {
    /// Its text, shown this once.
    pub token: String,
    /// Its description.
    pub record: ApiTokenRecord,
}

/// Makes a token that acts as the caller, with whatever role they have at the time.
pub async fn create(app: &App, caller: &UserCaller, name: &str) -> Result<NewApiToken> {
    caller.must(Action::ManageTokens)?;
    let now = app.clock.now();
    let mut checks = Checks::default();
    let name = checks.name("name", name);
    checks.finish()?;
    let token = format!("{API_TOKEN_PREFIX}{}", admit_core::barcode::hex(&app.ids.random()));
    let record = ApiTokenRecord {
        api_token_id: app.draw().row_id(now),
        name,
        user_id: caller.user_id.clone(),
        token_hash: token_hash(&token),
        created_at: now,
        revoked_at: None,
    };
    let credential = CredentialRecord {
        token_hash: record.token_hash,
        organization_id: caller.organization_id.clone(),
        kind: CredentialKind::ApiToken,
        holder: caller.user_id.as_str().to_owned(),
        expires_at: None,
        created_at: now,
    };
    let by = caller.clone();
    let made = record.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.insert_credential(&credential)?;
        tx.insert_api_token(&made)?;
        let said = json!({ "name": made.name });
        tx.append_audit(line::of(&by, None, "api_token_created", ("ApiToken", &made.api_token_id), said))
    })
    .await?;
    Ok(NewApiToken { token, record })
}
