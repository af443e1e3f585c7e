//! The guests' names that a device holds, ready to be searched (spec §5 "names").

use std::collections::BTreeMap;

use crate::ids::{EventId, TicketId};
use crate::manifest::verify::Expected;
use crate::manifest::{Names, read_names};
use crate::rule::Epoch;
use crate::search::{Found, NameQuery, SearchName};
use crate::wire::manifest::GuestName;

/// The guests' names on this device, ready to be searched.
#[derive(Debug, Clone)]
pub(super) struct NameBook {
    pub event_id: EventId,
    pub names: Names,
    /// For each guest in order of name: [`SearchName::words`] and the ticket.
    sorted: Vec<(String, TicketId)>,
    /// Versions of the deltas that the cache keeps in addition to the whole set of names.
    pub deltas: Vec<u64>,
    /// The newest change of the event (epoch and serial) up to which the server has said that these names are current.
    pub checked: (Epoch, u64),
}

impl NameBook {
    pub fn new(event_id: EventId, names: Names, deltas: Vec<u64>) -> Self {
        let read = |guest: &GuestName| (SearchName::new(&guest.name), guest.ticket_id.clone());
        let mut sorted: Vec<(SearchName, TicketId)> = names.by_ticket.values().map(read).collect();
        sorted.sort_unstable_by(|(one, a), (other, b)| (&one.sort, a).cmp(&(&other.sort, b)));
        let sorted = sorted.into_iter().map(|(name, ticket_id)| (name.words, ticket_id)).collect();
        let checked = (names.epoch, names.serial);
        Self { event_id, names, sorted, deltas, checked }
    }

    /// Opens the cached names: the whole set, then each delta that continues it. A delta that does not verify is left
    /// out. `None` if there is no whole set, or if it does not verify.
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

    /// The cache keys under which these names are stored.
    pub fn keys(&self) -> Vec<String> {
        let whole = names_key(&self.event_id);
        let mut keys: Vec<String> = self.deltas.iter().map(|version| format!("{whole}:{version}")).collect();
        keys.push(whole);
        keys
    }

    /// Finds guests by a query. Guests whose name begins with the query's first word come first, then the others, each
    /// in order of name. The result has up to `most` + 1 guests, so that a caller sees that there are more.
    pub fn search(&self, text: &str, most: usize) -> Vec<&GuestName> {
        let query = NameQuery::new(text);
        if query.is_short() {
            return Vec::new();
        }
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for (words, ticket_id) in &self.sorted {
            match query.find(words) {
                Some(Found::AtBeginning) => first.push(ticket_id),
                Some(Found::Within) if others.len() <= most => others.push(ticket_id),
                _ => {}
            }
            if first.len() > most {
                break;
            }
        }
        let found = first.into_iter().chain(others).take(most + 1);
        found.filter_map(|ticket_id| self.names.by_ticket.get(ticket_id)).collect()
    }
}

/// The prefix of the cache keys of names.
pub(super) const NAMES: &str = "names:";

/// The cache key of an event's whole names part.
pub(super) fn names_key(event_id: &EventId) -> String {
    format!("{NAMES}{event_id}")
}
