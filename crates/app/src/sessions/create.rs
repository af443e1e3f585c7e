//! Signs a user in, in three steps: look up, check, create. The steps are separate, so that the slow check may run
//! where blocking is allowed.

use admit_core::ids::OrganizationId;
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::password;
use crate::ports::{App, Scope, write};
use crate::records::{CredentialKind, CredentialRecord, UserRecord};

/// The prefix of every session's text. Secret scanners find a leaked session text by this prefix.
pub const SESSION_PREFIX: &str = "admit_ss_";
/// How long a session is good, in milliseconds: 14 days.
pub const SESSION_MS: i64 = 14 * 24 * 3_600_000;

/// The result of looking up an e-mail: a user, or nobody.
#[derive(Debug, Clone)]
pub struct Candidate {
    found: Option<(UserRecord, Vec<OrganizationId>)>,
}

/// A new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// The session's secret, shown only this once.
    pub token: String,
    /// The user as a caller.
    pub caller: UserCaller,
    /// When the session expires.
    pub expires_at: Timestamp,
}

/// Step 1: looks up the user with this e-mail. An unknown e-mail gives a candidate too. So step 2 takes as long for it,
/// and an attacker cannot find out which e-mails are known.
pub async fn look_up(app: &App, email: &str) -> Result<Candidate> {
    Ok(Candidate { found: app.store.sign_in(email.trim().to_lowercase()).await? })
}

/// Step 2, slow: checks the password. Fails with `wrong_credentials` for an unknown e-mail and for a wrong password
/// alike, after the same work.
pub fn check(candidate: &Candidate, password: &str) -> Result<()> {
    let stored = candidate.found.as_ref().map(|(user, _)| user.password_hash.as_str());
    if password::verify(password, stored)? { Ok(()) } else { Err(wrong()) }
}

/// Step 3: opens a session of the organisation asked for, otherwise of the one that the user joined first. A session
/// belongs to one organisation (spec §3). Call it only after [`check`] succeeded. If the password was changed since the
/// look-up, it fails with `wrong_credentials`, since that check used the old password.
pub async fn create(app: &App, candidate: Candidate, organization_id: Option<OrganizationId>) -> Result<NewSession> {
    let (user, organizations) = candidate.found.ok_or_else(wrong)?;
    let organization_id = match organization_id {
        Some(asked) => organizations.into_iter().find(|one| *one == asked),
        None => organizations.into_iter().next(),
    };
    let organization_id = organization_id.ok_or_else(wrong)?;
    let now = app.clock.now();
    let expires_at = now.plus_ms(SESSION_MS);
    let token = format!("{SESSION_PREFIX}{}", admit_core::barcode::hex(&app.ids.random()));
    let credential = CredentialRecord {
        token_hash: token_hash(&token),
        organization_id: organization_id.clone(),
        kind: CredentialKind::Session,
        holder: user.user_id.as_str().to_owned(),
        expires_at: Some(expires_at),
        created_at: now,
    };
    let caller = write(&*app.store, Scope::organization(&organization_id), move |tx| {
        // A change of the password takes the same lock. So it is either seen here, or it ends this session.
        tx.hold_organization()?;
        let member = tx.member(&user.user_id)?.ok_or_else(wrong)?;
        if tx.password_hash(&user.user_id)?.as_ref() != Some(&user.password_hash) {
            return Err(wrong());
        }
        let organization_id = credential.organization_id.clone();
        let caller = UserCaller { organization_id, user_id: member.user_id, role: member.role, token_ends_at: None };
        tx.insert_credential(&credential)?;
        tx.append_audit(line::of(&caller, None, "signed_in", ("User", caller.user_id.as_str()), json!({})))?;
        Ok(caller)
    })
    .await?;
    Ok(NewSession { token, caller, expires_at })
}

fn wrong() -> Error {
    Error::Unauthenticated {
        code: "wrong_credentials",
        message: "e-mail and password do not match an account here".into(),
    }
}
