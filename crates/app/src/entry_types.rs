//! Entry types: kinds of tickets, each with the zone to which it gives access. The first is the default.

pub mod create;
pub mod list;
pub mod update;

pub use create::{NewEntryType, create};
pub use list::{EntryType, list};
pub use update::{EntryTypePatch, update};
