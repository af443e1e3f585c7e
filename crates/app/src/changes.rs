//! Changes: what devices learn about tickets and other devices' scans between two lists (spec §5 `changes`).

pub mod poll;

pub use poll::{ChangesCommand, Polled, poll};
