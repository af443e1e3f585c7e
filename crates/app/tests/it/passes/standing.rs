//! The words for a pass's state on its page.

use super::*;

#[test]
fn a_pass_tells_how_it_stands() {
    let office = Office::new();
    let (_, ticket) = office.guest(ana());
    let token = ticket.barcode.unwrap();
    office.work();
    let standing = || office.pass(&token).unwrap().standing;
    let phone = office.world.phone("p", "main");
    assert_eq!(standing(), PassStanding::Valid);
    phone.scan("s1", &token, "valid", at(-2_000));
    assert_eq!((standing(), office.pass(&token).unwrap().persons), (PassStanding::PartlyUsed, 1));
    phone.scan("s2", &token, "valid", at(-1_000));
    assert_eq!(standing(), PassStanding::Used);
    for wrong in ["", "x", "7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f", &token.to_uppercase(), &format!("{token}0")] {
        assert_eq!(code(office.pass(wrong)), "no pass", "{wrong}");
    }
    let refunded = TicketPatch { status: Some(TicketStatus::Refunded), ..TicketPatch::default() };
    now(tickets::update(&office.world.app, &office.world.owner, ticket.ticket_id, refunded)).unwrap();
    assert_eq!(standing(), PassStanding::Cancelled);
}
