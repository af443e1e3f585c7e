//! Wire shapes: the only `Serialize` of the crate (law 2). Wire v1 only grows.

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
