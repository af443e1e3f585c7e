//! The simulator (trust §3): virtual devices on the real engine, a faulty network, wrong clocks, disks that lose what
//! was not flushed, crashes anywhere, restores of the server. One thread a seed, virtual time, no randomness but the
//! seed's: chaos, then healing, then quiet, then the checks.

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
pub mod ledger;
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
