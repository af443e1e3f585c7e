//! Rows as the store keeps them, in the domain's words. Plain data: no rules here.

mod clock_time;
mod accounts;
mod devices;
mod events;
mod jobs;
mod mail_templates;
mod scans;
mod tickets;
mod webhooks;

pub use accounts::*;
pub use admit_core::access::Role;
pub use clock_time::*;
pub use devices::*;
pub use events::*;
pub use jobs::*;
pub use mail_templates::*;
pub use scans::*;
pub use tickets::*;
pub use webhooks::*;
