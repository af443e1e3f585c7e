//! Statements about gates, entry types and guest lists.

use admit_app::error::{Error, Result};
use admit_app::ports::TxGates;
use admit_app::records::{EntryTypeRecord, GuestListRecord};
use admit_core::ids::{EntryTypeId, EventId, GateId};
use admit_core::time::Timestamp;
use admit_core::wire::stored;

use crate::driver::{Driver, statements};
use crate::text::contains;
use crate::tx::SqlTx;
use crate::value::Row;

statements! {
    /// Makes a gate.
    INSERT_GATE = "INSERT INTO gates (organization_id, event_id, gate_id, created_at) VALUES ($1, $2, $3, $4)";
    /// Removes a gate.
    DELETE_GATE = "DELETE FROM gates WHERE organization_id = $1 AND event_id = $2 AND gate_id = $3";
    /// The number of tickets whose `gate_ids`, a JSON list, contain a gate. $3: a LIKE pattern of its id.
    COUNT_TICKETS_OF_GATE = "SELECT COUNT(*) FROM tickets WHERE organization_id = $1 AND event_id = $2 AND gate_ids LIKE $3 ESCAPE '!'";
    /// A row if anybody went in or out at the gate, or was refused there: the flow then has rows of the gate.
    GATE_HAS_FLOW = "SELECT 1 FROM flow WHERE organization_id = $1 AND event_id = $2 AND gate_id = $3 LIMIT 1";
    /// Gates in order of id.
    GATE_IDS = "SELECT gate_id FROM gates WHERE organization_id = $1 AND event_id = $2 ORDER BY gate_id";
    /// Makes an entry type.
    INSERT_ENTRY_TYPE = "INSERT INTO entry_types (organization_id, entry_type_id, event_id, name, zone, position) VALUES ($1, $2, $3, $4, $5, $6)";
    /// Renames an entry type.
    RENAME_ENTRY_TYPE = "UPDATE entry_types SET name = $3 WHERE organization_id = $1 AND entry_type_id = $2";
    /// Entry types by position.
    ENTRY_TYPES = "SELECT entry_type_id, event_id, name, zone, position FROM entry_types
        WHERE organization_id = $1 AND event_id = $2 ORDER BY position, entry_type_id";
    /// Makes a guest list.
    INSERT_GUEST_LIST = "INSERT INTO guest_lists (organization_id, guest_list_id, event_id, name, promoter_id, created_at) VALUES ($1, $2, $3, $4, $5, $6)";
    /// Overwrites a guest list's name and promoter.
    UPDATE_GUEST_LIST = "UPDATE guest_lists SET name = $3, promoter_id = $4 WHERE organization_id = $1 AND guest_list_id = $2";
    /// Guest lists, oldest first.
    GUEST_LISTS = "SELECT guest_list_id, event_id, name, promoter_id, created_at FROM guest_lists
        WHERE organization_id = $1 AND event_id = $2 ORDER BY created_at, guest_list_id";
}

impl<D: Driver> TxGates for SqlTx<'_, D> {
    fn insert_gate(&mut self, event_id: &EventId, gate_id: &GateId, created_at: Timestamp) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [(&id).into(), event_id.into(), gate_id.into(), created_at.into()];
        self.execute(&INSERT_GATE, &values).map(|_| ())
    }
    fn delete_gate(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<()> {
        let id = self.organization_id.clone();
        match self.execute(&DELETE_GATE, &[(&id).into(), event_id.into(), gate_id.into()])? {
            1 => Ok(()),
            _ => Err(Error::NotFound { what: "gate" }),
        }
    }
    fn count_tickets_of_gate(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<u64> {
        let id = self.organization_id.clone();
        let pattern = contains(&stored::to_text(gate_id));
        let values = [(&id).into(), event_id.into(), pattern.into()];
        Ok(self.one(&COUNT_TICKETS_OF_GATE, &values, Row::count)?.unwrap_or_default())
    }
    fn gate_has_flow(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<bool> {
        let id = self.organization_id.clone();
        Ok(self.one(&GATE_HAS_FLOW, &[(&id).into(), event_id.into(), gate_id.into()], |_| Ok(()))?.is_some())
    }
    fn gate_ids(&mut self, event_id: &EventId) -> Result<Vec<GateId>> {
        let id = self.organization_id.clone();
        self.all(&GATE_IDS, &[(&id).into(), event_id.into()], Row::parsed)
    }
    fn insert_entry_type(&mut self, entry_type: &EntryTypeRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&entry_type.entry_type_id).into(),
            (&entry_type.event_id).into(),
            (&entry_type.name).into(),
            (&entry_type.zone).into(),
            entry_type.position.into(),
        ];
        self.execute(&INSERT_ENTRY_TYPE, &values).map(|_| ())
    }
    fn rename_entry_type(&mut self, entry_type_id: &EntryTypeId, name: &str) -> Result<()> {
        let id = self.organization_id.clone();
        self.execute(&RENAME_ENTRY_TYPE, &[(&id).into(), entry_type_id.into(), name.into()]).map(|_| ())
    }
    fn entry_types(&mut self, event_id: &EventId) -> Result<Vec<EntryTypeRecord>> {
        let id = self.organization_id.clone();
        self.all(&ENTRY_TYPES, &[(&id).into(), event_id.into()], |row| {
            Ok(EntryTypeRecord {
                entry_type_id: row.parsed()?,
                event_id: row.parsed()?,
                name: row.text()?,
                zone: row.text()?,
                position: row.int()?,
            })
        })
    }
    fn insert_guest_list(&mut self, list: &GuestListRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&list.guest_list_id).into(),
            (&list.event_id).into(),
            (&list.name).into(),
            list.promoter_id.as_ref().into(),
            list.created_at.into(),
        ];
        self.execute(&INSERT_GUEST_LIST, &values).map(|_| ())
    }
    fn update_guest_list(&mut self, list: &GuestListRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values =
            [(&id).into(), (&list.guest_list_id).into(), (&list.name).into(), list.promoter_id.as_ref().into()];
        match self.execute(&UPDATE_GUEST_LIST, &values)? {
            1 => Ok(()),
            _ => Err(Error::NotFound { what: "guest_list" }),
        }
    }
    fn guest_lists(&mut self, event_id: &EventId) -> Result<Vec<GuestListRecord>> {
        let id = self.organization_id.clone();
        self.all(&GUEST_LISTS, &[(&id).into(), event_id.into()], |row| {
            Ok(GuestListRecord {
                guest_list_id: row.parsed()?,
                event_id: row.parsed()?,
                name: row.text()?,
                promoter_id: row.option(Row::parsed)?,
                created_at: row.at()?,
            })
        })
    }
}
