//! Passes: from a guest's row to a QR code in their inbox (S0, spec §6).
//!
//! A use case that makes or changes a guest stores a run beside it, in the same transaction ([`enqueue`]). The run's
//! workflow ([`Delivery`]) has S0's steps: insert-qr-code, generate-qr-png, upload, send-email. The page at a pass's
//! address asks [`show`].

mod delivery_reason;
mod calendar;
mod letter;
mod sending;
mod delivery;
mod mailing;
mod enqueue;
mod show;

pub use crate::picture::{png, svg_path};
pub use crate::words::{escaped, plain, when};
pub use delivery::{Delivery, INSERT_QR_CODE, KIND, SEND_EMAIL, SetUp};
pub use delivery_reason::DeliveryReason;
pub use mailing::{MailState, Mailing};
pub use sending::mail_health;
pub use show::{Pass, opened, show};

pub(crate) use delivery::{is_over, no_pass};
pub(crate) use delivery_reason::{reason_of_change, reason_of_guest};
pub(crate) use enqueue::{enqueue, enqueue_change, enqueue_everybody, reason_of};
pub(crate) use mailing::mailings;
pub(crate) use show::OPENED;
