//! Makes a verdict in the form that the screen needs (experience §8).

use super::desk::Desk;
use super::lookup::Known;
use super::offer::booking_of;
use super::own_scan::OwnScan;
use crate::decide::{LastEntry, Reason, Screen, Verdict};
use crate::gate::{Direction, GateRules};
use crate::limits;
use crate::scan::{Outcome, Scan, ScanKind, Stage};
use crate::short_code::ShortCode;
use crate::ticket::TicketRules;
use crate::time::Timestamp;
use crate::wire::engine::{DecidedBy, LastEntryView, VerdictView};
use crate::wire::journal::Shown;
use crate::wire::scans::OnlineAnswer;

/// Whether staff with the PIN may set this refusal aside.
pub(super) fn can_override(known: Known<'_>, own: &OwnScan) -> bool {
    may_set_aside(known, &own.scan, &own.shown)
}

fn may_set_aside(known: Known<'_>, scan: &Scan, shown: &Shown) -> bool {
    let refusal = scan.stage == Stage::Final && !scan.opened && scan.outcome != Outcome::Valid;
    let is_scan = scan.kind != ScanKind::Revert && shown.screen != Screen::NotATicket;
    refusal && is_scan && !was_set_aside(known, scan)
}

/// Whether a later override of the same code still counts. Staff can override a refusal only once, unless they
/// undid the override.
fn was_set_aside(known: Known<'_>, refused: &Scan) -> bool {
    let later = known.journal.scans.iter().rev().map(|own| &own.scan).take_while(|scan| scan.seq > refused.seq);
    // A guest picked by hand has no code in the scan, so the ticket tells one refusal from another.
    let same = |scan: &&Scan| match refused.barcode_hash {
        Some(_) => scan.barcode_hash == refused.barcode_hash,
        None => scan.barcode_hash.is_none() && scan.ticket_id == refused.ticket_id,
    };
    let mut overrides = later.filter(|scan| scan.override_.is_some()).filter(same);
    overrides.any(|scan| known.journal.kept(scan) != 0)
}

/// One of this device's scans in the form that the screen shows.
pub(super) fn view_of(desk: &Desk<'_>, own: &OwnScan) -> VerdictView {
    let about = desk.known.about(&own.scan);
    let rules = about.rules();
    let before = own.scan.basis.as_ref().and_then(|basis| basis.last_entry_at);
    let last = about.ticket.as_ref().zip(before).and_then(|((id, rules), at)| {
        let state = desk.known.state_of(id, rules, about.hash, Some(&own.scan.scan_id));
        let entry = state.entries.into_iter().rev().find(|entry| entry.at == at)?;
        Some(LastEntry { at, gate_id: entry.gate_id, device_id: entry.device_id })
    });
    let view = verdict_view(desk, &own.scan, &own.shown, last.as_ref(), rules);
    let named = own.named.as_ref().map(|named| named.name.clone());
    VerdictView { name: view.name.clone().or(named), ..view }
}

pub(super) fn verdict_view(
    desk: &Desk<'_>,
    scan: &Scan,
    shown: &Shown,
    last: Option<&LastEntry>,
    ticket: Option<&TicketRules>,
) -> VerdictView {
    let (known, list) = (desk.known, desk.known.list());
    let name = |gate_id| known.gate_name(gate_id);
    let wrong_place = shown.screen == Screen::WrongPlace;
    let wrong_time = shown.screen == Screen::WrongTime;
    let admitted = if scan.opened { scan.count } else { 0 };
    let guest = scan.ticket_id.as_ref().and_then(|id| desk.guest_of(id));
    VerdictView {
        screen: shown.screen,
        scan_id: Some(scan.scan_id.clone()).filter(|_| shown.screen != Screen::NotATicket),
        kind: scan.kind,
        outcome: scan.outcome,
        reason: shown.reason.map(|reason: Reason| reason.as_str().to_owned()),
        opened: scan.opened,
        count: admitted,
        may_admit: shown.may_admit,
        entry_limit: shown.entry_limit,
        already_in: shown.already_in,
        ticket_id: scan.ticket_id.clone(),
        short_code: short_code(scan),
        zone: ticket.map(|rules| rules.zone.clone()),
        name: guest.map(|guest| guest.name.clone()),
        note: guest.and_then(|guest| guest.note.clone()),
        flag: guest.and_then(|guest| guest.flag.clone()),
        fields: guest.map(|guest| desk.guests.fields_of(guest)).unwrap_or_default(),
        right_gates: ticket.filter(|_| wrong_place).map(|rules| right_gates(known, rules)).unwrap_or_default(),
        valid_from: ticket.filter(|_| wrong_time).and_then(|rules| rules.valid_from),
        expires_at: ticket.filter(|_| wrong_time).and_then(|rules| rules.expires_at),
        last_entry: last.filter(|_| scan.outcome == Outcome::Duplicate).map(|entry| LastEntryView {
            at: entry.at,
            gate: name(&entry.gate_id),
            device_id: Some(entry.device_id.clone()),
            device: known.feed().name_of(&entry.device_id).unwrap_or_default().to_owned(),
            own: entry.device_id == scan.device_id,
        }),
        at: scan.at,
        decided_by: if shown.confirmed { DecidedBy::Server } else { DecidedBy::Device },
        list_expired: list.is_some_and(|list| scan.at >= list.expires_at),
        manifest_version: scan.manifest_version,
        list_at: list.map(|list| list.generated_at),
        can_override: may_set_aside(known, scan, shown) && list.is_some_and(|list| list.event.staff_pin.is_some()),
        overridden: scan.override_.is_some(),
        can_undo: scan.opened,
        same_ticket_ms: None,
        practice: scan.practice,
        places_left: shown.places_left,
        booking: booking_of(desk, scan).filter(|_| scan.stage == Stage::Final),
    }
}

/// Names of the gates that admit a ticket. Gates that only lead out are left out.
fn right_gates(known: Known<'_>, rules: &TicketRules) -> Vec<String> {
    let Some(list) = known.list() else { return Vec::new() };
    let leads_in = |gate: &&GateRules| gate.direction != Direction::Out;
    if rules.gate_ids.is_empty() {
        let gates = list.gates.values().filter(leads_in).filter(|gate| gate.zones.contains(&rules.zone));
        return gates.map(|gate| gate.name.clone()).collect();
    }
    let ids = rules.gate_ids.iter().filter(|id| list.gates.get(*id).is_none_or(|gate| leads_in(&gate)));
    ids.map(|id| known.gate_name(id)).collect()
}

/// The last verdict, if it is younger than [`limits::SHOW_AGAIN_MS`] at start. Staff may not have seen it.
pub(super) fn last_unseen(desk: &Desk<'_>) -> Option<VerdictView> {
    desk.known.list()?;
    let own = desk.known.journal.scans.last()?;
    let age = Timestamp::clamped(desk.session.at_ms()).since(own.scan.at);
    // Nobody saw a verdict of a claim about which the server was asked. It is closed, and the guest shows the code
    // again.
    let unseen = own.scan.stage == Stage::Claim && !asks_staff(own.shown.screen);
    let no_verdict = matches!(own.scan.kind, ScanKind::Revert | ScanKind::Headcount);
    let silent = unseen || no_verdict || own.shown.screen == Screen::NotATicket;
    (age < limits::SHOW_AGAIN_MS && !silent && desk.known.is_here(&own.scan)).then(|| view_of(desk, own))
}

/// Whether a screen asks staff something, so that its claim waits for their answer.
pub(super) fn asks_staff(screen: Screen) -> bool {
    matches!(screen, Screen::AdmitParty | Screen::Full | Screen::Check)
}

/// The server's answer in the form of a verdict by `decide`.
pub(super) fn verdict_of(word: &OnlineAnswer) -> Verdict {
    let (outcome, reason, may_admit) = (word.outcome, word.reason, word.may_admit);
    Verdict { outcome, reason, ..Verdict::valid(may_admit) }
}

/// Notes two things in the scan: what the device knew when it used the server's answer, and the ticket that the answer
/// names. The device knew everything up to the answer's serial (spec §3 "Rules at a scan").
pub(super) fn learned(scan: &mut Scan, word: &OnlineAnswer) {
    scan.cursor = scan.cursor.max(word.cursor.serial);
    scan.ticket_id = scan.ticket_id.take().or_else(|| word.ticket_id.clone());
}

/// The short code by which staff talk about a scan, and which another phone accepts. For a guest picked by hand it is
/// the end of the ticket's id.
pub(super) fn short_code(scan: &Scan) -> String {
    let id = scan.ticket_id.as_ref().map(|id| id.as_str()).unwrap_or_default();
    let end = || id.get(id.len().saturating_sub(8)..).unwrap_or_default().to_uppercase();
    scan.barcode_hash.map_or_else(end, |hash| ShortCode::of(&hash).to_string())
}
