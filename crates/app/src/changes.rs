//! Changes: what devices learn of each other between two lists (spec §5 `changes`).

pub mod poll;

pub use poll::{ChangesCommand, Polled, poll};
