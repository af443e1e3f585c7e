//! Organisations. Each owns its own data and sees no other's.

pub mod create;
pub mod letterhead;

pub use create::{NewOrganization, create};
pub use letterhead::{LetterheadPatch, letterhead, update_letterhead};
