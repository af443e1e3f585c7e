//! The large parts of manifests, built once per version (architecture §4 "Manifest").

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;

/// A manifest's large part: everything up to the per-request members.
#[derive(Debug)]
pub struct LargePart {
    /// Its bytes: an unfinished JSON object, or the compact form without its end.
    pub bytes: Vec<u8>,
    /// `content_hash` of its tickets, or names.
    pub content_hash: [u8; 32],
    /// Serial of the last rule change, or change of a guest, in it.
    pub version: u64,
    /// Codes, or names, in it.
    pub codes: usize,
    /// The bytes as one finished zstd frame, made when first asked for.
    pub zstd: std::sync::OnceLock<Vec<u8>>,
}

/// What a large part is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The list as JSON.
    Json,
    /// The list in the compact form.
    Compact,
    /// The names.
    Names,
}

/// Versions kept per event and part.
const KEPT: usize = 8;

type Kept = BTreeMap<(OrganizationId, EventId, Part), Vec<(Epoch, Arc<LargePart>)>>;

/// The last few versions of each event's list.
#[derive(Debug, Default)]
pub struct ManifestCache {
    kept: Mutex<Kept>,
}

impl ManifestCache {
    /// A version, if it is kept. Of its own epoch only: another one may give the same number to another list, and
    /// this process need not be the one that began it.
    pub fn get(
        &self,
        organization_id: &OrganizationId,
        event_id: &EventId,
        part: Part,
        (epoch, version): (Epoch, u64),
    ) -> Option<Arc<LargePart>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = kept.get(&(organization_id.clone(), event_id.clone(), part))?;
        parts.iter().find(|(of, part)| *of == epoch && part.version == version).map(|(_, part)| part.clone())
    }
    /// Keeps a version; the oldest beyond eight go.
    pub fn put(
        &self,
        organization_id: &OrganizationId,
        event_id: &EventId,
        part: Part,
        epoch: Epoch,
        made: Arc<LargePart>,
    ) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = kept.entry((organization_id.clone(), event_id.clone(), part)).or_default();
        parts.retain(|(of, held)| *of != epoch || held.version != made.version);
        parts.push((epoch, made));
        let excess = parts.len().saturating_sub(KEPT);
        parts.drain(..excess);
    }
    /// Forgets everything: after a new epoch, versions may be given again.
    pub fn clear(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
