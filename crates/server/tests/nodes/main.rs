//! Tests of several nodes on one PostgreSQL, with a Redis that comes and goes. Each file has one subject.

#[path = "../it/private_redis.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod private_redis;
#[path = "../it/place.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod place;
#[path = "../it/server.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod server;
#[path = "../it/signed.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod signed;
#[path = "../it/device.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod device;

mod pair;
mod batches;
mod live;
mod limit;
mod recent;
mod warning;
mod members;
