//! Routes: one file for each noun. A handler extracts, converts, calls one use case, and converts the result
//! (law 3 in ARCHITECTURE.md, section 3).

pub mod health;
pub mod scanning;
pub mod time;
pub mod shape;
pub mod session;
pub mod members;
pub mod api_tokens;
pub mod events;
pub mod gates;
pub mod entry_types;
pub mod guest_lists;
pub mod tickets;
pub mod imports;
pub mod runs;
pub mod guests;
pub mod guest_data;
pub mod check_in;
pub mod letterhead;
pub mod mail;
pub mod mail_templates;
pub mod passes;
pub mod webhook_endpoints;
pub mod webhooks;
pub mod pairing_tokens;
pub mod devices;
pub mod device_rights;
pub mod pairing_requests;
pub mod incidents;
pub mod arrivals;
pub mod overview;
pub mod occupancy;
pub mod statistics;
pub mod scans;
pub mod audit;
pub mod stream;
