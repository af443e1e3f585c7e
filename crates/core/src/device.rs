//! The scanner without IO (spec §3 Log, §4, §5; ARCHITECTURE.md §6 walk 1).
//!
//! [`Engine::handle`] takes what happened outside ([`crate::wire::engine::Input`]) and answers with what to do
//! ([`crate::wire::engine::Effect`]). The engine's journal holds everything that must survive a restart. After a
//! restart the engine computes its state from the journal's rows, read in order.
//!
//! The state lies in rooms: structs with private fields, each in a file of its own with the methods that change it. A
//! room calls only rooms above its own in the reading order, so no call leads back to its caller. If
//! a room below must act, a room returns a value that says so, such as an `Act` or a `Refusal`. Only the last five files
//! know all rooms.
//!
//! The modules below stand in reading order:
//!
//! 1. the clock, the journal, the server's changes, the timing of requests, the list, the names, the figures;
//! 2. the session and the effects of an input, the recorder and the purge;
//! 3. the uplink, uploads, the pairing, the catalog of list and changes;
//! 4. the look-up of a code, the counts of the area, heartbeats, guests;
//! 5. the desk that decides, a booking's offer, the verdict, the reader, the PIN;
//! 6. the door, bookings, the guest list, guests added at the door, headcounts, questions to the server;
//! 7. all rooms together, following the server, the schedule of requests, the panel, and the engine.

pub mod clock;
mod own_scan;
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
