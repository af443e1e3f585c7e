//! Connections to a mail server: lettre's protocol over sockets of our own.
//!
//! After an accepted letter its connection is reused for the next letter; after a letter that was given up it is never
//! reused. The server may still answer the letter that was given up, and the next letter would take that answer for its
//! own.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use admit_core::limits::MAIL_MS;
use lettre::address::Envelope;
use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, Tls, TlsParameters};
use lettre::transport::smtp::commands;
use lettre::transport::smtp::extension::{ClientId, Extension, MailBodyParameter, MailParameter};
use lettre::{AsyncSmtpTransport, Message, Tokio1Executor};
use percent_encoding::percent_decode_str;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use url::Url;

use super::mail_answer::Stage;

/// The most letters under way at a time. Mail servers refuse clients with more than a few connections.
const CONNECTIONS: usize = 8;
/// The time limit for answers that cost the server little, such as those to NOOP and QUIT.
const AT_ONCE: Duration = Duration::from_secs(5);
/// The default port of `smtp:` addresses, as in lettre.
const SMTP_PORT: u16 = 25;
const SUBMISSION_PORT: u16 = 587;
const SUBMISSIONS_PORT: u16 = 465;

/// Why a letter was not accepted.
#[derive(Debug)]
pub enum Refusal {
    /// No connection could be opened.
    Unreachable(io::Error),
    /// The server refused at this stage of the conversation, or its answer was unreadable.
    Said(Stage, SmtpError),
    /// The server gave no answer within the time limit.
    TooSlow,
    /// The address is not ASCII, and the server does not support that.
    NotAscii,
}

impl Refusal {
    /// Whether the server itself refused this letter.
    fn is_answer(&self) -> bool {
        matches!(self, Self::Said(_, error) if error.status().is_some())
    }
}

/// Makes the function that turns an error at a stage into a refusal.
fn at(stage: Stage) -> impl Fn(SmtpError) -> Refusal {
    move |error| Refusal::Said(stage, error)
}
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Unreachable(error)
    }
}

/// A mail server and the open connections to it.
pub struct MailServer {
    host: String,
    port: u16,
    hello_name: ClientId,
    tls: Tls,
    credentials: Option<Credentials>,
    /// The time limit of one letter.
    limit: Duration,
    turns: Semaphore,
    /// The number of letters that wait for a connection.
    waiting: AtomicUsize,
    /// Open connections without an outstanding answer.
    idle: Mutex<Vec<AsyncSmtpConnection>>,
}

impl MailServer {
    /// Parses an address as lettre does, such as `smtps://user:password@mail.example.org`. It opens no connection. The
    /// error says what is wrong with the address.
    pub fn read(address: &str) -> Result<Self, String> {
        // lettre's own message describes an address that lettre refuses.
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
            limit: Duration::from_millis(MAIL_MS),
            turns: Semaphore::new(CONNECTIONS),
            waiting: AtomicUsize::new(0),
            idle: Mutex::new(Vec::new()),
        })
    }

    /// The same server with another time limit for each letter.
    #[cfg(test)]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Sends a letter. Once the server accepted the letter, a later failure of the connection is no error.
    pub async fn send(&self, message: &Message) -> Result<(), Refusal> {
        let _last = Last(self);
        let waits = Waits::new(&self.waiting);
        // The semaphore is never closed, so this cannot fail.
        let _turn = self.turns.acquire().await;
        drop(waits);
        // The time limit begins when the letter has its turn, not while others are sent.
        let delivered = tokio::time::timeout(self.limit, self.deliver(message)).await;
        delivered.unwrap_or(Err(Refusal::TooSlow))
    }

    /// Connects, greets and signs in, and keeps the connection for the next letter. `admit doctor` checks the mail
    /// server in this way.
    pub async fn reach(&self) -> Result<(), Refusal> {
        let connection = tokio::time::timeout(self.limit, self.connect()).await.unwrap_or(Err(Refusal::TooSlow))?;
        self.idle().push(connection);
        self.end_idle();
        Ok(())
    }

    async fn deliver(&self, message: &Message) -> Result<(), Refusal> {
        let letter = message.formatted();
        let handed = self.idle().pop();
        if let Some(mut connection) = handed
            && tokio::time::timeout(AT_ONCE, connection.test_connected()).await == Ok(true)
        {
            match converse(&mut connection, message.envelope(), &letter).await {
                Ok(()) => {
                    self.idle().push(connection);
                    return Ok(());
                }
                // The server refused this letter. The reason may be that the connection has sent enough letters, which
                // every server says in its own words. A fresh connection shows the true reason.
                Err(refusal) if refusal.is_answer() => {}
                Err(refusal) => return Err(refusal),
            }
        }
        let mut connection = self.connect().await?;
        converse(&mut connection, message.envelope(), &letter).await?;
        self.idle().push(connection);
        Ok(())
    }

    /// Closes the connections that no letter waits for.
    fn end_idle(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return;
        }
        let over = std::mem::take(&mut *self.idle());
        // A task sends QUIT, so that no letter waits for it. Outside a runtime the connections are just closed.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if over.is_empty() {
            return;
        }
        runtime.spawn(async move {
            for mut connection in over {
                let _ = tokio::time::timeout(AT_ONCE, connection.quit()).await;
            }
        });
    }
    fn idle(&self) -> MutexGuard<'_, Vec<AsyncSmtpConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Refusal> {
        let (server, hello) = ((self.host.as_str(), self.port), &self.hello_name);
        let mut connection = match &self.tls {
            Tls::Wrapper(tls) => {
                let connected = AsyncSmtpConnection::connect_tokio1(server, None, hello, Some(tls.clone()), None).await;
                connected.map_err(at(Stage::Connection))?
            }
            _ => {
                let socket = TcpStream::connect(server).await?;
                // A letter is sent as its body and then its end. Without this option the end waits for the
                // acknowledgement of the body, 40 ms with a server on the same machine.
                socket.set_nodelay(true)?;
                let connected = AsyncSmtpConnection::connect_with_transport(Box::new(socket), hello).await;
                connected.map_err(at(Stage::Connection))?
            }
        };
        let tls = match &self.tls {
            Tls::Required(tls) => Some(tls),
            Tls::Opportunistic(tls) if connection.can_starttls() => Some(tls),
            _ => None,
        };
        if let Some(tls) = tls {
            connection.starttls(tls.clone(), hello).await.map_err(at(Stage::Connection))?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await.map_err(at(Stage::SignIn))?;
        }
        Ok(connection)
    }
}

/// Sends one letter on a connection, as lettre does, and names the stage at which it failed. After a failure the
/// connection is closed.
async fn converse(connection: &mut AsyncSmtpConnection, envelope: &Envelope, letter: &[u8]) -> Result<(), Refusal> {
    let mut options = Vec::new();
    let takes = |feature| connection.server_info().supports_feature(feature);
    let mut addresses = envelope.to().iter().chain(envelope.from());
    if addresses.any(|address| !AsRef::<str>::as_ref(address).is_ascii()) {
        if !takes(Extension::SmtpUtfEight) {
            return Err(Refusal::NotAscii);
        }
        options.push(MailParameter::SmtpUtfEight);
    }
    if !letter.is_ascii() {
        if !takes(Extension::EightBitMime) {
            return Err(Refusal::NotAscii);
        }
        options.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    let said = async {
        connection.command(commands::Mail::new(envelope.from().cloned(), options)).await.map_err(at(Stage::Sender))?;
        for to in envelope.to() {
            connection.command(commands::Rcpt::new(to.clone(), Vec::new())).await.map_err(at(Stage::Recipient))?;
        }
        connection.command(commands::Data).await.map_err(at(Stage::Content))?;
        connection.message(letter).await.map_err(at(Stage::Content))
    };
    let said = said.await;
    if said.is_err() {
        connection.abort().await;
    }
    said.map(|_| ())
}

/// When dropped, closes the idle connections if no letter waits. The sending of a letter holds this value until the
/// letter is sent, refused or given up.
struct Last<'a>(&'a MailServer);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        self.0.end_idle();
    }
}

/// Counts a waiting letter until its wait ends in any way.
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

/// The text of an error with its causes.
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
