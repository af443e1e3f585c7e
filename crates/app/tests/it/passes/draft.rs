//! Passes of an event that is still a draft.

use admit_app::events::NewEvent;

use super::*;

#[test]
fn a_draft_mails_nothing_and_its_passes_go_out_once_it_is_live() {
    let office = Office::new();
    let (app, owner) = (&office.world.app, &office.world.owner);
    let draft = NewEvent { status: Some(EventStatus::Draft), ..new_event("Draft") };
    let event = now(events::create(app, owner, draft)).unwrap().event_id;
    now(guests::create(app, owner, event.clone(), ana(), None, None)).unwrap();
    assert!(matches!(office.work()[..], [Ended::Waits(wait_ms)] if wait_ms <= 330_000));
    assert_eq!(office.letters().len(), 0);
    assert!(office.runs()[0].problem.as_deref().unwrap().contains("draft"), "{:?}", office.runs()[0]);
    let live = EventPatch { status: Some(EventStatus::Live), ..EventPatch::default() };
    now(events::update(app, owner, event, live)).unwrap();
    office.world.pass(330_000);
    assert_eq!((office.work(), office.letters().len()), (vec![Ended::Done], 1));
}
