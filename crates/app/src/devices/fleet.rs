//! Counts the devices of all live events for metrics, over every organisation and without names (S1 §10.2, S2 §11).

use std::collections::BTreeMap;

use admit_core::event::EventStatus;
use admit_core::limits::PAGE_MAX;
use admit_core::time::Timestamp;

use crate::error::Result;
use crate::ports::{App, read};
use crate::records::{DeviceRecord, DeviceState, Page};

/// A device counts as online if it was heard within this time, in milliseconds. A device sends a heartbeat every 30 s.
const ONLINE_MS: i64 = 120_000;
/// Most versions of the app that are counted separately. The rest counts as `other`, since a device may send any text.
const VERSIONS: usize = 8;

/// The devices of all live events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fleet {
    /// Numbers of devices, by state and version of the app.
    pub devices: BTreeMap<(Presence, String), u64>,
    /// Number of scans that no receipt names yet, over all devices, as they last reported.
    pub pending: u64,
    /// The largest such number of one device.
    pub pending_most: u64,
}

/// Whether a device that is not revoked is reachable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// The device was heard within two minutes.
    Online,
    /// The device was not heard for longer.
    Silent,
    /// The device's uploads are held, whether it is heard or not (spec D19).
    Suspended,
}

impl Presence {
    /// The word for this state in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Silent => "silent",
            Self::Suspended => "suspended",
        }
    }
    fn of(device: &DeviceRecord, now: Timestamp) -> Self {
        let heard = device.health.last_seen_at.is_some_and(|at| now.since(at) <= ONLINE_MS);
        match device.state {
            DeviceState::Suspended => Self::Suspended,
            _ if heard => Self::Online,
            _ => Self::Silent,
        }
    }
}

/// Reads the devices of every live event, one organisation after the other.
pub async fn fleet(app: &App) -> Result<Fleet> {
    let mut all = Vec::new();
    for organization_id in app.store.organizations().await? {
        let devices = read(&*app.store, &organization_id, |tx| {
            let (mut devices, mut page) = (Vec::new(), Page { limit: PAGE_MAX, cursor: None });
            loop {
                let listed = tx.events(&page)?;
                for event in listed.items.iter().filter(|event| event.status == EventStatus::Live) {
                    // A device that was assigned to another event is counted there.
                    let here = tx.devices(&event.event_id)?;
                    devices.extend(here.into_iter().filter(|device| device.event_id == event.event_id));
                }
                page.cursor = listed.next_cursor;
                if page.cursor.is_none() {
                    return Ok(devices);
                }
            }
        })
        .await?;
        all.extend(devices);
    }
    Ok(summary(&all, app.clock.now()))
}

fn summary(devices: &[DeviceRecord], now: Timestamp) -> Fleet {
    let mut fleet = Fleet::default();
    let active: Vec<_> = devices.iter().filter(|device| device.state != DeviceState::Revoked).collect();
    let mut versions: BTreeMap<&str, u64> = BTreeMap::new();
    for device in &active {
        *versions.entry(&device.health.app_version).or_default() += 1;
    }
    let mut known: Vec<(&str, u64)> = versions.into_iter().filter(|(version, _)| is_version(version)).collect();
    known.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    known.truncate(VERSIONS);
    for device in active {
        let version = device.health.app_version.as_str();
        let version = if known.iter().any(|(one, _)| *one == version) { version } else { "other" };
        *fleet.devices.entry((Presence::of(device, now), version.to_owned())).or_default() += 1;
        fleet.pending += device.health.pending;
        fleet.pending_most = fleet.pending_most.max(device.health.pending);
    }
    fleet
}

/// Whether a text may be a metrics label: digits and dots, as in `0.1.0`.
fn is_version(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
