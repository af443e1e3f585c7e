//! A phone without a screen: it makes and signs scans, and writes the requests that upload them.

use admit_core::ids::{BatchId, LogId, ScanId, TicketId};
use admit_core::scan::{Basis, ClockEvidence, Form, Method, Outcome, Scan, ScanKind, Stage};
use admit_core::sign::{ApiKey, content_digest, prev_of, sign_v2};
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{PairAnswer, ScanV1, ScanV2, SentTime, SyncRequest, raw_item};
use admit_core::wire::scans::{ScanS2, ScansSyncRequest};
use anyhow::{Context, Result};

use crate::http::request;
use crate::list::Random;
use crate::organiser::Listed;

/// The form of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The form of S1, with at most 50 scans.
    V1,
    /// The form of this project, with at most 1,000 scans.
    V2,
    /// The form of S2, with at most 10,000 scans, which has its own route.
    S2,
}

/// The milliseconds between two scans of a phone. It is short, so that no measurement makes scans in the future: the
/// server would open an incident for each of those.
const STEP_MS: i64 = 20;

/// A paired phone and its log.
#[derive(Debug)]
pub struct Phone {
    paired: PairAnswer,
    scan_key: [u8; 32],
    session_id: String,
    log_id: LogId,
    seq: u64,
    prev: [u8; 16],
    at_ms: i64,
    random: Random,
}

/// An upload that is ready to be sent.
#[derive(Debug, Clone)]
pub struct Upload {
    /// The whole request.
    pub request: Vec<u8>,
    /// The number of its scans.
    pub scans: usize,
}

impl Phone {
    /// A phone with an empty log, whose first scan was an hour ago.
    pub fn new(paired: PairAnswer, seed: u64) -> Result<Phone> {
        let mut random = Random(seed);
        let scan_key = ApiKey::parse(&paired.api_key)?.scan_key();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis() as i64;
        Ok(Phone {
            scan_key,
            session_id: random.uuid(),
            log_id: LogId::new(random.uuid().replace('-', ""))?,
            seq: 0,
            prev: [0; 16],
            at_ms: now - 3_600_000,
            random,
            paired,
        })
    }

    /// Scans each ticket once, admits it, and puts all scans into one batch.
    pub fn upload(&mut self, format: Format, tickets: &[Listed]) -> Result<Upload> {
        if format == Format::S2 {
            return self.upload_s2(tickets);
        }
        let items = self.items(format, tickets)?.into_iter();
        let scans = items.map(|item| raw_item(item).context("an item is JSON")).collect::<Result<Vec<_>>>()?;
        let ours = format == Format::V2;
        let body = serde_json::to_vec(&SyncRequest {
            device_id: self.paired.device_id.clone(),
            sync_batch_id: BatchId::new(self.random.uuid())?,
            format: ours.then_some(2),
            batch_created_at: None,
            offset_seconds: (!ours).then_some(0),
            log_id: ours.then(|| self.log_id.clone()),
            head: ours.then_some(self.seq),
            scans,
        })?;
        Ok(Upload { request: self.post("/api/scanning/sync", &body), scans: tickets.len() })
    }

    fn upload_s2(&mut self, tickets: &[Listed]) -> Result<Upload> {
        let scans = tickets.iter().map(|ticket| self.scan_s2(ticket)).collect::<Result<Vec<_>>>()?;
        let body = serde_json::to_vec(&ScansSyncRequest {
            batch_id: BatchId::new(self.random.uuid())?,
            device_id: self.paired.device_id.clone(),
            batch_created_at: Timestamp::clamped(self.at_ms),
            batch_size: scans.len() as u64,
            scans,
        })?;
        Ok(Upload { request: self.post("/api/scans/sync", &body), scans: tickets.len() })
    }

    /// The request that asks the server about one ticket before the guest is let in, in S2's form.
    pub fn ask(&mut self, ticket: &Listed) -> Result<Vec<u8>> {
        let body = serde_json::to_vec(&self.scan_s2(ticket)?)?;
        Ok(self.post("/api/scans", &body))
    }

    fn post(&self, path: &str, body: &[u8]) -> Vec<u8> {
        let bearer = format!("Bearer {}", self.paired.api_key);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        request("POST", path, &headers, body)
    }

    fn scan_s2(&mut self, ticket: &Listed) -> Result<ScanS2> {
        self.at_ms += STEP_MS;
        let ticket_code = ticket.code.clone().context("S2's form needs the code as read")?;
        let offline_id = Some(ScanId::new(self.random.uuid())?);
        Ok(ScanS2 { ticket_code, scanned_at: Timestamp::clamped(self.at_ms), offline_id, sent: None })
    }

    /// Scans each ticket once and admits it. Gives the signed scans as they are uploaded.
    pub fn items(&mut self, format: Format, tickets: &[Listed]) -> Result<Vec<String>> {
        let item = |ticket| {
            self.seq += 1;
            self.at_ms += STEP_MS;
            self.item(format, ticket)
        };
        tickets.iter().map(item).collect()
    }

    /// The API key with which the phone signs scans of the first form.
    pub fn api_key(&self) -> &str {
        &self.paired.api_key
    }

    /// The key with which the phone signs scans.
    pub fn scan_key(&self) -> &[u8; 32] {
        &self.scan_key
    }

    /// Scans each ticket once. Gives each scan of format 2 with its signature.
    pub fn signed(&mut self, tickets: &[Listed]) -> Result<Vec<(Scan, String)>> {
        let sign = |ticket| {
            self.seq += 1;
            self.at_ms += STEP_MS;
            let scan = self.scan(ticket)?;
            let signature = sign_v2(&self.scan_key, &scan);
            Ok((scan, signature))
        };
        tickets.iter().map(sign).collect()
    }

    fn item(&mut self, format: Format, ticket: &Listed) -> Result<String> {
        match format {
            Format::V1 => {
                let at = Timestamp::clamped(self.at_ms);
                let mut scan = ScanV1 {
                    scan_id: ScanId::new(self.random.uuid())?,
                    ticket_id: Some(TicketId::new(&ticket.ticket_id)?),
                    barcode_hash: ticket.barcode_hash.parse()?,
                    scanned_at: SentTime { text: at.to_string(), at },
                    gate_id: self.paired.gate_id.clone(),
                    outcome: Outcome::Valid,
                    signature: String::new(),
                };
                scan.sign(&self.paired.api_key);
                Ok(serde_json::to_string(&scan)?)
            }
            Format::V2 => {
                let scan = self.scan(ticket)?;
                self.prev = prev_of(&content_digest(&scan));
                let wire =
                    ScanV2::of(&scan, &sign_v2(&self.scan_key, &scan)).map_err(|error| anyhow::anyhow!("{error}"))?;
                Ok(serde_json::to_string(&wire)?)
            }
            Format::S2 => Ok(serde_json::to_string(&self.scan_s2(ticket)?)?),
        }
    }

    fn scan(&mut self, ticket: &Listed) -> Result<Scan> {
        let hash = ticket.barcode_hash.parse()?;
        Ok(Scan {
            form: Form::V2,
            scan_id: ScanId::new(self.random.uuid())?,
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
            ticket_id: Some(TicketId::new(&ticket.ticket_id)?),
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
            at: Timestamp::clamped(self.at_ms),
            uncertainty_ms: 40,
            clock: Some(ClockEvidence {
                wall_ms: self.at_ms,
                mono_ms: self.seq as i64 * STEP_MS,
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
        })
    }
}
