//! The destination of a file's rows: the guest list, and who imports.

use crate::records::GuestListRecord;
use crate::tickets::keys::KeyScope;

/// The destination of rows.
#[derive(Debug, Clone, Default)]
pub struct Destination {
    /// The guest list for rows that name no list. Absent if guests of such rows go on no list.
    pub list: Option<GuestListRecord>,
    /// Whether this is a promoter's file. The import then changes no guest of another list, and the import keys of its
    /// rows belong to the promoter's list alone.
    pub alone: bool,
    /// Whether the rows come from a person's file. The import then looks for damage by spreadsheets, asks about what
    /// the file leaves open, and makes no ticket for rows such as a declined guest's. The cells of a webhook's row are
    /// taken literally.
    pub is_file: bool,
}

impl Destination {
    /// The scope of the rows' import keys.
    pub(crate) fn scope(&self) -> KeyScope {
        match &self.list {
            Some(list) if self.alone => KeyScope::List(list.guest_list_id.clone()),
            _ => KeyScope::Event,
        }
    }
}
