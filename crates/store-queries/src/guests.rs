//! Guests.

use admit_app::error::Result;
use admit_app::ports::{GuestFilter, TxEvents as _};
use admit_app::records::*;
use admit_core::ids::{EventId, GuestId};
use admit_core::search::SearchName;

use crate::driver::{Bulk, Driver, bulks, statements};
use crate::page;
use crate::states::{self, state_columns};
use crate::text::{found_by_name, name_patterns};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

macro_rules! guest_columns {
    () => {
        "g.guest_id, g.event_id, g.ticket_id, g.guest_list_id, g.entry_type_id, g.name, g.email, g.phone, g.party_size, g.note, \
         g.flag, g.external_id, g.created_at, g.updated_at"
    };
}
pub(crate) use guest_columns;
/// Columns of [`guest_columns`].
const COLUMNS: usize = 14;

statements! {
    /// Guests by id, of any event.
    GUESTS_BY_ID = concat!("SELECT ", guest_columns!(), " FROM guests g WHERE g.organization_id = $1 AND g.guest_id IN ($2)");
    /// Serial of the last change.
    NAMES_SERIAL = "SELECT COALESCE(MAX(serial), 0) FROM guests WHERE organization_id = $1 AND event_id = $2";
    /// Holders of tickets, changed after a serial.
    NAMES_SINCE = concat!("SELECT ", guest_columns!(), " FROM guests g CROSS JOIN tickets t
        WHERE t.organization_id = g.organization_id AND t.ticket_id = g.ticket_id AND t.guest_id = g.guest_id
        AND g.organization_id = $1 AND g.event_id = $2 AND g.serial > $3 ORDER BY g.ticket_id");
    /// A page of guests with their tickets' states. $5: text to find, $6 and from $12: its words, $9: whose lists,
    /// $11: the text as e-mails are written.
    GUESTS = concat!("SELECT ", guest_columns!(), ", ", state_columns!(), " FROM guests g
        LEFT JOIN states s ON s.organization_id = g.organization_id AND s.event_id = g.event_id AND s.subject = 'ticket:' || g.ticket_id
            AND s.scans > 0
        WHERE g.organization_id = $1 AND g.event_id = $2 AND (g.created_at, g.guest_id) < ($3, $4)
        AND (CAST($5 AS TEXT) IS NULL OR ", found_by_name!(6 12 13, 14 15 16, 17 18 19, 20 21 22, 23 24 25, 26 27 28, 29 30 31, 32 33 34), " OR substr(g.email, 1, length(CAST($11 AS TEXT))) = $11
            OR substr(g.external_id, 1, length($5)) = $5)
        AND (CAST($7 AS TEXT) IS NULL OR g.guest_list_id = $7) AND (CAST($8 AS BOOLEAN) IS NULL OR (COALESCE(s.persons, 0) > 0) = $8)
        AND (CAST($9 AS TEXT) IS NULL OR g.guest_list_id IN (SELECT l.guest_list_id FROM guest_lists l
            WHERE l.organization_id = g.organization_id AND l.event_id = g.event_id AND l.promoter_id = $9))
        ORDER BY g.created_at DESC, g.guest_id DESC LIMIT $10");
}
bulks! {
    /// Makes guests.
    INSERT_GUESTS = "guests" {
        organization_id: Text, guest_id: Text, event_id: Text, ticket_id: Text, guest_list_id: Text, entry_type_id: Text,
        name: Text, folded: Text, words: Text, email: Text, phone: Text, party_size: Int, note: Text, flag: Text, external_id: Text,
        created_at: Int, updated_at: Int, serial: Int,
    };
    /// Overwrites guests.
    UPDATE_GUESTS = "guests" {
        organization_id: Text, guest_id: Text, event_id: Text, ticket_id: Text, guest_list_id: Text, entry_type_id: Text,
        name: Text, folded: Text, words: Text, email: Text, phone: Text, party_size: Int, note: Text, flag: Text, external_id: Text,
        created_at: Int, updated_at: Int, serial: Int,
    }, "ON CONFLICT (organization_id, guest_id) DO UPDATE SET ticket_id = excluded.ticket_id,
        guest_list_id = excluded.guest_list_id, entry_type_id = excluded.entry_type_id, name = excluded.name,
        folded = excluded.folded, words = excluded.words, email = excluded.email, phone = excluded.phone, party_size = excluded.party_size,
        note = excluded.note, flag = excluded.flag, external_id = excluded.external_id, updated_at = excluded.updated_at, serial = excluded.serial";
}

fn read_guest(row: &mut Row) -> Result<GuestRecord> {
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
        external_id: row.option(Row::text)?,
        created_at: row.at()?,
        updated_at: row.at()?,
    })
}
/// A guest that was joined to another row, if there is one.
pub(crate) fn read_joined(row: &mut Row) -> Result<Option<GuestRecord>> {
    row.joined(COLUMNS, read_guest)
}

impl<D: Driver> SqlTx<'_, D> {
    pub(crate) fn put_guests(&mut self, bulk: &'static Bulk, guests: &[GuestRecord]) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values: Vec<Value<'_>> = Vec::with_capacity(guests.len() * 18);
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
                guest.external_id.as_ref().into(),
                guest.created_at.into(),
                guest.updated_at.into(),
                serial.into(),
            ]);
        }
        self.execute_many(bulk, &values)
    }
    pub(crate) fn load_guests(&mut self, guest_ids: &[GuestId]) -> Result<Vec<GuestRecord>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = guest_ids.iter().map(Value::from).collect();
        let mut guests = self.each(&GUESTS_BY_ID, &[(&id).into()], &list, read_guest)?;
        guests.sort_by(|a, b| a.guest_id.cmp(&b.guest_id));
        guests.dedup_by(|a, b| a.guest_id == b.guest_id);
        Ok(guests)
    }
    pub(crate) fn names_serial_of(&mut self, event_id: &EventId) -> Result<u64> {
        let id = self.organization_id.clone();
        Ok(self.one(&NAMES_SERIAL, &[(&id).into(), event_id.into()], Row::count)?.unwrap_or_default())
    }
    pub(crate) fn names_after(&mut self, event_id: &EventId, serial: u64) -> Result<Vec<GuestRecord>> {
        let id = self.organization_id.clone();
        self.all(&NAMES_SINCE, &[(&id).into(), event_id.into(), serial.into()], read_guest)
    }
    pub(crate) fn page_of_guests(
        &mut self,
        event_id: &EventId,
        filter: &GuestFilter,
        page: &Page,
    ) -> Result<Listed<(GuestRecord, Option<StateRecord>)>> {
        let id = self.organization_id.clone();
        let from = page::from(page)?;
        let mut name = name_patterns(filter.text.as_deref()).into_iter();
        let mut values: Vec<Value<'_>> = vec![
            (&id).into(),
            event_id.into(),
            from.number.into(),
            from.id.into(),
            filter.text.as_ref().into(),
            name.next().unwrap_or(Value::Null),
            filter.guest_list_id.as_ref().into(),
            filter.entered.into(),
            filter.promoter_id.as_ref().into(),
            page::limit(page).into(),
            filter.text.as_ref().map(|text| text.to_lowercase()).into(),
        ];
        values.extend(name);
        let items = self.all(&GUESTS, &values, |row| Ok((read_guest(row)?, states::read_joined(row)?)))?;
        Ok(page::listed(page, items, |(guest, _)| (guest.created_at.ms(), guest.guest_id.to_string())))
    }
}
