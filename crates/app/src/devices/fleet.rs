//! How all devices of live events are, for metrics: counts over every organisation, nobody's name (S1 §10.2, S2 §11).

use std::collections::BTreeMap;

use admit_core::event::EventStatus;
use admit_core::limits::PAGE_MAX;
use admit_core::time::Timestamp;

use crate::error::Result;
use crate::ports::{App, read};
use crate::records::*;

/// A device that was heard within this many milliseconds is online: it speaks every 30 s.
const ONLINE_MS: i64 = 120_000;
/// Versions of the app that are told apart; the rest counts as `other`. A device may send any text.
const VERSIONS: usize = 8;

/// The devices of all live events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fleet {
    /// How many there are in each state and version of the app.
    pub devices: BTreeMap<(Presence, String), u64>,
    /// Scans that no receipt names yet, of all of them, as they said last.
    pub pending: u64,
    /// The most of one device.
    pub pending_most: u64,
}

/// How a device that is not revoked stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Presence {
    /// Heard within two minutes.
    Online,
    /// Not heard for longer.
    Silent,
    /// Its uploads are held, heard or not (spec D19).
    Suspended,
}

impl Presence {
    /// Its word in metrics.
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

/// Reads the devices of every live event, an organisation at a time.
pub async fn fleet(app: &App) -> Result<Fleet> {
    let mut all = Vec::new();
    for organization_id in app.store.organizations().await? {
        let devices = read(&*app.store, &organization_id, |tx| {
            let (mut devices, mut page) = (Vec::new(), Page { limit: PAGE_MAX, cursor: None });
            loop {
                let listed = tx.events(&page)?;
                for event in listed.items.iter().filter(|event| event.status == EventStatus::Live) {
                    // A device that went on to another event is told there.
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

/// Whether a text may be a label: digits and dots, as in `0.1.0`.
fn is_version(text: &str) -> bool {
    (1..=16).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
