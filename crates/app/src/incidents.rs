//! Incidents: findings that a person must look at, and the decisions about them.

pub mod list;
pub mod resolve;
pub mod resolve_many;

pub use list::{Counts, ShownIncident, count, list, show};
pub use resolve::{Resolve, resolve};
pub use resolve_many::{Resolved, resolve_many};
