//! The rows that an import is to write, and the report on its rows.

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
use crate::records::*;
use crate::tickets::put::Fresh;

/// A wrong field of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// Line of the file, from 1.
    pub line: u64,
    /// Column by its own name, such as `party_size`.
    pub field: String,
    /// The error and the right value, in words.
    pub message: String,
}

/// A ticket and its holder as they were before the import changed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Before {
    /// The ticket.
    pub ticket: TicketRecord,
    /// The guest who held the ticket; absent where nobody did.
    pub guest: Option<GuestRecord>,
}

/// The rows to write, and the report for a person.
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
    /// The changes of tickets' rules.
    pub changes: Vec<(TicketId, TicketChange)>,
    /// Guest lists that the file names first.
    pub new_lists: Vec<GuestListRecord>,
    /// Entry types that the file names first.
    pub new_types: Vec<EntryTypeRecord>,
    /// Guests, by id, whose pass may go out, and why.
    pub passes: Vec<(String, DeliveryReason)>,
    /// Codes that a later file gives to tickets which came without one.
    pub codes: Vec<(BarcodeHash, TicketId)>,
    /// Tickets of an import that was undone, which this one makes good again.
    pub revived: Vec<TicketId>,
    /// The rows to change, as they were before.
    pub before: Vec<Before>,
    /// Rows whose ticket or guest changes.
    pub updated: usize,
    /// Rows that are stored already as they say.
    pub unchanged: usize,
    /// Rows whose ticket a person voided or refunded here, where an export calls it good: it stays as the person said.
    pub kept: usize,
    /// Products that are no entry types of the event and whose rows are of its first, and how many rows have each.
    pub unknown_types: BTreeMap<String, usize>,
    /// Why rows stay out, and how many do for each reason.
    pub left_out: BTreeMap<LeftOut, usize>,
    /// Rows that say the same as another: the guest comes in once.
    pub joined: usize,
    /// The questions that the file leaves open.
    pub questions: Questions,
    /// Rows that wait for an answer.
    pub asked: usize,
    /// The first wrong fields, by line.
    pub errors: Vec<RowError>,
    /// Lines with a wrong field.
    pub wrong_lines: usize,
    /// Those of them that a spreadsheet damaged.
    pub damaged: usize,
    /// The first rows of each kind, as they will be.
    pub shown: ShownRows,
}

impl Plan {
    /// Whether there is anything to write.
    pub fn writes(&self) -> bool {
        self.created() > 0 || self.updated > 0
    }
    /// Rows that make a ticket, or make one good again that was withdrawn.
    pub fn created(&self) -> usize {
        self.create.len() + self.revived.len()
    }
    /// Notes a line with a wrong field.
    pub fn refuse(&mut self, line: u64, field: &str, message: impl Into<String>) {
        self.wrong_lines += 1;
        if self.errors.len() < IMPORT_ERRORS {
            self.errors.push(RowError { line, field: field.into(), message: message.into() });
        }
    }
    /// Notes a row that stays out.
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
    /// Notes a line with wrong fields.
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
