//! Shows the first page of an event: its figures and its checklist, from one snapshot.

use admit_core::access::{Action, can};
use admit_core::event::EventStatus;
use admit_core::ids::EventId;
use admit_core::scan::persons_let_in;
use admit_core::time::Timestamp;

use super::checklist::{Known, State, Step, checklist, devices_needed};
use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::gates::{self, Gate};
use crate::ports::{App, read};
use crate::records::{DeviceRecord, DeviceState, EventRecord, MailLaneRecord};
use crate::scans::practice;

/// The figures of an event.
#[derive(Debug, Clone)]
pub struct Overview {
    /// The event.
    pub event: EventRecord,
    /// Number of persons that the tickets admit.
    pub expected: u64,
    /// Number of persons let in, within and beyond their tickets' limits.
    pub admitted: u64,
    /// Number of persons inside now, within and beyond their tickets' limits.
    pub inside: u64,
    /// Number of guests.
    pub guests: u64,
    /// Gates, in order of id.
    pub gates: Vec<Gate>,
    /// Number of devices that are paired with the event and not revoked.
    pub devices: u64,
    /// Number of devices that the event needs.
    pub devices_needed: u64,
    /// Number of guests whose newest pass was mailed.
    pub passes_sent: u64,
    /// Number of guests whose newest pass run is under way or waits.
    pub passes_waiting: u64,
    /// Number of guests whose newest pass run gave up.
    pub passes_refused: u64,
    /// Number of codes that were scanned before the event's start, or while it is a draft.
    pub test_scans: u64,
    /// For a draft: number of persons whom practice scans of the last 12 hours let in. 0 otherwise.
    pub practice_persons: u64,
    /// Number of open incidents in the review queue.
    pub open_incidents: u64,
    /// Why no mail goes out now. `None` if mail goes out, and for a caller who may not see guests.
    pub mail_problem: Option<MailLaneRecord>,
    /// The steps before doors open, with their states.
    pub checklist: [(Step, State); 7],
}

/// Reads one consistent snapshot. The answer has only counts, and nothing personal.
pub async fn show(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Overview> {
    caller.must(Action::ReadEvents)?;
    let now = app.clock.now();
    let mail_problem = if can(caller.role, Action::ReadGuests) { app.store.mail_lane().await? } else { None };
    read(&*app.store, &caller.organization_id, move |tx| {
        // 1. Read what is stored.
        let event = events::require(tx, &event_id)?;
        let gates = gates::all(tx, &event_id)?;
        let (tickets, expected) = tx.count_tickets(&event_id)?;
        let counts = tx.count_guests(&event_id, None, None)?;
        let unsent = tx.count_unsent_passes(&event_id, None, None)?;
        let passes_sent = tx.count_sent_passes(&event_id)?;
        let occupancy = tx.occupancy(&event_id)?;
        let here = |one: &DeviceRecord| one.event_id == event_id && one.state != DeviceState::Revoked;
        let devices = tx.devices(&event_id)?.iter().filter(|one| here(one)).count() as u64;
        let before = if event.status == EventStatus::Draft { Timestamp::clamped(i64::MAX) } else { event.starts_at };
        let test_scans = tx.count_subjects_before(&event_id, before)?;
        let is_draft = event.status == EventStatus::Draft;
        let practice = if is_draft { practice::recent(tx, &event_id, now)? } else { Vec::new() };
        let open = tx.count_open_incidents(&event_id)?;
        // 2. Compute what follows from it.
        let admitted = u64::try_from(occupancy.entered.saturating_add(occupancy.over)).unwrap_or(0);
        let known = Known {
            status: event.status,
            starts_at: event.starts_at,
            ends_at: event.ends_at,
            has_staff_pin: event.has_pin,
            gates: gates.len() as u64,
            tickets,
            expected,
            admitted,
            devices,
            test_scans,
            now,
        };
        Ok(Overview {
            expected,
            admitted,
            inside: u64::try_from(occupancy.inside.saturating_add(occupancy.inside_over)).unwrap_or(0),
            guests: counts.iter().map(|one| one.guests).sum(),
            devices,
            devices_needed: devices_needed(expected, known.gates),
            passes_sent,
            passes_waiting: unsent.waiting,
            passes_refused: unsent.refused,
            test_scans,
            practice_persons: persons_let_in(practice.iter().map(|one| &one.fact.scan)),
            open_incidents: open.iter().filter(|(kind, _)| kind.queued()).map(|(_, count)| count).sum(),
            mail_problem,
            checklist: checklist(&known),
            event,
            gates,
        })
    })
    .await
}
