//! The server's names part: who holds which ticket, and which guest fields verdicts show.

use admit_core::barcode::BarcodeHash;
use admit_core::event::DoorSettings;
use admit_core::manifest::{NamesInput, names_delta_part, names_part, names_tail};
use admit_core::rule::{EventChange, When};
use admit_core::time::Timestamp;
use admit_core::wire::manifest::{GuestName, NamesTail};
use admit_core::wire::scanning::SIGNATURE_HEADER;

use super::{Reply, Server};
use crate::phone::Sent;

impl Server {
    /// Sets the guest who holds a code's ticket.
    pub fn name(&mut self, code: &str, name: &str, flag: Option<&str>) {
        let ticket_id = self.codes[&BarcodeHash::of(code)].clone();
        let party_size = self.ticket_book(&ticket_id).get(When::Newest).unwrap().entry_limit;
        self.serial += 1;
        let guest = GuestName {
            ticket_id: ticket_id.clone(),
            name: name.into(),
            party_size,
            note: None,
            flag: flag.map(str::to_owned),
            fields: Vec::new(),
        };
        self.names.insert(ticket_id, (guest, self.serial));
    }

    /// Sets the fields of the guest who holds a code's ticket.
    pub fn give_fields(&mut self, code: &str, fields: &[(&str, &str)]) {
        let ticket_id = &self.codes[&BarcodeHash::of(code)];
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.fields.insert(ticket_id.clone(), fields);
        self.serial += 1;
        self.names.get_mut(ticket_id).unwrap().1 = self.serial;
    }

    /// Sets which guest fields verdicts show.
    pub fn show_fields(&mut self, labels: &[&str], at_ms: i64) {
        let verdict_fields = labels.iter().map(|label| (*label).to_owned()).collect();
        self.change_event(EventChange::Door(DoorSettings { verdict_fields, ..self.book().door() }), at_ms);
    }

    /// Answers a request for the names part.
    pub(super) fn guests(&self, sent: &Sent, key: &str, at_ms: i64) -> Reply {
        let book = self.book();
        let over = book.event(When::Newest).unwrap().status.is_over();
        if over || !book.gate(&self.gate_id, When::Newest).unwrap().names_on_devices {
            return Reply::problem(403, "names_not_allowed");
        }
        let named = self.names.values().map(|(_, serial)| *serial).max().unwrap_or(0);
        let version = named.max(book.verdict_fields_since());
        let etag = format!("W/\"names.{}.{version}\"", self.epoch);
        if sent.headers.get("if-none-match") == Some(&etag) {
            return Reply { status: 304, headers: Vec::new(), body: Vec::new() };
        }
        let labels = book.door().verdict_fields;
        let with_fields = |guest: &GuestName| {
            let own = self.fields.get(&guest.ticket_id);
            let value = |label| own.and_then(|own| own.get(label)).cloned().unwrap_or_default();
            GuestName { fields: labels.iter().map(value).collect(), ..guest.clone() }
        };
        let after = |since: u64| -> Vec<GuestName> {
            self.names.values().filter(|(_, serial)| *serial > since).map(|(guest, _)| with_fields(guest)).collect()
        };
        let (organization_id, event_id) = (&self.organization_id, &self.event_id);
        let input = NamesInput { organization_id, event_id, version, labels: &labels };
        let whole = names_part(input, after(0));
        let since = sent.path.split_once("since=").map(|(_, since)| since.parse::<u64>().unwrap());
        let is_kept = |since: &u64| *since > 0 && *since <= version && *since >= book.verdict_fields_since();
        let large = match since.filter(is_kept) {
            Some(since) => names_delta_part(input, since, after(since), whole.content_hash),
            None => whole,
        };
        let tail = NamesTail { generated_at: Timestamp::clamped(at_ms), epoch: self.epoch, serial: self.serial };
        let (tail, signature) = names_tail(&large.bytes, &tail, key);
        Reply { status: 200, headers: Vec::new(), body: [large.bytes, tail].concat() }.with(SIGNATURE_HEADER, signature)
    }
}
