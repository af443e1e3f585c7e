//! The simulator's own record of what really happened. No server and no phone can read it. It is not the ledger of an
//! event: see `docs/glossary.md`, *world*.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::ids::{DeviceId, LogId, ScanId};
use admit_core::scan::Digest;
use admit_core::wire::scanning::{
    HeartbeatRequest, LogStatusRequest, Readable, Rejected, RevokedDetails, SyncAnswer, SyncRequest,
};

use crate::server::{Request, Response};

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The number of the invariant of trust §3, such as `I3`.
    pub invariant: &'static str,
    /// The findings.
    pub what: String,
}

/// The record of one side: of the phones and requests of one organisation.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Contents of scans that a simulated phone of this side ever had on stable storage, with their device and scan id.
    pub made: BTreeMap<Digest, (DeviceId, ScanId)>,
    /// Contents of scans that an S1 client sent.
    pub legacy: BTreeSet<Digest>,
    /// Contents of scans that a stranger sent.
    pub forged: BTreeSet<Digest>,
    /// Scans that a receipt has named since the last restore.
    pub acked: BTreeSet<(DeviceId, ScanId)>,
    /// The highest head that each log reported in a request that the server answered with 200. A restore puts back the
    /// heads of the time of the backup.
    pub heads: BTreeMap<(DeviceId, LogId), u64>,
    heads_at_backup: BTreeMap<(DeviceId, LogId), u64>,
    /// The highest head that each log reported in any request that arrived, whatever the answer, since the server may
    /// have stored it. A restore puts back the heads of the time of the backup.
    pub named_heads: BTreeMap<(DeviceId, LogId), u64>,
    named_at_backup: BTreeMap<(DeviceId, LogId), u64>,
    /// Places of logs whose item the server refused finally. Such a place does not count as a gap.
    pub refused: BTreeSet<(DeviceId, LogId, u64)>,
    /// The first answer to each batch since the last restore.
    pub batches: BTreeMap<(DeviceId, String), Vec<u8>>,
    /// The batches that were sent, so that they can be sent again.
    pub sent: Vec<Request>,
    /// Devices that an organiser revoked and did not approve again. After a restore, devices that were revoked at the
    /// time of the backup are added.
    pub revoked: BTreeSet<DeviceId>,
    revoked_at_backup: BTreeSet<DeviceId>,
    /// Logs whose storage was cleared.
    pub cleared: BTreeSet<(DeviceId, LogId)>,
    /// The violations found so far.
    pub violations: Vec<Violation>,
    /// The number of restores so far.
    pub restores: u64,
}

impl Record {
    /// Records a violation.
    pub fn broken(&mut self, invariant: &'static str, what: String) {
        if self.violations.len() < 20 {
            self.violations.push(Violation { invariant, what });
        }
    }

    /// Records that a backup was taken.
    pub fn backup(&mut self) {
        self.heads_at_backup = self.heads.clone();
        self.named_at_backup = self.named_heads.clone();
        self.revoked_at_backup = self.revoked.clone();
    }

    /// Records a restore: what the server said since the backup may be lost.
    pub fn restore(&mut self) {
        self.acked.clear();
        self.batches.clear();
        self.heads = self.heads_at_backup.clone();
        self.named_heads = self.named_at_backup.clone();
        // A device that was approved since the backup is revoked again. A device that was revoked since then has
        // already acted on it.
        self.revoked.extend(self.revoked_at_backup.iter().cloned());
        self.restores += 1;
    }

    fn note_refused(&mut self, sent: &SyncRequest, rejected: &[Rejected]) {
        for item in rejected.iter().filter_map(|rejected| sent.scans.get(rejected.index)) {
            if let Readable { log_id: Some(log_id), seq: Some(seq), .. } = Readable::of(item.get()) {
                self.refused.insert((sent.device_id.clone(), log_id, seq));
            }
        }
    }

    /// Records what the server promised with an answer.
    pub fn answered(&mut self, author: Option<&DeviceId>, request: &Request, answer: &Response) {
        let body = request.body.as_deref().unwrap_or_default();
        let route = request.route();
        let sync = if route == "/api/scanning/sync" { serde_json::from_str::<SyncRequest>(body).ok() } else { None };
        let said = match &sync {
            Some(sent) => sent.log_id.clone().zip(sent.head),
            None if route.ends_with("/heartbeat") => {
                serde_json::from_str::<HeartbeatRequest>(body).ok().map(|beat| (beat.log_id, beat.head))
            }
            None if route.ends_with("/log-status") => {
                serde_json::from_str::<LogStatusRequest>(body).ok().map(|asked| (asked.log_id, asked.head))
            }
            None => None,
        };
        if let (Some(device_id), Some((log_id, head))) = (author, said) {
            // The device reported its log's head. The server may have stored it even if its answer was lost.
            let log = (device_id.clone(), log_id);
            let named = self.named_heads.entry(log.clone()).or_default();
            *named = head.max(*named);
            if answer.status == 200 {
                let held = self.heads.entry(log).or_default();
                *held = head.max(*held);
            }
        }
        if answer.status == 500 {
            self.broken("Q", format!("{route} was answered: internal error"));
        }
        let Some(sent) = sync else { return };
        if answer.status == 200
            && let Ok(receipt) = serde_json::from_slice::<SyncAnswer>(&answer.body)
        {
            self.acked.extend(receipt.processed.iter().map(|scan_id| (sent.device_id.clone(), scan_id.clone())));
            let key = (sent.device_id.clone(), sent.sync_batch_id.to_string());
            let first = self.batches.entry(key).or_insert_with(|| answer.body.clone());
            if *first != answer.body {
                let what =
                    format!("batch {} of {} was answered twice, differently", sent.sync_batch_id, sent.device_id);
                self.broken("I5", what);
            }
            if self.sent.len() < 200 {
                self.sent.push(request.clone());
            }
            self.note_refused(&sent, &receipt.rejected);
        } else if let Ok(kept) = serde_json::from_slice::<RevokedDetails>(&answer.body) {
            self.note_refused(&sent, &kept.rejected);
            self.acked.extend(kept.kept.iter().map(|scan_id| (sent.device_id.clone(), scan_id.clone())));
        }
    }
}
