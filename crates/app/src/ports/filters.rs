//! Filters and orders of the lists that a transaction reads.

use admit_core::ids::{DeviceId, EntryTypeId, EventId, GuestListId, TicketId, UserId};
use admit_core::incident::IncidentKind;

use crate::records::IncidentStatus;

/// A search for a guest or a ticket, as a person typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    /// The text as the person typed it.
    pub text: String,
    /// Whether the beginnings of e-mail addresses and ticket codes match too. A caller who may not see those must not
    /// be able to guess them letter by letter. A whole code always matches.
    pub by_contacts: bool,
}

impl From<&str> for Sought {
    fn from(text: &str) -> Self {
        Self { text: text.into(), by_contacts: true }
    }
}

/// Which tickets a list has. An absent member filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TicketFilter {
    /// The text to find. Absent if the list is not searched. It matches as a normalized substring of the guest's name.
    /// It also matches as the start, in upper or lower case, of an id, barcode, external id or order number. A whole
    /// code that the ticket got later matches too.
    pub text: Option<Sought>,
    /// Only tickets with this administrative status.
    pub status: Option<admit_core::ticket::TicketStatus>,
    /// Only tickets with (or without) anybody let in.
    pub entered: Option<bool>,
}

/// The state of a guest, by which a list is filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Somebody of the party is inside now.
    Inside,
    /// Somebody of the party was let in so far.
    Came,
    /// Nobody was let in, and the ticket is neither voided nor refunded.
    NotCome,
    /// The ticket is voided or refunded.
    Voided,
}

impl Standing {
    /// The word for this state in statements.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Came => "came",
            Self::NotCome => "not_come",
            Self::Voided => "voided",
        }
    }
}

/// The state of a guest's newest pass, by which a list is filtered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassMail {
    /// The pass's run gave up: an address or a server refused the mail.
    Refused,
    /// The pass's run is under way or waits for its next try.
    Waiting,
    /// The pass was mailed.
    Sent,
}

impl PassMail {
    /// The word for this state in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Waiting => "waiting",
            Self::Sent => "sent",
        }
    }
    /// Reads the word that [`PassMail::as_str`] writes. `None` for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Refused, Self::Waiting, Self::Sent].into_iter().find(|mail| mail.as_str() == word)
    }
}

/// The order of a list of guests. A cursor of a page in one order cannot be used for a page in another order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GuestSort {
    /// By the normalized name, from A to Z.
    #[default]
    Name,
    /// By the newest entry, newest first; guests who never came are last.
    Last,
    /// By when the guests were added, newest first.
    Added,
}

impl GuestSort {
    /// The word for this order in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Last => "last",
            Self::Added => "added",
        }
    }
    /// Reads the word that [`GuestSort::as_str`] writes. `None` for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Name, Self::Last, Self::Added].into_iter().find(|sort| sort.as_str() == word)
    }
}

/// Which guests a list has. An absent member filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestFilter {
    /// The text to find. It matches a part of the name, without regard to case and accents. It also matches the start
    /// of an e-mail, an external id or an order number in any case, and a whole ticket code.
    pub text: Option<Sought>,
    /// Only guests on this guest list.
    pub guest_list_id: Option<GuestListId>,
    /// Only guests with this entry type.
    pub entry_type_id: Option<EntryTypeId>,
    /// Only guests on lists of this promoter.
    pub promoter_id: Option<UserId>,
    /// Only guests in this state.
    pub standing: Option<Standing>,
    /// Only guests whose newest pass is in this state.
    pub mail: Option<PassMail>,
}

/// Which scans a list has. An absent member filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanFilter {
    /// Only scans of this ticket.
    pub ticket_id: Option<TicketId>,
    /// Only scans of this device.
    pub device_id: Option<DeviceId>,
    /// Only scans with this outcome by the server's verdict.
    pub outcome: Option<admit_core::scan::Outcome>,
    /// Only scans with (or without) a conflict.
    pub conflict: Option<bool>,
}

impl ScanFilter {
    /// Whether the filter depends on the reducer's verdict.
    pub fn judges(&self) -> bool {
        self.outcome.is_some() || self.conflict.is_some()
    }
}

/// Which incidents a list has. An absent member filters nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IncidentFilter {
    /// Only incidents in this state.
    pub status: Option<IncidentStatus>,
    /// Whether to list only incidents that a person answered and that are not open again.
    pub decided: bool,
    /// Whether to list only kinds that wait in the review queue.
    pub queued: bool,
    /// Only incidents of this kind.
    pub kind: Option<IncidentKind>,
}

impl From<Option<IncidentStatus>> for IncidentFilter {
    /// The filter for incidents of the review queue in this state.
    fn from(status: Option<IncidentStatus>) -> Self {
        Self { status, decided: false, queued: true, kind: None }
    }
}

/// Which runs a list has. An absent member filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs of this event.
    pub event_id: Option<EventId>,
    /// Only runs about this subject, such as a guest's id.
    pub subject: Option<String>,
    /// Only runs in this state.
    pub state: Option<admit_core::job::RunState>,
}
