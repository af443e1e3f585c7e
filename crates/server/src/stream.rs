//! Server-sent events to one client: a bounded queue, coalescing, heartbeats, and an end from outside (spec §5).
//!
//! A hint says that something changed. The stream then reads the snapshot again and sends it whole, at most twice per
//! second. So a lost hint only delays a client, and an error in one message does not persist.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use admit_app::error::Result;
use admit_app::ports::Hint;
use axum::response::Sse;
use axum::response::sse::Event;
use futures_util::Stream;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

/// The number of messages that a client may fall behind. Then its connection is closed.
pub const QUEUE: usize = 64;
/// The least time between two snapshots of one stream.
const COALESCE: Duration = Duration::from_millis(500);
/// The pause between the first hint after a quiet time and the reading of the snapshots. A batch causes several hints,
/// and one reading serves them all.
const SETTLE: Duration = Duration::from_millis(20);
/// The longest time without a message. A client that gets nothing for longer knows that the connection is dead.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The connection of a request. Closing it ends any write to a client that doesn't read.
#[derive(Debug, Clone)]
pub struct Connection(CancellationToken);

impl Connection {
    /// A connection that this token ends.
    pub fn new(kill: CancellationToken) -> Self {
        Self(kill)
    }
    /// Drops the connection.
    pub fn close(&self) {
        self.0.cancel();
    }
}

/// The result of reading a part.
#[derive(Debug, Default)]
pub struct Reading {
    /// The messages, in order; empty if the client may see none of this part.
    pub messages: Vec<Message>,
    /// Whether there is more than was read at once.
    pub more: bool,
}

/// A message to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The event's name: a topic's first word, `resync` or `heartbeat`.
    pub event: &'static str,
    /// `epoch.serial`; `None` if the message has no place in the event's order.
    pub id: Option<String>,
    /// The content as JSON.
    pub data: String,
}

/// The content of a stream. A `Part` names one snapshot that the stream may have to read again.
pub trait Source: Send + 'static {
    /// One snapshot, which is read and sent whole.
    type Part: Ord + Clone + Send + Sync;

    /// All parts, in the order in which they are first sent.
    fn parts(&self) -> Vec<Self::Part>;
    /// The parts that a hint makes stale, and a message to send at once, if the hint contains one.
    fn take(&mut self, hint: &Hint) -> (Vec<Self::Part>, Option<Message>);
    /// Reads a part again.
    fn read(&mut self, part: &Self::Part) -> impl Future<Output = Result<Reading>> + Send;
    /// Whether the client has lost the right to see the stream. The stream asks this before each heartbeat.
    fn is_over(&mut self) -> impl Future<Output = bool> + Send {
        std::future::ready(false)
    }
    /// Is called when the stream was closed because its client did not read fast enough.
    fn dropped(&mut self) {}
}

/// Opens a stream: first `opening`, then every part, then each part that a hint makes stale. The stream ends with the
/// server or the client, and when a read fails (the client asks again). It also ends when the client reads too slowly
/// or loses its right.
pub fn open<S: Source>(
    source: S,
    hints: broadcast::Receiver<Arc<Hint>>,
    opening: Vec<Message>,
    connection: Option<Connection>,
    shutdown: CancellationToken,
) -> Sse<impl Stream<Item = std::result::Result<Event, Infallible>>> {
    let (queue, messages) = mpsc::channel::<std::result::Result<Event, Infallible>>(QUEUE);
    let left = queue.clone();
    let mut client = Client { queue, source, connection };
    tokio::spawn(async move {
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = left.closed() => {}
            _ = client.run(hints, opening) => {}
        }
    });
    Sse::new(ReceiverStream::new(messages))
}

struct Client<S> {
    queue: mpsc::Sender<std::result::Result<Event, Infallible>>,
    source: S,
    connection: Option<Connection>,
}

/// A marker that the stream must end.
struct Over;

impl<S: Source> Client<S> {
    async fn run(
        &mut self,
        mut hints: broadcast::Receiver<Arc<Hint>>,
        opening: Vec<Message>,
    ) -> std::result::Result<(), Over> {
        for message in opening {
            self.send(message)?;
        }
        let mut stale = BTreeSet::new();
        for part in self.source.parts() {
            self.read(part, &mut stale).await?;
        }
        let mut sent = Instant::now();
        let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let due = (sent + COALESCE).max(Instant::now() + SETTLE);
            tokio::select! {
                _ = heartbeat.tick() => {
                    if self.source.is_over().await {
                        return Err(Over);
                    }
                    self.send(Message { event: "heartbeat", id: None, data: "{}".into() })?;
                }
                hint = hints.recv() => {
                    self.hear(hint, &mut stale)?;
                }
                () = tokio::time::sleep_until(due), if !stale.is_empty() => {
                    self.drain(&mut hints, &mut stale)?;
                    for part in std::mem::take(&mut stale) {
                        self.read(part, &mut stale).await?;
                    }
                    sent = Instant::now();
                }
            }
        }
    }

    fn hear(
        &mut self,
        hint: std::result::Result<Arc<Hint>, RecvError>,
        stale: &mut BTreeSet<S::Part>,
    ) -> std::result::Result<(), Over> {
        match hint {
            Ok(hint) => {
                let (parts, message) = self.source.take(&hint);
                stale.extend(parts);
                message.map_or(Ok(()), |message| self.send(message))
            }
            Err(RecvError::Lagged(_)) => {
                stale.extend(self.source.parts());
                Ok(())
            }
            Err(RecvError::Closed) => Err(Over),
        }
    }

    /// Collects all hints that arrived meanwhile, so that each part is read once.
    fn drain(
        &mut self,
        hints: &mut broadcast::Receiver<Arc<Hint>>,
        stale: &mut BTreeSet<S::Part>,
    ) -> std::result::Result<(), Over> {
        loop {
            match hints.try_recv() {
                Ok(hint) => self.hear(Ok(hint), stale)?,
                Err(TryRecvError::Lagged(missed)) => self.hear(Err(RecvError::Lagged(missed)), stale)?,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Ok(()),
            }
        }
    }

    async fn read(&mut self, part: S::Part, stale: &mut BTreeSet<S::Part>) -> std::result::Result<(), Over> {
        match self.source.read(&part).await {
            Ok(reading) => {
                if reading.more {
                    stale.insert(part);
                }
                reading.messages.into_iter().try_for_each(|message| self.send(message))
            }
            Err(error) => {
                tracing::warn!(%error, "a live stream ends: its snapshot cannot be read");
                Err(Over)
            }
        }
    }

    /// Sends a message without waiting. If the queue is full the client doesn't read, and its connection is closed.
    fn send(&mut self, message: Message) -> std::result::Result<(), Over> {
        let event = Event::default().event(message.event).data(message.data);
        let event = match message.id {
            Some(id) => event.id(id),
            None => event,
        };
        match self.queue.try_send(Ok(event)) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Over),
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.source.dropped();
                if let Some(connection) = &self.connection {
                    connection.close();
                }
                Err(Over)
            }
        }
    }
}
