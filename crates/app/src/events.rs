//! Events: what tickets are scanned for.

pub mod find;
mod days;
pub(crate) mod door;
mod pin;
pub mod create;
pub mod list;
pub mod show;
pub mod update;

pub use create::{NewEvent, create};
pub(crate) use days::days;
pub use find::require;
pub use list::{ListedEvent, list};
pub use show::show;
pub use update::{EventPatch, update};
