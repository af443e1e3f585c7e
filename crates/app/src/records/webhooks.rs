//! Webhook endpoints, the messages they received, and the newest known change of each row of a sender's table.

use std::collections::BTreeMap;

use admit_core::ids::EventId;
use admit_core::time::Timestamp;
use admit_core::wire::webhooks::WebhookColumns;

/// An endpoint that receives the rows of an organiser's own table of guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookEndpointRecord {
    /// The endpoint's id, which stands in its address. It is random.
    pub endpoint_id: String,
    /// The event whose guests the endpoint changes.
    pub event_id: EventId,
    /// The endpoint's purpose, in the words of the user who made it.
    pub name: String,
    /// Which column of the sender's table holds which value.
    pub columns: WebhookColumns,
    /// The endpoint's secret, sealed.
    pub sealed_secret: Vec<u8>,
    /// The former secret, sealed, and until when it is still accepted. Absent if there is none.
    pub former: Option<(Vec<u8>, Timestamp)>,
    /// When the endpoint was created.
    pub created_at: Timestamp,
    /// Since when the endpoint takes no messages. Absent if it takes them.
    pub disabled_at: Option<Timestamp>,
    /// The times of its last messages, and the last error.
    pub health: WebhookHealth,
}

/// When an endpoint last accepted and last refused a signed message, and why. A store keeps this apart from the
/// endpoint's settings. So an accepted message cannot overwrite an organiser's change of the settings, nor the other
/// way round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookHealth {
    /// When the last message was accepted. Absent if none was.
    pub received_at: Option<Timestamp>,
    /// When the last message was refused. Absent if none was.
    pub refused_at: Option<Timestamp>,
    /// Why the last refused message was refused. Absent if none was.
    pub problem: Option<String>,
}

/// A message that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookMessageRecord {
    /// The endpoint that received the message.
    pub endpoint_id: String,
    /// The message's id.
    pub webhook_id: String,
    /// SHA-256 of the message's body.
    pub digest: [u8; 32],
    /// The answer to the message.
    pub answer: String,
    /// When the message came.
    pub received_at: Timestamp,
}

/// The newest known change of a row of a sender's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRowRecord {
    /// The endpoint that received the row.
    pub endpoint_id: String,
    /// The row's id in the sender's table.
    pub external_id: String,
    /// The number of the newest known change in the sender's outbox. Absent if the sender gave none.
    pub sequence: Option<u64>,
    /// When the sender made the newest known change, in microseconds since 1970. Absent if the sender did not say.
    pub changed_us: Option<i64>,
    /// When a message said that the sender deleted the row. Nothing is deleted on the server. Absent if none said so.
    pub deleted_at: Option<Timestamp>,
    /// By the name of each field: a short hash of the last value that the sender sent.
    pub said: BTreeMap<String, String>,
}
