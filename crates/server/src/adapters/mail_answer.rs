//! Classifies a mail server's refusal. It is about the guest's address, about this letter at this moment, or about the
//! account and the server, so that every other letter would be refused too.
//!
//! The stage of the conversation, the code, and the enhanced status code (RFC 3463) decide. The text decides only
//! without such a code. A refusal that is not known to be about the address counts as about the account. That mistake
//! only delays letters. The opposite mistake would make a run give up, and a guest would get no pass.

/// How far the conversation had come when the server refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Connecting, greeting, EHLO, STARTTLS.
    Connection,
    /// Signing in: AUTH.
    SignIn,
    /// Naming the sender: MAIL.
    Sender,
    /// Naming the recipient: RCPT.
    Recipient,
    /// DATA, and the letter itself.
    Content,
}

/// The subject of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The guest's address. No further letter to it makes sense.
    Address,
    /// Only this letter at this moment. Other letters may be accepted.
    Letter,
    /// The account or the server. No letter is accepted at this moment.
    Account,
}

/// Codes that always concern the account: closing the channel, a temporary sign-in failure, and requests to sign in.
const OF_THE_ACCOUNT: [u16; 6] = [421, 454, 530, 534, 535, 538];

/// The subject of a refusal with this code and text.
pub fn about(stage: Stage, code: u16, text: &str) -> About {
    let said = Said { is_permanent: code >= 500, code, status: status(code, text), text: text.to_lowercase() };
    match stage {
        Stage::Connection | Stage::SignIn | Stage::Sender => About::Account,
        Stage::Recipient | Stage::Content if OF_THE_ACCOUNT.contains(&code) => About::Account,
        Stage::Recipient => said.of_a_recipient(),
        Stage::Content => said.of_the_content(),
    }
}

/// Subject and detail of the enhanced status code in the text, such as `5.1.1`, `#5.1.1` or `(5.1.1)`. `None` if the
/// text has no such code of the class of `code` (4 or 5).
fn status(code: u16, text: &str) -> Option<(u16, u16)> {
    text.split_whitespace().find_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_ascii_digit());
        let mut numbers = word.split('.').map(|number| number.parse::<u16>().ok());
        let (class, subject, detail) = (numbers.next()??, numbers.next()??, numbers.next()??);
        (class == code / 100 && numbers.next().is_none()).then_some((subject, detail))
    })
}

struct Said {
    code: u16,
    is_permanent: bool,
    /// Subject and detail of the enhanced status code; `None` without one.
    status: Option<(u16, u16)>,
    /// The answer's text in lower case.
    text: String,
}

impl Said {
    fn has(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.text.contains(word))
    }
    /// A permanent refusal is about the address; a temporary one about this letter.
    fn of_the_address(&self) -> About {
        if self.is_permanent { About::Address } else { About::Letter }
    }
    /// Whether the text is about the account with which Admit sends. The enhanced status code does not tell the
    /// sender's mailbox from the recipient's.
    fn names_the_sender(&self) -> bool {
        self.has(&["sender", "submission", "your account", "you have"])
    }
    fn names_the_recipient(&self) -> bool {
        let words = [
            "recipient",
            "tried to reach",
            "no such user",
            "user unknown",
            "unknown user",
            "unknown recipient",
            "mailbox unavailable",
            "mailbox is full",
            "mailbox full",
            "mailbox not found",
            "does not exist",
        ];
        self.has(&words) && !self.names_the_sender()
    }
    fn is_of_rate_or_policy(&self) -> bool {
        let words = [
            "quota",
            "rate",
            "limit",
            "too many",
            "throttl",
            "exceed",
            "relay",
            "authent",
            "not permitted",
            "not allowed",
            "spam",
            "block",
            "blacklist",
            "policy",
            "reputation",
            "spf",
            "dkim",
            "dmarc",
        ];
        self.has(&words)
    }

    fn of_a_recipient(&self) -> About {
        match self.status {
            // The sender's address is wrong, or does not belong to this account.
            Some((1, 7 | 8)) => About::Account,
            Some((1, _)) => self.of_the_address(),
            Some((2, 0)) if self.is_permanent => About::Account,
            Some((2, _)) if self.names_the_sender() => About::Account,
            Some((2, _)) => self.of_the_address(),
            // 4.4.5 is Gmail's daily limit of an account. Other routing codes concern the address.
            Some((4, 5)) => About::Account,
            Some((4, _)) => self.of_the_address(),
            // Outlook.com answers so for a mailbox that does not exist.
            Some((5, 0)) if self.code == 550 => About::Address,
            Some((6, 7)) => About::Address,
            // Greylisting delays one pair of sender and recipient for some minutes.
            Some((7, 0 | 1)) if !self.is_permanent && !self.has(&["too many", "rate", "limit", "throttl", "quota"]) => {
                About::Letter
            }
            Some((3 | 5 | 6 | 7, _)) => About::Account,
            Some(_) | None => self.of_a_recipient_by_words(),
        }
    }
    fn of_a_recipient_by_words(&self) -> About {
        if self.has(&["too many", "rate limit", "limit exceeded", "throttl"]) {
            return About::Account;
        }
        if self.names_the_recipient() {
            return self.of_the_address();
        }
        if self.is_of_rate_or_policy() {
            return About::Account;
        }
        match self.code {
            450..=452 => About::Letter,
            501 | 550..=553 | 555 => About::Address,
            _ => About::Account,
        }
    }

    fn of_the_content(&self) -> About {
        match self.status {
            Some((1, 7 | 8)) => About::Account,
            Some((1, _)) => self.of_the_address(),
            Some((2, detail)) if detail > 0 && self.names_the_recipient() => self.of_the_address(),
            Some((4 | 7, _)) if !self.is_permanent && self.has(&["greylist", "graylist"]) => About::Letter,
            Some((1..=7, _)) => About::Account,
            Some(_) | None if self.names_the_recipient() => self.of_the_address(),
            Some(_) | None if self.has(&["greylist", "graylist"]) => About::Letter,
            Some(_) | None => About::Account,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::About::*;
    use super::Stage::*;
    use super::*;

    /// Answers as providers document them, or as public mail logs contain them.
    #[rustfmt::skip]
    const ANSWERS: &[(Stage, u16, &str, About)] = &[
        // Gmail and Google Workspace: support.google.com/a/answer/3726730
        (Content, 421, "4.7.28 Gmail has detected an unusual rate of unsolicited mail originating from your IP address.", Account),
        (Recipient, 421, "4.7.0 Try again later, closing connection. (EHLO)", Account),
        (Content, 550, "5.4.5 Daily user sending limit exceeded.", Account),
        (Recipient, 550, "5.4.5 Daily SMTP relay sending limit exceeded for customer.", Account),
        (Content, 550, "5.7.26 Your email has been blocked because the sender is unauthenticated.", Account),
        (Content, 550, "5.7.1 Our system has detected that this message is likely unsolicited mail.", Account),
        (SignIn, 454, "4.7.0 Too many login attempts, please try again later.", Account),
        (SignIn, 535, "5.7.8 Username and Password not accepted.", Account),
        (SignIn, 534, "5.7.9 Application-specific password required.", Account),
        (Sender, 530, "5.5.1 Authentication Required.", Account),
        (Sender, 530, "5.7.0 Must issue a STARTTLS command first", Account),
        (Recipient, 450, "4.2.1 The user you are trying to contact is receiving mail too quickly.", Letter),
        (Recipient, 452, "4.2.2 The email account that you tried to reach is over quota.", Letter),
        (Recipient, 552, "5.2.2 The email account that you tried to reach is over quota.", Address),
        (Content, 552, "5.2.2 The recipient's inbox is out of storage space.", Address),
        (Recipient, 550, "5.1.1 The email account that you tried to reach does not exist.", Address),
        (Recipient, 550, "5.2.1 The email account that you tried to reach is disabled.", Address),
        (Recipient, 553, "5.1.2 We weren't able to find the recipient domain.", Address),
        (Recipient, 452, "4.5.3 Your message has too many recipients.", Account),
        // Exchange Online: learn.microsoft.com, "NDR error codes"
        (Content, 550, "5.7.705 Access denied, tenant has exceeded threshold.", Account),
        (Recipient, 550, "5.7.708 Access denied, traffic not accepted from this IP.", Account),
        (Content, 554, "5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException", Account),
        (Recipient, 554, "5.2.0 STOREDRV.Deliver.Exception", Account),
        (Recipient, 550, "5.2.2 Submission quota exceeded", Account),
        (Content, 432, "4.3.2 STOREDRV.ClientSubmit; sender thread limit exceeded", Account),
        (Content, 554, "5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException.MapiExceptionShutoffQuotaExceeded", Address),
        (Recipient, 451, "4.7.500 Server busy. Please try again later from [192.0.2.1].", Account),
        (Recipient, 451, "4.7.650 The mail server [192.0.2.1] has been temporarily rate limited due to IP reputation.", Account),
        (Recipient, 550, "5.4.1 Recipient address rejected: Access denied.", Address),
        (Recipient, 550, "5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient not found by SMTP address lookup", Address),
        (Recipient, 550, "5.1.8 Access denied, bad outbound sender", Account),
        (Content, 550, "5.7.60 SMTP; Client does not have permissions to send as this sender", Account),
        (Recipient, 550, "5.5.0 Requested action not taken: mailbox unavailable (S2017062302).", Address),
        (Recipient, 550, "5.7.1 Unfortunately, messages from [192.0.2.1] weren't sent. Part of their network is on our block list (S3140).", Account),
        // Amazon SES: docs.aws.amazon.com/ses/latest/dg/smtp-response-codes.html
        (Content, 454, "Throttling failure: Maximum sending rate exceeded.", Account),
        (Content, 454, "Throttling failure: Daily message quota exceeded.", Account),
        (SignIn, 454, "Temporary authentication failure", Account),
        (Content, 554, "Message rejected: Email address is not verified.", Account),
        (Content, 554, "Message rejected: Sending suspended for this account.", Account),
        (Connection, 421, "Too many concurrent SMTP connections", Account),
        (Content, 451, "Timeout waiting for data from client.", Account),
        // SendGrid and Mailgun
        (Sender, 550, "Unauthenticated senders not allowed", Account),
        (Content, 451, "You have exceeded your messaging limits", Account),
        (Recipient, 452, "Too many recipients received this hour", Account),
        (Recipient, 420, "Domain mg.club.example is not allowed to send: recipient limit exceeded", Account),
        // Yahoo: senders.yahooinc.com/smtp-error-codes
        (Sender, 421, "4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints", Account),
        (Content, 554, "5.7.9 Message not accepted for policy reasons.", Account),
        (Content, 554, "delivery error: dd This user doesn't have a yahoo.com account: no such user", Address),
        // Postfix and its policy servers
        (Recipient, 450, "4.7.1 <ana@y.example>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/help", Letter),
        (Recipient, 450, "4.2.0 <ana@y.example>: Recipient address rejected: Greylisted", Letter),
        (Recipient, 451, "4.7.1 Greylisting in action, please come back later", Letter),
        (Content, 451, "4.7.1 Greylisted, please try again later", Letter),
        (Recipient, 450, "4.7.1 Error: too many recipients from 192.0.2.1", Account),
        (Sender, 450, "4.7.1 Error: too much mail from 192.0.2.1", Account),
        (Recipient, 450, "4.1.1 <ana@y.example>: Recipient address rejected: unverified address", Letter),
        (Recipient, 550, "5.1.1 <ana@y.example>: Recipient address rejected: User unknown in virtual mailbox table", Address),
        (Recipient, 501, "5.1.3 Bad recipient address syntax", Address),
        (Recipient, 554, "5.7.1 <ana@y.example>: Relay access denied", Account),
        (Recipient, 550, "5.7.1 Unable to relay for ana@y.example", Account),
        (Recipient, 450, "4.3.0 Error: command failed", Account),
        (Content, 452, "4.3.1 Insufficient system storage", Account),
        (Content, 552, "5.3.4 Message size exceeds fixed limit", Account),
        (Recipient, 553, "5.7.1 <passes@x.example>: Sender address rejected: not owned by user office", Account),
        // Without an enhanced status code
        (Recipient, 550, "No such user here", Address),
        (Recipient, 550, "mailbox unavailable", Address),
        (Recipient, 551, "User not local; please try <ana@z.example>", Address),
        (Recipient, 553, "sorry, that domain isn't in my list of allowed rcpthosts; relaying denied", Account),
        (Recipient, 554, "no such user", Address),
        (Recipient, 554, "Transaction failed", Account),
        (Recipient, 550, "#5.1.0 Address rejected.", Address),
        (Recipient, 552, "Requested mail action aborted: exceeded storage allocation; mailbox full", Address),
        (Recipient, 450, "Requested mail action not taken: mailbox unavailable", Letter),
        (Recipient, 451, "Requested action aborted: local error in processing", Letter),
        (Recipient, 451, "Rate limit exceeded, try again later", Account),
        (Recipient, 500, "Command not recognised", Account),
        (Content, 550, "too many letters in this session", Account),
        (Content, 451, "Requested action aborted: local error in processing", Account),
        (Content, 550, "spam", Account),
        (Connection, 554, "No SMTP service here", Account),
        (Connection, 450, "4.7.25 Client host rejected: cannot find your hostname", Account),
    ];

    #[test]
    fn every_answer_is_about_what_its_server_means() {
        let wrong: Vec<String> = ANSWERS
            .iter()
            .map(|(stage, code, text, meant)| (about(*stage, *code, text), format!("{stage:?} {code} {text}"), *meant))
            .filter(|(said, _, meant)| said != meant)
            .map(|(said, answer, meant)| format!("{answer}: {said:?}, not {meant:?}"))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_status_is_read_wherever_it_stands_and_an_address_of_a_machine_is_none() {
        assert_eq!(status(550, "5.7.26 Your mail"), Some((7, 26)));
        assert_eq!(status(550, "denied (#5.1.1)"), Some((1, 1)));
        assert_eq!(status(550, "[5.1.10]; not found"), Some((1, 10)));
        assert_eq!(status(550, "Client host 192.0.2.1 blocked, 5.1"), None);
        assert_eq!(status(450, "5.1.1 of another class"), None);
    }
}
