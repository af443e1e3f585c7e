//! The guests' names that a device holds, ready to be searched (spec §5 "names").

use std::collections::BTreeMap;

use crate::fold::fold;
use crate::ids::{EventId, TicketId};
use crate::limits;
use crate::manifest::verify::Expected;
use crate::manifest::{Names, read_names};
use crate::rule::Epoch;
use crate::wire::manifest::GuestName;

/// The names a device holds, ready to be searched.
#[derive(Debug, Clone)]
pub(super) struct NameBook {
    pub event_id: EventId,
    pub names: Names,
    /// Folded name and ticket, in order of name.
    folded: Vec<(String, TicketId)>,
    /// Versions of the deltas kept in the cache over the whole part.
    pub deltas: Vec<u64>,
    /// Up to which of the event's changes the server said that these are the newest.
    pub checked: (Epoch, u64),
}

impl NameBook {
    pub fn new(event_id: EventId, names: Names, deltas: Vec<u64>) -> Self {
        let mut folded: Vec<(String, TicketId)> =
            names.by_ticket.values().map(|guest| (fold(&guest.name), guest.ticket_id.clone())).collect();
        folded.sort_unstable();
        let checked = (names.epoch, names.serial);
        Self { event_id, names, folded, deltas, checked }
    }

    /// Opens what the cache holds: the whole part, then each delta that continues it. What does not verify is none.
    pub fn open(caches: &BTreeMap<String, Vec<u8>>, keys: &[&str], expected: Expected<'_>) -> Option<Self> {
        let read = |body: &[u8], active: Option<&Names>| {
            keys.iter().find_map(|key| read_names(body, None, key, expected, active).ok())
        };
        let whole = names_key(expected.event_id);
        let mut names = read(caches.get(&whole)?, None)?;
        let prefix = format!("{whole}:");
        let mut deltas: Vec<(u64, &Vec<u8>)> = caches
            .range(prefix.clone()..)
            .take_while(|(key, _)| key.starts_with(&prefix))
            .filter_map(|(key, body)| Some((key[prefix.len()..].parse().ok()?, body)))
            .collect();
        deltas.sort_unstable_by_key(|(version, _)| *version);
        let mut taken = Vec::new();
        for (version, body) in deltas {
            if let Some(next) = read(body, Some(&names)) {
                names = next;
                taken.push(version);
            }
        }
        Some(Self::new(expected.event_id.clone(), names, taken))
    }

    /// Where the cache holds it.
    pub fn keys(&self) -> Vec<String> {
        let whole = names_key(&self.event_id);
        let mut keys: Vec<String> = self.deltas.iter().map(|version| format!("{whole}:{version}")).collect();
        keys.push(whole);
        keys
    }

    /// Guests whose names hold every word of the query, those that begin with it first; one more than asked for tells
    /// that there are more.
    pub fn search(&self, text: &str, most: usize) -> Vec<&GuestName> {
        let query = fold(text);
        let words: Vec<&str> = query.split(' ').filter(|word| !word.is_empty()).collect();
        if query.chars().count() < limits::SEARCH_CHARS {
            return Vec::new();
        }
        let begins = self.folded.partition_point(|(name, _)| name.as_str() < query.as_str());
        let first = self.folded[begins..].iter().take_while(|(name, _)| name.starts_with(&query));
        let holds = |name: &str| !name.starts_with(&query) && words.iter().all(|word| name.contains(word));
        let rest = self.folded.iter().filter(|(name, _)| holds(name));
        first.chain(rest).take(most + 1).filter_map(|(_, ticket_id)| self.names.by_ticket.get(ticket_id)).collect()
    }
}

/// What cache keys of names begin with.
pub(super) const NAMES: &str = "names:";

/// Cache key of an event's names.
pub(super) fn names_key(event_id: &EventId) -> String {
    format!("{NAMES}{event_id}")
}
