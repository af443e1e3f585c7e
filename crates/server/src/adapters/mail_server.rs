//! Connections to a mail server (lettre's, on sockets of our own).
//!
//! A connection is handed from a letter that was taken to one that waits, and never from one that was given up on: that has
//! an answer outstanding, which the next letter would take for its own.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admit_core::limits::MAIL_MS;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, Message, Tokio1Executor};
use percent_encoding::percent_decode_str;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use url::Url;

/// Letters under way at a time: mail servers refuse whoever comes with more connections than a few.
const CONNECTIONS: usize = 8;
/// The connection ends by the server's wish, such as after so many letters (RFC 5321 §3.8).
const CLOSING: u16 = 421;
/// How long a connection that ends may take to say so.
const FAREWELL: Duration = Duration::from_secs(5);
/// Ports where the address names none, as lettre has them.
const SMTP_PORT: u16 = 25;
const SUBMISSION_PORT: u16 = 587;
const SUBMISSIONS_PORT: u16 = 465;

/// Why a letter was not taken.
#[derive(Debug)]
pub enum Refusal {
    /// Nobody could be spoken to.
    Unreachable(io::Error),
    /// What was said, or left unsaid.
    Said(SmtpError),
}

impl From<SmtpError> for Refusal {
    fn from(error: SmtpError) -> Self {
        Self::Said(error)
    }
}
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error)
    }
}

/// A mail server and the connections to it.
pub struct MailServer {
    host: String,
    port: u16,
    hello_name: ClientId,
    tls: Tls,
    credentials: Option<Credentials>,
    turns: Semaphore,
    /// Letters that wait for a turn.
    waiting: AtomicUsize,
    /// Open, with nothing outstanding.
    idle: Mutex<Vec<AsyncSmtpConnection>>,
}

impl MailServer {
    /// Reads an address as lettre does, such as `smtps://user:password@mail.example.org`. Nothing is connected yet. Where it
    /// is none: why, in words.
    pub fn read(address: &str) -> Result<Self, String> {
        // What lettre does not take is refused in its words.
        AsyncSmtpTransport::<Tokio1Executor>::from_url(address).map_err(|error| told(&error))?;
        let url = Url::parse(address).map_err(|error| error.to_string())?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let wanted = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value);
        let parameters = || TlsParameters::new(host.clone()).map_err(|error| told(&error));
        let (tls, port) = match (url.scheme(), wanted.as_deref()) {
            ("smtps", _) => (Tls::Wrapper(parameters()?), SUBMISSIONS_PORT),
            (_, Some("required")) => (Tls::Required(parameters()?), SUBMISSION_PORT),
            (_, Some("opportunistic")) => (Tls::Opportunistic(parameters()?), SUBMISSION_PORT),
            _ => (Tls::None, SMTP_PORT),
        };
        let name = url.path().trim_matches('/').to_owned();
        let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        Ok(Self {
            port: url.port().unwrap_or(port),
            hello_name: if name.is_empty() { ClientId::default() } else { ClientId::Domain(name) },
            tls,
            credentials: url.password().map(|password| Credentials::new(plain(url.username()), plain(password))),
            host,
            turns: Semaphore::new(CONNECTIONS),
            waiting: AtomicUsize::new(0),
            idle: Mutex::new(Vec::new()),
        })
    }

    /// Sends a letter. Once it was taken nothing that happens to the connection makes it one that was not.
    pub async fn send(&self, message: &Message) -> Result<(), Refusal> {
        let waits = Waits::new(&self.waiting);
        // Never closed: then nobody would hold it up.
        let _turn = self.turns.acquire().await;
        drop(waits);
        let letter = message.formatted();
        let handed = self.idle().pop();
        if let Some(mut connection) = handed
            && connection.test_connected().await
        {
            match connection.send(message.envelope(), &letter).await {
                Ok(_) => {
                    self.hand_on(connection);
                    return Ok(());
                }
                // It has had enough letters, and this one is not among them.
                Err(error) if error.status().is_some_and(|status| u16::from(status) == CLOSING) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut connection = self.connect().await?;
        connection.send(message.envelope(), &letter).await?;
        self.hand_on(connection);
        Ok(())
    }

    /// To the next letter that waits; where none does, the connections end.
    fn hand_on(&self, connection: AsyncSmtpConnection) {
        let mut idle = self.idle();
        idle.push(connection);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return;
        }
        let over = std::mem::take(&mut *idle);
        drop(idle);
        // The letter is taken, and waits for no farewell.
        tokio::spawn(async move {
            for mut connection in over {
                let _ = tokio::time::timeout(FAREWELL, connection.quit()).await;
            }
        });
    }
    fn idle(&self) -> MutexGuard<'_, Vec<AsyncSmtpConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Refusal> {
        let limit = Duration::from_millis(MAIL_MS);
        let (server, hello) = ((self.host.as_str(), self.port), &self.hello_name);
        let mut connection = match &self.tls {
            Tls::Wrapper(tls) => {
                AsyncSmtpConnection::connect_tokio1(server, Some(limit), hello, Some(tls.clone()), None).await?
            }
            _ => {
                let socket = TcpStream::connect(server).await?;
                // A letter is its body and then its full stop: held back until the body is acknowledged, the full stop waits
                // 40 ms for a server on the same machine.
                socket.set_nodelay(true)?;
                AsyncSmtpConnection::connect_with_transport(Box::new(socket), hello).await?
            }
        };
        match &self.tls {
            Tls::Required(tls) => connection.starttls(tls.clone(), hello).await?,
            Tls::Opportunistic(tls) if connection.can_starttls() => connection.starttls(tls.clone(), hello).await?,
            _ => {}
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

/// A letter that waits for its turn, however its waiting ends.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}
impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// An error with what lies under it.
pub fn told(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut under = error.source();
    while let Some(error) = under {
        let more = error.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        under = error.source();
    }
    words
}
