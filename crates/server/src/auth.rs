//! Authentication. The type of an extractor is the permission: a handler that takes [`user::User`] runs only for a
//! signed-in user.

pub mod session;
pub mod token;
pub mod user;
pub mod webhook;
pub mod device;
pub mod peer;
