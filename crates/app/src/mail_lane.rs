//! This process's knowledge of the mail lane: whether it is stopped, and which letters were refused again and again.
//!
//! The lane is stopped where the mail server refuses the account or itself, not an address. Its row in the store is the truth
//! ([`MailLaneRecord`](crate::records::MailLaneRecord)); this memory saves each letter a look at it, and a process that lost it
//! finds out by the next letter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Refusals of one letter, with letters taken between them, after which the answer is about that letter.
const OWN_AFTER: u32 = 3;
/// Most letters whose refusals are remembered.
const REMEMBERED: usize = 1_000;

/// The memory.
#[derive(Debug, Default)]
pub struct MailLane {
    stopped: AtomicBool,
    refused: Mutex<Refused>,
}

#[derive(Debug, Default)]
struct Refused {
    /// Letters that the mail server took.
    taken: u64,
    /// By run: how often its letter was refused, and how many letters had been taken at the last time.
    runs: BTreeMap<String, (u32, u64)>,
}

impl MailLane {
    /// Whether this process stopped the lane, or found it stopped, and did not hear since that it goes on.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
    /// Notes whether it is stopped.
    pub fn set_stopped(&self, stopped: bool) {
        self.stopped.store(stopped, Ordering::SeqCst);
    }
    /// The mail server took a run's letter.
    pub fn taken(&self, run_id: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.taken += 1;
        refused.runs.remove(run_id);
    }
    /// The mail server refused a run's letter in words about the account. Answers whether that is about this letter after all:
    /// it was refused [`OWN_AFTER`] times, and each time another letter had been taken since. So one letter that a server
    /// dislikes does not stop all others for ever.
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
        // As often as it may be: nobody else's letter was taken meanwhile.
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
