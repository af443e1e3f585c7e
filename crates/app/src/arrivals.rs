//! Arrivals: the guests who came through a door last, by name.

pub mod list;

pub use list::{Arrival, ArrivalKind, list, newest};
