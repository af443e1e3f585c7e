//! Sends the passes of many guests again.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::access::{Action, can};
use admit_core::ids::{EventId, GuestId, TicketId};
use admit_core::limits::{PAGE_MAX, RESENT_AT_ONCE};
use admit_core::time::Timestamp;
use serde_json::json;

use super::list::{Wanted, seen_by};
use super::resend::{NextStep, must_not_be_over, next_step, retry};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::guest_lists::promoter_scope::is_own_list;
use crate::passes::{self, DeliveryReason};
use crate::ports::{App, GuestFilter, Pace, Scope, Tx, read, write};
use crate::records::{EventRecord, GuestRecord, Page, RunRecord, TicketRecord};
use crate::seeded_ids::SeededIds;

/// Guests read at a time.
const READ: usize = 2_000;

/// The guests of a request. Exactly one member must be given.
#[derive(Debug, Clone, Default)]
pub struct Whom {
    /// These guests, 1 to 500.
    pub guest_ids: Option<Vec<GuestId>>,
    /// All guests that a list with this filter has.
    pub filter: Option<Wanted>,
}

/// The result of a request, in numbers of guests. Their sum is the number of guests that the request means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resent {
    /// Guests whose pass is mailed.
    pub mailed: usize,
    /// Guests without an e-mail address.
    pub no_email: usize,
    /// Guests whose code came from another system, or who have no ticket.
    pub code_of_another: usize,
    /// Guests whose ticket is not active.
    pub ticket_not_active: usize,
    /// Guests whose pass was sent again less than a minute ago.
    pub just_sent: usize,
    /// Ids that name no guest of the event whom the caller may see.
    pub not_found: usize,
}

/// Sends the passes of many guests again, each as [`super::resend`] does. Guests to whom nothing can be mailed are
/// counted by reason, and don't stop the others. A promoter may do this for guests of their own lists. Fails with
/// `event_over`. With `dry_run` it only counts.
///
/// 1. Read the guests, and find for each what a request leads to.
/// 2. Send the passes, several guests per transaction, so that scans at the door need not wait long. The first
///    transaction writes the one line of the ledger.
pub async fn resend_many(
    app: &App,
    caller: &UserCaller,
    event_id: EventId,
    whom: Whom,
    dry_run: bool,
) -> Result<Resent> {
    if !can(caller.role, Action::ManageGuests) {
        caller.must(Action::ManageOwnGuests)?;
    }
    let (now, by) = (app.clock.now(), caller.clone());
    let id = event_id.clone();
    let (planned, ids) = read(&*app.store, &caller.organization_id, move |tx| plan(tx, &by, &id, &whom, now)).await?;
    if dry_run || ids.is_empty() {
        return Ok(planned);
    }
    let mut resent = Resent { mailed: 0, ..planned };
    let guests = planned.mailed;
    for (at, some) in ids.chunks(RESENT_AT_ONCE).enumerate() {
        let (by, id, some) = (caller.clone(), event_id.clone(), some.to_vec());
        let drawn = app.seeded_ids();
        let scope = Scope { pace: Pace::Patient, ..Scope::event(&caller.organization_id, &event_id) };
        let sent = write(&*app.store, scope, move |tx| {
            let mut seeded = drawn.clone();
            let event = events::require(tx, &id)?;
            must_not_be_over(&event)?;
            tx.stamp(&id)?;
            let sent = send(tx, &by, &event, &some, now, &mut seeded)?;
            if at == 0 {
                let said = json!({ "guests": guests });
                tx.append_audit(line::of(&by, Some(&id), "passes_resent", ("Event", id.as_str()), said))?;
            }
            Ok(sent)
        })
        .await?;
        resent.add(sent);
        app.job_wakeup.wake();
    }
    Ok(resent)
}

impl Resent {
    fn add(&mut self, more: Self) {
        self.mailed += more.mailed;
        self.no_email += more.no_email;
        self.code_of_another += more.code_of_another;
        self.ticket_not_active += more.ticket_not_active;
        self.just_sent += more.just_sent;
        self.not_found += more.not_found;
    }
    /// The number that a guest with this step belongs to.
    fn of(&mut self, guest: &GuestRecord, next: &NextStep) -> &mut usize {
        match next {
            NextStep::CodeOfAnother => &mut self.code_of_another,
            NextStep::NotActive => &mut self.ticket_not_active,
            _ if guest.email.is_none() => &mut self.no_email,
            NextStep::JustSent { .. } => &mut self.just_sent,
            NextStep::UnderWay(_) | NextStep::Retry(_) | NextStep::New => &mut self.mailed,
        }
    }
}

/// Reads what the request leads to, and the guests whose pass is mailed.
fn plan(
    tx: &mut dyn Tx,
    by: &UserCaller,
    event_id: &EventId,
    whom: &Whom,
    now: Timestamp,
) -> Result<(Resent, Vec<GuestId>)> {
    let event = events::require(tx, event_id)?;
    let (mut planned, mut ids) = (Resent::default(), Vec::new());
    let mut look = |tx: &mut dyn Tx, guests: Vec<GuestRecord>, planned: &mut Resent| -> Result<()> {
        for (guest, next) in steps(tx, event_id, guests, now)? {
            *planned.of(&guest, &next) += 1;
            if mails(&guest, &next) {
                ids.push(guest.guest_id);
            }
        }
        Ok(())
    };
    match (&whom.guest_ids, &whom.filter) {
        (Some(named), None) => {
            let named: Vec<GuestId> = named.iter().collect::<BTreeSet<_>>().into_iter().cloned().collect();
            if !(1..=PAGE_MAX).contains(&named.len()) {
                let message = format!("must name 1 to {PAGE_MAX} guests, not {}", named.len());
                return Err(Error::invalid("guest_ids", message));
            }
            let guests = seen(tx, by, event_id, &named)?;
            planned.not_found = named.len() - guests.len();
            look(tx, guests, &mut planned)?;
        }
        (None, Some(wanted)) => {
            let mut cursor = None;
            let Some(filter) = filter(by, &event, wanted)? else { return Ok((planned, Vec::new())) };
            loop {
                let page = Page { limit: READ, cursor: cursor.take() };
                let listed = tx.guests(event_id, &filter, wanted.sort, &page)?;
                look(tx, listed.items.into_iter().map(|(guest, _)| guest).collect(), &mut planned)?;
                cursor = listed.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
        }
        (None, None) => {
            return Err(Error::invalid("guest_ids", "is missing: name the guests here, or give a `filter`"));
        }
        (Some(_), Some(_)) => return Err(Error::invalid("filter", "must be absent if `guest_ids` names the guests")),
    }
    must_not_be_over(&event)?;
    Ok((planned, ids))
}

/// Sends the passes of these guests. The plan, made in an earlier transaction, was to mail each of them. Each guest is
/// checked again here, because something may have changed since.
fn send(
    tx: &mut dyn Tx,
    by: &UserCaller,
    event: &EventRecord,
    guest_ids: &[GuestId],
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Resent> {
    let guests = seen(tx, by, &event.event_id, guest_ids)?;
    let mut sent = Resent { not_found: guest_ids.len() - guests.len(), ..Resent::default() };
    let mut new = Vec::new();
    for (guest, next) in steps(tx, &event.event_id, guests, now)? {
        *sent.of(&guest, &next) += 1;
        if !mails(&guest, &next) {
            continue;
        }
        let is_new = match next {
            NextStep::Retry(run) => retry(tx, run, now)?.is_none(),
            next => next == NextStep::New,
        };
        if is_new {
            new.push((guest.guest_id.to_string(), DeliveryReason::Resend));
        }
    }
    passes::enqueue(tx, event, &new, now, seeded)?;
    Ok(sent)
}

/// Whether this guest's pass is mailed.
fn mails(guest: &GuestRecord, next: &NextStep) -> bool {
    guest.email.is_some() && matches!(next, NextStep::UnderWay(_) | NextStep::Retry(_) | NextStep::New)
}

/// Those of these guests that belong to the event and that the caller may see.
fn seen(tx: &mut dyn Tx, by: &UserCaller, event_id: &EventId, guest_ids: &[GuestId]) -> Result<Vec<GuestRecord>> {
    let mut guests = tx.guests_by_id(guest_ids)?;
    let sees_all = can(by.role, Action::ManageGuests);
    let lists = if sees_all { Vec::new() } else { tx.guest_lists(event_id)? };
    guests.retain(|guest| {
        let own = || {
            let mut own = lists.iter().filter(|list| is_own_list(by, list));
            own.any(|list| Some(&list.guest_list_id) == guest.guest_list_id.as_ref())
        };
        guest.event_id == *event_id && (sees_all || own())
    });
    Ok(guests)
}

/// The filter of a list, narrowed to what the caller may see. `None` if no guest can match.
fn filter(by: &UserCaller, event: &EventRecord, wanted: &Wanted) -> Result<Option<GuestFilter>> {
    let seen = seen_by(by, wanted.text.clone())?;
    Ok(wanted.filter(seen, event.status.is_over()))
}

/// The step that follows the request for each of these guests.
fn steps(
    tx: &mut dyn Tx,
    event_id: &EventId,
    guests: Vec<GuestRecord>,
    now: Timestamp,
) -> Result<Vec<(GuestRecord, NextStep)>> {
    let held: Vec<TicketId> = guests.iter().filter_map(|guest| guest.ticket_id.clone()).collect();
    let tickets = tx.tickets_by_id(event_id, &held)?;
    let tickets: BTreeMap<&TicketId, &TicketRecord> = tickets.iter().map(|one| (&one.ticket_id, one)).collect();
    let subjects: Vec<String> = guests.iter().map(|guest| guest.guest_id.to_string()).collect();
    let newest = tx.newest_runs(event_id, passes::KIND, &subjects)?;
    let mut newest: BTreeMap<String, RunRecord> = newest.into_iter().map(|run| (run.subject.clone(), run)).collect();
    let step = |guest: GuestRecord| {
        let ticket = guest.ticket_id.as_ref().and_then(|id| tickets.get(id)).copied();
        let next = next_step(ticket, newest.remove(guest.guest_id.as_str()), now);
        (guest, next)
    };
    Ok(guests.into_iter().map(step).collect())
}
