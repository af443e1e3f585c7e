//! Who is inside, and how fast they come.

pub mod area;
pub mod flow;
pub mod show;

pub use area::AreaRecount;
pub use flow::{Flow, flow};
pub use show::{Inside, show};
