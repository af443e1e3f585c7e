//! The use cases on the embedded store in memory, one file a noun. Time is a number that a test sets.

mod world;
mod accounts;
mod events;
mod gates;
mod tickets;
mod import;
mod exports;
mod guests;
mod devices;
mod scanning;
mod s2;
mod rights;
mod incidents;
mod occupancy;
mod passes;
mod jobs;
mod audits;
mod isolation;
mod demo;
