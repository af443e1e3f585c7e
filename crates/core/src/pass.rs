//! A pass: the link and the QR code that a guest holds (S0 "QR Code Generation & Storage"), and its state.

use crate::event::{EventStatus, ReEntry};
use crate::reduce::TicketState;
use crate::ticket::{TicketRules, TicketStatus};
use crate::time::Timestamp;
use crate::words::words;

words! {
    /// The state of a pass, as its page shows it (spec §5 "Guests and webhooks").
    PassStanding {
        /// The pass lets its party in.
        Valid = "valid",
        /// Some of the party are in. The others may still come.
        PartlyUsed = "partly_used",
        /// All of the party are in, or a person declared the ticket used.
        Used = "used",
        /// The ticket was withdrawn, or its price returned.
        Cancelled = "cancelled",
        /// The ticket's window has not begun.
        NotYetValid = "not_yet_valid",
        /// The ticket's window or the event is over.
        Expired = "expired",
    }
}

/// Whether a code is a token of Admit: a UUID v4 in its usual spelling. Only a code of this form has a pass, because
/// nobody can guess the address of that pass. Other systems often number their codes, and an address with such a code
/// could be guessed.
pub fn is_token(code: &str) -> bool {
    let bytes = code.as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            14 => *byte == b'4',
            19 => matches!(byte, b'8' | b'9' | b'a' | b'b'),
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// The address of a pass on the server `base`. The pass's QR code holds it (spec §6).
pub fn url(base: &str, token: &str) -> String {
    format!("{base}/passes?token={token}")
}

/// The name of the pass's QR picture in the object store (spec §6).
pub fn object_key(token: &str) -> String {
    format!("qr-codes/{token}.png")
}

/// The state of a pass, from its ticket's rules and scans and from the event. This is not a verdict, since each gate
/// decides for itself.
pub fn standing(
    rules: &TicketRules,
    state: &TicketState,
    re_entry: ReEntry,
    event: EventStatus,
    now: Timestamp,
) -> PassStanding {
    let once = re_entry == ReEntry::Never;
    let over = event.is_over();
    match rules.status {
        TicketStatus::Voided | TicketStatus::Refunded => PassStanding::Cancelled,
        TicketStatus::Used => PassStanding::Used,
        TicketStatus::Active if once && state.within >= rules.entry_limit => PassStanding::Used,
        TicketStatus::Active if over || rules.expires_at.is_some_and(|until| now >= until) => PassStanding::Expired,
        TicketStatus::Active if rules.valid_from.is_some_and(|from| now < from) => PassStanding::NotYetValid,
        TicketStatus::Active if once && state.within > 0 => PassStanding::PartlyUsed,
        TicketStatus::Active => PassStanding::Valid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_uuid_v4_as_we_write_it_is_a_token() {
        assert!(is_token("7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f"));
        for other in [
            "",
            "CODE-0001",
            "7D7E8B1C-93A4-4F02-8F2C-0A1B2C3D4E5F",
            "7d7e8b1c-93a4-1f02-8f2c-0a1b2c3d4e5f",
            "7d7e8b1c-93a4-4f02-cf2c-0a1b2c3d4e5f",
            "7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f0",
            "7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5/",
            "7d7e8b1c093a404f0208f2c00a1b2c3d4e5f",
        ] {
            assert!(!is_token(other), "{other}");
        }
    }

    #[test]
    fn what_a_code_says_is_unwrapped_by_a_scanner() {
        let token = "7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f";
        let url = url("https://tickets.example", token);
        assert_eq!(crate::barcode::candidates(&url).map(|all| all[0].clone()), Ok(token.to_owned()));
    }

    #[test]
    fn how_a_pass_stands() {
        use EventStatus::{Archived, Ended, Live};
        use PassStanding::*;
        use ReEntry::{AfterExit, AfterGap, Never};
        use TicketStatus::{Active, Refunded, Voided};
        let at = Timestamp::clamped;
        // The columns are status, within, re-entry, event, now. The party has 3 persons, and the window is 100 to 200.
        let table = [
            (Active, 0, Never, Live, 150, Valid),
            (Active, 1, Never, Live, 150, PartlyUsed),
            (Active, 3, Never, Live, 150, Used),
            (Active, 4, Never, Live, 150, Used),
            (Active, 3, AfterGap, Live, 150, Valid),
            (Active, 1, AfterExit, Live, 150, Valid),
            (Active, 0, Never, Live, 99, NotYetValid),
            (Active, 0, Never, Live, 100, Valid),
            (Active, 0, Never, Live, 200, Expired),
            (Active, 3, Never, Live, 200, Used),
            (Active, 1, Never, Ended, 150, Expired),
            (Active, 0, Never, Archived, 150, Expired),
            (TicketStatus::Used, 0, Never, Live, 150, Used),
            (Voided, 0, Never, Live, 150, Cancelled),
            (Refunded, 3, Never, Ended, 250, Cancelled),
        ];
        for (status, within, re_entry, event, now, expected) in table {
            let rules = TicketRules {
                status,
                entry_limit: 3,
                gate_ids: Vec::new(),
                zone: "general".into(),
                valid_from: Some(at(100)),
                expires_at: Some(at(200)),
            };
            let state = TicketState { within, ..TicketState::default() };
            let found = standing(&rules, &state, re_entry, event, at(now));
            assert_eq!(found, expected, "{status} {within} {re_entry} {event} {now}");
        }
    }
}
