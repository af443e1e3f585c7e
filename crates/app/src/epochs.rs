//! Epochs and witnesses, by which a rolled-back server is detected (spec §3 "Epoch and witness").

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{EventId, OrganizationId};
use admit_core::incident::IncidentKind;
use admit_core::reduce::Reduced;
use admit_core::rule::Epoch;
use admit_core::scan::Scan;
use admit_core::sign::{check_witness_mac, witness_mac};
use admit_core::wire::scanning::Witness;

use crate::error::{Error, Result};
use crate::ports::{App, Scope, Tx, read, write};
use crate::records::{Head, IncidentStatus, NewAudit};
use crate::rules::{Brought, announce};
use crate::scans::rejudge::{reduce_stored, rejudge, state_record};

/// The witness of an event's head. Every answer to a device carries one in a header.
pub async fn witness(app: &App, organization_id: &OrganizationId, event_id: &EventId) -> Result<Witness> {
    let event = event_id.clone();
    let head = read(&*app.store, organization_id, move |tx| tx.head(&event)).await?;
    Ok(witness_of(app, event_id, &head))
}

/// The witness of a head that was read already.
pub fn witness_of(app: &App, event_id: &EventId, head: &Head) -> Witness {
    Witness {
        epoch: head.epoch,
        event_id: event_id.clone(),
        serial: head.serial,
        audit_head: head.audit_head,
        mac: witness_mac(app.secret.witness_key(), head.epoch, event_id, head.serial, &head.audit_head),
    }
}

/// Checks the witness that a device brought. If this server made the witness and the event's ledger does not contain
/// it, the database was put back to an older copy. Then a new epoch begins before the server answers. Every other
/// witness is ignored.
pub async fn check_witness(app: &App, organization_id: &OrganizationId, witness: &Witness) -> Result<()> {
    let Witness { epoch, event_id, serial, audit_head, mac } = witness.clone();
    if !check_witness_mac(app.secret.witness_key(), epoch, &event_id, serial, &audit_head, &mac) {
        return Ok(());
    }
    let event = event_id.clone();
    let known = read(&*app.store, organization_id, move |tx| {
        let head = match tx.head(&event) {
            Err(Error::NotFound { .. }) => return Ok(None),
            head => head?,
        };
        let holds = match epoch.cmp(&head.epoch) {
            // A witness of an ended epoch was checked when that epoch ended.
            Ordering::Less => true,
            // The witness is of a later epoch than the head. Unless the event knows that epoch, a restore lost it.
            Ordering::Greater => tx.epochs(&event)?.contains(epoch),
            Ordering::Equal => {
                serial == 0 || serial <= head.serial && tx.audit_head_at(&event, serial)? == Some(audit_head)
            }
        };
        Ok(Some((head.epoch, holds)))
    })
    .await?;
    let (current, holds) = match known {
        Some(known) => known,
        None => {
            let current = app.store.epoch().await?;
            // The restore may have lost the event itself. Every device of that event brings a witness of the ended
            // epoch, and only the first of them may begin a new epoch. A device that changed organisations brings the
            // other one's witness, which proves nothing here.
            let holds = epoch < current || app.store.all_events().await?.iter().any(|(_, known)| *known == event_id);
            (current, holds)
        }
    };
    if !holds {
        begin_after(app, current, epoch.restored_at_ms).await?;
    }
    Ok(())
}

/// Begins a new epoch, unless another request did so first.
pub async fn begin(app: &App, seen: Epoch) -> Result<()> {
    begin_after(app, seen, seen.restored_at_ms).await
}

/// Begins a new epoch after `seen`, which is the store's present one. `given_up` is the epoch of the database that a
/// restored copy replaces. Devices may know that epoch, so the new epoch is later than it too.
pub async fn begin_later(app: &App, seen: Epoch, given_up: Epoch) -> Result<()> {
    begin_after(app, seen, seen.restored_at_ms.max(given_up.restored_at_ms)).await
}

/// Begins an epoch that is later than `known_ms`, the time of an epoch that devices know and this server lost.
async fn begin_after(app: &App, seen: Epoch, known_ms: i64) -> Result<()> {
    let bytes = app.ids.random();
    let mut random = [0; 8];
    random.copy_from_slice(&bytes[..8]);
    // Epochs are ordered by their moment. A clock that was set back must not make a new epoch look older.
    let restored_at_ms = app.clock.now().ms().max(seen.restored_at_ms.max(known_ms).saturating_add(1));
    app.store.begin_epoch(seen, Epoch { restored_at_ms, random: u64::from_be_bytes(random) }).await?;
    app.manifests.clear();
    judge_anew(app).await
}

/// Subjects that one read looks at. The number limits memory and the duration of a read, and does not affect the
/// result.
const CHUNK: usize = 2_000;

/// Judges again the scans whose devices knew serials that a restore lost. A scan states the serial up to which its
/// device knew the event. The end of an epoch lowers that serial to the last one that the server still has (spec §3,
/// `Epochs::known`). This can change the scan's verdict. Every new epoch ends with this step. A server that stopped in
/// between repeats it at its next start. A setting records, for each epoch, that the step is done.
pub async fn judge_anew(app: &App) -> Result<()> {
    let present = app.store.epoch().await?;
    let done = format!("epoch_judged:{present}");
    if app.store.setting(done.clone()).await?.is_some() {
        return Ok(());
    }
    for (organization_id, event_id) in app.store.all_events().await? {
        judge_event(app, &organization_id, &event_id).await?;
    }
    app.store.settle(done, "yes".into()).await?;
    Ok(())
}

async fn judge_event(app: &App, organization_id: &OrganizationId, event_id: &EventId) -> Result<()> {
    let event = event_id.clone();
    let all = read(&*app.store, organization_id, move |tx| tx.subjects_with_scans(&event)).await?;
    for chunk in all.chunks(CHUNK) {
        let (event, chunk) = (event_id.clone(), chunk.to_vec());
        let stale = read(&*app.store, organization_id, move |tx| stale(tx, &event, &chunk)).await?;
        if stale.is_empty() {
            continue;
        }
        let (event, now, seeded) = (event_id.clone(), app.clock.now(), app.seeded_ids());
        let brought = write(&*app.store, Scope::event(organization_id, event_id), move |tx| {
            let stamp = tx.stamp(&event)?;
            let rejudged = rejudge(tx, &event, &stale, stamp, now, &mut seeded.clone())?;
            tx.append_audit(NewAudit {
                event_id: Some(event.clone()),
                user_id: None,
                device_id: None,
                action: "epoch_judged",
                entity_type: "Event",
                entity_id: event.as_str().to_owned(),
                changes: serde_json::json!({ "subjects": stale.len() }).to_string(),
                metadata: "{}".to_owned(),
            })?;
            Ok(Brought::of(stamp, &rejudged))
        })
        .await?;
        announce(app, organization_id, event_id, &brought);
    }
    Ok(())
}

/// Those of `subjects` that must be judged again. The end of an epoch lowered the serial that one of their scans
/// states, and their stored state was computed with the serial before.
fn stale(tx: &mut dyn Tx, event_id: &EventId, subjects: &[String]) -> Result<BTreeSet<String>> {
    let epochs = tx.epochs(event_id)?;
    let cut = |scan: &Scan| {
        let known =
            scan.epoch.filter(|epoch| epochs.contains(*epoch)).map(|_| epochs.known(scan.epoch, scan.known_serial()));
        known.is_some_and(|known| known < scan.known_serial())
    };
    let facts = tx.facts(event_id, subjects)?;
    let touched: BTreeSet<String> =
        facts.iter().filter(|(_, fact)| cut(&fact.scan)).map(|(subject, _)| subject.key()).collect();
    let touched: Vec<String> = touched.into_iter().collect();
    let held = tx.judged_states(event_id, &touched)?.into_iter();
    let held: BTreeMap<String, _> = held.map(|found| (found.0.subject_key.clone(), found)).collect();
    let reduced = reduce_stored(tx, event_id, &touched)?;
    let mut known: BTreeSet<(String, IncidentKind, [u8; 32])> = BTreeSet::new();
    for incident in tx.incidents_of(event_id, &touched)? {
        if incident.status != IncidentStatus::Cleared {
            known.insert((incident.subject_key, incident.kind, incident.digest));
        }
    }
    let differs = |(key, reduced): (String, Reduced)| {
        let fresh = state_record(&key, &reduced, 0);
        let mut same = held.get(&key).is_some_and(|(state, found)| state.same_as(&fresh) && *found == reduced.verdicts);
        let of_it = known.iter().filter(|(subject, _, _)| *subject == key).count();
        same &= of_it == reduced.causes.len();
        same &= reduced.causes.iter().all(|cause| known.contains(&(key.clone(), cause.kind, cause.digest())));
        (!same).then_some(key)
    };
    Ok(reduced.into_iter().filter_map(differs).collect())
}
