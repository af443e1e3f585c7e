//! Ids and secrets drawn from one piece of randomness. The randomness is drawn before a transaction, so that a repeated
//! transaction draws the same ids (law 6).

use admit_core::ids::uuid_v4;
use admit_core::sign::hmac_sha256;
use admit_core::time::Timestamp;

/// A stream of random bytes. A clone made before the first draw gives the same bytes.
#[derive(Debug, Clone)]
pub struct SeededIds {
    seed: [u8; 32],
    drawn: u64,
}

impl SeededIds {
    /// Begins a stream with 32 fresh random bytes.
    pub fn new(seed: [u8; 32]) -> Self {
        Self { seed, drawn: 0 }
    }
    /// The next 32 bytes.
    pub fn bytes(&mut self) -> [u8; 32] {
        self.drawn += 1;
        hmac_sha256(&self.seed, &self.drawn.to_be_bytes())
    }
    /// A UUID v4, used for scan ids, batch ids and pass tokens.
    pub fn uuid(&mut self) -> String {
        let bytes = self.bytes();
        let mut half = [0; 16];
        half.copy_from_slice(&bytes[..16]);
        uuid_v4(half)
    }
    /// A UUID v7, used for row ids. It is ordered by time, so that indices grow at one end.
    pub fn row_id(&mut self, now: Timestamp) -> String {
        let bytes = self.bytes();
        let ms = now.ms().to_be_bytes();
        let mut id = [0; 16];
        id[..6].copy_from_slice(&ms[2..]);
        id[6..].copy_from_slice(&bytes[..10]);
        id[6] = 0x70 | id[6] & 0x0f;
        id[8] = 0x80 | id[8] & 0x3f;
        let hex = admit_core::barcode::hex(&id);
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_draws_the_same_and_the_stream_goes_on() {
        let mut seeded = SeededIds::new([1; 32]);
        let mut again = seeded.clone();
        let first = seeded.uuid();
        assert_eq!(first, again.uuid());
        assert_ne!(first, seeded.uuid());
    }

    #[test]
    fn row_ids_rise_with_time() {
        let mut seeded = SeededIds::new([1; 32]);
        let early = seeded.row_id(Timestamp::clamped(1_700_000_000_000));
        let late = seeded.row_id(Timestamp::clamped(1_700_000_000_001));
        assert!(early < late);
        assert_eq!(early.len(), 36);
        assert_eq!(&early[14..15], "7");
    }
}
