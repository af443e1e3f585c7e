//! Makes the line that an organiser's act adds to a ledger, in the act's own transaction (law 7).

use admit_core::ids::EventId;
use serde_json::Value;

use crate::caller::UserCaller;
use crate::records::NewAudit;

/// A line for an act of `caller` on one thing. `event_id` names the event's ledger. If absent, the line belongs to the
/// organisation's own ledger.
pub fn of(
    caller: &UserCaller,
    event_id: Option<&EventId>,
    action: &'static str,
    entity: (&'static str, &str),
    changes: Value,
) -> NewAudit {
    NewAudit {
        event_id: event_id.cloned(),
        user_id: Some(caller.user_id.clone()),
        device_id: None,
        action,
        entity_type: entity.0,
        entity_id: entity.1.to_owned(),
        changes: changes.to_string(),
        metadata: "{}".to_owned(),
    }
}
