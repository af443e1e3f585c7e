//! Creates an API token.

use admit_core::access::{Action, Role, is_within};
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::ports::{App, Scope, write};
use crate::records::{ApiTokenRecord, CredentialKind, CredentialRecord};

/// The prefix of every API token's text. Secret scanners find a leaked one by it.
pub const API_TOKEN_PREFIX: &str = "admit_at_";

/// A created API token.
#[derive(Debug, Clone)]
pub struct NewApiToken {
    /// The token's text, shown only this once.
    pub token: String,
    /// The token as lists show it.
    pub record: ApiTokenRecord,
}

/// The API token that a caller wants.
#[derive(Debug, Clone)]
pub struct ApiTokenWish {
    /// The token's purpose, in the caller's words.
    pub name: String,
    /// The role that limits what the token may do. Absent means the caller's own role.
    pub role: Option<Role>,
    /// When the token expires. Absent means in a year. If the caller uses an API token that ends sooner, absent means
    /// the end of that token.
    pub expires_at: Option<Timestamp>,
}

impl ApiTokenWish {
    /// A token in the caller's own role, for the usual time.
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), role: None, expires_at: None }
    }
}

/// How long a token is good if the caller does not say, in days.
pub const API_TOKEN_DAYS: i64 = 365;
/// The longest time that a token may be good, in days.
pub const API_TOKEN_DAYS_MAX: i64 = 731;
const DAY_MS: i64 = 24 * 3_600_000;

/// Creates a token that acts as the caller. Its role must not allow more than the caller's. Fails with field errors of
/// `name`, `role` and `expires_at`.
pub async fn create(app: &App, caller: &UserCaller, wish: ApiTokenWish) -> Result<NewApiToken> {
    caller.must(Action::ManageTokens)?;
    let now = app.clock.now();
    let mut checks = Checks::default();
    let name = checks.name("name", &wish.name);
    let role = wish.role.unwrap_or(caller.role);
    if !is_within(role, caller.role) {
        checks.fail("role", format!("a {role} may do what your role ({}) may not", caller.role));
    }
    let usual = now.plus_ms(API_TOKEN_DAYS * DAY_MS);
    let expires_at = wish.expires_at.unwrap_or_else(|| caller.token_ends_at.map_or(usual, |end| end.min(usual)));
    // A token that is good for a week must not create one that is good for a year.
    if let Some(end) = caller.token_ends_at.filter(|end| expires_at > *end) {
        checks.fail("expires_at", format!("must not lie after the end of the token that asks, {end}"));
    }
    if expires_at <= now || expires_at > now.plus_ms(API_TOKEN_DAYS_MAX * DAY_MS) {
        checks.fail("expires_at", format!("must lie ahead, and at most {API_TOKEN_DAYS_MAX} days"));
    }
    checks.finish()?;
    let token = format!("{API_TOKEN_PREFIX}{}", admit_core::barcode::hex(&app.ids.random()));
    let record = ApiTokenRecord {
        api_token_id: app.seeded_ids().row_id(now),
        name,
        user_id: caller.user_id.clone(),
        role,
        token_hash: token_hash(&token),
        created_at: now,
        expires_at,
        revoked_at: None,
    };
    let credential = CredentialRecord {
        token_hash: record.token_hash,
        organization_id: caller.organization_id.clone(),
        kind: CredentialKind::ApiToken,
        holder: caller.user_id.as_str().to_owned(),
        expires_at: Some(expires_at),
        created_at: now,
    };
    let by = caller.clone();
    let made = record.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.insert_credential(&credential)?;
        tx.insert_api_token(&made)?;
        let said = json!({ "name": made.name, "role": made.role.as_str(), "expires_at": made.expires_at });
        tx.append_audit(line::of(&by, None, "api_token_created", ("ApiToken", &made.api_token_id), said))
    })
    .await?;
    Ok(NewApiToken { token, record })
}
