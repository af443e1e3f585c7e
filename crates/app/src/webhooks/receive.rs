//! Receives a changed row of an organiser's own table of guests (ARCHITECTURE.md §6 walk 3).

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
use crate::records::{GuestRecord, NewAudit, TicketRecord, WebhookMessageRecord, WebhookRowRecord};
use crate::rules::{Brought, announce};
use crate::seeded_ids::SeededIds;
use crate::tickets::{import, keys};

/// The answer to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The bytes of the answer.
    pub answer: String,
    /// Whether the same message was accepted before, so that this is its stored answer.
    pub repeated: bool,
}

/// Accepts a message that [`super::authenticate`] has checked. `digest` is that of its body. A guest is created or
/// changed as by an import: it is found again by the row's id, and has one ticket for the party.
pub async fn receive(app: &App, caller: &WebhookCaller, digest: [u8; 32], message: GuestMessage) -> Result<Received> {
    let (now, seeded) = (app.clock.now(), app.seeded_ids());
    let by = caller.clone();
    let scope = Scope::event(&caller.organization_id, &caller.event_id);
    let (received, brought) = write(&*app.store, scope, move |tx| {
        let mut seeded = seeded.clone();
        // 1. Was the message accepted before? If so, return its answer again.
        if let Some(before) = tx.webhook_message(&by.endpoint_id, &by.webhook_id)? {
            return match before.digest == digest {
                true => Ok((Received { answer: before.answer, repeated: true }, None)),
                false => Err(Error::conflict(REUSED, "a message with this webhook-id and another body came before")),
            };
        }
        // 2. Read the row, by the endpoint's present columns.
        let endpoint = tx.webhook_endpoint(&by.endpoint_id)?.ok_or_else(|| Error::not_found("webhook_endpoint"))?;
        if endpoint.disabled_at.is_some() {
            return Err(disabled());
        }
        let row = Row::read(&message, &endpoint.columns)?;
        // 3. Ignore the row if a newer change is known. Put a deleted row on record. Otherwise guest and ticket follow
        //    the row.
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
        // 4. Store the ledger's line, the newest known change of the row, and the answer.
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

/// Creates or changes the guest and the ticket as the row says, by the same steps as an import.
fn put(
    tx: &mut dyn Tx,
    by: &WebhookCaller,
    row: &Row,
    known: Option<&WebhookRowRecord>,
    columns: &WebhookColumns,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<(WebhookStatus, Option<Brought>)> {
    // A known guest takes only what the change is about. A new guest, or one whose row was unknown, takes the whole
    // row.
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
    // The text that stands in for a removed name may not be part of the change.
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

/// Fails if another endpoint of the event has a row with this id, since the two rows would be taken for one guest.
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

/// The same error with the sender's own column names: `email` becomes `record.e_mail`.
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
    // A guest without a name is called by their address, and by the new one when it changes.
    let is_stand_in = |guest: &GuestRecord| {
        let stand_ins = [&guest.email, &guest.phone, &guest.external_id];
        row.cell("name") == Some("") && stand_ins.into_iter().any(|text| text.as_ref() == Some(&guest.name))
    };
    // An address that was removed may not stay as a name.
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

/// Adds a ledger line for a change, and for a deleted row, since its ticket still admits and somebody may ask why. The
/// row's own id is left out: it may be an address, and the ledger is never erased.
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

/// The newest known change of the row, after this message.
fn reached(by: &WebhookCaller, row: &Row, known: Option<WebhookRowRecord>, now: Timestamp) -> WebhookRowRecord {
    let (sequence, changed_us, mut said) =
        known.map_or_else(Default::default, |known| (known.sequence, known.changed_us, known.said));
    // A deleted row changes no values. Its last state may belong to a message that has not come.
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
