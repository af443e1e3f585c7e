//! Statements about tickets and their codes.

use std::collections::{BTreeMap, HashMap};

use admit_app::error::{Error, Result};
use admit_app::ports::{Sought, TicketFilter, TxTickets};
use admit_app::records::{GuestRecord, Listed, Page, ResolvedCode, StateRecord, TicketCounts, TicketRecord};
use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, GateId, OrganizationId, TicketId};
use admit_core::incident::Subject;
use admit_core::short_code::ShortCode;
use admit_core::ticket::{TicketRules, TicketStatus};
use admit_core::wire::stored;

use crate::driver::{Driver, bulks, statements};
use crate::guests::{self, guest_columns};
use crate::page;
use crate::text::{found_by_name, name_patterns};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

macro_rules! ticket_columns {
    () => {
        "t.ticket_id, t.event_id, t.status, t.entry_limit, t.gate_ids, t.zone, t.valid_from, t.expires_at, t.barcode, t.drawn, t.hashes, \
         t.import_key, t.order_id, t.guest_id, t.rules_serial, t.created_at"
    };
}

/// The tickets of an event with their guests. Some codes are stored as a hash only: the search finds these by the whole
/// code or by the short code. The parameters:
///
/// - $3: the text to find; NULL finds every ticket;
/// - $4: the hash of the text;
/// - $5: the text in the form of order ids;
/// - $6 to $29: the patterns of `found_by_name!`, three for each of eight words;
/// - $30 and $31: the first and the last hash with the short code that the text spells;
/// - $32: the text, where the beginning of a code may match.
macro_rules! found_tickets {
    () => {
        concat!(" FROM tickets t
        LEFT JOIN guests g ON g.organization_id = t.organization_id AND g.guest_id = t.guest_id
        WHERE t.organization_id = $1 AND t.event_id = $2
        AND (CAST($3 AS TEXT) IS NULL OR ", found_by_name!(6 7 8, 9 10 11, 12 13 14, 15 16 17, 18 19 20, 21 22 23, 24 25 26, 27 28 29), " OR substr(t.ticket_id, 1, length($3)) = $3
            OR substr(t.barcode, 1, length(CAST($32 AS TEXT))) = $32 OR substr(g.external_id, 1, length($3)) = $3
            OR substr(lower(t.order_id), 1, length(CAST($5 AS TEXT))) = $5
            OR t.ticket_id IN (SELECT c.ticket_id FROM codes c WHERE c.organization_id = $1 AND c.event_id = $2 AND (c.barcode_hash = $4 OR c.barcode_hash BETWEEN $30 AND $31)))
        AND NOT EXISTS (SELECT 1 FROM withdrawn_tickets w WHERE w.organization_id = t.organization_id AND w.event_id = t.event_id AND w.ticket_id = t.ticket_id)")
    };
}

statements! {
    /// One ticket by id, of any event of the organisation.
    TICKET = concat!("SELECT ", ticket_columns!(), " FROM tickets t WHERE t.organization_id = $1 AND t.ticket_id = $2");
    /// Tickets of one event.
    TICKETS_BY_ID = concat!("SELECT ", ticket_columns!(), " FROM tickets t
        WHERE t.organization_id = $1 AND t.event_id = $2 AND t.ticket_id IN ($3)");
    /// Tickets by import key.
    TICKETS_BY_IMPORT_KEY = concat!("SELECT ", ticket_columns!(), " FROM tickets t
        WHERE t.organization_id = $1 AND t.event_id = $2 AND t.import_key IN ($3)");
    /// A page of tickets with guests, before ($33, $34). $35: status.
    TICKETS = concat!("SELECT ", ticket_columns!(), ", ", guest_columns!(), found_tickets!(), "
        AND (t.created_at, t.ticket_id) < ($33, $34)
        AND (CAST($35 AS TEXT) IS NULL OR t.status = $35)
        ORDER BY t.created_at DESC, t.ticket_id DESC LIMIT $36");
    /// Statuses of the tickets that match.
    FOUND_TICKETS = concat!("SELECT t.ticket_id, t.status", found_tickets!());
    /// The tickets that have, or once had, the given codes.
    FIND_CODES = "SELECT barcode_hash, ticket_id FROM codes WHERE organization_id = $1 AND event_id = $2 AND barcode_hash IN ($3)", by 0 of [];
    /// The tickets of codes whose hash lies in a range.
    FIND_CODES_BETWEEN = "SELECT barcode_hash, ticket_id FROM codes WHERE organization_id = $1 AND event_id = $2 AND barcode_hash BETWEEN $3 AND $4 ORDER BY barcode_hash";
    /// Every code of an event with its ticket, by hash.
    MANIFEST_ROWS = concat!("SELECT c.barcode_hash, ", ticket_columns!(), " FROM codes c CROSS JOIN tickets t
        WHERE t.organization_id = c.organization_id AND t.ticket_id = c.ticket_id AND c.organization_id = $1 AND c.event_id = $2 ORDER BY c.barcode_hash");
    /// The codes with their tickets, for tickets whose rules or codes changed after a serial.
    MANIFEST_ROWS_SINCE = concat!("SELECT c.barcode_hash, ", ticket_columns!(), " FROM tickets t CROSS JOIN codes c
        WHERE c.organization_id = t.organization_id AND c.event_id = t.event_id AND c.ticket_id = t.ticket_id AND t.organization_id = $1 AND t.event_id = $2 AND t.rules_serial > $3 ORDER BY c.barcode_hash");
    /// The number of tickets, and of the persons that they admit.
    COUNT_TICKETS = "SELECT COUNT(*) - (SELECT COUNT(*) FROM withdrawn_tickets w WHERE w.organization_id = $1 AND w.event_id = $2),
        CAST(COALESCE(SUM(CASE WHEN status IN ('active', 'used') THEN entry_limit ELSE 0 END), 0) AS BIGINT) FROM tickets WHERE organization_id = $1 AND event_id = $2";
    /// Tickets whose rules changed after (serial, id) and after the rules of $5.
    CHANGED_BY_RULES = concat!("SELECT ", ticket_columns!(), " FROM tickets t
        WHERE t.organization_id = $1 AND t.event_id = $2 AND t.rules_serial >= $3
        AND (t.rules_serial, t.ticket_id) > ($3, $4) AND t.rules_serial > $5
        ORDER BY t.rules_serial, t.ticket_id LIMIT $6");
}
bulks! {
    /// Makes tickets.
    INSERT_TICKETS = "tickets" {
        organization_id: Text, ticket_id: Text, event_id: Text, status: Text, entry_limit: Int, gate_ids: Text, zone: Text,
        valid_from: Int, expires_at: Int, barcode: Text, drawn: Bool, hashes: Blob, import_key: Text, order_id: Text,
        guest_id: Text, rules_serial: Int, created_at: Int,
    };
    /// Overwrites tickets.
    UPDATE_TICKETS = "tickets" {
        organization_id: Text, ticket_id: Text, event_id: Text, status: Text, entry_limit: Int, gate_ids: Text, zone: Text,
        valid_from: Int, expires_at: Int, barcode: Text, drawn: Bool, hashes: Blob, import_key: Text, order_id: Text,
        guest_id: Text, rules_serial: Int, created_at: Int,
    }, "ON CONFLICT (organization_id, ticket_id) DO UPDATE SET status = excluded.status, entry_limit = excluded.entry_limit,
        gate_ids = excluded.gate_ids, zone = excluded.zone, valid_from = excluded.valid_from, expires_at = excluded.expires_at,
        barcode = excluded.barcode, hashes = excluded.hashes, import_key = excluded.import_key, order_id = excluded.order_id, guest_id = excluded.guest_id,
        rules_serial = excluded.rules_serial";
    /// Gives codes to tickets.
    INSERT_CODES = "codes" { organization_id: Text, event_id: Text, barcode_hash: Blob, ticket_id: Text };
}

fn read_ticket(row: &mut Row) -> Result<TicketRecord> {
    Ok(TicketRecord {
        ticket_id: row.parsed()?,
        event_id: row.parsed()?,
        rules: TicketRules {
            status: row.parsed()?,
            entry_limit: row.count()?,
            gate_ids: row.json::<Vec<GateId>>("gate_ids")?,
            zone: row.text()?,
            valid_from: row.option(Row::at)?,
            expires_at: row.option(Row::at)?,
        },
        barcode: row.option(Row::text)?,
        drawn: row.bool()?,
        barcode_hashes: row.blob().and_then(|bytes| split_hashes(&bytes))?,
        import_key: row.option(Row::text)?,
        order_id: row.option(Row::text)?,
        guest_id: row.option(Row::parsed)?,
        rules_serial: row.count()?,
        created_at: row.at()?,
    })
}
/// The ticket of a changed subject, with the serial of the change. `None` if the subject is an unknown code, which has
/// no ticket.
fn ticket_of((serial, key): (u64, String)) -> Option<(TicketId, u64)> {
    Subject::from_key(&key)?.ticket_id().map(|ticket_id| (ticket_id.clone(), serial))
}
/// The parameter values of [`found_tickets`], in order.
fn found_values(organization_id: &OrganizationId, event_id: &EventId, sought: Option<&Sought>) -> Vec<Value<'static>> {
    let text = sought.map(|sought| sought.text.as_str());
    let bytes = |hash: BarcodeHash| hash.0.to_vec();
    let short = text.and_then(ShortCode::read);
    let mut values: Vec<Value<'static>> = vec![
        organization_id.to_string().into(),
        event_id.to_string().into(),
        text.map(str::to_owned).into(),
        text.map(|text| bytes(BarcodeHash::of(text))).into(),
        text.map(str::to_ascii_lowercase).into(),
    ];
    values.extend(name_patterns(text));
    values.push(short.map(|short| bytes(short.least())).into());
    values.push(short.map(|short| bytes(short.greatest())).into());
    values.push(sought.filter(|sought| sought.by_contacts).map(|sought| sought.text.clone()).into());
    values
}
fn split_hashes(bytes: &[u8]) -> Result<Vec<BarcodeHash>> {
    let (hashes, rest) = bytes.as_chunks::<32>();
    if rest.is_empty() {
        Ok(hashes.iter().copied().map(BarcodeHash).collect())
    } else {
        Err(Error::Bug("a ticket's hashes are damaged".into()))
    }
}
fn ticket_values<'a>(organization_id: Value<'a>, ticket: &'a TicketRecord) -> [Value<'a>; 17] {
    let hashes: Vec<u8> = ticket.barcode_hashes.iter().flat_map(|hash| hash.0).collect();
    [
        organization_id,
        (&ticket.ticket_id).into(),
        (&ticket.event_id).into(),
        ticket.rules.status.as_str().into(),
        ticket.rules.entry_limit.into(),
        stored::to_text(&ticket.rules.gate_ids).into(),
        (&ticket.rules.zone).into(),
        ticket.rules.valid_from.into(),
        ticket.rules.expires_at.into(),
        ticket.barcode.as_ref().into(),
        ticket.drawn.into(),
        hashes.into(),
        ticket.import_key.as_ref().into(),
        ticket.order_id.as_ref().into(),
        ticket.guest_id.as_ref().into(),
        ticket.rules_serial.into(),
        ticket.created_at.into(),
    ]
}
fn read_code(row: &mut Row) -> Result<(BarcodeHash, TicketId)> {
    Ok((BarcodeHash(row.hash()?), row.parsed()?))
}
fn read_manifest_row(row: &mut Row) -> Result<(BarcodeHash, TicketRecord)> {
    Ok((BarcodeHash(row.hash()?), read_ticket(row)?))
}

impl<D: Driver> SqlTx<'_, D> {
    fn put_tickets(&mut self, bulk: &'static crate::driver::Bulk, tickets: &[TicketRecord]) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values = Vec::with_capacity(tickets.len() * 17);
        for ticket in tickets {
            values.extend(ticket_values((&id).into(), ticket));
        }
        self.execute_many(bulk, &values)
    }
    fn put_codes<'t>(&mut self, codes: impl IntoIterator<Item = (&'t TicketRecord, &'t BarcodeHash)>) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values = Vec::new();
        for (ticket, hash) in codes {
            values.extend([(&id).into(), (&ticket.event_id).into(), hash.into(), (&ticket.ticket_id).into()]);
        }
        self.execute_many(&INSERT_CODES, &values)
    }
}

impl<D: Driver> SqlTx<'_, D> {
    /// The ticket with a code that has this short code. `None`: no ticket or more than one has it.
    pub(super) fn ticket_of_short_code(&mut self, event_id: &EventId, short: ShortCode) -> Result<Option<TicketId>> {
        let id = self.organization_id.clone();
        let (least, greatest) = (short.least(), short.greatest());
        let range = [(&id).into(), event_id.into(), (&least).into(), (&greatest).into()];
        let mut tickets: Vec<TicketId> =
            self.all(&FIND_CODES_BETWEEN, &range, read_code)?.into_iter().map(|(_, ticket_id)| ticket_id).collect();
        tickets.dedup();
        Ok(tickets.pop().filter(|_| tickets.is_empty()))
    }
}

impl<D: Driver> SqlTx<'_, D> {
    /// Tickets whose newest change is a change by scans and comes after (serial, id). A change by rules up to the
    /// serial `rules_after` does not count, because the device's list has it. Gives at least `limit` tickets if there
    /// are so many.
    pub(crate) fn changed_by_scans(
        &mut self,
        event_id: &EventId,
        after: (u64, Option<&TicketId>),
        rules_after: u64,
        limit: usize,
    ) -> Result<Vec<(TicketRecord, u64)>> {
        // Keys of tickets sort before those of unknown codes, and DEL after both.
        let key = |id: Option<&TicketId>| id.map_or("\u{7f}".to_owned(), |id| Subject::Ticket(id.clone()).key());
        let (mut out, mut from) = (Vec::new(), (after.0, key(after.1)));
        loop {
            let subjects = self.changed_subjects(event_id, (from.0, &from.1), limit)?;
            let at_end = subjects.len() < limit;
            let Some(last) = subjects.last().cloned() else { return Ok(out) };
            let serials: BTreeMap<TicketId, u64> = subjects.into_iter().filter_map(ticket_of).collect();
            let ids: Vec<TicketId> = serials.keys().cloned().collect();
            for ticket in self.tickets_by_id(event_id, &ids)? {
                let serial = serials.get(&ticket.ticket_id).copied().unwrap_or_default();
                if ticket.rules_serial <= serial || ticket.rules_serial <= rules_after {
                    out.push((ticket, serial));
                }
            }
            if at_end || out.len() >= limit {
                return Ok(out);
            }
            from = last;
        }
    }
    /// Tickets whose newest change is a change by rules, comes after (serial, id) and has a serial above `rules_after`.
    /// Gives at least `limit` tickets if there are so many.
    pub(crate) fn changed_by_rules(
        &mut self,
        event_id: &EventId,
        after: (u64, Option<&TicketId>),
        rules_after: u64,
        limit: usize,
    ) -> Result<Vec<(TicketRecord, u64)>> {
        let id = self.organization_id.clone();
        // Identifiers are printable ASCII, so DEL sorts after all of them. It means "everything of this serial is
        // known".
        let after_id = after.1.map_or("\u{7f}".to_owned(), ToString::to_string);
        let (mut out, mut from) = (Vec::new(), (after.0, after_id));
        let rows = i64::try_from(limit).unwrap_or(i64::MAX);
        loop {
            let place = [(&id).into(), event_id.into(), from.0.into(), from.1.as_str().into()];
            let values: Vec<Value<'_>> = place.into_iter().chain([rules_after.into(), rows.into()]).collect();
            let read = self.all(&CHANGED_BY_RULES, &values, read_ticket)?;
            let last =
                read.last().filter(|_| read.len() >= limit).map(|one| (one.rules_serial, one.ticket_id.to_string()));
            let key = |ticket: &TicketRecord| Subject::Ticket(ticket.ticket_id.clone()).key();
            let standings = self.newest_standings(event_id, &read.iter().map(key).collect::<Vec<_>>())?;
            let by_rules = |ticket: &TicketRecord| {
                ticket.rules_serial > standings.get(&key(ticket)).map_or(0, |(serial, _)| *serial)
            };
            out.extend(
                read.into_iter()
                    .filter(by_rules)
                    .map(|ticket| (ticket.rules_serial, ticket))
                    .map(|(at, one)| (one, at)),
            );
            match last.filter(|_| out.len() < limit) {
                Some(last) => from = last,
                None => return Ok(out),
            }
        }
    }
}

impl<D: Driver> TxTickets for SqlTx<'_, D> {
    fn insert_tickets(&mut self, tickets: &[TicketRecord]) -> Result<()> {
        self.put_tickets(&INSERT_TICKETS, tickets)?;
        self.put_codes(tickets.iter().flat_map(|ticket| ticket.barcode_hashes.iter().map(move |hash| (ticket, hash))))
    }
    fn update_tickets(&mut self, tickets: &[TicketRecord]) -> Result<()> {
        let mut by_event: BTreeMap<&EventId, Vec<&TicketRecord>> = BTreeMap::new();
        for ticket in tickets {
            by_event.entry(&ticket.event_id).or_default().push(ticket);
        }
        self.put_tickets(&UPDATE_TICKETS, tickets)?;
        for (event_id, tickets) in by_event {
            let hashes: Vec<BarcodeHash> = tickets.iter().flat_map(|ticket| ticket.barcode_hashes.clone()).collect();
            let known: BTreeMap<BarcodeHash, TicketId> = self.find_codes(event_id, &hashes)?.into_iter().collect();
            let held = tickets.iter().flat_map(|ticket| ticket.barcode_hashes.iter().map(move |hash| (*ticket, hash)));
            // A code of another ticket stays among the new ones, so that the unique key refuses it by its name.
            let new = held.filter(|(ticket, hash)| known.get(hash) != Some(&ticket.ticket_id));
            self.put_codes(new.collect::<Vec<_>>())?;
        }
        Ok(())
    }
    fn ticket(&mut self, ticket_id: &TicketId) -> Result<Option<TicketRecord>> {
        let id = self.organization_id.clone();
        self.one(&TICKET, &[(&id).into(), ticket_id.into()], read_ticket)
    }
    fn tickets_by_id(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<Vec<TicketRecord>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = ticket_ids.iter().map(Value::from).collect();
        let mut tickets = self.each(&TICKETS_BY_ID, &[(&id).into(), event_id.into()], &list, read_ticket)?;
        tickets.sort_by(|a, b| a.ticket_id.cmp(&b.ticket_id));
        tickets.dedup_by(|a, b| a.ticket_id == b.ticket_id);
        Ok(tickets)
    }
    fn tickets(
        &mut self,
        event_id: &EventId,
        filter: &TicketFilter,
        page: &Page,
    ) -> Result<Listed<(TicketRecord, Option<GuestRecord>, Option<StateRecord>)>> {
        let standings = match filter.entered {
            Some(_) => self.standings(event_id)?,
            None => HashMap::new(),
        };
        let came = |ticket: &TicketRecord| {
            let standing = standings.get(&Subject::Ticket(ticket.ticket_id.clone()).key());
            standing.is_some_and(|standing| standing.persons > 0)
        };
        let place = |ticket: &TicketRecord| (ticket.created_at.ms(), ticket.ticket_id.to_string());
        let (mut from, mut found) = (page::from(page)?, Vec::new());
        let rows = page::rows_to_read(page, filter.entered.is_some());
        loop {
            let mut values = found_values(&self.organization_id, event_id, filter.text.as_ref());
            values.extend(from.into_values());
            values.extend([filter.status.map(|status| status.as_str()).into(), rows.into()]);
            let read = self.all(&TICKETS, &values, |row| Ok((read_ticket(row)?, guests::read_joined(row)?)))?;
            let last = read.last().filter(|_| read.len() as i64 == rows).map(|(ticket, _)| place(ticket));
            found.extend(
                read.into_iter().filter(|(ticket, _)| filter.entered.is_none_or(|wanted| came(ticket) == wanted)),
            );
            match last.filter(|_| found.len() <= page.limit) {
                Some((number, id)) => from = page::From { number, id },
                None => break,
            }
        }
        found.truncate(page.limit.saturating_add(1));
        let mut states = self.states_of_tickets(event_id, found.iter().map(|(ticket, _)| &ticket.ticket_id))?;
        let items = found.into_iter().map(|(ticket, guest)| {
            let state = states.remove(&ticket.ticket_id);
            (ticket, guest, state)
        });
        Ok(page::listed(page, items.collect(), |(ticket, _, _)| place(ticket)))
    }
    fn count_found_tickets(&mut self, event_id: &EventId, text: Option<&Sought>) -> Result<TicketCounts> {
        let values = found_values(&self.organization_id, event_id, text);
        let standings = self.standings(event_id)?;
        let mut counts = TicketCounts::default();
        for (ticket_id, status) in self.all(&FOUND_TICKETS, &values, |row| Ok((row.parsed()?, row.parsed()?)))? {
            let came = standings.get(&Subject::Ticket(ticket_id).key()).is_some_and(|standing| standing.persons > 0);
            counts.all += 1;
            counts.came += u64::from(came);
            match status {
                TicketStatus::Active => counts.to_come += u64::from(!came),
                TicketStatus::Voided => counts.voided += 1,
                TicketStatus::Refunded => counts.refunded += 1,
                _ => {}
            }
        }
        Ok(counts)
    }
    fn find_codes(&mut self, event_id: &EventId, hashes: &[BarcodeHash]) -> Result<Vec<(BarcodeHash, TicketId)>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = hashes.iter().map(Value::from).collect();
        let mut codes = self.each(&FIND_CODES, &[(&id).into(), event_id.into()], &list, read_code)?;
        codes.sort();
        codes.dedup();
        Ok(codes)
    }
    fn resolve_codes(&mut self, event_id: &EventId, hashes: &[BarcodeHash]) -> Result<Vec<ResolvedCode>> {
        let codes = self.find_codes(event_id, hashes)?;
        let subjects: Vec<String> = codes.iter().map(|(_, id)| Subject::Ticket(id.clone()).key()).collect();
        let standings = self.newest_standings(event_id, &subjects)?;
        let resolved = codes.into_iter().zip(subjects).map(|((hash, ticket_id), subject)| ResolvedCode {
            hash,
            ticket_id,
            scanned: standings.get(&subject).is_some_and(|(_, standing)| standing.scans > 0),
        });
        Ok(resolved.collect())
    }
    fn manifest_rows(&mut self, event_id: &EventId) -> Result<Vec<(BarcodeHash, TicketRecord)>> {
        let id = self.organization_id.clone();
        self.all(&MANIFEST_ROWS, &[(&id).into(), event_id.into()], read_manifest_row)
    }
    fn manifest_rows_since(&mut self, event_id: &EventId, version: u64) -> Result<Vec<(BarcodeHash, TicketRecord)>> {
        let id = self.organization_id.clone();
        self.all(&MANIFEST_ROWS_SINCE, &[(&id).into(), event_id.into(), version.into()], read_manifest_row)
    }
    fn count_tickets(&mut self, event_id: &EventId) -> Result<(u64, u64)> {
        let id = self.organization_id.clone();
        let counts =
            self.one(&COUNT_TICKETS, &[(&id).into(), event_id.into()], |row| Ok((row.count()?, row.count()?)))?;
        Ok(counts.unwrap_or_default())
    }
    fn tickets_by_import_key(&mut self, event_id: &EventId, keys: &[String]) -> Result<Vec<TicketRecord>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = keys.iter().map(Value::from).collect();
        let mut tickets = self.each(&TICKETS_BY_IMPORT_KEY, &[(&id).into(), event_id.into()], &list, read_ticket)?;
        tickets.sort_by(|a, b| a.ticket_id.cmp(&b.ticket_id));
        tickets.dedup_by(|a, b| a.ticket_id == b.ticket_id);
        Ok(tickets)
    }
    fn insert_guests(&mut self, guests: &[GuestRecord]) -> Result<()> {
        self.put_guests(&guests::INSERT_GUESTS, guests)
    }
    fn update_guests(&mut self, guests: &[GuestRecord]) -> Result<()> {
        self.put_guests(&guests::UPDATE_GUESTS, guests)
    }
}
