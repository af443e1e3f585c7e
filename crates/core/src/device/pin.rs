//! The staff PIN, which protects what only some of the staff may do.

use super::desk::{Act, Desk};
use super::recorder::After;
use crate::limits;
use crate::sign;
use crate::wire::engine::Effect;
use crate::wire::journal::Entry;

/// Fails with what follows from the try if these digits are not the staff PIN. A wrong try is journalled, and staff are
/// told.
pub(super) fn check(desk: &Desk<'_>, pin: &str) -> Result<(), Act> {
    let Some(staff_pin) = desk.known.list().and_then(|list| list.event.staff_pin.as_ref()) else {
        return Err(Act::refuse("no_pin", "This event has no staff PIN."));
    };
    if paused_until(desk).is_some() {
        return Err(Act::Tell(Box::new(refused(desk))));
    }
    if sign::check_pin(staff_pin, pin) {
        return Ok(());
    }
    Err(Act::Record(vec![Entry::Pin { ok: false, at_ms: desk.session.at_ms() }], Some(After::PinRefused)))
}

/// The row that notes a right PIN.
pub(super) fn right(desk: &Desk<'_>) -> Entry {
    Entry::Pin { ok: true, at_ms: desk.session.at_ms() }
}

/// Checks the PIN before the screen opens a page that the PIN protects. A wrong try counts: after some, the device
/// takes no PIN for a while.
pub(super) fn try_pin(desk: &Desk<'_>, pin: &str) -> Act {
    match check(desk, pin) {
        Ok(()) => Act::Record(vec![right(desk)], Some(After::PinOk)),
        Err(act) => act,
    }
}

/// Until when the device takes no PIN, by the monotonic clock. `None` if it takes one now. The pause survives a
/// restart, and a clock that is set back does not lengthen it.
fn paused_until(desk: &Desk<'_>) -> Option<i64> {
    let since = desk.session.at_ms().saturating_sub(desk.known.journal.pin.paused_at_ms?);
    let left = limits::PIN_PAUSE_MS.saturating_sub(since).clamp(0, limits::PIN_PAUSE_MS);
    (left > 0).then(|| desk.session.mono() + left)
}

/// Tells staff how many tries are left.
pub(super) fn refused(desk: &Desk<'_>) -> Effect {
    let tries_left = limits::PIN_TRIES.saturating_sub(desk.known.journal.pin.wrong);
    Effect::PinRefused { tries_left, paused_until_mono_ms: paused_until(desk) }
}
