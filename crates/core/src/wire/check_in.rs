//! The answer to a check-in that a member makes in the organiser's app. It is stored with the check-in, so that a
//! repeat gets the same answer.

use serde::{Deserialize, Serialize};

use crate::decide::Reason;
use crate::ids::ScanId;
use crate::scan::Outcome;
use crate::time::Timestamp;

/// The answer to a check-in that a member makes in the organiser's app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckInAnswer {
    /// The scan that was stored.
    pub scan_id: ScanId,
    /// The outcome that the rules give.
    pub outcome: Outcome,
    /// Why the outcome is not `valid`. Absent if it is.
    pub reason: Option<Reason>,
    /// Whether the guest was let in: the outcome was valid, or the member set a refusal aside and gave the reason.
    pub opened: bool,
    /// Persons whom this check-in let in. 0 if it was refused.
    pub persons: u32,
    /// When the ticket last let somebody in before this check-in. Absent if it never did.
    pub last_at: Option<Timestamp>,
    /// The name of the gate of that entry. Absent if there was none.
    pub last_gate: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::stored::{from_text, to_text};

    #[test]
    fn the_answer_of_a_refusal_is_stored_and_read_back() {
        let answer = CheckInAnswer {
            scan_id: ScanId::new("c1").unwrap(),
            outcome: Outcome::Duplicate,
            reason: Some(Reason::AlreadyScanned),
            opened: false,
            persons: 0,
            last_at: Some(Timestamp::from_ms(1_780_855_200_000).unwrap()),
            last_gate: Some("Main".into()),
        };
        let text = to_text(&answer);
        assert_eq!(
            text,
            r#"{"scan_id":"c1","outcome":"duplicate","reason":"already_scanned","opened":false,"persons":0,"last_at":"2026-06-07T18:00:00Z","last_gate":"Main"}"#
        );
        assert_eq!(from_text::<CheckInAnswer>("check_in", &text).unwrap(), answer);
    }
}
