//! `GET /api/scanning/events/{id}/manifest`: the whole list, or the changes since a version (S1 §2, spec §5, D5).

use std::sync::Arc;

use admit_core::gate::GateRules;
use admit_core::ids::{EventId, GateId, OrganizationId};
use admit_core::limits::MANIFEST_AFTER_END_MS;
use admit_core::manifest::build::{Code, Input, Large, delta_part, large_part, signed_tail};
use admit_core::manifest::compact::{compact_delta_part, compact_part, compact_tail};
use admit_core::manifest::index::IndexError;
use admit_core::rule::{EventBook, When};
use admit_core::ticket::Group;
use admit_core::time::Timestamp;
use admit_core::wire::manifest::ManifestTail;

use crate::cache::{LargePart, Part, Version};
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Tx, read};
use crate::records::{DeviceRecord, DeviceState, Head, TicketRecord};

/// A device's request for its list.
#[derive(Debug, Clone, Default)]
pub struct FetchCommand {
    /// The value of `If-None-Match`. Absent if the device sent none.
    pub if_none_match: Option<String>,
    /// The version of the device's list. If it is present, and the server knows the changes since that version, the
    /// answer has only these changes. Absent if the device has no list.
    pub since: Option<u64>,
    /// The device's wall clock, which the answer's `offset_seconds` is computed from. Absent if the device sent none.
    pub device_time: Option<Timestamp>,
    /// Whether the device asks for the compact form.
    pub compact: bool,
}

/// The answer: a body in two pieces, so that the large one is never copied or compressed again.
#[derive(Debug, Clone)]
pub enum FetchedManifest {
    /// The device's list is the newest one.
    NotModified {
        /// The tag `W/"epoch.version"`.
        etag: String,
    },
    /// A list or a delta. The body is `large.bytes` followed by `tail`.
    Body {
        /// The tag `W/"epoch.version"`.
        etag: String,
        /// The piece that is the same for every device.
        large: Arc<LargePart>,
        /// The piece for this device, with its signature.
        tail: Vec<u8>,
        /// The value of `X-Signature` for the whole body.
        signature: String,
        /// Whether the body has the compact form.
        compact: bool,
    },
}

/// Returns the list of the device's event. Fails with 404 unless the device is assigned to the event. A revoked device
/// gets no list.
pub async fn fetch(
    app: &App,
    caller: &DeviceCaller,
    event_id: &EventId,
    command: FetchCommand,
) -> Result<FetchedManifest> {
    let now = app.clock.now();
    let (caller, event_id, app_) = (caller.clone(), event_id.clone(), app.clone());
    let organization_id = caller.organization_id.clone();
    read(&*app.store, &organization_id, move |tx| serve(tx, &app_, &caller, &event_id, &command, now)).await
}

/// The device, if it may have the event's list and names: it is assigned to the event, and not revoked.
pub(super) fn assigned(tx: &mut dyn Tx, caller: &DeviceCaller, event_id: &EventId) -> Result<DeviceRecord> {
    let device = tx.device(&caller.device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
    if device.state == DeviceState::Revoked {
        return Err(Error::denied("device_revoked", "this device was revoked"));
    }
    if device.event_id != *event_id {
        return Err(Error::not_found("event"));
    }
    Ok(device)
}

/// Whether an `If-None-Match` names this version.
pub(super) fn names_version(if_none_match: Option<&str>, etag: &str) -> bool {
    if_none_match.is_some_and(|given| given.split(',').any(|one| one.trim() == etag))
}

fn serve(
    tx: &mut dyn Tx,
    app: &App,
    caller: &DeviceCaller,
    event_id: &EventId,
    command: &FetchCommand,
    now: Timestamp,
) -> Result<FetchedManifest> {
    assigned(tx, caller, event_id)?;
    let head = tx.head(event_id)?;
    let version = tx.rules_serial(event_id)?;
    let etag = format!("W/\"{}.{version}\"", head.epoch);
    if names_version(command.if_none_match.as_deref(), &etag) {
        return Ok(FetchedManifest::NotModified { etag });
    }
    let book = tx.load_rules(event_id, &[])?.book;
    let event = book.event(When::Newest).ok_or_else(|| Error::Bug("an event without rules".into()))?;
    let compact = command.compact;
    let whole = whole(tx, app, caller, event_id, Version { epoch: head.epoch, number: version }, &book, compact)?;
    let large = match command.since {
        Some(since) if since > 0 && since <= version => {
            delta(tx, &caller.organization_id, event_id, version, &book, since, whole.content_hash, compact)?
        }
        _ => whole,
    };
    let tail = tail(&head, event.ends_at, command.device_time, now);
    let sign = if compact { compact_tail } else { signed_tail };
    let (tail, signature) = sign(&large.bytes, &tail, &caller.api_key);
    Ok(FetchedManifest::Body { etag, large, tail, signature, compact })
}

/// When an event's list expires, and with it the names on devices.
pub(super) fn expires_at(ends_at: Timestamp) -> Timestamp {
    ends_at.plus_ms(MANIFEST_AFTER_END_MS)
}

fn tail(head: &Head, ends_at: Timestamp, device_time: Option<Timestamp>, now: Timestamp) -> ManifestTail {
    let offset_ms = device_time.map_or(0, |device_time| now.since(device_time));
    ManifestTail {
        generated_at: now,
        expires_at: expires_at(ends_at),
        offset_seconds: (offset_ms + 500).div_euclid(1_000),
        epoch: head.epoch,
        serial: head.serial,
    }
}

/// The whole list at this version, from the cache or built now. The same version always has the same content.
fn whole(
    tx: &mut dyn Tx,
    app: &App,
    caller: &DeviceCaller,
    event_id: &EventId,
    version: Version,
    book: &EventBook,
    compact: bool,
) -> Result<Arc<LargePart>> {
    let organization_id = &caller.organization_id;
    let part = if compact { Part::Compact } else { Part::Json };
    app.manifests.get_or_build(organization_id, event_id, part, version, || {
        let rows = tx.manifest_rows(event_id)?;
        let make = if compact { compact_part } else { large_part };
        let present = tx.gate_ids(event_id)?;
        build(organization_id, event_id, version.number, book, &present, &rows, make)
    })
}

/// The codes that changed after `since`. No code is ever taken from a ticket, so the answer names no removed codes.
#[expect(clippy::too_many_arguments, reason = "a list is named by all of these")]
fn delta(
    tx: &mut dyn Tx,
    organization_id: &OrganizationId,
    event_id: &EventId,
    version: u64,
    book: &EventBook,
    since: u64,
    content_hash: [u8; 32],
    compact: bool,
) -> Result<Arc<LargePart>> {
    let rows = tx.manifest_rows_since(event_id, since)?;
    let make = if compact { compact_delta_part } else { delta_part };
    let present = tx.gate_ids(event_id)?;
    build(organization_id, event_id, version, book, &present, &rows, |input| make(input, since, &[], content_hash))
}

/// Builds a list. `present` holds the gates that the event has now. A removed gate keeps its rules, since they are
/// facts, but is in no list. A device that is still at a removed gate offers its staff the gates that are left.
fn build(
    organization_id: &OrganizationId,
    event_id: &EventId,
    version: u64,
    book: &EventBook,
    present: &[GateId],
    rows: &[(admit_core::barcode::BarcodeHash, TicketRecord)],
    make: impl FnOnce(&Input<'_>) -> std::result::Result<Large, IndexError>,
) -> Result<Arc<LargePart>> {
    let event = book.event(When::Newest).ok_or_else(|| Error::Bug("an event without rules".into()))?;
    let here = book.gate_ids().filter(|gate_id| present.contains(gate_id));
    let gates: Vec<(GateId, GateRules)> =
        here.filter_map(|gate_id| Some((gate_id.clone(), book.gate(gate_id, When::Newest)?))).collect();
    let codes: Vec<Code<'_>> = rows
        .iter()
        .map(|(hash, ticket)| Code {
            hash: *hash,
            ticket_id: &ticket.ticket_id,
            rules: &ticket.rules,
            group: ticket.order_id.as_ref().map(|order_id| Group::of(event_id, order_id)),
        })
        .collect();
    let door = book.door();
    let large =
        make(&Input { organization_id, event_id, event: &event, door: &door, version, gates: &gates, codes: &codes })
            .map_err(|error| Error::Bug(format!("the list cannot be built: {error}")))?;
    Ok(Arc::new(LargePart {
        bytes: large.bytes,
        content_hash: large.content_hash,
        version,
        codes: codes.len(),
        zstd: std::sync::OnceLock::new(),
    }))
}
