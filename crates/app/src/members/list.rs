//! Lists the members of an organisation.

use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::MemberRecord;

/// All members, oldest first. Every member may see them.
pub async fn list(app: &App, caller: &UserCaller) -> Result<Vec<MemberRecord>> {
    read(&*app.store, &caller.organization_id, move |tx| tx.members()).await
}
