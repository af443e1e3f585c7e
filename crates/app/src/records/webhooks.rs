//! Webhook endpoints, what came to them, and how far each row of a sender's table is known.

use std::collections::BTreeMap;

use admit_core::ids::EventId;
use admit_core::time::Timestamp;
use admit_core::wire::webhooks::WebhookColumns;

/// An endpoint: where the rows of an organiser's own table of guests come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEndpointRecord {
    /// Id, as its address names it: random.
    pub endpoint_id: String,
    /// Event whose guests it brings.
    pub event_id: EventId,
    /// The endpoint's purpose, in its maker's words.
    pub name: String,
    /// Which column of the sender's table means what.
    pub columns: WebhookColumns,
    /// Its secret, sealed.
    pub sealed_secret: Vec<u8>,
    /// The secret before, sealed, and until when it is good as well.
    pub former: Option<(Vec<u8>, Timestamp)>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when it takes nothing.
    pub disabled_at: Option<Timestamp>,
    /// The times of its last messages, and the last error.
    pub health: WebhookHealth,
}

/// The fate of an endpoint's signed messages. It is changed alone, so that a message and an organiser don't overwrite
/// each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookHealth {
    /// When the last one was taken in.
    pub received_at: Option<Timestamp>,
    /// When the last one was refused.
    pub refused_at: Option<Timestamp>,
    /// The reason of the last refusal; absent where none was refused.
    pub problem: Option<String>,
}

/// A message that was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookMessageRecord {
    /// By which endpoint.
    pub endpoint_id: String,
    /// Its id.
    pub webhook_id: String,
    /// SHA-256 of its body.
    pub digest: [u8; 32],
    /// The answer to the message.
    pub answer: String,
    /// When it came.
    pub received_at: Timestamp,
}

/// How far a row of a sender's table is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRowRecord {
    /// By which endpoint.
    pub endpoint_id: String,
    /// The row's id in the sender's table.
    pub external_id: String,
    /// Place of its newest change in the sender's outbox, where it said one.
    pub sequence: Option<u64>,
    /// When the sender last changed it, in microseconds since 1970, where it said so.
    pub changed_us: Option<i64>,
    /// When the sender's deleting it was told. Deletes nothing here.
    pub deleted_at: Option<Timestamp>,
    /// The last value of each field, as a short hash.
    pub said: BTreeMap<String, String>,
}
