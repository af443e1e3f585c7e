//! Guests: who holds a ticket.

pub mod create;
pub mod holders;
pub mod list;
pub mod count;
pub mod show;
pub mod timeline;
pub mod update;
pub mod resend;

pub use count::{Counts, count};
pub use create::create;
pub use holders::{Holder, holders};
pub use list::{GuestState, Listing, Wanted, list};
pub use resend::resend;
pub use show::{Shown, show};
pub use timeline::{Moment, What, timeline};
pub use update::{GuestPatch, update};
