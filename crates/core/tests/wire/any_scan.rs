//! Makes scans from a seed whose fields hold any value that they can hold.

use admit_core::barcode::BarcodeHash;
use admit_core::block::Kept;
use admit_core::rule::Epoch;
use admit_core::scan::{
    Basis, ClockEvidence, Fact, Form, Headcount, Judged, Method, Outcome, Override, PersonClass, Scan, ScanKind,
    SignatureState, Stage, WalkIn,
};
use admit_core::sign::content_digest;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;

use crate::sample::id;

/// A pseudo-random generator: splitmix64.
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
    /// A number of any size. Small numbers are as likely as huge ones.
    fn number(&mut self) -> u64 {
        let bits = self.below(65) as u32;
        if bits == 0 { 0 } else { self.next() >> (64 - bits) }
    }
    fn small(&mut self) -> u32 {
        self.number() as u32
    }
    fn option<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.below(2) == 0).then(|| draw(self))
    }
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        // Only three values are drawn, so that some are equal.
        let seed = self.below(3);
        std::array::from_fn(|n| (seed as u8).wrapping_mul(91).wrapping_add(n as u8))
    }
    fn id<T: std::str::FromStr<Err: std::fmt::Debug>>(&mut self) -> T {
        let text = match self.below(4) {
            0 => format!("{:032x}", self.below(3)),
            1 => "~".repeat(1 + self.below(128) as usize),
            2 => format!("c0ffee00-0000-4000-8000-00000000000{}", self.below(9)),
            // A UUID in another notation than Admit's own.
            _ => format!("C0FFEE00-0000-4000-8000-00000000000{}", self.below(9)),
        };
        id(&text)
    }
    fn text(&mut self) -> String {
        self.one_of(&["", "Zoë", "a", "line\n\0break", "00000000-0000-0000-0000-000000000000", "日本語"]).to_owned()
    }
    fn at(&mut self) -> Timestamp {
        Timestamp::clamped(self.number() as i64)
    }
    fn headcount(&mut self) -> Headcount {
        if self.below(2) == 0 {
            Headcount::Change { class: self.one_of(PersonClass::ALL), delta: self.small() as i32 }
        } else {
            Headcount::Recount { inside: self.small() }
        }
    }
    fn basis(&mut self) -> Basis {
        Basis {
            within: self.small(),
            inside: self.small(),
            spent: self.small(),
            last_entry_at: self.option(Self::at),
            status: self.option(|draw| draw.one_of(TicketStatus::ALL)),
        }
    }
    fn clock(&mut self) -> ClockEvidence {
        ClockEvidence {
            wall_ms: self.next() as i64,
            mono_ms: self.number() as i64,
            session_id: self.text(),
            corrected: self.below(2) == 0,
        }
    }
    /// Draws a scan. `before` is the scan before it in its log.
    pub fn scan(&mut self, before: Option<&Scan>) -> Scan {
        let hash = self.option(|draw| BarcodeHash(draw.bytes()));
        let chained = before.map(|scan| admit_core::sign::prev_of(&content_digest(scan)));
        Scan {
            form: self.one_of(Form::ALL),
            scan_id: self.id(),
            device_id: self.id(),
            log_id: self.option(Self::id),
            seq: self.option(Self::number),
            prev: self.option(|draw| chained.filter(|_| draw.below(3) > 0).unwrap_or_else(|| draw.bytes())),
            key_id: self.option(Self::id),
            event_id: self.id(),
            gate_id: self.id(),
            kind: self.one_of(ScanKind::ALL),
            stage: self.one_of(Stage::ALL),
            method: self.one_of(Method::ALL),
            barcode_hash: hash,
            raw_hash: if self.below(2) == 0 { hash } else { self.option(|draw| BarcodeHash(draw.bytes())) },
            ticket_id: self.option(Self::id),
            count: self.small(),
            outcome: self.one_of(Outcome::ALL),
            opened: self.below(2) == 0,
            practice: self.below(2) == 0,
            override_: self.option(|draw| Override { by: draw.text(), reason: draw.text() }),
            walk_in: self.option(|draw| WalkIn { zone: draw.text(), party: draw.small(), name_digest: draw.bytes() }),
            headcount: self.option(Self::headcount),
            operator: self.option(Self::text),
            target_device: self.option(Self::id),
            target_scan_id: self.option(Self::id),
            keep: self.small(),
            at: self.at(),
            uncertainty_ms: self.number(),
            clock: self.option(Self::clock),
            epoch: self.option(|draw| Epoch { restored_at_ms: draw.next() as i64, random: draw.next() }),
            manifest_version: self.number(),
            cursor: self.number(),
            basis: self.option(Self::basis),
        }
    }
    /// Draws a scan in the form in which the server keeps it.
    pub fn kept(&mut self, before: Option<&Scan>) -> Kept {
        let scan = self.scan(before);
        let signature = match self.below(5) {
            0 => None,
            1 => Some(format!("HMAC-SHA256={}", "0a".repeat(32))),
            2 => Some(format!("HMAC-SHA256-V2={}", "fe".repeat(32))),
            3 => Some(format!("HMAC-SHA256-V2={}", "FE".repeat(32))),
            _ => Some(self.text()),
        };
        let fact = Fact {
            digest: content_digest(&scan),
            scan,
            signature: self.one_of(SignatureState::ALL),
            withheld: self.below(2) == 0,
            offset_seconds: self.next() as i64,
            received_at: self.at(),
            judged: self.option(|draw| Judged { serial: draw.number(), outcome: draw.one_of(Outcome::ALL) }),
        };
        Kept { fact, signature, sent: self.option(Self::text) }
    }
    /// Draws a block of scans, which may resemble each other or not.
    pub fn block(&mut self) -> Vec<Kept> {
        let (size, alike) = (1 + self.below(64), self.below(2) == 0);
        let mut kept: Vec<Kept> = Vec::new();
        for _ in 0..size {
            let before = kept.last().map(|one| one.fact.scan.clone());
            let mut next = self.kept(before.as_ref());
            if let (Some(before), true) = (before, alike) {
                let (seq, at) = (before.seq.map(|seq| seq.wrapping_add(1)), before.at.plus_ms(40));
                next.fact.scan = Scan { scan_id: next.fact.scan.scan_id, seq, at, prev: next.fact.scan.prev, ..before };
                next.fact.digest = content_digest(&next.fact.scan);
            }
            kept.push(next);
        }
        kept
    }
}
