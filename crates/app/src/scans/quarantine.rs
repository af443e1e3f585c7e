//! Finds the scans that wait for a person's review before they count (spec D10, D19). There are three kinds:
//!
//! - scans of a device that is revoked or suspended;
//! - scans signed under a key that was revoked with its device;
//! - scans of a device that was never assigned to their event.
//!
//! It does not matter which device delivers them, or when they arrive.

use std::collections::BTreeSet;

use admit_core::ids::{DeviceId, EventId, KeyId};
use admit_core::rule::{Change, DeviceChange};
use admit_core::scan::Scan;

use super::decode::Batch;
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{DeviceKeyRecord, DeviceRecord, DeviceState};

/// Which scans of a batch wait for a person if they are received now.
#[derive(Debug, Default)]
pub struct Quarantine {
    all: bool,
    authors: BTreeSet<DeviceId>,
    keys: BTreeSet<KeyId>,
}

impl Quarantine {
    /// Finds the scans of a batch of one event that wait. `carrier` is the device that sends the batch, and `carriers`
    /// are that device's keys. `carrier` is `None` for an imported file. This function does not look at the state of
    /// `carrier`: the caller withholds the whole batch of a revoked or suspended device by [`Quarantine::and_all`].
    pub fn of(
        tx: &mut dyn Tx,
        batch: &Batch,
        carrier: Option<&DeviceRecord>,
        carriers: &[DeviceKeyRecord],
    ) -> Result<Self> {
        let mut out = Self::default();
        out.withdrawn(carriers);
        let authors: BTreeSet<&DeviceId> = batch.items.iter().map(|item| &item.fact.scan.device_id).collect();
        for author in authors {
            if let Some(carrier) = carrier.filter(|carrier| carrier.device_id == *author) {
                if is_stranger(tx, carrier, &batch.event_id)? {
                    out.authors.insert(author.clone());
                }
                continue;
            }
            if let Some(device) = tx.device(author)?
                && (device.state != DeviceState::Active || is_stranger(tx, &device, &batch.event_id)?)
            {
                out.authors.insert(author.clone());
            }
            out.withdrawn(&tx.device_keys(author)?);
        }
        Ok(out)
    }
    fn withdrawn(&mut self, keys: &[DeviceKeyRecord]) {
        self.keys.extend(keys.iter().filter(|key| key.revoked_at.is_some()).map(|key| key.key_id.clone()));
    }
    /// The same quarantine, or one that holds all scans.
    pub fn and_all(self, all: bool) -> Self {
        Self { all: self.all || all, ..self }
    }
    /// Whether this scan waits.
    pub fn holds(&self, scan: &Scan) -> bool {
        self.all
            || self.authors.contains(&scan.device_id)
            || scan.key_id.as_ref().is_some_and(|key_id| self.keys.contains(key_id))
    }
}

/// Whether the device was never assigned to the event. A phone that leaves an event may upload its scans later. A phone
/// that was never there has no list of the event, and took no scan at its doors.
pub fn is_stranger(tx: &mut dyn Tx, device: &DeviceRecord, event_id: &EventId) -> Result<bool> {
    // The usual case needs no read.
    if device.event_id == *event_id {
        return Ok(false);
    }
    let was_here = |change: &Change| match change {
        Change::Device(_, DeviceChange::Assignment { event_id: there, .. }) => there == event_id,
        _ => false,
    };
    Ok(!tx.assignments(&device.device_id)?.iter().any(|rule| was_here(&rule.change)))
}
