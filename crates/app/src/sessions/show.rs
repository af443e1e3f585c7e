//! Shows the signed-in user, for the top of every screen.

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::{App, read};
use crate::records::{MemberRecord, OrganizationRecord};

/// The caller, and the caller's organisation.
#[derive(Debug, Clone)]
pub struct Me {
    /// The member.
    pub member: MemberRecord,
    /// The organisation.
    pub organization: OrganizationRecord,
}

/// The caller's own name, role and organisation.
pub async fn show(app: &App, caller: &UserCaller) -> Result<Me> {
    let user_id = caller.user_id.clone();
    read(&*app.store, &caller.organization_id, move |tx| {
        let member = tx.member(&user_id)?.ok_or_else(|| Error::not_found("member"))?;
        Ok(Me { member, organization: tx.organization()? })
    })
    .await
}
