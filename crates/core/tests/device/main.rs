//! The scanner engine by its rules: a phone with a disk that may lose what was not flushed, a clock that may lie, a
//! network that may fail, and a server that is the bare fact sets and `reduce`.

mod phone;
mod reply;
mod server;
mod area;
mod bookings;
mod clock;
mod door;
mod doors;
mod party;
mod online;
mod overrides;
mod gates;
mod durability;
mod requests;
mod questions;
mod ahead;
mod chunks;
mod guest_list;
mod panel;
mod pace;
mod uploads;
mod unsent;
mod journal;
mod purge;
mod epochs;
mod lists;
mod names;
mod following;
mod figures;
mod revoked;
mod rights;
mod view_law;
mod walk_ins;
mod s1;
mod storm;
