//! The overview of an event, before doors open and while they are open: its figures, and the steps that are left to do.

pub mod checklist;
pub mod show;

pub use checklist::{Known, State, Step, checklist, devices_needed};
pub use show::{Overview, show};
