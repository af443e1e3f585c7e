//! Organisations, users and what their secrets open.

use admit_core::ids::*;
use admit_core::time::Timestamp;

use admit_core::access::Role;

/// An organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationRecord {
    /// Id.
    pub organization_id: OrganizationId,
    /// Name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A person who signs in; the e-mail is unique over all organisations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// Id.
    pub user_id: UserId,
    /// Sign-in e-mail, lower case.
    pub email: String,
    /// Name.
    pub name: String,
    /// argon2id, PHC text.
    pub password_hash: String,
    /// When made.
    pub created_at: Timestamp,
}

/// A user's part in an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRecord {
    /// Who.
    pub user_id: UserId,
    /// Sign-in e-mail.
    pub email: String,
    /// Name.
    pub name: String,
    /// Role.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
}

/// What a secret opens. Found by the secret's SHA-256 alone: one of the three tables without a tenant policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRecord {
    /// SHA-256 of the secret's text.
    pub token_hash: [u8; 32],
    /// Organisation it opens.
    pub organization_id: OrganizationId,
    /// What it is.
    pub kind: CredentialKind,
    /// User (session, API token), device (key), event (pairing token), ticket (pass) or webhook endpoint it stands for.
    pub holder: String,
    /// After this it is over; `None` = never.
    pub expires_at: Option<Timestamp>,
    /// When made.
    pub created_at: Timestamp,
}

/// Kinds of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A browser's session.
    Session,
    /// A user's API token.
    ApiToken,
    /// A device's API key.
    DeviceKey,
    /// A pairing token.
    PairingToken,
    /// A guest's pass: shows its page, and nothing else.
    Pass,
    /// The id of a webhook endpoint, as its address names it: says whose it is, and opens nothing by itself.
    WebhookEndpoint,
}

impl CredentialKind {
    /// The word it is stored as.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::ApiToken => "api_token",
            Self::DeviceKey => "device_key",
            Self::PairingToken => "pairing_token",
            Self::Pass => "pass",
            Self::WebhookEndpoint => "webhook_endpoint",
        }
    }
    /// Reads [`CredentialKind::as_str`].
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Session, Self::ApiToken, Self::DeviceKey, Self::PairingToken, Self::Pass, Self::WebhookEndpoint]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// An API token as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiTokenRecord {
    /// Id.
    pub api_token_id: String,
    /// Name.
    pub name: String,
    /// Whose.
    pub user_id: UserId,
    /// SHA-256 of its text.
    pub token_hash: [u8; 32],
    /// When made.
    pub created_at: Timestamp,
    /// When withdrawn.
    pub revoked_at: Option<Timestamp>,
}

/// How an organisation's mails look; what is absent is the server's own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LetterheadRecord {
    /// Colour of the head, as `#rrggbb` in lower case.
    pub color: Option<String>,
    /// Subject of a first mail; `{event}` stands for the event's name.
    pub subject: Option<String>,
    /// Where answers go.
    pub reply_to: Option<String>,
}

impl LetterheadRecord {
    /// The colour of a head that has none of its own.
    pub const COLOR: &str = "#1d4ed8";
}
