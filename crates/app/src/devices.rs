//! Devices: pairing, keys, their reports about themselves, and their right to upload.

pub mod authenticate;
mod assign;
pub mod heartbeat;
pub mod log_status;
pub mod close_log;
pub mod failed_sync;
pub mod request_pairing;
pub mod pair;
pub mod rotate_key;
pub mod list;
pub mod update;
pub mod fleet;
pub mod revoke;
pub mod approve_pairing;
pub mod accept;
pub mod take_back;
pub mod import_log;
pub mod ring;
pub mod resume;

pub use accept::accept;
pub use approve_pairing::{Approved, PairingRequest, approve_pairing, show_request};
pub use authenticate::authenticate;
pub use close_log::close_log;
pub use failed_sync::failed_sync;
pub use fleet::{Fleet, Presence, fleet};
pub use heartbeat::{Heard, heartbeat};
#[cfg(feature = "fuzzing")]
pub use import_log::try_reading_log;
pub use import_log::{ImportedLog, import_log};
pub use list::list;
pub use log_status::log_status;
pub use pair::{Claimed, PairCommand, PairedDevice, claim, organization_of, pair};
pub use request_pairing::{PairingTicket, RequestPairing, request_pairing};
pub use resume::resume;
pub use revoke::revoke;
pub use ring::ring;
pub use rotate_key::rotate_key;
pub use take_back::take_back;
pub use update::{DevicePatch, update};
