//! Scans that no receipt names. The journal keeps their number, since every input asks for it.

use std::collections::BTreeSet;

use admit_core::decide::Screen;
use admit_core::device::journal::Journal;
use admit_core::ids::{DeviceId, EventId, GateId, ScanId};
use admit_core::rule::Epoch;
use admit_core::scan::{Form, Method, Outcome, Scan, ScanKind, Stage};
use admit_core::time::Timestamp;
use admit_core::wire::journal::{Entry, RejectedScan, Scanned, Shown};
use proptest::prelude::{prop, prop_assert_eq, proptest};

/// A scan in a log: a claim or a final.
pub fn scan(seq: u64, id: u8, claim: bool) -> Scan {
    Scan {
        form: Form::V2,
        scan_id: ScanId::new(format!("scan-{id}")).unwrap(),
        device_id: DeviceId::new("device").unwrap(),
        log_id: None,
        seq: Some(seq),
        prev: None,
        key_id: None,
        event_id: EventId::new("event").unwrap(),
        gate_id: GateId::new("north").unwrap(),
        kind: ScanKind::Entry,
        stage: if claim { Stage::Claim } else { Stage::Final },
        method: Method::Qr,
        barcode_hash: None,
        raw_hash: None,
        ticket_id: None,
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
        at: Timestamp::clamped(seq as i64),
        uncertainty_ms: 0,
        clock: None,
        epoch: None,
        manifest_version: 0,
        cursor: 0,
        practice: false,
        basis: None,
    }
}
/// The journal row of a scan.
pub fn row(scan: Scan) -> Entry {
    let shown = Shown {
        screen: Screen::Admit,
        reason: None,
        may_admit: 1,
        entry_limit: 1,
        already_in: 0,
        places_left: None,
        confirmed: false,
    };
    Entry::Scan(Box::new(Scanned { scan, signature: String::new(), shown, named: None }))
}

/// A row that can follow in a journal with `head` scans. None: this `what` stands for no row.
fn happening(what: u8, n: u8, head: u64) -> Option<Entry> {
    let (seq, epoch) = (u64::from(n) % head.max(1) + 1, |n: u8| Epoch { restored_at_ms: i64::from(n), random: 1 });
    Some(match what {
        // There are few ids, so that claims get their finals at once, later, or never.
        0 | 1 => row(scan(head + 1, n % 5, what == 0)),
        2 => Entry::Received { epoch: Some(epoch(1)), serial: 1, seqs: vec![(seq, seq + 2)], held: n > 40, at_ms: 0 },
        3 => Entry::Rejected {
            epoch: Some(epoch(1)),
            items: vec![RejectedScan { seq, reason: "no".into(), kept: n > 40 }],
        },
        4 => Entry::Poison { seq, reason: "no".into() },
        5 => Entry::Epoch { epoch: epoch(n % 3) },
        _ => return None,
    })
}

/// The number of scans that have a record without a receipt.
fn counted(journal: &Journal) -> u64 {
    let sets = [&journal.waiting, &journal.asked, &journal.poison];
    let lacking = sets.iter().flat_map(|set| set.iter()).filter_map(|seq| journal.at_seq(*seq));
    lacking.map(|own| &own.scan.scan_id).collect::<BTreeSet<_>>().len() as u64
}

proptest! {
    #[test]
    fn the_kept_number_of_unsent_scans_is_the_one_a_count_gives(steps in prop::collection::vec((0_u8..7, 0_u8..50), 0..60)) {
        let mut journal = Journal::default();
        for (what, n) in steps {
            match happening(what, n, journal.head_seq()) {
                Some(entry) => journal.apply(entry),
                None => journal.lacking(u64::from(n)),
            }
            prop_assert_eq!(journal.unsent(), counted(&journal));
        }
    }
}
