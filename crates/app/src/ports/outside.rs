//! The outside services that passes need: a mail server and an object store. Both may be unreachable. After a crash,
//! both may be asked for the same thing twice.

use admit_core::time::Timestamp;
use futures_util::future::BoxFuture;

/// Why a request failed, in words for the organiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unable {
    /// The request failed now and may succeed later.
    Later(String),
    /// The same request will never succeed.
    Never(String),
}

/// Why a letter was not accepted, in words for the organiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsent {
    /// The mail server refuses the account or every letter, so no other letter would be accepted either. The text names
    /// no guest.
    Stopped(String),
    /// The letter was refused now and may be accepted later.
    Later(String),
    /// This letter will never be accepted.
    Never(String),
}

impl From<Unable> for Unsent {
    fn from(unable: Unable) -> Self {
        match unable {
            Unable::Later(why) => Self::Later(why),
            Unable::Never(why) => Self::Never(why),
        }
    }
}

/// A name and an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The name. Empty if there is none.
    pub name: String,
    /// The e-mail address.
    pub email: String,
}

/// A file inside a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosure {
    /// The file's name.
    pub name: String,
    /// The file's media type.
    pub media_type: &'static str,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// A letter as it should arrive: a text, the same text in HTML, a picture that the HTML shows, and an attached file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// The Message-ID without its angle brackets. It is the same at every try, so that mail programs recognise a
    /// repeat.
    pub message_id: String,
    /// The sender.
    pub from: Mailbox,
    /// The address for answers. Absent if it is the sender's.
    pub reply_to: Option<Mailbox>,
    /// The receiver.
    pub to: Mailbox,
    /// The mail's subject.
    pub subject: String,
    /// When the letter was written.
    pub at: Timestamp,
    /// The body as text.
    pub text: String,
    /// The body as HTML.
    pub html: String,
    /// The picture that the HTML shows, with the content id by which the HTML names it (`cid:` + id).
    pub picture: (String, Enclosure),
    /// The attached file.
    pub attachment: Enclosure,
}

/// A mail server.
pub trait Mail: Send + Sync {
    /// The sender of this server's letters. `None` if no mail server is set up.
    fn sender(&self) -> Option<Mailbox>;
    /// Sends a letter. Success means that the mail server accepted it.
    fn send(&self, letter: Letter) -> BoxFuture<'_, Result<(), Unsent>>;
    /// Connects to the mail server without sending a letter. Success means that it answers and accepts the account.
    fn reach(&self) -> BoxFuture<'_, Result<(), Unsent>> {
        Box::pin(async { Ok(()) })
    }
}

/// A store for pictures: a folder or a bucket.
pub trait Objects: Send + Sync {
    /// Whether an object with this name exists.
    fn has(&self, key: String) -> BoxFuture<'_, Result<bool, Unable>>;
    /// Stores an object durably. It replaces an object of the same name.
    fn put(&self, key: String, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Unable>>;
}

/// The port for a server without a mail server. Everything that should be mailed waits.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMail;

impl Mail for NoMail {
    fn sender(&self) -> Option<Mailbox> {
        None
    }
    fn send(&self, _: Letter) -> BoxFuture<'_, Result<(), Unsent>> {
        Box::pin(async { Err(Unsent::Stopped(NO_MAIL_SERVER.to_owned())) })
    }
}

/// Why no mail goes out if no mail server is set up. It is stored with the stopped mail lane.
pub const NO_MAIL_SERVER: &str = "no mail server is set up (SMTP_URL, SMTP_FROM)";
