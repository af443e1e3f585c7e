//! When the server mails a pass, and when it mails nothing (spec §6). After a changed address it mails to the new
//! address. After a changed name or party size it mails an update. Any other change mails nothing.

use admit_core::ticket::TicketStatus;

use crate::records::GuestRecord;

/// Why a pass is mailed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeliveryReason {
    /// The guest had no pass before.
    New,
    /// The guest has another e-mail address.
    Address,
    /// Something that the mail contains changed.
    Changed,
    /// A person asked for the mail.
    Resend,
    /// The guest's ticket is active again. If the server held back a mail while the ticket was not active, that mail
    /// now goes out, for the reason that it had then.
    GoodAgain,
}

impl DeliveryReason {
    /// The word under which the reason is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Address => "address",
            Self::Changed => "changed",
            Self::Resend => "resend",
            Self::GoodAgain => "good_again",
        }
    }
    /// Reads the word that [`DeliveryReason::as_str`] writes. `None` for any other word.
    pub(super) fn parse(word: &str) -> Option<Self> {
        [Self::New, Self::Address, Self::Changed, Self::Resend, Self::GoodAgain]
            .into_iter()
            .find(|why| why.as_str() == word)
    }
}

/// The reason to mail after a guest's row changed. `None` if nothing is mailed. `before` is the guest's former row,
/// absent for a new guest. As in S0, the server sends nothing to a guest with neither e-mail nor phone.
pub(crate) fn reason_of_guest(before: Option<&GuestRecord>, after: &GuestRecord) -> Option<DeliveryReason> {
    if after.email.is_none() && after.phone.is_none() {
        return None;
    }
    let Some(before) = before else { return Some(DeliveryReason::New) };
    if before.email.is_none() && before.phone.is_none() {
        return Some(DeliveryReason::New);
    }
    let email = after.email.as_ref()?;
    if Some(email) != before.email.as_ref() {
        return Some(DeliveryReason::Address);
    }
    (after.name != before.name || after.party_size != before.party_size).then_some(DeliveryReason::Changed)
}

/// The reason to send a guest a mail when the guest's data changed, or when the ticket's status changed. `status` is
/// the status before and after. `None` if no mail is sent. If the ticket was not active when the pass should have gone
/// out, the guest gets the pass once the ticket is active.
pub(crate) fn reason_of_change(
    before: Option<&GuestRecord>,
    after: &GuestRecord,
    status: (TicketStatus, TicketStatus),
) -> Option<DeliveryReason> {
    let is_good_again = status.0 != TicketStatus::Active && status.1 == TicketStatus::Active;
    reason_of_guest(before, after)
        .or_else(|| (is_good_again && after.email.is_some()).then_some(DeliveryReason::GoodAgain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use admit_core::ids::{EventId, GuestId};
    use admit_core::time::Timestamp;

    fn guest(name: &str, email: Option<&str>, phone: Option<&str>, party_size: u32) -> GuestRecord {
        GuestRecord {
            guest_id: GuestId::new("g").unwrap(),
            event_id: EventId::new("e").unwrap(),
            ticket_id: None,
            guest_list_id: None,
            entry_type_id: None,
            name: name.into(),
            email: email.map(str::to_owned),
            phone: phone.map(str::to_owned),
            party_size,
            note: None,
            flag: None,
            fields: Default::default(),
            external_id: None,
            created_at: Timestamp::START,
            updated_at: Timestamp::START,
            erased_at: None,
        }
    }

    #[test]
    fn what_a_changed_row_sends() {
        let ana = || guest("Ana", Some("a@x.example"), None, 2);
        let with_phone = || guest("Ana", None, Some("555"), 2);
        let noted = GuestRecord { note: Some("late".into()), flag: Some("ID".into()), ..ana() };
        let table = [
            (None, ana(), Some(DeliveryReason::New)),
            (None, with_phone(), Some(DeliveryReason::New)),
            (None, guest("Ana", None, None, 2), None),
            (Some(guest("Ana", None, None, 2)), ana(), Some(DeliveryReason::New)),
            (Some(with_phone()), ana(), Some(DeliveryReason::Address)),
            (Some(ana()), guest("Ana", Some("b@x.example"), None, 2), Some(DeliveryReason::Address)),
            (Some(ana()), guest("Bea", Some("a@x.example"), None, 2), Some(DeliveryReason::Changed)),
            (Some(ana()), guest("Ana", Some("a@x.example"), None, 3), Some(DeliveryReason::Changed)),
            (Some(ana()), ana(), None),
            (Some(ana()), noted, None),
            (Some(ana()), with_phone(), None),
            (Some(with_phone()), guest("Bea", None, Some("556"), 3), None),
            (Some(ana()), guest("Ana", None, None, 2), None),
        ];
        for (before, after, expected) in table {
            assert_eq!(reason_of_guest(before.as_ref(), &after), expected, "{before:?} → {after:?}");
        }
    }

    #[test]
    fn what_a_ticket_that_is_good_again_sends() {
        use TicketStatus::{Active, Refunded, Used, Voided};
        let ana = || guest("Ana", Some("a@x.example"), None, 2);
        let bea = guest("Bea", Some("a@x.example"), None, 2);
        let table = [
            (ana(), ana(), (Voided, Active), Some(DeliveryReason::GoodAgain)),
            (ana(), ana(), (Refunded, Active), Some(DeliveryReason::GoodAgain)),
            (ana(), ana(), (Active, Active), None),
            (ana(), ana(), (Active, Voided), None),
            (ana(), ana(), (Voided, Used), None),
            (ana(), bea, (Voided, Active), Some(DeliveryReason::Changed)),
            (ana(), guest("Ana", None, Some("555"), 2), (Voided, Active), None),
        ];
        for (before, after, status, expected) in table {
            assert_eq!(reason_of_change(Some(&before), &after, status), expected, "{before:?} → {after:?}, {status:?}");
        }
        for why in [
            DeliveryReason::New,
            DeliveryReason::Address,
            DeliveryReason::Changed,
            DeliveryReason::Resend,
            DeliveryReason::GoodAgain,
        ] {
            assert_eq!(DeliveryReason::parse(why.as_str()), Some(why));
        }
    }
}
