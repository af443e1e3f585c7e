//! One function per use case, the jobs, and the ports they need. The crate has no HTTP and no SQL.
//!
//! The modules stand in reading order. A file imports only from those above it (law 12).
//!
//! `docs/glossary.md` defines the words and says what `spec §4`, S1, D3, I7 and the like are.

pub mod error;
pub mod records;
pub mod secret;
pub mod seeded_ids;
pub mod cache;
pub mod recent;
pub mod unknown_codes;
pub mod job_wakeup;
pub mod scan_activity;
pub mod mail_lane;
pub mod ports;
pub mod caller;
pub mod checks;
mod local_time;
mod words;
mod picture;
pub mod audits;
pub mod jobs;
pub mod mail_templates;
pub mod passes;
pub mod password;
pub mod organizations;
pub mod sessions;
pub mod members;
pub mod api_tokens;
pub mod scans;
pub mod rules;
pub mod events;
pub mod gates;
pub mod entry_types;
pub mod guest_lists;
pub mod tickets;
pub mod guests;
pub mod webhooks;
pub mod epochs;
pub mod occupancy;
pub mod pairing_tokens;
pub mod devices;
pub mod manifests;
pub mod changes;
pub mod incidents;
pub mod arrivals;
pub mod overview;
pub mod demo;

/// The store contract, which each store crate runs.
#[cfg(feature = "suite")]
pub mod store_suite;
