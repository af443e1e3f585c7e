//! The view: a ticket's state as one device sees it (spec §4). It has two parts. The first is the server's sum and list
//! of scans at the device's changes cursor. The second is the device's own scans that the server's part does not
//! include yet: no receipt with a serial at or below the cursor names them. The view uses the rules that the device has
//! now.
//!
//! The view counts as the reducer does, over the scans of both parts. Refused scans never change a count, so only scans
//! that opened a door are here. `tests/device/view_law.rs` compares the result with that of [`crate::reduce::reduce`].

use std::collections::BTreeMap;

use crate::event::{EventRules, EventStatus};
use crate::ids::{DeviceId, GateId, ScanId};
use crate::limits;
use crate::reduce::{EffectiveScan, Entry, TicketState, Visit, implausible};
use crate::scan::{Scan, ScanKind, Stage, keeps};
use crate::ticket::TicketRules;
use crate::time::Timestamp;

/// A place in the reducer's order (spec §4 step 3): implausible or not, time, author, scan id. Implausible times come
/// last.
type Place<'a> = (bool, Timestamp, &'a DeviceId, &'a ScanId);

/// The server's state of a ticket, as `GET …/changes` delivered it: the sum of the older scans, and a list of the
/// newest scans.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// The sum of the older scans.
    pub prefix: &'a TicketState,
    /// The later scans that let persons in or out, in the reducer's order.
    pub scans: &'a [EffectiveScan],
}

/// One scan that opened a door, listed by the server or made by this device.
struct Step<'a> {
    place: Place<'a>,
    uncertainty_ms: u64,
    kind: ScanKind,
    count: u32,
    gate_id: &'a GateId,
    s2: bool,
}

/// Computes a device's view of one ticket. `own` are the device's scans of this ticket that no receipt with a serial at
/// or below the cursor names, in any order. They include claims and reverts. `ticket` is `None` for a code in no list.
///
/// A scan of this device that the server lists too counts once. The server's count is taken, because reverts from other
/// devices may have lowered it. The device's own final is taken if the server lists only the scan's claim, or if the
/// final says that the door stayed shut. This device's reverts act on listed and own scans alike.
pub fn fold_view(event: &EventRules, ticket: Option<&TicketRules>, served: Served<'_>, own: &[&Scan]) -> TicketState {
    // While the event is a draft, a device counts its practice scans. Otherwise it counts none of them (decision 034).
    let is_draft = event.status == EventStatus::Draft;
    let own: Vec<&Scan> = own.iter().copied().filter(|scan| scan.practice == is_draft).collect();
    let own = chosen(&own);
    let keeps = keeps(own.iter().copied());
    let keep = |device: &DeviceId, scan: &ScanId, count: u32| {
        keeps.get(&(device, scan)).map_or(count, |keep| count.min(*keep))
    };
    let mut steps = Vec::with_capacity(served.scans.len() + own.len());
    // The server counts one person for a claim that it answered, until it has the final. If this device has made the
    // final, it replaces the listed claim. A final that says that the door stayed shut replaces a listed final too.
    let outdated = |listed: &EffectiveScan| {
        let same = |scan: &&Scan| scan.scan_id == listed.scan_id && scan.device_id == listed.device_id;
        own.iter().find(|scan| same(scan)).is_some_and(|own| own.stage == Stage::Final && (listed.claim || !own.opened))
    };
    let listed: Vec<&EffectiveScan> = served.scans.iter().filter(|scan| scan.opened && !outdated(scan)).collect();
    for scan in &listed {
        steps.push(Step {
            place: place(event, scan.at, &scan.device_id, &scan.scan_id),
            uncertainty_ms: scan.uncertainty_ms,
            kind: scan.kind,
            count: keep(&scan.device_id, &scan.scan_id, scan.count),
            gate_id: &scan.gate_id,
            s2: scan.s2,
        });
    }
    for scan in &own {
        let listed = listed.iter().any(|it| it.scan_id == scan.scan_id && it.device_id == scan.device_id);
        // A claim alone opened no door as far as this device knows.
        let opened = scan.opened && scan.stage == Stage::Final;
        if !listed && opened && matches!(scan.kind, ScanKind::Entry | ScanKind::Exit) {
            steps.push(Step {
                place: place(event, scan.at, &scan.device_id, &scan.scan_id),
                uncertainty_ms: scan.uncertainty_ms,
                kind: scan.kind,
                count: keep(&scan.device_id, &scan.scan_id, scan.count),
                gate_id: &scan.gate_id,
                s2: false,
            });
        }
    }
    // The reducer's order puts every listed scan after those in the sum. A scan of this device may be older than some
    // of those in the sum. It then counts right after the sum.
    steps.sort_by(|a, b| a.place.cmp(&b.place));
    let mut state = served.prefix.clone();
    for step in &steps {
        fold(&mut state, event, ticket, step);
    }
    state
}

/// Takes one record per scan: the final if there is one, otherwise the claim (spec D2).
fn chosen<'a>(own: &[&'a Scan]) -> Vec<&'a Scan> {
    let mut chosen: BTreeMap<&ScanId, &Scan> = BTreeMap::new();
    for scan in own {
        let held = chosen.entry(&scan.scan_id).or_insert(scan);
        if held.stage == Stage::Claim && scan.stage == Stage::Final {
            *held = scan;
        }
    }
    chosen.into_values().collect()
}

fn place<'a>(event: &EventRules, at: Timestamp, device_id: &'a DeviceId, scan_id: &'a ScanId) -> Place<'a> {
    (implausible(Some(event), at), at, device_id, scan_id)
}

fn fold(state: &mut TicketState, event: &EventRules, ticket: Option<&TicketRules>, step: &Step<'_>) {
    if step.count == 0 {
        return;
    }
    if step.kind == ScanKind::Exit {
        let left = step.count.min(state.inside());
        let over = left.min(state.inside_over);
        state.inside_over -= over;
        state.inside_within -= left - over;
        state.exited = state.exited.saturating_add(left);
        return;
    }
    let (implausible, at, device_id, scan_id) = step.place;
    let visit = Visit { event, zone: ticket.map(|ticket| ticket.zone.as_str()), gate_id: step.gate_id };
    let standing = state.standing(&visit, at, implausible);
    let free = ticket.map_or(u32::MAX, |ticket| standing.free(ticket.entry_limit, &visit.measure()));
    if step.s2 && free == 0 && double_read(state, device_id, at) {
        return;
    }
    let within = step.count.min(free);
    let over = step.count - within;
    state.within = state.within.saturating_add(within);
    state.over = state.over.saturating_add(over);
    state.inside_within = state.inside_within.saturating_add(within);
    state.inside_over = state.inside_over.saturating_add(over);
    state.entries.push(Entry {
        at,
        uncertainty_ms: step.uncertainty_ms,
        device_id: device_id.clone(),
        scan_id: scan_id.clone(),
        gate_id: step.gate_id.clone(),
        within,
        over,
    });
}

fn double_read(state: &TicketState, device_id: &DeviceId, at: Timestamp) -> bool {
    state
        .entries
        .last()
        .is_some_and(|entry| entry.device_id == *device_id && at.since(entry.at).abs() < limits::DOUBLE_READ_MS)
}
