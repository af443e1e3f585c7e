//! What the server's `changes` told this device: newest rules and counting scans of every ticket that changed
//! (spec §5). Kept in the cache page by page; a lost page only means asking again from the page before it.

use std::collections::BTreeMap;

use crate::barcode::BarcodeHash;
use crate::ids::{DeviceId, TicketId};
use crate::limits;
use crate::wire::journal::CachedPage;
use crate::wire::scanning::{ChangedTicket, ChangesAnswer, Cursor, NamedDevice};
use crate::wire::stored::from_json;

/// A changed ticket, and how new its rules are.
#[derive(Debug, Clone)]
pub struct FeedTicket {
    /// As the server sent it.
    pub changed: ChangedTicket,
    /// Its rules are those of this serial, or newer. A list of a higher version knows better: the server leaves out
    /// rule changes that the device's list has.
    pub serial: u64,
}

/// Everything learned from changes of one epoch.
#[derive(Debug, Clone, Default)]
struct Known {
    cursor: Option<Cursor>,
    tickets: BTreeMap<TicketId, FeedTicket>,
    codes: BTreeMap<BarcodeHash, TicketId>,
    /// How staff call the devices whose scans are told of.
    names: BTreeMap<DeviceId, String>,
}

impl Known {
    /// `serials`, where given, are those of the items, in their order.
    fn take(&mut self, answer: ChangesAnswer, serials: &[u64]) {
        for (place, changed) in answer.items.into_iter().enumerate() {
            for hash in &changed.barcode_hashes {
                self.codes.insert(*hash, changed.ticket_id.clone());
            }
            let serial = serials.get(place).copied().unwrap_or(answer.cursor.serial);
            self.tickets.insert(changed.ticket_id.clone(), FeedTicket { changed, serial });
        }
        self.names.extend(answer.devices.into_iter().map(|device| (device.device_id, device.name)));
        self.cursor = Some(answer.cursor);
    }
}

/// The feed of the present event.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    active: Known,
    /// Being fetched anew after a change of epoch: what is active stays in use until this is whole.
    incoming: Option<Known>,
    pages: u64,
    first_page: u64,
    saved: Option<Cursor>,
}

/// What to write to the cache after a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageWrites {
    /// Pages to keep: number and text.
    pub save: Vec<(u64, CachedPage)>,
    /// Pages to remove.
    pub forget: Vec<u64>,
}

impl Feed {
    /// The cursor that the present view of tickets stands at.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.active.cursor.as_ref()
    }
    /// Where to ask from next; `None` = from the start.
    pub fn ask_from(&self) -> Option<&Cursor> {
        self.incoming.as_ref().unwrap_or(&self.active).cursor.as_ref()
    }
    /// What changes said of a ticket.
    pub fn ticket(&self, ticket_id: &TicketId) -> Option<&FeedTicket> {
        self.active.tickets.get(ticket_id)
    }
    /// The ticket that holds a code, as far as changes tell.
    pub fn by_code(&self, hash: &BarcodeHash) -> Option<&TicketId> {
        self.active.codes.get(hash)
    }

    /// How staff call a device, as far as changes told.
    pub fn name_of(&self, device_id: &DeviceId) -> Option<&str> {
        self.active.names.get(device_id).map(String::as_str)
    }

    /// Numbers of the pages that the cache keeps.
    pub fn kept_pages(&self) -> std::ops::RangeInclusive<u64> {
        self.first_page + 1..=self.pages
    }

    /// Takes in an answer to a question from [`Feed::ask_from`]. `body` is its text, for the cache.
    pub fn take(&mut self, answer: ChangesAnswer, body: &str) -> PageWrites {
        let (empty, more) = (answer.items.is_empty(), answer.more);
        if answer.resync {
            self.incoming = Some(Known { cursor: Some(answer.cursor), ..Known::default() });
            return PageWrites::default();
        }
        if more && self.incoming.is_none() {
            // Until the last page a ticket that changed once more is in none: the view, and the cursor it is signed
            // with, move only when all pages are there.
            self.incoming = Some(self.active.clone());
        }
        if let Some(incoming) = &mut self.incoming {
            incoming.take(answer, &[]);
            if more {
                return PageWrites::default();
            }
            self.active = self.incoming.take().unwrap_or_default();
            return self.fold_pages();
        }
        self.active.take(answer, &[]);
        if empty {
            return PageWrites::default(); // Nothing to keep: the next page is kept as following the last kept one.
        }
        let from = self.saved.as_ref().map(Cursor::to_string).unwrap_or_default();
        let page = CachedPage { from, body: body.to_owned(), part: None, serials: Vec::new() };
        self.saved = self.active.cursor.clone();
        self.pages += 1;
        if self.pages - self.first_page > limits::CHANGES_PAGES && !more {
            return self.fold_pages();
        }
        PageWrites { save: vec![(self.pages, page)], forget: Vec::new() }
    }

    fn named_devices(&self) -> Vec<NamedDevice> {
        let of =
            |(device_id, name): (&DeviceId, &String)| NamedDevice { device_id: device_id.clone(), name: name.clone() };
        self.active.names.iter().map(of).collect()
    }

    /// Replaces all kept pages by few that say the same.
    fn fold_pages(&mut self) -> PageWrites {
        let Some(cursor) = self.active.cursor.clone() else { return PageWrites::default() };
        let forget = (self.first_page + 1..=self.pages).collect();
        let tickets: Vec<&FeedTicket> = self.active.tickets.values().collect();
        let chunks: Vec<&[&FeedTicket]> = tickets.chunks(limits::CHANGES_ITEMS).collect();
        let of = chunks.len().max(1) as u64;
        let mut save = Vec::new();
        for part in 0..of {
            let items = chunks.get(part as usize).copied().unwrap_or_default();
            let answer = ChangesAnswer {
                items: items.iter().map(|item| item.changed.clone()).collect(),
                event: None,
                gates: None,
                devices: if part == 0 { self.named_devices() } else { Vec::new() },
                manifest_version: 0,
                cursor: cursor.clone(),
                more: part + 1 < of,
                resync: false,
                server_time: crate::time::Timestamp::START,
            };
            let body = crate::wire::stored::to_text(&answer);
            let serials = items.iter().map(|item| item.serial).collect();
            let page = CachedPage { from: String::new(), body, part: Some((part, of)), serials };
            save.push((self.pages + 1 + part, page));
        }
        self.first_page = self.pages;
        self.pages += of;
        self.saved = Some(cursor);
        PageWrites { save, forget }
    }

    /// Reads the cache back, pages in order of their number. Gives the pages that are of no use: after a gap nothing
    /// is taken, for a cursor must never promise what was lost.
    pub fn load(&mut self, pages: BTreeMap<u64, CachedPage>) -> Vec<u64> {
        let mut useless = Vec::new();
        let mut whole: Option<(u64, Known)> = None;
        let mut first: Option<u64> = None;
        for (number, page) in pages {
            self.pages = self.pages.max(number);
            let Ok(answer) = from_json::<ChangesAnswer>(page.body.as_bytes()) else {
                useless.push(number);
                continue;
            };
            let fits = match page.part {
                Some((0, of)) => {
                    whole = Some((1, Known::default()));
                    of > 0
                }
                Some((part, _)) => whole.as_ref().is_some_and(|(next, _)| *next == part),
                None => page.from == self.active.cursor.as_ref().map(Cursor::to_string).unwrap_or_default(),
            };
            if !fits {
                useless.push(number);
                continue;
            }
            first.get_or_insert(number);
            match (page.part, &mut whole) {
                (Some((part, of)), Some((next, known))) => {
                    known.take(answer, &page.serials);
                    *next = part + 1;
                    if part + 1 == of {
                        self.active = whole.take().map(|(_, known)| known).unwrap_or_default();
                    }
                }
                _ => self.active.take(answer, &[]),
            }
        }
        self.first_page = first.map_or(self.pages, |first| first - 1);
        self.saved = self.active.cursor.clone();
        useless
    }
}
