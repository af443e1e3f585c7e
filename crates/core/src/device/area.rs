//! How full it is behind this gate: as the server last counted, and what this device did that the count cannot hold.

use std::collections::BTreeSet;

use super::journal::OwnScan;
use super::state::{Area, State, Uncounted};
use crate::limits;
use crate::scan::{ScanKind, Stage};
use crate::wire::scanning::HeartbeatAnswer;

impl State {
    /// A heartbeat leaves, and its answer may bring a count: what of this device the server cannot have counted then.
    pub fn begin_count(&mut self) {
        // A gate without a capacity asks for no count, and a backlog is long.
        let counts = self.gate().is_some_and(|gate| gate.capacity.is_some());
        let unsent = if counts { self.journal.waiting.clone() } else { BTreeSet::new() };
        self.uncounted = Uncounted { unsent, head: self.journal.head_seq(), unsure: self.lanes.sync.busy() };
    }

    /// The count came. An upload that was under way meanwhile may be in it or not: then the next one comes soon.
    pub fn heed_count(&mut self, beat: &HeartbeatAnswer) {
        let now = self.mono();
        let uncounted = std::mem::take(&mut self.uncounted);
        let went = uncounted.unsent.iter().any(|seq| !self.journal.waiting.contains(seq));
        if beat.area_inside.is_some() && (uncounted.unsure || went || self.lanes.sync.busy()) {
            self.lanes.heartbeat.hurry(now.saturating_add(limits::AREA_UNSURE_MS));
        }
        self.area = beat.area_inside.map(|inside| Area {
            event_id: beat.event_id.clone(),
            gate_id: beat.gate_id.clone(),
            inside,
            heard_mono_ms: now,
            uncounted,
        });
    }

    /// Persons in the area behind this gate: as the server last counted them, and with them what this device did since or
    /// had not handed over. 0 where the gate has no capacity or the server was not heard of lately: it is advice, and old
    /// advice would hold a queue for nothing.
    pub fn area_inside(&self) -> u32 {
        let (Some(area), Some(paired)) = (&self.area, self.paired()) else { return 0 };
        let here = area.event_id == paired.event_id && area.gate_id == paired.gate_id;
        let fresh = self.mono().saturating_sub(area.heard_mono_ms) <= limits::AREA_KNOWN_MS;
        if !here || !fresh || self.gate().is_none_or(|gate| gate.capacity.is_none()) {
            return 0;
        }
        // Whether a receipt came since says nothing: the count is of before. Of what was asked about, the server counted
        // the claim.
        let unsent = area.uncounted.unsent.iter().filter_map(|seq| self.journal.at_seq(*seq));
        let unsent = unsent.filter(|own| !self.was_counted(own));
        let since = (area.uncounted.head + 1..=self.journal.head_seq()).filter_map(|seq| self.journal.at_seq(seq));
        let own = unsent.chain(since).map(|own: &OwnScan| &own.scan);
        let own = own.filter(|scan| scan.opened && scan.stage == Stage::Final && scan.event_id == paired.event_id);
        let moved: i64 = own
            .map(|scan| match scan.kind {
                ScanKind::Entry => i64::from(self.journal.kept(scan)),
                ScanKind::Exit => -i64::from(scan.count),
                ScanKind::Revert => 0,
            })
            .sum();
        u32::try_from((i64::from(area.inside) + moved).max(0)).unwrap_or(u32::MAX)
    }
}
