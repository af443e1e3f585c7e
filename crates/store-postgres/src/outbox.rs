//! The outbox in an organiser's own database (`integrations/postgres/admit.sql`), which `admit relay` reads and marks.

use std::future::poll_fn;
use std::sync::Arc;

use admit_app::error::{Error, Result};
use tokio::sync::Notify;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Socket};

use crate::connect;

/// The number of the advisory lock that one relay at a time holds. Two relays would send lines out of order.
const RELAY_LOCK: i64 = 0x72_65_6c_61_79;
/// The settings of a relay's connection. Its statements are short, and a relay that vanished loses its lock.
const SETTINGS: &str = "SET statement_timeout = '30s'; SET client_encoding = 'UTF8'; SET tcp_keepalives_idle = 5; \
                        SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 4; LISTEN admit_outbox";
/// Whether the outbox exists, and whether the role may read and mark its lines.
const LOOK: &str = "SELECT to_regclass('admit.outbox') IS NOT NULL,
    coalesce(has_table_privilege(to_regclass('admit.outbox'), 'SELECT')
        AND has_table_privilege(to_regclass('admit.outbox'), 'UPDATE'), false)";
/// The lines that are due, in order. A line is left out while an earlier line of the same guest waits for its next try.
const DUE: &str =
    "SELECT sequence, webhook_id, guest_key, (message || jsonb_build_object('sequence', sequence))::text, tries
    FROM admit.outbox AS line WHERE done_at IS NULL AND next_at <= now() AND NOT EXISTS (
        SELECT FROM admit.outbox AS before WHERE before.guest_key = line.guest_key AND before.done_at IS NULL
        AND before.sequence < line.sequence AND before.next_at > now())
    ORDER BY sequence LIMIT $1";
/// Milliseconds until a line is due. Only the first line of each guest counts, since the later ones wait for it.
const NEXT: &str =
    "SELECT CASE WHEN count(*) > 0 THEN greatest(extract(epoch FROM min(next_at) - now()) * 1000, 0)::bigint END
    FROM (SELECT DISTINCT ON (guest_key) next_at FROM admit.outbox WHERE done_at IS NULL
        ORDER BY guest_key, sequence) AS first";
const DELIVERED: &str = "UPDATE admit.outbox SET done_at = now(), problem = NULL WHERE sequence = $1";
const REFUSED: &str = "UPDATE admit.outbox SET done_at = now(), tries = tries + 1, problem = $2 WHERE sequence = $1";
const LATER: &str =
    "UPDATE admit.outbox SET next_at = now() + $3 * interval '1 millisecond', tries = tries + 1, problem = $2
    WHERE sequence = $1";
const FORGET: &str =
    "DELETE FROM admit.outbox WHERE problem IS NULL AND done_at < now() - $1 * interval '1 millisecond'";

/// A line of the outbox: one change of one guest's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxLine {
    /// The line's place, which rises with every change of a row.
    pub sequence: i64,
    /// The line's `webhook-id`, the same at every try.
    pub webhook_id: String,
    /// The key of the guest's row.
    pub guest_key: String,
    /// The body to send, the same bytes at every try.
    pub body: String,
    /// The number of tries that failed because of this line.
    pub tries: i32,
}

/// A connection to an organiser's outbox.
pub struct Outbox {
    client: Client,
    news: Arc<Notify>,
}

impl Outbox {
    /// Connects. Fails with `Invalid` if a person must correct something (the address, the outbox, its rights), with
    /// `Later` if the database cannot be reached.
    pub async fn open(url: &str) -> Result<Self> {
        let address = connect::address(url)?;
        let outbox = match address.tls.clone() {
            Some(tls) => begin(&address.config, tls).await?,
            None => begin(&address.config, NoTls).await?,
        };
        outbox.client.batch_execute(SETTINGS).await.map_err(away)?;
        let row = outbox.client.query_one(LOOK, &[]).await.map_err(away)?;
        let wrong = |message: &str| Err(Error::invalid("database_url", message));
        match (row.get(0), row.get(1)) {
            (false, _) => wrong("has no table admit.outbox: run integrations/postgres/admit.sql there first"),
            (true, false) => {
                wrong("signs in as a role that may not read and mark admit.outbox: see the end of admit.sql")
            }
            (true, true) => Ok(outbox),
        }
    }
    /// Takes the lock of the one relay; `false` if another relay has it. The lock ends with the connection.
    pub async fn hold(&self) -> Result<bool> {
        let row = self.client.query_one("SELECT pg_try_advisory_lock($1)", &[&RELAY_LOCK]).await.map_err(away)?;
        Ok(row.get(0))
    }
    /// The lines that are due, in order, at most `most`.
    pub async fn due(&self, most: usize) -> Result<Vec<OutboxLine>> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.client.query(DUE, &[&most]).await.map_err(away)?;
        let line = |row: &tokio_postgres::Row| OutboxLine {
            sequence: row.get(0),
            webhook_id: row.get(1),
            guest_key: row.get(2),
            body: row.get(3),
            tries: row.get(4),
        };
        Ok(rows.iter().map(line).collect())
    }
    /// Milliseconds until a line is due; `None` if no line waits.
    pub async fn next_in(&self) -> Result<Option<i64>> {
        Ok(self.client.query_one(NEXT, &[]).await.map_err(away)?.get(0))
    }
    /// Marks a line that Admit accepted.
    pub async fn delivered(&self, sequence: i64) -> Result<()> {
        self.mark(DELIVERED, &[&sequence]).await
    }
    /// Marks a line that Admit refused finally, with the reason. It is not tried again.
    pub async fn refused(&self, sequence: i64, problem: &str) -> Result<()> {
        self.mark(REFUSED, &[&sequence, &problem]).await
    }
    /// Lets a line be tried again in `after_ms` milliseconds. Later lines of its guest wait for it.
    pub async fn later(&self, sequence: i64, problem: &str, after_ms: i64) -> Result<()> {
        self.mark(LATER, &[&sequence, &problem, &(after_ms as f64)]).await
    }
    /// Deletes lines that were delivered longer than `keep_ms` milliseconds ago. Does nothing if the role may not
    /// delete.
    pub async fn forget(&self, keep_ms: i64) -> Result<()> {
        match self.client.execute(FORGET, &[&(keep_ms as f64)]).await {
            Err(error) if error.code() == Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE) => Ok(()),
            done => done.map(|_| ()).map_err(away),
        }
    }
    /// Waits until a line was written since the last call, or the connection ended.
    pub async fn news(&self) {
        self.news.notified().await;
    }
    async fn mark(&self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<()> {
        self.client.execute(sql, values).await.map(|_| ()).map_err(away)
    }
}

async fn begin<T>(config: &Config, tls: T) -> Result<Outbox>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut connection) = config.connect(tls).await.map_err(away)?;
    let news = Arc::new(Notify::new());
    let heard = Arc::clone(&news);
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(_) = message {
                heard.notify_one();
            }
        }
        heard.notify_one();
    });
    Ok(Outbox { client, news })
}

/// Sorts an error of the database. A person must correct what the database refuses; any other error is temporary.
fn away(error: tokio_postgres::Error) -> Error {
    let Some(said) = error.as_db_error() else {
        tracing::warn!(%error, "the outbox's database is away");
        return Error::Later { code: "database_away", retry_after_ms: 1_000 };
    };
    // These classes are temporary: shutting down, starting up, too many connections, a time limit, a deadlock.
    let passes = ["57", "53", "08", "40", "55"].iter().any(|class| said.code().code().starts_with(class));
    tracing::warn!(code = said.code().code(), message = said.message(), "the outbox's database");
    if passes {
        return Error::Later { code: "database_away", retry_after_ms: 1_000 };
    }
    Error::invalid("database_url", format!("answers: {}", said.message()))
}
