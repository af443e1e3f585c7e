//! Blocks of scans: a block that is read back equals what was written, whatever the fields hold, and damage is noticed.

use admit_core::barcode::BarcodeHash;
use admit_core::block::{self, BlockError, Kept};
use admit_core::ids::uuid_v4;
use admit_core::limits::BLOCK_SCANS;
use admit_core::scan::{ClockEvidence, Fact, Scan, SignatureState};
use admit_core::sign::{content_digest, prev_of, sign_v2};
use admit_core::wire::stored::to_text;

use crate::any_scan::Draw;
use crate::sample::*;

/// How many cases a property is tried with: `few`, and a hundred times as many with `ADMIT_LONG` set.
fn cases(few: u64) -> u64 {
    if std::env::var_os("ADMIT_LONG").is_some() { few * 100 } else { few }
}

#[test]
fn a_scan_alone_reads_back_whole_and_keeps_its_digest() {
    let drawn = (0..cases(5_000)).map(|seed| Draw(seed).scan(None));
    for scan in [full_scan(), bare_scan()].into_iter().chain(drawn) {
        let bytes = block::scan_to_bytes(&scan);
        let read = block::scan_from_bytes(&bytes);
        assert_eq!(read.as_ref(), Ok(&scan));
        assert_eq!(content_digest(&read.unwrap()), content_digest(&scan));
    }
}

#[test]
fn a_block_reads_back_whole_in_its_order() {
    for seed in 0..cases(1_000) {
        let kept = Draw(seed).block();
        let bytes = block::write(&kept).unwrap();
        assert_eq!(block::read(&bytes).as_ref(), Ok(&kept), "seed {seed}");
        let every_third: Vec<_> = kept.iter().cloned().enumerate().filter(|(n, _)| n % 3 == 1).collect();
        assert_eq!(block::read_some(&bytes, |n| n % 3 == 1), Ok(every_third), "seed {seed}");
    }
}

/// The reader of a block notices each changed byte and each missing byte.
#[test]
fn a_changed_or_missing_byte_is_noticed() {
    for seed in 0..cases(40) {
        let mut draw = Draw(seed);
        let kept = draw.block();
        let bytes = block::write(&kept).unwrap();
        for _ in 0..50 {
            let mut changed = bytes.clone();
            let place = draw.below(bytes.len() as u64) as usize;
            changed[place] ^= 1 << draw.below(8);
            assert!(block::read(&changed).is_err(), "seed {seed}, byte {place}");
            assert!(block::read(&bytes[..place]).is_err(), "seed {seed}, {place} bytes");
        }
        assert!(block::read(&[&bytes[..], &[0]].concat()).is_err());
    }
}

/// A stored scan has no signature of its own. Whatever its bytes, reading ends with a scan or an error.
#[test]
fn bytes_that_nobody_wrote_never_panic() {
    for seed in 0..cases(2_000) {
        let mut draw = Draw(seed);
        let mut bytes = block::scan_to_bytes(&draw.scan(None));
        for _ in 0..1 + draw.below(4) {
            let place = draw.below(bytes.len() as u64) as usize;
            bytes[place] = draw.below(256) as u8;
        }
        if let Ok(scan) = block::scan_from_bytes(&bytes) {
            assert_eq!(block::scan_from_bytes(&block::scan_to_bytes(&scan)), Ok(scan));
        }
    }
}

#[test]
fn no_block_is_empty_or_too_large_and_a_later_version_is_told() {
    let one = Draw(1).kept(None);
    assert_eq!(block::write(&[]), Err(BlockError::Size(0)));
    assert_eq!(block::write(&vec![one.clone(); BLOCK_SCANS + 1]), Err(BlockError::Size(65)));
    assert_eq!(block::read(&[]), Err(BlockError::Damaged("too short")));
    let mut bytes = block::write(&[one]).unwrap();
    bytes[0] = 2;
    assert_eq!(block::read(&bytes), Err(BlockError::Version(2)));
    let two = [bare_scan(), bare_scan()].map(|scan| Kept { fact: fact(scan), signature: None, sent: None });
    let bytes = block::write(&two).unwrap();
    assert!(block::scan_from_bytes(&bytes).is_err());
}

fn fact(scan: Scan) -> Fact {
    Fact {
        digest: content_digest(&scan),
        scan,
        signature: SignatureState::Verified,
        withheld: false,
        offset_seconds: 0,
        received_at: at("2025-12-07T19:31:00Z"),
        judged: None,
    }
}

/// A phone's log of an evening, as the phone uploads it.
fn evening(scans: u64) -> Vec<Kept> {
    let mut draw = Draw(7);
    let mut uuid = || uuid_v4(std::array::from_fn(|_| draw.next() as u8));
    let (device, log, event, key) = (uuid(), uuid(), uuid(), uuid());
    let mut kept: Vec<Kept> = Vec::new();
    for n in 1..=scans {
        let hash = Some(BarcodeHash::of(&uuid()));
        let at = at("2025-12-07T19:30:00Z").plus_ms(n as i64 * 2_300 + (n as i64 * 7_919) % 1_900);
        let scan = Scan {
            scan_id: id(&uuid()),
            device_id: id(&device),
            log_id: Some(id(&log)),
            seq: Some(n),
            prev: Some(kept.last().map_or([0; 16], |one| prev_of(&one.fact.digest))),
            key_id: Some(id(&key)),
            event_id: id(&event),
            barcode_hash: hash,
            raw_hash: hash,
            ticket_id: Some(id(&uuid())),
            at,
            uncertainty_ms: 40,
            clock: Some(ClockEvidence {
                wall_ms: at.ms() + 12,
                mono_ms: at.ms() - 1_765_000_000_000,
                session_id: "8f0c".into(),
                corrected: false,
            }),
            count: 1,
            ..bare_scan()
        };
        let scan =
            Scan { form: admit_core::scan::Form::V2, epoch: Some(epoch()), basis: Some(Default::default()), ..scan };
        let signature = Some(sign_v2(&[7; 32], &scan));
        kept.push(Kept { fact: fact(scan), signature, sent: None });
    }
    kept
}

/// The purpose of the block: it stores of each scan in a phone's log only what differs from the other scans. Here that
/// is at most 112 bytes per scan. Most of them are random: its id, its code's hash, its ticket and its signature.
#[test]
fn a_scan_of_a_log_takes_a_tenth_of_its_json() {
    let kept = evening(64);
    let bytes = block::write(&kept).unwrap();
    let json: usize = kept.iter().map(|one| to_text(&one.fact.scan).len()).sum();
    assert!(bytes.len() / 64 <= 112, "{} bytes a scan", bytes.len() / 64);
    assert!(json / bytes.len() >= 8, "{json} bytes of JSON, {} of the block", bytes.len());
    let alone = block::scan_to_bytes(&kept[9].fact.scan).len();
    assert!(alone <= 280, "{alone} bytes alone");
}
