//! Answers the changes after a cursor: tickets with their newest rules and the scans that count, the gates, and the
//! event.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, EventId, ScanId, TicketId};
use admit_core::incident::Subject;
use admit_core::limits::{CHANGES_ITEMS, CHANGES_SCANS};
use admit_core::reduce::{EffectiveScan, Rules, TicketState, reduce};
use admit_core::rule::{Change, TicketBook, When};
use admit_core::scan::ScanKind;
use admit_core::wire::scanning::{ChangedGate, ChangedTicket, ChangesAnswer, Cursor, NamedDevice};

use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Tx, read};
use crate::records::{DeviceState, Head, LoadedRules, StateRecord, TicketRecord};
use crate::scans::office::name_of;

/// A device's question for changes.
#[derive(Debug, Clone, Default)]
pub struct ChangesCommand {
    /// The device's cursor. `None` means from the start.
    pub cursor: Option<Cursor>,
    /// The version of the device's list. The answer leaves out rule changes up to this version, since the list has
    /// them.
    pub manifest_version: u64,
}

/// The answer to a device's question for changes.
#[derive(Debug, Clone)]
pub struct Polled {
    /// The changes.
    pub answer: ChangesAnswer,
    /// The event's head when the changes were read.
    pub head: Head,
}

/// Answers at once, with at most 1,000 tickets. Waiting for news is up to the caller. Fails with 404 unless the device
/// is assigned to the event. A cursor of another epoch, or beyond the event's head, gets `resync`.
pub async fn poll(app: &App, caller: &DeviceCaller, event_id: &EventId, command: ChangesCommand) -> Result<Polled> {
    let (device_id, event_id, now) = (caller.device_id.clone(), event_id.clone(), app.clock.now());
    read(&*app.store, &caller.organization_id, move |tx| {
        let device = tx.device(&device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
        if device.event_id != event_id {
            return Err(Error::not_found("event"));
        }
        if device.state == DeviceState::Revoked {
            return Err(Error::denied("device_revoked", "this device was revoked"));
        }
        let head = tx.head(&event_id)?;
        let blank = ChangesAnswer {
            items: Vec::new(),
            event: None,
            gates: None,
            devices: Vec::new(),
            manifest_version: tx.rules_serial(&event_id)?,
            cursor: Cursor::at(head.epoch, 0),
            more: false,
            resync: false,
            server_time: now,
        };
        let cursor = command.cursor.unwrap_or_else(|| Cursor::at(head.epoch, 0));
        // A cursor beyond the head belongs to another event, or names a serial that a restore lost. The server cannot
        // tell what changed since such a cursor, so the device must start over.
        if cursor.epoch != head.epoch || cursor.serial > head.serial {
            return Ok(Polled { answer: ChangesAnswer { resync: true, ..blank }, head });
        }
        let answer = since(tx, &event_id, &cursor, command.manifest_version, head.serial, blank)?;
        let devices = names(tx, &event_id, &device_id, &answer.items)?;
        Ok(Polled { answer: ChangesAnswer { devices, ..answer }, head })
    })
    .await
}

fn since(
    tx: &mut dyn Tx,
    event_id: &EventId,
    cursor: &Cursor,
    manifest_version: u64,
    head: u64,
    blank: ChangesAnswer,
) -> Result<ChangesAnswer> {
    // The device knows all changes up to `serial`. A cursor with `after` also covers the changes of `serial + 1` up to
    // that ticket.
    let after = match &cursor.after {
        Some(ticket_id) => (cursor.serial + 1, Some(ticket_id)),
        None => (cursor.serial, None),
    };
    let mut changed = tx.changed_tickets(event_id, after, manifest_version, CHANGES_ITEMS + 1)?;
    let more = changed.len() > CHANGES_ITEMS;
    changed.truncate(CHANGES_ITEMS);
    let place = match changed.last() {
        Some((ticket, serial)) if more => {
            Cursor { epoch: cursor.epoch, serial: serial - 1, after: Some(ticket.ticket_id.clone()) }
        }
        _ => Cursor::at(cursor.epoch, head),
    };
    let tickets: Vec<TicketRecord> = changed.into_iter().map(|(ticket, _)| ticket).collect();
    let items = items(tx, event_id, tickets)?;
    let (event, gates) = event_rules(tx, event_id, cursor.serial.max(manifest_version))?;
    Ok(ChangesAnswer { items, event, gates, cursor: place, more, ..blank })
}

/// The names of the other devices whose scans the answer contains, in order of id. Some of these devices may scan for
/// another event now.
fn names(tx: &mut dyn Tx, event_id: &EventId, own: &DeviceId, items: &[ChangedTicket]) -> Result<Vec<NamedDevice>> {
    let scans = items.iter().flat_map(|item| &item.scans).map(|scan| &scan.device_id);
    let entries = items.iter().filter_map(|item| item.prefix.entries.last()).map(|entry| &entry.device_id);
    let wanted: BTreeSet<&DeviceId> = scans.chain(entries).filter(|device_id| *device_id != own).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let here: BTreeMap<DeviceId, String> =
        tx.devices(event_id)?.into_iter().map(|device| (device.device_id, device.name)).collect();
    let mut out = Vec::with_capacity(wanted.len());
    for device_id in wanted {
        let name = match here.get(device_id) {
            Some(name) => Some(name.clone()),
            None => name_of(tx, device_id)?,
        };
        out.extend(name.map(|name| NamedDevice { device_id: device_id.clone(), name }));
    }
    Ok(out)
}

type EventAndGates = (Option<admit_core::event::EventRules>, Option<Vec<ChangedGate>>);

/// The event and its gates. Both are `None` if neither changed after the serial `known`, up to which the device knows
/// them.
fn event_rules(tx: &mut dyn Tx, event_id: &EventId, known: u64) -> Result<EventAndGates> {
    if tx.event_rules_serial(event_id)? <= known {
        return Ok((None, None));
    }
    let book = tx.load_rules(event_id, &[])?.book;
    let gates = book.gate_ids().filter_map(|gate_id| {
        let rules = book.gate(gate_id, When::Newest)?;
        Some(ChangedGate { gate_id: gate_id.clone(), rules })
    });
    Ok((book.event(When::Newest), Some(gates.collect())))
}

fn items(tx: &mut dyn Tx, event_id: &EventId, tickets: Vec<TicketRecord>) -> Result<Vec<ChangedTicket>> {
    let key = |ticket: &TicketRecord| Subject::Ticket(ticket.ticket_id.clone()).key();
    let keys: Vec<String> = tickets.iter().map(key).collect();
    let states = tx.states(event_id, &keys)?;
    let mut states: BTreeMap<String, StateRecord> =
        states.into_iter().map(|state| (state.subject_key.clone(), state)).collect();
    let mut out = Vec::with_capacity(tickets.len());
    for ticket in tickets {
        let effective = states.remove(&key(&ticket)).map(|state| state.effective).unwrap_or_default();
        let folded = effective.len().saturating_sub(CHANGES_SCANS);
        let prefix = prefix(tx, event_id, &ticket.ticket_id, &effective[..folded])?;
        out.push(ChangedTicket {
            ticket_id: ticket.ticket_id,
            rules: ticket.rules,
            barcode_hashes: ticket.barcode_hashes,
            prefix,
            scans: effective[folded..].to_vec(),
        });
    }
    Ok(out)
}

/// The state of a ticket after the scans `older` alone. The answer to a device lists only the newest scans of a ticket.
/// For the others (`older`) it has this one state. The server reduces only `older` and all reverts.
fn prefix(tx: &mut dyn Tx, event_id: &EventId, ticket_id: &TicketId, older: &[EffectiveScan]) -> Result<TicketState> {
    if older.is_empty() {
        return Ok(TicketState::default());
    }
    let subject = Subject::Ticket(ticket_id.clone());
    let keys = [subject.key()];
    let LoadedRules { book, tickets } = tx.load_rules(event_id, std::slice::from_ref(ticket_id))?;
    let mut rules = TicketBook::default();
    for rule in &tickets {
        if let Change::Ticket(_, change) = &rule.change {
            rules.add(rule, change);
        }
    }
    let wanted: BTreeSet<(&DeviceId, &ScanId)> = older.iter().map(|scan| (&scan.device_id, &scan.scan_id)).collect();
    let mut facts = tx.facts(event_id, &keys)?;
    facts.retain(|(_, fact)| {
        fact.scan.kind == ScanKind::Revert || wanted.contains(&(&fact.scan.device_id, &fact.scan.scan_id))
    });
    let reviews = tx.reviews(event_id, &keys)?;
    let rules = Rules { event: &book, ticket: Some(&rules), newest: true };
    Ok(reduce(&subject, rules, &reviews, &facts).state)
}
