//! Adds guests without a ticket at the door (decision 036). One signed scan is the guest's entry, and the server makes
//! the ticket from it.

use super::desk::{Act, Desk};
use super::journal::words;
use super::lookup::About;
use super::outbox::Outbox;
use super::pin;
use super::reader::Reader;
use super::recorder::After;
use super::verdict::verdict_view;
use crate::decide::Screen;
use crate::ids::ScanId;
use crate::limits;
use crate::scan::{Method, Outcome, Override, ScanKind, WalkIn};
use crate::wire::scanning::Named;

/// Adds a guest for staff. The guest goes in with all persons of the party.
pub(super) fn add_walk_in(
    desk: &Desk<'_>,
    reader: &mut Reader,
    out: &mut Outbox,
    (name, zone, party): (&str, String, u32),
    pin: &str,
) -> Act {
    if let Err(refusal) = desk.known.may_scan() {
        return refusal.into();
    }
    let Some(view) = desk.counts.walk_ins_view(desk.known, desk.session.mono()) else {
        return Act::refuse("no_walk_ins", "Guests are not added at this gate.");
    };
    let name = words(name, limits::NAME_CHARS);
    if name.is_empty() {
        return Act::refuse("bad_name", "Type the guest's name.");
    }
    if !view.zones.contains(&zone) {
        return Act::refuse("bad_zone", "Choose an entry type that this gate admits.");
    }
    if !(1..=limits::PARTY).contains(&party) {
        return Act::refuse("bad_count", &format!("Persons must be 1 to {}.", limits::PARTY));
    }
    let drawn = ScanId::new(out.draw_uuid()).ok().zip(desk.known.paired());
    let made = drawn.and_then(|(scan_id, paired)| {
        let ticket_id = WalkIn::ticket_id(&paired.event_id, &paired.device_id, &scan_id)?;
        Some((scan_id, ticket_id))
    });
    let Some((scan_id, ticket_id)) = made else { return Act::Nothing };
    let mut salt = [0; 16];
    salt.copy_from_slice(&out.draw()[..16]);
    let walk_in = WalkIn { zone, party, name_digest: WalkIn::digest_of(&salt, &name) };
    let about = About { hash: None, raw: None, ticket: Some((ticket_id, walk_in.rules())) };
    let Some(asked) = desk.ask(&about, ScanKind::Entry, None) else { return Act::Nothing };
    let beyond = view.number.is_some_and(|number| view.added.saturating_add(party) > number);
    let why = match (asked.verdict.outcome == Outcome::Valid, beyond) {
        (true, false) => None,
        (true, true) => Some("Beyond the number of guests who may be added"),
        (false, _) => Some("Added although the event has ended"),
    };
    let mut rows = Vec::new();
    if let Some(why) = why {
        if pin.is_empty() {
            return Act::refuse("needs_pin", &format!("{why}: the staff PIN is needed."));
        }
        if let Err(act) = pin::check(desk, pin) {
            return act;
        }
        rows.push(pin::right(desk));
    }
    reader.used(desk.session);
    let Some(mut scan) = desk.draft(out, &about, &asked, Method::Manual) else { return Act::Nothing };
    (scan.scan_id, scan.opened, scan.count, scan.basis) = (scan_id, true, party, None);
    scan.walk_in = Some(walk_in);
    let by = desk.known.journal.operator.clone();
    scan.override_ = why.map(|reason| Override { by, reason: reason.to_owned() });
    let shown = asked.shown(Screen::Admit, &about);
    let mut view = verdict_view(desk, &scan, &shown, None, about.rules());
    view.name = Some(name.clone());
    desk.sign_with(scan, shown, rows, Some(After::Show(Box::new(view))), Some(Named { name, salt }))
}
