//! Caches the large parts of manifests, so that each is built once per version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;

/// A manifest's large part: everything before the JSON members that differ from request to request.
#[derive(Debug)]
pub struct LargePart {
    /// The bytes: an unfinished JSON object, or the compact form without its end.
    pub bytes: Vec<u8>,
    /// The `content_hash` of the part's codes or names.
    pub content_hash: [u8; 32],
    /// For a list, the serial of its last rule change. For names, the serial of the last change of a guest.
    pub version: u64,
    /// Number of codes or names in the part.
    pub codes: usize,
    /// The bytes as one finished zstd frame. It is made when it is first needed.
    pub zstd: std::sync::OnceLock<Vec<u8>>,
}

/// The kinds of documents whose large part is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The list as JSON.
    Json,
    /// The list in the compact form.
    Compact,
    /// The names.
    Names,
}

/// The version of a document. Two epochs may give the same number to different content, so the epoch is part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// The server's epoch.
    pub epoch: Epoch,
    /// Serial of the last change in the document.
    pub number: u64,
}

/// Versions cached per event and kind: the newest, and the one before, which the server may still be sending.
const KEPT: usize = 2;
/// Most bytes in the cache, about ten lists of 20,000 tickets. Beyond it, parts that were not used for the longest time
/// are dropped.
const KEPT_BYTES: usize = 48 * 1024 * 1024;

type Key = (OrganizationId, EventId, Part);

#[derive(Debug, Default)]
struct Kept {
    versions: Vec<(Epoch, Arc<LargePart>)>,
    /// When the part was last used, as a running number of uses.
    asked: u64,
}

impl Kept {
    fn bytes(&self) -> usize {
        let of = |part: &LargePart| part.bytes.len() + part.zstd.get().map_or(0, Vec::len);
        self.versions.iter().map(|(_, part)| of(part)).sum()
    }
}

#[derive(Debug, Default)]
struct All {
    parts: BTreeMap<Key, Kept>,
    asked: u64,
}

/// The cache of the newest versions of the lists and names that devices asked for.
#[derive(Debug, Default)]
pub struct ManifestCache {
    kept: Mutex<All>,
    /// A lock for each version that is being built. Many devices ask for a new version at the same moment. One of their
    /// requests builds it, and the others wait.
    building: Mutex<BTreeMap<Key, Arc<Mutex<()>>>>,
}

impl ManifestCache {
    /// Returns the cached version, or the result of `build`, which runs once however many callers ask at the same time.
    /// Only a version of the same epoch is returned. Another epoch may give the same number to another list, and
    /// another process may have begun the epoch.
    pub fn get_or_build<E>(
        &self,
        organization_id: &OrganizationId,
        event_id: &EventId,
        part: Part,
        version: Version,
        build: impl FnOnce() -> Result<Arc<LargePart>, E>,
    ) -> Result<Arc<LargePart>, E> {
        let key = (organization_id.clone(), event_id.clone(), part);
        if let Some(kept) = self.get(&key, version) {
            return Ok(kept);
        }
        let turn = locked(&self.building).entry(key.clone()).or_default().clone();
        let held = locked(&turn);
        let made = match self.get(&key, version) {
            Some(kept) => Ok(kept),
            None => build().inspect(|made| self.put(&key, version.epoch, made.clone())),
        };
        drop(held);
        let mut building = locked(&self.building);
        // Only the map and this function still have this version's lock, so no other caller waits for it.
        if Arc::strong_count(&turn) == 2 {
            building.remove(&key);
        }
        // Drop the lock before the map is released. So of two callers that end together, the second one sees that it is
        // the last.
        drop(turn);
        made
    }
    fn get(&self, key: &Key, version: Version) -> Option<Arc<LargePart>> {
        let mut all = locked(&self.kept);
        all.asked += 1;
        let asked = all.asked;
        let kept = all.parts.get_mut(key)?;
        kept.asked = asked;
        let same = |of: Epoch, part: &LargePart| of == version.epoch && part.version == version.number;
        kept.versions.iter().find(|(of, part)| same(*of, part)).map(|(_, part)| part.clone())
    }
    fn put(&self, key: &Key, epoch: Epoch, made: Arc<LargePart>) {
        let mut all = locked(&self.kept);
        all.asked += 1;
        let asked = all.asked;
        let kept = all.parts.entry(key.clone()).or_default();
        kept.asked = asked;
        kept.versions.retain(|(of, held)| *of != epoch || held.version != made.version);
        kept.versions.push((epoch, made));
        let excess = kept.versions.len().saturating_sub(KEPT);
        kept.versions.drain(..excess);
        while all.parts.len() > 1 && all.parts.values().map(Kept::bytes).sum::<usize>() > KEPT_BYTES {
            let oldest = all.parts.iter().min_by_key(|(_, kept)| kept.asked).map(|(key, _)| key.clone());
            oldest.map(|key| all.parts.remove(&key));
        }
    }
    /// Empties the cache. After a new epoch, version numbers are used again.
    pub fn clear(&self) {
        locked(&self.kept).parts.clear();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const EPOCH: Epoch = Epoch { restored_at_ms: 0, random: 1 };

    fn part(version: u64, bytes: usize) -> Arc<LargePart> {
        let zstd = std::sync::OnceLock::new();
        Arc::new(LargePart { bytes: vec![0; bytes], content_hash: [0; 32], version, codes: 0, zstd })
    }

    fn ask(cache: &ManifestCache, event: &str, version: u64, bytes: usize) -> bool {
        let (organization, event) = (OrganizationId::new("o").unwrap(), EventId::new(event).unwrap());
        let mut was_built = false;
        let made =
            cache.get_or_build(&organization, &event, Part::Compact, Version { epoch: EPOCH, number: version }, || {
                was_built = true;
                Ok::<_, ()>(part(version, bytes))
            });
        assert_eq!(made.unwrap().version, version);
        was_built
    }

    #[test]
    fn a_version_is_built_once_and_an_old_one_is_forgotten() {
        let cache = ManifestCache::default();
        assert!(ask(&cache, "e", 1, 1) && !ask(&cache, "e", 1, 1));
        assert!(ask(&cache, "e", 2, 1) && !ask(&cache, "e", 1, 1), "who asked before is still served");
        assert!(ask(&cache, "e", 3, 1) && ask(&cache, "e", 1, 1), "two are kept");
        assert!(locked(&cache.building).is_empty());
        let failed = cache.get_or_build(
            &OrganizationId::new("o").unwrap(),
            &EventId::new("f").unwrap(),
            Part::Json,
            Version { epoch: EPOCH, number: 1 },
            || Err::<Arc<LargePart>, _>("no rows"),
        );
        assert_eq!(failed.unwrap_err(), "no rows");
        assert!(locked(&cache.building).is_empty());
    }

    #[test]
    fn what_was_not_asked_for_longest_makes_room() {
        let cache = ManifestCache::default();
        let third = KEPT_BYTES / 3;
        for event in ["a", "b", "c"] {
            assert!(ask(&cache, event, 1, third));
        }
        assert!(!ask(&cache, "a", 1, third));
        assert!(ask(&cache, "d", 1, third));
        assert!(!ask(&cache, "a", 1, third) && !ask(&cache, "c", 1, third), "asked for lately");
        assert!(ask(&cache, "b", 1, third));
        assert!(
            ask(&cache, "large", 1, 2 * KEPT_BYTES) && !ask(&cache, "large", 1, 1),
            "one list is kept, however large"
        );
    }

    #[test]
    fn who_asks_at_the_same_moment_waits_for_one_to_build() {
        let (cache, built) = (ManifestCache::default(), AtomicUsize::new(0));
        let (organization, event) = (OrganizationId::new("o").unwrap(), EventId::new("e").unwrap());
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    cache.get_or_build(
                        &organization,
                        &event,
                        Part::Compact,
                        Version { epoch: EPOCH, number: 1 },
                        || {
                            built.fetch_add(1, Ordering::Relaxed);
                            // Wait until all others hold the lock too: the map and each of the eight.
                            while locked(&cache.building).values().all(|turn| Arc::strong_count(turn) < 9) {
                                std::thread::yield_now();
                            }
                            Ok::<_, ()>(part(1, 1))
                        },
                    )
                });
            }
        });
        assert_eq!(built.load(Ordering::Relaxed), 1);
        assert!(locked(&cache.building).is_empty());
    }
}
