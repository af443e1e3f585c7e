//! The caller of a request: found from the credential, never from the request (spec §3, S2 §8).

use admit_core::access::{Action, Role, can};
use admit_core::ids::{DeviceId, EventId, OrganizationId, UserId};
use admit_core::time::Timestamp;

use crate::error::{Error, Result};

/// A signed-in person, or an API token of theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCaller {
    /// The one organisation of this session or token.
    pub organization_id: OrganizationId,
    /// The user who asks.
    pub user_id: UserId,
    /// Their role here.
    pub role: Role,
    /// When the API token ends that they came with; none with a session or at the command line.
    pub token_ends_at: Option<Timestamp>,
}

impl UserCaller {
    /// Fails with `forbidden` unless the role allows the action.
    pub fn must(&self, action: Action) -> Result<()> {
        if can(self.role, action) {
            Ok(())
        } else {
            Err(Error::denied("forbidden", format!("your role ({}) may not do this", self.role)))
        }
    }
    /// Whether they see guests' e-mail addresses and phone numbers, and find guests by them. A user who makes guests
    /// does. A user who only looks sees names.
    pub fn sees_contacts(&self) -> bool {
        can(self.role, Action::ManageGuests) || can(self.role, Action::ManageOwnGuests)
    }
    /// Fails with `forbidden` unless the role allows one of the actions.
    pub fn must_any(&self, actions: &[Action]) -> Result<()> {
        match actions.iter().find(|action| can(self.role, **action)).or(actions.first()) {
            Some(action) => self.must(*action),
            None => Ok(()),
        }
    }
}

/// A device with its key. Its present state is read again inside each transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCaller {
    /// The organisation of the device.
    pub organization_id: OrganizationId,
    /// The device that asks.
    pub device_id: DeviceId,
    /// SHA-256 of the key presented.
    pub token_hash: [u8; 32],
    /// The key's text as presented: the bearer of this request, for S1's signatures and the manifest's.
    pub api_key: String,
}

/// A webhook endpoint, and the message that was signed under its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCaller {
    /// The organisation of the endpoint.
    pub organization_id: OrganizationId,
    /// Event whose guests it brings.
    pub event_id: EventId,
    /// The endpoint that the message came to.
    pub endpoint_id: String,
    /// The message's id, the same at every try.
    pub webhook_id: String,
}
