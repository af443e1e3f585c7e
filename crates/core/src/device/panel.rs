//! The view that the page draws: the whole state of the scanner, and when it changed.

use super::journal::Journal;
use super::own_scan::{Delivery, OwnScan};
use super::rooms::Rooms;
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

/// The view that the page was last told to draw.
#[derive(Debug, Clone, PartialEq)]
struct Drawn {
    /// The view without its countdown.
    view: View,
    /// The monotonic clock at which the countdown ends. Absent without a countdown.
    retry_at: Option<i64>,
    /// The value of [`Journal::rows`] from which the view's history and problems were made.
    rows: u64,
}

/// The panel: it knows what the page shows.
#[derive(Debug, Default)]
pub(super) struct Panel {
    last: Option<Drawn>,
}

impl Panel {
    /// The view that the page must draw now. `None` if it shows that view already, aside from a running countdown.
    pub fn draw(&mut self, rooms: &Rooms) -> Option<View> {
        let (journal, retry_at) = (rooms.recorder.journal(), retry_at(rooms));
        let mut view = view_but_rows(rooms, retry_at);
        let retry_in_ms = view.retry_in_ms.take();
        let mut next = Drawn { view, retry_at, rows: journal.rows };
        let mut held = self.last.take();
        // History and problems cost most of the work, and only the journal changes them. So they are reused while the
        // journal has the same rows.
        let kept = held.as_mut().filter(|held| held.rows == next.rows).map(|held| {
            let View { history, problems, .. } = &mut held.view;
            (std::mem::take(history), std::mem::take(problems))
        });
        let mut same = kept.is_some() && held.as_ref() == Some(&next);
        let fresh = kept.is_none();
        (next.view.history, next.view.problems) = kept.unwrap_or_else(|| (history(journal), problems(journal)));
        if fresh {
            same = held.is_some_and(|held| held.retry_at == next.retry_at && held.view == next.view);
        }
        let drawn = (!same).then(|| View { retry_in_ms, ..next.view.clone() });
        self.last = Some(next);
        drawn
    }
}

/// The scanner's phase: what it can do now.
fn phase(rooms: &Rooms) -> Phase {
    let journal = rooms.recorder.journal();
    if rooms.recorder.blocked().is_some() || journal.damaged {
        return Phase::Blocked;
    }
    if rooms.pairing.is_under_way() {
        return Phase::Pairing;
    }
    match (rooms.paired(), rooms.catalog.list()) {
        (None, _) => Phase::Unpaired,
        (Some(_), _) if journal.revoked => Phase::Revoked,
        (Some(_), _) if rooms.uplink.is_key_unknown() => Phase::KeyUnknown,
        (Some(_), None) => Phase::FirstSync,
        (Some(_), Some(_)) => Phase::Ready,
    }
}

/// The view without history and problems. `retry_in_ms` counts from now.
fn view_but_rows(rooms: &Rooms, retry_at: Option<i64>) -> View {
    let (known, at_ms, mono_ms) = (rooms.known(), rooms.session.at_ms(), rooms.session.mono());
    let (journal, clock) = (known.journal, rooms.session.clock());
    let paired = known.paired();
    let list = known.list();
    let now = Timestamp::clamped(at_ms);
    let settled = clock.exchanged();
    let event_id = paired.map(|paired| paired.event_id.clone());
    let admitted = event_id.as_ref().and_then(|event| journal.admitted.get(event));
    View {
        phase: phase(rooms),
        message: why(rooms),
        pairing_code: rooms.pairing.shown_code(),
        device_id: paired.map(|paired| paired.device_id.clone()),
        device_name: paired.map(|paired| paired.name.clone()).unwrap_or_default(),
        event_name: list.map(|list| list.event.name.clone()).unwrap_or_default(),
        gate_id: paired.map(|paired| paired.gate_id.clone()),
        gate_name: paired.map(|paired: &Paired| known.gate_name(&paired.gate_id)).unwrap_or_default(),
        gate_direction: known.gate().map(|gate| gate.direction),
        direction: known.direction(),
        gates: list.map(|list| list.gates.iter().map(|(id, gate)| gate_view(id, gate)).collect()).unwrap_or_default(),
        gate_gone: list.is_some() && known.gate().is_none(),
        operator: journal.operator.clone(),
        list: list.map(|list| ListView {
            version: list.version,
            tickets: list.codes(),
            generated_at: list.generated_at,
            expires_at: list.expires_at,
            expired: now >= list.expires_at,
            checked_at: rooms.catalog.checked_ms().map_or(list.generated_at, Timestamp::clamped).max(list.generated_at),
            newer: rooms.catalog.newer(),
        }),
        online: rooms.uplink.is_online(),
        captive: rooms.uplink.is_captive(),
        suspended: rooms.uplink.is_suspended(),
        unsent: journal.unsent(),
        sending: sending(rooms),
        retry_in_ms: retry_at.map(|at| (at - mono_ms).max(0)),
        last_sync_at: journal.last_receipt_ms.map(Timestamp::clamped),
        clock_offset_ms: clock.offset_ms().filter(|_| settled).map(stepped),
        clock_uncertainty_ms: settled.then(|| stepped_up(clock.read().uncertainty_ms)),
        own_admitted: admitted.copied().unwrap_or(0),
        names: rooms.guests.view(known, at_ms),
        event_status: list.map(|list| list.event.status),
        rung_at: rooms.heartbeat.rung_at(),
        walk_ins: rooms.counts.walk_ins_view(known, mono_ms),
        headcounts: rooms.counts.headcounts_view(known, mono_ms),
        clock: list.and_then(|list| list.door.clock.clone()),
        barcode_kinds: list.map(|list| list.door.barcode_kinds.clone()).unwrap_or_default(),
        zone_names: list.map(|list| list.door.zone_names.clone()).unwrap_or_default(),
        has_pin: list.is_some_and(|list| list.event.staff_pin.is_some()),
        problems: Vec::new(),
        history: Vec::new(),
        event_id,
    }
}

fn why(rooms: &Rooms) -> Option<String> {
    if rooms.recorder.journal().damaged {
        return Some("A row of this device's log cannot be read. Export the log; nothing was deleted.".to_owned());
    }
    rooms.recorder.blocked().map(str::to_owned).or_else(|| rooms.message.clone())
}

fn sending(rooms: &Rooms) -> u64 {
    if rooms.uplink.lane(Kind::Sync).busy() { rooms.uploads.batch_len() } else { 0 }
}

/// When a failed upload is tried again. `None` if no upload waits after a failure.
fn retry_at(rooms: &Rooms) -> Option<i64> {
    let lane = rooms.uplink.lane(Kind::Sync);
    let waits = lane.failures() > 0 && !lane.busy();
    rooms.upload_due_at().filter(|_| waits)
}

/// The rows of the problem list, from the journal alone.
fn problems(journal: &Journal) -> Vec<Problem> {
    let problem = |own: &OwnScan| {
        let (reason, kept) = match &own.delivery {
            Delivery::Rejected { reason, kept } => (reason.clone(), *kept),
            Delivery::Poison(reason) => (reason.clone(), false),
            Delivery::Waiting | Delivery::Asked | Delivery::Sent | Delivery::Held => return None,
        };
        let hidden = journal.hidden.contains(&own.scan.scan_id);
        (!hidden).then(|| Problem { scan_id: own.scan.scan_id.clone(), reason, kept, at: own.scan.at })
    };
    let troubled = journal.troubled().filter_map(problem);
    troubled.take(limits::HISTORY_ROWS).collect()
}

/// The last scans, newest first, from the journal alone.
fn history(journal: &Journal) -> Vec<HistoryRow> {
    let scans = journal.scans.iter().rev();
    // A party's final replaces its claim, and a revert shows on the scan that it undid.
    let shown = scans.filter(|own| {
        let last = journal.find(&own.scan.scan_id).is_some_and(|last| last.scan.seq == own.scan.seq);
        let asks = own.scan.stage == Stage::Claim && last && asks_staff(own.shown.screen);
        own.scan.kind != ScanKind::Revert && (own.scan.stage == Stage::Final || asks)
    });
    shown.take(limits::HISTORY_ROWS).map(|own| history_row(journal, own)).collect()
}

fn history_row(journal: &Journal, own: &OwnScan) -> HistoryRow {
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
        reverted: if scan.opened { scan.count - journal.kept(scan) } else { 0 },
        short_code: short_code(scan),
        ticket_id: scan.ticket_id.clone(),
        reason: own.shown.reason,
        headcount: scan.headcount,
        sync: sync.to_owned(),
    }
}

/// The log as a file: its name and its text. It holds the scans that no receipt names. If there are none, or if the
/// device was revoked, it holds all scans.
pub(super) fn export(journal: &Journal) -> (String, String) {
    let device = journal.identity.as_ref().map(|(device, _)| device.to_string()).unwrap_or_default();
    let all = journal.unsent() == 0 || journal.revoked;
    let open =
        |own: &&OwnScan| all || matches!(own.delivery, Delivery::Waiting | Delivery::Asked | Delivery::Poison(_));
    let mut text = String::new();
    for own in journal.scans.iter().filter(open) {
        if let Ok(item) = crate::wire::scanning::ScanV2::of(&own.scan, &own.signature) {
            text.push_str(&crate::wire::stored::to_text(&item.named(own.named.as_ref())));
            text.push('\n');
        }
    }
    (format!("admit-scans-{device}.jsonl"), text)
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
