//! Shows one guest's history, from the ledger and the scans of the ticket.

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
use crate::records::{GuestRecord, Page, TicketRecord};
use crate::scans::office::name_of;

/// One moment of a guest's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The guest was added.
    Added,
    /// A person changed these fields of the guest or the ticket.
    Changed {
        /// Names of the fields.
        fields: Vec<String>,
    },
    /// The guest's row in the organiser's own table brought new values.
    Received,
    /// The guest's row in the organiser's own table was deleted.
    RowDeleted,
    /// A person sent the pass again.
    Resent,
    /// A person asked for the pass again, and the guest had no address.
    Remade,
    /// The page of the pass was opened for the first time, by the guest or by a program that checks their mail.
    Opened,
    /// The door opened for the guest.
    Entered,
    /// The door stayed shut.
    Refused {
        /// The outcome that the device showed: `duplicate`, `expired`, …
        outcome: String,
    },
    /// Some of the party left.
    Left,
    /// A scan was undone.
    Undone,
    /// The guest's personal data was erased.
    Erased,
}

/// One moment of a guest's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// When it happened.
    pub at: Timestamp,
    /// The kind of the moment.
    pub what: What,
    /// Who did it: a member's name, the operator at the door, or the webhook endpoint. Absent if unknown.
    pub by: Option<String>,
    /// The gate's name. Absent unless the moment is a scan.
    pub gate: Option<String>,
    /// The device's name. Absent unless the moment is a scan.
    pub device: Option<String>,
    /// Number of persons of the scan. 0 otherwise.
    pub persons: u32,
    /// Whether staff picked the guest by name, without a code.
    pub by_hand: bool,
    /// Whether the server counts the scan. A scan that was excluded or waits for review is still listed.
    pub counts: bool,
}

/// The newest moments of a guest's history, newest first: the last five hundred of the ledger and of the scans. To a
/// promoter, a guest on somebody else's list does not exist.
pub async fn timeline(app: &App, caller: &UserCaller, guest_id: GuestId) -> Result<Vec<Moment>> {
    let by = caller.clone();
    read(&*app.store, &caller.organization_id, move |tx| {
        // 1. Find the guest, if the caller may see them.
        let (guest, ticket) = seen(tx, &by, &guest_id)?;
        // 2. Add what people did.
        let mut moments = done_by_people(tx, &guest, ticket.as_ref())?;
        // 3. Add what happened at the doors.
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
    // An imported file adds many guests with one line of the ledger, so the guest's own row says when.
    moments.push(moment(guest.created_at, What::Added, added));
    Ok(moments)
}

/// The name of the webhook endpoint whose id a ledger line has in its metadata. `None` if the line has none.
fn told_by(tx: &mut dyn Tx, metadata: &str, known: &mut BTreeMap<String, Option<String>>) -> Result<Option<String>> {
    let metadata: serde_json::Value = serde_json::from_str(metadata).unwrap_or_default();
    let Some(endpoint_id) = metadata["webhook_endpoint_id"].as_str() else { return Ok(None) };
    if !known.contains_key(endpoint_id) {
        let name = tx.webhook_endpoint(endpoint_id)?.map(|endpoint| endpoint.name);
        known.insert(endpoint_id.to_owned(), name);
    }
    Ok(known.get(endpoint_id).cloned().flatten())
}

/// The kind of a moment at which a person asked for the pass again. For a guest without an e-mail address the server
/// makes the pass and sends nothing.
fn resent(changes: &str) -> What {
    let changes: serde_json::Value = serde_json::from_str(changes).unwrap_or_default();
    if changes["has_email"] == false { What::Remade } else { What::Resent }
}

/// Whether a ledger line says that a webhook's row created its guest.
fn is_new(changes: &str) -> bool {
    let changes: serde_json::Value = serde_json::from_str(changes).unwrap_or_default();
    changes["status"] == WebhookStatus::Created.as_str()
}

fn moment(at: Timestamp, what: What, by: Option<String>) -> Moment {
    Moment { at, what, by, gate: None, device: None, persons: 0, by_hand: false, counts: true }
}

/// The names of the fields of the guest and of the ticket that a ledger line says were changed.
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
    // A claim and its final share a scan id. Only the final is shown.
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
