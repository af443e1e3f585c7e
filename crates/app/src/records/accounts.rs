//! Organisations, users and what their secrets open.

use admit_core::ids::*;
use admit_core::time::Timestamp;

use admit_core::access::Role;

/// An organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationRecord {
    /// The organisation's id.
    pub organization_id: OrganizationId,
    /// The organisation's name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// A person who signs in; the e-mail is unique over all organisations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// The user's id.
    pub user_id: UserId,
    /// Sign-in e-mail, lower case.
    pub email: String,
    /// The user's name.
    pub name: String,
    /// argon2id, PHC text.
    pub password_hash: String,
    /// When made.
    pub created_at: Timestamp,
}

/// A user's part in an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRecord {
    /// The user who is a member.
    pub user_id: UserId,
    /// Sign-in e-mail.
    pub email: String,
    /// The member's name.
    pub name: String,
    /// The member's role.
    pub role: Role,
    /// Since when.
    pub created_at: Timestamp,
}

/// The account, device or endpoint that a secret opens. It is found by the secret's SHA-256 alone: one of the three
/// tables without a tenant policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRecord {
    /// SHA-256 of the secret's text.
    pub token_hash: [u8; 32],
    /// Organisation it opens.
    pub organization_id: OrganizationId,
    /// The kind of credential.
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
    /// The token's id.
    pub api_token_id: String,
    /// The token's purpose, in its maker's words.
    pub name: String,
    /// The user to whom the token belongs.
    pub user_id: UserId,
    /// The role that bounds what the token may do; never more than its user.
    pub role: Role,
    /// SHA-256 of its text.
    pub token_hash: [u8; 32],
    /// When made.
    pub created_at: Timestamp,
    /// From when on it opens nothing.
    pub expires_at: Timestamp,
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
