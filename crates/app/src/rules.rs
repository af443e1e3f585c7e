//! Changes rules, by the same three steps for a ticket, a gate, the event or a device (spec §3 "Rules are facts too").
//!
//! 1. The rules are stored under the write's serial.
//! 2. The scans that they touch are judged again in the same transaction.
//! 3. After the commit a hint wakes the clients that watch the event.

use std::collections::BTreeSet;

use admit_core::ids::{EventId, OrganizationId};
use admit_core::occupancy::Occupancy;
use admit_core::rule::{Change, Effective, Rule};
use admit_core::time::Timestamp;

use crate::error::Result;
use crate::ports::{App, Hint, Topic, Tx};
use crate::records::Stamp;
use crate::scans::rejudge::{Rejudged, rejudge};
use crate::seeded_ids::SeededIds;

/// The results of a write that are announced after its commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brought {
    /// Serial of the write.
    pub serial: u64,
    /// Change in the number of persons let in.
    pub entered: i64,
    /// Whether counters changed.
    pub moved: bool,
    /// Whether incidents changed.
    pub incidents: bool,
}

impl Brought {
    /// The results of a write: the serial of its stamp, and what changed when its scans were judged again.
    pub fn of(stamp: Stamp, rejudged: &Rejudged) -> Self {
        Self {
            serial: stamp.serial,
            entered: rejudged.delta.entered,
            moved: rejudged.delta != Occupancy::default(),
            incidents: rejudged.incidents_changed,
        }
    }
}

/// The moment from which the user wants a change to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HoldsFrom {
    /// The change holds from this write on.
    #[default]
    Now,
    /// The change holds for every scan, whenever it was taken.
    Start,
}

impl HoldsFrom {
    /// The moment from which a rule of this write holds. `Now` becomes the moment that the store set for the write
    /// (`stamp`).
    pub fn effective(self, stamp: Stamp) -> Effective {
        match self {
            Self::Now => Effective::At(stamp.effective_at),
            Self::Start => Effective::Start,
        }
    }
}

/// Stores changes as rules of this write, and judges `subjects` again.
pub fn put(
    tx: &mut dyn Tx,
    event_id: &EventId,
    stamp: Stamp,
    changes: Vec<(Effective, Change)>,
    subjects: &BTreeSet<String>,
    now: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Brought> {
    let rules: Vec<Rule> = (0..)
        .zip(changes)
        .map(|(ordinal, (effective_at, change))| Rule { serial: stamp.serial, ordinal, effective_at, change })
        .collect();
    if !rules.is_empty() {
        tx.insert_rules(event_id, &rules)?;
    }
    let rejudged = rejudge(tx, event_id, subjects, stamp, now, seeded)?;
    Ok(Brought::of(stamp, &rejudged))
}

/// Every subject that has scans. A rule of the whole event or of a gate may touch any of them.
pub fn all_subjects(tx: &mut dyn Tx, event_id: &EventId) -> Result<BTreeSet<String>> {
    Ok(tx.subjects_with_scans(event_id)?.into_iter().collect())
}

/// Wakes, after the commit, the clients that watch the event. A lost hint does no harm (law 15).
pub fn announce(app: &App, organization_id: &OrganizationId, event_id: &EventId, brought: &Brought) {
    let say = |topic| {
        let (organization_id, event_id) = (organization_id.clone(), event_id.clone());
        app.hints.hint(Hint { organization_id, event_id, serial: Some(brought.serial), topic });
    };
    say(Topic::Rules);
    if brought.moved {
        let moved = serde_json::json!({ "event": "rejudged", "entered": brought.entered });
        say(Topic::Occupancy(moved.to_string()));
    }
    if brought.incidents {
        say(Topic::Incidents);
    }
}
