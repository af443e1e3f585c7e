//! Purging: the rows of events that ended long ago leave the journal, and a summary of them stays.

use std::collections::BTreeSet;

use super::super::clock::Anchor;
use super::{Journal, ListMark, OwnScan, PinTries};
use crate::ids::EventId;
use crate::limits;
use crate::scan::Digest;
use crate::time::Timestamp;
use crate::wire::journal::{ClockSummary, EventSummary, ListSummary, Summary};

impl Journal {
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
    pub(super) fn resume(&mut self, summary: Summary) {
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
