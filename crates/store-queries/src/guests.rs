//! Statements about guests: storing, searching, listing and counting them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use admit_app::error::{Error, Result};
use admit_app::passes;
use admit_app::ports::{
    GuestFilter, GuestSort, PassMail, Sought, Standing as Wanted, TxEvents as _, TxGuests, TxTickets as _,
};
use admit_app::records::{Fields, GuestCount, GuestRecord, Listed, Page, StateRecord, UnsentPasses};
use admit_core::barcode::{BarcodeHash, candidates};
use admit_core::ids::{EntryTypeId, EventId, GuestId, GuestListId, TicketId, UserId};
use admit_core::incident::Subject;
use admit_core::job::RunState;
use admit_core::search::SearchName;
use admit_core::short_code::ShortCode;
use admit_core::wire::stored::{from_text, to_text};

use crate::driver::{Bulk, Driver, bulks, statements};
use crate::page;
use crate::state_codec::Standing;
use crate::text::{found_by_name, name_patterns};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

macro_rules! guest_columns {
    () => {
        "g.guest_id, g.event_id, g.ticket_id, g.guest_list_id, g.entry_type_id, g.name, g.email, g.phone, g.party_size, g.note, \
         g.flag, g.fields, g.external_id, g.created_at, g.updated_at, g.erased_at"
    };
}
pub(crate) use guest_columns;
/// Columns of [`guest_columns`].
const COLUMNS: usize = 16;

/// The state of the mail with the newest pass of guest `g`, as [`PassMail::as_str`] writes it. $12: the kind of pass
/// runs.
macro_rules! newest_mail {
    () => {
        "(SELECT CASE WHEN r.state = 'gave_up' THEN 'refused' WHEN r.state = 'open' THEN 'waiting' WHEN r.problem IS NULL THEN 'sent' END
            FROM runs r WHERE r.organization_id = g.organization_id AND r.subject = g.guest_id AND r.event_id = g.event_id AND r.kind = $12
            ORDER BY r.created_at DESC, r.run_id DESC LIMIT 1)"
    };
}
/// Guests `g` of a filter with their tickets `t`. Rust checks afterwards who came and who is inside. The parameters:
///
/// - $3: text to find in lower case, $4 and from $13: its words, $5: the text as the start of an e-mail address;
/// - $6: the ticket whose code the text is, $7: guest list, $8: promoter of the lists, $9: entry type;
/// - $10: state of the guest. This condition checks only the part about the ticket: voided or refunded, or neither;
/// - $11: state of the mail with the newest pass.
macro_rules! among_guests {
    () => {
        concat!(
            " FROM guests g
        LEFT JOIN tickets t ON t.organization_id = g.organization_id AND t.ticket_id = g.ticket_id
        WHERE g.organization_id = $1 AND g.event_id = $2
        AND NOT EXISTS (SELECT 1 FROM withdrawn_tickets w WHERE w.organization_id = g.organization_id AND w.event_id = g.event_id AND w.ticket_id = g.ticket_id)
        AND (CAST($3 AS TEXT) IS NULL OR ",
            found_by_name!(4 13 14, 15 16 17, 18 19 20, 21 22 23, 24 25 26, 27 28 29, 30 31 32, 33 34 35),
            " OR substr(g.email, 1, length(CAST($5 AS TEXT))) = $5
            OR substr(lower(g.external_id), 1, length($3)) = $3 OR substr(lower(t.order_id), 1, length($3)) = $3 OR g.ticket_id = $6)
        AND (CAST($7 AS TEXT) IS NULL OR g.guest_list_id = $7)
        AND (CAST($8 AS TEXT) IS NULL OR g.guest_list_id IN (SELECT l.guest_list_id FROM guest_lists l
            WHERE l.organization_id = g.organization_id AND l.event_id = g.event_id AND l.promoter_id = $8))
        AND (CAST($9 AS TEXT) IS NULL OR g.entry_type_id = $9)
        AND CASE CAST($10 AS TEXT) WHEN 'voided' THEN COALESCE(t.status, 'active') IN ('voided', 'refunded')
            WHEN 'not_come' THEN COALESCE(t.status, 'active') NOT IN ('voided', 'refunded') ELSE 1 = 1 END
        AND (CAST($11 AS TEXT) IS NULL OR $11 = ",
            newest_mail!(),
            ")"
        )
    };
}
/// True if no later run of the same kind is about the guest of run `r`.
macro_rules! newest_run {
    () => {
        "NOT EXISTS (SELECT 1 FROM runs later WHERE later.organization_id = r.organization_id AND later.subject = r.subject
            AND later.event_id = r.event_id AND later.kind = r.kind AND (later.created_at, later.run_id) > (r.created_at, r.run_id))"
    };
}
/// Guests `g` that match a text. $3, $5, $6 as in [`among_guests`]; $4 and from $8: the text's words; $7: the promoter
/// of the guests' lists.
macro_rules! sought {
    () => {
        concat!(
            " WHERE g.organization_id = $1 AND g.event_id = $2
        AND NOT EXISTS (SELECT 1 FROM withdrawn_tickets w WHERE w.organization_id = g.organization_id AND w.event_id = g.event_id AND w.ticket_id = g.ticket_id)
        AND (CAST($3 AS TEXT) IS NULL OR ",
            found_by_name!(4 8 9, 10 11 12, 13 14 15, 16 17 18, 19 20 21, 22 23 24, 25 26 27, 28 29 30),
            " OR substr(g.email, 1, length(CAST($5 AS TEXT))) = $5
            OR substr(lower(g.external_id), 1, length($3)) = $3 OR g.ticket_id = $6
            OR g.ticket_id IN (SELECT t.ticket_id FROM tickets t WHERE t.organization_id = $1 AND t.event_id = $2
                AND substr(lower(t.order_id), 1, length($3)) = $3))
        AND (CAST($7 AS TEXT) IS NULL OR g.guest_list_id IN (SELECT l.guest_list_id FROM guest_lists l
            WHERE l.organization_id = $1 AND l.event_id = $2 AND l.promoter_id = $7))"
        )
    };
}
/// A page of the guests that [`among_guests`] finds. `$order`: the condition where the page begins, and the order.
macro_rules! page {
    ($order:literal) => {
        concat!("SELECT ", guest_columns!(), among_guests!(), " AND ", $order, " LIMIT $38")
    };
}
statements! {
    /// Guests by id, of any event.
    GUESTS_BY_ID = concat!("SELECT ", guest_columns!(), " FROM guests g WHERE g.organization_id = $1 AND g.guest_id IN ($2)");
    /// The serial of the newest change of a guest in an event; 0 if the event has no guest.
    NAMES_SERIAL = "SELECT COALESCE(MAX(serial), 0) FROM guests WHERE organization_id = $1 AND event_id = $2";
    /// Guests with a ticket that changed after a serial. Erased guests are left out: they have no name.
    NAMES_SINCE = concat!("SELECT ", guest_columns!(), " FROM guests g CROSS JOIN tickets t
        WHERE t.organization_id = g.organization_id AND t.ticket_id = g.ticket_id AND t.guest_id = g.guest_id
        AND g.organization_id = $1 AND g.event_id = $2 AND g.serial > $3 AND g.erased_at IS NULL ORDER BY g.ticket_id");
    /// A page of guests by name, after (name, id) $36, $37.
    GUESTS_BY_NAME = page!("(g.folded, g.guest_id) > ($36, $37) ORDER BY g.folded, g.guest_id");
    /// A page of guests, newest first.
    GUESTS_NEWEST = page!("(g.created_at, g.guest_id) < ($36, $37) ORDER BY g.created_at DESC, g.guest_id DESC");
    /// The guests of a filter with their tickets.
    FOUND_GUESTS = concat!("SELECT g.guest_id, g.ticket_id", among_guests!());
    /// The columns by which guests are counted. Rust joins them with the states of the tickets
    /// ([`crate::state_codec::Standing`]) and with the rows of `VOID_TICKETS`. A join in SQL would be slow: SQLite
    /// plans without statistics, and would look up each guest's ticket one by one.
    COUNTED_GUESTS = concat!("SELECT g.guest_list_id, g.entry_type_id, g.party_size, g.ticket_id FROM guests g", sought!());
    /// Tickets that are voided or refunded. The index alone answers it.
    VOID_TICKETS = "SELECT t.ticket_id FROM tickets t WHERE t.organization_id = $1 AND t.event_id = $2 AND t.status IN ('voided', 'refunded')";
    /// The number of guests whose newest pass run is not done, by the run's state. $31: the kind of pass runs.
    COUNT_UNSENT = concat!("SELECT r.state, COUNT(*) FROM runs r CROSS JOIN guests g", sought!(), " AND g.guest_id = r.subject
        AND r.organization_id = $1 AND r.event_id = $2 AND r.kind = $31 AND r.state <> 'done' AND ", newest_run!(), " GROUP BY r.state");
    /// The number of guests whose newest pass was mailed. $3: the kind of pass runs.
    COUNT_SENT = concat!("SELECT COUNT(*) FROM runs r WHERE r.organization_id = $1 AND r.event_id = $2 AND r.kind = $3
        AND r.state = 'done' AND r.problem IS NULL AND ", newest_run!());
}
bulks! {
    /// Makes guests.
    INSERT_GUESTS = "guests" {
        organization_id: Text, guest_id: Text, event_id: Text, ticket_id: Text, guest_list_id: Text, entry_type_id: Text,
        name: Text, folded: Text, words: Text, email: Text, phone: Text, party_size: Int, note: Text, flag: Text, fields: Text,
        external_id: Text,
        created_at: Int, updated_at: Int, serial: Int, erased_at: Int,
    };
    /// Overwrites guests.
    UPDATE_GUESTS = "guests" {
        organization_id: Text, guest_id: Text, event_id: Text, ticket_id: Text, guest_list_id: Text, entry_type_id: Text,
        name: Text, folded: Text, words: Text, email: Text, phone: Text, party_size: Int, note: Text, flag: Text, fields: Text,
        external_id: Text,
        created_at: Int, updated_at: Int, serial: Int, erased_at: Int,
    }, "ON CONFLICT (organization_id, guest_id) DO UPDATE SET ticket_id = excluded.ticket_id,
        guest_list_id = excluded.guest_list_id, entry_type_id = excluded.entry_type_id, name = excluded.name,
        folded = excluded.folded, words = excluded.words, email = excluded.email, phone = excluded.phone, party_size = excluded.party_size,
        note = excluded.note, flag = excluded.flag, fields = excluded.fields,
        external_id = excluded.external_id, updated_at = excluded.updated_at, serial = excluded.serial, erased_at = excluded.erased_at";
}

pub(crate) fn read_guest(row: &mut Row) -> Result<GuestRecord> {
    Ok(GuestRecord {
        guest_id: row.parsed()?,
        event_id: row.parsed()?,
        ticket_id: row.option(Row::parsed)?,
        guest_list_id: row.option(Row::parsed)?,
        entry_type_id: row.option(Row::parsed)?,
        name: row.text()?,
        email: row.option(Row::text)?,
        phone: row.option(Row::text)?,
        party_size: row.count()?,
        note: row.option(Row::text)?,
        flag: row.option(Row::text)?,
        fields: read_fields(row)?,
        external_id: row.option(Row::text)?,
        created_at: row.at()?,
        updated_at: row.at()?,
        erased_at: row.option(Row::at)?,
    })
}
fn read_fields(row: &mut Row) -> Result<Fields> {
    let text: String = row.text()?;
    from_text("guest's fields", &text).map_err(|error| Error::Bug(error.to_string()))
}
/// Reads a guest from a row that an outer join may leave empty. `None`: there is no guest.
pub(crate) fn read_joined(row: &mut Row) -> Result<Option<GuestRecord>> {
    row.joined(COLUMNS, read_guest)
}

impl<D: Driver> SqlTx<'_, D> {
    pub(crate) fn put_guests(&mut self, bulk: &'static Bulk, guests: &[GuestRecord]) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(guests.len() * 20);
        for guest in guests {
            let serial = self.stamp(&guest.event_id)?.serial;
            let SearchName { sort, words } = SearchName::new(&guest.name);
            values.extend([
                (&id).into(),
                (&guest.guest_id).into(),
                (&guest.event_id).into(),
                guest.ticket_id.as_ref().into(),
                guest.guest_list_id.as_ref().into(),
                guest.entry_type_id.as_ref().into(),
                (&guest.name).into(),
                sort.into(),
                words.into(),
                guest.email.as_ref().into(),
                guest.phone.as_ref().into(),
                guest.party_size.into(),
                guest.note.as_ref().into(),
                guest.flag.as_ref().into(),
                to_text(&guest.fields).into(),
                guest.external_id.as_ref().into(),
                guest.created_at.into(),
                guest.updated_at.into(),
                serial.into(),
                guest.erased_at.into(),
            ]);
        }
        self.execute_many(bulk, &values)
    }
    /// The parameter values of [`sought`].
    fn seeking<'a>(
        &mut self,
        event_id: &'a EventId,
        text: Option<&'a Sought>,
        promoter_id: Option<&'a UserId>,
    ) -> Result<Vec<Value<'a>>> {
        let by_contacts = text.filter(|sought| sought.by_contacts);
        let text = text.map(|sought| sought.text.as_str());
        let held = self.coded(event_id, text)?.map(|ticket_id| ticket_id.to_string());
        let mut name = name_patterns(text).into_iter();
        let mut values = vec![
            self.organization_id.as_str().to_owned().into(),
            event_id.into(),
            text.map(str::to_ascii_lowercase).into(),
            name.next().unwrap_or(Value::Null),
            by_contacts.map(|sought| sought.text.to_lowercase()).into(),
            held.into(),
            promoter_id.into(),
        ];
        values.extend(name);
        Ok(values)
    }
    /// Finds the ticket whose code a text is. It tries the spellings of the text in the order in which a scanner tries
    /// them, then the short code.
    fn coded(&mut self, event_id: &EventId, text: Option<&str>) -> Result<Option<TicketId>> {
        let Some(text) = text else { return Ok(None) };
        let texts = candidates(text).unwrap_or_default();
        let hashes: Vec<BarcodeHash> = texts.iter().map(|text| BarcodeHash::of(text)).collect();
        let known = self.find_codes(event_id, &hashes)?;
        let first = hashes.iter().find_map(|hash| known.iter().find(|(known, _)| known == hash));
        match (first, ShortCode::read(text)) {
            (Some((_, ticket_id)), _) => Ok(Some(ticket_id.clone())),
            (None, Some(short)) => self.ticket_of_short_code(event_id, short),
            (None, None) => Ok(None),
        }
    }
    /// The parameter values of [`among_guests`].
    fn filtered<'a>(
        &self,
        event_id: &'a EventId,
        filter: &'a GuestFilter,
        coded: &'a Option<TicketId>,
    ) -> Vec<Value<'a>> {
        let by_contacts = filter.text.as_ref().filter(|sought| sought.by_contacts);
        let text = filter.text.as_ref().map(|sought| sought.text.as_str());
        let mut name = name_patterns(text).into_iter();
        let mut values = vec![
            self.organization_id.as_str().to_owned().into(),
            event_id.into(),
            text.map(str::to_ascii_lowercase).into(),
            name.next().unwrap_or(Value::Null),
            by_contacts.map(|sought| sought.text.to_lowercase()).into(),
            coded.as_ref().into(),
            filter.guest_list_id.as_ref().into(),
            filter.promoter_id.as_ref().into(),
            filter.entry_type_id.as_ref().into(),
            filter.standing.map(Wanted::as_str).into(),
            filter.mail.map(PassMail::as_str).into(),
            passes::KIND.into(),
        ];
        values.extend(name);
        values
    }
}

impl<D: Driver> SqlTx<'_, D> {
    /// The guests of a page by name or by when they were added, and one more if there are more. No column says who came
    /// and who is inside, so Rust checks each row, and rows are read until the page is full.
    fn guests_in_order(
        &mut self,
        event_id: &EventId,
        filter: &GuestFilter,
        coded: &Option<TicketId>,
        sort: GuestSort,
        page: &Page,
    ) -> Result<Vec<GuestRecord>> {
        let standings = if checks(filter) { self.standings(event_id)? } else { HashMap::new() };
        let rows = page::rows_to_read(page, checks(filter));
        let (stmt, mut from) = match sort {
            GuestSort::Name => (&GUESTS_BY_NAME, page::from_text(page)?.into_values()),
            GuestSort::Added | GuestSort::Last => (&GUESTS_NEWEST, page::from(page)?.into_values()),
        };
        let mut found = Vec::new();
        loop {
            let mut values = self.filtered(event_id, filter, coded);
            values.extend(from);
            values.push(rows.into());
            let read = self.all(stmt, &values, read_guest)?;
            let next = read.last().filter(|_| read.len() as i64 == rows).map(|last| {
                let id = last.guest_id.to_string().into();
                match sort {
                    GuestSort::Name => [SearchName::new(&last.name).sort.into(), id],
                    GuestSort::Added | GuestSort::Last => [last.created_at.into(), id],
                }
            });
            let stands = |guest: &GuestRecord| stands(filter, standing_of(&standings, guest.ticket_id.as_ref()));
            found.extend(read.into_iter().filter(stands));
            match next.filter(|_| found.len() <= page.limit) {
                Some(next) => from = next,
                None => break,
            }
        }
        found.truncate(page.limit.saturating_add(1));
        Ok(found)
    }
    /// The guests of a page, newest entry first, and one more if there are more. It sorts all guests that match the
    /// filter in memory, because no column holds the newest entry.
    fn guests_last_in(
        &mut self,
        event_id: &EventId,
        filter: &GuestFilter,
        coded: &Option<TicketId>,
        page: &Page,
    ) -> Result<Vec<GuestRecord>> {
        let from = page::from(page)?;
        let standings = self.standings(event_id)?;
        let values = self.filtered(event_id, filter, coded);
        let mut order: Vec<(i64, GuestId)> = Vec::new();
        self.all(&FOUND_GUESTS, &values, |row| {
            let (guest_id, ticket_id): (GuestId, Option<TicketId>) = (row.parsed()?, row.option(Row::parsed)?);
            let standing = standing_of(&standings, ticket_id.as_ref());
            let entered_at = standing.and_then(|standing| standing.entered_at).unwrap_or(-1);
            if stands(filter, standing) && (entered_at, guest_id.as_str()) < (from.number, from.id.as_str()) {
                order.push((entered_at, guest_id));
            }
            Ok(())
        })?;
        order.sort_by(|one, other| other.cmp(one));
        order.truncate(page.limit.saturating_add(1));
        let ids: Vec<GuestId> = order.into_iter().map(|(_, guest_id)| guest_id).collect();
        let mut guests: BTreeMap<GuestId, GuestRecord> =
            self.guests_by_id(&ids)?.into_iter().map(|guest| (guest.guest_id.clone(), guest)).collect();
        Ok(ids.iter().filter_map(|guest_id| guests.remove(guest_id)).collect())
    }
}

/// Whether a filter asks for something that only standings tell.
fn checks(filter: &GuestFilter) -> bool {
    filter.standing.is_some_and(|standing| standing != Wanted::Voided)
}
/// Whether a guest with this standing is in the filter.
fn stands(filter: &GuestFilter, standing: Option<&Standing>) -> bool {
    let came = standing.is_some_and(|standing| standing.persons > 0);
    match filter.standing {
        Some(Wanted::Inside) => standing.is_some_and(|standing| standing.inside > 0),
        Some(Wanted::Came) => came,
        Some(Wanted::NotCome) => !came,
        Some(Wanted::Voided) | None => true,
    }
}
/// The standing of a guest's ticket. `None` if it was not scanned.
fn standing_of<'s>(standings: &'s HashMap<String, Standing>, ticket_id: Option<&TicketId>) -> Option<&'s Standing> {
    standings.get(&Subject::Ticket(ticket_id?.clone()).key())
}

impl<D: Driver> TxGuests for SqlTx<'_, D> {
    fn guests_by_id(&mut self, guest_ids: &[GuestId]) -> Result<Vec<GuestRecord>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = guest_ids.iter().map(Value::from).collect();
        let mut guests = self.each(&GUESTS_BY_ID, &[(&id).into()], &list, read_guest)?;
        guests.sort_by(|a, b| a.guest_id.cmp(&b.guest_id));
        guests.dedup_by(|a, b| a.guest_id == b.guest_id);
        Ok(guests)
    }
    fn names_serial(&mut self, event_id: &EventId) -> Result<u64> {
        let id = self.organization_id.clone();
        Ok(self.one(&NAMES_SERIAL, &[(&id).into(), event_id.into()], Row::count)?.unwrap_or_default())
    }
    fn names_since(&mut self, event_id: &EventId, serial: u64) -> Result<Vec<GuestRecord>> {
        let id = self.organization_id.clone();
        self.all(&NAMES_SINCE, &[(&id).into(), event_id.into(), serial.into()], read_guest)
    }
    fn guests(
        &mut self,
        event_id: &EventId,
        filter: &GuestFilter,
        sort: GuestSort,
        page: &Page,
    ) -> Result<Listed<(GuestRecord, Option<StateRecord>)>> {
        let coded = self.coded(event_id, filter.text.as_ref().map(|sought| sought.text.as_str()))?;
        let found = match sort {
            GuestSort::Last => self.guests_last_in(event_id, filter, &coded, page)?,
            GuestSort::Name | GuestSort::Added => self.guests_in_order(event_id, filter, &coded, sort, page)?,
        };
        let mut states = self.states_of_tickets(event_id, found.iter().filter_map(|guest| guest.ticket_id.as_ref()))?;
        let items = found.into_iter().map(|guest| {
            let state = guest.ticket_id.as_ref().and_then(|ticket_id| states.remove(ticket_id));
            (guest, state)
        });
        let id = |guest: &GuestRecord| guest.guest_id.to_string();
        Ok(match sort {
            GuestSort::Name => {
                page::listed_by_text(page, items.collect(), |(guest, _)| (SearchName::new(&guest.name).sort, id(guest)))
            }
            GuestSort::Added => page::listed(page, items.collect(), |(guest, _)| (guest.created_at.ms(), id(guest))),
            GuestSort::Last => page::listed(page, items.collect(), |(guest, state)| {
                let entry = state.as_ref().and_then(|record| record.state.entries.last());
                (entry.map_or(-1, |entry| entry.at.ms()), id(guest))
            }),
        })
    }
    fn count_guests(
        &mut self,
        event_id: &EventId,
        text: Option<&Sought>,
        promoter_id: Option<&UserId>,
    ) -> Result<Vec<GuestCount>> {
        let values = self.seeking(event_id, text, promoter_id)?;
        let key = [self.organization_id.as_str().to_owned().into(), event_id.into()];
        let standings = self.standings(event_id)?;
        let void: BTreeSet<String> = self.all(&VOID_TICKETS, &key, Row::text)?.into_iter().collect();
        let mut groups: BTreeMap<(Option<GuestListId>, Option<EntryTypeId>), GuestCount> = BTreeMap::new();
        self.all(&COUNTED_GUESTS, &values, |row| {
            let (list, kind) = (row.option(Row::parsed)?, row.option(Row::parsed)?);
            let (persons, ticket_id): (u64, Option<TicketId>) = (row.count()?, row.option(Row::parsed)?);
            let one = groups.entry((list, kind)).or_default();
            let standing = standing_of(&standings, ticket_id.as_ref()).filter(|standing| standing.persons > 0);
            let is_void = ticket_id.as_ref().is_some_and(|id| void.contains(id.as_str()));
            one.guests += 1;
            one.persons += persons;
            one.expected += if is_void { 0 } else { persons };
            one.inside += u64::from(standing.is_some_and(|standing| standing.inside > 0));
            one.came += u64::from(standing.is_some());
            one.not_come += u64::from(standing.is_none() && !is_void);
            one.voided += u64::from(is_void);
            Ok(())
        })?;
        let named = |((guest_list_id, entry_type_id), one)| GuestCount { guest_list_id, entry_type_id, ..one };
        Ok(groups.into_iter().map(named).collect())
    }
    fn count_unsent_passes(
        &mut self,
        event_id: &EventId,
        text: Option<&Sought>,
        promoter_id: Option<&UserId>,
    ) -> Result<UnsentPasses> {
        let mut values = self.seeking(event_id, text, promoter_id)?;
        values.push(passes::KIND.into());
        let mut counts = UnsentPasses::default();
        for (state, count) in self.all(&COUNT_UNSENT, &values, |row| Ok((row.parsed::<RunState>()?, row.count()?)))? {
            match state {
                RunState::Open => counts.waiting = count,
                RunState::GaveUp => counts.refused = count,
                RunState::Done => {}
            }
        }
        Ok(counts)
    }
    fn count_sent_passes(&mut self, event_id: &EventId) -> Result<u64> {
        let id = self.organization_id.clone();
        let values = [(&id).into(), event_id.into(), passes::KIND.into()];
        Ok(self.one(&COUNT_SENT, &values, Row::count)?.unwrap_or_default())
    }
}
