//! Hints within one process: a broadcast channel per event. A lost hint makes a client notice later, never wrongly
//! (law 15).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admit_app::ports::{Hint, Hints, Topic};
use admit_core::ids::{EventId, OrganizationId};
use tokio::sync::broadcast;

/// The number of hints that a listener may fall behind. Beyond it the listener learns that it missed some.
const CAPACITY: usize = 256;

type Key = (OrganizationId, EventId);

/// An event that at least one client watches.
#[derive(Debug)]
struct Watched {
    sender: broadcast::Sender<Arc<Hint>>,
    /// The serial up to which the listeners got every change.
    told: u64,
}

/// The listeners of every watched event.
#[derive(Debug, Default)]
pub struct Hub {
    events: Mutex<BTreeMap<Key, Watched>>,
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Watched>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Subscribes to all hints of an event from now on.
    pub fn subscribe(&self, organization_id: &OrganizationId, event_id: &EventId) -> broadcast::Receiver<Arc<Hint>> {
        let mut events = self.lock();
        // Events without listeners are removed here, where the map would grow.
        events.retain(|_, event| event.sender.receiver_count() > 0);
        let key = (organization_id.clone(), event_id.clone());
        let new = || Watched { sender: broadcast::channel(CAPACITY).0, told: 0 };
        events.entry(key).or_insert_with(new).sender.subscribe()
    }
    /// The number of listeners of an event.
    pub fn watchers(&self, organization_id: &OrganizationId, event_id: &EventId) -> usize {
        let events = self.lock();
        events.get(&(organization_id.clone(), event_id.clone())).map_or(0, |event| event.sender.receiver_count())
    }
    /// Every event that has a listener.
    pub fn watched(&self) -> Vec<(OrganizationId, EventId)> {
        let events = self.lock();
        events.iter().filter(|(_, event)| event.sender.receiver_count() > 0).map(|(key, _)| key.clone()).collect()
    }
    /// Reports that an event's head is at `serial`. If the event's listeners have not got a hint with this or a higher
    /// serial, they get a hint that anything may have changed.
    pub fn stands_at(&self, organization_id: &OrganizationId, event_id: &EventId, serial: u64) {
        let told =
            self.lock().get(&(organization_id.clone(), event_id.clone())).is_none_or(|event| event.told >= serial);
        if !told {
            self.hint(anything((organization_id.clone(), event_id.clone()), Some(serial)));
        }
    }
    /// Reports that hints may have been lost. All listeners get a hint that anything may have changed.
    pub fn missed(&self) {
        for key in self.watched() {
            self.hint(anything(key, None));
        }
    }
}

/// A hint that anything may have changed. It has the topic `Rules`, because new rules may change every screen and
/// every answer.
fn anything((organization_id, event_id): Key, serial: Option<u64>) -> Hint {
    Hint { organization_id, event_id, serial, topic: Topic::Rules }
}

impl Hints for Hub {
    fn hint(&self, hint: Hint) {
        let mut events = self.lock();
        if let Some(event) = events.get_mut(&(hint.organization_id.clone(), hint.event_id.clone())) {
            // Only a hint about rules covers everything up to its serial. One write may cause several hints, each
            // about one topic, and some of those from another node may be lost.
            if let (Some(serial), Topic::Rules) = (hint.serial, &hint.topic) {
                event.told = event.told.max(serial);
            }
            // Sending fails only when nobody listens.
            let _ = event.sender.send(Arc::new(hint));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hint_reaches_those_who_watch_that_event_of_that_organisation() {
        let hub = Hub::default();
        let id = |text: &str| EventId::new(text).unwrap();
        let org = |text: &str| OrganizationId::new(text).unwrap();
        let mut mine = hub.subscribe(&org("a"), &id("e"));
        let mut foreign = hub.subscribe(&org("b"), &id("e"));
        let hint = Hint { organization_id: org("a"), event_id: id("e"), serial: Some(7), topic: Topic::Incidents };
        hub.hint(hint.clone());
        assert_eq!(*mine.try_recv().unwrap(), hint);
        assert!(foreign.try_recv().is_err());
    }

    #[tokio::test]
    async fn whoever_was_not_told_of_a_place_is_told_once() {
        let hub = Hub::default();
        let (org, event) = (OrganizationId::new("a").unwrap(), EventId::new("e").unwrap());
        let mut mine = hub.subscribe(&org, &event);
        hub.stands_at(&org, &event, 4);
        assert_eq!(mine.try_recv().unwrap().serial, Some(4));
        hub.stands_at(&org, &event, 4);
        hub.hint(Hint { serial: Some(5), topic: Topic::Devices, ..anything((org.clone(), event.clone()), None) });
        hub.stands_at(&org, &event, 5);
        assert_eq!(mine.try_recv().unwrap().topic, Topic::Devices);
        assert_eq!(mine.try_recv().unwrap().topic, Topic::Rules, "what else that write told may have been lost");
        hub.stands_at(&org, &event, 5);
        assert!(mine.try_recv().is_err(), "all of it was told");
    }

    #[test]
    fn who_left_is_forgotten() {
        let hub = Hub::default();
        for event in ["e", "f", "g"] {
            let _ = hub.subscribe(&OrganizationId::new("a").unwrap(), &EventId::new(event).unwrap());
        }
        assert_eq!(hub.events.lock().unwrap().len(), 1);
    }
}
