//! Tests which value of a field held at which time, and which serials of an epoch a device can have known.

use super::*;

fn status(serial: u64, effective_at: Effective, status: TicketStatus) -> (Rule, TicketChange) {
    let change = TicketChange::Status(status);
    let id = TicketId::new("t").unwrap();
    (Rule { serial, ordinal: 0, effective_at, change: Change::Ticket(id, change.clone()) }, change)
}

#[test]
fn a_refund_does_not_make_an_earlier_entry_wrong_unless_the_device_knew_it() {
    let mut history = History::default();
    for (rule, change) in [
        status(1, Effective::Start, TicketStatus::Active),
        status(5, Effective::At(Timestamp::clamped(2_000)), TicketStatus::Refunded),
    ] {
        let TicketChange::Status(value) = change else { unreachable!() };
        history.add(&rule, value);
    }
    assert_eq!(history.at(Timestamp::clamped(1_999), 4), Some(&TicketStatus::Active));
    assert_eq!(history.at(Timestamp::clamped(2_000), 4), Some(&TicketStatus::Refunded));
    assert_eq!(history.at(Timestamp::clamped(1_999), 5), Some(&TicketStatus::Refunded));
    assert_eq!(history.known(4), Some(&TicketStatus::Active));
}

#[test]
fn the_fields_of_a_verdict_are_as_old_as_their_last_change_and_no_younger_for_another_clock() {
    let mut book = EventBook::default();
    let mut say = |serial, fields: &[&str], zone: Option<&str>| {
        let clock = zone.map(|zone| crate::event::ZoneClock { zone: zone.into(), offsets: Vec::new() });
        let verdict_fields = fields.iter().map(|field| (*field).to_owned()).collect();
        let door = DoorSettings { clock, verdict_fields, ..DoorSettings::default() };
        let change = Change::Event(EventChange::Door(door));
        book.add(&Rule { serial, ordinal: 0, effective_at: Effective::Start, change });
        book.verdict_fields_since()
    };
    assert_eq!(say(1, &[], None), 0);
    assert_eq!(say(4, &["Table"], None), 4);
    assert_eq!(say(6, &["Table"], Some("UTC")), 4);
    assert_eq!(say(8, &["Table", "Company"], Some("UTC")), 8);
    assert_eq!(say(9, &[], Some("UTC")), 9);
}

#[test]
fn an_epoch_vouches_only_for_what_the_ledger_kept() {
    let (a, b) = (Epoch { restored_at_ms: 1, random: 1 }, Epoch { restored_at_ms: 2, random: 2 });
    let epochs = Epochs::new(vec![(b, 10), (a, 0)]);
    assert_eq!(epochs.known(Some(a), 25), 10);
    assert_eq!(epochs.known(Some(b), 25), 25);
    assert_eq!(epochs.known(Some(Epoch { restored_at_ms: 3, random: 3 }), 25), 0);
    assert_eq!(a.to_string().parse::<Epoch>().unwrap(), a);
}

#[test]
fn an_epoch_reads_only_as_the_server_wrote_it() {
    let last = Epoch { restored_at_ms: i64::MAX, random: u64::MAX };
    assert_eq!(last.to_string().parse::<Epoch>(), Ok(last));
    assert_eq!("0-0000000000000000".parse::<Epoch>(), Ok(Epoch { restored_at_ms: 0, random: 0 }));
    for wrong in ["", "-", "1", "1-1", "01-0000000000000001", "+1-0000000000000001", "-1-0000000000000001"] {
        assert_eq!(wrong.parse::<Epoch>(), Err(EpochError), "{wrong}");
    }
    for wrong in
        ["9223372036854775808-0000000000000001", "1-000000000000000A", "1-00000000000000001", "1-+000000000000001"]
    {
        assert_eq!(wrong.parse::<Epoch>(), Err(EpochError), "{wrong}");
    }
}
