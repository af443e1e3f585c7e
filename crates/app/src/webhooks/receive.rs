//! A row of an organiser's own table of guests changed (architecture §6 walk 3).

use admit_core::limits::WEBHOOK_KEEP_MS;
use admit_core::time::Timestamp;
use admit_core::wire::stored;
use admit_core::wire::webhooks::{GuestMessage, RowChange, WebhookAnswer, WebhookColumns, WebhookStatus};
use serde_json::json;

use super::authenticate::disabled;
use super::refused::REUSED;
use super::row::{Row, place};
use crate::caller::WebhookCaller;
use crate::error::{Error, Result};
use crate::events;
use crate::ports::{App, Scope, Tx, write};
use crate::records::*;
use crate::rules::{Brought, announce};
use crate::seeded_ids::SeededIds;
use crate::tickets::{import, keys};

/// The answer to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The answer's bytes.
    pub answer: String,
    /// The same message was taken in before: this is what it was answered then.
    pub repeated: bool,
}

/// Takes in a message that [`super::authenticate`] found good. `digest` is its body's. A guest is made or changed as an
/// import does it: found again by the row's id, with a ticket for the party.
pub async fn receive(app: &App, caller: &WebhookCaller, digest: [u8; 32], message: GuestMessage) -> Result<Received> {
    let (now, seeded) = (app.clock.now(), app.seeded_ids());
    let by = caller.clone();
    let scope = Scope::event(&caller.organization_id, &caller.event_id);
    let (received, brought) = write(&*app.store, scope, move |tx| {
        let mut seeded = seeded.clone();
        // 1. Seen before? Answer again.
        if let Some(before) = tx.webhook_message(&by.endpoint_id, &by.webhook_id)? {
            return match before.digest == digest {
                true => Ok((Received { answer: before.answer, repeated: true }, None)),
                false => Err(Error::conflict(REUSED, "a message with this webhook-id and another body came before")),
            };
        }
        // 2. The row, by the endpoint's columns as they are now.
        let endpoint = tx.webhook_endpoint(&by.endpoint_id)?.ok_or_else(|| Error::not_found("webhook_endpoint"))?;
        if endpoint.disabled_at.is_some() {
            return Err(disabled());
        }
        let row = Row::read(&message, &endpoint.columns)?;
        // 3. A newer change may be known; a deleted row is put on record; else guest and ticket follow the row.
        let known = tx.webhook_row(&by.endpoint_id, &row.external_id)?;
        if known.is_none() {
            must_be_its_own(tx, &by, &row, &endpoint.columns)?;
        }
        let (status, brought) = match row.change {
            _ if known.as_ref().is_some_and(|known| row.is_older_than(known)) => (WebhookStatus::Ignored, None),
            RowChange::Delete => (WebhookStatus::Recorded, None),
            RowChange::Insert | RowChange::Update => {
                put(tx, &by, &row, known.as_ref(), &endpoint.columns, now, &mut seeded)?
            }
        };
        // 4. The guest, the ledger's line, how far the row is known, the answer.
        let ticket = ticket_of(tx, &by, &row)?;
        record(tx, &by, status, ticket.as_ref())?;
        if status != WebhookStatus::Ignored {
            tx.put_webhook_row(&reached(&by, &row, known, now))?;
        }
        let answer = stored::to_text(&WebhookAnswer {
            status: status.as_str().to_owned(),
            external_id: row.external_id.clone(),
            guest_id: ticket.as_ref().and_then(|ticket| ticket.guest_id.as_ref()).map(ToString::to_string),
            ticket_id: ticket.as_ref().map(|ticket| ticket.ticket_id.to_string()),
        });
        let message = WebhookMessageRecord {
            endpoint_id: by.endpoint_id.clone(),
            webhook_id: by.webhook_id.clone(),
            digest,
            answer: answer.clone(),
            received_at: now,
        };
        tx.insert_webhook_message(&message, now.plus_ms(-WEBHOOK_KEEP_MS))?;
        tx.note_webhook_received(&by.endpoint_id, now)?;
        Ok((Received { answer, repeated: false }, brought))
    })
    .await?;
    if let Some(brought) = brought {
        announce(app, &caller.organization_id, &caller.event_id, &brought);
        app.job_wakeup.wake();
    }
    Ok(received)
}

/// Guest and ticket as the row says, by the same steps as an import.
fn put(
    tx: &mut dyn Tx,
    by: &WebhookCaller,
    row: &Row,
    known: Option<&WebhookRowRecord>,
    columns: &WebhookColumns,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<(WebhookStatus, Option<Brought>)> {
    // A guest who is there takes what the change is about; one who is new, or whose row was not heard of, all it says.
    let is_there = ticket_of(tx, by, row)?.is_some();
    let whole = row;
    let row = match known.filter(|_| is_there) {
        Some(known) => &whole.clone().without_the_old(&known.said),
        None => whole,
    };
    let held = match row.cell("name") {
        Some(_) => None,
        None => name_of(tx, by, whole)?,
    };
    // What stands in for a name that was taken away may be no part of the change.
    let cells = match (row.cell("name"), whole.stand_in()) {
        (Some(""), Some(stand_in)) => row.named(stand_in),
        _ => row.with_name(held.as_deref()),
    };
    let event = events::require(tx, &by.event_id)?;
    let put = import::put_row(tx, &event, &cells, now, seeded).map_err(|error| in_their_words(error, columns))?;
    let status = match (put.created, &put.brought) {
        (true, _) => WebhookStatus::Created,
        (false, Some(_)) => WebhookStatus::Updated,
        (false, None) => WebhookStatus::Unchanged,
    };
    Ok((status, put.brought))
}

/// Two tables of one event may have a row of the same id: they would be taken for one guest.
fn must_be_its_own(tx: &mut dyn Tx, by: &WebhookCaller, row: &Row, columns: &WebhookColumns) -> Result<()> {
    let other = tx.other_webhook_of_row(&by.event_id, &by.endpoint_id, &row.external_id)?;
    let Some(name) = other else { return Ok(()) };
    if ticket_of(tx, by, row)?.is_none() {
        return Ok(());
    }
    let id = &row.external_id;
    Err(Error::invalid(
        place(columns, "external_id"),
        format!(
            "{id} is a row of the webhook {name} already: ids of two tables of one event must differ. If this webhook \
             takes the place of that one, switch that one off"
        ),
    ))
}

/// The sender knows its own columns: `email` is `record.e_mail` to it.
fn in_their_words(error: Error, columns: &WebhookColumns) -> Error {
    let Error::Invalid { code, mut errors } = error else { return error };
    errors.iter_mut().for_each(|error| error.path = place(columns, &error.path));
    Error::Invalid { code, errors }
}

fn ticket_of(tx: &mut dyn Tx, by: &WebhookCaller, row: &Row) -> Result<Option<TicketRecord>> {
    let keys = [keys::of_external_id(&row.external_id)];
    Ok(tx.tickets_by_import_key(&by.event_id, &keys)?.into_iter().next())
}

fn name_of(tx: &mut dyn Tx, by: &WebhookCaller, row: &Row) -> Result<Option<String>> {
    let guest_id = ticket_of(tx, by, row)?.and_then(|ticket| ticket.guest_id);
    let guest = tx.guests_by_id(guest_id.as_slice())?.into_iter().next();
    // Whom nobody gave a name is called by their address, and by the new one when that changes.
    let is_stand_in = |guest: &GuestRecord| {
        let stand_ins = [&guest.email, &guest.phone, &guest.external_id];
        row.cell("name") == Some("") && stand_ins.into_iter().any(|text| text.as_ref() == Some(&guest.name))
    };
    // An address that was taken away is no name either.
    let is_gone = |guest: &GuestRecord| {
        let addresses = [("email", &guest.email), ("phone", &guest.phone)];
        addresses.into_iter().any(|(field, text)| text.as_ref() == Some(&guest.name) && row.cell(field) == Some(""))
    };
    Ok(guest.map(|guest| match row.stand_in() {
        Some(stand_in) if is_stand_in(&guest) => stand_in.to_owned(),
        None if row.cell("name") == Some("") && is_gone(&guest) => row.external_id.clone(),
        _ => guest.name,
    }))
}

/// A line for what changed something, and for a deleted row: its ticket is as good as before, and somebody may ask why. The
/// row's own id stays out of it: it may be an address, and the ledger forgets nothing.
fn record(tx: &mut dyn Tx, by: &WebhookCaller, status: WebhookStatus, ticket: Option<&TicketRecord>) -> Result<()> {
    let action = match status {
        WebhookStatus::Created | WebhookStatus::Updated => "guest_received",
        WebhookStatus::Recorded => "guest_row_deleted",
        WebhookStatus::Unchanged | WebhookStatus::Ignored => return Ok(()),
    };
    tx.stamp(&by.event_id)?;
    let guest_id = ticket.and_then(|ticket| ticket.guest_id.as_ref());
    tx.append_audit(NewAudit {
        event_id: Some(by.event_id.clone()),
        user_id: None,
        device_id: None,
        action,
        entity_type: "Guest",
        entity_id: guest_id.map(ToString::to_string).unwrap_or_default(),
        changes: json!({ "status": status.as_str() }).to_string(),
        metadata: json!({ "webhook_endpoint_id": by.endpoint_id, "webhook_id": by.webhook_id }).to_string(),
    })
}

/// How far the row is known with this message.
fn reached(by: &WebhookCaller, row: &Row, known: Option<WebhookRowRecord>, now: Timestamp) -> WebhookRowRecord {
    let (sequence, changed_us, mut said) =
        known.map_or_else(Default::default, |known| (known.sequence, known.changed_us, known.said));
    // Of a deleted row nothing is taken in: what its last state said may be of a message that has not come.
    if row.change != RowChange::Delete {
        said.extend(row.said());
    }
    WebhookRowRecord {
        endpoint_id: by.endpoint_id.clone(),
        external_id: row.external_id.clone(),
        sequence: sequence.max(row.sequence),
        changed_us: changed_us.max(row.changed_us),
        deleted_at: (row.change == RowChange::Delete).then_some(now),
        said,
    }
}
