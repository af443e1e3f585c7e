//! Takes in a batch of one event: facts, the reducer's results for their subjects, logs, and findings about how the
//! batch came (ARCHITECTURE.md §6 walk 2 ③–⑧). All endpoints share this: batches in S1's, S2's and Admit's own form,
//! and scans that a device asks about online.
//!
//! The intake loads what it needs, plans without the store, and stores everything at once. A caller that takes in
//! several batches plans all of them before it stores one.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::fraud::{Delivery, batch_causes};
use admit_core::ids::{DeviceId, EventId, GateId, ScanId};
use admit_core::limits;
use admit_core::scan::{Outcome, SignatureState};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{Rejected, RevokedDetails};
use serde_json::{Value, json};

use super::changes::Changes;
use super::decode::{Batch, Refused};
use super::facts::{self, Before, Stored, nothing_new};
use super::logs::{self, Logs};
use super::quarantine::Quarantine;
use super::settle::{Held, WriteContext, settle};
use super::subjects::{self, Rejudged, Subjects};
use super::walk_ins;
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Prefetch, Scope, Tx, write};
use crate::records::{DeviceHealth, DeviceKeyRecord, DeviceRecord, DeviceState, NewAudit, Stamp};
use crate::seeded_ids::SeededIds;

/// The device that sends a batch, in its state under the events' heads.
pub(super) struct Carrier {
    pub device: DeviceRecord,
    pub keys: Vec<DeviceKeyRecord>,
    /// Whether the device, or the key it used, is revoked.
    pub revoked: bool,
    /// Whether the device is suspended, so that its scans are stored and held.
    pub held: bool,
    /// How many more new contents may be stored for the device.
    pub room: u64,
}

impl Carrier {
    pub fn of(tx: &mut dyn Tx, caller: &DeviceCaller) -> Result<Self> {
        let device = tx.device(&caller.device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
        let keys = tx.device_keys(&caller.device_id)?;
        let key = keys.iter().find(|key| key.token_hash == caller.token_hash);
        let revoked = device.state == DeviceState::Revoked || key.is_none_or(|key| key.revoked_at.is_some());
        let held = device.state == DeviceState::Suspended;
        let mut room = u64::MAX;
        if revoked {
            room = limits::QUARANTINE_SCANS.saturating_sub(tx.count_quarantined(&caller.device_id)?);
        }
        Ok(Self { device, keys, revoked, held, room })
    }
}

/// A batch of one event as it is planned.
pub(super) struct Taken {
    pub stamp: Stamp,
    pub stored: Stored,
    pub rejudged: Rejudged,
    /// Whether any incident changes.
    pub incidents: bool,
    changes: Changes,
}

impl Taken {
    /// Stores the changes.
    pub fn store(&mut self, tx: &mut dyn Tx, event_id: &EventId) -> Result<()> {
        std::mem::take(&mut self.changes).store(tx, event_id, self.stamp)
    }
}

/// The part of a batch that may be stored.
#[derive(Clone, Copy)]
pub(super) struct Allowed<'a> {
    /// How many new contents may be stored at most.
    pub room: u64,
    /// The items refused for good that are to be stored.
    pub refused: &'a [Refused],
}

/// Every scan of a part, and all of its refused items.
pub(super) fn all_of(part: &Batch) -> Allowed<'_> {
    Allowed { room: u64::MAX, refused: &part.rejected }
}

impl Allowed<'_> {
    /// Every scan, of a batch without refused items.
    pub const ALL_SCANS: Self = Self { room: u64::MAX, refused: &[] };
}

/// The changes by a batch in one event.
#[derive(Debug, Clone)]
pub(super) struct Arrived {
    pub event_id: EventId,
    pub serial: u64,
    /// Whether any incident changed.
    pub incidents: bool,
    /// Change in the number of persons let in.
    pub entered: i64,
    /// Number of scans that were not known before.
    pub added: usize,
    /// For each scan that was not known before, the outcome that its device showed.
    pub heard: Vec<Outcome>,
    /// The gate of the last of these scans. Absent if there are none.
    pub gate_id: Option<GateId>,
}

impl Arrived {
    pub fn of(part: &Batch, taken: &Taken) -> Self {
        Self {
            event_id: part.event_id.clone(),
            serial: taken.stamp.serial,
            incidents: taken.incidents,
            entered: taken.rejudged.delta.entered,
            added: taken.stored.fresh.len(),
            heard: taken.stored.heard.clone(),
            gate_id: part.items.last().map(|item| item.fact.scan.gate_id.clone()),
        }
    }
}

/// Loads and plans for a batch of one event (ARCHITECTURE.md §6 walk 2 ③–⑧). The caller stores the plan, with the batch
/// row and the line of the ledger.
pub(super) fn plan_part(
    tx: &mut dyn Tx,
    part: &Batch,
    carrier: &Carrier,
    allowed: Allowed<'_>,
    received_at: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Taken> {
    tx.event(&part.event_id)?.ok_or_else(|| Error::not_found("event"))?;
    let stamp = tx.stamp(&part.event_id)?;
    let quarantine =
        Quarantine::of(tx, part, Some(&carrier.device), &carrier.keys)?.and_all(carrier.revoked || carrier.held);
    plan_within(tx, part, stamp, &quarantine, allowed, received_at, seeded)
}

/// Takes in and stores only the scans of a batch that comes from an imported log, so there is no batch row. Returns how
/// many scans were new, and the new judgements.
pub(crate) fn intake(
    tx: &mut dyn Tx,
    batch: &Batch,
    stamp: Stamp,
    quarantine: &Quarantine,
    received_at: Timestamp,
    seeded: &mut SeededIds,
) -> Result<(usize, Rejudged)> {
    let mut taken = plan_within(tx, batch, stamp, quarantine, Allowed::ALL_SCANS, received_at, seeded)?;
    taken.store(tx, &batch.event_id)?;
    Ok((taken.stored.fresh.len(), Rejudged { incidents_changed: taken.incidents, ..taken.rejudged }))
}

/// Steps ④–⑧ for a batch of one event: facts, reductions, logs.
pub(super) fn plan_within(
    tx: &mut dyn Tx,
    part: &Batch,
    stamp: Stamp,
    quarantine: &Quarantine,
    allowed: Allowed<'_>,
    received_at: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Taken> {
    let context = WriteContext { event_id: &part.event_id, stamp, now: received_at };
    tx.prefetch(&part.event_id, &Prefetch { log: logs::only_log(part), ..Prefetch::default() })?;
    // ④ ⑤ Which scans are new facts?
    let before = Before::load(tx, part)?;
    let facts::Facts { scans, deliveries, touched, stored } =
        facts::plan(&before, part, stamp, quarantine, allowed.room);
    // Load what is stored about the subjects and logs that they touch. Nothing is read after this.
    let subjects = Subjects::load(tx, &part.event_id, &touched)?;
    let logs = Logs::load(tx, part, &stored, allowed.refused)?;
    let fresh = stored.fresh.iter().map(|place| &part.items[*place]);
    let named = fresh.filter_map(|item| Some((&item.fact.scan, item.evidence.named.as_ref()?)));
    let names = walk_ins::load_names(tx, &part.event_id, named)?;
    // ⑥ ⑦ ⑧ Reduce the touched subjects again.
    let (rejudged, subjects) = subjects::plan(subjects, touched, &names, &context, seeded, false)?;
    let causes = logs.causes(part, &stored);
    let held: Held<'_> = causes.iter().map(|(key, causes)| (key.clone(), causes.as_slice())).collect();
    let incidents = settle(&logs.incidents, &held, &context, seeded)?.incidents;
    let changed = rejudged.incidents_changed || !incidents.is_empty();
    let (logs, rejected) = (logs.rows_after(part), allowed.refused.iter().map(|item| item.record.clone()).collect());
    let changes = Changes { scans, names, deliveries, subjects, logs, incidents, rejected };
    Ok(Taken { stamp, stored, rejudged, incidents: changed, changes })
}

/// The part of a revoked device's upload that is stored.
#[derive(Clone, Default)]
pub(super) struct Withheld {
    /// Ids of its scans that are stored now, new or known before.
    pub kept: Vec<ScanId>,
    /// Its refused items that are stored now.
    pub rejected: Vec<Rejected>,
    /// How many more contents may be stored for the device.
    pub room: u64,
    /// The changes in each event.
    pub arrived: Vec<Arrived>,
}

/// Stores the scans and unreadable items of a revoked device's batches, without a row for the batch. Its scans are kept
/// up to its quota and count nothing (spec D10). Items that nobody can read are kept too, otherwise the device could
/// never finish handing over its log.
pub(super) fn withhold(
    tx: &mut dyn Tx,
    parts: &[Batch],
    carrier: &Carrier,
    received_at: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Withheld> {
    let mut out = Withheld { room: carrier.room, ..Withheld::default() };
    let mut planned = Vec::new();
    for part in parts {
        let (fresh, rejected) = refused_of(tx, part, out.room)?;
        out.rejected.extend(rejected);
        let room = out.room - fresh.len() as u64;
        // A batch that brings nothing new must change nothing.
        if let (Some(known), true) = (nothing_new(tx, part, room)?, fresh.is_empty()) {
            out.kept.extend(known);
            continue;
        }
        let taken = plan_part(tx, part, carrier, Allowed { room, refused: &fresh }, received_at, seeded)?;
        out.room = room.saturating_sub(taken.stored.fresh.len() as u64);
        out.arrived.push(Arrived::of(part, &taken));
        out.kept.extend(taken.stored.kept.iter().cloned());
        planned.push((part, taken));
    }
    if !planned.is_empty() {
        touch_health(tx, carrier, received_at)?;
    }
    for (part, mut taken) in planned {
        taken.store(tx, &part.event_id)?;
        audit(tx, part, "batch_quarantined", &changes_of(part, &taken.stored, &taken.rejudged), &json!({}))?;
    }
    Ok(out)
}

/// Finds the refused items of a revoked device's batch that are to be stored: at most `room`. Also returns what the
/// answer says about each refused item that is stored after the write. Such a batch has no row, so the server
/// recognises a repeated item by its stored bytes.
fn refused_of(tx: &mut dyn Tx, part: &Batch, room: u64) -> Result<(Vec<Refused>, Vec<Rejected>)> {
    let bodies: BTreeSet<&String> = part.rejected.iter().map(|item| &item.record.body).collect();
    let bodies: Vec<String> = bodies.into_iter().cloned().collect();
    let mut stored: BTreeSet<String> = tx.rejected_bodies(&part.device_id, &bodies)?.into_iter().collect();
    let (mut fresh, mut said) = (Vec::new(), Vec::new());
    for item in &part.rejected {
        if !stored.contains(&item.record.body) {
            if fresh.len() as u64 >= room {
                continue;
            }
            stored.insert(item.record.body.clone());
            fresh.push(item.clone());
        }
        said.push(item.said());
    }
    Ok((fresh, said))
}

/// Adds a ledger line that says that a batch id came again with other content. Nothing else changes.
pub(super) fn note_reuse(tx: &mut dyn Tx, home: &Batch) -> Result<()> {
    tx.stamp(&home.event_id)?;
    let size = home.items.len() + home.rejected.len();
    let changes = json!({ "batch_id": home.batch_id.as_str(), "batch_size": size });
    audit(tx, home, "batch_id_reused", &changes, &json!({}))
}

/// The refusal of a batch id that stands for other content (spec D2).
pub(super) fn refuse_reuse() -> Error {
    Error::conflict("batch_id_reused", "this batch id stands for other content: send the scans under a new one")
}

/// Plans incidents for findings that make a batch suspicious (S2 §7, §8). They are stored in the batch's own commit.
pub(super) fn flag(
    tx: &mut dyn Tx,
    part: &Batch,
    delivery: &Delivery<'_>,
    taken: &mut Taken,
    seeded: &mut SeededIds,
) -> Result<()> {
    let causes = batch_causes(delivery);
    let Some(key) = causes.first().map(|cause| cause.subject.key()) else { return Ok(()) };
    let known = tx.incidents_of(&part.event_id, std::slice::from_ref(&key))?;
    let context = WriteContext { event_id: &part.event_id, stamp: taken.stamp, now: delivery.received_at };
    let settled = settle(&known, &BTreeMap::from([(key, causes.as_slice())]), &context, seeded)?;
    taken.incidents |= !settled.incidents.is_empty();
    taken.changes.incidents.extend(settled.incidents);
    Ok(())
}

/// The index of the first scan about which the answer says nothing but that it is stored. `None` if the answer covers
/// all scans. `left` is how many unknown codes the device may still be told about. The server stores and acknowledges
/// an upload with more unknown codes too. But a device that guesses codes must not learn from the answer which of them
/// are good (spec §5 "Rate limit").
pub(super) fn silent_from(unknown: &[usize], left: u32) -> Option<usize> {
    unknown.get(left as usize).copied()
}

/// Stores that the device synced. The failures of a suspended device stay counted until an organiser resumes it.
pub(super) fn touch_health(tx: &mut dyn Tx, carrier: &Carrier, now: Timestamp) -> Result<()> {
    let health = &carrier.device.health;
    let failed_syncs = if carrier.held { health.failed_syncs } else { 0 };
    let seen = DeviceHealth { last_seen_at: Some(now), last_sync_at: Some(now), failed_syncs, ..health.clone() };
    tx.put_health(&carrier.device.device_id, &seen)
}

/// Sets the device's count of failed syncs to 0 after a repeated batch that got its stored answer, since that sync
/// succeeded too (spec D19).
pub(super) fn end_failures(tx: &mut dyn Tx, carrier: &Carrier, now: Timestamp) -> Result<()> {
    if carrier.device.health.failed_syncs == 0 { Ok(()) } else { touch_health(tx, carrier, now) }
}

/// The numbers that the ledger's line about a batch states, as S2 §4 asks. The batch is in Admit's own form or S1's.
pub(super) fn changes_of(part: &Batch, stored: &Stored, rejudged: &Rejudged) -> Value {
    let unverified = part.items.iter().filter(|item| item.fact.signature == SignatureState::Unverified).count();
    json!({
        "batch_id": part.batch_id.as_str(),
        "device_id": part.device_id.as_str(),
        "batch_size": part.items.len() + part.rejected.len(),
        "processed_count": stored.kept.len(),
        "new_count": stored.fresh.len(),
        "error_count": part.rejected.len(),
        "unverified_count": unverified,
        "entered": rejudged.delta.entered,
        "conflicts": rejudged.new_causes.len(),
    })
}

/// Adds the ledger's line about a batch.
pub(super) fn audit(
    tx: &mut dyn Tx,
    part: &Batch,
    action: &'static str,
    changes: &Value,
    metadata: &Value,
) -> Result<()> {
    tx.append_audit(NewAudit {
        event_id: Some(part.event_id.clone()),
        user_id: None,
        device_id: Some(part.device_id.clone()),
        action,
        entity_type: "BatchSync",
        entity_id: part.batch_id.as_str().to_owned(),
        changes: changes.to_string(),
        metadata: metadata.to_string(),
    })
}

/// The refusal of a revoked device's batch. It says which items of the batch are stored now, and how many more scans
/// the server would store for the device (spec D10).
pub(super) fn refuse_revoked(kept: Vec<ScanId>, rejected: Vec<Rejected>, quota_left: u64) -> Error {
    let message = "this device was revoked: its scans are kept for review and count nothing";
    let details = serde_json::to_value(RevokedDetails { kept, rejected, quota_left }).ok();
    Error::Denied { code: "device_revoked", message: message.into(), details: details.map(Box::new) }
}

/// Refuses the whole body of a request, because it names another device than the key belongs to. Adds a ledger line
/// (spec §5).
pub(super) async fn refuse_mismatch(app: &App, caller: &DeviceCaller, named: &DeviceId) -> Result<Error> {
    let (device_id, named) = (caller.device_id.clone(), named.clone());
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        tx.append_audit(NewAudit {
            event_id: None,
            user_id: None,
            device_id: Some(device_id.clone()),
            action: "device_mismatch",
            entity_type: "Device",
            entity_id: device_id.as_str().to_owned(),
            changes: json!({ "named": named.as_str() }).to_string(),
            metadata: "{}".to_owned(),
        })
    })
    .await?;
    Ok(Error::Unauthenticated {
        code: "device_mismatch",
        message: "the body names another device than the key belongs to: nothing of it was taken".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_from_the_first_unknown_code_beyond_the_allowance_on() {
        assert_eq!(silent_from(&[2, 5, 9], 3), None);
        assert_eq!(silent_from(&[2, 5, 9], 2), Some(9));
        assert_eq!(silent_from(&[2, 5, 9], 0), Some(2));
        assert_eq!(silent_from(&[], 0), None);
    }
}
