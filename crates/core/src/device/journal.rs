//! The journal: a device computes its state from the rows, read in order. The same function takes a row at start and
//! after its append. So after a restart the device has exactly the state that was durable.
//!
//! The rows of events that ended long ago leave the journal, and a summary of them stays.

use std::collections::{BTreeMap, BTreeSet};

use super::clock::Anchor;
use super::own_scan::{Delivery, OwnScan};
use crate::barcode::BarcodeHash;
use crate::gate::Direction;
use crate::ids::{DeviceId, EventId, LogId, ScanId, TicketId};
use crate::limits;
use crate::occupancy::WithoutTicket;
use crate::rule::Epoch;
use crate::scan::{Digest, Headcount, Scan, ScanKind, Stage};
use crate::sign::{ApiKey, content_digest, prev_of};
use crate::time::Timestamp;
use crate::wire::engine::Row;
use crate::wire::journal::{
    self as rows, ClockSummary, Entry, EventSummary, ListSummary, Paired, RejectedScan, Scanned, Summary,
};

/// The newest list by which this device ever decided in an event (trust I15).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListMark {
    /// The epoch of the list.
    pub epoch: Epoch,
    /// The version of the list.
    pub version: u64,
    /// The list's content hash. Absent if the journal mentions the list only as the one by which a scan was decided.
    pub content_hash: Option<String>,
}

/// The count of wrong PINs in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PinTries {
    /// Wrong PINs since the last right one or the last pause.
    pub wrong: u32,
    /// When staff entered the wrong PIN that began the pause, by the device's clock in milliseconds. Absent if there
    /// was no pause.
    pub paused_at_ms: Option<i64>,
}

/// The state that all rows add up to.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// Number of the last row.
    pub rows: u64,
    /// This phone's device id, which it chose at random, and its log. Absent until it has chosen them.
    pub identity: Option<(DeviceId, LogId)>,
    /// The pairing. Absent until the device is paired.
    pub paired: Option<Paired>,
    /// The key of the former pairing, kept until a list under the new key is active (spec D5).
    pub old_key: Option<String>,
    /// Whether the organiser revoked this device.
    pub revoked: bool,
    /// Whether the key is erased.
    pub key_erased: bool,
    /// Every scan that was not purged, in the order of the log.
    pub scans: Vec<OwnScan>,
    /// `seq` of the last purged scan: the scan at index `i` of `scans` has the seq `purged + i + 1`.
    pub purged: u64,
    /// The signed time of the last purged scan.
    purged_at: Option<Timestamp>,
    /// The first row that this version cannot read. Its meaning is unknown, so it and all later rows are never purged.
    unread: Option<u64>,
    /// The digest of the last scan. Absent before the first.
    pub head: Option<Digest>,
    /// Seqs of scans that no receipt names, without those the server cannot read.
    pub waiting: BTreeSet<u64>,
    /// Seqs of scans that the server cannot read. The device uploads each of them again at most once an hour.
    pub poison: BTreeSet<u64>,
    /// Seqs of scans that the server acknowledged in a former epoch and has not confirmed in the new one.
    pub asked: BTreeSet<u64>,
    /// Seqs on the problem list: scans that the server rejected or cannot read.
    pub troubled: BTreeSet<u64>,
    /// Rows of the problem list that staff have hidden.
    pub hidden: BTreeSet<ScanId>,
    /// The server's epoch. Absent until one is known.
    pub epoch: Option<Epoch>,
    /// Witnesses of each event, the newest last.
    pub witnesses: BTreeMap<EventId, Vec<String>>,
    /// The newest list that this device used in each event.
    pub lists: BTreeMap<EventId, ListMark>,
    /// When each event ends by its newest list, in milliseconds since 1970.
    ends: BTreeMap<EventId, i64>,
    /// The name of the person who operates the device. Empty if nobody signed on.
    pub operator: String,
    /// The operator's choice at gates that lead both ways. Absent if none was made.
    pub direction: Option<Direction>,
    /// Wrong PINs so far.
    pub pin: PinTries,
    /// The newest pair of wall clock and estimated time.
    pub anchor: Option<Anchor>,
    /// Server time of the last receipt, in milliseconds.
    pub last_receipt_ms: Option<i64>,
    /// Persons whom this device let in, per event, after reverts.
    pub admitted: BTreeMap<EventId, u32>,
    /// People without a ticket whom this device counted, after undos. The key is the event, and whether the headcount
    /// was practice.
    pub counted: BTreeMap<(EventId, bool), WithoutTicket>,
    /// Whether a row of a scan could not be read or is out of place. If so, no scan may be added.
    pub damaged: bool,
    /// Seqs of claims that have no final.
    open_claims: BTreeSet<u64>,
    /// Number of scans that no receipt names. A claim and its final count as one. It is stored because it is asked for
    /// after every input.
    unsent: u64,
    /// Places in `scans` of those that added a guest.
    walk_ins: Vec<usize>,
    /// Places in `scans` of the recounts.
    recounts: Vec<usize>,
    by_id: BTreeMap<ScanId, Vec<usize>>,
    by_ticket: BTreeMap<TicketId, Vec<usize>>,
    by_hash: BTreeMap<BarcodeHash, Vec<usize>>,
    keeps: BTreeMap<ScanId, u32>,
}

impl Journal {
    /// Takes a row as storage returned it.
    pub fn read(&mut self, row: &Row) {
        let entry = rows::read(&row.text);
        if self.rows == 0 && matches!(entry, Some(Entry::Summary(_))) {
            self.rows = row.n.saturating_sub(1);
        }
        self.damaged |= row.n != self.rows + 1;
        match entry {
            Some(entry) => self.apply(entry),
            None => {
                // This version cannot read the row. If the row is a scan, the end of the log is unknown.
                self.damaged |= rows::is_scan(&row.text);
                self.apply(Entry::Unknown);
            }
        }
    }

    /// Adds one row to the state.
    pub fn apply(&mut self, entry: Entry) {
        self.rows += 1;
        match entry {
            Entry::Log { device_id, log_id } => {
                self.identity.get_or_insert((device_id, log_id));
            }
            Entry::Paired(paired) => self.pair(*paired),
            Entry::Assigned { event_id, gate_id } => {
                if let Some(paired) = &mut self.paired {
                    (paired.event_id, paired.gate_id, paired.moved) = (event_id, gate_id, false);
                }
            }
            Entry::Moved { gate_id } => {
                if let Some(paired) = &mut self.paired {
                    (paired.gate_id, paired.moved) = (gate_id, true);
                }
            }
            Entry::Scan(scanned) => self.add_scan(*scanned),
            Entry::Received { epoch, serial, seqs, held, at_ms } => {
                self.last_receipt_ms = Some(at_ms);
                let head = self.head_seq();
                for seq in seqs.into_iter().flat_map(|(from, to)| from..=to.min(head)) {
                    let to = if held { Delivery::Held } else { Delivery::Sent };
                    self.settle(seq, to, Some((epoch, serial)));
                }
            }
            Entry::Rejected { epoch, items } => {
                for RejectedScan { seq, reason, kept } in items {
                    let receipt = kept.then_some((epoch, u64::MAX));
                    self.settle(seq, Delivery::Rejected { reason, kept }, receipt);
                }
            }
            Entry::Poison { seq, reason } => self.settle(seq, Delivery::Poison(reason), None),
            Entry::Epoch { epoch } => self.begin_epoch(epoch),
            Entry::Witness { event_id, text, mut also } => {
                also.push(text);
                self.witnesses.insert(event_id, also);
            }
            Entry::List { event_id, epoch, version, content_hash, ends_at_ms } => {
                self.ends.extend(ends_at_ms.map(|ends_at_ms| (event_id.clone(), ends_at_ms)));
                self.mark_list(event_id, epoch, version, Some(content_hash));
                self.old_key = None;
            }
            Entry::Settings { operator, direction } => {
                if let Some(operator) = operator {
                    self.operator = operator;
                }
                self.direction = direction.or(self.direction);
            }
            Entry::Hidden { scan_id } => {
                self.hidden.insert(scan_id);
            }
            Entry::Clock { wall_ms, at_ms, uncertainty_ms } => {
                self.anchor = Some(Anchor { wall_ms, at_ms, uncertainty_ms });
            }
            Entry::Pin { ok, at_ms } => self.pin_tried(ok, at_ms),
            Entry::Revoked { .. } => self.revoked = true,
            Entry::KeyErased { .. } => {
                self.key_erased = true;
                self.old_key = None;
                if let Some(paired) = &mut self.paired {
                    paired.api_key.clear();
                }
            }
            Entry::Summary(summary) => self.resume(*summary),
            Entry::Probe {} => {}
            Entry::Unknown => {
                self.unread.get_or_insert(self.rows);
            }
        }
    }

    fn pair(&mut self, paired: Paired) {
        // A person paired the device with the server they meant, so that server's epoch holds. The phone may have seen
        // a later epoch of another database at the same address. What that database acknowledged must be confirmed
        // again.
        if let Some(epoch) = paired.epoch.filter(|epoch| self.epoch != Some(*epoch)) {
            self.lists.retain(|_, mark| mark.epoch <= epoch);
            self.begin_epoch(epoch);
        }
        self.old_key = self.paired.take().map(|before| before.api_key).filter(|key| !key.is_empty());
        self.paired = Some(paired);
        self.revoked = false;
        self.key_erased = false;
    }

    fn add_scan(&mut self, scanned: Scanned) {
        let Scanned { scan, signature, shown, named } = scanned;
        let (place, seq) = (self.scans.len(), self.head_seq() + 1);
        if scan.seq != Some(seq) {
            self.damaged = true;
            return;
        }
        if let Some(clock) = &scan.clock {
            let at_ms = scan.at.ms();
            self.anchor = Some(Anchor { wall_ms: clock.wall_ms, at_ms, uncertainty_ms: scan.uncertainty_ms });
        }
        if let (Some(epoch), true) = (scan.epoch, scan.manifest_version > 0) {
            self.mark_list(scan.event_id.clone(), epoch, scan.manifest_version, None);
        }
        self.head = Some(content_digest(&scan));
        if scan.stage == Stage::Claim {
            self.open_claims.insert(seq);
        } else if let Some(claim) = self.last_of(&scan.scan_id) {
            self.open_claims.remove(&(self.purged + claim as u64 + 1));
        }
        self.by_id.entry(scan.scan_id.clone()).or_default().push(place);
        if let Some(ticket) = &scan.ticket_id {
            self.by_ticket.entry(ticket.clone()).or_default().push(place);
        }
        if let Some(hash) = scan.barcode_hash {
            self.by_hash.entry(hash).or_default().push(place);
        }
        self.waiting.insert(seq);
        let (delivery, receipt, row, stood) = (Delivery::Waiting, None, self.rows, None);
        if scan.walk_in.is_some() {
            self.walk_ins.push(place);
        }
        if matches!(scan.headcount, Some(Headcount::Recount { .. })) {
            self.recounts.push(place);
        }
        self.scans.push(OwnScan { scan, signature, shown, named, delivery, receipt, row, stood });
        self.note_unsent(place, false);
        self.count(place);
    }

    /// Updates the numbers of persons let in and counted, for the scan at index `place`.
    fn count(&mut self, place: usize) {
        let scan = &self.scans[place].scan;
        let entry =
            |scan: &Scan| scan.kind == ScanKind::Entry && scan.stage == Stage::Final && scan.opened && !scan.practice;
        if entry(scan) {
            let admitted = self.admitted.entry(scan.event_id.clone()).or_default();
            *admitted = admitted.saturating_add(scan.count);
        }
        if let Some(Headcount::Change { class, delta }) = scan.headcount {
            let counted = self.counted.entry((scan.event_id.clone(), scan.practice)).or_default();
            counted.count(class, i64::from(delta));
        }
        if scan.kind == ScanKind::Revert
            && let Some(target) = &scan.target_scan_id
            && let Some(at) = self.last_of(target)
        {
            let (target, keep, source) = (target.clone(), scan.keep, &self.scans[at].scan);
            let before = self.keeps.get(&target).copied().unwrap_or(u32::MAX).min(source.count);
            let after = keep.min(before);
            if entry(source) {
                let admitted = self.admitted.entry(source.event_id.clone()).or_default();
                *admitted = admitted.saturating_sub(before - after);
            }
            if let Some(Headcount::Change { class, delta }) = source.headcount {
                let counted = self.counted.entry((source.event_id.clone(), source.practice)).or_default();
                counted.count(class, i64::from(delta.signum()) * (i64::from(after) - i64::from(before)));
            }
            self.keeps.insert(target, after);
        }
    }

    fn settle(&mut self, seq: u64, delivery: Delivery, receipt: Option<(Option<Epoch>, u64)>) {
        let Some(place) = self.place_of(seq) else { return };
        let own = &mut self.scans[place];
        let lacked = own.delivery.lacks();
        let stood = own.stood.take();
        let delivery = match (&own.delivery, &delivery, stood) {
            // The new epoch has the scan in the state of the former one: rejected and on the problem list, or held.
            (Delivery::Asked, Delivery::Sent, Some(stood)) => stood,
            (Delivery::Rejected { .. } | Delivery::Held, Delivery::Asked, _) => {
                own.stood = Some(own.delivery.clone());
                delivery
            }
            _ => delivery,
        };
        self.waiting.remove(&seq);
        self.asked.remove(&seq);
        self.poison.remove(&seq);
        self.troubled.remove(&seq);
        if matches!(delivery, Delivery::Poison(_) | Delivery::Rejected { .. }) {
            self.troubled.insert(seq);
        }
        match delivery {
            Delivery::Waiting => self.waiting.insert(seq),
            Delivery::Poison(_) => self.poison.insert(seq),
            Delivery::Asked => self.asked.insert(seq),
            Delivery::Sent | Delivery::Held | Delivery::Rejected { .. } => true,
        };
        own.delivery = delivery;
        own.receipt = receipt.or(own.receipt);
        self.note_unsent(place, lacked);
    }

    /// Updates the number of unsent scans after the record at index `place` changed. `lacked` tells whether the record
    /// had no receipt before.
    fn note_unsent(&mut self, place: usize, lacked: bool) {
        let (lacks, scan_id) = (self.scans[place].delivery.lacks(), &self.scans[place].scan.scan_id);
        let mut records = self.by_id.get(scan_id).into_iter().flatten();
        if lacks == lacked || records.any(|other| *other != place && self.scans[*other].delivery.lacks()) {
            return;
        }
        self.unsent = if lacks { self.unsent + 1 } else { self.unsent - 1 };
    }

    /// Begins a new epoch: every receipt of another epoch must be confirmed. Until then each scan keeps its old
    /// receipt. The device needs the old receipts as long as it uses the changes of the former epoch.
    fn begin_epoch(&mut self, epoch: Epoch) {
        self.epoch = Some(epoch);
        for place in 0..self.scans.len() {
            let own = &self.scans[place];
            let settled = matches!(own.delivery, Delivery::Sent | Delivery::Held | Delivery::Rejected { .. });
            if settled && own.receipt.is_none_or(|(of, _)| of != Some(epoch)) {
                self.settle(self.purged + place as u64 + 1, Delivery::Asked, None);
            }
        }
    }

    /// Marks a scan as waiting for upload again, since the server said that it lacks the scan. The mark is in memory
    /// only, so a restart asks again.
    pub fn lacking(&mut self, seq: u64) {
        self.settle(seq, Delivery::Waiting, None);
    }

    fn mark_list(&mut self, event_id: EventId, epoch: Epoch, version: u64, content_hash: Option<String>) {
        let mark = ListMark { epoch, version, content_hash };
        match self.lists.get_mut(&event_id) {
            Some(held) if (held.epoch, held.version) > (epoch, version) => {}
            Some(held) if (held.epoch, held.version) == (epoch, version) => {
                held.content_hash = mark.content_hash.or(held.content_hash.take());
            }
            _ => {
                self.lists.insert(event_id, mark);
            }
        }
    }

    fn pin_tried(&mut self, ok: bool, at_ms: i64) {
        if ok || self.pin.paused_at_ms.take().is_some() {
            self.pin = PinTries::default();
        }
        if !ok {
            self.pin.wrong += 1;
            if self.pin.wrong >= limits::PIN_TRIES {
                self.pin.paused_at_ms = Some(at_ms);
            }
        }
    }

    /// The device's key, which it sends as bearer token and which signs scans. `None` if the device is not paired or
    /// the key is erased.
    pub fn api_key(&self) -> Option<ApiKey> {
        ApiKey::parse(&self.paired.as_ref()?.api_key).ok()
    }
    /// Whether the device has a key. This is asked after every input, so the key is not parsed fully.
    pub fn has_key(&self) -> bool {
        self.paired.as_ref().is_some_and(|paired| ApiKey::is_key(&paired.api_key))
    }
    /// The seq of the last scan, 0 if there is none.
    pub fn head_seq(&self) -> u64 {
        self.purged + self.scans.len() as u64
    }
    /// The value of the next scan's `prev`. Zeros for the first scan.
    pub fn prev(&self) -> [u8; 16] {
        self.head.as_ref().map_or([0; 16], prev_of)
    }
    /// The time of the last scan. `None` if there is none.
    pub fn last_at(&self) -> Option<Timestamp> {
        self.scans.last().map(|own| own.scan.at).or(self.purged_at)
    }
    /// The index in `scans` of the scan with this seq. `None` if it was purged or never made.
    fn place_of(&self, seq: u64) -> Option<usize> {
        let place = usize::try_from(seq.checked_sub(self.purged)?.checked_sub(1)?).ok()?;
        (place < self.scans.len()).then_some(place)
    }
    /// The scan with this seq. `None` if it was purged or never made.
    pub fn at_seq(&self, seq: u64) -> Option<&OwnScan> {
        self.place_of(seq).map(|place| &self.scans[place])
    }
    /// The claims that have no final, oldest first.
    pub fn open_claims(&self) -> impl Iterator<Item = &OwnScan> {
        self.open_claims.iter().filter_map(|seq| self.at_seq(*seq))
    }
    /// The index of a scan's newest record: its final, or its claim if it has no final.
    fn last_of(&self, scan_id: &ScanId) -> Option<usize> {
        self.by_id.get(scan_id)?.last().copied()
    }
    /// The index of a scan's first record: its claim, or its final if it had no claim.
    pub fn first_of(&self, scan_id: &ScanId) -> Option<usize> {
        self.by_id.get(scan_id)?.first().copied()
    }
    /// A scan's newest record: its final, or its claim if it has no final.
    pub fn find(&self, scan_id: &ScanId) -> Option<&OwnScan> {
        self.last_of(scan_id).map(|at| &self.scans[at])
    }
    /// Whether a scan is in the log.
    pub fn knows(&self, scan_id: &ScanId) -> bool {
        self.by_id.contains_key(scan_id)
    }
    /// Persons of a scan that still count after this device's own reverts.
    pub fn kept(&self, scan: &Scan) -> u32 {
        self.keeps.get(&scan.scan_id).map_or(scan.count, |keep| scan.count.min(*keep))
    }
    /// This device's scans of a ticket in an event, found by the ticket and by its codes, in the order of the log.
    pub fn of_ticket(&self, event_id: &EventId, ticket: Option<&TicketId>, hashes: &[BarcodeHash]) -> Vec<&OwnScan> {
        let by_ticket = ticket.and_then(|id| self.by_ticket.get(id)).into_iter().flatten();
        let by_code = hashes.iter().filter_map(|hash| self.by_hash.get(hash)).flatten();
        let places: BTreeSet<usize> = by_ticket.chain(by_code).copied().collect();
        let scans = places.into_iter().map(|place| &self.scans[place]);
        scans.filter(|own| own.scan.event_id == *event_id).collect()
    }
    /// Scans of this device that added a guest, oldest first.
    pub fn walk_ins(&self) -> impl Iterator<Item = &OwnScan> {
        self.walk_ins.iter().map(|place| &self.scans[*place])
    }
    /// Recounts of this device, oldest first.
    pub fn recounts(&self) -> impl DoubleEndedIterator<Item = &OwnScan> {
        self.recounts.iter().map(|place| &self.scans[*place])
    }
    /// The scans of the problem list, newest first.
    pub fn troubled(&self) -> impl Iterator<Item = &OwnScan> {
        self.troubled.iter().rev().filter_map(|seq| self.at_seq(*seq))
    }
    /// Number of scans that no receipt names. A claim and its final count as one.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    // ------------------------------------------------------------------------------------------------------ purging

    /// The longest beginning of the log that may be purged at `at_ms`. The server must have every scan of it, and each
    /// scan's event must have ended long before. Returns the number of its last row and the seq of its last scan.
    ///
    /// If no list told an event's end, its scans stay. An organiser may have entered a wrong end, so the scan itself
    /// must be as old too. A revoked device's log stays whole (spec D10). So does a damaged log, whose order is
    /// unknown.
    pub fn removable(&self, at_ms: i64) -> Option<(u64, u64)> {
        if self.damaged || self.revoked || self.identity.is_none() {
            return None;
        }
        let received = |own: &OwnScan| !own.delivery.lacks() && own.receipt.is_some_and(|(of, _)| of == self.epoch);
        let over = |own: &OwnScan| {
            let end = self.ends.get(&own.scan.event_id).map(|end| own.scan.at.ms().max(*end));
            end.is_some_and(|end| end.saturating_add(limits::JOURNAL_KEEP_MS) < at_ms)
        };
        let may_go = self.scans.iter().take_while(|own| received(own) && over(own)).count();
        let next = self.scans.get(may_go).map_or(self.rows + 1, |own| own.row);
        let row = next.min(self.unread.unwrap_or(u64::MAX)) - 1;
        let scans = self.scans[..may_go].partition_point(|own| own.row <= row);
        (scans > 0).then_some((row, self.purged + scans as u64))
    }

    /// The summary that replaces all rows so far once they are purged. `None` if the journal has no identity yet, is
    /// damaged, or has a row that this version cannot read.
    pub fn summary(&self) -> Option<Summary> {
        let (device_id, log_id) = self.identity.clone().filter(|_| !self.damaged && self.unread.is_none())?;
        let events: BTreeSet<&EventId> = self
            .witnesses
            .keys()
            .chain(self.lists.keys())
            .chain(self.ends.keys())
            .chain(self.admitted.keys())
            .collect();
        let of_event = |event_id: &EventId| EventSummary {
            event_id: event_id.clone(),
            witnesses: self.witnesses.get(event_id).cloned().unwrap_or_default(),
            list: self.lists.get(event_id).map(|mark| ListSummary {
                epoch: mark.epoch,
                version: mark.version,
                content_hash: mark.content_hash.clone(),
            }),
            ends_at_ms: self.ends.get(event_id).copied(),
            admitted: self.admitted.get(event_id).copied().unwrap_or(0),
        };
        Some(Summary {
            device_id,
            log_id,
            seq: self.head_seq(),
            head: self.head.map(|digest| digest.0),
            at_ms: self.last_at().map(Timestamp::ms),
            paired: self.paired.clone(),
            old_key: self.old_key.clone(),
            revoked: self.revoked,
            key_erased: self.key_erased,
            epoch: self.epoch,
            events: events.into_iter().map(of_event).collect(),
            operator: self.operator.clone(),
            direction: self.direction,
            wrong_pins: self.pin.wrong,
            paused_at_ms: self.pin.paused_at_ms,
            clock: self.anchor.map(|Anchor { wall_ms, at_ms, uncertainty_ms }| ClockSummary {
                wall_ms,
                at_ms,
                uncertainty_ms,
            }),
            last_receipt_ms: self.last_receipt_ms,
        })
    }

    /// Continues from the summary that a purge left.
    fn resume(&mut self, summary: Summary) {
        if self.identity.is_some() || self.head_seq() > 0 || summary.seq > limits::JSON_INTEGER {
            self.damaged = true;
            return;
        }
        self.identity = Some((summary.device_id, summary.log_id));
        (self.purged, self.head) = (summary.seq, summary.head.map(Digest));
        self.purged_at = summary.at_ms.map(Timestamp::clamped);
        (self.paired, self.old_key) = (summary.paired, summary.old_key);
        (self.revoked, self.key_erased) = (summary.revoked, summary.key_erased);
        (self.epoch, self.last_receipt_ms) = (summary.epoch, summary.last_receipt_ms);
        for EventSummary { event_id, witnesses, list, ends_at_ms, admitted } in summary.events {
            if !witnesses.is_empty() {
                self.witnesses.insert(event_id.clone(), witnesses);
            }
            if let Some(ListSummary { epoch, version, content_hash }) = list {
                self.lists.insert(event_id.clone(), ListMark { epoch, version, content_hash });
            }
            self.ends.extend(ends_at_ms.map(|ends_at_ms| (event_id.clone(), ends_at_ms)));
            if admitted > 0 {
                self.admitted.insert(event_id, admitted);
            }
        }
        (self.operator, self.direction) = (summary.operator, summary.direction);
        self.pin = PinTries { wrong: summary.wrong_pins.min(limits::PIN_TRIES), paused_at_ms: summary.paused_at_ms };
        self.anchor = summary.clock.map(|ClockSummary { wall_ms, at_ms, uncertainty_ms }| Anchor {
            wall_ms,
            at_ms,
            uncertainty_ms,
        });
    }
}

/// Staff's own text in a form that the record can hold: trimmed, without control characters, at most `most` characters.
pub(super) fn words(text: &str, most: usize) -> String {
    text.trim().chars().filter(|c| !c.is_control()).take(most).collect()
}
