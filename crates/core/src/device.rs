//! The scanner without IO (spec §3 Log, §4, §5; architecture §5 walk 1).
//!
//! [`Engine::handle`] takes what happened outside ([`crate::wire::engine::Input`]) and answers with what to do
//! ([`crate::wire::engine::Effect`]). Its journal is the only truth: the state after a restart is its rows, read in
//! order. In reading order: the clock, what the rows add up to, what the server told, when to ask it, the list, the
//! names, what it measures, the state, what is known of a code, the verdict, how full it is, the door, bookings, guests added at the door, headcounts, requests, asking
//! before the door opens, uploads, what leaves the journal, guests' names, following the server, the panel, and the
//! engine that ties them.

pub mod clock;
pub mod journal;
mod feed;
mod lane;
mod proofs;
pub mod list;
mod book;
mod figures;
mod state;
mod lookup;
mod verdict;
mod area;
mod door;
mod booking;
mod walk_in;
mod headcount;
mod net;
mod online;
mod upload;
mod purge;
mod asking;
mod names;
mod follow;
mod panel;
mod engine;

pub use self::engine::Engine;
