//! Organisations: each owns all that is its own.

pub mod create;
pub mod letterhead;

pub use create::{NewOrganization, create};
pub use letterhead::{LetterheadPatch, letterhead, update_letterhead};
