//! The scope of promoters: a promoter sees and fills only their own lists.

use admit_core::access::{Action, can};
use admit_core::ids::{EventId, GuestListId, UserId};
use admit_core::normalize::for_identity;

use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::GuestListRecord;

/// Whether the caller sees this list. With `ReadGuests` a caller sees all lists, otherwise only those that they keep as
/// a promoter.
pub fn is_own_list(caller: &UserCaller, list: &GuestListRecord) -> bool {
    can(caller.role, Action::ReadGuests) || list.promoter_id.as_ref() == Some(&caller.user_id)
}

/// The list that a name means. That is the list with exactly this name, otherwise the oldest whose name is the same
/// after normalisation (`for_identity`). `None` if there is neither.
pub(crate) fn by_name<'a>(lists: &'a [GuestListRecord], name: &str) -> Option<&'a GuestListId> {
    let exact = lists.iter().find(|list| list.name == name);
    exact
        .or_else(|| lists.iter().find(|list| for_identity(&list.name) == for_identity(name)))
        .map(|list| &list.guest_list_id)
}

/// Checks that the caller may put guests on this list. With `ManageGuests` any list is allowed. Other callers must name
/// a list of their own. `path` names the field in an error. To a promoter, a list of somebody else looks as if it did
/// not exist.
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

/// Checks that no other list has a name that is the same after normalisation (`for_identity`). Otherwise an import
/// could put guests on the wrong one of the two.
pub(super) fn one_of_a_name(tx: &mut dyn Tx, list: &GuestListRecord) -> Result<()> {
    let lists = tx.guest_lists(&list.event_id)?;
    let same = |one: &&GuestListRecord| {
        one.guest_list_id != list.guest_list_id && for_identity(&one.name) == for_identity(&list.name)
    };
    match lists.iter().find(same) {
        Some(one) => Err(Error::conflict("guest_list_exists", format!("a guest list is called {} already", one.name))),
        None => Ok(()),
    }
}

/// Checks that the user who is to keep a list is a member.
pub(super) fn must_be_a_member(tx: &mut dyn Tx, user_id: Option<&UserId>) -> Result<()> {
    match user_id {
        Some(user_id) if tx.member(user_id)?.is_none() => {
            Err(Error::invalid("promoter_id", "is not a member of this organisation"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use admit_core::time::Timestamp;

    #[test]
    fn a_name_means_the_list_of_exactly_that_name_first() {
        let list = |name: &str| GuestListRecord {
            guest_list_id: GuestListId::new(format!("l-{}", name.trim())).unwrap(),
            event_id: EventId::new("e").unwrap(),
            name: name.into(),
            promoter_id: None,
            created_at: Timestamp::START,
        };
        let lists = [list("Friends"), list("friends"), list("House")];
        let found = |name: &str| by_name(&lists, name).map(ToString::to_string);
        assert_eq!(found("friends").as_deref(), Some("l-friends"));
        assert_eq!(found("Friends").as_deref(), Some("l-Friends"));
        assert_eq!(found(" FRIENDS").as_deref(), Some("l-Friends"), "the oldest");
        assert_eq!(found("Family"), None);
    }
}
