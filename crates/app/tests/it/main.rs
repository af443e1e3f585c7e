//! The use cases, one file a noun, on the embedded store in memory, or with `ADMIT_TEST_STORE=postgres` on a PostgreSQL that
//! these tests start for themselves. Time is a number that a test sets.

mod home;
mod world;
mod accounts;
mod events;
mod doors;
mod gates;
mod tickets;
mod import;
mod exports;
mod guests;
mod office;
mod devices;
mod scanning;
mod s2;
mod rights;
mod incidents;
mod occupancy;
mod passes;
mod jobs;
mod erasure;
mod audits;
mod isolation;
mod demo;
