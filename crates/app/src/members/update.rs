//! Changes a member's role.

use admit_core::access::Action;
use admit_core::ids::UserId;
use serde_json::json;

use super::find;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, Scope, write};
use crate::records::{MemberRecord, Role};

/// Sets a member's role. Fails with `last_owner` if nobody else is an owner. Setting the present role changes nothing.
pub async fn update(app: &App, caller: &UserCaller, user_id: UserId, role: Role) -> Result<MemberRecord> {
    caller.must(Action::ManageMembers)?;
    let by = caller.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        // Two owners who demote each other at the same time must not both see the other as still an owner.
        tx.hold_organization()?;
        let before = find::require(tx, &user_id)?;
        if before.role == role {
            return Ok(before);
        }
        if before.role == Role::Owner {
            find::keep_an_owner(tx, &user_id)?;
        }
        tx.set_member_role(&user_id, role)?;
        let said = json!({ "role": { "from": before.role.as_str(), "to": role.as_str() } });
        tx.append_audit(line::of(&by, None, "member_updated", ("User", user_id.as_str()), said))?;
        find::require(tx, &user_id)
    })
    .await
}
