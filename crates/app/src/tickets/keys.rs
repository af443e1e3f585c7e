//! Import keys: by what a row without a code is found again.
//!
//! A promoter's rows have keys of their list alone. The numbers in a promoter's file are the promoter's; if they meant the
//! same as the organiser's own, whoever guesses them would get the organiser's guests onto their list.

use admit_core::access::{Action, can};
use admit_core::ids::GuestListId;

use crate::caller::UserCaller;
use crate::records::GuestRecord;

/// Whose keys are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyScope {
    /// The organiser's: files, webhooks, guests made by hand.
    Event,
    /// A promoter's, of one list.
    List(GuestListId),
}

impl KeyScope {
    /// A key as it is stored.
    pub(crate) fn key(&self, key: &str) -> String {
        match self {
            Self::Event => key.to_owned(),
            Self::List(list) => format!("{LIST}{list}/{key}"),
        }
    }
}

const LIST: &str = "list:";
const ID: &str = "id:";

/// The key of rows with an id of the sender's own.
pub(crate) fn of_external_id(external_id: &str) -> String {
    format!("{ID}{external_id}")
}

/// Why an id is refused.
pub(crate) const TAKEN: &str = "is given to another guest already";

/// The key of a guest by the id that the caller gives them: the organiser's word is for the event, a promoter's for the
/// list alone.
pub(crate) fn of_guest(by: &UserCaller, guest: &GuestRecord) -> Option<String> {
    let scope = match &guest.guest_list_id {
        Some(list) if !can(by.role, Action::ManageGuests) => KeyScope::List(list.clone()),
        _ => KeyScope::Event,
    };
    guest.external_id.as_deref().map(|id| scope.key(&of_external_id(id)))
}

/// A stored key without the list whose it is.
pub(crate) fn bare(key: &str) -> &str {
    key.strip_prefix(LIST).and_then(|rest| rest.split_once('/')).map_or(key, |(_, bare)| bare)
}

/// Whether a stored key is made of an external id.
pub(crate) fn is_of_external_id(key: &str) -> bool {
    bare(key).starts_with(ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lists_key_is_no_key_of_the_event_and_is_read_back() {
        let list = KeyScope::List(GuestListId::new("l-1").unwrap());
        let key = list.key(&of_external_id("A/7"));
        assert_ne!(key, KeyScope::Event.key(&of_external_id("A/7")));
        assert_eq!((bare(&key), bare("id:A/7"), bare("order:A/7")), ("id:A/7", "id:A/7", "order:A/7"));
        assert!(is_of_external_id(&key) && is_of_external_id("id:7") && !is_of_external_id(&list.key("order:A/7")));
    }
}
