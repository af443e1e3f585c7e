//! Epochs and witnesses: how a server that was rolled back is found out (spec §3 "Epoch and witness").

use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;
use admit_core::sign::{check_witness_mac, witness_mac};
use admit_core::wire::scanning::Witness;

use crate::error::Result;
use crate::ports::{App, read};
use crate::records::Head;

/// The witness of an event's head: a header of every answer to a device.
pub async fn witness(app: &App, organization_id: &OrganizationId, event_id: &EventId) -> Result<Witness> {
    let event = event_id.clone();
    let head = read(&*app.store, organization_id, move |tx| tx.head(&event)).await?;
    Ok(witness_of(app, event_id, &head))
}

/// The witness of a head already read.
pub fn witness_of(app: &App, event_id: &EventId, head: &Head) -> Witness {
    Witness {
        epoch: head.epoch,
        event_id: event_id.clone(),
        serial: head.serial,
        audit_head: head.audit_head,
        mac: witness_mac(app.secret.witness_key(), head.epoch, event_id, head.serial, &head.audit_head),
    }
}

/// Looks at the witness a device brought. One that is truly ours, and that the ledger lacks, proves that the server was
/// rolled back: a new epoch begins before anything is answered. Anything else is passed over in silence.
pub async fn check_witness(app: &App, organization_id: &OrganizationId, witness: &Witness) -> Result<()> {
    let Witness { epoch, event_id, serial, audit_head, mac } = witness.clone();
    if !check_witness_mac(app.secret.witness_key(), epoch, &event_id, serial, &audit_head, &mac) {
        return Ok(());
    }
    let current = app.store.epoch().await?;
    let event = event_id.clone();
    let is_ours = read(&*app.store, organization_id, move |tx| Ok(tx.event(&event)?.is_some())).await?;
    if !is_ours && app.store.all_events().await?.iter().any(|(_, known)| *known == event_id) {
        // A device that changed organisations brings the other one's witness: no proof of anything here.
        return Ok(());
    }
    let holds = read(&*app.store, organization_id, move |tx| {
        let Some(_) = tx.event(&event_id)? else { return Ok(false) };
        let epochs = tx.load_rules(&event_id, &[])?.book.epochs;
        if epoch != current {
            // An epoch that ended: it was judged when it ended, unless we lost that epoch altogether.
            return Ok(epoch < current || epochs.contains(epoch));
        }
        let head = tx.head(&event_id)?;
        if serial > head.serial {
            return Ok(false);
        }
        Ok(serial == 0 || tx.audit_head_at(&event_id, serial)? == Some(audit_head))
    })
    .await?;
    if !holds {
        begin_after(app, current, epoch.restored_at_ms).await?;
    }
    Ok(())
}

/// Begins a new epoch, unless another request did so first.
pub async fn begin(app: &App, seen: Epoch) -> Result<()> {
    begin_after(app, seen, seen.restored_at_ms).await
}

/// Begins a new epoch after `seen`, the store's present one, that is also later than `given_up`: a restored copy must not
/// fall behind what devices know of the database it replaces.
pub async fn begin_later(app: &App, seen: Epoch, given_up: Epoch) -> Result<()> {
    begin_after(app, seen, seen.restored_at_ms.max(given_up.restored_at_ms)).await
}

/// Also later than an epoch that devices know of and this server lost.
async fn begin_after(app: &App, seen: Epoch, known_ms: i64) -> Result<()> {
    let bytes = app.ids.random();
    let mut random = [0; 8];
    random.copy_from_slice(&bytes[..8]);
    // Epochs are ordered by their moment; a clock set back must not make a new one look older.
    let restored_at_ms = app.clock.now().ms().max(seen.restored_at_ms.max(known_ms).saturating_add(1));
    app.store.begin_epoch(seen, Epoch { restored_at_ms, random: u64::from_be_bytes(random) }).await?;
    app.manifests.clear();
    Ok(())
}
