//! Closed vocabularies in the document. The words come from core, so that document and code cannot differ.

use admit_app::audits::ACTIONS;
use admit_core::access::Role;
use admit_core::event::{BarcodeKind, EventStatus, ReEntry};
use admit_core::gate::{Direction, EntryRule};
use admit_core::incident::{IncidentKind, Severity};
use admit_core::job::RunState;
use admit_core::review::Decision;
use admit_core::scan::{Form, Method, Outcome, PersonClass, ScanKind, SignatureState, Stage};
use admit_core::ticket::TicketStatus;
use admit_core::wire::webhooks::{RowChange, WebhookStatus};
use serde_json::Value;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::schema::{ArrayItems, KnownFormat, Object, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{OpenApi, RefOr, Schema};

/// The name of a shape, the name of one of its members, and the words that this member allows. For an array they are
/// the words of its items.
const MEMBERS: &[(&str, &str, &[&str])] = &[
    ("EventView", "status", EventStatus::WORDS),
    ("EventView", "re_entry", ReEntry::WORDS),
    ("EventView", "barcode_kinds", BarcodeKind::WORDS),
    ("EventRequest", "status", EventStatus::WORDS),
    ("EventRequest", "re_entry", ReEntry::WORDS),
    ("EventRequest", "barcode_kinds", BarcodeKind::WORDS),
    ("EventPatchRequest", "status", EventStatus::WORDS),
    ("EventPatchRequest", "re_entry", ReEntry::WORDS),
    ("EventPatchRequest", "barcode_kinds", BarcodeKind::WORDS),
    ("GateView", "direction", Direction::WORDS),
    ("GateView", "entry_rules", EntryRule::WORDS),
    ("GateRequest", "direction", Direction::WORDS),
    ("GateRequest", "entry_rules", EntryRule::WORDS),
    ("GatePatchRequest", "direction", Direction::WORDS),
    ("GateOccupancy", "direction", Direction::WORDS),
    ("ManifestGate", "direction", Direction::WORDS),
    ("AccessRules", "entry_rules", EntryRule::WORDS),
    ("Manifest", "re_entry", ReEntry::WORDS),
    ("Manifest", "barcode_kinds", BarcodeKind::WORDS),
    ("Manifest", "status", EventStatus::WORDS),
    ("EntryTypeView", "re_entry", ReEntry::WORDS),
    ("EntryTypePatchRequest", "re_entry", ReEntry::WORDS),
    ("ManifestTicket", "status", TicketStatus::WORDS),
    ("TicketView", "status", TicketStatus::WORDS),
    ("TicketRequest", "status", TicketStatus::WORDS),
    ("TicketPatchRequest", "status", TicketStatus::WORDS),
    ("TicketPatchRequest", "effective", &["now", "start"]),
    ("GuestFilterRequest", "state", GUEST_STATES),
    ("GuestFilterRequest", "mail", PASS_MAILS),
    ("StandingGuestView", "status", &["pending", "checked_in", "no_show"]),
    ("StandingGuestView", "ticket_status", TicketStatus::WORDS),
    ("ArrivalView", "kind", &["entry", "exit", "refused"]),
    ("ChecklistItemView", "key", &["event", "gates", "guests", "phones", "test_scan", "staff_pin", "open_doors"]),
    ("ChecklistItemView", "state", &["done", "todo", "warn"]),
    ("MemberView", "role", Role::WORDS),
    ("MemberRequest", "role", Role::WORDS),
    ("RoleRequest", "role", Role::WORDS),
    ("Session", "role", Role::WORDS),
    ("DeviceView", "state", DEVICE_STATES),
    ("DeviceView", "device_type", DEVICE_TYPES),
    ("PairRequest", "device_type", DEVICE_TYPES),
    ("PairingAsk", "device_type", DEVICE_TYPES),
    ("PairingRequestView", "known", DEVICE_STATES),
    ("IncidentView", "kind", IncidentKind::WORDS),
    ("IncidentView", "severity", Severity::WORDS),
    ("IncidentView", "status", INCIDENT_STATES),
    ("ResolutionView", "decision", DECISIONS),
    ("DecidedScanView", "decision", &[Decision::WORDS[0], Decision::WORDS[1]]),
    ("ResolveRequest", "decision", DECISIONS),
    ("ResolveManyRequest", "decision", DECISIONS),
    ("RefusedAnswerView", "reason", &["not_found", "incident_cleared", "no_scans"]),
    ("KindCountView", "kind", IncidentKind::WORDS),
    ("ScanView", "kind", ScanKind::WORDS),
    ("ScanView", "stage", Stage::WORDS),
    ("ScanView", "method", Method::WORDS),
    ("ScanView", "form", Form::WORDS),
    ("ScanView", "device_outcome", Outcome::WORDS),
    ("ScanView", "signature", SignatureState::WORDS),
    ("VerdictView", "outcome", Outcome::WORDS),
    ("OnlineAnswer", "outcome", Outcome::WORDS),
    ("CheckInView", "outcome", Outcome::WORDS),
    ("ScanV1", "outcome", Outcome::WORDS),
    ("ScanV2", "outcome", Outcome::WORDS),
    ("ScanV2", "kind", ScanKind::WORDS),
    ("HeadcountChange", "class", PersonClass::WORDS),
    ("ScanV2", "stage", Stage::WORDS),
    ("ScanV2", "method", Method::WORDS),
    ("ScansSyncAnswer", "status", &["completed", "partial_success"]),
    ("GuestMessage", "type", RowChange::WORDS),
    ("WebhookAnswer", "status", WebhookStatus::WORDS),
    ("PairingWaiting", "status", &["waiting"]),
    ("RunView", "state", RunState::WORDS),
];

/// Path, query parameter of its GET operation, and its words.
const PARAMETERS: &[(&str, &str, &[&str])] = &[
    ("/api/events/{id}/incidents", "status", INCIDENT_STATES),
    ("/api/events/{id}/incidents", "kind", IncidentKind::WORDS),
    ("/api/events/{id}/scans", "outcome", Outcome::WORDS),
    ("/api/events/{id}/tickets", "status", TicketStatus::WORDS),
    ("/api/events/{id}/runs", "state", RunState::WORDS),
    ("/api/audit", "action", ACTIONS),
    ("/api/events/{id}/guests", "state", GUEST_STATES),
    ("/api/events/{id}/guests", "mail", PASS_MAILS),
    ("/api/events/{id}/guests", "sort", &["name", "last", "added"]),
];

const GUEST_STATES: &[&str] = &["inside", "to_come", "came", "no_show", "voided"];
const PASS_MAILS: &[&str] = &["refused", "waiting", "sent"];
const DEVICE_STATES: &[&str] = &["active", "suspended", "revoked"];
const DEVICE_TYPES: &[&str] = &["ipad", "phone", "desktop", "terminal"];
const INCIDENT_STATES: &[&str] = &["open", "resolved", "cleared"];
/// The words of [`Decision`], and `note`, which decides nothing.
const DECISIONS: &[&str] = &[Decision::WORDS[0], Decision::WORDS[1], Decision::WORDS[2], "note"];

/// Adds the words to the document.
pub fn name_words(document: &mut OpenApi) {
    for (shape, member, words) in MEMBERS {
        if let Some(object) = self::member(document, shape, member) {
            put(object, words);
        }
    }
    for (path, parameter, words) in PARAMETERS {
        if let Some(object) = self::parameter(document, path, parameter) {
            put(object, words);
        }
    }
}

/// The rows of the tables above for which the document has no place.
#[cfg(test)]
pub fn misplaced(document: &mut OpenApi) -> Vec<String> {
    let mut found = Vec::new();
    for (shape, name, _) in MEMBERS {
        if member(document, shape, name).is_none_or(|one| one.enum_values.is_none()) {
            found.push(format!("{shape}.{name}"));
        }
    }
    for (path, name, _) in PARAMETERS {
        if parameter(document, path, name).is_none_or(|one| one.enum_values.is_none()) {
            found.push(format!("{path}?{name}"));
        }
    }
    found
}

/// Removes the format `int32` from counts. They are 32 bits without a sign and go up to 4,294,967,295; `int32` ends at
/// half of it.
pub fn widen_counts(document: &mut OpenApi) {
    let shapes = document.components.as_mut().map(|all| &mut all.schemas).into_iter().flat_map(|all| all.values_mut());
    for shape in shapes {
        let RefOr::T(Schema::Object(shape)) = shape else { continue };
        for object in shape.properties.values_mut().filter_map(plain) {
            let narrow = object.format == Some(SchemaFormat::KnownFormat(KnownFormat::Int32));
            if narrow && object.minimum.is_some() && object.maximum.is_none() {
                object.format = Some(SchemaFormat::KnownFormat(KnownFormat::Int64));
                object.maximum = Some(u32::MAX.into());
            }
        }
    }
}

fn put(object: &mut Object, words: &[&str]) {
    let mut values: Vec<Value> = words.iter().map(|word| Value::from(*word)).collect();
    if matches!(&object.schema_type, SchemaType::Array(types) if types.contains(&Type::Null)) {
        values.push(Value::Null);
    }
    object.enum_values = Some(values);
}

/// The schema of a member, or of its items if it is an array.
fn member<'a>(document: &'a mut OpenApi, shape: &str, member: &str) -> Option<&'a mut Object> {
    let shape = document.components.as_mut()?.schemas.get_mut(shape)?;
    // The document describes a shape with another's members as `allOf` of both.
    let own = match shape {
        RefOr::T(Schema::Object(shape)) => shape,
        RefOr::T(Schema::AllOf(all)) => all.items.iter_mut().find_map(|one| match one {
            RefOr::T(Schema::Object(shape)) if shape.properties.contains_key(member) => Some(shape),
            _ => None,
        })?,
        _ => return None,
    };
    plain(own.properties.get_mut(member)?)
}

fn parameter<'a>(document: &'a mut OpenApi, path: &str, name: &str) -> Option<&'a mut Object> {
    let operation = document.paths.paths.get_mut(path)?.get.as_mut()?;
    let mut all = operation.parameters.iter_mut().flatten().filter_map(|one| match one {
        RefOr::T(parameter) => Some(parameter),
        RefOr::Ref(_) => None,
    });
    let one: &'a mut Parameter = all.find(|one| one.name == name)?;
    plain(one.schema.as_mut()?)
}

fn plain(schema: &mut RefOr<Schema>) -> Option<&mut Object> {
    match schema {
        RefOr::T(Schema::Object(object)) => Some(object),
        RefOr::T(Schema::Array(array)) => match &mut array.items {
            ArrayItems::RefOrSchema(items) => plain(items),
            ArrayItems::False => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::Frame;
    use utoipa::OpenApi as _;
    use utoipa::openapi::ObjectBuilder;

    #[test]
    fn every_decision_is_in_the_list() {
        assert_eq!(Decision::WORDS, &DECISIONS[..Decision::WORDS.len()]);
        assert_eq!(DECISIONS.len(), Decision::WORDS.len() + 1);
    }

    #[test]
    fn a_member_that_may_be_null_keeps_null_among_its_words() {
        let mut document = Frame::openapi();
        let may_be_null = SchemaType::from_iter([Type::String, Type::Null]);
        let shape = ObjectBuilder::new().property("status", ObjectBuilder::new().schema_type(may_be_null)).build();
        let schemas = &mut document.components.get_or_insert_default().schemas;
        schemas.insert("EventRequest".into(), shape.into());
        name_words(&mut document);
        let words = member(&mut document, "EventRequest", "status").unwrap().enum_values.clone().unwrap();
        assert_eq!(words.last(), Some(&Value::Null));
        assert_eq!(words.len(), EventStatus::WORDS.len() + 1);
    }
}
