//! API tokens: a user's keys for programs. A token is shown once and stored as SHA-256. It acts in a role, until it
//! expires or is revoked.

pub mod create;
pub mod list;
pub mod revoke;

pub use create::{API_TOKEN_DAYS, ApiTokenWish, NewApiToken, create};
pub use list::list;
pub use revoke::revoke;
