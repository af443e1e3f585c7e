//! Hints within one process: a broadcast per event. What is lost here is only late, never wrong (law 15).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use admit_app::ports::{Hint, Hints};
use admit_core::ids::{EventId, OrganizationId};
use tokio::sync::broadcast;

/// Hints a listener may fall behind before it is told that it missed some.
const CAPACITY: usize = 256;

type Key = (OrganizationId, EventId);

/// Everybody who watches an event.
#[derive(Debug, Default)]
pub struct Hub {
    senders: Mutex<BTreeMap<Key, broadcast::Sender<Arc<Hint>>>>,
}

impl Hub {
    /// Hears every hint of an event from now on.
    pub fn subscribe(&self, organization_id: &OrganizationId, event_id: &EventId) -> broadcast::Receiver<Arc<Hint>> {
        let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody is left to hear these: forget them here, where the map would grow.
        senders.retain(|_, sender| sender.receiver_count() > 0);
        let key = (organization_id.clone(), event_id.clone());
        senders.entry(key).or_insert_with(|| broadcast::channel(CAPACITY).0).subscribe()
    }
    /// How many listen to an event now.
    pub fn watchers(&self, organization_id: &OrganizationId, event_id: &EventId) -> usize {
        let senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        senders.get(&(organization_id.clone(), event_id.clone())).map_or(0, broadcast::Sender::receiver_count)
    }
}

impl Hints for Hub {
    fn hint(&self, hint: Hint) {
        let senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = senders.get(&(hint.organization_id.clone(), hint.event_id.clone())) {
            // Fails only when nobody listens.
            let _ = sender.send(Arc::new(hint));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use admit_app::ports::Topic;

    #[tokio::test]
    async fn a_hint_reaches_those_who_watch_that_event_of_that_organisation() {
        let hub = Hub::default();
        let id = |text: &str| EventId::new(text).unwrap();
        let org = |text: &str| OrganizationId::new(text).unwrap();
        let mut mine = hub.subscribe(&org("a"), &id("e"));
        let mut theirs = hub.subscribe(&org("b"), &id("e"));
        let hint = Hint { organization_id: org("a"), event_id: id("e"), serial: Some(7), topic: Topic::Incidents };
        hub.hint(hint.clone());
        assert_eq!(*mine.try_recv().unwrap(), hint);
        assert!(theirs.try_recv().is_err());
    }

    #[test]
    fn who_left_is_forgotten() {
        let hub = Hub::default();
        for event in ["e", "f", "g"] {
            let _ = hub.subscribe(&OrganizationId::new("a").unwrap(), &EventId::new(event).unwrap());
        }
        assert_eq!(hub.senders.lock().unwrap().len(), 1);
    }
}
