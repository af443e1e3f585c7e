//! Notes the places of devices' logs at which a batch has scans (spec §3 "Log"), and finds places with two contents.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, LogId};
use admit_core::incident::{Cause, CauseSubject, IncidentKind};
use admit_core::scan::{Digest, Fact, Scan, SignatureState};

use super::decode::{Batch, Item, Refused};
use super::facts::Stored;
use super::log::{has, receive};
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{IncidentRecord, LogRecord};

/// The places of one log at which a batch has scans, each with the number of new contents there.
type Places = BTreeMap<u64, usize>;

/// The log of a device.
type Named = (DeviceId, LogId);

/// The places of one log at which a batch has scans, and what is stored of the log.
#[derive(Debug, Default)]
struct OfLog {
    places: Places,
    /// The log's row. `None` if there is none yet.
    row: Option<LogRecord>,
    /// The stored contents at the places that may have two contents after the batch (see [`doubtful`]).
    doubtful: BTreeMap<u64, BTreeSet<Digest>>,
}

/// The rows stored about the logs of a batch, and about scan ids that two devices used.
#[derive(Debug, Default)]
pub(super) struct Logs {
    /// A log is listed too if the batch only reports its head.
    logs: BTreeMap<Named, OfLog>,
    /// The incidents about these logs and ids.
    pub incidents: Vec<IncidentRecord>,
}

impl Logs {
    /// Loads the rows about the logs of a batch.
    pub fn load(tx: &mut dyn Tx, batch: &Batch, stored: &Stored, refused: &[Refused]) -> Result<Self> {
        let mut out = Self::default();
        let mut keys: Vec<String> = Vec::new();
        for (named, places) in places_of(batch, stored, refused) {
            let row = tx.log(&named.0, &named.1)?;
            let seqs = doubtful(&places, row.as_ref());
            let mut of_log = OfLog { places, row, doubtful: BTreeMap::new() };
            if !seqs.is_empty() {
                of_log.doubtful = tx.contents_at(&named.0, &named.1, &seqs)?;
                keys.push(CauseSubject::Log(named.0.clone(), named.1.clone()).key());
            }
            out.logs.insert(named, of_log);
        }
        keys.extend(stored.shared.iter().map(|scan_id| CauseSubject::ScanId(scan_id.clone()).key()));
        if !keys.is_empty() {
            out.incidents = tx.incidents_of(&batch.event_id, &keys)?;
        }
        Ok(out)
    }
    /// The rows of the logs after the batch.
    pub fn rows_after(&self, batch: &Batch) -> Vec<LogRecord> {
        self.logs.iter().map(|(named, of_log)| of_log.row_after(batch, named)).collect()
    }
    /// The causes that belong to no ticket: a log with two contents at one place, a scan id that two devices used. They
    /// name the log or the scan id and no scans. Which of two scans came first depends on the order of arrival, and a
    /// cause must not.
    pub fn causes(&self, batch: &Batch, stored: &Stored) -> BTreeMap<String, Vec<Cause>> {
        let mut out = BTreeMap::new();
        let mut add = |kind: IncidentKind, subject: CauseSubject| {
            let cause = Cause { kind, subject: subject.clone(), scans: Vec::new(), order_uncertain: false };
            out.insert(subject.key(), vec![cause]);
        };
        for (named, _) in self.logs.iter().filter(|(named, of_log)| of_log.forks(batch, stored, named)) {
            add(IncidentKind::LogForked, CauseSubject::Log(named.0.clone(), named.1.clone()));
        }
        for scan_id in &stored.shared {
            add(IncidentKind::ScanIdReused, CauseSubject::ScanId(scan_id.clone()));
        }
        out
    }
}

impl OfLog {
    fn row_after(&self, batch: &Batch, named: &Named) -> LogRecord {
        let mut log = self.row.clone().unwrap_or_else(|| LogRecord {
            device_id: named.0.clone(),
            log_id: named.1.clone(),
            event_id: batch.event_id.clone(),
            head: 0,
            received: Vec::new(),
            closed_at: None,
        });
        let before = (log.head, log.received.clone());
        if self.places.keys().next_back().is_some_and(|newest| *newest >= log.head) {
            log.event_id = batch.event_id.clone();
        }
        for seq in self.places.keys() {
            receive(&mut log.received, *seq);
            log.head = log.head.max(*seq);
        }
        if let Some((_, head)) = batch.log.as_ref().filter(|(id, _)| *id == named.1 && batch.device_id == named.0) {
            log.head = log.head.max(*head);
        }
        if (log.head, &log.received) != (before.0, &before.1) {
            log.closed_at = None; // A device that reports a log has not abandoned it.
        }
        log
    }
    /// Whether some place of the log has two contents after the batch, at least one of which is new in the batch.
    fn forks(&self, batch: &Batch, stored: &Stored, named: &Named) -> bool {
        if self.doubtful.is_empty() {
            return false;
        }
        let mut contents = self.doubtful.clone();
        for Fact { scan, digest, .. } in stored.fresh.iter().map(|place| &batch.items[*place].fact) {
            let of_log = scan.device_id == named.0 && scan.log_id.as_ref() == Some(&named.1);
            if let Some(at_place) = scan.seq.filter(|_| of_log).and_then(|seq| contents.get_mut(&seq)) {
                at_place.insert(*digest);
            }
        }
        contents.values().any(|at_place| at_place.len() > 1)
    }
}

/// The log of all scans of a batch. `None` if they are of several logs, or of none.
pub(super) fn only_log(batch: &Batch) -> Option<Named> {
    let of = |scan: &Scan| Some((scan.device_id.clone(), scan.log_id.clone()?));
    let first = of(&batch.items.first()?.fact.scan)?;
    batch.items.iter().all(|Item { fact, .. }| of(&fact.scan).as_ref() == Some(&first)).then_some(first)
}

/// The places of logs at which a batch has scans.
fn places_of(batch: &Batch, stored: &Stored, refused: &[Refused]) -> BTreeMap<Named, Places> {
    let mut places: BTreeMap<Named, Places> = BTreeMap::new();
    let fresh: BTreeSet<usize> = stored.fresh.iter().copied().collect();
    let of_items = stored.places.iter().filter_map(|place| {
        let Fact { scan, signature, .. } = &batch.items[*place].fact;
        // Only a signed scan may fill a gap in another device's log (invariant I20).
        if *signature == SignatureState::Unverified && scan.device_id != batch.device_id {
            return None;
        }
        Some((scan.device_id.clone(), scan.log_id.clone()?, scan.seq?, usize::from(fresh.contains(place))))
    });
    let of_refused = refused.iter().filter_map(|item| {
        let (log_id, seq) = item.record.log.clone()?;
        Some((item.record.device_id.clone(), log_id, seq, 0))
    });
    for (device_id, log_id, seq, new) in of_items.chain(of_refused) {
        *places.entry((device_id, log_id)).or_default().entry(seq).or_default() += new;
    }
    if let Some((log_id, _)) = &batch.log {
        places.entry((batch.device_id.clone(), log_id.clone())).or_default();
    }
    places
}

/// The places that may have two contents after the batch: the log had a content there and the batch brings a new one,
/// or the batch brings two new ones.
fn doubtful(places: &Places, log: Option<&LogRecord>) -> Vec<u64> {
    let received = log.map_or(&[][..], |log| &log.received);
    let doubtful = places.iter().filter(|(seq, new)| **new > 1 || **new == 1 && has(received, **seq));
    doubtful.map(|(seq, _)| *seq).collect()
}
