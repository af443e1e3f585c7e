//! Webhooks: endpoints receive the rows of an organiser's own table of guests (spec §5 "Guests and webhooks").

mod secrets;
mod row;
pub mod create;
pub mod list;
pub mod update;
pub mod rotate_secret;
pub mod authenticate;
pub mod refused;
pub mod receive;

pub use authenticate::authenticate;
pub use create::{NewWebhookEndpoint, ShownSecret, create};
pub use list::list;
pub use receive::{Received, receive};
pub use refused::refused;
pub use rotate_secret::rotate_secret;
#[cfg(feature = "fuzzing")]
pub use row::try_reading;
pub use update::{WebhookEndpointPatch, update};
