//! How many persons are in the area behind this gate: the server's last count, corrected by this device's scans that
//! the count does not include.

use std::collections::BTreeSet;

use super::journal::{Delivery, OwnScan};
use super::state::{Area, Beat, State};
use crate::gate::same_area;
use crate::ids::GateId;
use crate::limits;
use crate::scan::{Headcount, Scan, ScanKind, Stage};
use crate::wire::journal::Paired;
use crate::wire::scanning::HeartbeatAnswer;

impl State {
    /// Notes which of this device's scans are unsent when a heartbeat leaves. The heartbeat's answer may bring the
    /// server's count of the area, which lacks exactly those scans.
    pub fn begin_beat(&mut self) {
        // A gate without a capacity needs no count, and copying a long backlog costs time.
        let counts = self.gate().is_some_and(|gate| gate.capacity.is_some());
        let unsent = if counts { self.recorder.journal().waiting.clone() } else { BTreeSet::new() };
        let news = |paired: &&Paired| paired.moved && self.gate_told.as_ref() != Some(&paired.gate_id);
        let gate_id = self.paired().filter(news).map(|paired| paired.gate_id.clone());
        self.beat = Beat { listed: self.list.is_some(), unsent, head: self.recorder.journal().head_seq(), gate_id };
    }

    /// Takes the counts from a heartbeat's answer: of the area, and of guests added at the doors. Either may be absent.
    pub fn follow_count(&mut self, beat: &HeartbeatAnswer) {
        let sent = std::mem::take(&mut self.beat);
        let told = |inside| Area {
            event_id: beat.event_id.clone(),
            gate_id: beat.gate_id.clone(),
            inside,
            at: (beat.cursor.epoch, beat.cursor.serial),
            heard_mono_ms: self.mono(),
            beat: sent.clone(),
        };
        (self.area, self.walk_ins_told) = (beat.area_inside.map(told), beat.walk_ins.map(told));
        self.rung_at = beat.rung_at;
    }

    /// Persons in the area behind this gate, for advice. It is 0 if unknown, since advice from an old count would hold
    /// up a queue for nothing.
    pub fn area_inside(&self) -> u32 {
        self.area_known().unwrap_or(0)
    }

    /// Persons in the area behind this gate: the server's last count, corrected by this device's scans that the count
    /// does not include. `None` if the gate has no capacity, or if the last count is older than
    /// [`limits::AREA_KNOWN_MS`].
    pub fn area_known(&self) -> Option<u32> {
        let (area, paired) = self.area.as_ref().zip(self.paired())?;
        let here = area.event_id == paired.event_id && area.gate_id == paired.gate_id;
        let fresh = self.mono().saturating_sub(area.heard_mono_ms) <= limits::AREA_KNOWN_MS;
        if !here || !fresh || self.gate().is_none_or(|gate| gate.capacity.is_none()) {
            return None;
        }
        // The count can lack only three kinds of scans: unsent ones, those unsent when the heartbeat left, and those
        // made since.
        let waiting = &self.recorder.journal().waiting;
        let since = (area.beat.head + 1..=self.recorder.journal().head_seq()).filter(|seq| !waiting.contains(seq));
        let seqs = waiting.iter().chain(area.beat.unsent.difference(waiting)).copied().chain(since);
        let own = seqs.filter_map(|seq| self.recorder.journal().at_seq(seq)).filter(|own| !self.is_counted(own, area));
        let own: Vec<&OwnScan> = own.filter(|own| own.scan.event_id == area.event_id).collect();
        let recount = self.own_recount(own.iter().copied());
        let (base, until) =
            recount.map_or((i64::from(area.inside), None), |recount| (i64::from(recount.inside), Some(recount.at)));
        let leads_here = |gate_id: &GateId| same_area(&paired.gate_id, gate_id, |id| self.list.as_ref()?.gates.get(id));
        let later = own.into_iter().filter(|own| until.is_none_or(|until| own.scan.at > until));
        let moved: i64 = later.filter(|own| leads_here(&own.scan.gate_id)).map(|own| self.moves(&own.scan)).sum();
        Some(u32::try_from((base + moved).max(0)).unwrap_or(u32::MAX))
    }

    /// Whether the device must not add this scan to the server's count. The count includes the scan if the scan's
    /// receipt, or the server's answer to its claim, is older than the count. A held or refused scan counts only after
    /// a person decides. For a scan acknowledged in a former epoch, the server soon says whether it still has the scan.
    pub fn is_counted(&self, own: &OwnScan, area: &Area) -> bool {
        let (epoch, serial) = area.at;
        let received = own.receipt.is_some_and(|(of, at)| of == Some(epoch) && at <= serial);
        let claimed = self.was_counted(own) && own.scan.epoch == Some(epoch) && own.scan.cursor <= serial;
        let apart = matches!(own.delivery, Delivery::Held | Delivery::Rejected { .. } | Delivery::Asked);
        received || claimed || apart
    }

    /// How many persons a scan that the count lacks adds to the area, after this device's undos. The number is negative
    /// for an exit, and 0 for a scan that let nobody in or is not final.
    ///
    /// An undo adds nothing if the count includes the undone scan. Only the server knows what it counted of that scan,
    /// so the next count shows the undo.
    fn moves(&self, scan: &Scan) -> i64 {
        let persons = i64::from(self.recorder.journal().kept(scan));
        match scan.kind {
            _ if scan.practice || !scan.opened || scan.stage != Stage::Final => 0,
            ScanKind::Entry => persons,
            ScanKind::Exit => -persons,
            ScanKind::Headcount => match scan.headcount {
                Some(Headcount::Change { delta, .. }) => i64::from(delta.signum()) * persons,
                Some(Headcount::Recount { .. }) | None => 0,
            },
            ScanKind::Revert => 0,
        }
    }
}
