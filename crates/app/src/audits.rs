//! The ledger of who did what (spec D14): a line with every act, read back newest first.

pub mod line;
pub mod anchor;
pub mod list;
pub mod verify;

pub use anchor::anchor;
pub use list::list;
pub use verify::verify;
