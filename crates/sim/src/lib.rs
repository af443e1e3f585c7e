//! The simulator (trust §3): virtual devices with the real engine, a faulty network, wrong clocks, disks that lose
//! unflushed data, crashes at any place, restores of the server. Each seed runs on one thread in virtual time, and all
//! randomness comes from the seed. A run has four phases: faults, healing, quiet, checks.
//!
//! `docs/glossary.md` defines the words and says what `spec §4`, S1, D3, I7 and the like are.

pub mod rng;
mod regressions;
pub mod config;
pub mod trace;
pub mod clock;
pub mod disk;
pub mod coverage;
pub mod mutants;
pub mod fake_phone;
pub mod server;
mod venue;
pub mod record;
pub mod model_server;
pub mod real_server;
pub mod phone;
mod client;
pub mod world;
mod legacy;
mod net;
mod people;
mod check;
mod run;

pub use real_server::{Place, http_factory, store_factory};
pub use regressions::{REGRESSIONS, regressions};
pub use run::{Options, Outcome, Report, embedded, run, run_seed, run_seed_in, run_seeds};
