//! From a credential to a caller. Permission is the extractor's type: a handler that takes [`user::User`] cannot be
//! reached without one.

pub mod session;
pub mod token;
pub mod user;
pub mod webhook;
pub mod device;
pub mod peer;
