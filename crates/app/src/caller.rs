//! The caller of a request. It is found from the credential, never from the request's content (spec §3, S2 §8).

use admit_core::access::{Action, Role, can};
use admit_core::ids::{DeviceId, EventId, OrganizationId, UserId};
use admit_core::time::Timestamp;

use crate::error::{Error, Result};

/// A signed-in user, or an API token of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCaller {
    /// The organisation of this session or token.
    pub organization_id: OrganizationId,
    /// The user who asks.
    pub user_id: UserId,
    /// The user's role in this organisation.
    pub role: Role,
    /// When the API token expires. `None` for a session and at the command line.
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
    /// Whether the caller sees guests' e-mail addresses and phone numbers, and finds guests by them. A caller who may
    /// create guests sees them. A caller who may only read guests sees names alone.
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

/// A device with its key. Each transaction reads the device's present state again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCaller {
    /// The organisation of the device.
    pub organization_id: OrganizationId,
    /// The device that asks.
    pub device_id: DeviceId,
    /// SHA-256 of the key that the device presented.
    pub token_hash: [u8; 32],
    /// The text of the key that the device presented. It is the bearer token of this request. It is also the key of the
    /// signatures of S1's scans and of the manifest.
    pub api_key: String,
}

/// A webhook endpoint, and the message that was signed under its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCaller {
    /// The organisation of the endpoint.
    pub organization_id: OrganizationId,
    /// The event whose guests the endpoint changes.
    pub event_id: EventId,
    /// The endpoint that received the message.
    pub endpoint_id: String,
    /// The message's id, which is the same at every try.
    pub webhook_id: String,
}
