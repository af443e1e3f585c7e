//! A client of S1's form, without an engine and without a log.

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, GateId, ScanId, TicketId};
use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{PairAnswer, ScanV1, SentTime};

use crate::rng::Rng;

/// A client of S1's form.
#[derive(Debug)]
pub struct Client {
    pub(crate) device_id: DeviceId,
    pub(crate) paired: Option<PairAnswer>,
    pub(crate) unsent: Vec<ScanV1>,
    pub(crate) rng: Rng,
    pub(crate) made: u64,
}

impl Client {
    /// A client that is not paired yet.
    pub fn new(seed: u64, index: u64) -> Self {
        let device_id = DeviceId::new(format!("legacy-{index}")).unwrap_or_else(|_| unreachable!("printable"));
        Self { device_id, paired: None, unsent: Vec::new(), rng: Rng::of(seed, "legacy", index), made: 0 }
    }

    /// Scans a code, with the time of its own inaccurate clock.
    pub(crate) fn scan(&mut self, now_ms: i64, ticket: u64, api_key: &str) {
        self.made += 1;
        let text = Timestamp::clamped(now_ms - 3_000).to_string();
        let outcome = if self.rng.per_mille(800) { Outcome::Valid } else { Outcome::Duplicate };
        let mut item = ScanV1 {
            scan_id: ScanId::new(format!("v1-{}", self.made)).unwrap_or_else(|_| unreachable!("printable")),
            ticket_id: TicketId::new(format!("ticket-{ticket}")).ok(),
            barcode_hash: BarcodeHash::of(&format!("CODE-{ticket}")),
            scanned_at: SentTime { at: Timestamp::parse(&text).unwrap_or_default(), text },
            gate_id: GateId::new(if self.rng.per_mille(200) { "out" } else { "north" })
                .unwrap_or_else(|_| unreachable!("printable")),
            outcome,
            signature: String::new(),
        };
        item.sign(api_key);
        self.unsent.push(item);
    }
}
