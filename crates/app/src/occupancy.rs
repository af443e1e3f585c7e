//! Occupancy: how many persons are inside, and how many come per minute.

pub mod area;
pub mod flow;
pub mod quarters;
pub mod show;

pub use area::AreaRecount;
pub use flow::{Flow, flow};
pub use quarters::quarters;
pub use show::{Inside, show};
