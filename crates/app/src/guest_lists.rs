//! Guest lists. A promoter's list keeps the promoter's guests separate from others.

pub mod promoter_scope;
pub mod create;
pub mod list;
pub mod update;

pub use create::{NewGuestList, create};
pub use list::list;
pub(crate) use promoter_scope::by_name;
pub use promoter_scope::must_fill;
pub(crate) use update::former_names;
pub use update::{GuestListPatch, update};
