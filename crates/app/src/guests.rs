//! Guests: persons or parties who hold a ticket.

pub mod create;
pub mod holders;
pub mod list;
pub mod count;
pub mod show;
pub mod timeline;
pub mod update;
pub mod resend;
pub mod resend_many;
pub mod show_code;
pub mod erase;
pub mod copy;
pub mod check_in;
pub mod undo_check_in;

pub use check_in::{CheckIn, check_in};
pub use copy::{GuestCopy, copy};
pub use count::{Counts, count};
pub use create::create;
pub use erase::{erase, erase_due};
pub use holders::{Holder, holders};
pub use list::{GuestState, Listing, Wanted, list};
pub use resend::resend;
pub use resend_many::{Resent, Whom, resend_many};
pub use show::{Shown, show};
pub use show_code::{ShownCode, show_code};
pub use timeline::{Moment, What, timeline};
pub use undo_check_in::undo_check_in;
pub use update::{GuestPatch, update};
