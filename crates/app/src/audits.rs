//! The ledger of who did what (spec D14): a line with every act, read back newest first.

pub mod line;
pub mod list;

pub use list::list;
