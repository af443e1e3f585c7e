//! Devices: pairing, keys, what they tell about themselves.

pub mod authenticate;
pub mod heartbeat;
pub mod log_status;
pub mod pair;

pub use authenticate::authenticate;
pub use heartbeat::heartbeat;
pub use log_status::log_status;
pub use pair::{PairCommand, PairedDevice, pair};
