//! The organiser's steps before doors open, and which of them are done. The functions are pure.

use admit_core::event::EventStatus;
use admit_core::time::Timestamp;

/// Expected persons that one device can serve: about 500 in an evening.
const PERSONS_PER_DEVICE: u64 = 500;

/// The facts about an event that the checklist needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The event's status.
    pub status: EventStatus,
    /// When the event starts.
    pub starts_at: Timestamp,
    /// When the event ends.
    pub ends_at: Timestamp,
    /// Whether a staff PIN is set.
    pub has_staff_pin: bool,
    /// Number of gates.
    pub gates: u64,
    /// Number of tickets, with or without a guest.
    pub tickets: u64,
    /// Number of persons that the tickets admit.
    pub expected: u64,
    /// Number of persons let in so far.
    pub admitted: u64,
    /// Number of devices that are paired and not revoked.
    pub devices: u64,
    /// Number of codes that were scanned before doors opened.
    pub test_scans: u64,
    /// The present time.
    pub now: Timestamp,
}

/// The steps, in the order in which they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The event has a name, a place and times.
    Event,
    /// The event has a gate.
    Gates,
    /// The event has tickets.
    Guests,
    /// Devices are paired.
    Phones,
    /// A code was scanned before doors opened.
    TestScan,
    /// Staff can admit a refused guest by a PIN.
    StaffPin,
    /// The event is live.
    OpenDoors,
}

impl Step {
    /// The word for the step in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Gates => "gates",
            Self::Guests => "guests",
            Self::Phones => "phones",
            Self::TestScan => "test_scan",
            Self::StaffPin => "staff_pin",
            Self::OpenDoors => "open_doors",
        }
    }
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The step is done.
    Done,
    /// The step is not done.
    Todo,
    /// The step needs a look: it is done in part, or late.
    Warn,
}

impl State {
    /// The word for the state in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Todo => "todo",
            Self::Warn => "warn",
        }
    }
}

/// How many devices an event needs: one per 500 expected persons, and at least one per gate. 0 if the event has neither
/// gates nor guests.
pub fn devices_needed(expected: u64, gates: u64) -> u64 {
    expected.div_ceil(PERSONS_PER_DEVICE).max(gates)
}

/// Every step with its state. A draft whose start or end has passed gives a warning, since its times or its status are
/// wrong.
pub fn checklist(known: &Known) -> [(Step, State); 7] {
    let is_draft = known.status == EventStatus::Draft;
    let done = |is_done: bool| if is_done { State::Done } else { State::Todo };
    let phones = match known.devices {
        0 => State::Todo,
        some if some < devices_needed(known.expected, known.gates) => State::Warn,
        _ => State::Done,
    };
    let open_doors = match is_draft {
        false => State::Done,
        true if known.starts_at <= known.now => State::Warn,
        true => State::Todo,
    };
    [
        (Step::Event, if is_draft && known.ends_at <= known.now { State::Warn } else { State::Done }),
        (Step::Gates, done(known.gates > 0)),
        (Step::Guests, done(known.tickets > 0)),
        (Step::Phones, phones),
        // A person who was let in proves as much as a test scan.
        (Step::TestScan, done(known.test_scans > 0 || known.admitted > 0)),
        (Step::StaffPin, done(known.has_staff_pin)),
        (Step::OpenDoors, open_doors),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn new() -> Known {
        Known {
            status: EventStatus::Draft,
            starts_at: Timestamp::clamped(NOW + 10),
            ends_at: Timestamp::clamped(NOW + 20),
            has_staff_pin: false,
            gates: 1,
            tickets: 0,
            expected: 0,
            admitted: 0,
            devices: 0,
            test_scans: 0,
            now: Timestamp::clamped(NOW),
        }
    }
    fn said(known: &Known) -> String {
        let letter = |state: State| match state {
            State::Done => "+",
            State::Todo => "-",
            State::Warn => "!",
        };
        checklist(known).map(|(_, state)| letter(state)).concat()
    }

    #[test]
    fn each_step_follows_from_what_is_known() {
        // The columns are event, gates, guests, phones, test_scan, staff_pin, open_doors.
        let table = [
            (new(), "++-----"),
            (Known { gates: 0, ..new() }, "+------"),
            (Known { tickets: 2, expected: 2, ..new() }, "+++----"),
            (Known { devices: 1, ..new() }, "++-+---"),
            (Known { devices: 1, gates: 2, ..new() }, "++-!---"),
            (Known { devices: 2, tickets: 1_001, expected: 1_001, ..new() }, "+++!---"),
            (Known { devices: 3, tickets: 1_001, expected: 1_001, ..new() }, "++++---"),
            (Known { test_scans: 1, ..new() }, "++--+--"),
            (Known { admitted: 1, status: EventStatus::Live, ..new() }, "++--+-+"),
            (Known { has_staff_pin: true, ..new() }, "++---+-"),
            (Known { starts_at: Timestamp::clamped(NOW), ..new() }, "++----!"),
            (Known { ends_at: Timestamp::clamped(NOW), ..new() }, "!+-----"),
            (Known { ends_at: Timestamp::clamped(NOW), status: EventStatus::Ended, ..new() }, "++----+"),
        ];
        for (known, expected) in table {
            assert_eq!(said(&known), expected, "{known:?}");
        }
    }

    #[test]
    fn devices_follow_from_persons_and_gates() {
        for (expected, gates, needed) in [(0, 0, 0), (0, 1, 1), (500, 1, 1), (501, 1, 2), (20_000, 4, 40), (300, 3, 3)]
        {
            assert_eq!(devices_needed(expected, gates), needed, "{expected} {gates}");
        }
    }
}
