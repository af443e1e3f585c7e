//! Devices: pairing, keys, what they tell about themselves.

pub mod authenticate;
pub mod heartbeat;
pub mod log_status;
pub mod pair;
pub mod list;
pub mod revoke;

pub use authenticate::authenticate;
pub use heartbeat::heartbeat;
pub use list::list;
pub use log_status::log_status;
pub use pair::{PairCommand, PairedDevice, pair};
pub use revoke::revoke;
