//! The pure core of Admit: it has no clock, no randomness, no IO, no async and no log (law 1).
//!
//! The modules stand in reading order. A file imports only from those above it (law 12).
//!
//! The comments name their sources, and `docs/glossary.md` says what each name is. `spec`, `trust` and `experience` are
//! design documents, and S0, S1 and S2 are the source documents whose requirements Admit meets (`docs/conformance.md`).
//! None of these is in this repository. D1–D19 are decisions of `spec`, and I1–I31 are invariants that the simulator
//! checks. `decision 034` is `docs/decisions/034-….md`. The laws are those of `ARCHITECTURE.md` §3.

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
