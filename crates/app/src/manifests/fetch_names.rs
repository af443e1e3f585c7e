//! `GET /api/scanning/events/{id}/names`: who holds which ticket, for a device at a gate that allows names (spec §5).

use std::sync::{Arc, OnceLock};

use admit_core::ids::EventId;
use admit_core::limits::VERDICT_VALUE_CHARS;
use admit_core::manifest::build::Large;
use admit_core::manifest::{NamesInput, names_delta_part, names_part, names_tail};
use admit_core::rule::When;
use admit_core::time::Timestamp;
use admit_core::wire::manifest::{GuestName, NamesTail};

use super::fetch::{FetchedManifest, assigned, expires_at, names_version};
use crate::cache::{LargePart, Part, Version};
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Tx, read};
use crate::records::{GuestRecord, Head};

/// A device's request for its names.
#[derive(Debug, Clone, Default)]
pub struct FetchNamesCommand {
    /// The value of `If-None-Match`. Absent if the device sent none.
    pub if_none_match: Option<String>,
    /// The version of the device's names. If present, only names that changed since are sent. Absent if the device has
    /// none.
    pub since: Option<u64>,
}

/// Returns the names of the device's event. Fails with 404 unless the device is assigned to the event. A revoked device
/// gets none. Fails with `names_not_allowed` at a gate whose devices may not carry names, and after the event's end.
pub async fn fetch_names(
    app: &App,
    caller: &DeviceCaller,
    event_id: &EventId,
    command: FetchNamesCommand,
) -> Result<FetchedManifest> {
    let now = app.clock.now();
    let (caller, event_id, app_) = (caller.clone(), event_id.clone(), app.clone());
    let organization_id = caller.organization_id.clone();
    read(&*app.store, &organization_id, move |tx| serve(tx, &app_, &caller, &event_id, &command, now)).await
}

fn serve(
    tx: &mut dyn Tx,
    app: &App,
    caller: &DeviceCaller,
    event_id: &EventId,
    command: &FetchNamesCommand,
    now: Timestamp,
) -> Result<FetchedManifest> {
    // 1. Check whether this device may have names.
    let device = assigned(tx, caller, event_id)?;
    let book = tx.load_rules(event_id, &[])?.book;
    if !book.gate(&device.gate_id, When::Newest).is_some_and(|gate| gate.names_on_devices) {
        return Err(Error::denied("names_not_allowed", "devices at this gate may not carry guests' names"));
    }
    let event = book.event(When::Newest).ok_or_else(|| Error::Bug("an event without rules".into()))?;
    if event.status.is_over() || now >= expires_at(event.ends_at) {
        return Err(Error::denied("names_not_allowed", "the event is over: devices carry no guests' names any more"));
    }
    // 2. Check whether it has the newest names.
    let head = tx.head(event_id)?;
    let (labels, shown_since) = (book.door().verdict_fields, book.verdict_fields_since());
    let version = tx.names_serial(event_id)?.max(shown_since);
    let etag = format!("W/\"names.{}.{version}\"", head.epoch);
    if names_version(command.if_none_match.as_deref(), &etag) {
        return Ok(FetchedManifest::NotModified { etag });
    }
    // 3. Send all names or the changes, signed for this device. If verdicts show other fields since, all names count as
    //    changed. If a guest was erased since, all names are sent: a device that applied only changes would keep the
    //    erased name.
    let whole_since = shown_since.max(tx.erased_serial(event_id)?);
    let input = NamesInput { organization_id: &caller.organization_id, event_id, version, labels: &labels };
    let whole = whole(tx, app, input, &head)?;
    let large = match command.since {
        Some(since) if since > 0 && since <= version && since >= whole_since => {
            let names = names(tx.names_since(event_id, since)?, &labels);
            let (count, hash) = (names.len(), whole.content_hash);
            kept(names_delta_part(input, since, names, hash), version, count)
        }
        _ => whole,
    };
    let tail = NamesTail { generated_at: now, epoch: head.epoch, serial: head.serial };
    let (tail, signature) = names_tail(&large.bytes, &tail, &caller.api_key);
    Ok(FetchedManifest::Body { etag, large, tail, signature, compact: false })
}

fn whole(tx: &mut dyn Tx, app: &App, input: NamesInput<'_>, head: &Head) -> Result<Arc<LargePart>> {
    let NamesInput { organization_id, event_id, version, labels } = input;
    app.manifests.get_or_build(
        organization_id,
        event_id,
        Part::Names,
        Version { epoch: head.epoch, number: version },
        || {
            let names = names(tx.names_since(event_id, 0)?, labels);
            let count = names.len();
            Ok(kept(names_part(input, names), version, count))
        },
    )
}

/// The part of a guest that may be on a device. It has only those fields that verdicts show, and never e-mail or phone.
fn names(guests: Vec<GuestRecord>, labels: &[String]) -> Vec<GuestName> {
    let of = |guest: GuestRecord| {
        let GuestRecord { ticket_id, name, party_size, note, flag, fields, .. } = guest;
        let shown: Vec<String> =
            labels.iter().map(|label| fields.get(label).map_or_else(String::new, |value| short(value))).collect();
        let fields = if shown.iter().all(String::is_empty) { Vec::new() } else { shown };
        Some(GuestName { ticket_id: ticket_id?, name, party_size, note, flag, fields })
    };
    guests.into_iter().filter_map(of).collect()
}

/// A value cut to the length for which a verdict has room.
fn short(value: &str) -> String {
    if value.chars().count() <= VERDICT_VALUE_CHARS {
        return value.to_owned();
    }
    value.chars().take(VERDICT_VALUE_CHARS - 1).chain(['…']).collect()
}

fn kept(large: Large, version: u64, codes: usize) -> Arc<LargePart> {
    let Large { bytes, content_hash } = large;
    Arc::new(LargePart { bytes, content_hash, version, codes, zstd: OnceLock::new() })
}
