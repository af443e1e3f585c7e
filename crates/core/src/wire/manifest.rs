//! The signed list as JSON: S1 §2.2, with the members of spec §5 added before `signature`.
//!
//! The order of members is part of the format. The large part (up to and with `tickets`) is the same for every device.
//! It is built, hashed and compressed once. The members made for each request follow it, and `signature` is last (spec
//! D5).

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::hex;
use super::problem::{self, FieldError};
use crate::barcode::BarcodeHash;
use crate::event::{
    BarcodeKind, Days, DoorSettings, EventRules, EventStatus, ReEntry, StaffPin, ZoneClock, ZoneLimits, ZoneNames,
};
use crate::gate::{Direction, EntryRule, GateRules};
use crate::ids::{EventId, GateId, OrganizationId, TicketId};
use crate::rule::Epoch;
use crate::ticket::{Group, TicketRules, TicketStatus};
use crate::time::Timestamp;

/// The members before `tickets`. In a delta these are the members before `since`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestHead {
    /// The event of the list.
    pub event_id: EventId,
    /// The event's name.
    pub event_name: String,
    /// Serial of the last rule change in it.
    pub manifest_version: u64,
    /// The organisation that the list belongs to.
    pub organization_id: OrganizationId,
    /// `sha256:` and the hash over all codes. The index that a device makes of the codes must have this hash.
    pub content_hash: ContentHash,
    /// When the event starts.
    pub starts_at: Timestamp,
    /// When the event ends.
    pub ends_at: Timestamp,
    /// The staff PIN. Absent if none is set.
    pub staff_pin: Option<StaffPin>,
    /// Re-entry mode.
    pub re_entry: ReEntry,
    /// Seconds that must pass before re-entry in the mode `after_gap`.
    pub min_gap_seconds: u32,
    /// The event's status. A draft's scans are practice, and an event that ended admits nobody.
    pub status: EventStatus,
    /// When the event's days begin. Absent if nothing is daily.
    #[serde(default, skip_serializing_if = "Days::is_empty")]
    pub days: Days,
    /// Limits of those zones that have their own. Absent if none has.
    #[serde(default, skip_serializing_if = "ZoneLimits::is_empty")]
    pub limits: ZoneLimits,
    /// The most persons without a ticket whom staff may add at all doors together. Absent if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk_ins: Option<u32>,
    /// The clock of the event's zone. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ZoneClock>,
    /// Kinds of codes that cameras read in addition to QR. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barcode_kinds: Vec<BarcodeKind>,
    /// The name that staff use for each zone. Absent if no zone has a name.
    #[serde(default, skip_serializing_if = "ZoneNames::is_empty")]
    pub zone_names: ZoneNames,
    /// The gates, in order of id.
    pub gates: Vec<ManifestGate>,
}

impl ManifestHead {
    /// The event's rules as a device needs them. Only the server needs the time when doors opened, so it is absent.
    pub fn event_rules(&self) -> EventRules {
        EventRules {
            name: self.event_name.clone(),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            status: self.status,
            re_entry: self.re_entry,
            min_gap_seconds: self.min_gap_seconds,
            staff_pin: self.staff_pin.clone(),
            opened_at: None,
            days: self.days.clone(),
            limits: self.limits.clone(),
            walk_ins: self.walk_ins,
        }
    }
    /// The event's settings for devices that have no effect on decisions. The names part says which fields a verdict
    /// shows.
    pub fn door_settings(&self) -> DoorSettings {
        let (clock, barcode_kinds) = (self.clock.clone(), self.barcode_kinds.clone());
        DoorSettings { clock, barcode_kinds, zone_names: self.zone_names.clone(), ..DoorSettings::default() }
    }
}

/// A content hash, written `sha256:` + 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentHash(pub [u8; 32]);

impl Serialize for ContentHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&BarcodeHash(self.0))
    }
}
impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BarcodeHash::deserialize(deserializer).map(|hash| Self(hash.0))
    }
}

impl Serialize for Group {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        hex::serialize(&self.0, serializer)
    }
}
impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        hex::deserialize(deserializer).map(Self)
    }
}

/// A gate in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ManifestGate {
    /// The gate's id.
    pub gate_id: GateId,
    /// The gate's name.
    pub name: String,
    /// The gate's rules in S1's form.
    pub access_rules: AccessRules,
    /// The direction in which people go. S1's gates lead in.
    #[serde(default = "leads_in")]
    pub direction: Direction,
    /// Whether devices at this gate may carry guest names.
    #[serde(default)]
    pub names_on_devices: bool,
    /// Whether staff at this gate may add guests who have no ticket.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub walk_ins: bool,
}

/// The rules of a gate in S1's form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccessRules {
    /// Zones that the gate admits.
    pub zones: Vec<String>,
    /// The most persons for whom the area behind the gate has room. This is advice for staff, who may let in more.
    /// Absent if there is no limit.
    pub max_concurrent: Option<u32>,
    /// The checks that the gate makes.
    pub entry_rules: Vec<EntryRule>,
}

fn leads_in() -> Direction {
    Direction::In
}

impl ManifestGate {
    /// A gate and its rules in the list's form.
    pub fn of(gate_id: &GateId, rules: &GateRules) -> Self {
        Self {
            gate_id: gate_id.clone(),
            name: rules.name.clone(),
            access_rules: AccessRules {
                zones: rules.zones.clone(),
                max_concurrent: rules.capacity,
                entry_rules: rules.entry_rules.clone(),
            },
            direction: rules.direction,
            names_on_devices: rules.names_on_devices,
            walk_ins: rules.walk_ins,
        }
    }
    /// The gate's id and its rules in the model's form.
    pub fn into_rules(self) -> (GateId, GateRules) {
        let rules = GateRules {
            name: self.name,
            zones: self.access_rules.zones,
            direction: self.direction,
            capacity: self.access_rules.max_concurrent,
            names_on_devices: self.names_on_devices,
            walk_ins: self.walk_ins,
            entry_rules: self.access_rules.entry_rules,
        };
        (self.gate_id, rules)
    }
}

/// A code in a list. A ticket with several codes has one entry per code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestTicket<'a> {
    /// The ticket's id.
    pub ticket_id: Cow<'a, TicketId>,
    /// Hash of the code.
    pub barcode_hash: BarcodeHash,
    /// The ticket's booking, as 12 hexadecimal digits. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// The ticket's zone.
    #[serde(borrow)]
    pub zone: Cow<'a, str>,
    /// The gates at which the ticket admits. If empty, every gate that admits the ticket's zone.
    pub gate_ids: Cow<'a, [GateId]>,
    /// Persons that the ticket admits.
    pub entry_limit: u32,
    /// S1's member: whether the status is `active`.
    pub is_valid: bool,
    /// The first moment at which the ticket no longer admits. Absent if there is no such bound.
    pub expires_at: Option<Timestamp>,
    /// The status. Absent in S1's lists, where it follows from `is_valid`.
    #[serde(default)]
    pub status: Option<TicketStatus>,
    /// The first moment at which the ticket admits. Absent if there is no such bound.
    #[serde(default)]
    pub valid_from: Option<Timestamp>,
}

impl<'a> ManifestTicket<'a> {
    /// A code and its ticket's rules in the list's form.
    pub fn of(
        barcode_hash: BarcodeHash,
        ticket_id: &'a TicketId,
        rules: &'a TicketRules,
        group: Option<Group>,
    ) -> Self {
        Self {
            ticket_id: Cow::Borrowed(ticket_id),
            barcode_hash,
            group,
            zone: Cow::Borrowed(&rules.zone),
            gate_ids: Cow::Borrowed(&rules.gate_ids),
            entry_limit: rules.entry_limit,
            is_valid: rules.status == TicketStatus::Active,
            expires_at: rules.expires_at,
            status: Some(rules.status),
            valid_from: rules.valid_from,
        }
    }
    /// The ticket's rules.
    pub fn rules(&self) -> TicketRules {
        let said = if self.is_valid { TicketStatus::Active } else { TicketStatus::Voided };
        TicketRules {
            status: self.status.unwrap_or(said),
            entry_limit: self.entry_limit,
            gate_ids: self.gate_ids.to_vec(),
            zone: self.zone.clone().into_owned(),
            valid_from: self.valid_from,
            expires_at: self.expires_at,
        }
    }
}

/// The members that are made for each request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestTail {
    /// When the server handed the list out.
    pub generated_at: Timestamp,
    /// From this time on, verdicts by this list are amber (spec §4).
    pub expires_at: Timestamp,
    /// Server time minus the device's `X-Device-Time`, in seconds. 0 without that header.
    pub offset_seconds: i64,
    /// The server's epoch.
    pub epoch: Epoch,
    /// The event's head serial when the server handed the list out.
    pub serial: u64,
}

/// The members of the compact form that follow those of [`ManifestHead`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactCounts {
    /// The rules that codes share. Each code names an index into this array.
    pub classes: Vec<TicketRules>,
    /// Number of codes in the columns.
    pub codes: u64,
    /// Whether there is a column of bookings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub groups: bool,
    /// The version of the list to which a device applies this delta. Absent in a whole list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The number of codes that a delta removes from the list. Absent in a whole list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tombstones: Option<u64>,
}

/// The names part, without the members that the server makes for each request. It holds what the door needs of guests,
/// and never their e-mail or phone (spec §5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesHead {
    /// The event of the names.
    pub event_id: EventId,
    /// The organisation that the names belong to.
    pub organization_id: OrganizationId,
    /// Serial of the last change of a guest.
    pub names_version: u64,
    /// `sha256:` and the hash over all names. The names that a device holds must have this hash.
    pub content_hash: ContentHash,
    /// Labels of the guest fields that verdicts show, in their order. Absent if verdicts show none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// All names, in order of ticket. Absent in a delta, which has `since` and `upserts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<GuestName>>,
    /// For a delta: the version from which it starts. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// For a delta: names that are new or changed. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upserts: Option<Vec<GuestName>>,
}

/// A guest in the form that a device at a gate with names shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GuestName {
    /// The guest's ticket.
    pub ticket_id: TicketId,
    /// The guest's name.
    pub name: String,
    /// Number of persons expected, with the guest.
    pub party_size: u32,
    /// The note for the door. Absent if there is none.
    pub note: Option<String>,
    /// The check that staff must make. Absent if there is none.
    pub flag: Option<String>,
    /// Values of the fields that verdicts show, one per label. A value is empty if the guest lacks it. Absent if all
    /// would be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// The members of the names part that are made for each request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamesTail {
    /// When the server handed the names out.
    pub generated_at: Timestamp,
    /// The server's epoch.
    pub epoch: Epoch,
    /// The event's head serial when the server handed the names out.
    pub serial: u64,
}

/// A list as it was read. The codes stay text until [`each_code`] reads one after the other. So a list of a million
/// codes never stands twice in memory.
#[derive(Debug, Deserialize)]
pub struct ManifestJson<'a> {
    event_id: EventId,
    event_name: String,
    manifest_version: u64,
    organization_id: OrganizationId,
    content_hash: ContentHash,
    starts_at: Timestamp,
    ends_at: Timestamp,
    staff_pin: Option<StaffPin>,
    re_entry: ReEntry,
    min_gap_seconds: u32,
    status: EventStatus,
    #[serde(default)]
    days: Days,
    #[serde(default)]
    limits: ZoneLimits,
    #[serde(default)]
    walk_ins: Option<u32>,
    clock: Option<ZoneClock>,
    #[serde(default)]
    barcode_kinds: Vec<BarcodeKind>,
    #[serde(default)]
    zone_names: ZoneNames,
    gates: Vec<ManifestGate>,
    generated_at: Timestamp,
    expires_at: Timestamp,
    offset_seconds: i64,
    epoch: Epoch,
    serial: u64,
    /// All codes. Absent in a delta.
    #[serde(borrow, default)]
    pub tickets: Option<&'a RawValue>,
    /// For a delta: the version from which it starts. Absent otherwise.
    #[serde(default)]
    pub since: Option<u64>,
    /// For a delta: codes that are new or changed. Absent otherwise.
    #[serde(borrow, default)]
    pub upserts: Option<&'a RawValue>,
    /// For a delta: codes that are gone. Absent otherwise.
    #[serde(default)]
    pub tombstones: Option<Vec<BarcodeHash>>,
}

impl ManifestJson<'_> {
    /// Takes the members that every list has.
    pub fn into_head_and_tail(self) -> (ManifestHead, ManifestTail) {
        let head = ManifestHead {
            event_id: self.event_id,
            event_name: self.event_name,
            manifest_version: self.manifest_version,
            organization_id: self.organization_id,
            content_hash: self.content_hash,
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            staff_pin: self.staff_pin,
            re_entry: self.re_entry,
            min_gap_seconds: self.min_gap_seconds,
            status: self.status,
            days: self.days,
            limits: self.limits,
            walk_ins: self.walk_ins,
            clock: self.clock,
            barcode_kinds: self.barcode_kinds,
            zone_names: self.zone_names,
            gates: self.gates,
        };
        let tail = ManifestTail {
            generated_at: self.generated_at,
            expires_at: self.expires_at,
            offset_seconds: self.offset_seconds,
            epoch: self.epoch,
            serial: self.serial,
        };
        (head, tail)
    }
}

/// Calls `take` with every code of a `tickets` or `upserts` array, in order. `member` names the array in errors.
pub fn each_code(
    member: &str,
    array: &RawValue,
    mut take: impl FnMut(ManifestTicket<'_>) -> Result<(), FieldError>,
) -> Result<(), FieldError> {
    let mut own_error = None;
    let mut source = serde_json::Deserializer::from_slice(array.get().as_bytes());
    let seed = Codes { take: &mut take, own_error: &mut own_error };
    match seed.deserialize(&mut source) {
        Ok(()) => Ok(()),
        Err(error) => Err(match own_error {
            Some(own) => own.under(member),
            // Read the array again with the slower reader, which names the field.
            None => match problem::read::<Vec<ManifestTicket<'_>>>(array.get().as_bytes()) {
                Err(named) => named.under(member),
                Ok(_) => FieldError::new(member, error),
            },
        }),
    }
}

/// Walks the array without keeping its items.
struct Codes<'a, F> {
    take: &'a mut F,
    own_error: &'a mut Option<FieldError>,
}

impl<'de, F: FnMut(ManifestTicket<'_>) -> Result<(), FieldError>> DeserializeSeed<'de> for Codes<'_, F> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(ManifestTicket<'_>) -> Result<(), FieldError>> Visitor<'de> for Codes<'_, F> {
    type Value = ();
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of tickets")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(ticket) = seq.next_element::<ManifestTicket<'de>>()? {
            if let Err(error) = (self.take)(ticket) {
                let shown = serde::de::Error::custom(&error);
                *self.own_error = Some(error);
                return Err(shown);
            }
        }
        Ok(())
    }
}
