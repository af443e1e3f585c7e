//! Fuzz target: blocks of scans. It reads arbitrary bytes, and writes whole histories and reads them back.

use admit_core::block::{self, Kept};
use admit_core::limits::BLOCK_SCANS;
use admit_core::scan::Fact;
use admit_core::sign::content_digest;

use crate::generator::{History, Rng, history_of};

/// Runs the target. The first byte chooses what the other bytes are: one scan, one block, or a history that is written
/// as blocks.
pub fn block(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind % 3 {
        0 => alone(bytes),
        1 => {
            if let Ok(kept) = block::read(bytes) {
                written_and_read(&kept);
            }
        }
        _ => {
            let History { case, .. } = history_of(Rng::of_bytes(bytes));
            // The generator of histories gives contents any digest. A stored content has its own, so it is computed
            // here.
            let own = |fact: Fact| Fact { digest: content_digest(&fact.scan), ..fact };
            let kept = case.facts.into_iter().map(|fact| Kept { fact: own(fact), signature: None, sent: None });
            kept.collect::<Vec<_>>().chunks(BLOCK_SCANS).for_each(written_and_read);
        }
    }
}

/// If the bytes can be read as a scan, checks that this scan is written and read again unchanged.
fn alone(bytes: &[u8]) {
    if let Ok(scan) = block::scan_from_bytes(bytes) {
        assert_eq!(block::scan_from_bytes(&block::scan_to_bytes(&scan)), Ok(scan));
    }
}

fn written_and_read(kept: &[Kept]) {
    let bytes = block::write(kept).expect("neither empty nor too large");
    assert_eq!(block::read(&bytes).as_deref(), Ok(kept));
}

/// Scans of histories, each alone, and whole histories.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for bytes in crate::history::seeds() {
        let History { case, .. } = history_of(Rng::of_bytes(&bytes));
        let scans = case.facts.iter().take(4).map(|fact| block::scan_to_bytes(&fact.scan));
        seeds.extend(scans.map(|scan| [&[0], &scan[..]].concat()));
        seeds.push([&[2], &bytes[..]].concat());
    }
    seeds
}
