//! Rows as stores keep them. Their fields are named by the words of `docs/glossary.md`. They are plain data without
//! rules.

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
