//! Statements about webhook endpoints and the messages that they received.

use admit_app::error::{Error, Result};
use admit_app::ports::TxWebhooks;
use admit_app::records::{
    CredentialKind, CredentialRecord, WebhookEndpointRecord, WebhookHealth, WebhookMessageRecord, WebhookRowRecord,
};
use admit_core::ids::EventId;
use admit_core::sign::token_hash;
use admit_core::time::Timestamp;
use admit_core::wire::stored;

use crate::driver::{Driver, statements};
use crate::tx::SqlTx;
use crate::value::Row;

macro_rules! endpoint_columns {
    () => {
        "endpoint_id, event_id, name, columns, sealed_secret, former_secret, former_until, created_at, disabled_at, \
         received_at, refused_at, problem"
    };
}

statements! {
    /// Makes an endpoint.
    INSERT_WEBHOOK_ENDPOINT = "INSERT INTO webhook_endpoints (organization_id, endpoint_id, event_id, name, columns,
        sealed_secret, former_secret, former_until, created_at, disabled_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    /// Endpoints, newest first.
    WEBHOOK_ENDPOINTS = concat!("SELECT ", endpoint_columns!(), " FROM webhook_endpoints WHERE organization_id = $1
        ORDER BY created_at DESC, endpoint_id DESC");
    /// One endpoint.
    WEBHOOK_ENDPOINT = concat!("SELECT ", endpoint_columns!(), " FROM webhook_endpoints
        WHERE organization_id = $1 AND endpoint_id = $2");
    /// Overwrites an endpoint except its health.
    UPDATE_WEBHOOK_ENDPOINT = "UPDATE webhook_endpoints SET name = $3, columns = $4, sealed_secret = $5, former_secret = $6,
        former_until = $7, disabled_at = $8 WHERE organization_id = $1 AND endpoint_id = $2";
    /// Sets the time at which an endpoint last accepted a message.
    NOTE_WEBHOOK_RECEIVED = "UPDATE webhook_endpoints SET received_at = $3 WHERE organization_id = $1 AND endpoint_id = $2";
    /// Sets the time at which an endpoint last refused a message, and the reason.
    NOTE_WEBHOOK_REFUSED = "UPDATE webhook_endpoints SET refused_at = $3, problem = $4 WHERE organization_id = $1 AND endpoint_id = $2";
    /// A message that was accepted before, by endpoint and `webhook-id`.
    WEBHOOK_MESSAGE = "SELECT endpoint_id, webhook_id, digest, answer, received_at FROM webhook_messages
        WHERE organization_id = $1 AND endpoint_id = $2 AND webhook_id = $3";
    /// Stores an accepted message with its answer, so that a repeat gets the same answer.
    INSERT_WEBHOOK_MESSAGE = "INSERT INTO webhook_messages (organization_id, endpoint_id, webhook_id, digest, answer, received_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    /// Deletes messages received before a moment.
    FORGET_WEBHOOK_MESSAGES = "DELETE FROM webhook_messages WHERE organization_id = $1 AND endpoint_id = $2 AND received_at < $3";
    /// The newest state that an endpoint received of a row: sequence, time of change, and hashes of its fields.
    WEBHOOK_ROW = "SELECT endpoint_id, external_id, sequence, changed_us, deleted_at, said FROM webhook_rows
        WHERE organization_id = $1 AND endpoint_id = $2 AND external_id = $3";
    /// Another endpoint of the event that is switched on and has received a row with this id.
    OTHER_WEBHOOK_OF_ROW = "SELECT e.name FROM webhook_endpoints e JOIN webhook_rows r
        ON r.organization_id = e.organization_id AND r.endpoint_id = e.endpoint_id
        WHERE e.organization_id = $1 AND e.event_id = $2 AND e.endpoint_id <> $3 AND e.disabled_at IS NULL
        AND r.external_id = $4 ORDER BY e.created_at, e.endpoint_id LIMIT 1";
    /// Stores the newest state of a row, and overwrites the former one.
    PUT_WEBHOOK_ROW = "INSERT INTO webhook_rows (organization_id, endpoint_id, external_id, sequence, changed_us, deleted_at, said)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (organization_id, endpoint_id, external_id) DO UPDATE SET
        sequence = excluded.sequence, changed_us = excluded.changed_us, deleted_at = excluded.deleted_at, said = excluded.said";
}

fn read_endpoint(row: &mut Row) -> Result<WebhookEndpointRecord> {
    Ok(WebhookEndpointRecord {
        endpoint_id: row.text()?,
        event_id: row.parsed()?,
        name: row.text()?,
        columns: row.json("a webhook endpoint's columns")?,
        sealed_secret: row.blob()?,
        former: {
            let secret = row.option(Row::blob)?;
            let until = row.option(Row::at)?;
            secret.zip(until)
        },
        created_at: row.at()?,
        disabled_at: row.option(Row::at)?,
        health: WebhookHealth {
            received_at: row.option(Row::at)?,
            refused_at: row.option(Row::at)?,
            problem: row.option(Row::text)?,
        },
    })
}
fn read_message(row: &mut Row) -> Result<WebhookMessageRecord> {
    Ok(WebhookMessageRecord {
        endpoint_id: row.text()?,
        webhook_id: row.text()?,
        digest: row.hash()?,
        answer: row.text()?,
        received_at: row.at()?,
    })
}
fn read_row(row: &mut Row) -> Result<WebhookRowRecord> {
    Ok(WebhookRowRecord {
        endpoint_id: row.text()?,
        external_id: row.text()?,
        sequence: row.option(Row::count)?,
        changed_us: row.option(Row::int)?,
        deleted_at: row.option(Row::at)?,
        said: row.json("what a webhook's row said")?,
    })
}

impl<D: Driver> TxWebhooks for SqlTx<'_, D> {
    fn insert_webhook_endpoint(&mut self, endpoint: &WebhookEndpointRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let columns = stored::to_text(&endpoint.columns);
        let (former, until) = endpoint.former.as_ref().map(|(secret, until)| (secret.as_slice(), *until)).unzip();
        let values = [
            (&id).into(),
            (&endpoint.endpoint_id).into(),
            (&endpoint.event_id).into(),
            (&endpoint.name).into(),
            columns.into(),
            endpoint.sealed_secret.as_slice().into(),
            former.into(),
            until.into(),
            endpoint.created_at.into(),
            endpoint.disabled_at.into(),
        ];
        self.execute(&INSERT_WEBHOOK_ENDPOINT, &values)?;
        self.put_credential(&CredentialRecord {
            token_hash: token_hash(&endpoint.endpoint_id),
            organization_id: id,
            kind: CredentialKind::WebhookEndpoint,
            holder: endpoint.endpoint_id.clone(),
            expires_at: None,
            created_at: endpoint.created_at,
        })
    }
    fn webhook_endpoints(&mut self) -> Result<Vec<WebhookEndpointRecord>> {
        let id = self.organization_id.clone();
        self.all(&WEBHOOK_ENDPOINTS, &[(&id).into()], read_endpoint)
    }
    fn webhook_endpoint(&mut self, endpoint_id: &str) -> Result<Option<WebhookEndpointRecord>> {
        let id = self.organization_id.clone();
        self.one(&WEBHOOK_ENDPOINT, &[(&id).into(), endpoint_id.into()], read_endpoint)
    }
    fn update_webhook_endpoint(&mut self, endpoint: &WebhookEndpointRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let columns = stored::to_text(&endpoint.columns);
        let (former, until) = endpoint.former.as_ref().map(|(secret, until)| (secret.as_slice(), *until)).unzip();
        let values = [
            (&id).into(),
            (&endpoint.endpoint_id).into(),
            (&endpoint.name).into(),
            columns.into(),
            endpoint.sealed_secret.as_slice().into(),
            former.into(),
            until.into(),
            endpoint.disabled_at.into(),
        ];
        match self.execute(&UPDATE_WEBHOOK_ENDPOINT, &values)? {
            1 => Ok(()),
            _ => Err(Error::NotFound { what: "webhook_endpoint" }),
        }
    }
    fn note_webhook_received(&mut self, endpoint_id: &str, at: Timestamp) -> Result<()> {
        let id = self.organization_id.clone();
        self.queue(&NOTE_WEBHOOK_RECEIVED, &[(&id).into(), endpoint_id.into(), at.into()])
    }
    fn note_webhook_refused(&mut self, endpoint_id: &str, at: Timestamp, problem: &str) -> Result<()> {
        let id = self.organization_id.clone();
        self.queue(&NOTE_WEBHOOK_REFUSED, &[(&id).into(), endpoint_id.into(), at.into(), problem.into()])
    }
    fn webhook_message(&mut self, endpoint_id: &str, webhook_id: &str) -> Result<Option<WebhookMessageRecord>> {
        let id = self.organization_id.clone();
        self.one(&WEBHOOK_MESSAGE, &[(&id).into(), endpoint_id.into(), webhook_id.into()], read_message)
    }
    fn insert_webhook_message(&mut self, message: &WebhookMessageRecord, forget_before: Timestamp) -> Result<()> {
        let id = self.organization_id.clone();
        let old = [(&id).into(), (&message.endpoint_id).into(), forget_before.into()];
        self.queue(&FORGET_WEBHOOK_MESSAGES, &old)?;
        let values = [
            (&id).into(),
            (&message.endpoint_id).into(),
            (&message.webhook_id).into(),
            (&message.digest).into(),
            (&message.answer).into(),
            message.received_at.into(),
        ];
        self.execute(&INSERT_WEBHOOK_MESSAGE, &values).map(|_| ())
    }
    fn webhook_row(&mut self, endpoint_id: &str, external_id: &str) -> Result<Option<WebhookRowRecord>> {
        let id = self.organization_id.clone();
        self.one(&WEBHOOK_ROW, &[(&id).into(), endpoint_id.into(), external_id.into()], read_row)
    }
    fn other_webhook_of_row(
        &mut self,
        event_id: &EventId,
        endpoint_id: &str,
        external_id: &str,
    ) -> Result<Option<String>> {
        let id = self.organization_id.clone();
        let values = [(&id).into(), event_id.into(), endpoint_id.into(), external_id.into()];
        self.one(&OTHER_WEBHOOK_OF_ROW, &values, Row::text)
    }
    fn put_webhook_row(&mut self, row: &WebhookRowRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&row.endpoint_id).into(),
            (&row.external_id).into(),
            row.sequence.into(),
            row.changed_us.into(),
            row.deleted_at.into(),
            stored::to_text(&row.said).into(),
        ];
        self.queue(&PUT_WEBHOOK_ROW, &values)
    }
}
