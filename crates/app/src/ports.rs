//! The ports: what the use cases need from outside. They are a store, clocks, ids and hints.
//!
//! A transaction (`Tx`) is plain, synchronous Rust. The embedded store runs it on its writer thread, PostgreSQL's store
//! on a lane thread, the simulator on the calling thread. So a use case cannot hold a lock across an await, and a
//! simulator seed always gives the same schedule (docs/decisions.md, "Transactions are synchronous").

use std::sync::{Arc, Mutex, PoisonError};

use admit_core::ids::{EventId, OrganizationId};
use admit_core::time::Timestamp;
use futures_util::future::BoxFuture;

use crate::error::{Error, Result};
use crate::records::{
    CredentialRecord, MailLaneRecord, OrganizationRecord, PairingRequestRecord, TakenRun, UserRecord,
};

mod outside;
mod filters;
mod prefetch;
mod tx;
pub use filters::*;
pub use outside::*;
pub use prefetch::*;
pub use tx::*;

/// The target of the spans that a collector gets, in every crate. The log on standard error leaves them out. Their
/// fields hold at most ids of organisations and events, and nothing about devices, tickets or guests.
pub const TRACES: &str = "admit::trace";

/// The server's clock.
pub trait Clock: Send + Sync {
    /// The present time.
    fn now(&self) -> Timestamp;
    /// A monotonic reading in milliseconds, for durations only.
    fn monotonic_ms(&self) -> i64;
}

/// The source of randomness for ids, keys and tokens. Draw from it before a transaction begins, so that the transaction
/// may run again (law 6).
pub trait Ids: Send + Sync {
    /// 32 fresh random bytes.
    fn random(&self) -> [u8; 32];
}

/// Wakes, after a commit, the clients that watch an event. A hint may be lost without harm (law 15).
pub trait Hints: Send + Sync {
    /// Tells that something of this event changed.
    fn hint(&self, hint: Hint);
}

/// A hint that something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// The organisation of the change.
    pub organization_id: OrganizationId,
    /// The event of the change.
    pub event_id: EventId,
    /// The serial of the change. Absent if the change is not part of the event's order.
    pub serial: Option<u64>,
    /// The kind of data that changed.
    pub topic: Topic,
}

/// Topics of the live stream (spec §5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// A batch was stored. The text has its id, status and counts as JSON (S2 §4).
    Batch(String),
    /// Counters changed. The text is the JSON of S2's `occupancy` message, without totals.
    Occupancy(String),
    /// Incidents changed.
    Incidents,
    /// A device changed, or the server heard of it.
    Devices,
    /// Rules changed.
    Rules,
}

/// Which organisation and events a write is about. Before the operation runs, the store locks the heads of these
/// events, in order of id (ARCHITECTURE.md §4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The organisation that the operation is for.
    pub organization_id: OrganizationId,
    /// Events whose heads the store locks. Empty for the administration of an organisation.
    pub events: Vec<EventId>,
    /// When the write has its turn among waiting writes.
    pub pace: Pace,
    /// The keys that the operation will look up, as far as they are known.
    pub prefetch: Prefetch,
}

/// The priority of waiting writes. Writes for people at a door come before those that nobody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// The write comes before all others, since somebody stands before a closed door.
    Urgent,
    /// The write has its turn in the order of arrival.
    #[default]
    Usual,
    /// The write comes after all others. Few writes of this priority run at a time, so that no other write waits long.
    /// Steps of runs use it.
    Patient,
}

impl Scope {
    /// The scope of the administration of an organisation, without any event's head.
    pub fn organization(organization_id: &OrganizationId) -> Self {
        Self {
            organization_id: organization_id.clone(),
            events: Vec::new(),
            pace: Pace::Usual,
            prefetch: Prefetch::default(),
        }
    }
    /// The scope of one event.
    pub fn event(organization_id: &OrganizationId, event_id: &EventId) -> Self {
        Self { events: vec![event_id.clone()], ..Self::organization(organization_id) }
    }
}

/// An operation inside a transaction. It may run more than once, so its decisions may depend only on what it captured
/// and on the transaction.
pub type WriteOp = Box<dyn FnMut(&mut dyn Tx) -> Result<()> + Send>;
/// An operation on one consistent snapshot.
pub type ReadOp = Box<dyn FnOnce(&mut dyn Tx) -> Result<()> + Send>;

/// A user, with the organisations that the user belongs to, oldest membership first.
pub type SignIn = (UserRecord, Vec<OrganizationId>);

/// The store. It alone begins transactions, sets savepoints, commits and retries. A use case never commits (law 6).
pub trait Store: Send + Sync {
    /// Runs the operation in a durable transaction. Several waiting operations may share one commit. The future
    /// resolves after the commit. If the outcome is unknown (an I/O error at commit), it returns [`Error::Later`] and
    /// the store stops.
    fn write_op(&self, scope: Scope, op: WriteOp) -> BoxFuture<'static, Result<()>>;
    /// Runs the operation on a read snapshot, scoped to the organisation.
    fn read_op(&self, organization_id: OrganizationId, op: ReadOp) -> BoxFuture<'static, Result<()>>;
    /// Like [`Store::read_op`], with the keys that the operation will look up.
    fn read_prefetching(
        &self,
        organization_id: OrganizationId,
        _needs: Prefetch,
        op: ReadOp,
    ) -> BoxFuture<'static, Result<()>> {
        self.read_op(organization_id, op)
    }
    /// Unscoped: what a secret gives access to, by the secret's SHA-256 (law 6). `None` for an unknown secret.
    fn credential(&self, token_hash: [u8; 32]) -> BoxFuture<'static, Result<Option<CredentialRecord>>>;
    /// Unscoped: a user by the e-mail for signing in, with the user's organisations, oldest membership first.
    fn sign_in(&self, email: String) -> BoxFuture<'static, Result<Option<SignIn>>>;
    /// Unscoped: every (organisation, event), for `rebuild` and backups.
    fn all_events(&self) -> BoxFuture<'static, Result<Vec<(OrganizationId, EventId)>>>;
    /// Unscoped: every organisation, in order of id, for commands about the whole server.
    fn organizations(&self) -> BoxFuture<'static, Result<Vec<OrganizationId>>>;
    /// Unscoped: stores a device's request to be paired, and removes requests that ended before `forget_before`.
    /// Returns `false` and stores nothing if `most` requests wait already.
    fn insert_pairing_request(
        &self,
        request: PairingRequestRecord,
        forget_before: Timestamp,
        most: u64,
    ) -> BoxFuture<'static, Result<bool>>;
    /// Unscoped: a device's request to be paired, by the SHA-256 of its token.
    fn pairing_request(&self, token_hash: [u8; 32]) -> BoxFuture<'static, Result<Option<PairingRequestRecord>>>;
    /// Unscoped: creates an organisation and its first owner.
    fn create_organization(
        &self,
        organization: OrganizationRecord,
        owner: UserRecord,
    ) -> BoxFuture<'static, Result<()>>;
    /// The server's epoch.
    fn epoch(&self) -> BoxFuture<'static, Result<admit_core::rule::Epoch>>;
    /// Begins a new epoch, and stores for every event the serial of its head, at which the epoch begins (spec §3). It
    /// does nothing if `seen` is no longer the present epoch, because another request was first.
    fn begin_epoch(
        &self,
        seen: admit_core::rule::Epoch,
        next: admit_core::rule::Epoch,
    ) -> BoxFuture<'static, Result<()>>;
    /// A named setting of the whole server, such as the sealed text by which each start checks `ADMIT_SECRET`. `None`
    /// if it is not set.
    fn setting(&self, name: String) -> BoxFuture<'static, Result<Option<String>>>;
    /// Sets a named setting if it is not set yet. Returns the value that is set afterwards.
    fn settle(&self, name: String, value: String) -> BoxFuture<'static, Result<String>>;
    /// Unscoped: takes up to `limit` due runs for `holder`, longest due first, each for `lease_ms`. Each gets a higher
    /// fence than any taking before. Two holders that take at the same time get different runs.
    fn take_runs(&self, holder: String, lease_ms: i64, limit: usize) -> BoxFuture<'static, Result<Vec<TakenRun>>>;
    /// Unscoped: extends `holder`'s leases on these runs to `lease_ms` from now. Runs that it lost are left out.
    fn renew_runs(&self, holder: String, run_ids: Vec<String>, lease_ms: i64) -> BoxFuture<'static, Result<()>>;
    /// Unscoped: makes due at once the runs that `holder` still has. A process calls it when it starts again. Returns
    /// their number.
    fn free_runs(&self, holder: String) -> BoxFuture<'static, Result<u64>>;
    /// Unscoped: milliseconds until the next run is due, 0 if one is due now. `None` if no run waits.
    fn next_run_in(&self) -> BoxFuture<'static, Result<Option<i64>>>;
    /// The stopped mail lane. `None` if the lane is open.
    fn mail_lane(&self) -> BoxFuture<'static, Result<Option<MailLaneRecord>>>;
    /// Unscoped: notes that the mail server refused a run's letter because of the account or every letter. Stops the
    /// mail lane. If that letter was the probe, the pause becomes longer, spread by `random`. Once the pause is over,
    /// [`Store::take_runs`] makes the run that waits longest the probe.
    fn stop_mail(&self, run_id: String, reason: String, random: u8) -> BoxFuture<'static, Result<()>>;
    /// Unscoped: notes that the mail server accepted the probe. Opens the lane, and makes every run that waits for it
    /// due.
    fn resume_mail(&self) -> BoxFuture<'static, Result<()>>;
    /// Unscoped: ends the pause of a stopped lane, so that it is probed at once.
    fn hurry_mail(&self) -> BoxFuture<'static, Result<()>>;
    /// The database's clock. It orders rules and answers `/api/scanning/time`.
    fn now(&self) -> BoxFuture<'static, Result<Timestamp>>;
}

/// Runs `op` in a durable transaction and returns its result.
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

/// Runs `op` on a read snapshot and returns its result.
pub async fn read<R, F>(store: &dyn Store, organization_id: &OrganizationId, op: F) -> Result<R>
where
    R: Send + 'static,
    F: FnOnce(&mut dyn Tx) -> Result<R> + Send + 'static,
{
    read_prefetching(store, organization_id, Prefetch::default(), op).await
}

/// Like [`read`], with the keys that `op` will look up.
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

/// Everything that use cases need.
#[derive(Clone)]
pub struct App {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and randomness.
    pub ids: Arc<dyn Ids>,
    /// The hints to clients that watch events.
    pub hints: Arc<dyn Hints>,
    /// `ADMIT_SECRET`, which seals scan keys and authenticates witnesses.
    pub secret: Arc<crate::secret::Secret>,
    /// The cache of the lists and names that devices fetch. Answers are the same without it (law 15).
    pub manifests: Arc<crate::cache::ManifestCache>,
    /// The recent entries. Answers are the same without them (law 15).
    pub recent: Arc<dyn crate::recent::Recent>,
    /// How many unknown codes each device may still be told about.
    pub unknown_codes: Arc<crate::unknown_codes::UnknownCodes>,
    /// Wakes the job runner of this process. Without it, runs start a little later (law 15).
    pub job_wakeup: Arc<crate::job_wakeup::JobWakeup>,
    /// Whether somebody scans just now, so that other work waits.
    pub scan_activity: Arc<crate::scan_activity::ScanActivity>,
    /// This process's knowledge of the mail lane. Without it, one more letter would find out that the lane is stopped
    /// (law 15).
    pub mail_lane: Arc<crate::mail_lane::MailLane>,
}

impl App {
    /// Puts the parts together. The caches are empty.
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
    /// A fresh stream of ids and secrets. Clone it into a transaction.
    pub fn seeded_ids(&self) -> crate::seeded_ids::SeededIds {
        crate::seeded_ids::SeededIds::new(self.ids.random())
    }
}
