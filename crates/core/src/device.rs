//! The scanner without IO (spec §3 Log, §4, §5; ARCHITECTURE.md §6 walk 1).
//!
//! [`Engine::handle`] takes what happened outside ([`crate::wire::engine::Input`]) and answers with what to do
//! ([`crate::wire::engine::Effect`]). The engine's journal holds everything that must survive a restart. The state
//! after a restart is the sum of the journal's rows, read in order.
//!
//! The modules below stand in reading order. First come the clock, the sum of the rows, the server's changes, the
//! timing of requests, the list and the names. Then come the measurements, the state, the look-up of a code, the
//! verdict, and the count of the area. Then come the door, bookings, guests added at the door, headcounts, requests,
//! and asking before the door opens. Last come uploads, purging, guests' names, following the server, the panel, and
//! the engine that uses all of them.

pub mod clock;
pub mod journal;
mod feed;
mod lane;
mod proofs;
pub mod list;
mod book;
mod figures;
mod session;
mod outbox;
mod recorder;
mod purge;
mod uplink;
mod upload;
mod pairing;
mod catalog;
mod lookup;
mod area;
mod heartbeat;
mod guests;
mod desk;
mod offer;
mod verdict;
mod reader;
mod pin;
mod door;
mod booking;
mod guest_list;
mod walk_in;
mod headcount;
mod online;
mod rooms;
mod follow;
mod schedule;
mod panel;
mod engine;

pub use self::engine::Engine;
