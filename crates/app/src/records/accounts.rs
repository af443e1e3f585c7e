//! Organisations and users, and the secrets by which they sign in.

use admit_core::ids::{OrganizationId, UserId};
use admit_core::time::Timestamp;

use admit_core::access::Role;

/// An organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationRecord {
    /// The organisation's id.
    pub organization_id: OrganizationId,
    /// The organisation's name.
    pub name: String,
    /// When the organisation was created.
    pub created_at: Timestamp,
}

/// A person who signs in. The e-mail is unique over all organisations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRecord {
    /// The user's id.
    pub user_id: UserId,
    /// The e-mail for signing in, in lower case.
    pub email: String,
    /// The user's name.
    pub name: String,
    /// The password's argon2id hash, as PHC text.
    pub password_hash: String,
    /// When the user was created.
    pub created_at: Timestamp,
}

/// A user's membership in an organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRecord {
    /// The user who is a member.
    pub user_id: UserId,
    /// The e-mail for signing in.
    pub email: String,
    /// The member's name.
    pub name: String,
    /// The member's role.
    pub role: Role,
    /// When the membership began.
    pub created_at: Timestamp,
}

/// The thing that a secret gives access to: an account, a device or an endpoint. It is found only by the secret's
/// SHA-256, before the organisation is known. So its table has no row level security policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRecord {
    /// SHA-256 of the secret's text.
    pub token_hash: [u8; 32],
    /// The organisation that the secret belongs to.
    pub organization_id: OrganizationId,
    /// The kind of credential.
    pub kind: CredentialKind,
    /// The id of what the secret stands for: user (session, API token), device (key), event (pairing token), ticket
    /// (pass) or webhook endpoint.
    pub holder: String,
    /// When the secret expires. `None` if it never does.
    pub expires_at: Option<Timestamp>,
    /// When the secret was created.
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
    /// A guest's pass, which shows the pass's page and nothing else.
    Pass,
    /// The id of a webhook endpoint in its address. It tells whose endpoint it is, and gives no access.
    WebhookEndpoint,
}

impl CredentialKind {
    /// The word under which the kind is stored.
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
    /// Reads the word that [`CredentialKind::as_str`] writes. `None` for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Session, Self::ApiToken, Self::DeviceKey, Self::PairingToken, Self::Pass, Self::WebhookEndpoint]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }
}

/// An API token, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiTokenRecord {
    /// The token's id.
    pub api_token_id: String,
    /// The token's purpose, in the words of the user who made it.
    pub name: String,
    /// The user to whom the token belongs.
    pub user_id: UserId,
    /// The role that limits what the token may do. It never allows more than its user's role.
    pub role: Role,
    /// SHA-256 of the token's text.
    pub token_hash: [u8; 32],
    /// When the token was created.
    pub created_at: Timestamp,
    /// When the token expires.
    pub expires_at: Timestamp,
    /// When the token was revoked. Absent if it was not.
    pub revoked_at: Option<Timestamp>,
}

/// How an organisation's mails look. For an absent member the server's default holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LetterheadRecord {
    /// The colour of the mail's head, as `#rrggbb` in lower case.
    pub color: Option<String>,
    /// The subject of a first mail. `{event}` stands for the event's name.
    pub subject: Option<String>,
    /// The address for answers.
    pub reply_to: Option<String>,
}

impl LetterheadRecord {
    /// The default colour of the mail's head and of a pass's page: the main colour of the web apps.
    pub const COLOR: &str = "#0f5c4a";
}
