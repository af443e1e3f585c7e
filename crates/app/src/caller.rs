//! Who asks: found from the credential, never from the request (spec §3, S2 §8).

use admit_core::access::{Action, Role, can};
use admit_core::ids::{DeviceId, EventId, OrganizationId, UserId};

use crate::error::{Error, Result};

/// A signed-in person, or an API token of theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCaller {
    /// The one organisation of this session or token.
    pub organization_id: OrganizationId,
    /// Who.
    pub user_id: UserId,
    /// Their role here.
    pub role: Role,
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
    /// Organisation.
    pub organization_id: OrganizationId,
    /// Device.
    pub device_id: DeviceId,
    /// SHA-256 of the key presented.
    pub token_hash: [u8; 32],
    /// The key's text as presented: the bearer of this request, for S1's signatures and the manifest's.
    pub api_key: String,
}

/// A webhook endpoint, and the message that was signed under its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookCaller {
    /// Organisation.
    pub organization_id: OrganizationId,
    /// Event whose guests it brings.
    pub event_id: EventId,
    /// Endpoint.
    pub endpoint_id: String,
    /// The message's id, the same at every try.
    pub webhook_id: String,
}
