//! The world outside that passes reach: a mail server and a place for pictures. Both may be away; both may be asked twice
//! for the same, after a crash.

use admit_core::time::Timestamp;
use futures_util::future::BoxFuture;

/// Why it could not be done. In words for the organiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unable {
    /// Not now: the same may work later.
    Later(String),
    /// Not so: the same will never work.
    Never(String),
}

/// Why a letter was not taken. In words for the organiser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsent {
    /// The mail server refuses the account or itself: no other letter would be taken either. Names no guest.
    Stopped(String),
    /// Not now: this letter may be taken later.
    Later(String),
    /// Not so: this letter will never be taken.
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
    /// Name; empty for none.
    pub name: String,
    /// E-mail address.
    pub email: String,
}

/// A file that goes with a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosure {
    /// File name.
    pub name: String,
    /// Media type.
    pub media_type: &'static str,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

/// A letter as it is to arrive: text, the same as HTML, a picture shown in it, a file beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// Message-ID without its angle brackets: the same at every try, so that mail programs can tell a repeat.
    pub message_id: String,
    /// Whom it is from.
    pub from: Mailbox,
    /// Whom answers go to, where that is another.
    pub reply_to: Option<Mailbox>,
    /// Whom it is for.
    pub to: Mailbox,
    /// The mail's subject.
    pub subject: String,
    /// When it was written.
    pub at: Timestamp,
    /// As text.
    pub text: String,
    /// As HTML.
    pub html: String,
    /// Shown in the HTML, where it is called `cid:` + its content id.
    pub picture: (String, Enclosure),
    /// Beside it.
    pub attachment: Enclosure,
}

/// A mail server.
pub trait Mail: Send + Sync {
    /// Whom letters of this server are from, where one is set up.
    fn sender(&self) -> Option<Mailbox>;
    /// Hands a letter over. Done means that the mail server took it.
    fn send(&self, letter: Letter) -> BoxFuture<'_, Result<(), Unsent>>;
    /// Speaks to the mail server without a letter: whether it answers, and takes the account.
    fn reach(&self) -> BoxFuture<'_, Result<(), Unsent>> {
        Box::pin(async { Ok(()) })
    }
}

/// A place for pictures: a folder, or a bucket.
pub trait Objects: Send + Sync {
    /// Whether there is an object of this name.
    fn has(&self, key: String) -> BoxFuture<'_, Result<bool, Unable>>;
    /// Stores an object, durably, in the place of any other of its name.
    fn put(&self, key: String, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Unable>>;
}

/// No mail server is set up: whatever is to be mailed waits.
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

/// The state of the mail lane where the server has no mail server.
pub const NO_MAIL_SERVER: &str = "no mail server is set up (SMTP_URL, SMTP_FROM)";
