//! Statements about imports of files, about remembered mappings, and about tickets withdrawn by undoing an import.

use admit_app::error::{Error, Result};
use admit_app::ports::TxImports;
use admit_app::records::ImportRecord;
use admit_core::ids::{EventId, TicketId};
use admit_core::time::Timestamp;

use crate::driver::{Driver, bulks, statements};
use crate::tx::SqlTx;
use crate::value::{Row, Value};

/// The most imports that a list shows.
const LISTED: u64 = 50;

statements! {
    /// Records an import.
    INSERT_IMPORT = "INSERT INTO imports (organization_id, event_id, import_id, serial, user_id, file_name, created, updated,
        imported_at, undone_at, kept) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    /// Sets the time at which an import was undone.
    UPDATE_IMPORT = "UPDATE imports SET undone_at = $4 WHERE organization_id = $1 AND event_id = $2 AND import_id = $3";
    /// One import.
    IMPORT = "SELECT import_id, event_id, serial, user_id, file_name, created, updated, imported_at, undone_at, kept FROM imports
        WHERE organization_id = $1 AND event_id = $2 AND import_id = $3";
    /// The newest imports of an event, without the values that undoing needs.
    IMPORTS = "SELECT import_id, event_id, serial, user_id, file_name, created, updated, imported_at, undone_at, '' FROM imports
        WHERE organization_id = $1 AND event_id = $2 ORDER BY serial DESC LIMIT $3";
    /// The mapping that was last used for files with the same header (the shape).
    IMPORT_MAPPING = "SELECT mapping FROM import_mappings WHERE organization_id = $1 AND event_id = $2 AND shape = $3";
    /// Remembers a mapping for files with the same header.
    PUT_IMPORT_MAPPING = "INSERT INTO import_mappings (organization_id, event_id, shape, mapping, said_at) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (organization_id, event_id, shape) DO UPDATE SET mapping = excluded.mapping, said_at = excluded.said_at";
    /// Removes tickets from the list of withdrawn tickets.
    RESTORE_TICKETS = "DELETE FROM withdrawn_tickets WHERE organization_id = $1 AND event_id = $2 AND ticket_id IN ($3)";
    /// Which of the given tickets are withdrawn.
    WITHDRAWN_TICKETS = "SELECT ticket_id FROM withdrawn_tickets WHERE organization_id = $1 AND event_id = $2 AND ticket_id IN ($3)";
}
bulks! {
    /// Adds tickets to the list of withdrawn tickets.
    WITHDRAW_TICKETS = "withdrawn_tickets" { organization_id: Text, event_id: Text, ticket_id: Text },
        "ON CONFLICT (organization_id, event_id, ticket_id) DO NOTHING";
}

pub(crate) fn read_import(row: &mut Row) -> Result<ImportRecord> {
    Ok(ImportRecord {
        import_id: row.text()?,
        event_id: row.parsed()?,
        serial: row.count()?,
        user_id: row.parsed()?,
        file_name: row.option(Row::text)?,
        created: row.count()?,
        updated: row.count()?,
        imported_at: row.at()?,
        undone_at: row.option(Row::at)?,
        kept: row.text()?,
    })
}

impl<D: Driver> TxImports for SqlTx<'_, D> {
    fn insert_import(&mut self, import: &ImportRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&import.event_id).into(),
            (&import.import_id).into(),
            import.serial.into(),
            (&import.user_id).into(),
            import.file_name.as_ref().into(),
            import.created.into(),
            import.updated.into(),
            import.imported_at.into(),
            import.undone_at.into(),
            (&import.kept).into(),
        ];
        self.execute(&INSERT_IMPORT, &values).map(|_| ())
    }
    fn update_import(&mut self, import: &ImportRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [(&id).into(), (&import.event_id).into(), (&import.import_id).into(), import.undone_at.into()];
        match self.execute(&UPDATE_IMPORT, &values)? {
            1 => Ok(()),
            _ => Err(Error::NotFound { what: "import" }),
        }
    }
    fn import(&mut self, event_id: &EventId, import_id: &str) -> Result<Option<ImportRecord>> {
        let id = self.organization_id.clone();
        self.one(&IMPORT, &[(&id).into(), event_id.into(), import_id.into()], read_import)
    }
    fn imports(&mut self, event_id: &EventId) -> Result<Vec<ImportRecord>> {
        let id = self.organization_id.clone();
        self.all(&IMPORTS, &[(&id).into(), event_id.into(), LISTED.into()], read_import)
    }
    fn import_mapping(&mut self, event_id: &EventId, shape: &str) -> Result<Option<String>> {
        let id = self.organization_id.clone();
        self.one(&IMPORT_MAPPING, &[(&id).into(), event_id.into(), shape.into()], Row::text)
    }
    fn put_import_mapping(&mut self, event_id: &EventId, shape: &str, mapping: &str, at: Timestamp) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [(&id).into(), event_id.into(), shape.into(), mapping.into(), at.into()];
        self.execute(&PUT_IMPORT_MAPPING, &values).map(|_| ())
    }
    fn withdraw_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<()> {
        let id = self.organization_id.clone();
        let values: Vec<Value<'_>> =
            ticket_ids.iter().flat_map(|ticket_id| [(&id).into(), event_id.into(), ticket_id.into()]).collect();
        self.execute_many(&WITHDRAW_TICKETS, &values)
    }
    fn restore_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<()> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = ticket_ids.iter().map(Value::from).collect();
        self.queue_each(&RESTORE_TICKETS, &[(&id).into(), event_id.into()], &list)
    }
    fn withdrawn_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<Vec<TicketId>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = ticket_ids.iter().map(Value::from).collect();
        self.each(&WITHDRAWN_TICKETS, &[(&id).into(), event_id.into()], &list, Row::parsed)
    }
}
