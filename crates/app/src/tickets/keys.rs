//! Import keys, by which a row without a code is found again.
//!
//! The keys of a promoter's rows belong to the promoter's list alone. A promoter chooses the ids in their file. If
//! these meant the same as the organiser's own ids, a promoter could guess them and get the organiser's guests onto the
//! promoter's list.

use admit_core::access::{Action, can};
use admit_core::barcode::BarcodeHash;
use admit_core::ids::GuestListId;
use admit_core::limits::NAME_CHARS;
use admit_core::normalize::for_identity;

use crate::caller::UserCaller;
use crate::records::{GuestListRecord, GuestRecord};

/// To whom keys belong: the event or a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyScope {
    /// The keys are the organiser's. Rows of the organiser's files and webhooks have them, and guests added one by one.
    Event,
    /// The keys are a promoter's, for one list.
    List(GuestListId),
}

impl KeyScope {
    /// A key in the form in which it is stored.
    pub(crate) fn key(&self, key: &str) -> String {
        match self {
            Self::Event => key.to_owned(),
            Self::List(list) => format!("{LIST}{list}/{key}"),
        }
    }
}

const LIST: &str = "list:";
const ID: &str = "id:";
const GUEST: &str = "guest:";
/// The character between the parts of a guest's key. It cannot stand in a name, since control characters are refused.
const BETWEEN: char = '\u{1f}';
/// Longest name that a key holds, in bytes. For a longer name the key holds its hash. Normalizing can make a name
/// longer, since some characters stand for a whole word, and PostgreSQL refuses keys of more than 2,704 bytes.
const NAME_BYTES: usize = 4 * NAME_CHARS;

/// The key of a row that has an id of the sender's own.
pub(crate) fn of_external_id(external_id: &str) -> String {
    format!("{ID}{external_id}")
}

/// The key of a row that has neither a code nor an id nor an order: the guest list, the name and the e-mail. The list
/// is named by its id, so its guests are found even after it is renamed.
pub(crate) fn of_name(list: Option<&GuestListId>, name: &str, email: &str) -> String {
    let list = list.map(GuestListId::as_str).unwrap_or_default();
    let mut name = for_identity(name);
    if name.len() > NAME_BYTES {
        name = BarcodeHash::of(&name).to_string();
    }
    format!("{GUEST}{list}{BETWEEN}{name}{BETWEEN}{email}")
}

/// A guest's key, extended by one more part of the row, such as its order. So two orders of one person are two tickets.
pub(crate) fn with_part(key: String, word: &str, part: &str) -> String {
    format!("{key}{BETWEEN}{word}:{part}")
}

/// The new key after a guest moved from one list to another, so that the other promoter's next file finds the guest.
/// `None` for a key of the event, which belongs to the organiser and stays.
pub(crate) fn moved(key: &str, to: &GuestListRecord) -> Option<String> {
    key.strip_prefix(LIST)?;
    let bare = bare(key);
    let there = bare.strip_prefix(GUEST).and_then(|rest| rest.split_once(BETWEEN));
    let key = there.map(|(_, who)| format!("{GUEST}{}{BETWEEN}{who}", to.guest_list_id));
    Some(KeyScope::List(to.guest_list_id.clone()).key(key.as_deref().unwrap_or(bare)))
}

/// Why a guest cannot move to another list.
pub(crate) const THERE_ALREADY: &str = "has a guest of this own id or name already: change that one, or this one first";

/// Why an external id is refused.
pub(crate) const TAKEN: &str = "is given to another guest already";

/// The key of a guest by the external id that the caller gives. An organiser's id holds for the event, a promoter's for
/// the list alone. `None` if the guest has no such id.
pub(crate) fn of_guest(by: &UserCaller, guest: &GuestRecord) -> Option<String> {
    let scope = match &guest.guest_list_id {
        Some(list) if !can(by.role, Action::ManageGuests) => KeyScope::List(list.clone()),
        _ => KeyScope::Event,
    };
    guest.external_id.as_deref().map(|id| scope.key(&of_external_id(id)))
}

/// A stored key without its list.
pub(crate) fn bare(key: &str) -> &str {
    key.strip_prefix(LIST).and_then(|rest| rest.split_once('/')).map_or(key, |(_, bare)| bare)
}

/// Whether a stored key belongs to the event, and so to the organiser.
pub(crate) fn is_of_event(key: &str) -> bool {
    !key.starts_with(LIST)
}

/// Whether a stored key was made of an external id.
pub(crate) fn is_of_external_id(key: &str) -> bool {
    bare(key).starts_with(ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lists_key_moves_with_its_guest_and_the_organisers_does_not() {
        let to = GuestListRecord {
            guest_list_id: GuestListId::new("l-2").unwrap(),
            event_id: admit_core::ids::EventId::new("e").unwrap(),
            name: "Late  Friends".into(),
            promoter_id: None,
            created_at: admit_core::time::Timestamp::START,
        };
        let friends = GuestListId::new("l-1").unwrap();
        let own = KeyScope::List(friends.clone());
        let late = KeyScope::List(to.guest_list_id.clone());
        let named = |list: &GuestListId| of_name(Some(list), "Ana", "a@x.example");
        let table = [
            (own.key("id:A/7"), Some(late.key("id:A/7"))),
            (own.key("order:A/7"), Some(late.key("order:A/7"))),
            (own.key(&named(&friends)), Some(late.key(&named(&to.guest_list_id)))),
            ("id:A/7".to_owned(), None),
            (named(&friends), None),
        ];
        for (key, expected) in table {
            assert_eq!(moved(&key, &to), expected, "{key}");
        }
    }

    #[test]
    fn a_lists_key_is_no_key_of_the_event_and_is_read_back() {
        let list = KeyScope::List(GuestListId::new("l-1").unwrap());
        let key = list.key(&of_external_id("A/7"));
        assert_ne!(key, KeyScope::Event.key(&of_external_id("A/7")));
        assert_eq!((bare(&key), bare("id:A/7"), bare("order:A/7")), ("id:A/7", "id:A/7", "order:A/7"));
        assert!(is_of_event("id:A/7") && !is_of_event(&key));
        assert!(is_of_external_id(&key) && is_of_external_id("id:7") && !is_of_external_id(&list.key("order:A/7")));
    }
}
