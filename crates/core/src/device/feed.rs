//! The changes that this device received from the server: the newest rules of every changed ticket, and its scans that
//! count (spec §5). The cache keeps them page by page. After a lost page the device asks again from the page before it.

use std::collections::BTreeMap;

use crate::barcode::BarcodeHash;
use crate::ids::{DeviceId, TicketId};
use crate::limits;
use crate::short_code::ShortCode;
use crate::wire::journal::CachedPage;
use crate::wire::scanning::{ChangedTicket, ChangesAnswer, Cursor, NamedDevice};
use crate::wire::stored::from_json;

/// A changed ticket, with the serial of its rules.
#[derive(Debug, Clone)]
pub struct FeedTicket {
    /// The ticket as the server sent it.
    pub changed: ChangedTicket,
    /// A serial up to which `changed` has all rule changes of the ticket. If the list's version is higher, the list's
    /// rules are newer, since the server leaves out rule changes that the device's list has.
    pub serial: u64,
}

/// Everything learned from the changes of one epoch.
#[derive(Debug, Clone, Default)]
struct Known {
    cursor: Option<Cursor>,
    tickets: BTreeMap<TicketId, FeedTicket>,
    codes: BTreeMap<BarcodeHash, TicketId>,
    /// The names that staff use for the devices whose scans are included.
    names: BTreeMap<DeviceId, String>,
}

impl Known {
    /// Adds the tickets and device names of an answer of the server. `serials`, if not empty, has the serial of each
    /// ticket in the answer's order.
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

/// The changes of the event to which the device is assigned.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    active: Known,
    /// The changes of a new epoch while the device fetches them. Until it has all, it uses those in `active`. Absent
    /// while it fetches none.
    incoming: Option<Known>,
    pages: u64,
    first_page: u64,
    /// Number of pages that the last call of `fold_pages` wrote.
    folded: u64,
    saved: Option<Cursor>,
}

/// The cache writes that a page leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageWrites {
    /// Pages to store, by number.
    pub save: Vec<(u64, CachedPage)>,
    /// Numbers of the pages to remove.
    pub forget: Vec<u64>,
}

impl Feed {
    /// The cursor up to which the changes in use reach. `None` before the first answer.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.active.cursor.as_ref()
    }
    /// The cursor from which to ask next. `None` means from the start.
    pub fn ask_from(&self) -> Option<&Cursor> {
        self.incoming.as_ref().unwrap_or(&self.active).cursor.as_ref()
    }
    /// A ticket as the newest change shows it. `None` if no change named it.
    pub fn ticket(&self, ticket_id: &TicketId) -> Option<&FeedTicket> {
        self.active.tickets.get(ticket_id)
    }
    /// The ticket that holds a code, if a change named the code.
    pub fn by_code(&self, hash: &BarcodeHash) -> Option<&TicketId> {
        self.active.codes.get(hash)
    }
    /// The tickets that have a code with this short code, among the codes that changes named. A ticket may come more
    /// than once.
    pub fn by_short(&self, short: ShortCode) -> impl Iterator<Item = &TicketId> {
        let from = self.active.codes.range(short.least()..);
        from.take_while(move |(hash, _)| short.begins(&hash.0)).map(|(_, id)| id)
    }

    /// The name that staff use for a device. `None` if no change named the device.
    pub fn name_of(&self, device_id: &DeviceId) -> Option<&str> {
        self.active.names.get(device_id).map(String::as_str)
    }

    /// Numbers of the pages that the cache keeps.
    pub fn kept_pages(&self) -> std::ops::RangeInclusive<u64> {
        self.first_page + 1..=self.pages
    }

    /// Takes the answer to a request for the changes after [`Feed::ask_from`]. `body` is the answer's text, for the
    /// cache.
    pub fn take(&mut self, answer: ChangesAnswer, body: &str) -> PageWrites {
        let (empty, more) = (answer.items.is_empty(), answer.more);
        if answer.resync {
            self.incoming = Some(Known { cursor: Some(answer.cursor), ..Known::default() });
            return PageWrites::default();
        }
        if more && self.incoming.is_none() {
            // More pages follow. A ticket that changed again in between may be in none of the pages so far. So the
            // tickets in use, and the cursor that scans are signed with, move only when all pages have come.
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
            return PageWrites::default(); // Nothing to store: the next page follows the last stored one.
        }
        let from = self.saved.as_ref().map(Cursor::to_string).unwrap_or_default();
        let page = CachedPage { from, body: body.to_owned(), part: None, serials: Vec::new() };
        self.saved = self.active.cursor.clone();
        self.pages += 1;
        // `fold_pages` writes everything again. So it is called only after as many new pages as it wrote the last time,
        // at least `CHANGES_PAGES`.
        if self.pages - self.first_page - self.folded > limits::CHANGES_PAGES.max(self.folded) {
            return self.fold_pages();
        }
        PageWrites { save: vec![(self.pages, page)], forget: Vec::new() }
    }

    fn named_devices(&self) -> Vec<NamedDevice> {
        let of =
            |(device_id, name): (&DeviceId, &String)| NamedDevice { device_id: device_id.clone(), name: name.clone() };
        self.active.names.iter().map(of).collect()
    }

    /// Replaces all kept pages by a few with the same content.
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
                more: false,
                resync: false,
                server_time: crate::time::Timestamp::START,
            };
            let body = crate::wire::stored::to_text(&answer);
            let serials = items.iter().map(|item| item.serial).collect();
            let page = CachedPage { from: String::new(), body, part: Some((part, of)), serials };
            save.push((self.pages + 1 + part, page));
        }
        self.first_page = self.pages;
        self.folded = of;
        self.pages += of;
        self.saved = Some(cursor);
        PageWrites { save, forget }
    }

    /// Reads the cached pages in order of their number. Returns the numbers of the pages that it does not use. After a
    /// missing page it uses none, since the cursor would otherwise claim changes that the device lacks.
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
                        self.folded = of;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::Epoch;
    use crate::ticket::{TicketRules, TicketStatus};
    use crate::time::Timestamp;
    use crate::wire::stored::to_text;

    const EPOCH: Epoch = Epoch { restored_at_ms: 1, random: 1 };

    fn id(ticket: u32) -> TicketId {
        TicketId::new(format!("t-{ticket}")).unwrap()
    }

    /// Each device's name holds the serial of the answer that told it.
    fn named(serial: u64) -> NamedDevice {
        NamedDevice { device_id: DeviceId::new(format!("phone-{serial}")).unwrap(), name: format!("North {serial}") }
    }

    fn told(serial: u64, tickets: std::ops::Range<u32>) -> ChangesAnswer {
        let rules = TicketRules {
            status: TicketStatus::Active,
            entry_limit: 1,
            gate_ids: Vec::new(),
            zone: "general".into(),
            valid_from: None,
            expires_at: None,
        };
        let changed = |ticket| ChangedTicket {
            ticket_id: id(ticket),
            rules: rules.clone(),
            barcode_hashes: vec![BarcodeHash::of(&format!("code-{ticket}"))],
            prefix: Default::default(),
            scans: Vec::new(),
        };
        ChangesAnswer {
            items: tickets.map(changed).collect(),
            event: None,
            gates: None,
            devices: vec![named(serial)],
            manifest_version: 1,
            cursor: Cursor::at(EPOCH, serial),
            more: false,
            resync: false,
            server_time: Timestamp::START,
        }
    }

    /// A feed and the cache that keeps it.
    #[derive(Default)]
    struct Kept {
        feed: Feed,
        cache: BTreeMap<u64, CachedPage>,
    }

    impl Kept {
        fn take(&mut self, answer: ChangesAnswer) {
            let (body, kept) = (to_text(&answer), self.feed.kept_pages());
            let PageWrites { save, forget } = self.feed.take(answer, &body);
            for (number, page) in save {
                assert!(self.cache.insert(number, page).is_none(), "page {number} is written over");
            }
            for number in forget {
                // A page that led to `fold_pages` was never written.
                assert!(self.cache.remove(&number).is_some() || number == kept.end() + 1, "page {number} is not there");
            }
            assert!(self.cache.keys().copied().eq(self.feed.kept_pages()), "{:?}", self.feed.kept_pages());
        }
        /// Restarts the app with only the cache. Returns the numbers of the pages that were not used.
        fn restart(&mut self) -> Vec<u64> {
            self.feed = Feed::default();
            let useless = self.feed.load(self.cache.clone());
            self.cache.retain(|number, _| !useless.contains(number));
            useless
        }
        /// Everything that a phone asks the feed for.
        fn known(&self, tickets: std::ops::Range<u32>, serials: u64) -> impl PartialEq + std::fmt::Debug + use<> {
            let ticket = |ticket| self.feed.ticket(&id(ticket)).map(|known| (known.changed.clone(), known.serial));
            let code = |ticket| self.feed.by_code(&BarcodeHash::of(&format!("code-{ticket}"))).cloned();
            let name = |serial| self.feed.name_of(&named(serial).device_id).map(str::to_owned);
            let of_tickets: Vec<_> = tickets.map(|it| (ticket(it), code(it))).collect();
            let names: Vec<_> = (1..=serials).map(name).collect();
            (of_tickets, names, self.feed.cursor().cloned(), self.feed.ask_from().cloned(), self.feed.kept_pages())
        }
    }

    #[test]
    fn a_restart_after_any_page_knows_what_was_known_and_writes_on_where_it_was() {
        let (mut going_on, mut restarting) = (Kept::default(), Kept::default());
        for serial in 1..=140 {
            let answer = told(serial, serial as u32..serial as u32 + 2);
            going_on.take(answer.clone());
            restarting.take(answer);
            assert_eq!(restarting.restart(), [0; 0]);
            assert_eq!(restarting.known(1..150, 141), going_on.known(1..150, 141), "after page {serial}");
        }
        assert_eq!(going_on.feed.name_of(&named(3).device_id), Some("North 3"));
    }

    #[test]
    fn sixty_four_pages_are_kept_and_the_next_is_folded_with_them_into_one() {
        let mut kept = Kept::default();
        for serial in 1..=64 {
            kept.take(told(serial, serial as u32..serial as u32 + 1));
            assert_eq!(kept.cache.len(), serial as usize);
        }
        kept.take(told(65, 65..66));
        assert_eq!(kept.cache.len(), 1);
        kept.take(told(66, 66..67));
        assert_eq!(kept.cache.len(), 2, "the next ones stand beside it");
    }

    #[test]
    fn what_a_fold_wrote_is_no_reason_for_the_next() {
        for tickets in [3_000, 65_000] {
            let mut kept = Kept::default();
            kept.take(ChangesAnswer { more: true, ..told(1, 0..tickets) });
            kept.take(told(2, 0..1));
            let folded = kept.cache.len();
            for serial in 3..=66 {
                let (answer, held) = (told(serial, 0..1), kept.cache.len());
                kept.take(answer);
                assert_eq!(kept.cache.len(), held + 1, "one page more of {folded}");
            }
            assert_eq!(kept.restart(), [0; 0]);
            kept.take(told(67, 0..1));
            let expected = if folded > 64 { folded + 65 } else { folded };
            assert_eq!(
                kept.cache.len(),
                expected,
                "as after a restart: folded anew after 64 pages, or as many as it wrote"
            );
        }
    }

    #[test]
    fn of_a_whole_in_several_pages_nothing_is_believed_without_all_of_them() {
        let mut whole = Kept::default();
        whole.take(ChangesAnswer { more: true, ..told(1, 0..2_500) });
        assert!(whole.cache.is_empty() && whole.feed.cursor().is_none(), "there is more to come");
        whole.take(told(2, 0..1));
        let known = whole.known(0..2_501, 2);
        assert_eq!(whole.cache.len(), 3, "at most a thousand tickets a page");
        for lost in whole.cache.keys().copied().collect::<Vec<_>>() {
            let mut holed = Kept { feed: Feed::default(), cache: whole.cache.clone() };
            holed.cache.remove(&lost);
            holed.restart();
            assert!(holed.feed.cursor().is_none() && holed.feed.ticket(&id(1)).is_none(), "without page {lost}");
        }
        assert_eq!(whole.restart(), [0; 0]);
        assert_eq!(whole.known(0..2_501, 2), known);
        assert_eq!(whole.feed.ticket(&id(0)).unwrap().serial, 2, "told of once more");
        assert_eq!(whole.feed.ticket(&id(2_499)).unwrap().serial, 1);
    }

    #[test]
    fn a_page_that_is_part_of_nothing_is_of_no_use() {
        let page =
            CachedPage { from: String::new(), body: to_text(&told(1, 0..1)), part: Some((0, 0)), serials: vec![] };
        let mut kept = Kept { feed: Feed::default(), cache: BTreeMap::from([(1, page)]) };
        assert_eq!(kept.restart(), [1]);
    }

    #[test]
    fn a_new_epoch_is_asked_for_from_where_the_server_said_and_the_old_view_holds_until_it_is_whole() {
        let mut kept = Kept::default();
        kept.take(told(7, 0..1));
        let begin = Cursor::at(Epoch { restored_at_ms: 2, random: 2 }, 3);
        kept.take(ChangesAnswer { resync: true, cursor: begin.clone(), ..told(0, 0..0) });
        assert_eq!((kept.feed.ask_from(), kept.feed.cursor()), (Some(&begin), Some(&Cursor::at(EPOCH, 7))));
        assert!(kept.feed.ticket(&id(0)).is_some());
        let end = Cursor { serial: 4, ..begin };
        kept.take(ChangesAnswer { cursor: end.clone(), ..told(0, 1..2) });
        assert_eq!((kept.feed.ask_from(), kept.feed.cursor()), (Some(&end), Some(&end)));
        assert!(kept.feed.ticket(&id(0)).is_none() && kept.feed.ticket(&id(1)).is_some());
    }
}
