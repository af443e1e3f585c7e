//! The rows of a file as they will be after the import. A dry run shows them.

use std::collections::BTreeMap;

use admit_core::ids::EntryTypeId;
use admit_core::limits::IMPORT_SHOWN;

use super::rows::{Cell, LeftOut, Wanted};

/// The effect of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Becomes {
    /// It creates a ticket.
    New,
    /// It changes a ticket or its guest.
    Changed,
    /// It equals what is stored.
    Unchanged,
    /// It is left out.
    LeftOut,
    /// It repeats another row.
    Joined,
    /// It waits for an answer.
    Asked,
}

impl Becomes {
    /// The effect as a stable word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
            Self::LeftOut => "left_out",
            Self::Joined => "joined",
            Self::Asked => "asked",
        }
    }
}

/// A row, as it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRow {
    /// The line of the file.
    pub line: u64,
    /// The effect of the row.
    pub becomes: Becomes,
    /// The guest's name. Absent if the row could not be read.
    pub name: Option<String>,
    /// The guest's e-mail. Absent if the row has none.
    pub email: Option<String>,
    /// Number of persons. Absent if the row does not say.
    pub party_size: Option<u32>,
    /// The entry type. Absent if the row names none.
    pub entry_type_id: Option<EntryTypeId>,
    /// The code. Absent if the row brings none.
    pub barcode: Option<String>,
    /// The reason, in plain words. Absent if there is none.
    pub why: Option<String>,
}

/// The first rows of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownRows(BTreeMap<Becomes, Vec<ShownRow>>);

impl ShownRows {
    /// Adds a row, unless enough of its kind are there.
    pub fn note(&mut self, becomes: Becomes, line: u64, row: Option<&Wanted>, why: Option<String>) {
        let rows = self.0.entry(becomes).or_default();
        if rows.len() == IMPORT_SHOWN {
            return;
        }
        let value = |cell: &Cell<String>| if let Cell::Value(text) = cell { Some(text.clone()) } else { None };
        let guest = row.and_then(|row| row.guest.as_ref());
        rows.push(ShownRow {
            line,
            becomes,
            name: guest.map(|guest| guest.name.clone()),
            email: guest.and_then(|guest| value(&guest.email)),
            party_size: row
                .and_then(|row| if let Cell::Value(persons) = row.party_size { Some(persons) } else { None }),
            entry_type_id: row
                .and_then(|row| if let Cell::Value(id) = &row.entry_type_id { Some(id.clone()) } else { None }),
            barcode: row.and_then(|row| row.barcode.clone()),
            why,
        });
    }
    /// All rows, by kind and line.
    pub fn all(&self) -> impl Iterator<Item = &ShownRow> {
        self.0.values().flatten()
    }
}

impl LeftOut {
    /// The reason as a stable word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Status(_) => "status",
            Self::Total => "total",
            Self::Unassigned => "unassigned",
            Self::Type(_) => "entry_type",
            Self::NoCode => "no_code",
            Self::Nobody => "no_persons",
        }
    }
    /// The word in the file because of which the row is left out, such as `declined`. `None` if there is no such word.
    pub fn about(&self) -> Option<&str> {
        match self {
            Self::Status(text) | Self::Type(text) => Some(text),
            _ => None,
        }
    }
    /// The reason in plain words.
    pub fn words(&self) -> String {
        match self {
            Self::Status(word) => format!("The status is {word}."),
            Self::Total => "The line adds up the lines above it.".into(),
            Self::Unassigned => "The ticket was given to nobody yet.".into(),
            Self::Type(product) => format!("{product} is no entry type of this event."),
            Self::NoCode => "The line has no code.".into(),
            Self::Nobody => "The line is of no persons.".into(),
        }
    }
}
