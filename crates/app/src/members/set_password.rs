//! Sets a new password.

use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::password;
use crate::ports::{App, Scope, write};

/// Sets the caller's own password, and ends all of the caller's sessions. So a person who knows the old password loses
/// access. The caller's API tokens stay; they are revoked one by one. Hashing the password takes tens of milliseconds
/// of a core.
pub async fn set_password(app: &App, caller: &UserCaller, new: &str) -> Result<()> {
    let mut checks = Checks::default();
    checks.password("password", new, &[]);
    checks.finish()?;
    let hash = password::hash(new, app.seeded_ids().bytes())?;
    let by = caller.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.hold_organization()?;
        tx.set_password(&by.user_id, &hash)?;
        tx.append_audit(line::of(&by, None, "password_changed", ("User", by.user_id.as_str()), json!({})))
    })
    .await
}
