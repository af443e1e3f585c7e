//! Filters and orders of the lists in a transaction.

use admit_core::ids::*;
use admit_core::incident::IncidentKind;

use crate::records::*;

/// A search for a guest or a ticket, as a person typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    /// As it was typed.
    pub text: String,
    /// Whether beginnings of e-mail addresses and of ticket codes find too. A caller who may not see those must not
    /// guess them letter by letter either; a whole code always finds.
    pub by_contacts: bool,
}

impl From<&str> for Sought {
    fn from(text: &str) -> Self {
        Self { text: text.into(), by_contacts: true }
    }
}

/// The tickets to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TicketFilter {
    /// The text to find; absent where the list is not searched. It matches as a folded substring of the guest's
    /// name. It also matches as the start, in either case, of an id, barcode, external id or order number. A
    /// whole code that the ticket was given later matches too.
    pub text: Option<Sought>,
    /// Administrative status.
    pub status: Option<admit_core::ticket::TicketStatus>,
    /// Only those with (or without) anybody let in.
    pub entered: Option<bool>,
}

/// Where a guest stands, as a list is filtered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Somebody of their party is inside now.
    Inside,
    /// Somebody of their party was let in, ever.
    Came,
    /// Nobody was let in, and their ticket is neither voided nor refunded.
    NotCome,
    /// Their ticket is voided or refunded.
    Voided,
}

impl Standing {
    /// The word a statement compares with.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inside => "inside",
            Self::Came => "came",
            Self::NotCome => "not_come",
            Self::Voided => "voided",
        }
    }
}

/// Where the newest pass of a guest is, as a list is filtered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassMail {
    /// Its run gave up: an address or a server refused it.
    Refused,
    /// On its way, or waits to be tried again.
    Waiting,
    /// The pass was mailed.
    Sent,
}

impl PassMail {
    /// The word it is asked for by.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Waiting => "waiting",
            Self::Sent => "sent",
        }
    }
    /// Reads [`PassMail::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Refused, Self::Waiting, Self::Sent].into_iter().find(|mail| mail.as_str() == word)
    }
}

/// The order of a list of guests. A cursor belongs to the order it was given in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GuestSort {
    /// By the normalized name, from A to Z.
    #[default]
    Name,
    /// By the newest entry, newest first; guests who never came are last.
    Last,
    /// By when they were added, newest first.
    Added,
}

impl GuestSort {
    /// The word it is asked for by.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Last => "last",
            Self::Added => "added",
        }
    }
    /// Reads [`GuestSort::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Name, Self::Last, Self::Added].into_iter().find(|sort| sort.as_str() == word)
    }
}

/// The guests to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestFilter {
    /// Part of the name, without regard to case and accents; or the start of an e-mail, an external id or an order number, in
    /// any case; or a whole ticket code.
    pub text: Option<Sought>,
    /// On one list.
    pub guest_list_id: Option<GuestListId>,
    /// Of one entry type.
    pub entry_type_id: Option<EntryTypeId>,
    /// On lists of this promoter alone.
    pub promoter_id: Option<UserId>,
    /// Only those who stand so.
    pub standing: Option<Standing>,
    /// Only those whose newest pass is there.
    pub mail: Option<PassMail>,
}

/// The scans to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanFilter {
    /// Of one ticket.
    pub ticket_id: Option<TicketId>,
    /// Of one device.
    pub device_id: Option<DeviceId>,
    /// With one outcome (the server's).
    pub outcome: Option<admit_core::scan::Outcome>,
    /// With (or without) a conflict.
    pub conflict: Option<bool>,
}

/// The incidents to look for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IncidentFilter {
    /// That stand so.
    pub status: Option<IncidentStatus>,
    /// That a person answered and that are not open again.
    pub decided: bool,
    /// Of kinds that wait in the queue.
    pub queued: bool,
    /// Of this kind.
    pub kind: Option<IncidentKind>,
}

impl From<Option<IncidentStatus>> for IncidentFilter {
    /// The queue's by where they stand.
    fn from(status: Option<IncidentStatus>) -> Self {
        Self { status, decided: false, queued: true, kind: None }
    }
}

/// The runs to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Of one event.
    pub event_id: Option<EventId>,
    /// About one guest, or whatever else the kind's runs are about.
    pub subject: Option<String>,
    /// Standing so.
    pub state: Option<admit_core::job::RunState>,
}
