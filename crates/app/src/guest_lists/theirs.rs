//! Whose list is whose: a promoter sees and fills their own.

use admit_core::access::{Action, can};
use admit_core::ids::{EventId, GuestListId};

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::GuestListRecord;

/// Whether the caller sees (and fills) this list: all with `ReadGuests`, else one's own.
pub fn is_theirs(caller: &UserCaller, list: &GuestListRecord) -> bool {
    can(caller.role, Action::ReadGuests) || list.promoter_id.as_ref() == Some(&caller.user_id)
}

/// Whether the caller may put guests on this list: anybody's with `ManageGuests`, else one of their own, which they must
/// name. `path` names the field in an error; a list of somebody else is the same to a promoter as none.
pub fn must_fill(
    tx: &mut dyn Tx,
    caller: &UserCaller,
    event_id: &EventId,
    asked: Option<&GuestListId>,
    path: &str,
) -> Result<()> {
    let fills_all = can(caller.role, Action::ManageGuests);
    if !fills_all {
        caller.must(Action::ManageOwnGuests)?;
    }
    let Some(asked) = asked else {
        return if fills_all { Ok(()) } else { Err(Error::invalid(path, "must be one of your own guest lists")) };
    };
    let own = |list: &GuestListRecord| fills_all || list.promoter_id.as_ref() == Some(&caller.user_id);
    if tx.guest_lists(event_id)?.iter().any(|list| list.guest_list_id == *asked && own(list)) {
        return Ok(());
    }
    let whose = if fills_all { "a guest list of this event" } else { "one of your own guest lists" };
    Err(Error::invalid(path, format!("is not {whose}")))
}
