//! One scan on the wire, in S1's form or in Admit's own. Each scan is read separately, so that the server rejects a
//! malformed one without the others of its batch.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::barcode::BarcodeHash;
use crate::ids::{DeviceId, EventId, GateId, KeyId, LogId, ScanId, TicketId};
use crate::limits;
use crate::rule::Epoch;
use crate::scan::{Basis, ClockEvidence, Form, Headcount, Method, Outcome, Override, Scan, ScanKind, Stage, WalkIn};
use crate::sign::{self, V1Fields};
use crate::time::Timestamp;
use crate::wire::hex;
use crate::wire::problem::{self, FieldError};

/// The largest integer that every JSON reader represents exactly: 2⁵³ − 1.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// A time together with the text that was sent, since S1's signature covers the text (spec D6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentTime {
    /// The text as it was sent.
    pub text: String,
    /// The moment that the text means.
    pub at: Timestamp,
}

impl Serialize for SentTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
impl<'de> Deserialize<'de> for SentTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at = Timestamp::parse(&text).map_err(serde::de::Error::custom)?;
        Ok(Self { text, at })
    }
}

/// A scan in S1's form (S1 §4.2). Its texts are kept as sent, because its signature covers five of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanV1 {
    /// The scan's id within the device.
    pub scan_id: ScanId,
    /// The ticket. Absent if the device did not know it.
    #[serde(default)]
    pub ticket_id: Option<TicketId>,
    /// Hash of the code.
    pub barcode_hash: BarcodeHash,
    /// The scan's time by the device's clock, before the batch's offset.
    pub scanned_at: SentTime,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// The outcome that the screen showed.
    pub outcome: Outcome,
    /// `HMAC-SHA256=…` over five fields. A wrong signature makes the scan unverified, not malformed.
    pub signature: String,
}

/// The data that came with a scan in addition to its content. The server keeps them as evidence, and no verdict uses
/// them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The signature as sent. `None` if the form has none, or if it is longer than any signature.
    pub signature: Option<String>,
    /// The item as sent. `None` unless it holds a field that this version does not know. So no field of a newer app is
    /// lost.
    pub sent: Option<String>,
    /// The name of the guest whom the scan added. `None` if the scan added none, or if the name does not have the
    /// signed digest.
    pub named: Option<Named>,
}

/// The name of a guest added at the door, with the salt of the signed digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The guest's name.
    pub name: String,
    /// 16 random bytes, which are hashed before the name.
    #[serde(with = "hex")]
    pub salt: [u8; 16],
}

impl Evidence {
    /// The evidence of an item as sent, without a name.
    pub fn new(signature: String, json: &str, unknown: bool) -> Self {
        let fits = !signature.is_empty() && signature.len() <= limits::NOTE_CHARS;
        Self { signature: fits.then_some(signature), sent: unknown.then(|| json.to_owned()), named: None }
    }
}

impl WalkInItem {
    /// Takes the name. `None` unless it is the name that was signed.
    fn take_named(&mut self) -> Option<Named> {
        let (name, salt) = (self.name.take()?, self.salt.take()?);
        (WalkIn::digest_of(&salt, &name) == self.name_digest).then_some(Named { name, salt })
    }
}

/// An item's JSON without the guest's name. `None` if it cannot be read.
fn without_name(json: &str) -> Option<String> {
    let mut item: serde_json::Value = serde_json::from_str(json).ok()?;
    let walk_in = item.get_mut("walk_in")?.as_object_mut()?;
    walk_in.remove("name");
    walk_in.remove("salt");
    Some(item.to_string())
}

impl ScanV1 {
    /// Reads one item. The error's path starts at the item.
    pub fn read(json: &str) -> Result<Self, FieldError> {
        Ok(Self::read_with_evidence(json)?.0)
    }
    /// Reads one item and its [`Evidence`]: the parts that came with the item and are no content.
    pub fn read_with_evidence(json: &str) -> Result<(Self, Evidence), FieldError> {
        let mut unknown = false;
        let item: Self = problem::read_noting(json.as_bytes(), |_| unknown = true)?;
        let evidence = Evidence::new(item.signature.clone(), json, unknown);
        Ok((item, evidence))
    }
    /// Calls `then` with the five signed texts.
    fn with_fields<T>(&self, then: impl FnOnce(&V1Fields<'_>) -> T) -> T {
        let barcode_hash = self.barcode_hash.to_string();
        then(&V1Fields {
            scan_id: self.scan_id.as_str(),
            ticket_id: self.ticket_id.as_ref().map(TicketId::as_str),
            barcode_hash: &barcode_hash,
            scanned_at: &self.scanned_at.text,
            gate_id: self.gate_id.as_str(),
        })
    }
    /// Whether the signature is right under the API key with which the item came.
    pub fn verify(&self, api_key: &str) -> bool {
        self.with_fields(|fields| sign::verify_v1(api_key, fields, &self.signature))
    }
    /// The text that the signature covers.
    pub fn signed_text(&self) -> String {
        self.with_fields(|fields| fields.text())
    }
    /// Signs the scan. Clients and tests use it.
    pub fn sign(&mut self, api_key: &str) {
        self.signature = self.with_fields(|fields| sign::sign_v1(api_key, fields));
    }
    /// The scan in the model's form. `device_id` made it, and was assigned to `event_id` at that time (spec §4). It is
    /// an entry of one person, and the door opened only if the outcome is `valid`. The batch's offset is not included:
    /// it belongs to the delivery.
    pub fn into_scan(self, device_id: &DeviceId, event_id: &EventId) -> Scan {
        Scan {
            form: Form::V1,
            scan_id: self.scan_id,
            device_id: device_id.clone(),
            log_id: None,
            seq: None,
            prev: None,
            key_id: None,
            event_id: event_id.clone(),
            gate_id: self.gate_id,
            kind: ScanKind::Entry,
            stage: Stage::Final,
            method: Method::Qr,
            barcode_hash: Some(self.barcode_hash),
            raw_hash: None,
            ticket_id: self.ticket_id,
            count: 1,
            outcome: self.outcome,
            opened: self.outcome == Outcome::Valid,
            practice: false,
            override_: None,
            walk_in: None,
            headcount: None,
            operator: None,
            target_device: None,
            target_scan_id: None,
            keep: 0,
            at: self.scanned_at.at,
            uncertainty_ms: limits::LEGACY_UNCERTAINTY_MS,
            clock: None,
            epoch: None,
            manifest_version: 0,
            cursor: 0,
            basis: None,
        }
    }
}

/// A scan in Admit's own form, `"format": 2` (spec §4 "Scan, v2 fields"). Reading checks types; [`ScanV2::into_scan`]
/// checks the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanV2 {
    /// The scan's id within the device.
    pub scan_id: ScanId,
    /// The device that made the scan.
    pub device_id: DeviceId,
    /// The log of the device that made the scan.
    pub log_id: LogId,
    /// The scan's place in the log, from 1.
    pub seq: u64,
    /// First 16 bytes of the digest of the scan before it in the log, as 32 hexadecimal digits. Zeros for the first
    /// scan.
    #[serde(with = "hex")]
    pub prev: [u8; 16],
    /// Key of the signature.
    pub key_id: KeyId,
    /// The event that the scan belongs to.
    pub event_id: EventId,
    /// The gate of the scan.
    pub gate_id: GateId,
    /// `entry`, `exit`, `revert` or `headcount`.
    pub kind: ScanKind,
    /// `claim` or `final`.
    pub stage: Stage,
    /// `qr`, `manual` or `import`.
    pub method: Method,
    /// The hash of the code as it matched in the list. Absent if there was no code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barcode_hash: Option<BarcodeHash>,
    /// The hash of the code as it was read. Absent if there was no code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_hash: Option<BarcodeHash>,
    /// The ticket that the device found for the code. Absent if it found none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<TicketId>,
    /// Number of persons, 1 to 10,000. 1 if absent.
    #[serde(default = "one")]
    pub count: u32,
    /// The outcome that the screen showed.
    pub outcome: Outcome,
    /// Whether the door opened.
    pub opened: bool,
    /// Whether the scan was taken while the device's list said `draft`. False if absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub practice: bool,
    /// `{by, reason}` of a refusal that was set aside. Absent otherwise.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub override_: Option<Override>,
    /// The guest whom staff added with this scan. Absent if they added none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walk_in: Option<WalkInItem>,
    /// The people without a ticket whom staff counted. Absent unless the kind is `headcount`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headcount: Option<Headcount>,
    /// The name of the person who operated the device. Absent if nobody signed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// For a revert: the author of the scan to undo. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_device: Option<DeviceId>,
    /// For a revert: the id of the scan to undo. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_scan_id: Option<ScanId>,
    /// For a revert: the number of persons that stay counted. 0 if absent.
    #[serde(default)]
    pub keep: u32,
    /// The signed time, in milliseconds since 1970.
    pub at_ms: i64,
    /// Half the width of the interval in which the true time lies, in milliseconds.
    pub uncertainty_ms: u64,
    /// The device's clocks: `{wall_ms, mono_ms, session_id, corrected}`.
    pub clock: ClockEvidence,
    /// The epoch of `manifest_version` and `cursor`. Absent if the device knew none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// The version of the device's list. 0 without one.
    #[serde(default)]
    pub manifest_version: u64,
    /// The serial of the device's changes cursor. 0 without one.
    #[serde(default)]
    pub cursor: u64,
    /// The facts from which the device decided: `{within, inside, spent, last_entry_at, status}`. Absent if it decided by no
    /// ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// `HMAC-SHA256-V2=…` over everything above. A wrong signature makes the scan unverified, not malformed.
    pub signature: String,
}

/// A guest added at the door. The signature covers all fields but the name and the salt. It covers those two by their
/// digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkInItem {
    /// The ticket's zone.
    pub zone: String,
    /// Persons that the ticket admits.
    pub party: u32,
    /// SHA-256 of the salt followed by the name.
    #[serde(with = "hex")]
    pub name_digest: [u8; 32],
    /// The guest's name. Absent if it was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// 16 random bytes. Absent if the name was erased.
    #[serde(default, with = "hex::option", skip_serializing_if = "Option::is_none")]
    pub salt: Option<[u8; 16]>,
}

fn one() -> u32 {
    1
}

impl ScanV2 {
    /// Reads one item: its scan and its signature. A signature that is too long is returned empty. The error's path
    /// starts at the item.
    pub fn read(json: &str) -> Result<(Scan, String), FieldError> {
        let (scan, evidence) = Self::read_with_evidence(json)?;
        Ok((scan, evidence.signature.unwrap_or_default()))
    }
    /// Reads one item and its [`Evidence`]: the parts that came with the item and are no content.
    pub fn read_with_evidence(json: &str) -> Result<(Scan, Evidence), FieldError> {
        let mut unknown = false;
        let mut item: Self = problem::read_noting(json.as_bytes(), |_| unknown = true)?;
        let mut evidence = Evidence::new(std::mem::take(&mut item.signature), json, unknown);
        evidence.named = item.walk_in.as_mut().and_then(WalkInItem::take_named);
        if item.walk_in.is_some() {
            // The name is kept only with the guest, so that it can be erased there.
            evidence.sent = evidence.sent.and_then(|sent| without_name(&sent));
        }
        Ok((item.into_scan()?, evidence))
    }
    /// This scan with the name of the guest whom it added.
    pub fn named(mut self, named: Option<&Named>) -> Self {
        if let (Some(walk_in), Some(named)) = (&mut self.walk_in, named) {
            (walk_in.name, walk_in.salt) = (Some(named.name.clone()), Some(named.salt));
        }
        self
    }
    /// The wire form of a scan and its signature.
    ///
    /// Fails with the field's name if the scan lacks a field that Admit's own form always has.
    pub fn of(scan: &Scan, signature: &str) -> Result<Self, FieldError> {
        let missing = |path: &str| FieldError::new(path, "is required");
        Ok(Self {
            scan_id: scan.scan_id.clone(),
            device_id: scan.device_id.clone(),
            log_id: scan.log_id.clone().ok_or_else(|| missing("log_id"))?,
            seq: scan.seq.ok_or_else(|| missing("seq"))?,
            prev: scan.prev.ok_or_else(|| missing("prev"))?,
            key_id: scan.key_id.clone().ok_or_else(|| missing("key_id"))?,
            event_id: scan.event_id.clone(),
            gate_id: scan.gate_id.clone(),
            kind: scan.kind,
            stage: scan.stage,
            method: scan.method,
            barcode_hash: scan.barcode_hash,
            raw_hash: scan.raw_hash,
            ticket_id: scan.ticket_id.clone(),
            count: scan.count,
            outcome: scan.outcome,
            opened: scan.opened,
            practice: scan.practice,
            override_: scan.override_.clone(),
            walk_in: scan.walk_in.as_ref().map(|walk_in| WalkInItem {
                zone: walk_in.zone.clone(),
                party: walk_in.party,
                name_digest: walk_in.name_digest,
                name: None,
                salt: None,
            }),
            headcount: scan.headcount,
            operator: scan.operator.clone(),
            target_device: scan.target_device.clone(),
            target_scan_id: scan.target_scan_id.clone(),
            keep: scan.keep,
            at_ms: scan.at.ms(),
            uncertainty_ms: scan.uncertainty_ms,
            clock: scan.clock.clone().ok_or_else(|| missing("clock"))?,
            epoch: scan.epoch,
            manifest_version: scan.manifest_version,
            cursor: scan.cursor,
            basis: scan.basis.clone(),
            signature: signature.to_owned(),
        })
    }
    /// The scan in the model's form, after all bounds are checked. The result has no signature, so the caller must copy
    /// the signature first.
    pub fn into_scan(self) -> Result<Scan, FieldError> {
        self.check()?;
        let at = Timestamp::from_ms(self.at_ms)
            .map_err(|_| FieldError::new("at_ms", "must be milliseconds since 1970, before the year 9999"))?;
        Ok(Scan {
            form: Form::V2,
            scan_id: self.scan_id,
            device_id: self.device_id,
            log_id: Some(self.log_id),
            seq: Some(self.seq),
            prev: Some(self.prev),
            key_id: Some(self.key_id),
            event_id: self.event_id,
            gate_id: self.gate_id,
            kind: self.kind,
            stage: self.stage,
            method: self.method,
            barcode_hash: self.barcode_hash,
            raw_hash: self.raw_hash,
            ticket_id: self.ticket_id,
            count: self.count,
            outcome: self.outcome,
            opened: self.opened,
            practice: self.practice,
            override_: self.override_,
            walk_in: self.walk_in.map(|item| WalkIn {
                zone: item.zone,
                party: item.party,
                name_digest: item.name_digest,
            }),
            headcount: self.headcount,
            operator: self.operator,
            target_device: self.target_device,
            target_scan_id: self.target_scan_id,
            keep: self.keep,
            at,
            uncertainty_ms: self.uncertainty_ms,
            clock: Some(self.clock),
            epoch: self.epoch,
            manifest_version: self.manifest_version,
            cursor: self.cursor,
            basis: self.basis,
        })
    }

    fn check(&self) -> Result<(), FieldError> {
        self.check_numbers()?;
        self.check_subject()?;
        self.check_walk_in()?;
        self.check_headcount()?;
        let texts = [
            ("clock.session_id", Some(self.clock.session_id.as_str()), limits::ID_CHARS),
            ("operator", self.operator.as_deref(), limits::NAME_CHARS),
            ("walk_in.zone", self.walk_in.as_ref().map(|one| one.zone.as_str()), limits::NAME_CHARS),
            ("walk_in.name", self.walk_in.as_ref().and_then(|one| one.name.as_deref()), limits::NAME_CHARS),
            ("override.by", self.override_.as_ref().map(|set_aside| set_aside.by.as_str()), limits::NAME_CHARS),
            ("override.reason", self.override_.as_ref().map(|set_aside| set_aside.reason.as_str()), limits::NOTE_CHARS),
        ];
        for (path, text, most) in texts {
            let Some(text) = text else { continue };
            if text.chars().count() > most {
                return Err(FieldError::new(path, format_args!("must be at most {most} characters")));
            }
            if text.contains('\0') {
                return Err(FieldError::new(path, "must not hold the character NUL"));
            }
        }
        Ok(())
    }

    /// Checks a scan that added a guest: it is the guest's entry, and its ticket id is the one that is computed from
    /// event, device and scan id.
    fn check_walk_in(&self) -> Result<(), FieldError> {
        let Some(walk_in) = &self.walk_in else { return Ok(()) };
        if self.kind != ScanKind::Entry || self.stage != Stage::Final || self.method != Method::Manual {
            return Err(FieldError::new("walk_in", "needs the kind entry, the stage final and the method manual"));
        }
        if self.barcode_hash.is_some() {
            return Err(FieldError::new("barcode_hash", "must be absent: a guest added at the door has no code yet"));
        }
        if self.ticket_id != WalkIn::ticket_id(&self.event_id, &self.device_id, &self.scan_id) {
            return Err(FieldError::new("ticket_id", "must follow from event, device and scan id"));
        }
        if walk_in.zone.is_empty() || walk_in.zone.chars().count() > limits::NAME_CHARS {
            return Err(FieldError::new(
                "walk_in.zone",
                format_args!("must be 1 to {} characters", limits::NAME_CHARS),
            ));
        }
        if !(1..=limits::PARTY).contains(&walk_in.party) || self.count > walk_in.party {
            let message = format_args!("must be 1 to {}, and no less than count", limits::PARTY);
            return Err(FieldError::new("walk_in.party", message));
        }
        Ok(())
    }

    /// Checks a headcount: it has its own kind, names no ticket, and its `count` is the number of persons that an undo
    /// can take back.
    fn check_headcount(&self) -> Result<(), FieldError> {
        let headcount = match (&self.headcount, self.kind) {
            (None, ScanKind::Headcount) => return Err(FieldError::new("headcount", "is required for a headcount")),
            (Some(_), kind) if kind != ScanKind::Headcount => {
                return Err(FieldError::new("headcount", "must be absent, unless the kind is headcount"));
            }
            (None, _) => return Ok(()),
            (Some(headcount), _) => headcount,
        };
        if self.stage != Stage::Final || self.method != Method::Manual || !self.opened {
            return Err(FieldError::new("kind", "headcount needs the stage final, the method manual and opened"));
        }
        if self.outcome != Outcome::Valid {
            return Err(FieldError::new("outcome", "must be valid for a headcount"));
        }
        for (path, is_absent) in [
            ("barcode_hash", self.barcode_hash.is_none()),
            ("walk_in", self.walk_in.is_none()),
            ("override", self.override_.is_none()),
        ] {
            if !is_absent {
                return Err(FieldError::new(path, "must be absent: a headcount is about no ticket"));
            }
        }
        if self.ticket_id != Headcount::subject_id(&self.event_id, &self.device_id, &self.scan_id) {
            return Err(FieldError::new("ticket_id", "must follow from event, device and scan id"));
        }
        match headcount {
            Headcount::Change { delta, .. } if !(1..=limits::HEADCOUNT_STEP).contains(&delta.unsigned_abs()) => {
                let message = format_args!("must be 1 to {0}, or −1 to −{0}", limits::HEADCOUNT_STEP);
                return Err(FieldError::new("headcount.change.delta", message));
            }
            Headcount::Recount { inside } if *inside > limits::RECOUNT => {
                let message = format_args!("must be 0 to {}", limits::RECOUNT);
                return Err(FieldError::new("headcount.recount.inside", message));
            }
            Headcount::Change { .. } | Headcount::Recount { .. } => {}
        }
        if self.count != headcount.persons() {
            return Err(FieldError::new("count", format_args!("must be {} for this headcount", headcount.persons())));
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), FieldError> {
        if !(1..=limits::PARTY).contains(&self.count) {
            return Err(FieldError::new("count", format_args!("must be 1 to {}", limits::PARTY)));
        }
        if self.keep > limits::PARTY {
            return Err(FieldError::new("keep", format_args!("must be 0 to {}", limits::PARTY)));
        }
        if self.seq == 0 {
            return Err(FieldError::new("seq", "must be 1 or more: the first scan of a log has 1"));
        }
        for (path, value) in [
            ("seq", self.seq),
            ("uncertainty_ms", self.uncertainty_ms),
            ("manifest_version", self.manifest_version),
            ("cursor", self.cursor),
        ] {
            if value > MAX_INTEGER {
                return Err(FieldError::new(path, format_args!("must be at most {MAX_INTEGER}")));
            }
        }
        Ok(())
    }

    /// Checks that the scan names its subject. Otherwise no ticket and no code could ever be found for it.
    fn check_subject(&self) -> Result<(), FieldError> {
        if self.kind == ScanKind::Revert {
            if self.target_device.is_none() {
                return Err(FieldError::new("target_device", "is required for a revert"));
            }
            if self.target_scan_id.is_none() {
                return Err(FieldError::new("target_scan_id", "is required for a revert"));
            }
        }
        if self.barcode_hash.is_some() || self.method == Method::Manual && self.ticket_id.is_some() {
            return Ok(());
        }
        Err(FieldError::new("barcode_hash", "is required, unless the method is manual and ticket_id is given"))
    }
}

impl TryFrom<ScanV2> for Scan {
    type Error = FieldError;
    fn try_from(item: ScanV2) -> Result<Self, FieldError> {
        item.into_scan()
    }
}

/// The readable part of a malformed item. It is enough to list the item, and to know that the item's `seq` is not
/// missing in the log. Such an item counts as received and is listed as rejected (spec §3 "Log").
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Readable {
    /// The scan's id. `None` if it is missing or wrong.
    pub scan_id: Option<ScanId>,
    /// The id of its log. `None` if it is missing or wrong.
    pub log_id: Option<LogId>,
    /// The scan's place in the log. `None` if it is missing or wrong.
    pub seq: Option<u64>,
}

impl Readable {
    /// Reads what it can of an item that [`ScanV2::read`] or [`ScanV1::read`] refused.
    pub fn of(json: &str) -> Self {
        let value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
        let text = |field: &str| value.get(field).and_then(serde_json::Value::as_str);
        Self {
            scan_id: text("scan_id").and_then(|text| text.parse().ok()),
            log_id: text("log_id").and_then(|text| text.parse().ok()),
            seq: value.get("seq").and_then(serde_json::Value::as_u64).filter(|seq| (1..=MAX_INTEGER).contains(seq)),
        }
    }
}

/// An item's JSON in the form in which a [`SyncRequest`](super::SyncRequest) holds it. Fails if the text is not one
/// JSON value.
pub fn raw_item(json: String) -> Result<Box<RawValue>, FieldError> {
    RawValue::from_string(json).map_err(|error| FieldError::new("", format_args!("is not JSON: {error}")))
}
