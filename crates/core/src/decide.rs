//! Decides what the screen says to one code at one gate (S1 §9.1, completed by spec §4).
//!
//! The same function runs on the phone before the door opens and on the server when the scan is judged.

use crate::event::{EventRules, Measure, ReEntry};
use crate::gate::{EntryRule, GateRules};
use crate::ids::{DeviceId, GateId};
use crate::scan::{Outcome, ScanKind};
use crate::ticket::{TicketRules, TicketStatus};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// Why an outcome is not `valid`.
    Reason {
        /// The device's list, or the server, does not know the code.
        UnknownCode = "unknown_code",
        /// The ticket's status is `voided`.
        TicketVoided = "ticket_voided",
        /// The ticket's status is `refunded`.
        TicketRefunded = "ticket_refunded",
        /// The ticket's status is `used`.
        TicketAlreadyUsed = "ticket_already_used",
        /// Neither the ticket's gates nor its zone admit at this gate.
        WrongGate = "wrong_gate",
        /// All persons of the ticket are in.
        AlreadyScanned = "already_scanned",
        /// The ticket's persons may enter again, but the gap since the last entry has not passed.
        TooSoon = "too_soon",
        /// The ticket's window has ended.
        Expired = "expired",
        /// The ticket's window has not begun.
        NotYetValid = "not_yet_valid",
        /// The event is over.
        EventEnded = "event_ended",
        /// All persons of the ticket were let in today (re-entry mode `daily`).
        AlreadyToday = "already_today",
        /// All persons of the ticket were let in at this gate.
        AlreadyAtGate = "already_at_gate",
        /// The ticket has used all the entries that its zone gives it.
        UsesSpent = "uses_spent",
    }
    /// Advice that a screen shows beside the outcome. It never changes the outcome.
    Advice {
        /// The gate's area has too few places for all who may go in.
        AreaFull = "area_full",
    }
}

/// The entry with which a duplicate is compared: time, gate and device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastEntry {
    /// When the entry was.
    pub at: Timestamp,
    /// The gate of the entry.
    pub gate_id: GateId,
    /// The device that made the entry's scan.
    pub device_id: DeviceId,
}

/// The entries that count against a ticket at the moment of a scan, measured by the re-entry mode in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Persons that count against the limit at the scan. The re-entry mode says which: all ever let in (`never`), those
    /// within the gap (`after_gap`), those inside (`after_exit`), those of the day (`daily`). If the limit holds at
    /// each gate, only this gate's persons count.
    pub used: u32,
    /// Persons let in so far within the limit.
    pub spent: u32,
    /// Persons inside, within the limit.
    pub inside: u32,
    /// The last entry. Absent if there was none.
    pub last_entry: Option<LastEntry>,
}

impl Standing {
    /// How many more persons a ticket with this limit may let in.
    pub fn free(&self, entry_limit: u32, measure: &Measure) -> u32 {
        let left = measure.uses.map_or(u32::MAX, |uses| uses.saturating_sub(self.spent));
        entry_limit.saturating_sub(self.used).min(left)
    }
    /// Why nobody more may come in: the name of the limit that is used up.
    fn used_up(&self, measure: &Measure) -> Reason {
        match measure.re_entry {
            _ if measure.uses.is_some_and(|uses| self.spent >= uses) => Reason::UsesSpent,
            ReEntry::AfterGap => Reason::TooSoon,
            _ if measure.per_gate => Reason::AlreadyAtGate,
            ReEntry::Daily => Reason::AlreadyToday,
            ReEntry::Never | ReEntry::AfterExit => Reason::AlreadyScanned,
        }
    }
}

/// The question that [`decide`] answers.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The event's rules.
    pub event: &'a EventRules,
    /// The ticket's rules. `None` if the code is unknown.
    pub ticket: Option<&'a TicketRules>,
    /// The entries that count against the ticket.
    pub standing: &'a Standing,
    /// The gate's id.
    pub gate_id: &'a GateId,
    /// The gate's rules. `None` if the gate is unknown. An unknown gate admits only tickets that name it.
    pub gate: Option<&'a GateRules>,
    /// The scan's time.
    pub at: Timestamp,
    /// Entry or exit. A revert is asked as an entry.
    pub kind: ScanKind,
    /// Persons inside the gate's area, used for advice only. 0 if unknown.
    pub area_inside: u32,
}

/// The answer of [`decide`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The outcome that the screen shows.
    pub outcome: Outcome,
    /// Why the outcome is not `valid`. Absent if it is.
    pub reason: Option<Reason>,
    /// For an entry: persons who may still go in. For an exit: persons who are inside.
    pub may_admit: u32,
    /// For `duplicate`: the entry with which the scan collides. Absent otherwise.
    pub last_entry: Option<LastEntry>,
    /// Advice in addition to the outcome. Absent if there is none.
    pub advice: Option<Advice>,
    /// For `area_full`: how many more persons the area holds. Absent otherwise.
    pub places_left: Option<u32>,
}

impl Verdict {
    /// The verdict that `may_admit` persons may go in (or out), without a reason or advice.
    pub fn valid(may_admit: u32) -> Self {
        let outcome = Outcome::Valid;
        Self { outcome, reason: None, may_admit, last_entry: None, advice: None, places_left: None }
    }
    fn refuse(outcome: Outcome, reason: Reason) -> Self {
        Self { outcome, reason: Some(reason), ..Self::valid(0) }
    }
}

/// Decides about one scan. The checks come in this order: unknown code, status, end of the event, gate, limit and
/// re-entry, window (S1 §9.1, spec §4, decision 034). For an exit only the code, the status and the gate are checked.
/// Every question gets a verdict and never an error (law 13).
pub fn decide(question: Question<'_>) -> Verdict {
    let Question { event, ticket, standing, gate_id, gate, at, kind, area_inside } = question;
    let Some(ticket) = ticket else { return Verdict::refuse(Outcome::Invalid, Reason::UnknownCode) };
    let checks = |rule| gate.is_none_or(|gate| gate.entry_rules.contains(&rule));
    if checks(EntryRule::CheckTicketValid)
        && let Some(reason) = status_reason(ticket.status)
    {
        return Verdict::refuse(Outcome::Invalid, reason);
    }
    if event.status.is_over() && kind != ScanKind::Exit {
        return Verdict::refuse(Outcome::Expired, Reason::EventEnded);
    }
    if !gate_admits(ticket, gate_id, gate) {
        return Verdict::refuse(Outcome::GateAccessDenied, Reason::WrongGate);
    }
    if kind == ScanKind::Exit {
        return Verdict::valid(standing.inside);
    }
    let measure = event.measure(Some(&ticket.zone));
    let free = standing.free(ticket.entry_limit, &measure);
    if free == 0 && checks(EntryRule::CheckNotDuplicate) {
        let last_entry = standing.last_entry.clone();
        return Verdict { last_entry, ..Verdict::refuse(Outcome::Duplicate, standing.used_up(&measure)) };
    }
    if checks(EntryRule::CheckTicketValid)
        && let Some(reason) = window_reason(ticket, at)
    {
        return Verdict::refuse(Outcome::Expired, reason);
    }
    let may_admit = if checks(EntryRule::CheckNotDuplicate) { free } else { ticket.entry_limit.max(1) };
    // The whole party is compared with the places left. A party of three with one place must know before the first goes
    // in.
    let places_left = gate.and_then(|gate| gate.capacity).map(|capacity| capacity.saturating_sub(area_inside));
    let places_left = places_left.filter(|places| *places < may_admit);
    Verdict { advice: places_left.map(|_| Advice::AreaFull), places_left, ..Verdict::valid(may_admit) }
}

fn status_reason(status: TicketStatus) -> Option<Reason> {
    match status {
        TicketStatus::Active => None,
        TicketStatus::Voided => Some(Reason::TicketVoided),
        TicketStatus::Refunded => Some(Reason::TicketRefunded),
        TicketStatus::Used => Some(Reason::TicketAlreadyUsed),
    }
}

fn window_reason(ticket: &TicketRules, at: Timestamp) -> Option<Reason> {
    if ticket.expires_at.is_some_and(|end| at >= end) {
        Some(Reason::Expired)
    } else if ticket.valid_from.is_some_and(|from| at < from) {
        Some(Reason::NotYetValid)
    } else {
        None
    }
}

/// Whether the gate admits the ticket. If the ticket has `gate_ids`, they decide alone. Otherwise the gate must admit
/// the ticket's zone.
fn gate_admits(ticket: &TicketRules, gate_id: &GateId, gate: Option<&GateRules>) -> bool {
    if ticket.gate_ids.is_empty() {
        gate.is_some_and(|gate| gate.zones.contains(&ticket.zone))
    } else {
        ticket.gate_ids.contains(gate_id)
    }
}

words! {
    /// The screens by which the scanner shows verdicts (experience §8).
    Screen {
        /// ADMIT.
        Admit = "admit",
        /// ADMIT PARTY: the screen asks how many enter now.
        AdmitParty = "admit_party",
        /// EXIT.
        Exit = "exit",
        /// ALREADY IN.
        AlreadyIn = "already_in",
        /// CHECK: the ticket is valid, and the guest carries a flag for the door.
        Check = "check",
        /// REFUSE.
        Refuse = "refuse",
        /// WRONG PLACE.
        WrongPlace = "wrong_place",
        /// WRONG TIME.
        WrongTime = "wrong_time",
        /// EVENT ENDED.
        Ended = "ended",
        /// NOT IN LIST: this device's list does not have the code, which does not make the ticket invalid.
        NotInList = "not_in_list",
        /// NOT A TICKET: the text cannot be a code of Admit.
        NotATicket = "not_a_ticket",
        /// FULL: the area is full.
        Full = "full",
        /// SAME TICKET AGAIN: this device admitted the same ticket just before.
        SameTicket = "same_ticket",
    }
}

/// The screen for an outcome and its reason (spec §4). `party` tells whether more than one person may go in, and
/// `flagged` whether the guest carries a flag for the door.
pub fn screen(verdict: &Verdict, kind: ScanKind, party: bool, flagged: bool) -> Screen {
    match (verdict.outcome, verdict.reason) {
        (Outcome::Valid, _) if kind == ScanKind::Exit => Screen::Exit,
        (Outcome::Valid, _) if verdict.advice == Some(Advice::AreaFull) => Screen::Full,
        (Outcome::Valid, _) if flagged => Screen::Check,
        (Outcome::Valid, _) if party => Screen::AdmitParty,
        (Outcome::Valid, _) => Screen::Admit,
        (Outcome::Duplicate, _) => Screen::AlreadyIn,
        (Outcome::GateAccessDenied, _) => Screen::WrongPlace,
        (Outcome::Expired, Some(Reason::EventEnded)) => Screen::Ended,
        (Outcome::Expired, _) => Screen::WrongTime,
        (Outcome::Invalid, None | Some(Reason::UnknownCode)) => Screen::NotInList,
        (Outcome::Invalid, Some(_)) => Screen::Refuse,
    }
}
