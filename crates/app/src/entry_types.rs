//! Entry types: kinds of tickets, each with the zone it admits to. The first is the default.

pub mod create;
pub mod list;

pub use create::{NewEntryType, create};
pub use list::list;
