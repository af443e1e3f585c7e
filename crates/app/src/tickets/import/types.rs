//! Which entry type each name in a file means.

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
    /// None of the event's, and its rows are of the first.
    First,
    /// None of the event's, and its rows are left out.
    LeftOut,
    /// None of the event's, and nobody may make one.
    Nothing,
}

/// The entry types that the rows of a file may be of.
#[derive(Debug, Default)]
pub struct Types {
    known: Vec<EntryTypeRecord>,
    /// Those that the event lacks, in the order in which the file names them.
    pub new: Vec<EntryTypeRecord>,
    /// The treatment of other names; absent: a name that is not known is an error.
    policy: Option<NewTypes>,
}

impl Types {
    /// Of rows that came by another way than a file: the event's own, and no others.
    pub fn of_event(known: &[EntryTypeRecord]) -> Self {
        Self { known: known.to_vec(), ..Self::default() }
    }

    /// The entry types of a file. New ones have the zone of the event's first type, so that their holders come in
    /// where guests do.
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
                // Rather no kinds of tickets than a column of something else: the rows say so.
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
    /// The event's first type, which guests are of where nothing else is said.
    pub fn first(&self) -> Option<&EntryTypeRecord> {
        self.known.first().or(self.new.first())
    }
    /// The type whose tickets are of a zone.
    pub fn of_zone(&self, zone: &str) -> Option<&EntryTypeRecord> {
        self.known.iter().chain(&self.new).find(|one| one.zone == zone)
    }
    /// The name of a type by its id.
    pub fn name(&self, id: &EntryTypeId) -> Option<&str> {
        self.known.iter().chain(&self.new).find(|one| one.entry_type_id == *id).map(|one| one.name.as_str())
    }
    /// Their names, for an error that lists them.
    pub fn listed(&self) -> String {
        self.known.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Meant<'_> {
    fn is_known(self) -> bool {
        matches!(self, Self::One(_))
    }
}
