//! The simulator (trust §3): virtual devices on the real engine, a faulty network, wrong clocks, disks that lose what
//! was not flushed, crashes anywhere, restores of the server. One thread a seed, virtual time, no randomness but the
//! seed's: chaos, then healing, then quiet, then the checks.

pub mod rng;
mod kept;
pub mod config;
pub mod trace;
pub mod clock;
pub mod disk;
pub mod reach;
pub mod mutants;
pub mod hand;
pub mod server;
mod venue;
pub mod ledger;
pub mod l0;
pub mod l1;
pub mod phone;
mod client;
pub mod world;
mod legacy;
mod net;
mod people;
mod check;
mod run;

pub use kept::{REGRESSIONS, regressions};
pub use l1::{Place, front, home};
pub use run::{Options, Outcome, Report, embedded, run, run_seed, run_seed_in, run_seeds};
