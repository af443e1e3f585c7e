//! Whose scans wait for a person before they count (spec D10, D19): those of a device that is revoked or suspended, and
//! those signed under a key that was withdrawn with its device, whoever carries them and whenever they come.

use std::collections::BTreeSet;

use admit_core::ids::{DeviceId, KeyId};
use admit_core::scan::Scan;

use super::decode::Batch;
use crate::error::Result;
use crate::ports::Tx;
use crate::records::{DeviceKeyRecord, DeviceState};

/// What of a batch waits when it is first received now.
#[derive(Debug, Default)]
pub struct Waits {
    all: bool,
    authors: BTreeSet<DeviceId>,
    keys: BTreeSet<KeyId>,
}

impl Waits {
    /// Of a batch that `carrier` brings, whose keys are these; what the carrier itself may do is judged elsewhere.
    pub fn of(tx: &mut dyn Tx, batch: &Batch, carrier: &DeviceId, carriers: &[DeviceKeyRecord]) -> Result<Self> {
        let mut out = Self::default();
        out.withdrawn(carriers);
        let authors: BTreeSet<&DeviceId> = batch.items.iter().map(|item| &item.fact.scan.device_id).collect();
        for author in authors.into_iter().filter(|author| *author != carrier) {
            if tx.device(author)?.is_some_and(|device| device.state != DeviceState::Active) {
                out.authors.insert(author.clone());
            }
            out.withdrawn(&tx.device_keys(author)?);
        }
        Ok(out)
    }
    fn withdrawn(&mut self, keys: &[DeviceKeyRecord]) {
        self.keys.extend(keys.iter().filter(|key| key.revoked_at.is_some()).map(|key| key.key_id.clone()));
    }
    /// The same, or all of it.
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
