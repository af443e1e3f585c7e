//! Lists the devices of an event, each with the scans of its logs that the server has not received (spec §3 "Log").

use admit_core::access::Action;
use admit_core::ids::EventId;

use crate::caller::UserCaller;
use crate::error::Result;
use crate::events;
use crate::ports::{App, Tx, read};
use crate::records::{DeviceRecord, LogRecord};
use crate::scans::log::{count_missing, missing};

/// A device with its logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The device.
    pub device: DeviceRecord,
    /// The device's logs, with closed ones.
    pub logs: Vec<LogListing>,
    /// Number of the device's scans, in any event, that count nothing until a person accepts them.
    pub waiting: u64,
}

/// A log with its missing scans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogListing {
    /// The log.
    pub log: LogRecord,
    /// The `seq` numbers that were not received, as ascending ranges `[from, to]`.
    pub missing: Vec<(u64, u64)>,
    /// Number of missing scans.
    pub missing_count: u64,
}

/// All devices of an event, oldest first.
pub async fn list(app: &App, caller: &UserCaller, event_id: EventId) -> Result<Vec<Listing>> {
    caller.must(Action::ReadScans)?;
    read(&*app.store, &caller.organization_id, move |tx| {
        events::require(tx, &event_id)?;
        let logs = tx.logs(&event_id)?;
        let devices = tx.devices(&event_id)?;
        let of = |device: &DeviceRecord| {
            logs.iter().filter(|log| log.device_id == device.device_id).cloned().map(listed).collect()
        };
        let waiting = tx.count_waiting()?;
        let waiting = |device: &DeviceRecord| waiting.get(&device.device_id).copied().unwrap_or(0);
        Ok(devices.into_iter().map(|device| Listing { logs: of(&device), waiting: waiting(&device), device }).collect())
    })
    .await
}

/// One device, as the list shows it.
pub(super) fn one(tx: &mut dyn Tx, device: DeviceRecord) -> Result<Listing> {
    let logs = tx.logs(&device.event_id)?.into_iter().filter(|log| log.device_id == device.device_id).map(listed);
    let logs = logs.collect();
    let waiting = tx.count_waiting()?.get(&device.device_id).copied().unwrap_or(0);
    Ok(Listing { device, logs, waiting })
}

fn listed(log: LogRecord) -> LogListing {
    LogListing { missing: missing(&log), missing_count: count_missing(&log), log }
}
