//! The connection to Redis, with bounded waits. It logs one warning when Redis is gone and one line when it is back
//! (law 15).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig, PubSub};
use redis::{Client, RedisResult};

use super::http_client::install_crypto;

/// The longest wait for an answer of Redis.
const WAIT: Duration = Duration::from_millis(50);
/// The time after a failure in which no request goes to Redis, so that a slow Redis does not slow every request to the
/// server.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(2);

/// A Redis, which may become unreachable at any moment.
pub struct Link {
    client: Client,
    connection: ConnectionManager,
    started: Instant,
    /// Until when no request is sent, in milliseconds since `started`.
    paused_until: AtomicU64,
    gone: AtomicBool,
}

impl Link {
    /// Opens the link, which connects in the background. Call it inside a runtime. Fails if `url` is no address.
    ///
    /// With TLS a connection takes several round trips, which may be longer than [`WAIT`]. So the first request must
    /// not be the one that connects.
    pub fn open(url: &str) -> RedisResult<Self> {
        // `rediss://` is TLS. The machine's authorities are trusted, or those of the file that SSL_CERT_FILE names.
        install_crypto();
        let client = Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(0)
            .set_connection_timeout(Some(CONNECT))
            .set_response_timeout(Some(CONNECT));
        let connection = ConnectionManager::new_lazy_with_config(client.clone(), config)?;
        let mut first = connection.clone();
        tokio::spawn(async move { ping(&mut first).await });
        let (paused_until, gone) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { client, connection, started: Instant::now(), paused_until, gone })
    }
    /// Sends a request to Redis. `None`: there was no answer in time, or no request is sent because Redis failed less
    /// than [`PAUSE`] ago. The caller then continues without an answer.
    pub async fn ask<T, F>(&self, work: impl FnOnce(ConnectionManager) -> F) -> Option<T>
    where
        F: Future<Output = RedisResult<T>>,
    {
        if self.elapsed_ms() < self.paused_until.load(Ordering::Relaxed) {
            return None;
        }
        match tokio::time::timeout(WAIT, work(self.connection.clone())).await {
            Ok(Ok(value)) => {
                if self.gone.swap(false, Ordering::Relaxed) {
                    tracing::info!(event = "redis.back", "Redis answers again");
                }
                Some(value)
            }
            Ok(Err(error)) => self.lost(&error.to_string()),
            Err(_) => self.lost("no answer in time"),
        }
    }
    /// Checks whether Redis accepts a new connection and answers on it. The error says why not.
    pub async fn reach(&self) -> RedisResult<()> {
        let asked = tokio::time::timeout(CONNECT, async {
            ping(&mut self.client.get_multiplexed_async_connection().await?).await
        });
        asked.await.unwrap_or_else(|_| Err((redis::ErrorKind::Io, "no answer in time").into()))
    }
    /// A new connection that listens to channels. When it ends, the caller opens another.
    pub async fn listener(&self) -> RedisResult<PubSub> {
        let connecting = tokio::time::timeout(CONNECT, self.client.get_async_pubsub());
        connecting.await.unwrap_or_else(|_| Err((redis::ErrorKind::Io, "no connection in time").into()))
    }
    fn lost<T>(&self, why: &str) -> Option<T> {
        let until = self.elapsed_ms() + u64::try_from(PAUSE.as_millis()).unwrap_or(u64::MAX);
        self.paused_until.store(until, Ordering::Relaxed);
        if !self.gone.swap(true, Ordering::Relaxed) {
            tracing::warn!(event = "redis.gone", why, "Redis does not answer: going on without it, more slowly");
        }
        None
    }
    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

async fn ping(connection: &mut impl ConnectionLike) -> RedisResult<()> {
    redis::cmd("PING").query_async(connection).await
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password, so it is not printed.
        f.debug_struct("Link").field("gone", &self.gone).finish_non_exhaustive()
    }
}
