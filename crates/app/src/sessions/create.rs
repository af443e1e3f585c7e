//! Signing in, in three steps so that the slow one may run where blocking is allowed: look up, check, create.

use admit_core::ids::OrganizationId;
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::password;
use crate::ports::{App, Scope, write};
use crate::records::*;

/// The prefix of every session's text, so that secret scanners find a leaked one.
pub const SESSION_PREFIX: &str = "admit_ss_";
/// A session's life, in milliseconds: 14 days.
pub const SESSION_MS: i64 = 14 * 24 * 3_600_000;

/// Somebody who may have an account.
#[derive(Debug, Clone)]
pub struct Candidate {
    found: Option<(UserRecord, Vec<OrganizationId>)>,
}

/// A new session.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its secret's text, shown this once.
    pub token: String,
    /// As whom.
    pub caller: UserCaller,
    /// Its end.
    pub expires_at: Timestamp,
}

/// Step 1: finds who has this e-mail; an unknown one is a candidate too.
pub async fn look_up(app: &App, email: &str) -> Result<Candidate> {
    Ok(Candidate { found: app.store.sign_in(email.trim().to_lowercase()).await? })
}

/// Step 2, slow: fails with `wrong_credentials`, after the same work, for an unknown e-mail and a wrong password alike.
pub fn check(candidate: &Candidate, password: &str) -> Result<()> {
    let stored = candidate.found.as_ref().map(|(user, _)| user.password_hash.as_str());
    if password::verify(password, stored)? { Ok(()) } else { Err(wrong()) }
}

/// Step 3: opens a session of the organisation asked for, else of the one they joined first. One session, one
/// organisation (spec §3). Call it only after [`check`] said yes. Where the password was changed since the look-up, that yes is
/// worth nothing: who knew the old one is out (`wrong_credentials`).
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
        // A change of the password holds the same order: it is seen here, or it ends this session.
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
