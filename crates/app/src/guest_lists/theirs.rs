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

/// The list that new guests of the caller go to. A promoter may only name one of their own, and must name one.
pub fn must_fill(tx: &mut dyn Tx, caller: &UserCaller, event_id: &EventId, asked: Option<&GuestListId>) -> Result<()> {
    let lists = tx.guest_lists(event_id)?;
    let found = asked.and_then(|asked| lists.iter().find(|list| list.guest_list_id == *asked));
    if asked.is_some() && found.is_none() {
        return Err(Error::not_found("guest_list"));
    }
    if can(caller.role, Action::ManageGuests) {
        return Ok(());
    }
    caller.must(Action::ManageOwnGuests)?;
    match found {
        Some(list) if list.promoter_id.as_ref() == Some(&caller.user_id) => Ok(()),
        Some(_) => Err(Error::not_found("guest_list")),
        None => Err(Error::invalid("guest_list_id", "must be one of your own guest lists")),
    }
}
