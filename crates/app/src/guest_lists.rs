//! Guest lists: a promoter's own guests, kept apart.

pub mod theirs;
pub mod create;
pub mod list;
pub mod update;

pub use create::{NewGuestList, create};
pub use list::list;
pub(crate) use theirs::by_name;
pub use theirs::must_fill;
pub(crate) use update::former_names;
pub use update::{GuestListPatch, update};
