//! Lists the newest scans at the doors, as a person reads them.

use std::collections::BTreeMap;

use admit_core::access::Action;
use admit_core::ids::{DeviceId, EventId, GateId, GuestId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::ScanVerdict;
use admit_core::rule::When;
use admit_core::scan::ScanKind;
use admit_core::time::Timestamp;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::guests::holders;
use crate::ports::{App, ScanFilter, Tx, read};
use crate::records::{Page, ScanRow};
use crate::scans::office::name_of;

/// How many scans [`newest`] reads: those that arrived last. Of these, it shows the ones that were taken last, by the
/// devices' times. So a phone that uploads an hour of scans after an outage does not push the people of this minute off
/// the list.
const LOOKED_AT: usize = 200;

/// The kind of a passage or refusal at a door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalKind {
    /// Persons were let in.
    Entry,
    /// Persons left.
    Exit,
    /// The door stayed shut.
    Refused,
}

impl ArrivalKind {
    /// The word for this kind in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Exit => "exit",
            Self::Refused => "refused",
        }
    }
}

/// A guest's passage or refusal at a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The scan's corrected time.
    pub at: Timestamp,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// The gate's name.
    pub gate: String,
    /// The guest who holds the ticket: id and name. Absent if no guest does.
    pub guest: Option<(GuestId, String)>,
    /// The name of the entry type. Absent for an unknown code.
    pub entry_type: Option<String>,
    /// Persons let in or out. For a refusal, the persons asked for.
    pub persons: u32,
    /// The kind of arrival.
    pub kind: ArrivalKind,
    /// Why the server's rules refuse the scan, as a stable word, also if the device opened the door. Absent if the
    /// rules admit the scan.
    pub reason: Option<&'static str>,
    /// The device's name.
    pub device: String,
}

/// The newest `limit` entries, exits and refusals, ordered by the times of their scans, newest first. Left out are
/// scans that count nothing until they are reviewed, excluded scans, and undone scans.
pub async fn list(app: &App, caller: &UserCaller, event_id: EventId, limit: usize) -> Result<Vec<Arrival>> {
    caller.must(Action::ReadScans)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        newest(tx, &event_id, limit)
    })
    .await
}

/// Like [`list`], inside a transaction.
pub fn newest(tx: &mut dyn Tx, event_id: &EventId, limit: usize) -> Result<Vec<Arrival>> {
    // 1. Read the scans that arrived last, and of these take the newest.
    let page = Page { limit: LOOKED_AT.max(limit), cursor: None };
    let rows = tx.scans(event_id, &ScanFilter::default(), &page)?.items;
    let mut told: Vec<(ScanRow, ScanVerdict, ArrivalKind, u32)> = rows
        .into_iter()
        .filter_map(|row| {
            let verdict = row.verdict.clone()?;
            let (kind, persons) = happened(&verdict)?;
            Some((row, verdict, kind, persons))
        })
        .collect();
    told.sort_by_key(|(_, verdict, _, _)| std::cmp::Reverse(verdict.at));
    told.truncate(limit);
    // 2. Find the names of the guests, the entry types, the gates and the devices.
    let ticket_of = |row: &ScanRow| Subject::from_key(&row.subject_key)?.ticket_id().cloned();
    let ticket_ids: Vec<TicketId> = told.iter().filter_map(|(row, ..)| ticket_of(row)).collect();
    let held = holders(tx, event_id, &ticket_ids)?;
    let book = tx.load_rules(event_id, &[])?.book;
    let mut devices: BTreeMap<DeviceId, String> =
        tx.devices(event_id)?.into_iter().map(|device| (device.device_id, device.name)).collect();
    let mut arrivals = Vec::with_capacity(told.len());
    for (row, verdict, kind, persons) in told {
        let device_id = &row.fact.scan.device_id;
        if !devices.contains_key(device_id) {
            // The device scans for another event now.
            let name = name_of(tx, device_id)?.unwrap_or_else(|| device_id.to_string());
            devices.insert(device_id.clone(), name);
        }
        let holder = ticket_of(&row).and_then(|id| held.get(&id)).cloned().unwrap_or_default();
        let gate = book.gate(&verdict.gate_id, When::Newest).map(|gate| gate.name);
        arrivals.push(Arrival {
            at: verdict.at,
            gate: gate.unwrap_or_else(|| verdict.gate_id.to_string()),
            gate_id: verdict.gate_id,
            guest: holder.guest.map(|guest| (guest.guest_id, guest.name)),
            entry_type: holder.entry_type,
            persons,
            kind,
            reason: verdict.reason.map(|reason| reason.as_str()),
            device: devices.get(device_id).cloned().unwrap_or_default(),
        });
    }
    Ok(arrivals)
}

/// The kind of a scan that counts, and the number of its persons that were let in, let out or refused. `None` if nobody
/// went through and nobody was refused.
fn happened(verdict: &ScanVerdict) -> Option<(ArrivalKind, u32)> {
    if verdict.left_out.is_some() || verdict.kind == ScanKind::Revert {
        return None;
    }
    if !verdict.opened {
        return Some((ArrivalKind::Refused, verdict.count));
    }
    let let_in = verdict.within.saturating_add(verdict.over);
    let let_out = verdict.exited.saturating_add(verdict.exited_over);
    match verdict.kind {
        ScanKind::Entry if let_in > 0 => Some((ArrivalKind::Entry, let_in)),
        ScanKind::Exit if let_out > 0 => Some((ArrivalKind::Exit, let_out)),
        _ => None,
    }
}
