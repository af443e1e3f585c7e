//! Organisations: each owns all that is its own.

pub mod create;

pub use create::{NewOrganization, create};
