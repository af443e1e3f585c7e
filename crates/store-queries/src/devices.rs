//! Statements about devices, their keys, and pairing tokens.

use std::collections::{BTreeMap, BTreeSet};

use admit_app::error::{Error, Result};
use admit_app::ports::TxDevices;
use admit_app::records::{
    CredentialKind, CredentialRecord, DeviceHealth, DeviceKeyRecord, DeviceRecord, DeviceState, PairingTokenRecord,
    WaitingScan,
};
use admit_core::fraud::Arrivals;
use admit_core::ids::{DeviceId, EventId, KeyId, ScanId};
use admit_core::scan::Digest;
use admit_core::time::Timestamp;

use crate::block_index::Key;
use crate::blocks::Located;
use crate::driver::{Driver, bulks, statements};
use crate::tx::SqlTx;
use crate::value::Row;

macro_rules! device_columns {
    () => {
        "device_id, name, device_type, event_id, gate_id, state, revoked_at, lost_since, created_at, last_seen_at, last_sync_at, \
         pending, battery, app_version, manifest_version, clock_offset_ms, failed_syncs, arrived_since, \
         arrived, arrived_failed, figures_id, code_reused_at, rung_at"
    };
}
macro_rules! key_columns {
    () => {
        "key_id, device_id, token_hash, sealed_scan_key, created_at, first_used_at, revoked_at, replaced_at, paired_by"
    };
}

statements! {
    /// Makes a device.
    INSERT_DEVICE = "INSERT INTO devices (organization_id, device_id, name, device_type, event_id, gate_id, state, revoked_at,
        lost_since, created_at, pending, app_version, manifest_version, failed_syncs, code_reused_at, rung_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, '', 0, 0, $11, $12)";
    /// Overwrites a device's row except its health, which the heartbeat writes.
    UPDATE_DEVICE = "UPDATE devices SET name = $3, device_type = $4, event_id = $5, gate_id = $6, state = $7, revoked_at = $8,
        lost_since = $9, code_reused_at = $10, rung_at = $11 WHERE organization_id = $1 AND device_id = $2";
    /// Overwrites a device's health: what its newest heartbeat said.
    PUT_HEALTH = "UPDATE devices SET last_seen_at = $3, last_sync_at = $4, pending = $5, battery = $6, app_version = $7,
        manifest_version = $8, clock_offset_ms = $9, failed_syncs = $10, arrived_since = $11, arrived = $12,
        arrived_failed = $13, figures_id = $14 WHERE organization_id = $1 AND device_id = $2";
    /// Devices by id, locked until the end of the transaction. Writes of several events may concern one device, its
    /// keys and its logs at once, and the lock of an event's head does not separate them.
    DEVICE = concat!("SELECT ", device_columns!(), " FROM devices WHERE organization_id = $1 AND device_id IN ($2)"),
        postgres = concat!("SELECT ", device_columns!(), " FROM devices WHERE organization_id = $1 AND device_id IN ($2)
        ORDER BY device_id FOR UPDATE"), by 0 of ["devices"];
    /// Devices by id, read on a snapshot without a lock.
    READ_DEVICE = concat!("SELECT ", device_columns!(), " FROM devices WHERE organization_id = $1 AND device_id IN ($2)"), by 0 of ["devices"];
    /// Devices assigned to an event, and devices that are assigned to another event now and have a log of this one;
    /// oldest first.
    DEVICES = concat!("SELECT ", device_columns!(), " FROM devices WHERE organization_id = $1 AND (event_id = $2
        OR device_id IN (SELECT device_id FROM logs WHERE organization_id = $1 AND event_id = $2)) ORDER BY created_at, device_id");
    /// Makes a key.
    INSERT_KEY = "INSERT INTO device_keys (organization_id, key_id, device_id, token_hash, sealed_scan_key, created_at, first_used_at,
        revoked_at, replaced_at, paired_by) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    /// Overwrites the times of a key: first use, revocation, replacement.
    UPDATE_KEY = "UPDATE device_keys SET first_used_at = $3, revoked_at = $4, replaced_at = $5 WHERE organization_id = $1 AND key_id = $2";
    /// Keys of a device, oldest first, locked until the end of the transaction.
    KEYS = concat!("SELECT ", key_columns!(), " FROM device_keys WHERE organization_id = $1 AND device_id IN ($2) ORDER BY created_at, key_id"),
        postgres = concat!("SELECT ", key_columns!(), " FROM device_keys WHERE organization_id = $1 AND device_id IN ($2)
        ORDER BY device_id, created_at, key_id FOR UPDATE"), by 1 of [];
    /// Keys of devices, oldest first, read on a snapshot without a lock.
    READ_KEYS = concat!("SELECT ", key_columns!(), " FROM device_keys WHERE organization_id = $1 AND device_id IN ($2)
        ORDER BY created_at, key_id"), by 1 of [];
    /// One key.
    KEY = concat!("SELECT ", key_columns!(), " FROM device_keys WHERE organization_id = $1 AND key_id IN ($2)"), by 0 of [];
    /// Makes a pairing token.
    INSERT_PAIRING_TOKEN = "INSERT INTO pairing_tokens (organization_id, token_hash, event_id, gate_id, device_id, uses, used_by,
        expires_at, created_at, claim_hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    /// A pairing token, locked until the end of the transaction.
    PAIRING_TOKEN = "SELECT token_hash, event_id, gate_id, device_id, uses, used_by, expires_at, created_at, claim_hash FROM pairing_tokens
        WHERE organization_id = $1 AND token_hash = $2",
        postgres = "SELECT token_hash, event_id, gate_id, device_id, uses, used_by, expires_at, created_at, claim_hash FROM pairing_tokens
        WHERE organization_id = $1 AND token_hash = $2 FOR UPDATE";
    /// A pairing token, read on a snapshot without a lock.
    READ_PAIRING_TOKEN = "SELECT token_hash, event_id, gate_id, device_id, uses, used_by, expires_at, created_at, claim_hash FROM pairing_tokens
        WHERE organization_id = $1 AND token_hash = $2";
    /// Scans of a device in an event that wait for a person's decision.
    WAITING = "SELECT scan_id, digest, subject FROM waiting WHERE organization_id = $1 AND device_id = $2 AND event_id = $3";
    /// The number of scans of each device that wait for a person's decision.
    COUNT_WAITING = "SELECT device_id, COUNT(*) FROM waiting WHERE organization_id = $1 GROUP BY device_id";
    /// Overwrites a pairing token's number of uses, the devices that used it, when it expires, and the device it is
    /// bound to.
    UPDATE_PAIRING_TOKEN = "UPDATE pairing_tokens SET uses = $3, used_by = $4, expires_at = $5, device_id = $6
        WHERE organization_id = $1 AND token_hash = $2";
}

bulks! {
    /// Sets the time at which each of several devices last contacted the server.
    NOTE_SEEN = "devices" { organization_id: Text, device_id: Text, last_seen_at: Int } found by 2;
}

fn read_device(row: &mut Row) -> Result<DeviceRecord> {
    let (device_id, name, device_type) = (row.parsed()?, row.text()?, row.text()?);
    let (event_id, gate_id) = (row.parsed()?, row.parsed()?);
    let state = row.text()?;
    let state = DeviceState::parse(&state).ok_or_else(|| Error::Bug(format!("unknown state of a device: {state}")))?;
    let (revoked_at, lost_since, created_at) = (row.option(Row::at)?, row.option(Row::at)?, row.at()?);
    let health = DeviceHealth {
        last_seen_at: row.option(Row::at)?,
        last_sync_at: row.option(Row::at)?,
        pending: row.count()?,
        battery: row.option(Row::count)?,
        app_version: row.text()?,
        manifest_version: row.count()?,
        clock_offset_ms: row.option(Row::int)?,
        failed_syncs: row.count()?,
        arrivals: Arrivals { since: row.option(Row::at)?, scans: row.count()?, failed: row.count()? },
        figures_id: row.option(Row::int)?,
    };
    Ok(DeviceRecord {
        device_id,
        name,
        device_type,
        event_id,
        gate_id,
        state,
        revoked_at,
        lost_since,
        created_at,
        code_reused_at: row.option(Row::at)?,
        rung_at: row.option(Row::at)?,
        health,
    })
}
fn read_key(row: &mut Row) -> Result<DeviceKeyRecord> {
    Ok(DeviceKeyRecord {
        key_id: row.parsed()?,
        device_id: row.parsed()?,
        token_hash: row.hash()?,
        sealed_scan_key: row.blob()?,
        created_at: row.at()?,
        first_used_at: row.option(Row::at)?,
        revoked_at: row.option(Row::at)?,
        replaced_at: row.option(Row::at)?,
        paired_by: row.option(Row::hash)?,
    })
}
fn read_pairing_token(row: &mut Row) -> Result<PairingTokenRecord> {
    Ok(PairingTokenRecord {
        token_hash: row.hash()?,
        event_id: row.parsed()?,
        gate_id: row.parsed()?,
        device_id: row.option(Row::parsed)?,
        uses: row.count()?,
        used_by: row.json("used_by")?,
        expires_at: row.at()?,
        created_at: row.at()?,
        claim_hash: row.option(Row::hash)?,
    })
}
fn used_by_text(token: &PairingTokenRecord) -> String {
    admit_core::wire::stored::to_text(&token.used_by)
}

impl<D: Driver> TxDevices for SqlTx<'_, D> {
    fn insert_device(&mut self, device: &DeviceRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&device.device_id).into(),
            (&device.name).into(),
            (&device.device_type).into(),
            (&device.event_id).into(),
            (&device.gate_id).into(),
            device.state.as_str().into(),
            device.revoked_at.into(),
            device.lost_since.into(),
            device.created_at.into(),
            device.code_reused_at.into(),
            device.rung_at.into(),
        ];
        self.execute(&INSERT_DEVICE, &values)?;
        self.put_health(&device.device_id, &device.health)
    }
    fn update_device(&mut self, device: &DeviceRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&device.device_id).into(),
            (&device.name).into(),
            (&device.device_type).into(),
            (&device.event_id).into(),
            (&device.gate_id).into(),
            device.state.as_str().into(),
            device.revoked_at.into(),
            device.lost_since.into(),
            device.code_reused_at.into(),
            device.rung_at.into(),
        ];
        let changed = self.execute(&UPDATE_DEVICE, &values)?;
        if changed == 1 { Ok(()) } else { Err(Error::NotFound { what: "device" }) }
    }
    fn put_health(&mut self, device_id: &DeviceId, health: &DeviceHealth) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            device_id.into(),
            health.last_seen_at.into(),
            health.last_sync_at.into(),
            health.pending.into(),
            health.battery.into(),
            (&health.app_version).into(),
            health.manifest_version.into(),
            health.clock_offset_ms.into(),
            health.failed_syncs.into(),
            health.arrivals.since.into(),
            health.arrivals.scans.into(),
            health.arrivals.failed.into(),
            health.figures_id.into(),
        ];
        let changed = self.execute(&PUT_HEALTH, &values)?;
        if changed == 1 { Ok(()) } else { Err(Error::NotFound { what: "device" }) }
    }
    fn note_seen(&mut self, device_id: &DeviceId, at: Timestamp) -> Result<()> {
        let id = self.organization_id.clone();
        self.queue_many(&NOTE_SEEN, &[(&id).into(), device_id.into(), at.into()])
    }
    fn device(&mut self, device_id: &DeviceId) -> Result<Option<DeviceRecord>> {
        let id = self.organization_id.clone();
        let stmt = if self.writes() { &DEVICE } else { &READ_DEVICE };
        self.one_of(stmt, &[(&id).into()], device_id.into(), read_device)
    }
    fn devices(&mut self, event_id: &EventId) -> Result<Vec<DeviceRecord>> {
        let id = self.organization_id.clone();
        self.all(&DEVICES, &[(&id).into(), event_id.into()], read_device)
    }
    fn insert_device_key(&mut self, key: &DeviceKeyRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&key.key_id).into(),
            (&key.device_id).into(),
            (&key.token_hash).into(),
            key.sealed_scan_key.as_slice().into(),
            key.created_at.into(),
            key.first_used_at.into(),
            key.revoked_at.into(),
            key.replaced_at.into(),
            key.paired_by.as_ref().into(),
        ];
        self.execute(&INSERT_KEY, &values)?;
        self.put_credential(&CredentialRecord {
            token_hash: key.token_hash,
            organization_id: id.clone(),
            kind: CredentialKind::DeviceKey,
            holder: key.device_id.to_string(),
            expires_at: None,
            created_at: key.created_at,
        })
    }
    fn update_device_key(&mut self, key: &DeviceKeyRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let (used, revoked, replaced) = (key.first_used_at, key.revoked_at, key.replaced_at);
        let values = [(&id).into(), (&key.key_id).into(), used.into(), revoked.into(), replaced.into()];
        let changed = self.execute(&UPDATE_KEY, &values)?;
        if changed == 1 { Ok(()) } else { Err(Error::NotFound { what: "device key" }) }
    }
    fn device_keys(&mut self, device_id: &DeviceId) -> Result<Vec<DeviceKeyRecord>> {
        let id = self.organization_id.clone();
        let stmt = if self.writes() { &KEYS } else { &READ_KEYS };
        self.each(stmt, &[(&id).into()], &[device_id.into()], read_key)
    }
    fn device_key(&mut self, key_id: &KeyId) -> Result<Option<DeviceKeyRecord>> {
        let id = self.organization_id.clone();
        self.one_of(&KEY, &[(&id).into()], key_id.into(), read_key)
    }
    fn insert_pairing_token(&mut self, token: &PairingTokenRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&token.token_hash).into(),
            (&token.event_id).into(),
            (&token.gate_id).into(),
            token.device_id.as_ref().into(),
            token.uses.into(),
            used_by_text(token).into(),
            token.expires_at.into(),
            token.created_at.into(),
            token.claim_hash.as_ref().into(),
        ];
        self.execute(&INSERT_PAIRING_TOKEN, &values)?;
        self.put_credential(&CredentialRecord {
            token_hash: token.token_hash,
            organization_id: id.clone(),
            kind: CredentialKind::PairingToken,
            holder: token.event_id.to_string(),
            expires_at: Some(token.expires_at),
            created_at: token.created_at,
        })
    }
    fn pairing_token(&mut self, token_hash: &[u8; 32]) -> Result<Option<PairingTokenRecord>> {
        let id = self.organization_id.clone();
        let stmt = if self.writes() { &PAIRING_TOKEN } else { &READ_PAIRING_TOKEN };
        self.one(stmt, &[(&id).into(), token_hash.into()], read_pairing_token)
    }
    fn update_pairing_token(&mut self, token: &PairingTokenRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            (&token.token_hash).into(),
            token.uses.into(),
            used_by_text(token).into(),
            token.expires_at.into(),
            token.device_id.as_ref().into(),
        ];
        let changed = self.execute(&UPDATE_PAIRING_TOKEN, &values)?;
        if changed == 1 { Ok(()) } else { Err(Error::NotFound { what: "pairing token" }) }
    }
    fn waiting_scans(&mut self, event_id: &EventId, device_id: &DeviceId) -> Result<Vec<WaitingScan>> {
        let id = self.organization_id.clone();
        let waiting = self.all(&WAITING, &[(&id).into(), device_id.into(), event_id.into()], |row| {
            Ok(WaitingScan { scan_id: row.parsed()?, digest: Digest(row.hash()?), subject_key: row.text()? })
        })?;
        let mut left: BTreeMap<(ScanId, Digest), WaitingScan> =
            waiting.into_iter().map(|one| ((one.scan_id.clone(), one.digest), one)).collect();
        let ids: BTreeSet<ScanId> = left.keys().map(|(scan_id, _)| scan_id.clone()).collect();
        let by_arrival = self.find_scans(event_id, ids.iter().map(Key::Id), |scan| scan.device_id == *device_id)?;
        let waits = |(_, kept): Located| left.remove(&(kept.fact.scan.scan_id, kept.fact.digest));
        Ok(by_arrival.into_iter().filter_map(waits).collect())
    }
    fn count_waiting(&mut self) -> Result<BTreeMap<DeviceId, u64>> {
        let id = self.organization_id.clone();
        let counts = self.all(&COUNT_WAITING, &[(&id).into()], |row| Ok((row.parsed()?, row.count()?)))?;
        Ok(counts.into_iter().collect())
    }
}
