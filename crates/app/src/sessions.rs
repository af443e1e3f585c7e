//! Sessions: signed-in users. A session's secret is 32 random bytes, stored as SHA-256, and good for 14 days.

pub mod authenticate;
pub mod create;
pub mod delete;
pub mod show;

pub use authenticate::authenticate;
pub use create::{Candidate, NewSession, check, create, look_up};
pub use delete::delete;
pub use show::{Me, show};
