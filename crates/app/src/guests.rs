//! Guests: who holds a ticket.

pub mod create;
pub mod list;
pub mod update;

pub use create::create;
pub use list::{Listing, list};
pub use update::{GuestPatch, update};
