//! The ledger of who did what (spec D14). Every act adds a line. Lists show the newest line first.

pub mod actions;
pub mod line;
pub mod anchor;
pub mod list;
pub mod verify;

pub use actions::{ACTIONS, action};
pub use anchor::anchor;
pub use list::list;
pub use verify::verify;
