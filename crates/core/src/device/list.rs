//! The list a device decides by: verified at download and again at every start, swapped whole, never back (spec D5,
//! §5 "manifest", trust I15).

use std::collections::{BTreeMap, BTreeSet};

use crate::barcode::{BarcodeHash, hex};
use crate::event::{DoorSettings, EventRules};
use crate::gate::GateRules;
use crate::ids::{EventId, GateId, TicketId};
use crate::manifest::index::{Found, Index};
use crate::manifest::verify::{self, Content, Expected, Identity, Manifest, ManifestError, Standing};
use crate::rule::Epoch;
use crate::short_code::ShortCode;
use crate::ticket::TicketRules;
use crate::time::Timestamp;

use super::journal::ListMark;

/// The active list.
#[derive(Debug, Clone)]
pub struct List {
    /// The fields that tell this list from others.
    pub identity: Identity,
    /// The server's epoch.
    pub epoch: Epoch,
    /// Serial of the last rule change in the list.
    pub version: u64,
    /// The event's rules.
    pub event: EventRules,
    /// The event's settings for devices that are no rules.
    pub door: DoorSettings,
    /// Rules of each gate.
    pub gates: BTreeMap<GateId, GateRules>,
    /// When the server handed it out.
    pub generated_at: Timestamp,
    /// Past this its verdicts are amber.
    pub expires_at: Timestamp,
    index: Index,
}

/// The effect of a downloaded list on the device.
#[derive(Debug)]
pub enum Download {
    /// A newer one; `whole` unless it came as changes since the one before.
    Newer {
        /// The list.
        list: Box<List>,
        /// It came whole.
        whole: bool,
    },
    /// The one in use, handed out anew.
    Same {
        /// When the server handed it out.
        generated_at: Timestamp,
        /// Its new end.
        expires_at: Timestamp,
        /// It came whole.
        whole: bool,
    },
}

impl List {
    fn new(manifest: Manifest, active: Option<&List>) -> Result<Self, ManifestError> {
        let identity = manifest.identity();
        let (epoch, version) = (manifest.epoch, manifest.version);
        let (event, door, gates) = (manifest.event.clone(), manifest.door.clone(), manifest.gates.clone());
        let (generated_at, expires_at) = (manifest.generated_at, manifest.expires_at);
        let index = manifest.into_index(active.map(|list| (&list.index, list.version)))?;
        Ok(Self { identity, epoch, version, event, door, gates, generated_at, expires_at, index })
    }

    /// Reads a download. `mark` is the newest list this device ever used, which may be ahead of the active one where
    /// the cache was lost.
    pub fn download(
        body: &[u8],
        signature: &str,
        api_key: &str,
        expected: Expected<'_>,
        active: Option<&List>,
        mark: Option<&ListMark>,
    ) -> Result<Download, ManifestError> {
        let manifest = verify::read(body, Some(signature), api_key, expected)?;
        check_mark(&manifest, mark)?;
        let whole = matches!(manifest.content, Content::Full(_));
        if let Some(list) = active
            && verify::compare(&list.identity, &manifest.identity())? == Standing::Same
        {
            let (generated_at, expires_at) = (manifest.generated_at, manifest.expires_at);
            return Ok(Download::Same { generated_at, expires_at, whole });
        }
        Ok(Download::Newer { list: Box::new(Self::new(manifest, active)?), whole })
    }

    /// Reads the cache at start: the whole list, then each delta that continues it. A list that does not verify, or
    /// is older than one already used, is none. Gives the versions of the deltas taken.
    pub fn open(
        caches: &BTreeMap<String, Vec<u8>>,
        keys: &[&str],
        expected: Expected<'_>,
        mark: Option<&ListMark>,
    ) -> Result<Option<(Self, Vec<u64>)>, ManifestError> {
        let Some(body) = caches.get(&whole_key(expected.event_id)) else { return Ok(None) };
        let mut list = Self::new(read_cached(body, keys, expected)?, None)?;
        let prefix = delta_key(expected.event_id, "");
        let mut deltas: Vec<(u64, &Vec<u8>)> = caches
            .range(prefix.clone()..)
            .take_while(|(key, _)| key.starts_with(&prefix))
            .filter_map(|(key, body)| Some((key[prefix.len()..].parse().ok()?, body)))
            .collect();
        deltas.sort_unstable_by_key(|(version, _)| *version);
        let mut taken = Vec::new();
        for (version, body) in deltas {
            // A delta that does not verify or fit is left over from before the whole list: passed over.
            let Ok(manifest) = read_cached(body, keys, expected) else { continue };
            if manifest.epoch == list.epoch
                && let Ok(next) = Self::new(manifest, Some(&list))
            {
                list = next;
                taken.push(version);
            }
        }
        if let Some(mark) = mark
            && (list.epoch, list.version) < (mark.epoch, mark.version)
        {
            return Err(ManifestError::Older { incoming: list.version, active: mark.version });
        }
        Ok(Some((list, taken)))
    }

    /// A code's ticket.
    pub fn find(&self, hash: &BarcodeHash) -> Option<(TicketId, TicketRules)> {
        self.index.find(hash).and_then(owned)
    }
    /// The only ticket of which a code has this short code.
    pub fn find_short(&self, short: ShortCode) -> Option<TicketId> {
        TicketId::new(self.index.find_short(short)?.ticket_id).ok()
    }
    /// A ticket's rules.
    pub fn by_ticket(&self, ticket_id: &TicketId) -> Option<TicketRules> {
        self.index.by_ticket(ticket_id.as_str()).map(|found| found.rules.clone())
    }
    /// The other tickets of a ticket's booking, each once, in order of their first code.
    pub fn others_of_group(&self, ticket_id: &TicketId) -> Vec<TicketId> {
        let group = self.index.by_ticket(ticket_id.as_str()).and_then(|found| found.group);
        let codes = group.into_iter().flat_map(|group| self.index.codes_of_group(group));
        let mut seen = BTreeSet::from([ticket_id.as_str()]);
        codes
            .filter(|found| seen.insert(found.ticket_id))
            .filter_map(|found| TicketId::new(found.ticket_id).ok())
            .collect()
    }
    /// Codes in it.
    pub fn codes(&self) -> u64 {
        self.index.len() as u64
    }
    /// Its content hash, as the journal names it.
    pub fn content_hash(&self) -> String {
        hex(&self.identity.content_hash)
    }
}

fn owned(found: Found<'_>) -> Option<(TicketId, TicketRules)> {
    Some((TicketId::new(found.ticket_id).ok()?, found.rules.clone()))
}

/// At start the body's own signature stands alone, under the present key or the one it rotated from (spec D5).
fn read_cached(body: &[u8], keys: &[&str], expected: Expected<'_>) -> Result<Manifest, ManifestError> {
    let mut result = Err(ManifestError::BodySignature);
    for key in keys {
        result = verify::read(body, None, key, expected);
        if !matches!(result, Err(ManifestError::BodySignature)) {
            break;
        }
    }
    result
}

fn check_mark(manifest: &Manifest, mark: Option<&ListMark>) -> Result<(), ManifestError> {
    let Some(mark) = mark else { return Ok(()) };
    match (manifest.epoch, manifest.version).cmp(&(mark.epoch, mark.version)) {
        std::cmp::Ordering::Less => Err(ManifestError::Older { incoming: manifest.version, active: mark.version }),
        std::cmp::Ordering::Equal
            if mark.content_hash.as_ref().is_some_and(|hash| *hash != hex(&manifest.content_hash)) =>
        {
            Err(ManifestError::SameVersionOtherContent(mark.version))
        }
        _ => Ok(()),
    }
}

/// Cache key of an event's whole list.
pub fn whole_key(event_id: &EventId) -> String {
    format!("manifest:{event_id}")
}
/// Cache key of the changes that lead to a version.
pub fn delta_key(event_id: &EventId, version: impl std::fmt::Display) -> String {
    format!("manifest:{event_id}:{version}")
}
/// Cache key of a page of changes.
pub fn page_key(event_id: &EventId, number: impl std::fmt::Display) -> String {
    format!("changes:{event_id}:{number}")
}
