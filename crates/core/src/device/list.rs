//! The list by which a device decides. It is verified at download and again at every start. It is replaced as a whole,
//! and never by an older one (spec D5, §5 "manifest", trust I15).

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
    /// The event's newest rules.
    pub event: EventRules,
    /// The event's settings for devices that have no effect on decisions.
    pub door: DoorSettings,
    /// The newest rules of each gate.
    pub gates: BTreeMap<GateId, GateRules>,
    /// When the server handed the list out.
    pub generated_at: Timestamp,
    /// From this time on, verdicts by this list are amber.
    pub expires_at: Timestamp,
    index: Index,
}

/// The effect of a downloaded list on the device.
#[derive(Debug)]
pub enum Download {
    /// The downloaded list is newer than the one in use.
    Newer {
        /// The list.
        list: Box<List>,
        /// Whether the list came whole, not as the changes since the list before.
        whole: bool,
    },
    /// The downloaded list is the one in use, handed out again.
    Same {
        /// When the server handed it out.
        generated_at: Timestamp,
        /// Until when the list is valid now.
        expires_at: Timestamp,
        /// Whether it came as a whole list.
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

    /// Reads a downloaded list and compares it with the active one. Fails if it is older than `mark`, the newest list
    /// that this device ever used. Storage may have lost that list, so `mark` may be newer than `active`.
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

    /// Reads the cached list at start: the whole list, then each delta that continues it. Returns the list and the
    /// versions of the deltas taken. `None` if the cache has no list. Fails if the list does not verify, or is older
    /// than `mark`, the newest list that this device ever used.
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
            // A delta that does not verify or fit is left over from before the whole list. It is skipped.
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

    /// The ticket that holds a code, with its rules. `None` if the list has no such code.
    pub fn find(&self, hash: &BarcodeHash) -> Option<(TicketId, TicketRules)> {
        self.index.find(hash).and_then(owned)
    }
    /// The ticket that has a code with this short code. `None` if there is none, or if there are two.
    pub fn find_short(&self, short: ShortCode) -> Option<TicketId> {
        TicketId::new(self.index.find_short(short)?.ticket_id).ok()
    }
    /// A ticket's rules. `None` if the list does not have the ticket.
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
    /// Number of codes in the list.
    pub fn codes(&self) -> u64 {
        self.index.len() as u64
    }
    /// The list's content hash, in the form that the journal uses.
    pub fn content_hash(&self) -> String {
        hex(&self.identity.content_hash)
    }
}

fn owned(found: Found<'_>) -> Option<(TicketId, TicketRules)> {
    Some((TicketId::new(found.ticket_id).ok()?, found.rules.clone()))
}

/// Reads a cached list. The cache does not have its `X-Signature` header, so only the signature in the body is checked.
/// It must be under the present key or the one before the last rotation (spec D5).
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

/// The cache key of an event's whole list.
pub fn whole_key(event_id: &EventId) -> String {
    format!("manifest:{event_id}")
}
/// The cache key of the delta that leads to a version.
pub fn delta_key(event_id: &EventId, version: impl std::fmt::Display) -> String {
    format!("manifest:{event_id}:{version}")
}
/// The cache key of a page of changes.
pub fn page_key(event_id: &EventId, number: impl std::fmt::Display) -> String {
    format!("changes:{event_id}:{number}")
}
