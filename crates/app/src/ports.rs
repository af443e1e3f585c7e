//! The ports: what the use cases need from outside. They are a store, clocks, ids and hints.
//!
//! A transaction (`Tx`) is plain, synchronous Rust: the embedded store runs it on its writer thread, PostgreSQL's on a
//! lane thread, the simulator in place. So a use case cannot hold a lock across an await, and one seed is one schedule
//! (docs/decisions.md, "Transactions are synchronous").

use std::sync::{Arc, Mutex, PoisonError};

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{DeviceId, EventId, OrganizationId, ScanId};
use admit_core::time::Timestamp;
use futures_util::future::BoxFuture;

use crate::error::{Error, Result};
use crate::records::*;

mod outside;
mod filters;
mod tx;
pub use filters::*;
pub use outside::*;
pub use tx::*;

/// Target of the spans that a collector gets, of every crate: the log on standard error leaves them out. Their fields hold
/// ids of organisations and events at most, nothing of devices, tickets or guests.
pub const TRACES: &str = "admit::trace";

/// The server's clock.
pub trait Clock: Send + Sync {
    /// The present time.
    fn now(&self) -> Timestamp;
    /// A monotonic reading in milliseconds, for durations only.
    fn monotonic_ms(&self) -> i64;
}

/// Randomness: ids, keys, tokens. Drawn before a transaction begins, so that it may run again (law 6).
pub trait Ids: Send + Sync {
    /// 32 fresh random bytes.
    fn random(&self) -> [u8; 32];
}

/// After a commit: wakes the clients that watch. A hint may be lost without harm (law 15).
pub trait Hints: Send + Sync {
    /// Something of this event changed.
    fn hint(&self, hint: Hint);
}

/// A hint that something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The organisation of the change.
    pub organization_id: OrganizationId,
    /// The event of the change.
    pub event_id: EventId,
    /// Serial it changed at, if it is part of the event's order.
    pub serial: Option<u64>,
    /// The kind of data that changed.
    pub topic: Topic,
}

/// Topics of the live stream (spec §5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// A batch was stored: its id, status and counts as JSON (S2 §4).
    Batch(String),
    /// Counters changed; the JSON of S2's `occupancy` message, without totals.
    Occupancy(String),
    /// Incidents changed.
    Incidents,
    /// A device changed or was heard.
    Devices,
    /// Rules changed.
    Rules,
}

/// Which organisation and events a write is about: the store takes the events' heads, in order of id, before the
/// operation runs (architecture §4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The organisation that the operation is for.
    pub organization_id: OrganizationId,
    /// Events whose heads are taken; none for administration.
    pub events: Vec<EventId>,
    /// When it has its turn.
    pub pace: Pace,
    /// The keys that the operation will look at, as far as they are known.
    pub prefetch: Prefetch,
}

/// Keys that the store may prefetch for an operation, as far as they are known before its turn. Where a round trip is
/// dear, the store looks up the keys of all waiting operations together. This affects speed only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefetch {
    /// Devices, with their keys.
    pub devices: Vec<DeviceId>,
    /// Where devices were told to scan.
    pub assignments: Vec<DeviceId>,
    /// Scan ids whose stored rows it will read.
    pub scans: Vec<ScanId>,
    /// Codes of the scope's event, their tickets' rules and states.
    pub codes: Vec<BarcodeHash>,
}

/// The order of the writes that wait. Writes for people at a door come before those that nobody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// Before all others: somebody stands before a closed door.
    Urgent,
    /// In the order of coming.
    #[default]
    Usual,
    /// After the others, and few at a time, so that none of the others waits for long: steps of runs.
    Patient,
}

impl Scope {
    /// Administration of an organisation: no event's head.
    pub fn organization(organization_id: &OrganizationId) -> Self {
        Self {
            organization_id: organization_id.clone(),
            events: Vec::new(),
            pace: Pace::Usual,
            prefetch: Prefetch::default(),
        }
    }
    /// One event.
    pub fn event(organization_id: &OrganizationId, event_id: &EventId) -> Self {
        Self { events: vec![event_id.clone()], ..Self::organization(organization_id) }
    }
}

/// An operation inside a transaction. May run more than once; whatever it decides must come from its captures and the
/// transaction.
pub type WriteOp = Box<dyn FnMut(&mut dyn Tx) -> Result<()> + Send>;
/// An operation on one consistent snapshot.
pub type ReadOp = Box<dyn FnOnce(&mut dyn Tx) -> Result<()> + Send>;

/// A user, and the organisations they belong to, oldest membership first.
pub type SignIn = (UserRecord, Vec<OrganizationId>);

/// The store. Begin, savepoint, commit and retry are its own; a use case never commits (law 6).
pub trait Store: Send + Sync {
    /// Runs the operation in a durable transaction; several waiting operations may share one commit. Resolves after the
    /// commit. On an unknown outcome (an I/O error at commit) it answers [`Error::Later`] and the store stops.
    fn write_op(&self, scope: Scope, op: WriteOp) -> BoxFuture<'static, Result<()>>;
    /// Runs the operation on a read snapshot, scoped to the organisation.
    fn read_op(&self, organization_id: OrganizationId, op: ReadOp) -> BoxFuture<'static, Result<()>>;
    /// The same, told beforehand what the operation will look at.
    fn read_prefetching(
        &self,
        organization_id: OrganizationId,
        _needs: Prefetch,
        op: ReadOp,
    ) -> BoxFuture<'static, Result<()>> {
        self.read_op(organization_id, op)
    }
    /// Unscoped: what a secret opens, by its SHA-256 (allow-listed, law 6).
    fn credential(&self, token_hash: [u8; 32]) -> BoxFuture<'static, Result<Option<CredentialRecord>>>;
    /// Unscoped: a user by sign-in e-mail, with the organisations they belong to, oldest membership first.
    fn sign_in(&self, email: String) -> BoxFuture<'static, Result<Option<SignIn>>>;
    /// Unscoped: every (organisation, event), for `rebuild` and backups.
    fn all_events(&self) -> BoxFuture<'static, Result<Vec<(OrganizationId, EventId)>>>;
    /// Unscoped: every organisation, in order of id, for commands about the whole server.
    fn organizations(&self) -> BoxFuture<'static, Result<Vec<OrganizationId>>>;
    /// Unscoped: notes what a device asked for itself, and forgets requests that ended before `forget_before`. `false`,
    /// and nothing is noted, where `most` wait already.
    fn insert_pairing_request(
        &self,
        request: PairingRequestRecord,
        forget_before: Timestamp,
        most: u64,
    ) -> BoxFuture<'static, Result<bool>>;
    /// Unscoped: what a device asked for itself, by its token's SHA-256.
    fn pairing_request(&self, token_hash: [u8; 32]) -> BoxFuture<'static, Result<Option<PairingRequestRecord>>>;
    /// Unscoped: makes an organisation with its first owner, both new.
    fn create_organization(
        &self,
        organization: OrganizationRecord,
        owner: UserRecord,
    ) -> BoxFuture<'static, Result<()>>;
    /// The server's epoch.
    fn epoch(&self) -> BoxFuture<'static, Result<admit_core::rule::Epoch>>;
    /// Begins a new epoch: every event's head serial is noted as its base (spec §3). Does nothing if `seen` is not the
    /// present epoch any more (another request was first).
    fn begin_epoch(
        &self,
        seen: admit_core::rule::Epoch,
        next: admit_core::rule::Epoch,
    ) -> BoxFuture<'static, Result<()>>;
    /// A named setting of the whole server, such as the probe sealed with its secret.
    fn setting(&self, name: String) -> BoxFuture<'static, Result<Option<String>>>;
    /// Sets a named setting if it is not set yet; answers what is set afterwards.
    fn settle(&self, name: String, value: String) -> BoxFuture<'static, Result<String>>;
    /// Unscoped: takes up to `limit` due runs for `holder`, longest due first, each for `lease_ms` and under a higher fence
    /// than anybody had it before. Two that take at once take different ones.
    fn take_runs(&self, holder: String, lease_ms: i64, limit: usize) -> BoxFuture<'static, Result<Vec<TakenRun>>>;
    /// Unscoped: those of these runs that `holder` still has are its own for `lease_ms` from now.
    fn renew_runs(&self, holder: String, run_ids: Vec<String>, lease_ms: i64) -> BoxFuture<'static, Result<()>>;
    /// Unscoped: what `holder` took and did not let go of is due at once: it is a process that starts again.
    fn free_runs(&self, holder: String) -> BoxFuture<'static, Result<u64>>;
    /// Unscoped: how long until the next run is due, in milliseconds, 0 where one is; `None` where none waits.
    fn next_run_in(&self) -> BoxFuture<'static, Result<Option<i64>>>;
    /// The mail lane, if it is stopped.
    fn mail_lane(&self) -> BoxFuture<'static, Result<Option<MailLaneRecord>>>;
    /// Unscoped: the mail server refused a run's letter because of the account or itself. Stops the mail lane, or, where that
    /// letter was the probe, makes the pause longer by `random`'s share. [`Store::take_runs`] makes the run that waits longest
    /// the probe once the pause is over, and wakes all where the lane is open.
    fn stop_mail(&self, run_id: String, reason: String, random: u8) -> BoxFuture<'static, Result<()>>;
    /// Unscoped: the mail server took the probe. Opens the lane; every run that waits for it is due.
    fn resume_mail(&self) -> BoxFuture<'static, Result<()>>;
    /// Unscoped: a stopped lane is probed at once.
    fn hurry_mail(&self) -> BoxFuture<'static, Result<()>>;
    /// The database's clock, which orders rules and answers `/api/scanning/time`.
    fn now(&self) -> BoxFuture<'static, Result<Timestamp>>;
}

/// Runs `op` in a durable transaction and gives back what it returned.
pub async fn write<R, F>(store: &dyn Store, scope: Scope, mut op: F) -> Result<R>
where
    R: Send + 'static,
    F: FnMut(&mut dyn Tx) -> Result<R> + Send + 'static,
{
    let slot = Arc::new(Mutex::new(None));
    let into = Arc::clone(&slot);
    let run = move |tx: &mut dyn Tx| {
        let result = op(tx)?;
        *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        Ok(())
    };
    store.write_op(scope, Box::new(run)).await?;
    taken(&slot)
}

/// Runs `op` on a read snapshot and gives back what it returned.
pub async fn read<R, F>(store: &dyn Store, organization_id: &OrganizationId, op: F) -> Result<R>
where
    R: Send + 'static,
    F: FnOnce(&mut dyn Tx) -> Result<R> + Send + 'static,
{
    read_prefetching(store, organization_id, Prefetch::default(), op).await
}

/// The same, where it is known what `op` will look at.
pub async fn read_prefetching<R, F>(
    store: &dyn Store,
    organization_id: &OrganizationId,
    prefetch: Prefetch,
    op: F,
) -> Result<R>
where
    R: Send + 'static,
    F: FnOnce(&mut dyn Tx) -> Result<R> + Send + 'static,
{
    let slot = Arc::new(Mutex::new(None));
    let into = Arc::clone(&slot);
    let run = move |tx: &mut dyn Tx| {
        let result = op(tx)?;
        *into.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        Ok(())
    };
    store.read_prefetching(organization_id.clone(), prefetch, Box::new(run)).await?;
    taken(&slot)
}

fn taken<R>(slot: &Mutex<Option<R>>) -> Result<R> {
    let result = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    result.ok_or_else(|| Error::Bug("the store said done without running the operation".into()))
}

/// Everything a use case is given.
#[derive(Clone)]
pub struct App {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and randomness.
    pub ids: Arc<dyn Ids>,
    /// The hints to clients that watch.
    pub hints: Arc<dyn Hints>,
    /// `ADMIT_SECRET`: seals scan keys, authenticates witnesses.
    pub secret: Arc<crate::secret::Secret>,
    /// The large parts of the lists served lately; an answer is the same without it (law 15).
    pub manifests: Arc<crate::cache::ManifestCache>,
    /// The recent entries; an answer is the same without them (law 15).
    pub recent: Arc<dyn crate::recent::Recent>,
    /// How many unknown codes each device may still be told about.
    pub unknown_codes: Arc<crate::unknown_codes::UnknownCodes>,
    /// Wakes the job runner of this process. Without it the runs are found a little later (law 15).
    pub job_wakeup: Arc<crate::job_wakeup::JobWakeup>,
    /// Whether somebody scans just now: what may wait leaves them the machine.
    pub scan_activity: Arc<crate::scan_activity::ScanActivity>,
    /// This process's knowledge of the mail lane. Without it one more letter would find out that a lane is stopped
    /// (law 15).
    pub mail_lane: Arc<crate::mail_lane::MailLane>,
}

impl App {
    /// Puts the parts together, with an empty cache.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        hints: Arc<dyn Hints>,
        secret: crate::secret::Secret,
    ) -> Self {
        let recent = Arc::new(crate::recent::Forgetful);
        let (secret, manifests, unknown_codes) = (Arc::new(secret), Arc::default(), Arc::default());
        let (job_wakeup, scan_activity, mail_lane) = (Arc::default(), Arc::default(), Arc::default());
        Self {
            store,
            clock,
            ids,
            hints,
            secret,
            manifests,
            recent,
            unknown_codes,
            job_wakeup,
            scan_activity,
            mail_lane,
        }
    }
    /// A fresh stream of ids and secrets, to be cloned into a transaction.
    pub fn seeded_ids(&self) -> crate::seeded_ids::SeededIds {
        crate::seeded_ids::SeededIds::new(self.ids.random())
    }
}
