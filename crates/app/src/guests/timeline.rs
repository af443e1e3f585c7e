//! One guest's history, from the ledger and the scans of their ticket.

use std::collections::BTreeMap;

use admit_core::ids::{DeviceId, EventId, GuestId, ScanId, UserId};
use admit_core::limits::PAGE_MAX;
use admit_core::rule::When;
use admit_core::scan::{Method, ScanKind, Stage};
use admit_core::time::Timestamp;
use admit_core::wire::webhooks::WebhookStatus;

use super::show::seen;
use crate::caller::UserCaller;
use crate::error::Result;
use crate::passes::OPENED;
use crate::ports::{App, ScanFilter, Tx, read};
use crate::records::*;
use crate::scans::office::name_of;

/// The kind of a moment in a guest's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// They came onto the list.
    Added,
    /// A person changed these fields of the guest or the ticket.
    Changed {
        /// Names of the fields.
        fields: Vec<String>,
    },
    /// Their row in the organiser's own table brought new values.
    Received,
    /// Their row in the organiser's own table was deleted.
    RowDeleted,
    /// A person sent their pass again.
    Resent,
    /// A person asked for their pass again, and there was no address to send it to.
    Remade,
    /// Somebody opened the page of their pass for the first time: they, or whatever looks at their mail before them.
    Opened,
    /// The door opened for them.
    Entered,
    /// The door stayed shut; why, one word of the device.
    Refused {
        /// `duplicate`, `expired`, …
        outcome: String,
    },
    /// Some of them left.
    Left,
    /// A scan was undone.
    Undone,
    /// Their personal data was erased.
    Erased,
}

/// One moment of a guest's story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// When it happened.
    pub at: Timestamp,
    /// The kind of the moment.
    pub what: What,
    /// Who: a member's name, the operator at the door, or the webhook that told of it.
    pub by: Option<String>,
    /// The gate's name, of a scan.
    pub gate: Option<String>,
    /// The device's name, of a scan.
    pub device: Option<String>,
    /// Persons, of a scan.
    pub persons: u32,
    /// Without a code: staff picked the guest by name.
    pub by_hand: bool,
    /// The server counts it; a scan that it does not (excluded, or held for review) happened all the same.
    pub counts: bool,
}

/// The newest moments of a guest's story, newest first: the last five hundred of the ledger and of the scans. To a
/// promoter a guest on somebody else's list is not there.
pub async fn timeline(app: &App, caller: &UserCaller, guest_id: GuestId) -> Result<Vec<Moment>> {
    let by = caller.clone();
    read(&*app.store, &caller.organization_id, move |tx| {
        // 1. The guest, if the caller may see them.
        let (guest, ticket) = seen(tx, &by, &guest_id)?;
        // 2. What people did.
        let mut moments = done_by_people(tx, &guest, ticket.as_ref())?;
        // 3. What happened at the doors.
        if let Some(ticket) = &ticket {
            moments.extend(at_the_doors(tx, &guest.event_id, ticket)?);
        }
        moments.sort_by_key(|moment| std::cmp::Reverse(moment.at));
        Ok(moments)
    })
    .await
}

fn done_by_people(tx: &mut dyn Tx, guest: &GuestRecord, ticket: Option<&TicketRecord>) -> Result<Vec<Moment>> {
    let mut lines = tx.audit_of(&guest.event_id, ("Guest", guest.guest_id.as_str()), PAGE_MAX)?;
    if let Some(ticket) = ticket {
        lines.extend(tx.audit_of(&guest.event_id, ("Ticket", ticket.ticket_id.as_str()), PAGE_MAX)?);
    }
    let mut names: BTreeMap<UserId, Option<String>> = BTreeMap::new();
    let mut endpoints: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut moments = Vec::with_capacity(lines.len() + 1);
    let mut added = None;
    for line in lines {
        let by = match &line.line.user_id {
            Some(user_id) => {
                if !names.contains_key(user_id) {
                    let name = tx.member(user_id)?.map(|member| member.name);
                    names.insert(user_id.clone(), name);
                }
                names.get(user_id).cloned().flatten()
            }
            None => None,
        };
        match line.line.action.as_str() {
            "ticket_created" => added = by,
            "guest_erased" => moments.push(moment(line.at, What::Erased, by)),
            "guest_received" | "guest_row_deleted" => {
                let told = told_by(tx, &line.line.metadata, &mut endpoints)?;
                match (line.line.action.as_str(), is_new(&line.line.changes)) {
                    ("guest_received", true) => added = told,
                    ("guest_received", false) => moments.push(moment(line.at, What::Received, told)),
                    _ => moments.push(moment(line.at, What::RowDeleted, told)),
                }
            }
            "pass_resent" => moments.push(moment(line.at, resent(&line.line.changes), by)),
            OPENED => moments.push(moment(line.at, What::Opened, None)),
            "guest_updated" | "ticket_updated" => {
                moments.push(moment(line.at, What::Changed { fields: fields(&line.line.changes) }, by));
            }
            _ => {}
        }
    }
    // A file brings many guests with one line of the ledger: each one's own row says when.
    moments.push(moment(guest.created_at, What::Added, added));
    Ok(moments)
}

/// The name of the endpoint that a line's metadata tells of.
fn told_by(tx: &mut dyn Tx, metadata: &str, known: &mut BTreeMap<String, Option<String>>) -> Result<Option<String>> {
    let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap_or_default();
    let Some(endpoint_id) = metadata["webhook_endpoint_id"].as_str() else { return Ok(None) };
    if !known.contains_key(endpoint_id) {
        let name = tx.webhook_endpoint(endpoint_id)?.map(|endpoint| endpoint.name);
        known.insert(endpoint_id.to_owned(), name);
    }
    Ok(known.get(endpoint_id).cloned().flatten())
}

/// The result of asking for a pass again. Without an address the pass is made, and nothing is sent.
fn resent(changes: &str) -> What {
    let changes: serde_json::Value = serde_json::from_str(changes).unwrap_or_default();
    if changes["has_email"] == false { What::Remade } else { What::Resent }
}

/// Whether a line tells of a row that made its guest.
fn is_new(changes: &str) -> bool {
    let changes: serde_json::Value = serde_json::from_str(changes).unwrap_or_default();
    changes["status"] == WebhookStatus::Created.as_str()
}

fn moment(at: Timestamp, what: What, by: Option<String>) -> Moment {
    Moment { at, what, by, gate: None, device: None, persons: 0, by_hand: false, counts: true }
}

/// Fields that a line says were changed, those of the ticket by their own names.
fn fields(changes: &str) -> Vec<String> {
    let said: serde_json::Map<String, serde_json::Value> = serde_json::from_str(changes).unwrap_or_default();
    let mut fields = Vec::new();
    for (name, value) in said {
        match (name.as_str(), value.as_object()) {
            ("effective", _) => {}
            ("ticket", Some(ticket)) => fields.extend(ticket.keys().cloned()),
            _ => fields.push(name),
        }
    }
    fields.sort_unstable();
    fields.dedup();
    fields.retain(|field| field != "entry_limit" || !changes.contains("party_size"));
    fields
}

fn at_the_doors(tx: &mut dyn Tx, event_id: &EventId, ticket: &TicketRecord) -> Result<Vec<Moment>> {
    let filter = ScanFilter { ticket_id: Some(ticket.ticket_id.clone()), ..ScanFilter::default() };
    let rows = tx.scans(event_id, &filter, &Page { limit: PAGE_MAX, cursor: None })?.items;
    let book = tx.load_rules(event_id, &[])?.book;
    let mut devices: BTreeMap<DeviceId, Option<String>> = BTreeMap::new();
    // What was asked of the server and what then happened share an id: the second tells the story.
    let finals: Vec<(DeviceId, ScanId)> = rows
        .iter()
        .map(|row| &row.fact.scan)
        .filter(|scan| scan.stage == Stage::Final)
        .map(|scan| (scan.device_id.clone(), scan.scan_id.clone()))
        .collect();
    let mut moments = Vec::with_capacity(rows.len());
    for row in rows {
        let scan = &row.fact.scan;
        let key = (scan.device_id.clone(), scan.scan_id.clone());
        if scan.stage == Stage::Claim && finals.contains(&key) {
            continue;
        }
        if !devices.contains_key(&scan.device_id) {
            let name = name_of(tx, &scan.device_id)?;
            devices.insert(scan.device_id.clone(), name);
        }
        let opened = row.fact.opened();
        let what = match scan.kind {
            ScanKind::Revert => What::Undone,
            ScanKind::Exit if opened => What::Left,
            ScanKind::Entry if opened => What::Entered,
            _ => What::Refused { outcome: scan.outcome.as_str().to_owned() },
        };
        let gate = book.gate(&scan.gate_id, When::Newest).map(|gate| gate.name);
        moments.push(Moment {
            at: row.fact.at(),
            what,
            by: scan.operator.clone(),
            gate: gate.or_else(|| Some(scan.gate_id.to_string())),
            device: devices.get(&scan.device_id).cloned().flatten(),
            persons: if opened { scan.count } else { 0 },
            by_hand: scan.method == Method::Manual && scan.kind != ScanKind::Revert,
            counts: row.verdict.is_some_and(|verdict| verdict.left_out.is_none()),
        });
    }
    Ok(moments)
}
