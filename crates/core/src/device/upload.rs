//! Uploads: which scans are sent next, when, and what an answer means for them (spec D1, D2, D13, §5; trust promise 2).
//!
//! Only a well-formed answer of Admit to this very batch is a receipt. A batch keeps its id and its bytes until it is
//! answered. Only a receipt ends a scan's wait for upload.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::journal::Journal;
use super::lane::Lane;
use super::outbox::Outbox;
use super::recorder::Recorder;
use super::session::Session;
use super::uplink::{Answer, Ask, Kind, Refusal, Request, Uplink};
use crate::ids::{BatchId, EventId, ScanId};
use crate::limits;
use crate::scan::Stage;
use crate::wire::journal::{Entry, RejectedScan};
use crate::wire::problem::Problem;
use crate::wire::scanning::{
    LogStatusAnswer, LogStatusRequest, Rejected, RevokedDetails, ScanV2, SuspendedDetails, SyncAnswer, SyncRequest,
    raw_item,
};
use crate::wire::stored::{from_tree, to_text};

const MINUTE_MS: i64 = 60_000;
const PATH: &str = "/api/scanning/sync";

/// The upload under way. Its id and content stay unchanged until it is answered (spec D2).
#[derive(Debug, Clone)]
struct Batch {
    id: BatchId,
    seqs: Vec<u64>,
    body: String,
}

/// The uploads of this device's log.
#[derive(Debug)]
pub(super) struct Uploads {
    batch: Option<Batch>,
    /// Seqs of the scans whose receipt is being written to the journal. Meanwhile the device does not upload them
    /// again.
    settling: BTreeSet<u64>,
    /// The most scans of the next batch. It is halved to isolate a scan that the server cannot read.
    chunk: usize,
    /// The monotonic clock of each upload of the last minute.
    sent_at: VecDeque<i64>,
    /// The monotonic time from which the next scan that was set apart is offered.
    poison_at: i64,
    /// The seq of the unreadable scan that was offered last.
    poison_tried: u64,
    /// The monotonic time from which scans are uploaded again whose event the server did not know before.
    elsewhere_at: i64,
    /// Whether staff pressed Sync, so that the next upload does not wait for its interval.
    rush: bool,
}

impl Default for Uploads {
    fn default() -> Self {
        Self {
            batch: None,
            settling: BTreeSet::new(),
            chunk: limits::CHUNK_SCANS,
            sent_at: VecDeque::new(),
            poison_at: 0,
            poison_tried: 0,
            elsewhere_at: 0,
            rush: false,
        }
    }
}

impl Uploads {
    // -------------------------------------------------------------------------------------------- what leaves, when

    /// Sends the next upload without its usual wait, since staff pressed Sync.
    pub fn hurry(&mut self, now_ms: i64) {
        self.rush = true;
        self.poison_at = now_ms;
    }
    /// Takes note that every receipt so far is in the journal.
    pub fn receipts_are_durable(&mut self) {
        self.settling.clear();
    }
    /// Drops the batch under way: its scans are sent in another.
    pub fn drop_batch(&mut self) {
        self.batch = None;
    }
    /// Whether a batch waits for its answer.
    pub fn has_batch(&self) -> bool {
        self.batch.is_some()
    }
    /// Number of scans in the batch under way, 0 if there is none.
    pub fn batch_len(&self) -> u64 {
        self.batch.as_ref().map_or(0, |batch| batch.seqs.len() as u64)
    }
    /// Whether to ask which scans with an older receipt the server lacks.
    pub fn wants_status(&self, journal: &Journal) -> bool {
        journal.asked.iter().any(|seq| !self.settling.contains(seq))
    }

    /// Places in the log that may be sent now. After the server said that it does not know a former event, scans of
    /// that event are left out for a while. So they don't keep the scans of the device's present event waiting.
    fn open<'a>(&'a self, journal: &'a Journal, now_ms: i64) -> impl Iterator<Item = u64> + 'a {
        let own = journal.paired.as_ref().map(|paired| &paired.event_id).filter(|_| now_ms < self.elsewhere_at);
        let open = journal.waiting.iter().copied().filter(|seq| !self.settling.contains(seq));
        open.filter(move |seq| own.is_none_or(|own| event_of(journal, *seq) == Some(own)))
    }

    /// When the next upload may leave, by the monotonic clock. `None` if there is nothing to send.
    pub fn due_at(&self, journal: &Journal, lane: &Lane, now_ms: i64) -> Option<i64> {
        let settles = |seq: &u64| self.settling.contains(seq);
        let poison = journal.poison.iter().any(|seq| !settles(seq)).then_some(self.poison_at);
        let elsewhere = journal.waiting.iter().any(|seq| !settles(seq)).then_some(self.elsewhere_at);
        let later = [poison, elsewhere].into_iter().flatten().min();
        let waits = self.batch.is_some() || self.open(journal, now_ms).next().is_some();
        let wanted = if waits { Some(self.paced_at(journal, lane, now_ms)) } else { later }?;
        let minute_full = self.sent_at.len() >= limits::CHUNKS_PER_MINUTE;
        let freed = self.sent_at.front().filter(|_| minute_full).map_or(i64::MIN, |first| first + MINUTE_MS);
        Some(wanted.max(freed).max(lane.due_at()))
    }

    /// When the next upload is due by the interval: the first at once, then one every 6 s. Full chunks of a backlog
    /// follow at once.
    fn paced_at(&self, journal: &Journal, lane: &Lane, now_ms: i64) -> i64 {
        let Some(last) = self.sent_at.back() else { return i64::MIN };
        let retry = lane.failures() > 0;
        let full = self.batch.is_none() && self.next_chunk(journal, now_ms).len() >= self.chunk;
        if retry || full || self.rush { i64::MIN } else { last + limits::SYNC_EVERY_MS }
    }

    /// The oldest waiting scans of one event, in the order of the log. A batch holds scans of one event only.
    fn next_chunk(&self, journal: &Journal, now_ms: i64) -> Vec<u64> {
        let first = self.open(journal, now_ms).next();
        let Some(event) = first.and_then(|seq| event_of(journal, seq)) else { return Vec::new() };
        let same = self.open(journal, now_ms).filter(|seq| event_of(journal, *seq) == Some(event));
        same.take(self.chunk.max(1)).collect()
    }

    /// The next upload, or the batch under way again. `None` if there is nothing to send.
    pub fn request(&mut self, journal: &Journal, out: &mut Outbox) -> Option<Request> {
        let now = out.mono();
        while self.sent_at.front().is_some_and(|first| first + MINUTE_MS <= now) {
            self.sent_at.pop_front();
        }
        if self.batch.is_none() {
            let mut seqs = self.next_chunk(journal, now);
            if seqs.is_empty() {
                // Unreadable scans are offered in turn, so that one of them holds up no other.
                let poison = &journal.poison;
                let mut round = poison.range(self.poison_tried + 1..).chain(poison.iter()).copied();
                if let Some(seq) = round.find(|seq| !self.settling.contains(seq)) {
                    self.poison_tried = seq;
                    seqs.push(seq);
                }
                self.poison_at = now + limits::POISON_EVERY_MS;
            }
            self.batch = wrap(journal, out, seqs);
        }
        let body = self.batch.as_ref().map(|batch| batch.body.clone())?;
        self.rush = false;
        self.sent_at.push_back(now);
        Some(Request::post(Ask::Sync, PATH, body, limits::REQUEST_MS))
    }

    // ----------------------------------------------------------------------------------------- what an answer says

    /// Takes the server's answer to an upload. Returns what a refusal means for the device as a whole. `None` if the
    /// answer is no refusal.
    pub fn answered(
        &mut self,
        link: &mut Uplink,
        recorder: &mut Recorder,
        session: &Session,
        out: &mut Outbox,
        answer: &Answer<'_>,
    ) -> Option<Refusal> {
        let batch = self.batch.clone()?;
        let receipt = answer.read::<SyncAnswer>().filter(|receipt| receipt.batch_id == batch.id);
        if let Some(receipt) = receipt {
            let is_told = self.received(link, recorder, session, out, &batch, receipt);
            if is_told {
                link.done(Kind::Sync, out.mono(), 0);
            } else {
                link.failed(out, Kind::Sync);
            }
            return None;
        }
        let problem = answer.problem();
        match (answer.status, problem.as_ref().map(|problem| problem.code.as_str())) {
            (409, Some("batch_id_reused")) | (400, Some("batch_too_old")) => self.batch = None,
            (400 | 413 | 422, Some(_)) => {
                if let Some(problem) = &problem {
                    self.unreadable(recorder, &batch, problem);
                }
            }
            (404, Some(_)) if is_elsewhere(recorder.journal(), &batch) => {
                self.elsewhere_at = out.mono() + limits::POISON_EVERY_MS;
                self.batch = None;
            }
            // A proxy refused the size, in its own words. It says nothing about any scan, and smaller batches may pass.
            (413, None) if batch.seqs.len() > 1 => {
                self.chunk = (batch.seqs.len() / 2).max(1);
                self.batch = None;
            }
            _ => {}
        }
        Some(link.refused(out, Kind::Sync, answer))
    }

    /// Takes a receipt. Returns false if it is of a past epoch, or says nothing about the scans that were sent.
    fn received(
        &mut self,
        link: &mut Uplink,
        recorder: &mut Recorder,
        session: &Session,
        out: &mut Outbox,
        batch: &Batch,
        receipt: SyncAnswer,
    ) -> bool {
        self.batch = None;
        if !link.follow_epoch(recorder, receipt.cursor.epoch) {
            return false;
        }
        let epoch = Some(receipt.cursor.epoch);
        let rejected = rejected_of(batch, &receipt.rejected);
        let named: BTreeSet<&ScanId> = receipt.processed.iter().collect();
        let stored = named_of(recorder.journal(), batch, &named, |seq| !rejected.contains_key(seq));
        let told = stored.len() + rejected.len();
        self.settling.extend(stored.iter().chain(rejected.keys()));
        measure(recorder.journal(), session, out, &stored);
        if !stored.is_empty() {
            let at_ms = receipt.server_time.ms();
            let seqs = ranges(&stored);
            recorder.note(Entry::Received { epoch, serial: receipt.cursor.serial, seqs, held: false, at_ms });
        }
        if !rejected.is_empty() {
            recorder.note(Entry::Rejected { epoch, items: rejected.into_values().collect() });
        }
        link.keep_witness(recorder, session.mono());
        self.hurry_set_apart(recorder.journal(), session, batch);
        link.suspend(false);
        self.chunk = (self.chunk * 2).min(limits::CHUNK_SCANS);
        // A well-formed answer that says nothing about the scans that were sent: they count as not delivered.
        told > 0
    }

    /// Offers at once the next scan that was set apart as unreadable, since the server could read one of those scans in
    /// this batch.
    fn hurry_set_apart(&mut self, journal: &Journal, session: &Session, batch: &Batch) {
        if batch.seqs.iter().any(|seq| journal.poison.contains(seq)) {
            self.poison_at = session.mono();
        }
    }

    /// Handles a batch that the server cannot read. A scan that the answer names, or that fails alone, is set apart as
    /// unreadable and uploaded rarely. Otherwise the batch is halved, to find the scan that the server cannot read.
    fn unreadable(&mut self, recorder: &mut Recorder, batch: &Batch, problem: &Problem) {
        self.batch = None;
        let named = problem.errors.iter().find_map(|error| item_index(&error.path));
        let poison = named.and_then(|at| batch.seqs.get(at)).or(batch.seqs.first().filter(|_| batch.seqs.len() == 1));
        match poison {
            Some(seq) => {
                if !recorder.journal().poison.contains(seq) {
                    self.settling.insert(*seq);
                    let reason: String = problem.detail.chars().take(limits::NAME_CHARS).collect();
                    recorder.note(Entry::Poison { seq: *seq, reason });
                }
            }
            None => self.chunk = (batch.seqs.len() / 2).max(1),
        }
    }

    /// Takes the receipts of a revoked device's scans, which the server kept for review. The device erases its key when
    /// the server has stored or refused every scan, or takes no more scans. The log stays (spec D10).
    pub fn handed_over(&mut self, link: &mut Uplink, recorder: &mut Recorder, session: &Session, problem: &Problem) {
        let Ok(details) = from_tree::<RevokedDetails>(problem.details.clone().into()) else { return };
        if let Some(batch) = self.batch.take() {
            self.settle_held(link, recorder, session, &batch, &details.kept, &details.rejected);
        }
        if details.quota_left == 0 {
            recorder.erase_key(session.at_ms());
        }
    }

    /// Takes the receipts of a suspended device's scans, which the server stored and holds (spec D19). They are not
    /// offered again. Returns false if the answer names none of them.
    pub fn held(&mut self, link: &mut Uplink, recorder: &mut Recorder, session: &Session, problem: &Problem) -> bool {
        let details = serde_json::to_value(&problem.details).ok();
        let details = details.and_then(|it| serde_json::from_value::<SuspendedDetails>(it).ok());
        let (Some(details), Some(batch)) = (details, self.batch.clone()) else { return false };
        let settled = self.settle_held(link, recorder, session, &batch, &details.kept, &details.rejected);
        if settled {
            self.batch = None;
        }
        settled
    }

    /// Notes which scans of a batch the server stored and holds, and which it refused for ever. The phone offers none
    /// of them again. Returns false if the answer names no scan of the batch.
    fn settle_held(
        &mut self,
        link: &mut Uplink,
        recorder: &mut Recorder,
        session: &Session,
        batch: &Batch,
        kept: &[ScanId],
        rejected: &[Rejected],
    ) -> bool {
        let epoch = link.epoch(recorder.journal());
        let named: BTreeSet<&ScanId> = kept.iter().collect();
        let rejected = rejected_of(batch, rejected);
        let kept = named_of(recorder.journal(), batch, &named, |seq| !rejected.contains_key(seq));
        if kept.is_empty() && rejected.is_empty() {
            return false;
        }
        self.settling.extend(kept.iter().chain(rejected.keys()));
        self.hurry_set_apart(recorder.journal(), session, batch);
        if !kept.is_empty() {
            let (seqs, at_ms) = (ranges(&kept), session.at_ms());
            recorder.note(Entry::Received { epoch, serial: u64::MAX, seqs, held: true, at_ms });
            link.keep_witness(recorder, session.mono());
        }
        if !rejected.is_empty() {
            recorder.note(Entry::Rejected { epoch, items: rejected.into_values().collect() });
        }
        link.settled(Kind::Sync, session.mono());
        true
    }

    /// Takes the server's answer about this device's log. Scans that the server lacks wait for upload again. The others
    /// get a receipt. Returns what a refusal means for the device as a whole. `None` if the answer is no refusal.
    pub fn status_answered(
        &mut self,
        link: &mut Uplink,
        recorder: &mut Recorder,
        session: &Session,
        out: &mut Outbox,
        (head, answer): (u64, &Answer<'_>),
    ) -> Option<Refusal> {
        let Some(status) = answer.read::<LogStatusAnswer>() else {
            return Some(link.refused(out, Kind::Status, answer));
        };
        // The witness with the answer says which epoch answered and how far its ledger is. Without it nothing counts as
        // received, and everything is offered again.
        let epoch = recorder.journal().epoch;
        let serial = link.newest_proof().filter(|(of, _)| Some(*of) == epoch).map(|(_, serial)| serial);
        let missing = |seq: u64| status.missing.iter().any(|(from, to)| (*from..=*to).contains(&seq));
        let asked: Vec<u64> = recorder.journal().asked.iter().copied().filter(|seq| *seq <= head).collect();
        let (lacking, there): (Vec<u64>, Vec<u64>) =
            asked.into_iter().partition(|seq| serial.is_none() || missing(*seq));
        recorder.lacking(lacking);
        if let Some(serial) = serial.filter(|_| !there.is_empty()) {
            self.settling.extend(&there);
            let (seqs, at_ms) = (ranges(&there), session.at_ms());
            recorder.note(Entry::Received { epoch, serial, seqs, held: false, at_ms });
            // The witness is stored with the receipts. Otherwise a roll-back could take the scans, and a restarted
            // device had no proof.
            link.keep_witness(recorder, session.mono());
        }
        link.done(Kind::Status, session.mono(), 0);
        None
    }
}

/// The question, after a new epoch began, which of the scans with an older receipt the server lacks. `None` before the
/// device has a log.
pub(super) fn status_request(journal: &Journal) -> Option<Request> {
    let (_, log_id) = journal.identity.as_ref()?;
    let head = journal.head_seq();
    let body = to_text(&LogStatusRequest { log_id: log_id.clone(), head });
    Some(Request::post(Ask::Status { head }, "/api/scanning/log-status", body, limits::REQUEST_MS))
}

/// Makes a batch of these scans under a new id. `None` if it cannot be made.
fn wrap(journal: &Journal, out: &mut Outbox, seqs: Vec<u64>) -> Option<Batch> {
    let id = BatchId::new(out.draw_uuid()).ok()?;
    let (_, log_id) = journal.identity.clone()?;
    let own = seqs.iter().filter_map(|seq| journal.at_seq(*seq));
    let items = own.map(|own| {
        let item = ScanV2::of(&own.scan, &own.signature).ok()?.named(own.named.as_ref());
        raw_item(to_text(&item)).ok()
    });
    let request = SyncRequest {
        device_id: journal.paired.as_ref()?.device_id.clone(),
        sync_batch_id: id.clone(),
        format: Some(2),
        // This field is left out. A batch that waits for a day without network would be refused because of it.
        batch_created_at: None,
        offset_seconds: None,
        log_id: Some(log_id),
        head: Some(journal.head_seq()),
        scans: items.collect::<Option<Vec<_>>>()?,
    };
    let body = to_text(&request);
    (!seqs.is_empty()).then_some(Batch { id, seqs, body })
}

fn event_of(journal: &Journal, seq: u64) -> Option<&EventId> {
    journal.at_seq(seq).map(|own| &own.scan.event_id)
}

/// Whether a batch belongs to another event than the one that this device is paired for.
fn is_elsewhere(journal: &Journal, batch: &Batch) -> bool {
    let event = batch.seqs.first().and_then(|seq| event_of(journal, *seq));
    journal.paired.as_ref().is_some_and(|paired| event.is_some_and(|event| *event != paired.event_id))
}

/// Measures how long scans waited for this receipt. A claim and its final count as one scan.
fn measure(journal: &Journal, session: &Session, out: &mut Outbox, seqs: &[u64]) {
    let now_ms = session.at_ms();
    let scans = seqs.iter().filter_map(|seq| journal.at_seq(*seq)).map(|own| &own.scan);
    for scan in scans.filter(|scan| scan.stage == Stage::Final) {
        out.measured().receipt(now_ms - scan.at.ms());
    }
}

/// The places in the log of those scans of a batch that an answer names.
fn named_of(journal: &Journal, batch: &Batch, named: &BTreeSet<&ScanId>, take: impl Fn(&u64) -> bool) -> Vec<u64> {
    let seqs = batch.seqs.iter().copied().filter(|seq| take(seq));
    let is_named = |seq: &u64| journal.at_seq(*seq).is_some_and(|own| named.contains(&own.scan.scan_id));
    seqs.filter(is_named).collect()
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
