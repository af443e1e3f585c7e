//! Signed scans of one device, as its engine would make them. The kill test of the binary includes this file too.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{LogId, ScanId};
use admit_core::scan::{ClockEvidence, Form, Method, Outcome, Scan, ScanKind, Stage};
use admit_core::sign::{ApiKey, content_digest, prev_of, sign_v2};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{PairAnswer, ScanV2};
use serde_json::{Value, json};

/// A paired device's log.
pub struct Log {
    pub paired: PairAnswer,
    pub log_id: LogId,
    /// The `seq` of the newest scan.
    pub seq: u64,
    prev: [u8; 16],
    batches: u64,
}

impl Log {
    pub fn new(paired: PairAnswer, name: &str) -> Self {
        Self { paired, log_id: LogId::new(format!("log-{name}")).unwrap(), seq: 0, prev: [0; 16], batches: 0 }
    }

    /// Makes a signed entry of one person, the next scan of this log.
    pub fn scan(&mut self, barcode: &str, outcome: Outcome, at: Timestamp) -> Value {
        self.scan_as(barcode, outcome, at, |_| {})
    }

    /// Makes such a scan after `change` has changed it.
    pub fn scan_as(&mut self, barcode: &str, outcome: Outcome, at: Timestamp, change: impl FnOnce(&mut Scan)) -> Value {
        self.seq += 1;
        let mut scan = Scan {
            form: Form::V2,
            scan_id: ScanId::new(format!("{}-scan-{}", self.paired.device_id, self.seq)).unwrap(),
            device_id: self.paired.device_id.clone(),
            log_id: Some(self.log_id.clone()),
            seq: Some(self.seq),
            prev: Some(self.prev),
            key_id: Some(self.paired.key_id.clone()),
            event_id: self.paired.event_id.clone(),
            gate_id: self.paired.gate_id.clone(),
            kind: ScanKind::Entry,
            stage: Stage::Final,
            method: Method::Qr,
            barcode_hash: Some(BarcodeHash::of(barcode)),
            raw_hash: None,
            ticket_id: None,
            count: 1,
            outcome,
            opened: outcome == Outcome::Valid,
            override_: None,
            walk_in: None,
            headcount: None,
            operator: None,
            target_device: None,
            target_scan_id: None,
            keep: 0,
            at,
            uncertainty_ms: 50,
            clock: Some(ClockEvidence {
                wall_ms: at.ms(),
                mono_ms: self.seq as i64 * 1_000,
                session_id: "session".into(),
                corrected: false,
            }),
            epoch: None,
            manifest_version: 0,
            cursor: 0,
            practice: false,
            basis: None,
        };
        change(&mut scan);
        self.prev = prev_of(&content_digest(&scan));
        let key = ApiKey::parse(&self.paired.api_key).unwrap().scan_key();
        serde_json::to_value(ScanV2::of(&scan, &sign_v2(&key, &scan)).unwrap()).unwrap()
    }

    /// Makes a batch with a new id.
    pub fn batch(&mut self, scans: Vec<Value>) -> Value {
        self.batches += 1;
        json!({
            "device_id": self.paired.device_id,
            "sync_batch_id": format!("{}-batch-{}", self.paired.device_id, self.batches),
            "format": 2,
            "log_id": self.log_id,
            "head": self.seq,
            "scans": scans,
        })
    }
}
