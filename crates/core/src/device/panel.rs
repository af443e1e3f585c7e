//! The view that the page draws: the whole state of the scanner, and when it changed.

use super::journal::{Delivery, OwnScan};
use super::state::State;
use super::uplink::Kind;
use super::verdict::{asks_staff, short_code};
use crate::gate::GateRules;
use crate::ids::GateId;
use crate::limits;
use crate::scan::{ScanKind, Stage};
use crate::time::Timestamp;
use crate::wire::engine::{GateView, HistoryRow, ListView, Phase, Problem, View};
use crate::wire::journal::Paired;

/// The step in which clock figures are shown, in milliseconds. Finer steps would redraw without need.
const CLOCK_STEP_MS: i64 = 100;

impl State {
    /// The scanner's phase: what it can do now.
    pub fn phase(&self) -> Phase {
        if self.recorder.blocked().is_some() || self.recorder.journal().damaged {
            return Phase::Blocked;
        }
        if self.pairing.is_under_way() {
            return Phase::Pairing;
        }
        match (self.paired(), &self.list) {
            (None, _) => Phase::Unpaired,
            (Some(_), _) if self.recorder.journal().revoked => Phase::Revoked,
            (Some(_), _) if self.uplink.is_key_unknown() => Phase::KeyUnknown,
            (Some(_), None) => Phase::FirstSync,
            (Some(_), Some(_)) => Phase::Ready,
        }
    }

    /// The view without history and problems. `retry_in_ms` counts from now.
    pub fn view_but_rows(&self) -> View {
        let paired = self.paired();
        let list = self.list.as_ref();
        let now = Timestamp::clamped(self.session.at_ms());
        let settled = self.session.clock().exchanged();
        let event_id = paired.map(|paired| paired.event_id.clone());
        let admitted = event_id.as_ref().and_then(|event| self.recorder.journal().admitted.get(event));
        View {
            phase: self.phase(),
            message: self.why(),
            pairing_code: self.pairing.shown_code(),
            device_id: paired.map(|paired| paired.device_id.clone()),
            device_name: paired.map(|paired| paired.name.clone()).unwrap_or_default(),
            event_name: list.map(|list| list.event.name.clone()).unwrap_or_default(),
            gate_id: paired.map(|paired| paired.gate_id.clone()),
            gate_name: paired.map(|paired: &Paired| self.gate_name(&paired.gate_id)).unwrap_or_default(),
            gate_direction: self.gate().map(|gate| gate.direction),
            direction: self.direction(),
            gates: list
                .map(|list| list.gates.iter().map(|(id, gate)| gate_view(id, gate)).collect())
                .unwrap_or_default(),
            gate_gone: list.is_some() && self.gate().is_none(),
            operator: self.recorder.journal().operator.clone(),
            list: list.map(|list| ListView {
                version: list.version,
                tickets: list.codes(),
                generated_at: list.generated_at,
                expires_at: list.expires_at,
                expired: now >= list.expires_at,
                checked_at: self.list_checked_ms.map_or(list.generated_at, Timestamp::clamped).max(list.generated_at),
                newer: self.named.map(|(_, version)| version),
            }),
            online: self.uplink.is_online(),
            captive: self.uplink.is_captive(),
            suspended: self.uplink.is_suspended(),
            unsent: self.recorder.journal().unsent(),
            sending: self.sending(),
            retry_in_ms: self.retry_at().map(|at| (at - self.mono()).max(0)),
            last_sync_at: self.recorder.journal().last_receipt_ms.map(Timestamp::clamped),
            clock_offset_ms: self.session.clock().offset_ms().filter(|_| settled).map(stepped),
            clock_uncertainty_ms: settled.then(|| stepped_up(self.session.clock().read().uncertainty_ms)),
            own_admitted: admitted.copied().unwrap_or(0),
            names: self.names_view(),
            event_status: list.map(|list| list.event.status),
            rung_at: self.rung_at,
            walk_ins: self.walk_ins_view(),
            headcounts: self.headcounts_view(),
            clock: list.and_then(|list| list.door.clock.clone()),
            barcode_kinds: list.map(|list| list.door.barcode_kinds.clone()).unwrap_or_default(),
            zone_names: list.map(|list| list.door.zone_names.clone()).unwrap_or_default(),
            has_pin: list.is_some_and(|list| list.event.staff_pin.is_some()),
            problems: Vec::new(),
            history: Vec::new(),
            event_id,
        }
    }

    fn why(&self) -> Option<String> {
        if self.recorder.journal().damaged {
            return Some("A row of this device's log cannot be read. Export the log; nothing was deleted.".to_owned());
        }
        self.recorder.blocked().map(str::to_owned).or_else(|| self.message.clone())
    }

    fn sending(&self) -> u64 {
        if self.uplink.lane(Kind::Sync).busy() { self.uploads.batch_len() } else { 0 }
    }

    /// When a failed upload is tried again. `None` if no upload waits after a failure.
    pub fn retry_at(&self) -> Option<i64> {
        let lane = self.uplink.lane(Kind::Sync);
        let waits = lane.failures() > 0 && !lane.busy();
        self.upload_at().filter(|_| waits)
    }

    /// The rows of the problem list, from the journal alone.
    pub fn problems(&self) -> Vec<Problem> {
        let problem = |own: &OwnScan| {
            let (reason, kept) = match &own.delivery {
                Delivery::Rejected { reason, kept } => (reason.clone(), *kept),
                Delivery::Poison(reason) => (reason.clone(), false),
                Delivery::Waiting | Delivery::Asked | Delivery::Sent | Delivery::Held => return None,
            };
            let hidden = self.recorder.journal().hidden.contains(&own.scan.scan_id);
            (!hidden).then(|| Problem { scan_id: own.scan.scan_id.clone(), reason, kept, at: own.scan.at })
        };
        let troubled = self.recorder.journal().troubled().filter_map(problem);
        troubled.take(limits::HISTORY_ROWS).collect()
    }

    /// The last scans, newest first, from the journal alone.
    pub fn history(&self) -> Vec<HistoryRow> {
        let scans = self.recorder.journal().scans.iter().rev();
        // A party's final replaces its claim, and a revert shows on the scan that it undid.
        let shown = scans.filter(|own| {
            let last =
                self.recorder.journal().find(&own.scan.scan_id).is_some_and(|last| last.scan.seq == own.scan.seq);
            let asks = own.scan.stage == Stage::Claim && last && asks_staff(own.shown.screen);
            own.scan.kind != ScanKind::Revert && (own.scan.stage == Stage::Final || asks)
        });
        shown.take(limits::HISTORY_ROWS).map(|own| self.history_row(own)).collect()
    }

    fn history_row(&self, own: &OwnScan) -> HistoryRow {
        let scan = &own.scan;
        let count = if scan.opened { scan.count } else { 0 };
        let sync = match own.delivery {
            Delivery::Waiting | Delivery::Asked => "waiting",
            Delivery::Sent => "sent",
            Delivery::Held => "held",
            Delivery::Rejected { .. } | Delivery::Poison(_) => "refused",
        };
        HistoryRow {
            scan_id: scan.scan_id.clone(),
            kind: scan.kind,
            screen: own.shown.screen,
            at: scan.at,
            count,
            opened: scan.opened,
            practice: scan.practice,
            overridden: scan.override_.is_some(),
            reverted: if scan.opened { scan.count - self.recorder.journal().kept(scan) } else { 0 },
            short_code: short_code(scan),
            ticket_id: scan.ticket_id.clone(),
            reason: own.shown.reason,
            headcount: scan.headcount,
            sync: sync.to_owned(),
        }
    }

    /// The log as a file: its name and its text. It holds the scans that no receipt names. If there are none, or if the
    /// device was revoked, it holds all scans.
    pub fn export(&self) -> (String, String) {
        let device =
            self.recorder.journal().identity.as_ref().map(|(device, _)| device.to_string()).unwrap_or_default();
        let all = self.recorder.journal().unsent() == 0 || self.recorder.journal().revoked;
        let open =
            |own: &&OwnScan| all || matches!(own.delivery, Delivery::Waiting | Delivery::Asked | Delivery::Poison(_));
        let mut text = String::new();
        for own in self.recorder.journal().scans.iter().filter(open) {
            if let Ok(item) = crate::wire::scanning::ScanV2::of(&own.scan, &own.signature) {
                text.push_str(&crate::wire::stored::to_text(&item.named(own.named.as_ref())));
                text.push('\n');
            }
        }
        (format!("admit-scans-{device}.jsonl"), text)
    }
}

fn gate_view(id: &GateId, gate: &GateRules) -> GateView {
    GateView { id: id.clone(), name: gate.name.clone(), direction: gate.direction }
}

fn stepped(ms: i64) -> i64 {
    (ms + CLOCK_STEP_MS / 2).div_euclid(CLOCK_STEP_MS) * CLOCK_STEP_MS
}
fn stepped_up(ms: u64) -> u64 {
    ms.div_ceil(CLOCK_STEP_MS.unsigned_abs()) * CLOCK_STEP_MS.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_figures_are_shown_to_the_nearest_tenth_of_a_second_and_no_doubt_smaller_than_it_is() {
        for (ms, shown) in [(0, 0), (49, 0), (50, 100), (149, 100), (150, 200), (3_600_049, 3_600_000)] {
            assert_eq!(stepped(ms), shown, "{ms}");
        }
        for (ms, shown) in [(-49, 0), (-51, -100), (-149, -100), (-151, -200)] {
            assert_eq!(stepped(ms), shown, "{ms}");
        }
        for (ms, shown) in [(0, 0), (1, 100), (100, 100), (101, 200), (60_001, 60_100)] {
            assert_eq!(stepped_up(ms), shown, "{ms}");
        }
    }
}
