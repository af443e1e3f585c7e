//! A phone without screen, list and storage. It makes the scans that a real phone would make, one after the other in
//! one log, and signs them. `admit load` needs thousands of them. It does not decide about tickets: only the engine
//! does.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{BatchId, LogId, ScanId, TicketId};
use admit_core::scan::{Basis, ClockEvidence, Form, Method, Outcome, Scan, ScanKind, Stage};
use admit_core::sign::{ApiKey, ApiKeyError, content_digest, prev_of, sign_v2};
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use admit_core::wire::problem::FieldError;
use admit_core::wire::scanning::{PairAnswer, ScanV2, SyncRequest, raw_item};
use admit_core::wire::stored::to_text;

/// The uncertainty of every scan's time, in milliseconds. A real phone measures it.
const UNCERTAINTY_MS: u64 = 40;

/// A paired phone with its log.
#[derive(Debug)]
pub struct FakePhone {
    paired: PairAnswer,
    scan_key: [u8; 32],
    log_id: LogId,
    session_id: String,
    seq: u64,
    prev: [u8; 16],
    began_ms: Option<i64>,
}

impl FakePhone {
    /// Makes an empty log. Fails if the pairing's key is malformed.
    pub fn new(paired: PairAnswer, log_id: LogId, session_id: String) -> Result<Self, ApiKeyError> {
        let scan_key = ApiKey::parse(&paired.api_key)?.scan_key();
        Ok(Self { paired, scan_key, log_id, session_id, seq: 0, prev: [0; 16], began_ms: None })
    }
    /// The phone's pairing.
    pub fn paired(&self) -> &PairAnswer {
        &self.paired
    }
    /// The log's id and the `seq` of its newest scan.
    pub fn log(&self) -> (&LogId, u64) {
        (&self.log_id, self.seq)
    }

    /// Admits one person with an unused ticket, and gives the signed scan as JSON. Fails only if a limit of the wire
    /// format is exceeded.
    pub fn admit(
        &mut self,
        scan_id: ScanId,
        ticket_id: &TicketId,
        hash: BarcodeHash,
        at_ms: i64,
    ) -> Result<String, FieldError> {
        self.seq += 1;
        let scan = self.scan(scan_id, ticket_id, hash, at_ms);
        self.prev = prev_of(&content_digest(&scan));
        Ok(to_text(&ScanV2::of(&scan, &sign_v2(&self.scan_key, &scan))?))
    }

    /// Makes the body of an upload.
    pub fn batch(&self, batch_id: BatchId, items: Vec<String>) -> Result<String, FieldError> {
        Ok(to_text(&SyncRequest {
            device_id: self.paired.device_id.clone(),
            sync_batch_id: batch_id,
            format: Some(2),
            batch_created_at: None,
            offset_seconds: None,
            log_id: Some(self.log_id.clone()),
            head: Some(self.seq),
            scans: items.into_iter().map(raw_item).collect::<Result<_, _>>()?,
        }))
    }

    fn scan(&mut self, scan_id: ScanId, ticket_id: &TicketId, hash: BarcodeHash, at_ms: i64) -> Scan {
        let began_ms = *self.began_ms.get_or_insert(at_ms);
        Scan {
            form: Form::V2,
            scan_id,
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
            barcode_hash: Some(hash),
            raw_hash: Some(hash),
            ticket_id: Some(ticket_id.clone()),
            count: 1,
            outcome: Outcome::Valid,
            opened: true,
            override_: None,
            walk_in: None,
            headcount: None,
            operator: None,
            target_device: None,
            target_scan_id: None,
            keep: 0,
            at: Timestamp::clamped(at_ms),
            uncertainty_ms: UNCERTAINTY_MS,
            clock: Some(ClockEvidence {
                wall_ms: at_ms,
                mono_ms: at_ms - began_ms,
                session_id: self.session_id.clone(),
                corrected: false,
            }),
            epoch: Some(self.paired.epoch),
            manifest_version: 1,
            cursor: 0,
            practice: false,
            basis: Some(Basis {
                within: 0,
                inside: 0,
                spent: 0,
                last_entry_at: None,
                status: Some(TicketStatus::Active),
            }),
        }
    }
}
