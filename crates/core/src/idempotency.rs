//! A batch's digest, which tells whether a batch id comes again with the same content (spec D2).

use sha2::{Digest as _, Sha256};

use crate::ids::{DeviceId, ScanId};
use crate::scan::Digest;
use crate::sign::Encoder;

/// Digest of a batch, over the device, `endpoint` and the sorted (scan id, content digest) pairs. White space, key
/// order, offsets, send times, the order of the scans and the encoding of the body don't matter. A malformed item has
/// no content digest, so its bytes as sent are hashed. Otherwise two batches that differ only in malformed items would
/// pass for the same. A pair that occurs twice counts twice.
pub fn batch_digest<'a>(
    device_id: &DeviceId,
    endpoint: &str,
    scans: &[(ScanId, Digest)],
    malformed: impl IntoIterator<Item = &'a str>,
) -> [u8; 32] {
    let mut sorted: Vec<&(ScanId, Digest)> = scans.iter().collect();
    sorted.sort();
    let mut malformed: Vec<[u8; 32]> =
        malformed.into_iter().map(|item| Sha256::digest(item.as_bytes()).into()).collect();
    malformed.sort_unstable();
    let mut to = Encoder::with("admit.batch.v1");
    to.text(device_id.as_str());
    to.text(endpoint);
    to.unsigned(sorted.len() as u64);
    for (scan_id, digest) in sorted {
        to.text(scan_id.as_str());
        to.bytes(&digest.0);
    }
    to.unsigned(malformed.len() as u64);
    for item in malformed {
        to.bytes(&item);
    }
    to.sha256()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(id: &str, byte: u8) -> (ScanId, Digest) {
        (ScanId::new(id).unwrap(), Digest([byte; 32]))
    }

    #[test]
    fn only_what_the_batch_says_matters_never_its_order() {
        let device = DeviceId::new("d").unwrap();
        let digest = |endpoint, scans: &[(ScanId, Digest)], malformed: &[&'static str]| {
            batch_digest(&device, endpoint, scans, malformed.iter().copied())
        };
        let base = digest("sync", &[pair("a", 1), pair("b", 2)], &["{", "["]);
        assert_eq!(base, digest("sync", &[pair("b", 2), pair("a", 1)], &["[", "{"]));
        let others = [
            batch_digest(&DeviceId::new("e").unwrap(), "sync", &[pair("a", 1), pair("b", 2)], ["{", "["]),
            digest("scans_sync", &[pair("a", 1), pair("b", 2)], &["{", "["]),
            digest("sync", &[pair("a", 2), pair("b", 1)], &["{", "["]),
            digest("sync", &[pair("a", 1)], &["{", "["]),
            digest("sync", &[pair("a", 1), pair("b", 2), pair("b", 2)], &["{", "["]),
            digest("sync", &[pair("a", 1), pair("b", 2)], &["{"]),
            digest("sync", &[pair("a", 1), pair("b", 2)], &["{", "{"]),
            digest("sync", &[pair("a", 1), pair("b", 2)], &["{["]),
            digest("sync", &[], &[]),
        ];
        for (i, other) in others.iter().enumerate() {
            assert_ne!(base, *other, "case {i}");
        }
    }
}
