//! The types that are written and read as JSON. No other module of the crate implements `Serialize` (law 2). Later
//! versions may add fields to the wire format v1, and remove or rename none.

pub mod bounded;
pub mod ids;
mod tree;
pub mod guests;
pub mod engine;
pub(crate) mod hex;
pub mod problem;
mod text;
pub mod stored;
pub mod scanning;
pub mod scans;
pub mod check_in;
pub mod webhooks;
pub mod journal;
pub mod manifest;
