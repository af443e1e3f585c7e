//! Uploads: which scans are sent next, when, and what an answer means for them (spec D1, D2, D13, §5; trust promise 2).
//!
//! Only a well-formed answer of Admit to this very batch is a receipt. A batch keeps its id and its bytes until it is
//! answered. Only a receipt ends a scan's wait for upload.

use std::collections::{BTreeMap, BTreeSet};

use super::net::Answer;
use super::state::{Ask, Batch, State};
use crate::ids::{BatchId, EventId, ScanId};
use crate::limits;
use crate::scan::Stage;
use crate::wire::journal::{Entry, RejectedScan};
use crate::wire::problem::Problem;
use crate::wire::scanning::{Rejected, RevokedDetails, ScanV2, SuspendedDetails, SyncAnswer, SyncRequest, raw_item};

const MINUTE_MS: i64 = 60_000;
const PATH: &str = "/api/scanning/sync";

impl State {
    /// Places in the log that may be sent now. After the server said that it does not know a former event, scans of
    /// that event are left out for a while. So they don't keep the scans of the device's present event waiting.
    fn upload_open(&self) -> impl Iterator<Item = u64> {
        let own = self.paired().map(|paired| &paired.event_id).filter(|_| self.mono() < self.elsewhere_at);
        let open = self.recorder.journal().waiting.iter().copied().filter(|seq| !self.settling.contains(seq));
        open.filter(move |seq| own.is_none_or(|own| self.event_of(*seq) == Some(own)))
    }
    fn event_of(&self, seq: u64) -> Option<&EventId> {
        self.recorder.journal().at_seq(seq).map(|own| &own.scan.event_id)
    }

    /// Whether there is anything to upload, unreadable scans aside.
    fn upload_waits(&self) -> bool {
        self.batch.is_some() || self.upload_open().next().is_some()
    }

    /// When the next upload may leave, by the monotonic clock. `None` if there is nothing to send.
    pub fn upload_at(&self) -> Option<i64> {
        let poison =
            self.recorder.journal().poison.iter().any(|seq| !self.settling.contains(seq)).then_some(self.poison_at);
        let elsewhere =
            self.recorder.journal().waiting.iter().any(|seq| !self.settling.contains(seq)).then_some(self.elsewhere_at);
        let later = [poison, elsewhere].into_iter().flatten().min();
        let wanted = if self.upload_waits() { Some(self.upload_paced_at()) } else { later }?;
        let minute_full = self.uploads.len() >= limits::CHUNKS_PER_MINUTE;
        let freed = self.uploads.front().filter(|_| minute_full).map_or(i64::MIN, |first| first + MINUTE_MS);
        Some(wanted.max(freed).max(self.lanes.sync.due_at()))
    }

    /// When the next upload is due by the interval: the first at once, then one every 6 s. Full chunks of a backlog
    /// follow at once.
    fn upload_paced_at(&self) -> i64 {
        let Some(last) = self.uploads.back() else { return i64::MIN };
        let retry = self.lanes.sync.failures() > 0;
        let full = self.batch.is_none() && self.next_chunk().len() >= self.chunk;
        if retry || full || self.rush { i64::MIN } else { last + limits::SYNC_EVERY_MS }
    }

    /// The oldest waiting scans of one event, in the order of the log. A batch holds scans of one event only.
    fn next_chunk(&self) -> Vec<u64> {
        let Some(event) = self.upload_open().next().and_then(|seq| self.event_of(seq)) else { return Vec::new() };
        self.upload_open().filter(|seq| self.event_of(*seq) == Some(event)).take(self.chunk.max(1)).collect()
    }

    /// Sends the next upload, or the batch under way again.
    pub fn upload(&mut self) {
        let now = self.mono();
        while self.uploads.front().is_some_and(|first| first + MINUTE_MS <= now) {
            self.uploads.pop_front();
        }
        if self.batch.is_none() {
            let mut seqs = self.next_chunk();
            if seqs.is_empty() {
                // Unreadable scans are offered in turn, so that one of them holds up no other.
                let poison = &self.recorder.journal().poison;
                let mut round = poison.range(self.poison_tried + 1..).chain(poison.iter()).copied();
                if let Some(seq) = round.find(|seq| !self.settling.contains(seq)) {
                    self.poison_tried = seq;
                    seqs.push(seq);
                }
                self.poison_at = now + limits::POISON_EVERY_MS;
            }
            self.batch = self.wrap(seqs);
        }
        let Some(body) = self.batch.as_ref().map(|batch| batch.body.clone()) else { return };
        self.rush = false;
        self.uploads.push_back(now);
        self.send(Ask::Sync, "POST", PATH.to_owned(), Some(body), limits::REQUEST_MS);
    }

    /// Makes a batch of these scans under a new id. `None` if it cannot be made.
    fn wrap(&mut self, seqs: Vec<u64>) -> Option<Batch> {
        let id = BatchId::new(self.out.draw_uuid()).ok()?;
        let (_, log_id) = self.recorder.journal().identity.clone()?;
        let own = seqs.iter().filter_map(|seq| self.recorder.journal().at_seq(*seq));
        let items = own.map(|own| {
            let item = ScanV2::of(&own.scan, &own.signature).ok()?.named(own.named.as_ref());
            raw_item(crate::wire::stored::to_text(&item)).ok()
        });
        let request = SyncRequest {
            device_id: self.paired()?.device_id.clone(),
            sync_batch_id: id.clone(),
            format: Some(2),
            // This field is left out. A batch that waits for a day without network would be refused because of it.
            batch_created_at: None,
            offset_seconds: None,
            log_id: Some(log_id),
            head: Some(self.recorder.journal().head_seq()),
            scans: items.collect::<Option<Vec<_>>>()?,
        };
        let body = crate::wire::stored::to_text(&request);
        (!seqs.is_empty()).then_some(Batch { id, seqs, body })
    }

    /// Takes the server's answer to an upload.
    pub fn upload_answered(&mut self, answer: &Answer<'_>) {
        let Some(batch) = self.batch.clone() else { return };
        let receipt = answer.read::<SyncAnswer>().filter(|receipt| receipt.batch_id == batch.id);
        if let Some(receipt) = receipt {
            return self.upload_received(&batch, receipt);
        }
        let problem = answer.problem();
        match (answer.status, problem.as_ref().map(|problem| problem.code.as_str())) {
            (409, Some("batch_id_reused")) | (400, Some("batch_too_old")) => self.batch = None,
            (400 | 413 | 422, Some(_)) => {
                if let Some(problem) = &problem {
                    self.upload_refused(&batch, problem);
                }
            }
            (404, Some(_)) if self.is_elsewhere(&batch) => {
                self.elsewhere_at = self.mono() + limits::POISON_EVERY_MS;
                self.batch = None;
            }
            // A proxy refused the size, in its own words. It says nothing about any scan, and smaller batches may pass.
            (413, None) if batch.seqs.len() > 1 => {
                self.chunk = (batch.seqs.len() / 2).max(1);
                self.batch = None;
            }
            _ => {}
        }
        self.refused_by_server(&Ask::Sync, answer);
        if self.batch.is_none() {
            // The batch was made smaller or built again, so it need not wait for a retry.
            let now = self.mono();
            self.lanes.sync.hurry(now);
        }
    }

    /// Whether a batch belongs to another event than the one that this device is paired for.
    fn is_elsewhere(&self, batch: &Batch) -> bool {
        let event = batch.seqs.first().and_then(|seq| self.event_of(*seq));
        self.paired().is_some_and(|paired| event.is_some_and(|event| *event != paired.event_id))
    }

    fn upload_received(&mut self, batch: &Batch, receipt: SyncAnswer) {
        if !self.follow_epoch(receipt.cursor.epoch) {
            self.batch = None;
            return self.failed(&Ask::Sync);
        }
        let epoch = Some(receipt.cursor.epoch);
        let rejected = rejected_of(batch, &receipt.rejected);
        let named: BTreeSet<&ScanId> = receipt.processed.iter().collect();
        let stored = self.named_of(batch, &named, |seq| !rejected.contains_key(seq));
        let told = stored.len() + rejected.len();
        self.settling.extend(stored.iter().chain(rejected.keys()));
        self.measure_receipt(&stored);
        if !stored.is_empty() {
            let at_ms = receipt.server_time.ms();
            let seqs = ranges(&stored);
            self.recorder.note(Entry::Received { epoch, serial: receipt.cursor.serial, seqs, held: false, at_ms });
        }
        if !rejected.is_empty() {
            self.recorder.note(Entry::Rejected { epoch, items: rejected.into_values().collect() });
        }
        self.keep_witness();
        self.hurry_set_apart(batch);
        self.batch = None;
        self.suspended = false;
        self.chunk = (self.chunk * 2).min(limits::CHUNK_SCANS);
        if told == 0 {
            // The answer is well-formed, but says nothing about the scans that were sent. They count as not delivered.
            return self.failed(&Ask::Sync);
        }
        self.done(&Ask::Sync, 0);
    }

    /// Measures how long scans waited for this receipt. A claim and its final count as one scan.
    fn measure_receipt(&mut self, seqs: &[u64]) {
        let now_ms = self.session.at_ms();
        let scans = seqs.iter().filter_map(|seq| self.recorder.journal().at_seq(*seq)).map(|own| &own.scan);
        for scan in scans.filter(|scan| scan.stage == Stage::Final) {
            self.out.measured().receipt(now_ms - scan.at.ms());
        }
    }

    /// Offers the next scan that was set apart at once, since the server could read one of them in this batch.
    fn hurry_set_apart(&mut self, batch: &Batch) {
        if batch.seqs.iter().any(|seq| self.recorder.journal().poison.contains(seq)) {
            self.poison_at = self.mono();
        }
    }

    fn named_of(&self, batch: &Batch, named: &BTreeSet<&ScanId>, take: impl Fn(&u64) -> bool) -> Vec<u64> {
        let seqs = batch.seqs.iter().copied().filter(|seq| take(seq));
        let is_named =
            |seq: &u64| self.recorder.journal().at_seq(*seq).is_some_and(|own| named.contains(&own.scan.scan_id));
        seqs.filter(is_named).collect()
    }

    /// Handles a batch that the server cannot read. The scan that the answer names is set apart, or else the batch is
    /// halved. A scan that fails alone is marked unreadable.
    fn upload_refused(&mut self, batch: &Batch, problem: &Problem) {
        self.batch = None;
        let named = problem.errors.iter().find_map(|error| item_index(&error.path));
        let poison = named.and_then(|at| batch.seqs.get(at)).or(batch.seqs.first().filter(|_| batch.seqs.len() == 1));
        match poison {
            Some(seq) => {
                if !self.recorder.journal().poison.contains(seq) {
                    self.settling.insert(*seq);
                    let reason: String = problem.detail.chars().take(limits::NAME_CHARS).collect();
                    self.recorder.note(Entry::Poison { seq: *seq, reason });
                }
            }
            None => self.chunk = (batch.seqs.len() / 2).max(1),
        }
    }

    /// Takes the receipts of a revoked device's scans, which the server kept for review. The key is erased when the
    /// server has every scan, refused the rest, or takes no more. The log stays (spec D10).
    pub fn handed_over(&mut self, details: &RevokedDetails) {
        if let Some(batch) = self.batch.take() {
            self.settle_held(&batch, &details.kept, &details.rejected);
        }
        if details.quota_left == 0 {
            self.erase_key();
        }
    }

    /// Takes the receipts of a suspended device's scans, which the server stored and holds (spec D19). They are not
    /// offered again. Returns false if the answer names none of them.
    pub fn held(&mut self, problem: &Problem) -> bool {
        let details = serde_json::to_value(&problem.details).ok();
        let details = details.and_then(|it| serde_json::from_value::<SuspendedDetails>(it).ok());
        let (Some(details), Some(batch)) = (details, self.batch.clone()) else { return false };
        let settled = self.settle_held(&batch, &details.kept, &details.rejected);
        if settled {
            self.batch = None;
        }
        settled
    }

    /// Notes which scans of a batch the server stored and holds, and which it refused for ever. The phone offers none
    /// of them again. Returns false if the answer names no scan of the batch.
    fn settle_held(&mut self, batch: &Batch, kept: &[ScanId], rejected: &[Rejected]) -> bool {
        let epoch = self.epoch_seen.or(self.recorder.journal().epoch);
        let named: BTreeSet<&ScanId> = kept.iter().collect();
        let rejected = rejected_of(batch, rejected);
        let kept = self.named_of(batch, &named, |seq| !rejected.contains_key(seq));
        if kept.is_empty() && rejected.is_empty() {
            return false;
        }
        self.settling.extend(kept.iter().chain(rejected.keys()));
        self.hurry_set_apart(batch);
        if !kept.is_empty() {
            let at_ms = self.session.at_ms();
            self.recorder.note(Entry::Received { epoch, serial: u64::MAX, seqs: ranges(&kept), held: true, at_ms });
            self.keep_witness();
        }
        if !rejected.is_empty() {
            self.recorder.note(Entry::Rejected { epoch, items: rejected.into_values().collect() });
        }
        let now = self.mono();
        self.lanes.sync.done(now, 0);
        true
    }

    /// Erases a revoked device's key once nothing is left to hand over. A scan that was set apart still counts as left.
    /// A proxy in front of the server may have refused it, and without the key the server would not take it.
    pub fn erase_key_if_done(&mut self) {
        let journal = &self.recorder.journal();
        let done = journal.waiting.is_empty() && journal.asked.is_empty() && journal.poison.is_empty();
        if self.recorder.journal().revoked && done {
            self.erase_key();
        }
    }

    fn erase_key(&mut self) {
        self.recorder.erase_key(self.session.at_ms());
    }

    /// Asks, after a new epoch began, which of the scans with an older receipt the server lacks.
    pub fn ask_status(&mut self) {
        let Some((_, log_id)) = &self.recorder.journal().identity else { return };
        let head = self.recorder.journal().head_seq();
        let request = crate::wire::scanning::LogStatusRequest { log_id: log_id.clone(), head };
        let body = crate::wire::stored::to_text(&request);
        let path = "/api/scanning/log-status".to_owned();
        self.send(Ask::Status { head }, "POST", path, Some(body), limits::REQUEST_MS);
    }

    /// Takes the server's answer about its log. Scans that it lacks wait again, and the others get a receipt.
    pub fn status_answered(&mut self, head: u64, answer: &Answer<'_>) {
        let ask = Ask::Status { head };
        let Some(status) = answer.read::<crate::wire::scanning::LogStatusAnswer>() else {
            return self.refused_by_server(&ask, answer);
        };
        // The witness with the answer says which epoch answered and how far its ledger is. Without it nothing counts as
        // received, and everything is offered again.
        let serial = self
            .proofs
            .newest()
            .filter(|(epoch, _)| Some(*epoch) == self.recorder.journal().epoch)
            .map(|(_, serial)| serial);
        let missing = |seq: u64| status.missing.iter().any(|(from, to)| (*from..=*to).contains(&seq));
        let asked: Vec<u64> = self.recorder.journal().asked.iter().copied().filter(|seq| *seq <= head).collect();
        let (lacking, there): (Vec<u64>, Vec<u64>) =
            asked.into_iter().partition(|seq| serial.is_none() || missing(*seq));
        self.recorder.lacking(lacking);
        if let Some(serial) = serial.filter(|_| !there.is_empty()) {
            let (epoch, at_ms) = (self.recorder.journal().epoch, self.session.at_ms());
            self.settling.extend(&there);
            self.recorder.note(Entry::Received { epoch, serial, seqs: ranges(&there), held: false, at_ms });
            // The witness is stored with the receipts. Otherwise a roll-back could take the scans, and a restarted
            // device had no proof.
            self.keep_witness();
        }
        self.done(&ask, 0);
    }
}

/// The scans of a batch that an answer refuses for ever, by their place in the log.
fn rejected_of(batch: &Batch, items: &[Rejected]) -> BTreeMap<u64, RejectedScan> {
    let one = |item: &Rejected| {
        let seq = *batch.seqs.get(item.index)?;
        Some((seq, RejectedScan { seq, reason: item.reason.clone(), kept: item.kept }))
    };
    items.iter().filter_map(one).collect()
}

/// Joins rising numbers into ranges. Both ends of a range are included.
fn ranges(seqs: &[u64]) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for seq in seqs {
        match out.last_mut() {
            Some((_, to)) if *to + 1 == *seq => *to = *seq,
            _ => out.push((*seq, *seq)),
        }
    }
    out
}

/// The index in a path such as `scans[17].count`. `None` for any other path.
fn item_index(path: &str) -> Option<usize> {
    let rest = path.strip_prefix("scans[")?;
    rest.split(']').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rising_numbers_are_ranges_of_neighbours() {
        for (seqs, expected) in
            [(vec![], vec![]), (vec![7], vec![(7, 7)]), (vec![1, 2, 3, 5, 7, 8], vec![(1, 3), (5, 5), (7, 8)])]
        {
            assert_eq!(ranges(&seqs), expected);
        }
    }
}
