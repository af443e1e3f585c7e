//! Follows the guides of `docs/guides` literally. Each block of shell, SQL and JSON in them runs word for word against
//! the real server and a real PostgreSQL. Only names in the examples are replaced. A block that no test runs fails.

#[allow(dead_code, reason = "each target uses its part of the harness")]
#[path = "../../../server/tests/it/passes/bucket.rs"]
mod bucket;
mod databases;
mod desk;
mod door;
mod events;
mod first_change;
mod guest_list;
mod import;
#[allow(dead_code, reason = "each target uses its part of the harness")]
#[path = "../../../server/tests/it/private_redis.rs"]
mod private_redis;
mod python_scanner;
mod reader;
#[allow(dead_code, reason = "each target uses its part of the harness")]
#[path = "../../../server/tests/it/passes/sink.rs"]
mod sink;
mod supabase;
mod terminal_scanner;
mod venue;
