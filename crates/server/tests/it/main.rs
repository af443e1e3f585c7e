//! The server over real HTTP on loopback. One target: each file is a subject. On the embedded store, or, run with
//! `ADMIT_TEST_STORE=postgres`, on a PostgreSQL and a Redis that it starts for itself.

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
