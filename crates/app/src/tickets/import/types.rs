//! Finds the entry type that each name in a file means.

use std::collections::BTreeMap;

use admit_core::ids::{EntryTypeId, EventId};
use admit_core::limits::IMPORT_NEW_TYPES;
use admit_core::normalize::for_identity;
use admit_core::time::Timestamp;

use super::column::Column;
use super::columns::Columns;
use super::frame::Sheet;
use super::mapping::NewTypes;
use crate::error::{Error, Result};
use crate::records::EntryTypeRecord;
use crate::seeded_ids::SeededIds;

/// The meaning of a name in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant<'a> {
    /// This entry type, which the event has or gets.
    One(&'a EntryTypeRecord),
    /// No entry type of the event. Its rows get the first type.
    First,
    /// No entry type of the event. Its rows are left out.
    LeftOut,
    /// No entry type of the event, and none may be created.
    Nothing,
}

/// The entry types that the rows of a file may have.
#[derive(Debug, Default)]
pub struct Types {
    known: Vec<EntryTypeRecord>,
    /// Types that the event lacks, in the order in which the file names them.
    pub new: Vec<EntryTypeRecord>,
    /// The treatment of type names that the event lacks. Absent means that such a name is an error.
    policy: Option<NewTypes>,
}

impl Types {
    /// The entry types for rows that did not come from a file: only those of the event.
    pub fn of_event(known: &[EntryTypeRecord]) -> Self {
        Self { known: known.to_vec(), ..Self::default() }
    }

    /// The entry types of a file. New ones get the zone of the event's first type, so that their holders come in by the
    /// same gates as other guests.
    pub fn of_file(
        known: &[EntryTypeRecord],
        event_id: &EventId,
        sheet: &Sheet,
        columns: &Columns,
        policy: NewTypes,
        now: Timestamp,
        seeded: &mut SeededIds,
    ) -> Result<Self> {
        let mut out = Self { known: known.to_vec(), new: Vec::new(), policy: Some(policy) };
        if policy != NewTypes::Create || !columns.has(Column::EntryType) {
            return Ok(out);
        }
        let zone = known.first().map_or_else(|| "general".to_owned(), |one| one.zone.clone());
        let mut position = known.iter().map(|one| one.position + 1).max().unwrap_or_default();
        let mut seen = BTreeMap::new();
        for line in &sheet.lines {
            let name = columns.get(line, Column::EntryType);
            if name.is_empty() || seen.insert(for_identity(&name), ()).is_some() || out.meant(&name).is_known() {
                continue;
            }
            if out.new.len() == IMPORT_NEW_TYPES {
                // With so many kinds, the column holds something else than entry types. The rows report it.
                out.policy = None;
                out.new.clear();
                return Ok(out);
            }
            let entry_type_id = EntryTypeId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
            let name = name.into_owned();
            out.new.push(EntryTypeRecord {
                entry_type_id,
                event_id: event_id.clone(),
                name,
                zone: zone.clone(),
                position,
            });
            position += 1;
        }
        Ok(out)
    }

    /// The meaning of a name.
    pub fn meant(&self, text: &str) -> Meant<'_> {
        let is_it = |one: &&EntryTypeRecord| {
            for_identity(&one.name) == for_identity(text) || one.entry_type_id.as_str() == text
        };
        match self.known.iter().chain(&self.new).find(is_it) {
            Some(one) => Meant::One(one),
            None => match self.policy {
                Some(NewTypes::First) => Meant::First,
                Some(NewTypes::LeaveOut) => Meant::LeftOut,
                Some(NewTypes::Create) | None => Meant::Nothing,
            },
        }
    }
    /// The event's first type, which guests get if nothing else is said. `None` if there is none.
    pub fn first(&self) -> Option<&EntryTypeRecord> {
        self.known.first().or(self.new.first())
    }
    /// The type whose tickets have this zone. `None` if there is none.
    pub fn of_zone(&self, zone: &str) -> Option<&EntryTypeRecord> {
        self.known.iter().chain(&self.new).find(|one| one.zone == zone)
    }
    /// The name of an entry type by its id. `None` if the event has no such type.
    pub fn name(&self, id: &EntryTypeId) -> Option<&str> {
        self.known.iter().chain(&self.new).find(|one| one.entry_type_id == *id).map(|one| one.name.as_str())
    }
    /// The names of all types of the event, for an error that lists them.
    pub fn listed(&self) -> String {
        self.known.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Meant<'_> {
    fn is_known(self) -> bool {
        matches!(self, Self::One(_))
    }
}
