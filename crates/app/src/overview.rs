//! Where an event stands before and during the doors: the figures of its first page, and what is still to be done.

pub mod checklist;
pub mod show;

pub use checklist::{Known, State, Step, checklist, devices_needed};
pub use show::{Overview, show};
