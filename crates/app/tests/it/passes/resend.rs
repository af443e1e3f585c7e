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

fn named(name: &str, email: Option<&str>) -> NewGuest {
    NewGuest { name: name.into(), email: email.map(str::to_owned), ..NewGuest::default() }
}

fn these(guests: &[&GuestRecord]) -> Whom {
    Whom { guest_ids: Some(guests.iter().map(|one| one.guest_id.clone()).collect()), filter: None }
}

#[test]
fn the_passes_of_many_guests_are_sent_again_and_the_others_are_counted_by_reason() {
    let office = Office::new();
    let (app, owner, event) = (&office.world.app, &office.world.owner, office.world.event.clone());
    let (ana, _) = office.guest(ana());
    let (bo, _) = office.guest(named("Bo", None));
    let (cy, _) = office.guest(named("Cy", Some("cy@x.example")));
    office.import("barcode,name,email\nPAPER-1,Di,di@x.example\n");
    let di = now(guests::list(app, owner, event.clone(), Wanted::default(), whole_page())).unwrap().items;
    let di = di.into_iter().find(|one| one.guest.name == "Di").unwrap().guest;
    office.work();
    office.letters();
    office.change(&cy, GuestPatch { ticket_status: Some(TicketStatus::Voided), ..GuestPatch::default() });
    let all = these(&[&ana, &ana, &bo, &cy, &di]);
    let many = |whom: &Whom, dry_run| now(guests::resend_many(app, owner, event.clone(), whom.clone(), dry_run));
    let counted = Resent { mailed: 1, no_email: 1, ticket_not_active: 1, code_of_another: 1, ..Resent::default() };
    assert_eq!(many(&all, true), Ok(counted));
    assert_eq!(office.work(), [], "it only counted");
    assert_eq!(many(&all, false), Ok(counted));
    office.work();
    assert_eq!(office.subjects(), ["ana@x.example: Your pass for Festival"]);
    let lines = office.world.ledger().iter().filter(|action| *action == "passes_resent").count();
    assert_eq!(lines, 1, "one line for all");
    let again = Resent { mailed: 0, just_sent: 1, ..counted };
    assert_eq!(many(&all, false), Ok(again), "once a minute");
    let everybody = Whom { guest_ids: None, filter: Some(Wanted::default()) };
    office.world.pass(61_000);
    assert_eq!(many(&everybody, false), Ok(counted));
    let nobody =
        Whom { filter: Some(Wanted { state: Some(GuestState::NoShow), ..Wanted::default() }), guest_ids: None };
    assert_eq!(many(&nobody, false), Ok(Resent::default()));
    office.world.is_consistent();
}

#[test]
fn whoever_asks_for_many_passes_says_of_whom_and_reaches_their_own_guests_alone() {
    let office = Office::new();
    let (app, owner, event) = (&office.world.app, &office.world.owner, office.world.event.clone());
    let promoter = office.world.member(Role::Promoter);
    let list = NewGuestList { name: "Pat's".into(), promoter_id: Some(promoter.user_id.clone()) };
    let list = now(guest_lists::create(app, owner, event.clone(), list)).unwrap();
    let (ana, _) = office.guest(ana());
    let (bo, _) =
        office.guest(NewGuest { guest_list_id: Some(list.guest_list_id), ..named("Bo", Some("bo@x.example")) });
    office.work();
    office.letters();
    let many = |by, whom: Whom| now(guests::resend_many(app, by, event.clone(), whom, false));
    let own = Resent { mailed: 1, not_found: 1, ..Resent::default() };
    assert_eq!(many(&promoter, these(&[&ana, &bo])), Ok(own), "a guest of others is as one that never was");
    office.work();
    assert_eq!(office.subjects(), ["bo@x.example: Your pass for Festival"]);
    let nobody = GuestRecord { guest_id: GuestId::new("nobody").unwrap(), ..ana.clone() };
    assert_eq!(many(owner, these(&[&nobody])), Ok(Resent { not_found: 1, ..Resent::default() }));
    let everybody = || Whom { guest_ids: None, filter: Some(Wanted::default()) };
    office.world.pass(61_000);
    assert_eq!(many(&promoter, everybody()), Ok(Resent { mailed: 1, ..Resent::default() }));
    assert_eq!(wrong_field(many(owner, Whom::default())), "guest_ids");
    assert_eq!(wrong_field(many(owner, these(&[]))), "guest_ids");
    assert_eq!(wrong_field(many(owner, Whom { guest_ids: Some(vec![ana.guest_id.clone()]), ..everybody() })), "filter");
    let viewer = office.world.member(Role::Viewer);
    assert_eq!(code(many(&viewer, these(&[&ana]))), "forbidden");
    let ended = EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() };
    now(events::update(app, owner, event.clone(), ended)).unwrap();
    assert_eq!(code(many(owner, everybody())), "event_over");
    office.world.is_consistent();
}

#[test]
fn hundreds_of_passes_go_out_in_several_writes_under_one_line() {
    let office = Office::new();
    let (app, owner, event) = (&office.world.app, &office.world.owner, office.world.event.clone());
    let rows: String = (0..450).map(|n| format!("Guest {n},g{n}@x.example\n")).collect();
    office.import(&format!("name,email\n{rows}"));
    for _ in 0..6 {
        office.work();
    }
    assert_eq!(office.letters().len(), 450);
    let everybody = Whom { guest_ids: None, filter: Some(Wanted::default()) };
    let sent = now(guests::resend_many(app, owner, event, everybody, false)).unwrap();
    assert_eq!(sent, Resent { mailed: 450, ..Resent::default() });
    for _ in 0..6 {
        office.work();
    }
    assert_eq!(office.letters().len(), 450);
    assert_eq!(office.world.ledger().iter().filter(|action| *action == "passes_resent").count(), 1);
}
