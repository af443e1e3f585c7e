//! Creates a member: a user with an e-mail that no user has yet.

use admit_core::access::Action;
use serde_json::json;

use super::find;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::organizations::create::new_user;
use crate::password;
use crate::ports::{App, Scope, write};
use crate::records::{MemberRecord, Role};

/// The member to create.
#[derive(Debug, Clone)]
pub struct NewMember {
    /// The e-mail for signing in.
    pub email: String,
    /// The member's name.
    pub name: String,
    /// The first password.
    pub password: String,
    /// The member's role.
    pub role: Role,
}

/// Creates a user and the membership. Fails with `email_taken`. Hashing the password takes tens of milliseconds of a
/// core.
pub async fn create(app: &App, caller: &UserCaller, new: NewMember) -> Result<MemberRecord> {
    caller.must(Action::ManageMembers)?;
    let now = app.clock.now();
    let mut seeded = app.seeded_ids();
    // 1. Check.
    let mut checks = Checks::default();
    let email = checks.email("email", &new.email);
    let name = checks.name("name", &new.name);
    checks.password("password", &new.password, &[&new.email, &new.name]);
    checks.finish()?;
    // 2. Store user, membership and line together.
    let user = new_user(seeded.row_id(now), email, name, password::hash(&new.password, seeded.bytes())?, now)?;
    let by = caller.clone();
    let role = new.role;
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.insert_member(&user, role)?;
        let said = json!({ "email": user.email, "role": role.as_str() });
        tx.append_audit(line::of(&by, None, "member_created", ("User", user.user_id.as_str()), said))?;
        find::require(tx, &user.user_id)
    })
    .await
}
