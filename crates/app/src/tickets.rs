//! Tickets, and the guests who hold them.

pub(crate) mod ids;
pub(crate) mod keys;
mod put;
pub(crate) mod status;
pub mod create;
pub mod list;
pub mod update;
pub mod import;
pub mod export;

pub use create::{NewGuest, NewTicket, create, create_one};
pub use export::export;
#[cfg(feature = "fuzzing")]
pub use import::try_reading;
pub use import::{HowToImport, ImportReport, Mapping, RowError, import};
pub use list::{Listing, Wanted, count, list, show};
pub use update::{TicketPatch, update};

pub(crate) use create::below;
pub(crate) use put::{Fresh, put_new};
pub(crate) use update::apply;
