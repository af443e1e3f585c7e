//! Finds the guest list that each name in a file means.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{EventId, GuestListId};
use admit_core::normalize::for_identity;
use admit_core::time::Timestamp;

use super::column::Column;
use super::columns::Columns;
use super::frame::Sheet;
use crate::error::{Error, Result};
use crate::guest_lists;
use crate::ports::Tx;
use crate::seeded_ids::SeededIds;

/// The guest lists that the rows of a file name.
#[derive(Debug, Default)]
pub struct Lists {
    meant: BTreeMap<String, GuestListId>,
    new: BTreeSet<GuestListId>,
}

impl Lists {
    /// Finds the guest list that each name in the file means. First it looks for a list with this name. Then it looks
    /// for the list that had the name last, so that a file made before a list was renamed still finds its guests.
    /// Otherwise the import adds a new list. The new id is drawn here, since the keys of the list's rows contain it.
    pub fn load(
        tx: &mut dyn Tx,
        event_id: &EventId,
        sheet: &Sheet,
        columns: &Columns,
        now: Timestamp,
        seeded: &mut SeededIds,
    ) -> Result<Self> {
        let mut out = Self::default();
        let names: BTreeSet<_> = sheet.lines.iter().map(|line| columns.get(line, Column::GuestList)).collect();
        let stored = tx.guest_lists(event_id)?;
        let mut unknown = Vec::new();
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            match guest_lists::by_name(&stored, &name) {
                Some(id) => drop(out.meant.insert(name.into_owned(), id.clone())),
                None => unknown.push(name),
            }
        }
        if unknown.is_empty() {
            return Ok(out);
        }
        let mut others = guest_lists::former_names(tx, event_id, &stored)?;
        for name in unknown {
            let fold = for_identity(&name);
            let id = match others.get(&fold) {
                Some(id) => id.clone(),
                None => {
                    let id = GuestListId::new(seeded.row_id(now)).map_err(|error| Error::Bug(error.to_string()))?;
                    out.new.insert(id.clone());
                    others.insert(fold, id.clone());
                    id
                }
            };
            out.meant.insert(name.into_owned(), id);
        }
        Ok(out)
    }

    /// The list that a name of the file means. `None` if the file does not have the name.
    pub fn id(&self, name: &str) -> Option<&GuestListId> {
        self.meant.get(name)
    }

    /// Whether the import creates this list.
    pub fn is_new(&self, id: &GuestListId) -> bool {
        self.new.contains(id)
    }
}
