//! This process's knowledge of the mail lane: whether it is stopped, and which letters were refused repeatedly.
//!
//! The lane is stopped when the mail server refuses the account or every letter, not just an address. The lane is
//! stopped exactly while its row is in the store ([`MailLaneRecord`](crate::records::MailLaneRecord)). Because this
//! process remembers it, it need not read the row before each letter. A process that has just started learns of a
//! stopped lane when it sends its next letter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of refusals of one letter, with other letters accepted in between, after which the letter itself is at fault.
const OWN_AFTER: u32 = 3;
/// Most letters whose refusals are remembered.
const REMEMBERED: usize = 1_000;

/// The knowledge of this process about the mail lane.
#[derive(Debug, Default)]
pub struct MailLane {
    stopped: AtomicBool,
    refused: Mutex<Refused>,
}

#[derive(Debug, Default)]
struct Refused {
    /// Number of letters that the mail server accepted.
    taken: u64,
    /// For each run: how often its letter was refused, and how many letters had been accepted at the last refusal.
    runs: BTreeMap<String, (u32, u64)>,
}

impl MailLane {
    /// Whether this process stopped the lane or found it stopped, and has not seen it open since.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
    /// Notes whether the lane is stopped.
    pub fn set_stopped(&self, stopped: bool) {
        self.stopped.store(stopped, Ordering::SeqCst);
    }
    /// Notes that the mail server accepted a run's letter.
    pub fn taken(&self, run_id: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.taken += 1;
        refused.runs.remove(run_id);
    }
    /// Notes that the mail server refused a run's letter, with a reason about the account. Returns whether the letter
    /// itself is at fault. It is if it was refused [`OWN_AFTER`] times, and another letter was accepted before each
    /// refusal. So one letter that a server dislikes does not stop all others for ever.
    pub fn is_letters_own(&self, run_id: &str) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = refused.taken;
        if refused.runs.len() >= REMEMBERED && !refused.runs.contains_key(run_id) {
            refused.runs.clear();
        }
        let (times, taken_then) = refused.runs.entry(run_id.to_owned()).or_insert((0, 0));
        if *times == 0 || taken > *taken_then {
            *times += 1;
            *taken_then = taken;
        }
        *times >= OWN_AFTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_refused_while_others_are_taken_is_refused_for_itself() {
        let lane = MailLane::default();
        assert!(!lane.is_letters_own("r1"));
        // This may repeat without limit, as long as no other letter is accepted in between.
        assert!((0..10).all(|_| !lane.is_letters_own("r1")));
        lane.taken("r2");
        assert!(!lane.is_letters_own("r1"));
        lane.taken("r3");
        assert!(lane.is_letters_own("r1"));
        lane.taken("r1");
        assert!(!lane.is_letters_own("r1"), "it was taken: what comes later is news");
    }

    #[test]
    fn what_is_remembered_has_an_end() {
        let lane = MailLane::default();
        (0..2 * REMEMBERED).for_each(|n| assert!(!lane.is_letters_own(&n.to_string())));
        assert!(lane.refused.lock().unwrap().runs.len() <= REMEMBERED);
    }
}
