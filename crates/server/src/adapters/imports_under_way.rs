//! The progress of the imports that this process carries out, for the people who wait for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use admit_app::tickets::import::Progress;
use admit_core::ids::OrganizationId;

use crate::error::{ApiError, Result};

/// Imports that are watched at a time.
const MOST: usize = 1_000;
/// Longest word that names one, in bytes.
const KEY_BYTES: usize = 64;

type Key = (OrganizationId, String);

/// The imports under way, each by its organisation and the word that its request gave.
#[derive(Debug, Clone, Default)]
pub struct ImportsUnderWay(Arc<Mutex<BTreeMap<Key, Progress>>>);

/// An import that is watched while this value lives.
pub struct Watched {
    /// Where it says how far it is.
    pub progress: Progress,
    key: Key,
    all: ImportsUnderWay,
}

impl ImportsUnderWay {
    /// Begins to watch an import. Fails for a word that is too long, or taken by an import under way.
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
    /// The words of an organisation's imports, and how far each is.
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
