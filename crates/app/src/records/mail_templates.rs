//! The texts of mails that an organisation wrote itself.

/// A kind of mail. Each kind has three texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailKind {
    /// The mail that brings a guest's pass, or tells them that something about it changed.
    Pass,
}

impl MailKind {
    /// Every kind.
    pub const ALL: [Self; 1] = [Self::Pass];

    /// The word for the kind, in the database and in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
        }
    }
}

/// One of the three texts of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailPart {
    /// `subject.txt`
    Subject,
    /// `body.txt`
    Text,
    /// `body.html`
    Html,
}

impl MailPart {
    /// All three parts.
    pub const ALL: [Self; 3] = [Self::Subject, Self::Text, Self::Html];

    /// The name of the part's field in requests and answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Text => "text",
            Self::Html => "html",
        }
    }
}

/// An organisation's own templates of one kind of mail. A part that is absent is the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailTemplateRecord {
    /// Template of the subject.
    pub subject: Option<String>,
    /// Template of the body as text.
    pub text: Option<String>,
    /// Template of the body as HTML.
    pub html: Option<String>,
}

impl MailTemplateRecord {
    /// The organisation's own template of a part.
    pub fn part(&self, part: MailPart) -> Option<&str> {
        match part {
            MailPart::Subject => self.subject.as_deref(),
            MailPart::Text => self.text.as_deref(),
            MailPart::Html => self.html.as_deref(),
        }
    }
}
