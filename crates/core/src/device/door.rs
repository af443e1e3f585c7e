//! At the door: from a code to a verdict, a party's count, an override, an undo (spec §4, D9, D12, D18).
//!
//! Each action ends in one append to the journal. Its result is shown only after the append is durable (trust I1).

use super::desk::{Act, Asked, Desk};
use super::journal::words;
use super::lookup::{About, Known};
use super::outbox::Outbox;
use super::own_scan::OwnScan;
use super::pin;
use super::reader::Reader;
use super::recorder::After;
use super::verdict::{asks_staff, can_override, learned, verdict_of, verdict_view};
use crate::barcode::{BarcodeHash, SAMPLE_CODE, candidates};
use crate::decide::{Screen, screen};
use crate::ids::{GateId, ScanId};
use crate::limits;
use crate::scan::{Method, Outcome, Override, Scan, ScanKind, Stage};
use crate::wire::engine::VerdictView;
use crate::wire::journal::{Entry, Shown};
use crate::wire::scans::OnlineAnswer;

/// Takes a code from a reader. `other` is the same code as a different keyboard layout would give it. The device
/// judges the text that is a ticket's code, and tries its layout first from then on. If neither text is a ticket's
/// code, the layout that is tried first stays. A typed text may be a short code. `may_ask` says whether the device may
/// ask the server about the scan.
pub(super) fn read_code(
    desk: &Desk<'_>,
    reader: &mut Reader,
    out: &mut Outbox,
    (text, other): (&str, Option<&str>),
    method: Method,
    may_ask: bool,
) -> Act {
    if let Err(refusal) = desk.known.may_scan() {
        return refusal.into();
    }
    if text == SAMPLE_CODE || other == Some(SAMPLE_CODE) {
        // The text of the sample code is known. So reading it shows how the reader's keyboard is set, before the
        // first ticket.
        reader.found_by(text != SAMPLE_CODE);
        return show_sample(desk, reader, out, method);
    }
    let mut readings: Vec<&str> = std::iter::once(text).chain(other).collect();
    if reader.tries_other_first() {
        readings.reverse();
    }
    let found = readings.iter().filter_map(|text| Some((*text, desk.known.find(text, &candidates(text).ok()?))));
    let mut found: Vec<(&str, About)> = found.collect();
    let known = found.iter().position(|(_, about)| about.ticket.is_some());
    if let (Some(place), Some(other)) = (known, other) {
        reader.found_by(found[place].0 == other);
    }
    if known.is_none()
        && method == Method::Manual
        && let Some(about) = desk.known.of_short_code(text)
    {
        return judge(desk, reader, out, &about, method, may_ask);
    }
    if found.is_empty() {
        reader.used(desk.session);
        return not_a_ticket(desk, out, readings[0], method);
    }
    let (_, about) = found.swap_remove(known.unwrap_or(0));
    judge(desk, reader, out, &about, method, may_ask)
}

/// Decides about a code or a guest. The verdict is shown once the scan is durable.
pub(super) fn judge(
    desk: &Desk<'_>,
    reader: &mut Reader,
    out: &mut Outbox,
    about: &About,
    method: Method,
    may_ask: bool,
) -> Act {
    reader.used(desk.session);
    let kind = desk.known.kind();
    let Some(asked) = desk.ask(about, kind, None) else { return Act::Nothing };
    if let Some(view) = same_ticket(desk, about, &asked) {
        return Act::show(view);
    }
    let party = asked.verdict.may_admit > 1;
    let screen = screen(&asked.verdict, kind, party, desk.guests.is_flagged(about));
    let Some(mut scan) = desk.draft(out, about, &asked, method) else { return Act::Nothing };
    let shown = asked.shown(screen, about);
    if asks_staff(screen) {
        scan.stage = Stage::Claim;
    } else if may_ask && !desk.known.knows_more(about, None) {
        scan.stage = Stage::Claim;
        let ask = After::Ask(scan.scan_id.clone());
        return desk.sign(scan, shown, Some(ask));
    } else {
        scan.opened = scan.outcome == Outcome::Valid;
    }
    record(desk, scan, shown, about, &asked)
}

/// Shows the sample code of the camera check before doors. Staff see that code, verdict and sound work. No scan is
/// written and nothing counts.
fn show_sample(desk: &Desk<'_>, reader: &mut Reader, out: &mut Outbox, method: Method) -> Act {
    reader.used(desk.session);
    let about = About::nothing();
    let Some(asked) = desk.ask(&about, ScanKind::Entry, None) else { return Act::Nothing };
    let Some(scan) = desk.draft(out, &about, &asked, method) else { return Act::Nothing };
    let shown = asked.shown(Screen::Admit, &about);
    let verdict = VerdictView {
        scan_id: None,
        outcome: Outcome::Valid,
        reason: None,
        opened: true,
        practice: true,
        can_undo: false,
        can_override: false,
        short_code: String::new(),
        ..verdict_view(desk, &scan, &shown, None, None)
    };
    Act::show(verdict)
}

/// Handles a text that cannot be a code of Admit. It is recorded by its hash and shown as "not one of our codes"
/// (trust fault 35).
fn not_a_ticket(desk: &Desk<'_>, out: &mut Outbox, text: &str, method: Method) -> Act {
    let hash = BarcodeHash::of(text);
    let about = About { hash: Some(hash), raw: Some(hash), ticket: None };
    let Some(asked) = desk.ask(&about, desk.known.kind(), None) else { return Act::Nothing };
    let Some(scan) = desk.draft(out, &about, &asked, method) else { return Act::Nothing };
    let shown = asked.shown(Screen::NotATicket, &about);
    record(desk, scan, shown, &about, &asked)
}

/// Shows a neutral screen, and records nothing, if this device opened the door to the same code within the last
/// minute (experience §7.2). This does not apply if the rules let more persons of the ticket in, or out. `None` if
/// it does not apply.
fn same_ticket(desk: &Desk<'_>, about: &About, asked: &Asked) -> Option<VerdictView> {
    let (own, ago) = desk.last_opened(about, asked, limits::SAME_TICKET_MS)?;
    let again = match asked.kind {
        ScanKind::Exit => asked.standing.inside > 0 && ago >= limits::NEXT_EXIT_MS,
        _ => asked.verdict.may_admit > 0,
    };
    if again {
        return None;
    }
    let mut view = verdict_view(desk, &own.scan, &own.shown, None, about.rules());
    view.screen = Screen::SameTicket;
    // Other tickets of its booking may still come in. The scan that this one repeats offers them.
    let offers = view.booking.as_ref().is_some_and(|booking| !booking.others.is_empty());
    view.scan_id = view.scan_id.filter(|_| offers);
    view.can_undo = false;
    view.same_ticket_ms = Some(ago);
    Some(view)
}

/// Signs a scan, to be recorded. Its verdict is shown once the scan is durable.
fn record(desk: &Desk<'_>, scan: Scan, shown: Shown, about: &About, asked: &Asked) -> Act {
    let view = verdict_view(desk, &scan, &shown, asked.standing.last_entry.as_ref(), about.rules());
    desk.sign(scan, shown, Some(After::Show(Box::new(view))))
}

/// Records how many persons of a party go in: the claim's final, under the same id (spec §5). `word` is the server's
/// answer about the claim. Absent if none came.
pub(super) fn count_party(
    desk: &Desk<'_>,
    out: &mut Outbox,
    (scan_id, count): (&ScanId, u32),
    word: Option<&OnlineAnswer>,
) -> Act {
    let known = desk.known;
    if let Err(refusal) = known.may_scan() {
        return refusal.into();
    }
    let claim = known.journal.find(scan_id).filter(|own| own.scan.stage == Stage::Claim && known.is_here(&own.scan));
    let Some((claim, method)) = claim.map(|own| (own.scan.clone(), own.scan.method)) else {
        return Act::refuse("unknown_scan", "This party was counted already, or was never asked about here.");
    };
    let about = known.about(&claim);
    let Some(mut asked) = desk.ask(&about, claim.kind, Some(scan_id)) else { return Act::Nothing };
    // The server's answer holds unless this device has heard of a later change. Others may have come in while staff
    // counted.
    let heard = known.cursor_serial();
    // An answer of a former epoch does not hold either, nor one from before this device's own later scans.
    let epoch = known.list().map(|list| list.epoch);
    let holds = |word: &&OnlineAnswer| word.cursor.serial >= heard && Some(word.cursor.epoch) == epoch;
    let word = word.filter(holds);
    let word = word.filter(|_| !known.knows_more(&about, Some(scan_id)));
    if let Some(word) = word {
        asked.verdict = verdict_of(word);
        // The server was asked about those later scans separately, so its first answer does not include their
        // persons.
        asked.verdict.may_admit = asked.verdict.may_admit.saturating_sub(moved_since(known, &about, &claim));
    }
    if asked.verdict.outcome == Outcome::Valid && count > asked.verdict.may_admit {
        let message = format!("No more than {} may go in now.", asked.verdict.may_admit);
        return Act::refuse("bad_count", &message);
    }
    // Staff have answered, so the screen does not repeat what it asked.
    asked.verdict.advice = None;
    let Some(mut scan) = desk.draft(out, &about, &asked, method) else { return Act::Nothing };
    scan.scan_id = claim.scan_id;
    scan.opened = count > 0 && scan.outcome == Outcome::Valid;
    scan.count = count.max(1);
    let mut shown = asked.shown(screen(&asked.verdict, claim.kind, false, false), &about);
    if let Some(word) = word {
        shown.confirmed = true;
        learned(&mut scan, word);
    }
    record(desk, scan, shown, &about, &asked)
}

/// Persons of a ticket that this device let through after `claim`, in the same direction.
fn moved_since(known: Known<'_>, about: &About, claim: &Scan) -> u32 {
    let journal = known.journal;
    let own = journal.of_ticket(&claim.event_id, about.ticket_id(), about.hash.as_slice());
    let own = own.into_iter().map(|own| &own.scan);
    let since = own.filter(|scan| journal.first_of(&scan.scan_id) > journal.first_of(&claim.scan_id));
    since.filter(|scan| scan.opened && scan.kind == claim.kind).map(|scan| journal.kept(scan)).sum()
}

/// Records an override: staff let a guest in although the rules refused (spec D18). It is a new scan with an open
/// door. It keeps the outcome of `decide`, and names the person who took the responsibility.
pub(super) fn set_aside(
    desk: &Desk<'_>,
    out: &mut Outbox,
    (scan_id, count): (&ScanId, u32),
    pin: &str,
    (by, reason): (&str, &str),
) -> Act {
    if let Err(refusal) = desk.known.may_scan() {
        return refusal.into();
    }
    let refused =
        desk.known.journal.find(scan_id).filter(|own| desk.known.is_here(&own.scan) && can_override(desk.known, own));
    let Some((refused, method)) = refused.map(|own| (own.scan.clone(), own.scan.method)) else {
        return Act::refuse("unknown_scan", "There is no refusal of this device to set aside.");
    };
    if !(1..=limits::PARTY).contains(&count) {
        return Act::refuse("bad_count", &format!("Persons must be 1 to {}.", limits::PARTY));
    }
    if let Err(act) = pin::check(desk, pin) {
        return act;
    }
    let about = desk.known.about(&refused);
    let Some(asked) = desk.ask(&about, refused.kind, None) else { return Act::Nothing };
    let Some(mut scan) = desk.draft(out, &about, &asked, method) else { return Act::Nothing };
    scan.opened = true;
    scan.count = count;
    let by = if by.trim().is_empty() { desk.known.journal.operator.as_str() } else { by };
    scan.override_ = Some(Override { by: words(by, limits::NAME_CHARS), reason: words(reason, limits::NOTE_CHARS) });
    let screen = if refused.kind == ScanKind::Exit { Screen::Exit } else { Screen::Admit };
    let shown = asked.shown(screen, &about);
    let rules = about.rules();
    let view = verdict_view(desk, &scan, &shown, asked.standing.last_entry.as_ref(), rules);
    desk.sign_with(scan, shown, vec![pin::right(desk)], Some(After::Show(Box::new(view))), None)
}

/// Moves this device to another gate of its event. Its next scans name that gate, with or without a network.
pub(super) fn move_to(desk: &Desk<'_>, gate_id: GateId) -> Act {
    let known = desk.known;
    let Some(paired) = known.paired().filter(|_| !known.journal.revoked) else {
        return Act::refuse("not_paired", "This device is not paired with an event.");
    };
    if known.list().is_none_or(|list| !list.gates.contains_key(&gate_id)) {
        return Act::refuse("bad_gate", "This event has no such gate. Choose another one.");
    }
    if paired.gate_id == gate_id {
        return Act::Nothing;
    }
    let after = After::Settled(Some(paired.event_id.clone()));
    Act::Record(vec![Entry::Moved { gate_id }], Some(after))
}

/// Undoes a scan by a revert, which names the code and ticket of that scan (spec D9). Without `scan_id`, the last
/// scan is undone. `keep` is the number of persons that stay counted.
pub(super) fn undo(desk: &Desk<'_>, out: &mut Outbox, scan_id: Option<&ScanId>, keep: u32) -> Act {
    let (known, journal) = (desk.known, desk.known.journal);
    if known.paired().is_none() || journal.revoked {
        return Act::refuse("not_paired", "This device is not paired with an event.");
    }
    let counts = |own: &&OwnScan| own.scan.opened && own.scan.kind != ScanKind::Revert && journal.kept(&own.scan) > 0;
    let target = match scan_id {
        Some(id) => journal.find(id).filter(counts),
        None => {
            let alike = |own: &&OwnScan| own.scan.practice == known.is_practice();
            let last = journal.scans.iter().rev().filter(alike).find(counts);
            last.filter(|own| known.is_here(&own.scan))
        }
    };
    let Some(target) = target.map(|own| own.scan.clone()) else {
        let message = "Nothing of this device that let somebody in or out is left to undo.";
        return Act::refuse("nothing_to_undo", message);
    };
    let kept = journal.kept(&target);
    if keep >= kept {
        return Act::refuse("bad_count", &format!("Of {kept} persons fewer than {kept} must stay."));
    }
    let about = About { hash: target.barcode_hash, raw: target.raw_hash, ticket: None };
    let stamp = desk.session.stamp(journal.last_at());
    let asked = Asked::nothing(ScanKind::Revert, stamp);
    let Some(mut revert) = desk.draft(out, &about, &asked, target.method) else {
        return Act::refuse("no_list", "The list of this event is not on this device yet.");
    };
    if revert.event_id != target.event_id {
        // The scan belongs to the event before a re-pairing. What this device knows of the present event does not
        // apply there.
        (revert.event_id, revert.gate_id) = (target.event_id.clone(), target.gate_id.clone());
        (revert.epoch, revert.manifest_version, revert.cursor) = (None, 0, 0);
    }
    revert.practice = target.practice;
    revert.ticket_id = target.ticket_id.clone();
    revert.target_device = Some(target.device_id.clone());
    revert.target_scan_id = Some(target.scan_id.clone());
    revert.keep = keep;
    revert.basis = None;
    let shown = asked.shown(Screen::Admit, &about);
    let after = After::Undone { scan_id: target.scan_id, persons: kept - keep };
    desk.sign(revert, shown, Some(after))
}
