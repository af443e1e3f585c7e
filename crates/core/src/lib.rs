//! The pure heart of Admit: no clock, no randomness, no IO, no async, no log (law 1).
//!
//! Modules in reading order; a file imports only from those above it (law 12).

mod words;
pub mod normalize;
pub mod text;
pub mod limits;
pub mod search;
pub mod time;
pub mod barcode;
pub mod ids;
pub mod event;
pub mod gate;
pub mod ticket;
pub mod rule;
pub mod scan;
pub mod review;
pub mod decide;
pub mod incident;
pub mod reduce;
pub mod occupancy;
pub mod view;
pub mod short_code;
pub mod sign;
pub mod state_digest;
pub mod judgement;
pub mod block;
pub mod webhook;
pub mod idempotency;
pub mod fraud;
pub mod audit;
pub mod access;
pub mod rate;
pub mod job;
pub mod pass;
pub mod wire;
pub mod manifest;
pub mod device;
#[cfg(feature = "vectors")]
pub mod vectors;

pub use words::UnknownWord;
