//! `/api/scans` and `/api/scans/sync`: scans in S2's form. A device asks the server about a scan before the door opens,
//! or uploads scans later (S2 §3–§5; spec §5).

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::bounded::at_most;
use super::problem::{self, FieldError};
use super::scanning::{Cursor, Evidence, ScanV2};
use crate::barcode::{BarcodeHash, candidates};
use crate::decide::Reason;
use crate::ids::{BatchId, DeviceId, EventId, GateId, ScanId, TicketId, uuid_v5};
use crate::limits;
use crate::scan::{Form, Method, Outcome, Scan, ScanKind, Stage};
use crate::time::Timestamp;

/// The message that S2 adds to the stored answer of a repeated batch (S2 §4).
pub const REPEATED: &str = "Batch already synced (idempotent)";

/// A scan in S2's form (S2 §5 step 8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScanS2 {
    /// The code as read.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 512))]
    pub ticket_code: String,
    /// The scan's time by the device's clock. S2's form has no correction, so this is the canonical time (spec §4).
    pub scanned_at: Timestamp,
    /// The scan's id within the device. Without it, the id is made of device, code and time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, min_length = 1, max_length = 128, pattern = "^[!-~]+$"))]
    pub offline_id: Option<ScanId>,
    /// The scan as sent. Absent unless it holds a field that this version does not know: see [`Evidence::sent`].
    #[serde(skip)]
    pub sent: Option<String>,
}

impl ScanS2 {
    /// Reads one scan. The error's path starts at the scan.
    pub fn read(json: &[u8]) -> Result<Self, FieldError> {
        let mut unknown = false;
        let mut scan: Self = problem::read_noting(json, |_| unknown = true)?;
        scan.spellings()?;
        scan.sent = unknown.then(|| String::from_utf8_lossy(json).into_owned());
        Ok(scan)
    }
    /// The texts to look up for the code, in order. The server takes the first one that a ticket ever held (spec D12).
    /// Fails if the text cannot be a code, because it is empty, has more than 512 bytes or has control characters.
    pub fn spellings(&self) -> Result<Vec<String>, FieldError> {
        candidates(&self.ticket_code).map_err(|error| FieldError::new("ticket_code", error))
    }
    /// The scan's id: `offline_id`, otherwise the UUID v5 of (device, code, time) (spec §4).
    pub fn scan_id(&self, device_id: &DeviceId) -> Result<ScanId, FieldError> {
        if let Some(offline_id) = &self.offline_id {
            return Ok(offline_id.clone());
        }
        let made = uuid_v5(&[device_id.as_str(), &self.ticket_code, &self.scanned_at.to_string()]);
        ScanId::new(made).map_err(|error| FieldError::new("offline_id", error))
    }
    /// The scan in the model's form: an entry of one person who was let in. `device_id` made it, and was assigned to
    /// `event_id` and `gate_id` at that time. `matched` is the spelling that a ticket held, or the first spelling if
    /// none did. The caller adds the server's answer, if the server was asked.
    pub fn into_scan(
        self,
        device_id: &DeviceId,
        event_id: &EventId,
        gate_id: &GateId,
        matched: BarcodeHash,
    ) -> Result<Scan, FieldError> {
        Ok(Scan {
            form: Form::S2,
            scan_id: self.scan_id(device_id)?,
            device_id: device_id.clone(),
            log_id: None,
            seq: None,
            prev: None,
            key_id: None,
            event_id: event_id.clone(),
            gate_id: gate_id.clone(),
            kind: ScanKind::Entry,
            stage: Stage::Final,
            method: Method::Qr,
            barcode_hash: Some(matched),
            raw_hash: Some(BarcodeHash::of(&self.ticket_code)),
            ticket_id: None,
            count: 1,
            outcome: Outcome::Valid,
            opened: true,
            practice: false,
            override_: None,
            walk_in: None,
            headcount: None,
            operator: None,
            target_device: None,
            target_scan_id: None,
            keep: 0,
            at: self.scanned_at,
            uncertainty_ms: limits::LEGACY_UNCERTAINTY_MS,
            clock: None,
            epoch: None,
            manifest_version: 0,
            cursor: 0,
            basis: None,
        })
    }
}

// ------------------------------------------------------------------------------------------------------------ online

/// A request to `POST /api/scans`: one scan in S2's form, or a claim in Admit's own.
#[derive(Debug, Clone, PartialEq)]
pub enum OnlineRequest {
    /// A scan in S2's form.
    S2(ScanS2),
    /// A claim in Admit's own form, and its [`Evidence`]: the signature and other parts that are no content (spec §5).
    Claim(Box<(Scan, Evidence)>),
}

impl OnlineRequest {
    /// Reads a body. A body with neither `stage` nor `scan_id` has S2's form. Any other body must be a signed claim in
    /// Admit's own form.
    pub fn read(json: &[u8]) -> Result<Self, FieldError> {
        let keys: Keys = problem::read(json)?;
        if keys.stage.is_none() && keys.scan_id.is_none() {
            return Ok(Self::S2(ScanS2::read(json)?));
        }
        let text = std::str::from_utf8(json).map_err(|_| FieldError::new("", "must be UTF-8"))?;
        let (scan, evidence) = ScanV2::read_with_evidence(text)?;
        if scan.stage != Stage::Claim {
            let message = "must be claim: a final is no question, send it to /api/scanning/sync";
            return Err(FieldError::new("stage", message));
        }
        if scan.practice {
            return Err(FieldError::new("practice", "must be false: practice is decided on the device"));
        }
        if scan.kind == ScanKind::Revert {
            return Err(FieldError::new("kind", "must be entry or exit: a revert is no question"));
        }
        Ok(Self::Claim(Box::new((scan, evidence))))
    }
}

/// The keys that tell which of the two forms a body has.
#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    stage: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    scan_id: Option<serde::de::IgnoredAny>,
}

/// The answer to `POST /api/scans`: the server's verdict, made under the event's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OnlineAnswer {
    /// The id of the scan.
    pub scan_id: ScanId,
    /// The ticket. Absent if the code is unknown.
    pub ticket_id: Option<TicketId>,
    /// The outcome that the device shows.
    pub outcome: Outcome,
    /// Why the outcome is not `valid`. Absent if it is.
    pub reason: Option<Reason>,
    /// For an entry: persons who may go in now. For an exit: persons who are inside.
    pub may_admit: u32,
    /// When the ticket last let somebody in. Absent if it never did.
    pub last_scan_at: Option<Timestamp>,
    /// The gate of the ticket's last entry. Absent if there was none.
    pub last_gate_id: Option<GateId>,
    /// The event's cursor, with this scan included.
    pub cursor: Cursor,
    /// The server's time.
    pub server_time: Timestamp,
}

// ------------------------------------------------------------------------------------------------------------- batch

/// `POST /api/scans/sync` (S2 §5 step 8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScansSyncRequest {
    /// The idempotency key of the batch.
    #[cfg_attr(feature = "openapi", schema(value_type = String, min_length = 1, max_length = 128, pattern = "^[!-~]+$"))]
    pub batch_id: BatchId,
    /// The device, which must be the authenticated one.
    #[cfg_attr(feature = "openapi", schema(value_type = String, min_length = 1, max_length = 128, pattern = "^[!-~]+$"))]
    pub device_id: DeviceId,
    /// When this attempt was made.
    pub batch_created_at: Timestamp,
    /// The scans. Reading stops if there are too many.
    #[serde(deserialize_with = "scans")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 10000))]
    pub scans: Vec<ScanS2>,
    /// Number of scans, as the sender counted them.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 10000))]
    pub batch_size: u64,
}

impl ScansSyncRequest {
    /// Reads a batch. Fails if it has no scan, if `batch_size` is not the number of its scans, or if a code is
    /// malformed (S2 §5 step 9). The error names the field.
    pub fn read(json: &[u8]) -> Result<Self, FieldError> {
        let mut unknown = BTreeSet::new();
        let mut batch: Self = problem::read_noting(json, |path| unknown.extend(scan_of(path)))?;
        if batch.scans.is_empty() {
            return Err(FieldError::new("scans", "must hold at least one scan"));
        }
        if batch.batch_size == 0 {
            return Err(FieldError::new("batch_size", "must be 1 or more"));
        }
        if batch.batch_size != batch.scans.len() as u64 {
            let message = format_args!("must be the number of scans, which is {}", batch.scans.len());
            return Err(FieldError::new("batch_size", message));
        }
        for (index, scan) in batch.scans.iter().enumerate() {
            scan.spellings().map_err(|error| error.under(&format!("scans[{index}]")))?;
        }
        batch.keep_as_sent(json, &unknown)?;
        Ok(batch)
    }
    /// Keeps the text of each scan that has a field which this version does not know. `unknown` has the indices of
    /// these scans. In nearly every batch it is empty, and the batch is not read again.
    fn keep_as_sent(&mut self, json: &[u8], unknown: &BTreeSet<usize>) -> Result<(), FieldError> {
        #[derive(Deserialize)]
        struct Texts<'a> {
            #[serde(borrow)]
            scans: Vec<&'a RawValue>,
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let texts: Texts<'_> = problem::read(json)?;
        for (place, (scan, text)) in self.scans.iter_mut().zip(texts.scans).enumerate() {
            scan.sent = unknown.contains(&place).then(|| text.get().to_owned());
        }
        Ok(())
    }
}

/// The index of the scan that a path in a batch belongs to. For `scans.3.mood` it is 3.
fn scan_of(path: &str) -> Option<usize> {
    path.strip_prefix("scans.")?.split('.').next()?.parse().ok()
}

fn scans<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<ScanS2>, D::Error> {
    at_most(source, limits::SYNC_S2_SCANS, "scans")
}

/// The answer to a batch (S2 §4). A repeated batch gets the same stored bytes, with [`REPEATED`] added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScansSyncAnswer {
    /// The batch.
    pub batch_id: BatchId,
    /// `completed`, or `partial_success` if an error is other than `already_scanned`.
    pub status: String,
    /// Number of scans without an error.
    pub processed_count: u64,
    /// Number of scans listed in `errors`.
    pub error_count: u64,
    /// The numbers of scans by kind.
    pub summary: Summary,
    /// The scans that a server of S2 would not store. Admit stores them all the same, so each item is also a receipt.
    pub errors: Vec<ScanError>,
    /// The times of the oldest and the newest scan.
    pub timestamp_range: [Timestamp; 2],
    /// The server's time.
    pub timestamp: Timestamp,
    /// How long the sync took, in seconds.
    pub sync_duration_seconds: f64,
}

/// A batch's scans by kind (S2 §4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Summary {
    /// Number of all scans of the batch.
    pub total_scans: u64,
    /// Number of scans without an error.
    pub new_scans: u64,
    /// Number of scans with the error `already_scanned`.
    pub duplicate_scans: u64,
    /// Number of scans with the error `ticket_not_found`.
    pub missing_tickets: u64,
    /// Number of scans whose ticket has a status that forbids entry.
    pub invalid_tickets: u64,
}

/// A scan that S2 would not have inserted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ScanError {
    /// The scan's id, as sent or as made for it.
    pub offline_id: ScanId,
    /// The code as read.
    pub ticket_code: String,
    /// `already_scanned`, `ticket_not_found`, `ticket_voided`, `ticket_refunded` or `ticket_already_used`.
    pub reason: String,
    /// For `already_scanned`: when the ticket let somebody in before. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scan_at: Option<Timestamp>,
}

/// The answer to a repeated batch: the stored bytes with S2's message added. It is the same for every repeat (spec D2).
pub fn repeated(stored: &str) -> String {
    match stored.strip_suffix('}') {
        Some(open) => format!("{open},\"message\":\"{REPEATED}\"}}"),
        None => stored.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(code: &str) -> String {
        format!(r#"{{"ticket_code":"{code}","scanned_at":"2025-11-26T14:30:00Z"}}"#)
    }
    fn batch(scans: &str, size: u64) -> String {
        format!(
            r#"{{"batch_id":"b","device_id":"d","batch_created_at":"2025-11-26T15:30:00Z","scans":{scans},"batch_size":{size}}}"#
        )
    }
    fn wrong(json: &str) -> String {
        ScansSyncRequest::read(json.as_bytes()).unwrap_err().path
    }

    /// S2 §5 step 9, check by check.
    #[test]
    fn s2_5_9_every_check_of_the_schema_names_its_field() {
        let good = batch(&format!("[{}]", scan("3KQR-7F92-4M1X")), 1);
        assert_eq!(ScansSyncRequest::read(good.as_bytes()).unwrap().scans.len(), 1);
        let without = |field: &str| {
            let mut value: serde_json::Value = serde_json::from_str(&good).unwrap();
            value.as_object_mut().unwrap().remove(field).unwrap();
            value.to_string()
        };
        for field in ["batch_id", "device_id", "batch_created_at", "scans", "batch_size"] {
            assert_eq!(wrong(&without(field)), field);
        }
        assert_eq!(wrong(&good.replace("2025-11-26T15:30:00Z", "yesterday")), "batch_created_at");
        assert_eq!(wrong(&batch("[]", 1)), "scans", "non-empty");
        assert_eq!(wrong(&batch(&format!("[{}]", scan("A")), 0)), "batch_size");
        assert_eq!(wrong(&batch(&format!("[{}]", scan("A")), 2)), "batch_size");
        let second = |item: &str| wrong(&batch(&format!("[{},{item}]", scan("A")), 2));
        assert_eq!(second(r#"{"scanned_at":"2025-11-26T14:30:00Z"}"#), "scans[1].ticket_code");
        assert_eq!(second(r#"{"ticket_code":null,"scanned_at":"2025-11-26T14:30:00Z"}"#), "scans[1].ticket_code");
        assert_eq!(second(r#"{"ticket_code":"A"}"#), "scans[1].scanned_at");
        assert_eq!(second(r#"{"ticket_code":"A","scanned_at":"now"}"#), "scans[1].scanned_at");
        assert_eq!(second(r#"{"ticket_code":" ","scanned_at":"2025-11-26T14:30:00Z"}"#), "scans[1].ticket_code");
        assert_eq!(second("7"), "scans[1]");
    }

    /// S2 §3, §9: a batch has at most 10,000 scans.
    #[test]
    fn s2_3_ten_thousand_scans_are_read_and_one_more_is_not() {
        let of = |n: usize| batch(&format!("[{}]", vec![scan("A"); n].join(",")), n as u64);
        assert_eq!(ScansSyncRequest::read(of(10_000).as_bytes()).unwrap().scans.len(), 10_000);
        let error = ScansSyncRequest::read(of(10_001).as_bytes()).unwrap_err();
        assert_eq!((error.path.as_str(), error.message.as_str()), ("scans", "must hold at most 10000 scans"));
    }

    /// Spec §4: the id is the client's own, or made of device, code and time.
    #[test]
    fn a_scan_without_an_id_gets_the_same_one_every_time() {
        let of = |device: &str, json: &str| {
            let scan = ScanS2::read(json.as_bytes()).unwrap();
            scan.scan_id(&DeviceId::new(device).unwrap()).unwrap()
        };
        assert_eq!(of("d", &scan("A")), of("d", &scan("A")));
        assert_ne!(of("d", &scan("A")), of("e", &scan("A")));
        assert_ne!(of("d", &scan("A")), of("d", &scan("B")));
        assert_ne!(of("d", &scan("A")), of("d", &scan("A").replace("14:30", "14:31")));
        assert_eq!(of("d", &scan("A").replacen('{', r#"{"offline_id":"mine","#, 1)).as_str(), "mine");
    }

    /// Spec D2: what the server found out for a scan (its event, its gate, the spelling that a ticket held) is not
    /// content.
    #[test]
    fn the_same_scan_has_the_same_digest_wherever_it_is_put() {
        let (device, sent) = (DeviceId::new("d").unwrap(), ScanS2::read(scan("3KQR7F924M1X").as_bytes()).unwrap());
        let put = |event: &str, gate: &str, code: &str, sent: ScanS2| {
            let (event_id, gate_id) = (EventId::new(event).unwrap(), GateId::new(gate).unwrap());
            crate::sign::content_digest(&sent.into_scan(&device, &event_id, &gate_id, BarcodeHash::of(code)).unwrap())
        };
        let first = put("e", "g", "3KQR7F924M1X", sent.clone());
        assert_eq!(put("f", "h", "3KQR-7F92-4M1X", sent.clone()), first);
        let other = ScanS2 { ticket_code: "3KQR-7F92-4M1X".into(), ..sent };
        assert_ne!(put("e", "g", "3KQR7F924M1X", other), first, "the code as read is its content");
        let v1 = |event: &str| Scan {
            form: Form::V1,
            ..ScanS2::read(scan("A").as_bytes())
                .unwrap()
                .into_scan(&device, &EventId::new(event).unwrap(), &GateId::new("g").unwrap(), BarcodeHash::of("A"))
                .unwrap()
        };
        assert_eq!(crate::sign::content_digest(&v1("e")), crate::sign::content_digest(&v1("f")));
        let ours = |event: &str| Scan { form: Form::V2, ..v1(event) };
        assert_ne!(crate::sign::content_digest(&ours("e")), crate::sign::content_digest(&ours("f")));
    }

    /// S2 §4 "Duplicate Batch".
    #[test]
    fn s2_4_a_repeat_says_so_beside_the_stored_answer() {
        let said = repeated(r#"{"batch_id":"b","status":"completed"}"#);
        let value: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(value["message"], "Batch already synced (idempotent)");
        assert_eq!(value["status"], "completed");
    }

    #[test]
    fn a_body_is_s2s_form_or_a_claim_of_ours() {
        let read = |json: &str| OnlineRequest::read(json.as_bytes());
        assert!(matches!(read(&scan("A")), Ok(OnlineRequest::S2(_))));
        assert_eq!(read("{}").unwrap_err().path, "ticket_code");
        assert_eq!(read(r#"{"stage":"claim"}"#).unwrap_err().path, "scan_id");
        assert_eq!(read("[]").unwrap_err().path, "");
    }
}
