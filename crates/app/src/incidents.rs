//! Incidents: what a person must look at, and what they decided.

pub mod list;
pub mod resolve;

pub use list::{ShownIncident, list, show};
pub use resolve::{Resolve, resolve};
