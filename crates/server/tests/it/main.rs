//! Tests of the server over real HTTP on loopback, with one file per subject. They use the embedded store. With
//! `ADMIT_TEST_STORE=postgres` they use a PostgreSQL and a Redis that they start themselves.

#[allow(dead_code, reason = "each target uses its part of the harness")]
mod private_redis;
mod place;
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod server;
mod signed;
#[allow(dead_code, reason = "each target uses its part of the harness")]
#[path = "../../../cli/tests/scenarios/scanner.rs"]
mod scanner;
mod device;
mod member;
mod frame;
mod auth;
mod malformed;
mod sync;
mod tls;
mod manifest;
mod s1;
mod s2_rows;
mod independent;
mod changes;
mod names;
mod guests_at_the_door;
mod epochs;
mod stream;
mod s2;
mod organiser;
mod rights;
mod passes;
mod webhooks;
mod generated;
