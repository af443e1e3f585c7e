//! Counts the guests of an event by state.

use admit_core::ids::EventId;

use super::list::seen_by;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::guest_lists::promoter_scope;
use crate::ports::{App, read};
use crate::records::{EntryTypeRecord, GuestCount, GuestListRecord, UnsentPasses};

/// Numbers of guests by state. All members but `persons` and `expected` count guests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// All guests.
    pub all: u64,
    /// Number of persons: the sum of the party sizes.
    pub persons: u64,
    /// Persons whom valid tickets admit. Without a search it is the same number as on the event's overview and live
    /// page. That number includes tickets without a guest.
    pub expected: u64,
    /// Guests with somebody of their party inside now.
    pub inside: u64,
    /// Guests with nobody let in yet, while the event is not over and their ticket is active.
    pub to_come: u64,
    /// Guests with somebody of their party let in so far.
    pub came: u64,
    /// Guests with nobody let in, although their ticket was active and the event is over.
    pub no_show: u64,
    /// Guests whose ticket is voided or refunded.
    pub voided: u64,
    /// Guests whose newest pass run gave up.
    pub mail_refused: u64,
    /// Guests whose newest pass run is under way or waits.
    pub mail_waiting: u64,
    /// Guests by guest list, oldest list first. Lists without a guest are included.
    pub lists: Vec<(GuestListRecord, u64)>,
    /// Guests by entry type, in the types' order. Types without a guest are included.
    pub entry_types: Vec<(EntryTypeRecord, u64)>,
}

/// Counts the guests that `text` finds. If `text` is absent, it counts all guests. A promoter counts only those of
/// their own lists.
pub async fn count(app: &App, caller: &UserCaller, event_id: EventId, text: Option<String>) -> Result<Counts> {
    let filter = seen_by(caller, text)?;
    let by = caller.clone();
    read(&*app.store, &caller.organization_id, move |tx| {
        let event = events::require(tx, &event_id)?;
        let (text, promoter_id) = (filter.text.as_ref(), filter.promoter_id.as_ref());
        let groups = tx.count_guests(&event_id, text, promoter_id)?;
        let unsent = tx.count_unsent_passes(&event_id, text, promoter_id)?;
        let mut lists = tx.guest_lists(&event_id)?;
        lists.retain(|list| promoter_scope::is_own_list(&by, list));
        let is_whole = text.is_none() && promoter_id.is_none();
        let whole = if is_whole { Some(tx.count_tickets(&event_id)?.1) } else { None };
        let counts = counted(&groups, unsent, event.status.is_over(), lists, tx.entry_types(&event_id)?);
        Ok(Counts { expected: whole.unwrap_or(counts.expected), ..counts })
    })
    .await
}

/// Adds up groups of guests.
fn counted(
    groups: &[GuestCount],
    unsent: UnsentPasses,
    is_over: bool,
    lists: Vec<GuestListRecord>,
    types: Vec<EntryTypeRecord>,
) -> Counts {
    let sum = |count: fn(&GuestCount) -> u64| groups.iter().map(count).sum::<u64>();
    let not_come = sum(|one| one.not_come);
    let on_list = |list: &GuestListRecord| {
        let of_it = groups.iter().filter(|one| one.guest_list_id.as_ref() == Some(&list.guest_list_id));
        of_it.map(|one| one.guests).sum()
    };
    let of_type = |kind: &EntryTypeRecord| {
        let of_it = groups.iter().filter(|one| one.entry_type_id.as_ref() == Some(&kind.entry_type_id));
        of_it.map(|one| one.guests).sum()
    };
    Counts {
        all: sum(|one| one.guests),
        persons: sum(|one| one.persons),
        expected: sum(|one| one.expected),
        inside: sum(|one| one.inside),
        to_come: if is_over { 0 } else { not_come },
        came: sum(|one| one.came),
        no_show: if is_over { not_come } else { 0 },
        voided: sum(|one| one.voided),
        mail_refused: unsent.refused,
        mail_waiting: unsent.waiting,
        lists: lists.into_iter().map(|list| (list.clone(), on_list(&list))).collect(),
        entry_types: types.into_iter().map(|kind| (kind.clone(), of_type(&kind))).collect(),
    }
}
