//! Adds guests without a ticket at the door (decision 036). One signed scan is the guest's entry, and the server makes
//! the ticket from it.

use super::door::shown;
use super::journal::words;
use super::lookup::About;
use super::recorder::After;
use super::state::State;
use crate::decide::Screen;
use crate::gate::Direction;
use crate::ids::{ScanId, TicketId};
use crate::limits;
use crate::scan::{Method, Outcome, Override, ScanKind, WalkIn};
use crate::ticket::TicketRules;
use crate::wire::engine::WalkInsView;
use crate::wire::journal::Entry;
use crate::wire::scanning::Named;

impl State {
    /// The data with which the screen adds guests here. `None` if this gate adds none.
    pub fn walk_ins_view(&self) -> Option<WalkInsView> {
        let gate = self.gate().filter(|gate| gate.walk_ins && self.direction() == Direction::In)?;
        let number = self.list.as_ref().and_then(|list| list.event.walk_ins);
        let places_left = gate.capacity.map(|capacity| capacity.saturating_sub(self.area_inside()));
        Some(WalkInsView { zones: gate.zones.clone(), added: self.walk_ins_added(), number, places_left })
    }

    /// Persons added at all doors: the server's last count, and this device's own that the count lacks.
    fn walk_ins_added(&self) -> u32 {
        let here = self.paired().map(|paired| &paired.event_id);
        let told = self.walk_ins_told.as_ref().filter(|told| Some(&told.event_id) == here);
        let own = self.recorder.journal().walk_ins().filter(|own| self.is_here(&own.scan) && !own.scan.practice);
        let lacking = own.filter(|own| told.is_none_or(|told| !self.is_counted(own, told)));
        let own: u32 = lacking.map(|own| self.recorder.journal().kept(&own.scan)).sum();
        told.map_or(0, |told| told.inside).saturating_add(own)
    }

    /// The first rules of a ticket that this device made for an added guest. `None` for any other ticket.
    pub fn made_here(&self, id: &TicketId) -> Option<TicketRules> {
        let own = self.recorder.journal().of_ticket(&self.paired()?.event_id, Some(id), &[]);
        own.into_iter().find_map(|own| own.scan.walk_in.as_ref()).map(WalkIn::rules)
    }

    /// Adds a guest for staff. The guest goes in with all persons of the party.
    pub fn add_walk_in(&mut self, name: &str, zone: String, party: u32, pin: &str) {
        if let Err((code, message)) = self.may_scan() {
            return self.refuse(code, message);
        }
        let Some(view) = self.walk_ins_view() else {
            return self.refuse("no_walk_ins", "Guests are not added at this gate.");
        };
        let name = words(name, limits::NAME_CHARS);
        if name.is_empty() {
            return self.refuse("bad_name", "Type the guest's name.");
        }
        if !view.zones.contains(&zone) {
            return self.refuse("bad_zone", "Choose an entry type that this gate admits.");
        }
        if !(1..=limits::PARTY).contains(&party) {
            return self.refuse("bad_count", &format!("Persons must be 1 to {}.", limits::PARTY));
        }
        let drawn = ScanId::new(self.out.draw_uuid()).ok().zip(self.paired().cloned());
        let made = drawn.and_then(|(scan_id, paired)| {
            let ticket_id = WalkIn::ticket_id(&paired.event_id, &paired.device_id, &scan_id)?;
            Some((scan_id, ticket_id))
        });
        let Some((scan_id, ticket_id)) = made else { return };
        let mut salt = [0; 16];
        salt.copy_from_slice(&self.out.draw()[..16]);
        let walk_in = WalkIn { zone, party, name_digest: WalkIn::digest_of(&salt, &name) };
        let about = About { hash: None, raw: None, ticket: Some((ticket_id, walk_in.rules())) };
        let Some(asked) = self.ask(&about, ScanKind::Entry, None) else { return };
        let beyond = view.number.is_some_and(|number| view.added.saturating_add(party) > number);
        let why = match (asked.verdict.outcome == Outcome::Valid, beyond) {
            (true, false) => None,
            (true, true) => Some("Beyond the number of guests who may be added"),
            (false, _) => Some("Added although the event has ended"),
        };
        let mut rows = Vec::new();
        if let Some(why) = why {
            if pin.is_empty() {
                return self.refuse("needs_pin", &format!("{why}: the staff PIN is needed."));
            }
            if !self.is_staff_pin(pin) {
                return;
            }
            rows.push(Entry::Pin { ok: true, at_ms: self.session.at_ms() });
        }
        self.used_at = Some(self.mono());
        let Some(mut scan) = self.draft(&about, &asked, Method::Manual) else { return };
        (scan.scan_id, scan.opened, scan.count, scan.basis) = (scan_id, true, party, None);
        scan.walk_in = Some(walk_in);
        let by = self.recorder.journal().operator.clone();
        scan.override_ = why.map(|reason| Override { by, reason: reason.to_owned() });
        let shown = shown(Screen::Admit, &about, &asked);
        let mut view = self.verdict_view(&scan, &shown, None, about.rules());
        view.name = Some(name.clone());
        self.write_named(scan, shown, rows, Some(After::Show(Box::new(view))), Some(Named { name, salt }));
    }
}
