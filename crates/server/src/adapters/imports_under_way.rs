//! The progress of the imports that this process runs, for the people who wait for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use admit_app::tickets::import::Progress;
use admit_core::ids::OrganizationId;

use crate::error::{ApiError, Result};

/// The most imports whose progress is recorded at a time.
const MOST: usize = 1_000;
/// The longest key of an import, in bytes.
const KEY_BYTES: usize = 64;

type Key = (OrganizationId, String);

/// The running imports, by organisation and by the key that the request gave.
#[derive(Debug, Clone, Default)]
pub struct ImportsUnderWay(Arc<Mutex<BTreeMap<Key, Progress>>>);

/// An import whose progress is recorded while this value exists.
pub struct Watched {
    /// The progress, which the import updates.
    pub progress: Progress,
    key: Key,
    all: ImportsUnderWay,
}

impl ImportsUnderWay {
    /// Starts to record an import's progress. Fails if the key is too long, or belongs to a running import.
    pub fn watch(&self, organization_id: &OrganizationId, key: &str) -> Result<Watched> {
        if key.is_empty() || key.len() > KEY_BYTES {
            return Err(ApiError::field("progress", format!("must have 1 to {KEY_BYTES} bytes")));
        }
        let key = (organization_id.clone(), key.to_owned());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.contains_key(&key) || all.len() == MOST {
            return Err(ApiError::field("progress", "is the word of another import under way: choose another"));
        }
        let progress = Progress::default();
        all.insert(key.clone(), progress.clone());
        Ok(Watched { progress, key, all: self.clone() })
    }
    /// The keys and the progress of an organisation's running imports.
    pub fn of(&self, organization_id: &OrganizationId) -> Vec<(String, Progress)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = all.iter().filter(|((of, _), _)| of == organization_id);
        own.map(|((_, key), progress)| (key.clone(), progress.clone())).collect()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_is_watched_while_it_runs_by_its_own_organisation() {
        let all = ImportsUnderWay::default();
        let [ours, foreign] = ["o-1", "o-2"].map(|id| OrganizationId::new(id).unwrap());
        let watched = all.watch(&ours, "k").unwrap();
        watched.progress.step(3);
        assert_eq!(all.of(&ours)[0].1.read().1, 3);
        assert!(all.of(&foreign).is_empty());
        assert!(all.watch(&ours, "k").is_err() && all.watch(&ours, "").is_err());
        drop(watched);
        assert!(all.of(&ours).is_empty());
    }
}
