//! Batches at level 0: each item is read alone, verified, added to the facts, reduced and acknowledged.

use std::collections::BTreeSet;

use admit_core::idempotency::batch_digest;
use admit_core::ids::{BatchId, DeviceId, ScanId};
use admit_core::incident::Subject;
use admit_core::reduce::merge_deliveries;
use admit_core::scan::{Fact, Scan, SignatureState};
use admit_core::sign;
use admit_core::time::Timestamp;
use admit_core::wire::problem;
use admit_core::wire::scanning::{
    Conflict, ConflictScan, Cursor, Readable, Rejected, RevokedDetails, ScanV1, ScanV2, SyncAnswer, SyncRequest,
};

use super::routes::{self, Caller, raw, with_details};
use super::{ModelServer, Org};
use crate::mutants::Mutant;
use crate::server::Response;

/// A batch after reading its items.
struct Read {
    facts: Vec<Fact>,
    rejected: Vec<Rejected>,
    /// Places of logs whose item could not be read.
    lost_places: Vec<Readable>,
    digest: [u8; 32],
}

impl ModelServer {
    pub(super) fn sync(&mut self, now_ms: i64, caller: &Caller, body: &str) -> Response {
        let Ok(request) = problem::read::<SyncRequest>(body.as_bytes()) else {
            return routes::problem(400, "invalid_body", "This is no batch.");
        };
        if request.check(50, 1_000).is_err() {
            return routes::problem(400, "invalid_body", "This batch breaks a limit.");
        }
        if request.device_id != caller.device_id {
            return routes::problem(401, "device_mismatch", "The key is another device's.");
        }
        let planted = self.planted;
        let read = self.read_batch(now_ms, caller, &request);
        let by = if planted.is(Mutant::BatchUnscoped) { any_device() } else { caller.device_id.clone() };
        let key = (by, request.sync_batch_id.clone());
        let org = &mut self.state.orgs[caller.org];
        if let (Some(log_id), Some(head)) = (&request.log_id, request.head) {
            org.hear_of(caller, log_id, head);
        }
        if let Some((digest, stored)) = org.batches.get(&key).filter(|_| !planted.is(Mutant::BatchForgotten)) {
            if *digest == read.digest || planted.is(Mutant::BatchReuseAnswered) || planted.is(Mutant::BatchUnscoped) {
                self.coverage.hit("batch repeated");
                return raw(200, stored.clone());
            }
            self.coverage.hit("batch id reused");
            return routes::problem(409, "batch_id_reused", "This batch id was used for other scans.");
        }
        let revoked = self.state.orgs[caller.org].devices[&caller.device_id].revoked;
        let touched = self.store(now_ms, caller, &read, request.sync_batch_id.as_str());
        if revoked {
            let kept = read.facts.iter().map(|fact| fact.scan.scan_id.clone()).collect();
            return self.revoked(caller, kept, read.rejected);
        }
        let answer = self.answer(now_ms, caller, &request.sync_batch_id, read.rejected, &read.facts, &touched);
        let body = serde_json::to_vec(&answer).unwrap_or_default();
        self.state.orgs[caller.org].batches.insert(key, (read.digest, body.clone()));
        raw(200, body)
    }

    /// Reads every item alone. A malformed item is rejected by itself, and its bytes are kept.
    fn read_batch(&self, now_ms: i64, caller: &Caller, request: &SyncRequest) -> Read {
        let org = &self.state.orgs[caller.org];
        let mut read = Read { facts: vec![], rejected: vec![], lost_places: vec![], digest: [0; 32] };
        let (mut pairs, mut malformed) = (Vec::new(), Vec::new());
        for (index, item) in request.scans.iter().enumerate() {
            let parsed = if request.is_ours() {
                ScanV2::read(item.get()).map(|(scan, signature)| (org.proof(&scan, &signature, self), scan))
            } else {
                ScanV1::read(item.get()).map(|item| {
                    let good = item.verify(&caller.key);
                    let proof = if good { SignatureState::Verified } else { SignatureState::Unverified };
                    (proof, item.into_scan(&caller.device_id, &org.event_id))
                })
            };
            match parsed {
                Ok((signature, scan)) => {
                    let digest = sign::content_digest(&scan);
                    pairs.push((scan.scan_id.clone(), digest));
                    read.facts.push(Fact {
                        digest,
                        signature,
                        withheld: org.devices.get(&scan.device_id).is_some_and(|device| device.revoked),
                        offset_seconds: request.offset_seconds.filter(|_| !request.is_ours()).unwrap_or(0),
                        received_at: Timestamp::clamped(now_ms),
                        judged: None,
                        scan,
                    });
                }
                Err(error) => {
                    let readable = Readable::of(item.get());
                    let scan_id = readable.scan_id.as_ref().map(ToString::to_string);
                    read.rejected.push(Rejected { scan_id, index, reason: error.to_string(), kept: true });
                    read.lost_places.push(readable);
                    malformed.push(item.get());
                }
            }
        }
        read.digest = batch_digest(&caller.device_id, "sync", &pairs, malformed);
        read
    }

    /// Stores the facts of a batch under one serial. Gives the affected subjects.
    fn store(&mut self, now_ms: i64, caller: &Caller, read: &Read, batch_id: &str) -> BTreeSet<Subject> {
        let planted = self.planted;
        let elsewhere: BTreeSet<ScanId> = if planted.is(Mutant::ScanIdAcrossTenants) {
            let others = self.state.orgs.iter().enumerate().filter(|(org, _)| *org != caller.org);
            others.flat_map(|(_, org)| org.facts.keys().map(|(_, scan_id)| scan_id.clone())).collect()
        } else {
            BTreeSet::new()
        };
        let org = &mut self.state.orgs[caller.org];
        org.take_head(now_ms, "batch_sync_completed", batch_id);
        let mut touched = BTreeSet::new();
        for fact in &read.facts {
            let skipped = planted.is(Mutant::AckWithoutStore) && fact.digest.0[0].is_multiple_of(16);
            if skipped || elsewhere.contains(&fact.scan.scan_id) {
                continue;
            }
            touched.insert(org.subject_of(fact));
            self.coverage.hit_if(org.is_late_rule(fact), "rule changed between scan and arrival");
            org.intake(fact, planted.is(Mutant::RepeatCounts));
        }
        for place in &read.lost_places {
            if let (Some(log_id), Some(seq)) = (&place.log_id, place.seq)
                && !planted.is(Mutant::RefusedIsMissing)
            {
                org.logs.entry((caller.device_id.clone(), log_id.clone())).or_default().rejected.insert(seq);
            }
        }
        org.refold(&touched, &mut self.coverage, planted);
        touched
    }

    fn answer(
        &self,
        now_ms: i64,
        caller: &Caller,
        batch_id: &BatchId,
        rejected: Vec<Rejected>,
        facts: &[Fact],
        touched: &BTreeSet<Subject>,
    ) -> SyncAnswer {
        let org = &self.state.orgs[caller.org];
        SyncAnswer {
            batch_id: batch_id.clone(),
            processed: facts.iter().map(|fact| fact.scan.scan_id.clone()).collect(),
            skipped: Vec::new(),
            rejected,
            conflicts: touched.iter().flat_map(|subject| org.conflicts(subject, facts)).collect(),
            cursor: Cursor::at(self.state.epoch, org.serial),
            server_time: Timestamp::clamped(now_ms),
        }
    }

    /// The answer to a revoked device: the scans that the server kept, and how many more it will keep (spec D10).
    pub(super) fn revoked(&mut self, caller: &Caller, kept: Vec<ScanId>, rejected: Vec<Rejected>) -> Response {
        let org = &mut self.state.orgs[caller.org];
        if let Some(device) = org.devices.get_mut(&caller.device_id) {
            device.quota_left = device.quota_left.saturating_sub((kept.len() + rejected.len()) as u64);
            let details = RevokedDetails { kept, rejected, quota_left: device.quota_left };
            if let Ok(serde_json::Value::Object(map)) = serde_json::to_value(details) {
                return with_details(403, "device_revoked", "The organiser revoked this device.", map);
            }
        }
        routes::problem(403, "device_revoked", "The organiser revoked this device.")
    }
}

/// The device id that a planted bug uses for all devices.
fn any_device() -> DeviceId {
    DeviceId::new("any").unwrap_or_else(|_| unreachable!("printable"))
}

impl Org {
    /// The proof that a scan's author wrote it: a signature under any key of that device, whichever device sends it
    /// (spec D4).
    pub(super) fn proof(&self, scan: &Scan, signature: &str, server: &ModelServer) -> SignatureState {
        let keys = self.devices.get(&scan.device_id).map(|device| device.keys.as_slice()).unwrap_or_default();
        let good = keys.iter().any(|key| sign::verify_v2(&key.scan_key(), scan, signature));
        if good || server.planted.is(Mutant::SignatureUnchecked) {
            SignatureState::Verified
        } else {
            SignatureState::Unverified
        }
    }

    /// Whether a rule of the scan's ticket took effect after the scan and before its arrival.
    fn is_late_rule(&self, fact: &Fact) -> bool {
        let Subject::Ticket(id) = self.subject_of(fact) else { return false };
        self.rules.iter().any(|rule| {
            let about = matches!(&rule.change, admit_core::rule::Change::Ticket(of, _) if *of == id);
            let after = matches!(rule.effective_at, admit_core::rule::Effective::At(at) if at > fact.at());
            about && after
        })
    }

    /// Stores one row per content. A further delivery of a known content is merged into its row.
    pub(super) fn intake(&mut self, fact: &Fact, repeat_counts: bool) {
        let scan = &fact.scan;
        let contents = self.facts.entry((scan.device_id.clone(), scan.scan_id.clone())).or_default();
        if repeat_counts && contents.contains_key(&fact.digest) {
            let mut twin = fact.clone();
            twin.scan.scan_id = ScanId::new(format!("{}-again", scan.scan_id)).unwrap_or(scan.scan_id.clone());
            let key = (scan.device_id.clone(), twin.scan.scan_id.clone());
            self.facts.entry(key).or_default().insert(fact.digest, twin);
            return;
        }
        match contents.get_mut(&fact.digest) {
            Some(known) => merge_deliveries(known, fact),
            None => {
                contents.insert(fact.digest, fact.clone());
            }
        }
        if let (Some(log_id), Some(seq)) = (&scan.log_id, scan.seq) {
            let log = self.logs.entry((scan.device_id.clone(), log_id.clone())).or_default();
            log.received.entry(seq).or_default().insert(fact.digest);
            log.head = log.head.max(seq);
        }
    }

    /// The conflicts among these facts of a subject.
    fn conflicts(&self, subject: &Subject, facts: &[Fact]) -> Vec<Conflict> {
        let Some(reduced) = self.derived.get(subject) else { return Vec::new() };
        let part = |verdict: &admit_core::reduce::ScanVerdict| ConflictScan {
            device_id: verdict.device_id.clone(),
            scan_id: verdict.scan_id.clone(),
            gate_id: verdict.gate_id.clone(),
            at: verdict.at,
            uncertainty_ms: 0,
            count: verdict.count,
        };
        let lost = reduced.verdicts.iter().filter_map(|verdict| Some((verdict, verdict.conflict_reason?)));
        lost.filter(|(verdict, _)| facts.iter().any(|fact| verdict.is_of(fact)))
            .map(|(verdict, conflict_reason)| {
                let (result, severity) = Conflict::words(conflict_reason);
                let entries = reduced.verdicts.iter().filter(|it| it.conflict && it.conflict_reason.is_none());
                Conflict {
                    scan_id: verdict.scan_id.clone(),
                    ticket_id: subject.ticket_id().cloned(),
                    result,
                    severity,
                    conflict_reason,
                    entry_scans: entries.map(part).collect(),
                    double_entry_scans: vec![part(verdict)],
                }
            })
            .collect()
    }
}
