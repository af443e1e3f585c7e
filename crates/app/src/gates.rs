//! Gates: where persons go in and out.

pub mod find;
pub mod create;
pub mod list;
pub mod update;

pub use create::{NewGate, create};
pub use list::list;
pub use update::{GatePatch, update};
pub use find::{Gate, all, require};
