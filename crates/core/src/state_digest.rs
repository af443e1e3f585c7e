//! The digest of everything that the reducer found about a subject. If two digests are equal, nothing changed.

use crate::decide::Reason;
use crate::reduce::{ConflictReason, Entry, LeftOut, REDUCER_VERSION, Reduced, ScanVerdict, TicketState};
use crate::sign::{Encoder, put_headcount};

/// The first bytes of the digest's input.
const DOMAIN: &str = "admit.state";

/// SHA-256 over the reducer's result, in the encoding of [`crate::sign`]: the reducer's version, the state, every
/// verdict, and each cause by its own digest. The code names every field, so that a new field does not compile until it
/// is included.
pub fn state_digest(reduced: &Reduced) -> [u8; 32] {
    let mut to = Encoder::with(DOMAIN);
    to.unsigned(u64::from(REDUCER_VERSION));
    put_state(&mut to, &reduced.state);
    to.unsigned(reduced.verdicts.len() as u64);
    reduced.verdicts.iter().for_each(|verdict| put_verdict(&mut to, verdict));
    to.unsigned(reduced.causes.len() as u64);
    reduced.causes.iter().for_each(|cause| to.bytes(&cause.digest()));
    to.sha256()
}

fn put_state(to: &mut Encoder, state: &TicketState) {
    let TicketState { within, over, inside_within, inside_over, exited, entries } = state;
    [within, over, inside_within, inside_over, exited].into_iter().for_each(|one| to.unsigned(u64::from(*one)));
    to.unsigned(entries.len() as u64);
    for Entry { at, uncertainty_ms, device_id, scan_id, gate_id, within, over } in entries {
        to.signed(at.ms());
        to.unsigned(*uncertainty_ms);
        [device_id.as_str(), scan_id.as_str(), gate_id.as_str()].into_iter().for_each(|id| to.text(id));
        [within, over].into_iter().for_each(|one| to.unsigned(u64::from(*one)));
    }
}

fn put_verdict(to: &mut Encoder, verdict: &ScanVerdict) {
    let ScanVerdict {
        device_id,
        scan_id,
        digest,
        at,
        implausible,
        gate_id,
        kind,
        left_out,
        outcome,
        reason,
        opened,
        count,
        within,
        over,
        exited,
        exited_over,
        conflict,
        conflict_reason,
        admitted_in_error,
        refused_in_error,
        basis_mismatch,
        headcount,
    } = verdict;
    [device_id.as_str(), scan_id.as_str(), gate_id.as_str()].into_iter().for_each(|id| to.text(id));
    to.bytes(&digest.0);
    to.signed(at.ms());
    [kind.as_str(), outcome.as_str()].into_iter().for_each(|word| to.text(word));
    to.option(left_out.map(LeftOut::as_str), Encoder::text);
    to.option(reason.map(Reason::as_str), Encoder::text);
    to.option(conflict_reason.map(ConflictReason::as_str), Encoder::text);
    [implausible, opened, conflict, admitted_in_error, refused_in_error, basis_mismatch]
        .into_iter()
        .for_each(|flag| to.flag(*flag));
    [count, within, over, exited, exited_over].into_iter().for_each(|one| to.unsigned(u64::from(*one)));
    to.option(*headcount, put_headcount);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{DeviceId, GateId, ScanId};
    use crate::scan::{Digest, Headcount, Outcome, ScanKind};
    use crate::time::Timestamp;

    fn verdict() -> ScanVerdict {
        ScanVerdict {
            device_id: DeviceId::new("d").unwrap(),
            scan_id: ScanId::new("s").unwrap(),
            digest: Digest([1; 32]),
            at: Timestamp::START,
            implausible: false,
            gate_id: GateId::new("g").unwrap(),
            kind: ScanKind::Entry,
            left_out: None,
            outcome: Outcome::Valid,
            reason: None,
            opened: true,
            count: 1,
            within: 1,
            over: 0,
            exited: 0,
            exited_over: 0,
            conflict: false,
            conflict_reason: None,
            admitted_in_error: false,
            refused_in_error: false,
            basis_mismatch: false,
            headcount: None,
        }
    }

    /// Changing any single field gives another digest, and no two changes give the same one.
    #[test]
    fn whatever_changes_is_another_digest() {
        let of = |verdict: ScanVerdict| state_digest(&Reduced { verdicts: vec![verdict], ..Reduced::default() });
        let changed = [
            ScanVerdict { device_id: DeviceId::new("e").unwrap(), ..verdict() },
            ScanVerdict { scan_id: ScanId::new("t").unwrap(), ..verdict() },
            ScanVerdict { digest: Digest([2; 32]), ..verdict() },
            ScanVerdict { at: Timestamp::clamped(1), ..verdict() },
            ScanVerdict { implausible: true, ..verdict() },
            ScanVerdict { gate_id: GateId::new("h").unwrap(), ..verdict() },
            ScanVerdict { kind: ScanKind::Exit, ..verdict() },
            ScanVerdict { left_out: Some(LeftOut::ALL[0]), ..verdict() },
            ScanVerdict { outcome: Outcome::Invalid, ..verdict() },
            ScanVerdict { reason: Some(Reason::ALL[0]), ..verdict() },
            ScanVerdict { opened: false, ..verdict() },
            ScanVerdict { count: 2, ..verdict() },
            ScanVerdict { within: 2, ..verdict() },
            ScanVerdict { over: 1, ..verdict() },
            ScanVerdict { exited: 1, ..verdict() },
            ScanVerdict { exited_over: 1, ..verdict() },
            ScanVerdict { conflict: true, ..verdict() },
            ScanVerdict { conflict_reason: Some(ConflictReason::ALL[0]), ..verdict() },
            ScanVerdict { admitted_in_error: true, ..verdict() },
            ScanVerdict { refused_in_error: true, ..verdict() },
            ScanVerdict { basis_mismatch: true, ..verdict() },
            ScanVerdict { headcount: Some(Headcount::Recount { inside: 0 }), ..verdict() },
        ];
        let mut digests = changed.map(of).to_vec();
        digests.push(of(verdict()));
        digests.push(state_digest(&Reduced::default()));
        digests.push(state_digest(&Reduced {
            state: TicketState { within: 1, ..TicketState::default() },
            ..Reduced::default()
        }));
        let count = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }
}
