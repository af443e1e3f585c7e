//! The rows that an import will write, and what its report says about them.

use std::collections::BTreeMap;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::TicketId;
use admit_core::limits::IMPORT_ERRORS;
use admit_core::rule::TicketChange;

use super::questions::{Question, Questions};
use super::rows::{LeftOut, Wanted};
use super::shown::{Becomes, ShownRows};
use crate::checks::Checks;
use crate::passes::DeliveryReason;
use crate::records::{EntryTypeRecord, GuestListRecord, GuestRecord, TicketRecord};
use crate::tickets::put::Fresh;

/// A wrong field of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// The line of the file, from 1.
    pub line: u64,
    /// The column's name, such as `party_size`.
    pub field: String,
    /// The fault and the right value of the field, in words.
    pub message: String,
}

/// A ticket and its guest as they were before the import changed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// The ticket as it was.
    pub ticket: TicketRecord,
    /// The guest who held the ticket. Absent if nobody did.
    pub guest: Option<GuestRecord>,
}

/// The rows to write, and the numbers for the report.
#[derive(Debug, Default)]
pub struct Plan {
    /// New tickets with their guests.
    pub create: Vec<Fresh>,
    /// Tickets with new values.
    pub tickets: Vec<TicketRecord>,
    /// Guests with new values.
    pub guests: Vec<GuestRecord>,
    /// Guests for tickets that had none.
    pub new_guests: Vec<GuestRecord>,
    /// The rule changes of tickets.
    pub changes: Vec<(TicketId, TicketChange)>,
    /// Guest lists to create.
    pub new_lists: Vec<GuestListRecord>,
    /// Entry types to create.
    pub new_types: Vec<EntryTypeRecord>,
    /// Guests, by id, to whom a pass may be mailed, with the reason.
    pub passes: Vec<(String, DeliveryReason)>,
    /// Codes for tickets that an earlier file brought without one.
    pub codes: Vec<(BarcodeHash, TicketId)>,
    /// Tickets of an import that was undone, which this import restores.
    pub revived: Vec<TicketId>,
    /// The rows to change, as they were before.
    pub before: Vec<Before>,
    /// Number of rows whose ticket or guest changes.
    pub updated: usize,
    /// Number of rows that equal what is stored.
    pub unchanged: usize,
    /// Number of rows that the export calls valid although a person voided or refunded the ticket in Admit. The
    /// person's decision stays.
    pub kept: usize,
    /// Products that are no entry types of the event, with their number of rows. These rows get the event's first type.
    pub unknown_types: BTreeMap<String, usize>,
    /// Reasons why rows are left out, with their number of rows.
    pub left_out: BTreeMap<LeftOut, usize>,
    /// Number of rows that repeat another row. Their guest is created once.
    pub joined: usize,
    /// The questions that the file leaves open.
    pub questions: Questions,
    /// Number of rows that wait for an answer.
    pub asked: usize,
    /// The first wrong fields, in order of line.
    pub errors: Vec<RowError>,
    /// Number of lines that have a wrong field.
    pub wrong_lines: usize,
    /// Number of these lines that a spreadsheet damaged.
    pub damaged: usize,
    /// The first rows of each kind, as a dry run shows them.
    pub shown: ShownRows,
}

impl Plan {
    /// Whether there is anything to write.
    pub fn writes(&self) -> bool {
        self.created() > 0 || self.updated > 0
    }
    /// Number of rows that create a ticket, or restore one that was withdrawn.
    pub fn created(&self) -> usize {
        self.create.len() + self.revived.len()
    }
    /// Notes a line that has a wrong field.
    pub fn refuse(&mut self, line: u64, field: &str, message: impl Into<String>) {
        self.wrong_lines += 1;
        if self.errors.len() < IMPORT_ERRORS {
            self.errors.push(RowError { line, field: field.into(), message: message.into() });
        }
    }
    /// Notes a row that is left out.
    pub fn leave_out(&mut self, line: u64, why: LeftOut, row: Option<&Wanted>) {
        self.shown.note(Becomes::LeftOut, line, row, Some(why.words()));
        *self.left_out.entry(why).or_default() += 1;
    }
    /// Notes a row that waits for an answer.
    pub fn ask(&mut self, line: u64, question: Question, row: Option<&Wanted>) {
        self.asked += 1;
        self.shown.note(Becomes::Asked, line, row, Some(question.words()));
        self.questions.ask(question, line);
    }
    /// Notes a line that has wrong fields.
    pub fn wrong(&mut self, line: u64, checks: &Checks) {
        let is_damaged = checks.errors().iter().any(|error| error.message.contains("damaged by"));
        self.damaged += usize::from(is_damaged);
        self.wrong_lines += 1;
        let room = IMPORT_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(checks.errors().iter().take(room).map(|error| RowError {
            line,
            field: error.path.clone(),
            message: error.message.clone(),
        }));
    }
}
