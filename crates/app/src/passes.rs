//! Passes: from a guest's row to a QR code in their inbox (S0, spec §6).
//!
//! Whatever makes or changes a guest puts a run beside it, in the same transaction ([`enqueue`]). The run's workflow
//! ([`Delivery`]) has S0's steps: insert-qr-code, generate-qr-png, upload, send-email. Who opens a pass's address asks
//! [`show`].

mod why;
mod picture;
mod words;
mod calendar;
mod letter;
mod sending;
mod delivery;
mod mailing;
mod enqueue;
mod show;

pub use delivery::{Delivery, INSERT_QR_CODE, KIND, SEND_EMAIL, SetUp};
pub use mailing::{MailState, Mailing};
pub use picture::{png, svg_path};
pub use sending::mail_health;
pub use show::{Pass, opened, show};
pub use why::Why;
pub use words::{escaped, plain, when};

pub(crate) use delivery::{is_over, no_pass};
pub(crate) use enqueue::{enqueue, enqueue_change, enqueue_everybody, reason_of};
pub(crate) use mailing::mailings;
pub(crate) use show::OPENED;
pub(crate) use why::{why, why_changed};
