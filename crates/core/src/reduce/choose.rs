//! Steps 1 and 2 of the reducer: which content of a scan is taken, whether the scan counts, and what reverts leave of
//! it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::shape::{LeftOut, Resolved, Rules, merge_deliveries};
use crate::ids::{DeviceId, ScanId};
use crate::incident::{CauseScan, Role, Subject};
use crate::review::{Decision, Review};
use crate::rule::DeviceBook;
use crate::scan::{Digest, Fact, Form, Stage};

/// The content that is taken for one (device, scan id).
pub(super) struct Chosen<'a> {
    pub(super) subject: &'a Subject,
    pub(super) fact: Cow<'a, Fact>,
    /// The highest serial of the rules by which the server answered a device that asked about this scan. 0 if none
    /// asked.
    pub(super) judged_serial: u64,
    /// Whether other contents have the same id. A claim and its final don't count as two contents.
    pub(super) reused: bool,
    /// Whether it is the only content with this id, a claim counted too.
    pub(super) alone: bool,
}

impl Chosen<'_> {
    pub(super) fn cause_scan(&self, role: Role) -> CauseScan {
        let scan = &self.fact.scan;
        CauseScan {
            device_id: scan.device_id.clone(),
            scan_id: scan.scan_id.clone(),
            digest: self.fact.digest,
            role,
            gate_id: scan.gate_id.clone(),
            at: self.fact.at(),
            uncertainty_ms: scan.uncertainty_ms,
            within: 0,
            over: 0,
            reason: None,
            manifest_version: scan.manifest_version,
        }
    }
}

/// The contents under one (device, scan id), by digest. Deliveries of the same content are merged.
type Contents<'a> = BTreeMap<Digest, (&'a Subject, Cow<'a, Fact>)>;

/// Takes one content per (device, scan id). A verified content wins over others, then a final over a claim, then an
/// open door over a shut one, then the content with the smallest digest (spec D2).
pub(super) fn choose(facts: &[Resolved]) -> Vec<Chosen<'_>> {
    let mut by_digest: BTreeMap<(&DeviceId, &ScanId), Contents<'_>> = BTreeMap::new();
    for (subject, fact) in facts {
        let contents = by_digest.entry((&fact.scan.device_id, &fact.scan.scan_id)).or_default();
        match contents.get_mut(&fact.digest) {
            Some((_, known)) => merge_deliveries(known.to_mut(), fact),
            None => {
                contents.insert(fact.digest, (subject, Cow::Borrowed(fact)));
            }
        }
    }
    by_digest.into_values().filter_map(choose_one).collect()
}

fn choose_one(contents: Contents<'_>) -> Option<Chosen<'_>> {
    let reused = reused(contents.values().map(|(_, fact)| &**fact));
    let judged_serial = contents.values().filter_map(|(_, fact)| fact.judged).map(|judged| judged.serial).max();
    let alone = contents.len() == 1;
    let (subject, fact) = contents
        .into_values()
        .min_by_key(|(_, fact)| (!fact.proven(), fact.scan.stage == Stage::Claim, !fact.opened(), fact.digest))?;
    Some(Chosen { subject, fact, judged_serial: judged_serial.unwrap_or(0), reused, alone })
}

/// Whether a device used one scan id for two different scans. A claim and its final are one scan. A scan of S2's form
/// that came online and again in a batch is one scan too, because only the server's answer differs (spec D2).
fn reused<'a>(contents: impl Iterator<Item = &'a Fact>) -> bool {
    let (mut claims, mut finals, mut s2) = (0, 0, BTreeMap::new());
    for Fact { scan, .. } in contents {
        match (scan.stage, scan.form) {
            (Stage::Claim, _) => claims += 1,
            (Stage::Final, Form::S2) => {
                // Compare the code as it was read. The spelling that a ticket held may have changed between two
                // deliveries.
                s2.insert((scan.raw_hash.or(scan.barcode_hash), scan.at), ());
            }
            (Stage::Final, Form::V1 | Form::V2) => finals += 1,
        }
    }
    claims > 1 || finals + s2.len() > 1
}

pub(super) type Decisions<'a> = BTreeMap<(&'a DeviceId, &'a ScanId, Digest), (u64, Decision)>;

pub(super) fn decisions(reviews: &[Review]) -> Decisions<'_> {
    let mut map = Decisions::new();
    for review in reviews {
        let key = (&review.device_id, &review.scan_id, review.digest);
        let this = (review.serial, review.decision);
        map.entry(key).and_modify(|held| *held = this.max(*held)).or_insert(this);
    }
    map
}

/// Step 1: why this scan does not count. `None` if it counts.
pub(super) fn left_out(chosen: &Chosen<'_>, reviewed: &Decisions<'_>, rules: Rules<'_>) -> Option<LeftOut> {
    let Fact { scan, digest, .. } = &*chosen.fact;
    let decision = reviewed.get(&(&scan.device_id, &scan.scan_id, *digest)).map(|(_, decision)| *decision);
    if decision == Some(Decision::Exclude) {
        return Some(LeftOut::Excluded);
    }
    if scan.practice && decision != Some(Decision::Accept) {
        return Some(LeftOut::Practice);
    }
    let is_lost = if rules.newest { DeviceBook::is_lost_by_the_newest } else { DeviceBook::is_lost_at };
    let lost = rules.event.device(&scan.device_id).is_some_and(|device| is_lost(device, chosen.fact.at()));
    let proven = chosen.fact.proven() && !lost;
    (!proven && decision != Some(Decision::Accept)).then_some(LeftOut::Unverified)
}
