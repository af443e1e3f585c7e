//! The named constraints, and the conflict that an operation gets when it breaks one (law 5).

use admit_app::error::Error;

/// A unique key, with the conflict that the caller gets when a write breaks it.
#[derive(Debug)]
pub struct Constraint {
    /// The constraint's name, as PostgreSQL reports it.
    pub name: &'static str,
    /// The constraint's columns, as SQLite reports them.
    pub columns: &'static str,
    /// The `code` of the conflict in the HTTP answer.
    pub code: &'static str,
    /// The message of the conflict for people.
    pub message: &'static str,
}

macro_rules! constraints {
    ($($name:literal on $columns:literal: $code:literal, $message:literal;)*) => {
        /// Every unique key that a caller's input can break.
        pub static CONSTRAINTS: &[Constraint] =
            &[$(Constraint { name: $name, columns: $columns, code: $code, message: $message }),*];
    };
}
constraints! {
    "users_pk" on "users.user_id": "user_exists", "a user with this id exists";
    "users_email_taken" on "users.email": "email_taken", "this e-mail address already signs in to an account";
    "credentials_pk" on "credentials.token_hash": "token_exists", "this secret is already in use";
    "organizations_pk" on "organizations.organization_id": "organization_exists", "an organisation with this id exists";
    "members_pk" on "members.organization_id, members.user_id": "member_exists", "this person is already a member";
    "api_tokens_pk" on "api_tokens.organization_id, api_tokens.api_token_id": "api_token_exists", "an API token with this id exists";
    "events_pk" on "events.organization_id, events.event_id": "event_exists", "an event with this id exists";
    "rules_pk" on "rules.organization_id, rules.event_id, rules.subject_kind, rules.subject_id, rules.serial, rules.ordinal": "rule_exists", "two rules share a place";
    "gates_pk" on "gates.organization_id, gates.event_id, gates.gate_id": "gate_exists", "the event has a gate with this id";
    "entry_types_pk" on "entry_types.organization_id, entry_types.entry_type_id": "entry_type_exists", "an entry type with this id exists";
    "entry_types_name" on "entry_types.organization_id, entry_types.event_id, entry_types.name": "entry_type_exists", "the event has an entry type with this name";
    "guest_lists_pk" on "guest_lists.organization_id, guest_lists.guest_list_id": "guest_list_exists", "a guest list with this id exists";
    "guest_lists_name" on "guest_lists.organization_id, guest_lists.event_id, guest_lists.name": "guest_list_exists", "the event has a guest list with this name";
    "tickets_pk" on "tickets.organization_id, tickets.ticket_id": "ticket_exists", "a ticket with this id exists";
    "tickets_import_key" on "tickets.organization_id, tickets.event_id, tickets.import_key": "ticket_exists", "a ticket with this import key exists";
    "codes_barcode_taken" on "codes.organization_id, codes.event_id, codes.barcode_hash": "barcode_taken", "this barcode was given to another ticket of the event";
    "guests_pk" on "guests.organization_id, guests.guest_id": "guest_exists", "a guest with this id exists";
    "devices_pk" on "devices.organization_id, devices.device_id": "device_exists", "a device with this id exists";
    "device_keys_pk" on "device_keys.organization_id, device_keys.key_id": "key_exists", "a key with this id exists";
    "pairing_tokens_pk" on "pairing_tokens.organization_id, pairing_tokens.token_hash": "token_exists", "this pairing token exists";
    "batches_pk" on "batches.organization_id, batches.device_id, batches.endpoint, batches.batch_id": "batch_exists", "this batch is stored";
    "reviews_pk" on "reviews.organization_id, reviews.event_id, reviews.serial, reviews.device_id, reviews.scan_id, reviews.digest": "review_exists", "this very review is stored";
    "runs_pk" on "runs.organization_id, runs.run_id": "run_exists", "a run with this id exists";
    "steps_pk" on "steps.organization_id, steps.run_id, steps.name": "step_exists", "this step of the run is done";
    "webhook_endpoints_pk" on "webhook_endpoints.organization_id, webhook_endpoints.endpoint_id": "webhook_endpoint_exists", "a webhook endpoint with this id exists";
    "webhook_messages_pk" on "webhook_messages.organization_id, webhook_messages.endpoint_id, webhook_messages.webhook_id": "webhook_message_exists", "this message was taken in";
    "incidents_pk" on "incidents.organization_id, incidents.incident_id": "incident_exists", "an incident with this id exists";
}

/// The conflict that a broken unique key means. PostgreSQL reports the key by its name, SQLite by its columns.
pub fn conflict(name_or_columns: &str) -> Error {
    match CONSTRAINTS.iter().find(|known| known.name == name_or_columns || known.columns == name_or_columns) {
        Some(known) => Error::conflict(known.code, known.message),
        None => Error::Bug(format!("a unique key was broken: {name_or_columns}")),
    }
}
