//! The demo: a live event with 20,000 tickets (spec §8).

mod names;
mod guests;
pub mod seed;

pub use seed::{Seeded, is_of_others, seed};
