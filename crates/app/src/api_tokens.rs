//! API tokens: a user's key for programs. Shown once, stored as SHA-256, good in a role until its end
//! or until withdrawn.

pub mod create;
pub mod list;
pub mod revoke;

pub use create::{API_TOKEN_DAYS, ApiTokenWish, NewApiToken, create};
pub use list::list;
pub use revoke::revoke;
