//! The overview of an event before and during the doors: its figures, and what is left to do.

pub mod checklist;
pub mod show;

pub use checklist::{Known, State, Step, checklist, devices_needed};
pub use show::{Overview, show};
