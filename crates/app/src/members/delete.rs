//! Removes a member.

use admit_core::access::Action;
use admit_core::ids::UserId;
use serde_json::json;

use super::find;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, Scope, write};
use crate::records::Role;

/// Ends a membership, with all of its sessions and API tokens in this organisation. Fails with `last_owner`.
pub async fn delete(app: &App, caller: &UserCaller, user_id: UserId) -> Result<()> {
    caller.must(Action::ManageMembers)?;
    let by = caller.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        // Two owners who remove each other at the same time must not both see the other as still there.
        tx.hold_organization()?;
        let before = find::require(tx, &user_id)?;
        if before.role == Role::Owner {
            find::keep_an_owner(tx, &user_id)?;
        }
        tx.remove_member(&user_id)?;
        let said = json!({ "email": before.email, "role": before.role.as_str() });
        tx.append_audit(line::of(&by, None, "member_removed", ("User", user_id.as_str()), said))
    })
    .await
}
