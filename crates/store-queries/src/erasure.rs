//! Statements that erase guests' personal data. Facts hold no such data: a scan has a digest of the name, and the
//! ledger says which field changed but not its value.

use admit_app::error::Result;
use admit_app::ports::TxErasure;
use admit_app::records::{GuestRecord, ImportRecord};
use admit_core::ids::EventId;
use admit_core::time::Timestamp;

use crate::driver::{Driver, statements};
use crate::guests::{guest_columns, read_guest};
use crate::imports::read_import;

use crate::tx::SqlTx;
use crate::value::{Row, Value};

/// The remark that a run gets when its guest was erased.
const ERASED: &str = "the guest's personal data was erased: nothing is mailed";

statements! {
    /// Deletes the names that came with scans of guests added at a door.
    FORGET_WALK_INS = "DELETE FROM walk_in_names WHERE organization_id = $1 AND event_id = $2 AND ticket_id IN ($3)";
    /// Clears the keys by which files and orders find tickets. A key may hold a name, an address or a number.
    FORGET_KEYS = "UPDATE tickets SET import_key = NULL, order_id = NULL WHERE organization_id = $1 AND ticket_id IN ($2)";
    /// Deletes the results of steps of runs about guests.
    FORGET_STEPS = "DELETE FROM steps WHERE organization_id = $1 AND run_id IN (SELECT r.run_id FROM runs r WHERE r.organization_id = $1
        AND r.subject IN ($2))";
    /// Removes waiting runs about guests from the job queue.
    FORGET_QUEUED = "DELETE FROM job_queue WHERE organization_id = $1 AND run_id IN (SELECT r.run_id FROM runs r WHERE r.organization_id = $1
        AND r.subject IN ($2))";
    /// Ends the runs about guests, and replaces their problem texts, which may contain the address. A run that was done
    /// without a problem stays without one.
    FORGET_PROBLEMS = "UPDATE runs SET problem = CASE WHEN state = 'done' AND problem IS NULL THEN NULL ELSE $2 END, state = 'done',
        step = NULL, next_at = NULL, updated_at = $3 WHERE organization_id = $1 AND subject IN ($4)";
    /// Deletes the hashes of the newest field values from webhook rows.
    FORGET_SAID = "UPDATE webhook_rows SET said = '{}' WHERE organization_id = $1 AND endpoint_id IN (SELECT e.endpoint_id FROM webhook_endpoints e
        WHERE e.organization_id = $1 AND e.event_id = $2) AND external_id IN ($3)";
    /// Guests of an event whose personal data is not erased.
    UNERASED = concat!("SELECT ", guest_columns!(), " FROM guests g WHERE g.organization_id = $1 AND g.event_id = $2 AND g.erased_at IS NULL
        ORDER BY g.created_at, g.guest_id LIMIT $3");
    /// Events whose retention time has ended by the given moment, so that their guests must be erased.
    PAST_RETENTION = "SELECT e.event_id FROM events e WHERE e.organization_id = $1 AND e.retention_days IS NOT NULL
        AND e.ends_at + e.retention_days * 86400000 <= $2 AND EXISTS (SELECT 1 FROM guests g WHERE g.organization_id = e.organization_id
        AND g.event_id = e.event_id AND g.erased_at IS NULL) ORDER BY e.event_id";
    /// The serial of the newest erasure of a guest in an event; 0 if there was none.
    ERASED_SERIAL = "SELECT COALESCE(MAX(serial), 0) FROM guests WHERE organization_id = $1 AND event_id = $2 AND erased_at IS NOT NULL";
    /// All imports of an event, with the former values that undoing them needs.
    KEPT_IMPORTS = "SELECT import_id, event_id, serial, user_id, file_name, created, updated, imported_at, undone_at, kept FROM imports
        WHERE organization_id = $1 AND event_id = $2 ORDER BY import_id";
    /// Overwrites the former values that undoing an import needs.
    PUT_KEPT = "UPDATE imports SET kept = $4 WHERE organization_id = $1 AND event_id = $2 AND import_id = $3";
}

impl<D: Driver> TxErasure for SqlTx<'_, D> {
    fn forget_guests(&mut self, event_id: &EventId, guests: &[GuestRecord], at: Timestamp) -> Result<()> {
        let id = self.organization_id.clone();
        let tickets: Vec<Value<'_>> =
            guests.iter().filter_map(|guest| guest.ticket_id.as_ref()).map(Value::from).collect();
        let subjects: Vec<Value<'_>> = guests.iter().map(|guest| Value::from(&guest.guest_id)).collect();
        let rows: Vec<Value<'_>> =
            guests.iter().filter_map(|guest| guest.external_id.as_ref()).map(Value::from).collect();
        self.queue_each(&FORGET_WALK_INS, &[(&id).into(), event_id.into()], &tickets)?;
        self.queue_each(&FORGET_KEYS, &[(&id).into()], &tickets)?;
        self.queue_each(&FORGET_STEPS, &[(&id).into()], &subjects)?;
        self.queue_each(&FORGET_QUEUED, &[(&id).into()], &subjects)?;
        self.queue_each(&FORGET_PROBLEMS, &[(&id).into(), ERASED.into(), at.into()], &subjects)?;
        self.queue_each(&FORGET_SAID, &[(&id).into(), event_id.into()], &rows)
    }
    fn unerased_guests(&mut self, event_id: &EventId, limit: usize) -> Result<Vec<GuestRecord>> {
        let id = self.organization_id.clone();
        self.all(&UNERASED, &[(&id).into(), event_id.into(), (limit as u64).into()], read_guest)
    }
    fn events_past_retention(&mut self, now: Timestamp) -> Result<Vec<EventId>> {
        let id = self.organization_id.clone();
        self.all(&PAST_RETENTION, &[(&id).into(), now.into()], Row::parsed)
    }
    fn erased_serial(&mut self, event_id: &EventId) -> Result<u64> {
        let id = self.organization_id.clone();
        Ok(self.one(&ERASED_SERIAL, &[(&id).into(), event_id.into()], Row::count)?.unwrap_or_default())
    }
    fn imports_with_kept(&mut self, event_id: &EventId) -> Result<Vec<ImportRecord>> {
        let id = self.organization_id.clone();
        self.all(&KEPT_IMPORTS, &[(&id).into(), event_id.into()], read_import)
    }
    fn put_kept(&mut self, import: &ImportRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let values = [(&id).into(), (&import.event_id).into(), (&import.import_id).into(), (&import.kept).into()];
        self.execute(&PUT_KEPT, &values).map(|_| ())
    }
}
