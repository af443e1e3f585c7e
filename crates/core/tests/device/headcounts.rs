//! People without a ticket are counted at the door, with or without a network (decision 037).

use admit_core::decide::Screen;
use admit_core::event::EventStatus;
use admit_core::ids::GateId;
use admit_core::limits;
use admit_core::occupancy::Occupancy;
use admit_core::rule::{Change, EventChange, GateChange};
use admit_core::scan::{Headcount, Method, Outcome, PersonClass, ScanKind};
use admit_core::wire::engine::{Effect, HeadcountsView, Input};

use super::phone::Phone;
use super::server::Server;

fn count(phone: &mut Phone, class: PersonClass, delta: i32) {
    phone.input(Input::Headcount { headcount: Headcount::Change { class, delta } });
}
fn recount(phone: &mut Phone, inside: u32) {
    phone.input(Input::Headcount { headcount: Headcount::Recount { inside } });
}
fn counted(phone: &Phone) -> HeadcountsView {
    phone.view().headcounts.clone().expect("a paired phone counts")
}
fn classes(phone: &Phone) -> (i64, i64, i64, i64) {
    let HeadcountsView { staff, crew, child, other, .. } = counted(phone);
    (staff, crew, child, other)
}

#[test]
fn people_without_a_ticket_are_counted_offline_by_signed_scans_and_counted_on_after_a_restart() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.offline();
    count(&mut phone, PersonClass::Staff, 3);
    count(&mut phone, PersonClass::Crew, 50);
    count(&mut phone, PersonClass::Staff, -1);
    assert_eq!((classes(&phone), phone.view().own_admitted), ((2, 50, 0, 0), 0));
    assert!(!phone.effects.iter().any(|effect| matches!(effect, Effect::Show { .. })), "no verdict is shown");
    let scan = phone.scans().pop().unwrap();
    assert_eq!((scan.kind, scan.method, scan.outcome), (ScanKind::Headcount, Method::Manual, Outcome::Valid));
    assert_eq!(scan.ticket_id, Headcount::subject_id(&scan.event_id, &scan.device_id, &scan.scan_id));
    phone.start();
    assert_eq!(classes(&phone), (2, 50, 0, 0));
    phone.pass_online(&mut server, 7_000);
    assert_eq!(phone.view().unsent, 0);
    let mut all = Occupancy::default();
    for scan in phone.scans() {
        let reduced = server.reduced(&scan.ticket_id.unwrap(), false);
        assert!(reduced.causes.is_empty(), "{:?}", reduced.causes);
        all.add(&Occupancy::of(&reduced), 1);
    }
    assert_eq!((all.without_ticket.staff, all.without_ticket.crew, all.entered), (2, 50, 0));
}

#[test]
fn the_history_names_them_and_an_undo_takes_them_back() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    count(&mut phone, PersonClass::Child, -4);
    let row = phone.view().history[0].clone();
    let children = Headcount::Change { class: PersonClass::Child, delta: -4 };
    assert_eq!((row.kind, row.headcount, row.count), (ScanKind::Headcount, Some(children), 4));
    phone.input(Input::Undo { scan_id: None, keep: 1 });
    assert_eq!(classes(&phone), (0, 0, -1, 0));
    phone.input(Input::Undo { scan_id: Some(row.scan_id), keep: 0 });
    assert_eq!(classes(&phone), (0, 0, 0, 0));
    recount(&mut phone, 412);
    assert_eq!(counted(&phone).recount.map(|recount| recount.inside), Some(412));
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert_eq!(counted(&phone).recount, None);
}

#[test]
fn what_is_no_headcount_is_refused_and_nothing_is_written() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let most = limits::HEADCOUNT_STEP as i32;
    for delta in [0, most + 1, -most - 1, i32::MIN] {
        count(&mut phone, PersonClass::Other, delta);
        assert_eq!((phone.refused(), phone.scans().len()), (Some("bad_count"), 0), "{delta}");
    }
    recount(&mut phone, limits::RECOUNT + 1);
    assert_eq!((phone.refused(), phone.scans().len()), (Some("bad_count"), 0));
}

#[test]
fn in_practice_they_are_practice_and_gone_when_the_doors_open() {
    let mut server = Server::new();
    server.first(Change::Event(EventChange::Status(EventStatus::Draft)));
    let mut phone = Phone::ready(1, &mut server);
    count(&mut phone, PersonClass::Staff, 2);
    assert_eq!((classes(&phone).0, phone.scans()[0].practice), (2, true));
    server.first(Change::Event(EventChange::Status(EventStatus::Live)));
    phone.pass_online(&mut server, 40_000);
    assert_eq!(classes(&phone).0, 0);
}

#[test]
fn they_fill_the_area_and_a_recount_sets_it() {
    let mut server = Server::new();
    server.gate_id = GateId::new("north").unwrap();
    server.change_gate("north", GateChange::Capacity(Some(100)));
    server.others_inside = Some(97);
    let mut phone = Phone::ready(1, &mut server);
    phone.pass_online(&mut server, limits::HEARTBEAT_MS);
    phone.offline();
    assert_eq!(counted(&phone).area_inside, Some(97));
    count(&mut phone, PersonClass::Staff, 3);
    assert_eq!((counted(&phone).area_inside, phone.screen("A-1")), (Some(100), Screen::Full));
    recount(&mut phone, 60);
    assert_eq!(counted(&phone).area_inside, Some(60));
    phone.pass(1_000);
    count(&mut phone, PersonClass::Staff, -2);
    assert_eq!(counted(&phone).area_inside, Some(58), "counted on from the recount");
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert_eq!(counted(&phone).area_inside, Some(100), "the recount is undone");
}
