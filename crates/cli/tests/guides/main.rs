//! The guides of `docs/guides`, followed literally: each block of shell, SQL and JSON that stands in them is run word for
//! word against the real server and a real PostgreSQL, with a reader's own names in the place of the examples'. A block that
//! nobody follows fails.

#[allow(dead_code, reason = "each target uses its part of the harness")]
#[path = "../../../server/tests/it/passes/bucket.rs"]
mod bucket;
mod door;
mod guest_list;
mod import;
mod reader;
#[allow(dead_code, reason = "each target uses its part of the harness")]
#[path = "../../../server/tests/it/passes/sink.rs"]
mod sink;
mod supabase;
