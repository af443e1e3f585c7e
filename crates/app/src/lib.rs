//! One function per use case, the jobs, and the ports they need. No HTTP, no SQL.
//!
//! Modules in reading order; a file imports only from those above it (law 12).

pub mod error;
pub mod records;
pub mod secret;
pub mod draw;
pub mod cache;
pub mod ports;
pub mod caller;
pub mod scans;
pub mod epochs;
pub mod devices;
pub mod manifests;
pub mod changes;
