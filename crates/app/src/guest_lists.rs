//! Guest lists: a promoter's own guests, kept apart.

pub mod theirs;
pub mod create;
pub mod list;

pub use create::{NewGuestList, create};
pub use list::list;
pub use theirs::must_fill;
