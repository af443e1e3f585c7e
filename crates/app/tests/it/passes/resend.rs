//! Sending a pass again: for which guests, and how often.

use super::*;

#[test]
fn the_pass_of_a_ticket_that_is_not_good_is_not_sent_again() {
    let office = Office::new();
    let (app, owner) = (&office.world.app, &office.world.owner);
    let (guest, _) = office.guest(ana());
    office.work();
    office.letters();
    for status in [TicketStatus::Voided, TicketStatus::Refunded] {
        office.change(&guest, GuestPatch { ticket_status: Some(status), ..GuestPatch::default() });
        assert_eq!(code(now(guests::resend(app, owner, guest.guest_id.clone()))), "ticket_not_active", "{status}");
    }
    office.change(&guest, GuestPatch { ticket_status: Some(TicketStatus::Active), ..GuestPatch::default() });
    office.work();
    assert_eq!(office.subjects(), [""; 0], "nothing was promised, so nothing goes out by itself");
    now(guests::resend(app, owner, guest.guest_id)).unwrap();
    office.work();
    assert_eq!(office.subjects(), ["ana@x.example: Your pass for Festival"]);
    office.world.is_consistent();
}

#[test]
fn a_pass_that_is_asked_for_again_and_again_is_mailed_once_a_minute() {
    let office = Office::new();
    let (app, owner) = (&office.world.app, &office.world.owner);
    let (guest, _) = office.guest(ana());
    let resend = || now(guests::resend(app, owner, guest.guest_id.clone()));
    let first = office.runs().remove(0).run_id;
    for _ in 0..10 {
        assert_eq!(resend().unwrap().run_id, first, "that one is on its way");
    }
    let told = || office.world.ledger().iter().filter(|action| *action == "pass_resent").count();
    assert_eq!(told(), 0, "it was made a moment ago: nothing was done");
    office.work();
    assert_eq!(office.subjects(), ["ana@x.example: Your pass for Festival"]);
    assert_ne!(resend().unwrap().run_id, first, "that one is done");
    office.work();
    assert_eq!(office.letters().len(), 1);
    office.world.pass(20_000);
    let later = admit_app::error::Error::Later { code: "rate_limited", retry_after_ms: 40_000 };
    assert_eq!(resend(), Err(later));
    // A change is mailed even if the pass was asked for already. A request after it returns the run of the change.
    office.change(&guest, GuestPatch { email: Some(Some("b@x.example".into())), ..GuestPatch::default() });
    let newest = office.runs().remove(0).run_id;
    assert_eq!(resend().unwrap().run_id, newest);
    office.work();
    assert_eq!(office.subjects(), ["b@x.example: Your pass for Festival"]);
    office.world.pass(60_000);
    resend().unwrap();
    office.work();
    assert_eq!(office.letters().len(), 1);
    office.world.is_consistent();
}

/// The mail server was away, and the run still waits for its next try.
#[test]
fn a_run_that_waits_is_tried_at_once_when_the_pass_is_asked_for_again() {
    let office = Office::new();
    let (app, owner) = (&office.world.app, &office.world.owner);
    let (guest, _) = office.guest(ana());
    for _ in 0..9 {
        office.outside.answers.lock().unwrap().push_back(Unable::Later("away".into()));
        assert!(matches!(office.work()[..], [Ended::Waits(_)]));
        office.world.pass(300_000);
    }
    office.outside.answers.lock().unwrap().push_back(Unable::Later("away".into()));
    office.work();
    office.world.pass(61_000);
    assert_eq!(office.work(), [], "it waits");
    let waiting = office.runs().remove(0).run_id;
    assert_eq!(now(guests::resend(app, owner, guest.guest_id)).unwrap().run_id, waiting);
    assert_eq!(office.work(), [Ended::Done]);
    assert_eq!(office.letters().len(), 1);
    assert_eq!(office.world.ledger().iter().filter(|action| *action == "pass_resent").count(), 1);
    office.world.is_consistent();
}

#[test]
fn of_an_event_that_is_over_nothing_is_promised_also_where_a_run_waits() {
    let office = Office::new();
    let (app, owner) = (&office.world.app, &office.world.owner);
    let (guest, _) = office.guest(ana());
    let ended = EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() };
    now(events::update(app, owner, office.world.event.clone(), ended)).unwrap();
    assert_eq!(code(now(guests::resend(app, owner, guest.guest_id))), "event_over");
}
