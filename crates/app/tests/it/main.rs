//! Tests of the use cases, one file per noun. They run on the embedded store in memory, or with
//! `ADMIT_TEST_STORE=postgres` on a PostgreSQL that these tests start. Each test sets the time itself.

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
