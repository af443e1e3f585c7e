//! API tokens: a user's key for programs. Shown once, stored as SHA-256, good until withdrawn.

pub mod create;
pub mod list;
pub mod revoke;

pub use create::{NewApiToken, create};
pub use list::list;
pub use revoke::revoke;
