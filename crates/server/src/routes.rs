//! Routes, a file a noun. A handler extracts, converts, calls one use case, converts (law 3).

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
pub mod runs;
pub mod guests;
pub mod letterhead;
pub mod passes;
pub mod pairing_tokens;
pub mod devices;
pub mod device_rights;
pub mod pairing_requests;
pub mod incidents;
pub mod occupancy;
pub mod statistics;
pub mod scans;
pub mod audit;
pub mod stream;
