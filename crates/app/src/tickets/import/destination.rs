//! Where the rows of a file go, and whose they are.

use crate::records::GuestListRecord;
use crate::tickets::keys::KeyScope;

/// Where rows go.
#[derive(Debug, Clone, Default)]
pub struct Destination {
    /// The list of rows that name none.
    pub list: Option<GuestListRecord>,
    /// A promoter's file: no guest of another list is touched, and its keys are that list's own.
    pub alone: bool,
    /// Whether the rows are a person's file. Then the import looks for damage that a spreadsheet did, asks about
    /// what the file leaves open, and makes no ticket for a guest who is not to come in. A row of a feed is taken
    /// at its word.
    pub is_file: bool,
}

impl Destination {
    /// The scope of the rows' keys.
    pub(crate) fn scope(&self) -> KeyScope {
        match &self.list {
            Some(list) if self.alone => KeyScope::List(list.guest_list_id.clone()),
            _ => KeyScope::Event,
        }
    }
}
