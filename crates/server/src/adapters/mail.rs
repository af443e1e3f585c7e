//! Sends mail by SMTP, with the crate lettre.

use std::error::Error as _;
use std::time::Duration;

use admit_app::passes::plain;
use admit_app::ports::{Enclosure, Letter, Mail, Mailbox, Unable, Unsent};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, MultiPart, SinglePart};
use lettre::{Address, Message};

use super::mail_answer::{About, about};
use super::mail_server::{MailServer, Refusal, told};

/// A mail server and the sender address for its letters.
pub struct Smtp {
    server: MailServer,
    sender: Mailbox,
}

impl Smtp {
    /// Parses an address such as `smtps://user:password@mail.example.org`. It opens no connection.
    pub fn open(url: &str, sender: Mailbox) -> Result<Self, String> {
        Ok(Self { server: MailServer::read(url)?, sender })
    }
}

impl Mail for Smtp {
    fn sender(&self) -> Option<Mailbox> {
        Some(self.sender.clone())
    }
    fn send(&self, letter: Letter) -> BoxFuture<'_, Result<(), Unsent>> {
        async move {
            let to = letter.to.email.clone();
            let message = message(letter)?;
            self.server.send(&message).await.map_err(|refusal| meaning(&refusal, &to))
        }
        .boxed()
    }
    fn reach(&self) -> BoxFuture<'_, Result<(), Unsent>> {
        async move { self.server.reach().await.map_err(|refusal| meaning(&refusal, "")) }.boxed()
    }
}

/// Classifies a refusal of a letter to `to`: never send this letter, send it later, or send no letter for now.
fn meaning(refusal: &Refusal, to: &str) -> Unsent {
    let (stage, error) = match refusal {
        Refusal::TooSlow => return Unsent::Stopped("the mail server takes too long".to_owned()),
        Refusal::Unreachable(error) => return Unsent::Stopped(format!("the mail server cannot be reached: {error}")),
        Refusal::NotAscii => {
            let why = "the mail server cannot write to this address: it takes addresses in ASCII alone";
            return Unsent::Never(why.to_owned());
        }
        Refusal::Said(stage, error) => (*stage, error),
    };
    let words = told(error);
    // The server said nothing: the connection broke or could not be opened.
    let Some(code) = error.status().map(u16::from) else {
        return Unsent::Stopped(format!("the mail server did not take it: {}", without(&words, to)));
    };
    let text = error.source().map(ToString::to_string).unwrap_or_default();
    match about(stage, code, &text) {
        About::Address => Unsent::Never(format!("the mail server refuses: {words}")),
        About::Letter => Unsent::Later(format!("the mail server did not take it: {words}")),
        About::Account => Unsent::Stopped(format!("the mail server takes no mail: {}", without(&words, to))),
    }
}

/// The mail server's message without the guest's address. If the server refuses all letters, members of every
/// organisation can read the message.
fn without(words: &str, address: &str) -> String {
    if address.is_empty() { words.to_owned() } else { words.replace(address, "…") }
}

/// Builds the MIME message: plain text and HTML with the picture, and the attachment.
fn message(letter: Letter) -> Result<Message, Unable> {
    let from = mailbox(&letter.from)?;
    let mut builder = Message::builder()
        .message_id(Some(format!("<{}>", letter.message_id)))
        .date(std::time::UNIX_EPOCH + Duration::from_millis(u64::try_from(letter.at.ms()).unwrap_or_default()))
        .from(from)
        .to(mailbox(&letter.to)?)
        .subject(plain(&letter.subject))
        // This header keeps absence notes from answering the letter (RFC 3834).
        .raw_header(HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned()));
    // A wrong reply address is the organisation's setting. The guest still gets the pass.
    match letter.reply_to.as_ref().map(mailbox) {
        Some(Ok(reply_to)) => builder = builder.reply_to(reply_to),
        Some(Err(_)) => tracing::warn!("reply_to is no address that mail can be sent to: left out"),
        None => {}
    }
    let (content_id, picture) = letter.picture;
    let kind = content_type(&picture)?;
    let inline = Attachment::new_inline_with_name(content_id, picture.name).body(picture.bytes, kind);
    let kind = content_type(&letter.attachment)?;
    let beside = Attachment::new(letter.attachment.name).body(letter.attachment.bytes, kind);
    let shown = MultiPart::related().singlepart(SinglePart::html(letter.html)).singlepart(inline);
    let read = MultiPart::alternative().singlepart(SinglePart::plain(letter.text)).multipart(shown);
    builder
        .multipart(MultiPart::mixed().multipart(read).singlepart(beside))
        .map_err(|error| Unable::Never(format!("the letter cannot be written: {error}")))
}

fn content_type(enclosure: &Enclosure) -> Result<ContentType, Unable> {
    ContentType::parse(enclosure.media_type).map_err(|error| Unable::Never(error.to_string()))
}

fn mailbox(of: &Mailbox) -> Result<lettre::message::Mailbox, Unable> {
    let address: Address =
        of.email.parse().map_err(|_| Unable::Never(format!("{} is no address that mail can be sent to", of.email)))?;
    // A control character in a name would make the header invalid.
    Ok(lettre::message::Mailbox::new(Some(plain(&of.name)).filter(|name| !name.is_empty()), address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use admit_core::time::Timestamp;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

    fn letter() -> Letter {
        let enclosure = |name: &str, media_type| Enclosure { name: name.into(), media_type, bytes: vec![1, 2, 3] };
        Letter {
            message_id: "run.send-email@x.example".into(),
            from: Mailbox { name: "Old Harbour, Ltd. \"O\"".into(), email: "passes@x.example".into() },
            reply_to: None,
            to: Mailbox { name: "Ana\r\nBcc: all@x.example".into(), email: "ana@y.example".into() },
            subject: "Your pass\r\nBcc: all@x.example".into(),
            at: Timestamp::parse("2026-06-01T08:00:00Z").unwrap(),
            text: "text".into(),
            html: "<p>html".into(),
            picture: ("pic".into(), enclosure("p.png", "image/png")),
            attachment: enclosure("e.ics", "text/calendar; charset=utf-8; method=PUBLISH"),
        }
    }

    #[test]
    fn no_line_of_a_header_is_somebody_elses() {
        let bytes = String::from_utf8(message(letter()).unwrap().formatted()).unwrap();
        let (head, body) = bytes.split_once("\r\n\r\n").unwrap();
        assert!(!head.lines().any(|line| line.to_ascii_lowercase().starts_with("bcc")), "{head}");
        assert!(head.contains("Message-ID: <run.send-email@x.example>"), "{head}");
        assert!(head.contains("Mon, 01 Jun 2026 08:00:00"), "{head}");
        assert!(body.contains("Content-ID: <pic>") && body.contains("text/calendar"), "{body}");
    }

    /// How a simulated mail server behaves in one conversation.
    #[derive(Clone, Copy)]
    struct Manners {
        /// The number of answers after which the server says nothing more, keeps the connection open, and reports that
        /// to the test.
        answers: usize,
        /// The number of letters that the server accepts. After them it refuses at the line that `at` names.
        letters: usize,
        /// The beginning of the client's line at which the server refuses. `greeting` means the server's own first
        /// line, and `.` the end of a letter.
        at: &'static str,
        /// The answer with which it refuses.
        enough: &'static str,
        /// Whether it closes the connection after each accepted letter.
        hangs_up: bool,
    }
    const POLITE: Manners =
        Manners { answers: usize::MAX, letters: usize::MAX, at: "MAIL", enough: "", hangs_up: false };

    /// Plays one conversation. Gives the number of accepted letters.
    async fn converse(socket: tokio::net::TcpStream, manners: Manners, tell: &UnboundedSender<usize>) -> usize {
        use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
        let (reader, mut writer) = socket.into_split();
        let (mut lines, mut in_letter, mut given, mut taken) = (BufReader::new(reader).lines(), false, 0, 0);
        let refuses = |line: &str, taken| taken >= manners.letters && line.starts_with(manners.at);
        let mut say = if refuses("greeting", 0) { manners.enough } else { "220 here" };
        loop {
            if !say.is_empty() {
                if given == manners.answers {
                    tell.send(taken).unwrap();
                    std::future::pending::<()>().await;
                }
                given += 1;
                writer.write_all(format!("{say}\r\n").as_bytes()).await.unwrap();
                if say == "250 taken" && manners.hangs_up {
                    return taken;
                }
            }
            let Ok(Some(line)) = lines.next_line().await else { return taken };
            say = match (in_letter, line.as_str()) {
                (true, ".") if refuses(".", taken) => manners.enough,
                (true, ".") => {
                    taken += 1;
                    "250 taken"
                }
                (true, _) => "",
                (false, line) if refuses(line, taken) => manners.enough,
                (false, "DATA") => "354 go on",
                (false, _) => "250 yes",
            };
            in_letter = say == "354 go on" || in_letter && line != ".";
        }
    }
    /// A mail server for tests. Its first conversation follows the first of `manners`, and so on; further ones follow
    /// the last. It reports the number of accepted letters when the conversation ends or falls silent.
    async fn server(manners: Vec<Manners>) -> (String, UnboundedReceiver<usize>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}", listener.local_addr().unwrap());
        let (tell, told) = unbounded_channel();
        tokio::spawn(async move {
            for conversation in 0.. {
                let (socket, _) = listener.accept().await.unwrap();
                let (tell, manners) = (tell.clone(), manners[conversation.min(manners.len() - 1)]);
                tokio::spawn(async move { tell.send(converse(socket, manners, &tell).await) });
            }
        });
        (url, told)
    }

    /// In the first conversation the server says nothing more after the letter's body. A worker that gives up must not
    /// leave that connection to the next letter.
    #[tokio::test]
    async fn a_letter_that_was_given_up_on_leaves_no_answer_to_the_next_one() {
        // The server answers greeting, EHLO, MAIL, RCPT and DATA, and then nothing.
        let (url, mut told) = server(vec![Manners { answers: 5, ..POLITE }, POLITE]).await;
        let smtp = Smtp::open(&url, letter().from).unwrap();
        tokio::select! {
            sent = smtp.send(letter()) => panic!("answered: {sent:?}"),
            taken = told.recv() => assert_eq!(taken, Some(1), "it has the letter, and is silent"),
        }
        smtp.send(letter()).await.unwrap();
        assert_eq!(told.recv().await, Some(1));
    }

    #[tokio::test]
    async fn letters_that_wait_are_handed_connections_and_the_last_one_ends_them() {
        let (url, mut told) = server(vec![POLITE]).await;
        let smtp = Smtp::open(&url, letter().from).unwrap();
        let sent = futures_util::future::join_all((0..40).map(|_| smtp.send(letter()))).await;
        assert!(sent.iter().all(Result::is_ok), "{sent:?}");
        let (mut letters, mut conversations) = (0, 0);
        while letters < 40 {
            letters += told.recv().await.unwrap();
            conversations += 1;
        }
        assert_eq!(letters, 40);
        assert!(conversations <= 8, "{conversations} connections");
    }

    #[tokio::test]
    async fn a_letter_that_was_taken_is_taken_though_the_server_hangs_up() {
        let (url, mut told) = server(vec![Manners { hangs_up: true, ..POLITE }]).await;
        let smtp = Smtp::open(&url, letter().from).unwrap();
        // There are more letters than connections, so some get a connection that has ended.
        let sent = futures_util::future::join_all((0..20).map(|_| smtp.send(letter()))).await;
        assert!(sent.iter().all(Result::is_ok), "{sent:?}");
        for _ in 0..20 {
            assert_eq!(told.recv().await, Some(1), "each letter once");
        }
    }

    #[tokio::test]
    async fn a_server_that_has_had_enough_of_a_connection_gets_another() {
        for enough in ["421 enough", "452 too many letters", "550 too many letters in this session"] {
            let (url, mut told) = server(vec![Manners { letters: 2, enough, ..POLITE }]).await;
            let smtp = Smtp::open(&url, letter().from).unwrap();
            let sent = futures_util::future::join_all((0..30).map(|_| smtp.send(letter()))).await;
            assert!(sent.iter().all(Result::is_ok), "{enough}: {sent:?}");
            let mut letters = 0;
            while letters < 30 {
                letters += told.recv().await.unwrap();
            }
            assert_eq!(letters, 30, "{enough}: each letter once");
        }
    }

    /// The same answer has different meanings at different stages.
    #[tokio::test]
    async fn an_answer_stops_all_letters_or_this_one_by_the_stage_it_comes_at() {
        let cases = [
            ("greeting", "554 5.7.1 no service here", "stopped"),
            ("EHLO", "421 4.7.0 too many connections", "stopped"),
            ("MAIL", "550 5.1.1 who is that", "stopped"),
            ("MAIL", "450 4.7.1 too much mail from you", "stopped"),
            ("RCPT", "550 5.1.1 no such user", "never"),
            ("RCPT", "450 4.7.1 <ana@y.example>: greylisted", "later"),
            ("RCPT", "452 4.2.2 over quota", "later"),
            ("RCPT", "554 5.7.1 <ana@y.example>: Relay access denied", "stopped"),
            ("RCPT", "421 4.7.28 unusual rate", "stopped"),
            ("DATA", "451 4.3.0 out of order", "stopped"),
            (".", "550 5.4.5 daily quota", "stopped"),
            (".", "550-5.7.26 not\r\n550 5.7.26 signed", "stopped"),
            (".", "554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException", "stopped"),
        ];
        for (at, enough, meant) in cases {
            let (url, _told) = server(vec![Manners { letters: 0, at, enough, ..POLITE }]).await;
            let sent = Smtp::open(&url, letter().from).unwrap().send(letter()).await;
            let (means, why) = match sent {
                Ok(()) => ("taken", String::new()),
                Err(Unsent::Stopped(why)) => ("stopped", why),
                Err(Unsent::Later(why)) => ("later", why),
                Err(Unsent::Never(why)) => ("never", why),
            };
            assert_eq!(means, meant, "{at}: {enough}: {why}");
            assert!(why.contains(enough.split([' ', '-']).nth(1).unwrap()), "{why}");
            assert!(
                meant != "stopped" || !why.contains("ana@"),
                "whoever reads it may be another organisation's: {why}"
            );
        }
    }

    /// The server answers nothing in any conversation. Eight of the twenty letters are sent at a time.
    #[tokio::test]
    async fn a_letters_time_begins_with_its_turn() {
        let (url, mut told) = server(vec![Manners { answers: 0, ..POLITE }]).await;
        let smtp =
            Smtp { server: MailServer::read(&url).unwrap().within(Duration::from_millis(50)), sender: letter().from };
        let sent = futures_util::future::join_all((0..20).map(|_| smtp.send(letter()))).await;
        let slow = |sent: &Result<(), Unsent>| matches!(sent, Err(Unsent::Stopped(why)) if why.contains("too long"));
        assert!(sent.iter().all(slow), "{sent:?}");
        for _ in 0..20 {
            assert_eq!(told.recv().await, Some(0), "each of them was begun");
        }
    }

    #[tokio::test]
    async fn a_mail_server_that_is_not_there_is_asked_again_later() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("smtp://{}", listener.local_addr().unwrap());
        drop(listener);
        let sent = Smtp::open(&url, letter().from).unwrap().send(letter()).await;
        assert!(matches!(&sent, Err(Unsent::Stopped(why)) if why.contains("refused")), "{sent:?}");
    }

    #[test]
    fn a_wrong_reply_to_keeps_no_pass_from_its_guest() {
        let reply_to = Some(Mailbox { name: String::new(), email: "<office@x.example>".into() });
        let bytes = String::from_utf8(message(Letter { reply_to, ..letter() }).unwrap().formatted()).unwrap();
        assert!(!bytes.contains("Reply-To"), "{bytes}");
    }

    #[test]
    fn an_address_that_is_none_is_told_and_not_tried_again() {
        let to = Mailbox { name: String::new(), email: "a b@c".into() };
        assert!(matches!(message(Letter { to, ..letter() }), Err(Unable::Never(_))));
    }
}
