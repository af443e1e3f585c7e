//! Gates: doors where persons go in and out.

pub mod find;
pub mod create;
pub mod list;
pub mod update;
pub mod remove;

pub use create::{NewGate, create};
pub use find::{Gate, all, require};
pub use list::list;
pub use remove::remove;
pub use update::{GatePatch, update};
