//! A cache of recent entries in two tiers, which S2 calls hot (the memory of this process) and warm (Redis) (S2 §4
//! "Cache Layers", steps 13, 14, 22, 23).
//!
//! S2 lets these caches decide what a duplicate is. Here the database decides (law 15), and the caches are filled after
//! the commit. They only count scans of codes that were let in less than five minutes before (S2 §11). Redis stores a
//! code's hash. This process stores eight bytes of a hash of that hash. So no cache holds a code that opens a door.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use admit_app::recent::{Recent, RecentScan};
use admit_core::barcode::BarcodeHash;
use admit_core::ids::{EventId, OrganizationId, ScanId};
use redis::pipe;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};

use super::redis_link::Link;
use crate::telemetry::{Metrics, TierLabel};

/// How long an entry stays in the cache (S2 §4).
const REMEMBERED: Duration = Duration::from_secs(300);
/// The most scans that this process remembers. A further one replaces the oldest.
const MOST: usize = 200_000;
/// The most scans in one request to Redis.
const CHUNK: usize = 250;
/// The most chunks that wait for Redis. Further ones are dropped.
const QUEUE: usize = 256;

/// The shortened form of a code of an organisation, or of a scan. The probability that two of 200,000 short forms are
/// equal is one in a thousand million. Two equal forms make one metric wrong by one. Full texts would take some 60 MB.
type Short = u64;

/// The recent entries of this process. Every scan is added once and removed once. So the cost of a scan hardly grows
/// with the number of entries, and a burst of scans delays nothing.
#[derive(Default)]
struct Hot {
    last: BTreeMap<Short, (Short, Instant)>,
    /// The codes with their times, oldest first. Only the newest time of each code is in `last`.
    order: VecDeque<(Short, Instant)>,
    /// The random hash function of the shortened forms. Nobody outside knows it, so nobody can choose texts that
    /// collide.
    short: RandomState,
}

impl Hot {
    /// Adds a scan. Gives whether another scan of its code was remembered.
    fn note(&mut self, code: (&OrganizationId, &BarcodeHash), scan_id: &ScanId, now: Instant) -> bool {
        let (code, scan) = (self.short.hash_one(code), self.short.hash_one(scan_id));
        while let Some((_, at)) = self.order.front()
            && (now.duration_since(*at) >= REMEMBERED || self.order.len() >= MOST)
        {
            self.forget_oldest();
        }
        self.order.push_back((code, now));
        let before = self.last.insert(code, (scan, now));
        before.is_some_and(|(other, _)| other != scan)
    }
    fn forget_oldest(&mut self) {
        let Some((code, at)) = self.order.pop_front() else { return };
        if self.last.get(&code).is_some_and(|(_, last)| *last == at) {
            self.last.remove(&code);
        }
    }
}

/// The cache with both tiers.
pub struct RecentScans {
    hot: Mutex<Hot>,
    warm: Option<mpsc::Sender<Chunk>>,
    metrics: Arc<Metrics>,
}

/// Scans of one event on their way to Redis. The flag of a scan says whether this process already remembered another
/// scan of the same code.
struct Chunk {
    organization_id: OrganizationId,
    event_id: EventId,
    scans: Vec<(RecentScan, bool)>,
}

impl RecentScans {
    /// Makes the cache, with Redis if `link` is given. Call it inside a runtime.
    pub fn new(link: Option<Arc<Link>>, metrics: Arc<Metrics>) -> Self {
        let warm = link.map(|link| {
            let (sender, waiting) = mpsc::channel(QUEUE);
            tokio::spawn(warm(link, waiting, metrics.clone()));
            sender
        });
        Self { hot: Mutex::default(), warm, metrics }
    }
    /// Adds a scan to the tier of this process. Returns whether the tier already had another scan of the same code.
    fn heat(&self, organization_id: &OrganizationId, scan: &RecentScan, now: Instant) -> bool {
        let mut hot = self.hot.lock().unwrap_or_else(PoisonError::into_inner);
        hot.note((organization_id, &scan.barcode_hash), &scan.scan_id, now)
    }
}

impl Recent for RecentScans {
    fn note(&self, organization_id: &OrganizationId, event_id: &EventId, scans: Vec<RecentScan>) {
        let now = Instant::now();
        let scans = scans.into_iter().map(|scan| {
            let before = self.heat(organization_id, &scan, now);
            (scan, before)
        });
        let scans: Vec<(RecentScan, bool)> = scans.collect();
        let hits = scans.iter().filter(|(_, before)| *before).count();
        self.metrics.recent_duplicates.get_or_create(&TierLabel { tier: "hot" }).inc_by(hits as u64);
        let Some(warm) = &self.warm else { return };
        for scans in scans.chunks(CHUNK) {
            let (organization_id, event_id) = (organization_id.clone(), event_id.clone());
            // If the queue is full, the chunk is dropped.
            let _ = warm.try_send(Chunk { organization_id, event_id, scans: scans.to_vec() });
        }
    }
}

/// Writes S2's keys to Redis until the sender is gone.
async fn warm(link: Arc<Link>, mut waiting: mpsc::Receiver<Chunk>, metrics: Arc<Metrics>) {
    while let Some(Chunk { organization_id, event_id, scans }) = waiting.recv().await {
        let recent = format!("admit:org:{organization_id}:event:{event_id}:scans:recent");
        let seconds = REMEMBERED.as_secs();
        let mut exchange = pipe();
        let mut newest = 0;
        for (scan, _) in &scans {
            let at = scan.at.ms() / 1_000;
            newest = newest.max(at);
            let code = admit_core::barcode::hex(&scan.barcode_hash.0);
            let ticket = scan.ticket_id.as_ref().map_or(code.as_str(), |id| id.as_str());
            let member = format!("{ticket}:{}:{}", scan.device_id, scan.gate_id);
            exchange.cmd("ZADD").arg(&recent).arg(at).arg(member).ignore();
            let last = format!("admit:org:{organization_id}:ticket:{code}:last_scan");
            let value = format!("{}:{}:{at}", scan.scan_id, scan.gate_id);
            exchange.cmd("SET").arg(last).arg(value).arg("EX").arg(seconds).arg("GET");
        }
        exchange.cmd("ZREMRANGEBYSCORE").arg(&recent).arg("-inf").arg(newest - seconds as i64).ignore();
        exchange.cmd("EXPIRE").arg(&recent).arg(seconds).ignore();
        let asked = link.ask(|mut connection| async move { exchange.query_async(&mut connection).await });
        let before: Option<Vec<Option<String>>> = asked.await;
        let before = before.unwrap_or_default();
        let is_other = |scan: &RecentScan, value: &str| !value.starts_with(&format!("{}:", scan.scan_id));
        let pairs = scans.iter().zip(&before).filter(|((_, hot), _)| !hot);
        let hits = pairs.filter(|((scan, _), value)| value.as_deref().is_some_and(|value| is_other(scan, value)));
        metrics.recent_duplicates.get_or_create(&TierLabel { tier: "warm" }).inc_by(hits.count() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(hot: &mut Hot, code: usize, scan: usize, now: Instant) -> bool {
        note_of("o", hot, code, scan, now)
    }
    fn note_of(organization: &str, hot: &mut Hot, code: usize, scan: usize, now: Instant) -> bool {
        let organization_id = OrganizationId::new(organization).unwrap();
        let scan_id = ScanId::new(format!("s{scan}")).unwrap();
        hot.note((&organization_id, &BarcodeHash::of(&format!("code {code}"))), &scan_id, now)
    }

    #[test]
    fn another_scan_of_a_code_within_five_minutes_is_known_and_the_same_one_is_not() {
        let (mut hot, begun) = (Hot::default(), Instant::now());
        assert!(!note(&mut hot, 1, 1, begun));
        assert!(!note(&mut hot, 1, 1, begun), "a repeat of itself");
        assert!(note(&mut hot, 1, 2, begun));
        assert!(!note(&mut hot, 2, 3, begun));
        assert!(!note_of("p", &mut hot, 1, 5, begun), "another organisation's");
        assert!(note(&mut hot, 1, 1, begun), "the one before the last is another");
        let late = begun + REMEMBERED;
        assert!(!note(&mut hot, 1, 4, late), "forgotten");
        assert_eq!((hot.last.len(), hot.order.len()), (1, 1));
    }

    #[test]
    fn what_is_remembered_has_a_bound_and_the_newest_stays() {
        let (mut hot, now) = (Hot::default(), Instant::now());
        for n in 0..MOST + 10 {
            assert!(!note(&mut hot, n, n, now));
        }
        assert_eq!((hot.last.len(), hot.order.len()), (MOST, MOST));
        assert!(note(&mut hot, MOST + 9, 0, now), "the newest");
        assert!(!note(&mut hot, 0, 1, now), "the oldest made room");
    }
}
