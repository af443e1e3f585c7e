//! Plans which incidents open, change and clear when the causes of some subjects change (spec §3 "Incident"). An
//! incident is open while its cause holds and the cause's digest is not the one that a person resolved. A cause that
//! vanished clears its incident, and a changed cause reopens it.

use std::collections::BTreeMap;

use admit_core::ids::{EventId, IncidentId};
use admit_core::incident::Cause;
use admit_core::time::Timestamp;
use admit_core::wire::stored;

use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::{IncidentRecord, IncidentStatus, Stamp};
use crate::seeded_ids::SeededIds;

/// The write for which changes are planned.
#[derive(Debug, Clone, Copy)]
pub struct WriteContext<'a> {
    /// The event of all its changes.
    pub event_id: &'a EventId,
    /// The write's serial in the event.
    pub stamp: Stamp,
    /// The server's time of the write.
    pub now: Timestamp,
}

/// The causes that hold now, by the key of their subject. A subject without causes is listed too, so that its incidents
/// are cleared.
pub type Held<'a> = BTreeMap<String, &'a [Cause]>;

/// How the incidents of some subjects change.
#[derive(Debug, Default)]
pub struct Settled {
    /// Causes that are new or changed, in order of subject key.
    pub new_causes: Vec<Cause>,
    /// The incidents to store.
    pub incidents: Vec<IncidentRecord>,
}

/// Plans how the incidents of these subjects follow the causes that hold now. `known` are the stored incidents of the
/// subjects.
pub fn settle(
    known: &[IncidentRecord],
    held: &Held<'_>,
    context: &WriteContext<'_>,
    seeded: &mut SeededIds,
) -> Result<Settled> {
    // Group by subject, since a change of rules settles every subject of an event at once.
    let mut of_subject: BTreeMap<&str, Vec<&IncidentRecord>> = BTreeMap::new();
    for incident in known {
        of_subject.entry(&incident.subject_key).or_default().push(incident);
    }
    let mut out = Settled::default();
    for (key, causes) in held {
        let known = of_subject.get(key.as_str()).map_or(&[][..], Vec::as_slice);
        for cause in *causes {
            let digest = cause.digest();
            let incident = known.iter().copied().find(|one| one.kind == cause.kind);
            let status = status_of(incident, digest);
            if incident.is_some_and(|one| one.digest == digest && one.status == status) {
                continue;
            }
            out.new_causes.push(cause.clone());
            out.incidents.push(opened(incident, key, cause, context, seeded)?);
        }
        for incident in known.iter().copied().filter(|one| one.status != IncidentStatus::Cleared) {
            if !causes.iter().any(|cause| cause.kind == incident.kind) {
                let (status, updated_at, serial) = (IncidentStatus::Cleared, context.now, context.stamp.serial);
                out.incidents.push(IncidentRecord { status, updated_at, serial, ..incident.clone() });
            }
        }
    }
    Ok(out)
}

/// Loads the incidents of these subjects, plans, and stores the changes. Returns whether any incident changed.
pub fn settle_stored(
    tx: &mut dyn Tx,
    held: &Held<'_>,
    context: &WriteContext<'_>,
    seeded: &mut SeededIds,
) -> Result<bool> {
    let keys: Vec<String> = held.keys().cloned().collect();
    let known = tx.incidents_of(context.event_id, &keys)?;
    let settled = settle(&known, held, context, seeded)?;
    if !settled.incidents.is_empty() {
        tx.put_incidents(&settled.incidents)?;
    }
    Ok(!settled.incidents.is_empty())
}

/// The state of an incident whose cause holds: resolved if a person resolved this digest, otherwise open.
fn status_of(known: Option<&IncidentRecord>, digest: [u8; 32]) -> IncidentStatus {
    let resolved = known.is_some_and(|one| one.resolved_digest == Some(digest));
    if resolved { IncidentStatus::Resolved } else { IncidentStatus::Open }
}

fn opened(
    known: Option<&IncidentRecord>,
    key: &str,
    cause: &Cause,
    context: &WriteContext<'_>,
    seeded: &mut SeededIds,
) -> Result<IncidentRecord> {
    let (digest, now) = (cause.digest(), context.now);
    let resolved_digest = known.and_then(|one| one.resolved_digest);
    let status = status_of(known, digest);
    let fresh = || IncidentId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()));
    Ok(IncidentRecord {
        incident_id: known.map_or_else(fresh, |one| Ok(one.incident_id.clone()))?,
        event_id: context.event_id.clone(),
        kind: cause.kind,
        severity: cause.kind.severity(),
        subject_key: key.to_owned(),
        digest,
        cause: stored::cause_to_json(cause),
        status,
        resolved_digest,
        resolution: known.and_then(|one| one.resolution.clone()),
        opened_at: known.map_or(now, |one| one.opened_at),
        updated_at: now,
        serial: context.stamp.serial,
    })
}

#[cfg(test)]
mod tests {
    use admit_core::incident::{CauseSubject, IncidentKind};
    use admit_core::time::Timestamp;

    use super::*;

    const KEY: &str = "ticket:t1";

    fn cause(kind: IncidentKind, order_uncertain: bool) -> Cause {
        let subject = CauseSubject::Device("d1".parse().unwrap());
        Cause { kind, subject, scans: Vec::new(), order_uncertain }
    }
    /// The incidents after all `steps`. Each step has the causes that hold then, and whether a person resolves all open
    /// incidents at its end.
    fn after(steps: &[(&[Cause], bool)]) -> Vec<(IncidentKind, IncidentStatus)> {
        let event_id = EventId::new("e").unwrap();
        let mut known: Vec<IncidentRecord> = Vec::new();
        let mut seeded = SeededIds::new([7; 32]);
        for (serial, (causes, answer)) in (1..).zip(steps) {
            let (stamp, now) = (Stamp { serial, effective_at: Timestamp::default() }, Timestamp::default());
            let context = WriteContext { event_id: &event_id, stamp, now };
            let held = Held::from([(KEY.to_owned(), *causes)]);
            for changed in settle(&known, &held, &context, &mut seeded).unwrap().incidents {
                known.retain(|one| one.kind != changed.kind);
                known.push(changed);
            }
            for one in known.iter_mut().filter(|one| *answer && one.status == IncidentStatus::Open) {
                (one.status, one.resolved_digest) = (IncidentStatus::Resolved, Some(one.digest));
            }
        }
        known.sort_by_key(|one| one.kind.as_str());
        known.into_iter().map(|one| (one.kind, one.status)).collect()
    }

    #[test]
    fn an_incident_follows_its_cause_and_keeps_a_persons_answer_to_it() {
        use IncidentKind::{DoubleEntry, DuplicateScan};
        use IncidentStatus::{Cleared, Open, Resolved};
        let double = &[cause(DoubleEntry, false)][..];
        let changed = &[cause(DoubleEntry, true)][..];
        let both = &[cause(DoubleEntry, false), cause(DuplicateScan, false)][..];
        for (steps, expected) in [
            (&[(double, false)][..], vec![(DoubleEntry, Open)]),
            (&[(double, false), (&[], false)][..], vec![(DoubleEntry, Cleared)]),
            (&[(double, true), (double, false)][..], vec![(DoubleEntry, Resolved)]),
            (&[(double, true), (changed, false)][..], vec![(DoubleEntry, Open)]),
            (&[(double, true), (&[], false), (double, false)][..], vec![(DoubleEntry, Resolved)]),
            (&[(both, false), (double, false)][..], vec![(DoubleEntry, Open), (DuplicateScan, Cleared)]),
        ] {
            assert_eq!(after(steps), expected);
        }
    }
}
