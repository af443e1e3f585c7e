//! The job runner. It takes due runs, carries out a bounded number at a time, and stops with the server.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use admit_app::jobs::{Ended, Workflows, carry_out};
use admit_app::ports::App;
use admit_app::records::TakenRun;
use admit_core::limits::{
    DOORS_BUSY_MS, JOB_GRACE_MS, JOB_LEASE_MS, JOB_LOOK_MS, JOBS_AT_ONCE, JOBS_BESIDE_SCANS, JOBS_TAKEN,
};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::telemetry::{EndedLabel, Metrics};

/// How often leases are renewed, in milliseconds. Two renewals may fail before a lease ends.
const RENEW_MS: u64 = JOB_LEASE_MS as u64 / 3;
/// Pause after an error of the store, in milliseconds.
const PAUSE_MS: i64 = 1_000;

/// The runs that this node has taken.
struct Hand {
    app: App,
    workflows: Arc<Workflows>,
    metrics: Arc<Metrics>,
    holder: String,
    /// Runs that are taken but not begun.
    waiting: VecDeque<TakenRun>,
    under_way: JoinSet<()>,
    /// The run of each task.
    names: BTreeMap<tokio::task::Id, String>,
}

/// Carries out runs for `holder`, a name that no other node has, until `shutdown`. Steps under way then get some time
/// to end.
pub async fn run(
    app: App,
    workflows: Arc<Workflows>,
    holder: String,
    metrics: Arc<Metrics>,
    shutdown: CancellationToken,
) {
    // Runs that an earlier process of this name held become due at once.
    if let Err(error) = app.store.free_runs(holder.clone()).await {
        tracing::warn!(%error, "leases of an earlier start end by themselves");
    }
    // The settings of the mail server may have changed, so a stopped mail lane is probed at once.
    if let Err(error) = app.store.hurry_mail().await {
        tracing::warn!(%error, "a stopped mail lane goes on by itself");
    }
    let (waiting, under_way, names) = (VecDeque::new(), JoinSet::new(), BTreeMap::new());
    let mut hand = Hand { app, workflows, metrics, holder, waiting, under_way, names };
    let mut renewal = tokio::time::interval(Duration::from_millis(RENEW_MS));
    let mut wait_ms = 0;
    while !shutdown.is_cancelled() {
        hand.begin();
        let has_room = hand.waiting.is_empty() && hand.under_way.len() < hand.at_once();
        if wait_ms == 0 && has_room {
            wait_ms = hand.take().await;
            continue;
        }
        // While there is no room, the runner checks regularly whether the doors are quiet again.
        let sleep = if has_room { wait_ms.clamp(1, JOB_LOOK_MS) } else { DOORS_BUSY_MS };
        let sleep = Duration::from_millis(sleep.unsigned_abs());
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(ended) = hand.under_way.join_next_with_id() => hand.forget(ended),
            () = hand.app.job_wakeup.woken() => wait_ms = 0,
            _ = renewal.tick() => hand.renew().await,
            () = tokio::time::sleep(sleep) => wait_ms = 0,
        }
    }
    hand.stop().await;
}

impl Hand {
    /// How many runs may be under way at this moment. It is lower while people scan at the doors.
    fn at_once(&self) -> usize {
        let is_busy = self.app.scan_activity.is_recent(self.app.clock.monotonic_ms());
        if is_busy { JOBS_BESIDE_SCANS } else { JOBS_AT_ONCE }
    }
    /// Begins waiting runs, as many as there is room for.
    fn begin(&mut self) {
        while self.under_way.len() < self.at_once() {
            let Some(taken) = self.waiting.pop_front() else { return };
            let (app, workflows, run_id) = (self.app.clone(), self.workflows.clone(), taken.run_id.clone());
            let metrics = self.metrics.clone();
            let task = self.under_way.spawn(async move {
                let (run_id, begun) = (taken.run_id.clone(), Instant::now());
                let ended = match carry_out(&app, &workflows, taken).await {
                    Ok(Ended::Done) => "done",
                    Ok(Ended::Waits(_) | Ended::Parked) => "waits",
                    Ok(Ended::NotOurs) => "taken",
                    Ok(Ended::GaveUp) => {
                        tracing::warn!(run_id, "a run gave up: a person decides");
                        "gave_up"
                    }
                    Err(error) => {
                        tracing::warn!(run_id, %error, "the store did not answer: the run is taken up again");
                        "failed"
                    }
                };
                metrics.runs.get_or_create(&EndedLabel { ended }).inc();
                metrics.run_seconds.observe(begun.elapsed().as_secs_f64());
            });
            self.names.insert(task.id(), run_id);
            self.metrics.runs_under_way.inc();
        }
    }
    /// Takes due runs. Returns after how many milliseconds the runner should take runs again; 0 if more runs may be due
    /// now.
    async fn take(&mut self) -> i64 {
        // Runs that this node cannot begin soon are left to other nodes.
        let most = JOBS_TAKEN.min(self.at_once() * 4);
        let taken = self.app.store.take_runs(self.holder.clone(), JOB_LEASE_MS, most).await;
        let found = match taken {
            Ok(taken) => taken,
            Err(error) => {
                tracing::warn!(%error, "no runs can be taken");
                return PAUSE_MS;
            }
        };
        let may_be_more = found.len() == most;
        self.waiting.extend(found);
        if may_be_more {
            return 0;
        }
        match self.app.store.next_run_in().await {
            Ok(next) => next.unwrap_or(JOB_LOOK_MS).max(1),
            Err(_) => PAUSE_MS,
        }
    }
    /// Renews the leases of the runs that this node has taken.
    async fn renew(&mut self) {
        let waiting = self.waiting.iter().map(|taken| taken.run_id.clone());
        let run_ids: Vec<String> = waiting.chain(self.names.values().cloned()).collect();
        if run_ids.is_empty() {
            return;
        }
        if let Err(error) = self.app.store.renew_runs(self.holder.clone(), run_ids, JOB_LEASE_MS).await {
            tracing::warn!(%error, "leases of runs were not renewed");
        }
    }
    fn forget(&mut self, ended: Result<(tokio::task::Id, ()), tokio::task::JoinError>) {
        let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
        self.names.remove(&id);
        self.metrics.runs_under_way.dec();
    }
    /// Waits for steps under way, and gives the other runs back.
    async fn stop(mut self) {
        self.waiting.clear();
        let grace = Duration::from_millis(JOB_GRACE_MS);
        let all_ended = async { while self.under_way.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all_ended).await.is_err() {
            tracing::warn!(open = self.under_way.len(), "runs under way are left as they are");
            self.under_way.shutdown().await;
        }
        if let Err(error) = self.app.store.free_runs(self.holder.clone()).await {
            tracing::warn!(%error, "leases end by themselves");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

    use admit_app::jobs::{StepResult, Steps, Workflow, fresh};
    use admit_app::ports::{Clock, Scope, write};
    use admit_app::records::{OrganizationRecord, UserRecord};
    use admit_app::secret::Secret;
    use admit_app::seeded_ids::SeededIds;
    use admit_core::ids::{EventId, OrganizationId, UserId};
    use admit_core::time::Timestamp;
    use admit_store_sqlite::{Options, Sqlite};
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::config::Settings;
    use crate::state::AppState;

    /// A clock that a test sets.
    struct Still(Arc<AtomicI64>);
    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::clamped(1_000_000 + self.monotonic_ms())
        }
        fn monotonic_ms(&self) -> i64 {
            self.0.load(Ordering::SeqCst)
        }
    }

    /// Runs that stay under way until the test releases them.
    #[derive(Clone)]
    struct Standing {
        under_way: Arc<AtomicUsize>,
        let_go: Arc<Semaphore>,
    }
    impl Workflow for Standing {
        fn kind(&self) -> &'static str {
            "standing"
        }
        fn run<'a>(&'a self, _steps: &'a mut Steps) -> BoxFuture<'a, StepResult<()>> {
            async move {
                self.under_way.fetch_add(1, Ordering::SeqCst);
                if let Ok(go) = self.let_go.acquire().await {
                    go.forget();
                }
                Ok(())
            }
            .boxed()
        }
    }

    async fn until(under_way: &AtomicUsize, count: usize) {
        let wanted = async {
            while under_way.load(Ordering::SeqCst) != count {
                tokio::time::sleep(Duration::from_millis(1)).await; // tidy-allow: the pause of a poll loop
            }
        };
        let came = tokio::time::timeout(Duration::from_secs(20), wanted).await;
        assert!(came.is_ok(), "{} under way, not {count}", under_way.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn while_somebody_scans_few_runs_are_under_way_and_all_that_may_be_once_the_doors_are_quiet() {
        let store = Arc::new(Sqlite::memory(Options::inline()).unwrap());
        let mut state = AppState::new(store, Secret::new(&"s".repeat(40)).unwrap(), Settings::default());
        let now_ms = Arc::new(AtomicI64::new(0));
        state.app.clock = Arc::new(Still(now_ms.clone()));
        let organization_id = OrganizationId::new("o").unwrap();
        let at = state.app.clock.now();
        let organization =
            OrganizationRecord { organization_id: organization_id.clone(), name: "O".into(), created_at: at };
        let owner = UserRecord {
            user_id: UserId::new("u").unwrap(),
            email: "u@o.example".into(),
            name: "U".into(),
            password_hash: String::new(),
            created_at: at,
        };
        state.app.store.create_organization(organization, owner).await.unwrap();
        let mut draw = SeededIds::new([7; 32]);
        let event_id = EventId::new("e").unwrap();
        let made = (0..2 * JOBS_AT_ONCE).map(|_| fresh(&mut draw, "standing", &event_id, "s", String::new(), at));
        let runs: Vec<_> = made.collect();
        write(&*state.app.store, Scope::organization(&organization_id), move |tx| tx.insert_runs(&runs)).await.unwrap();

        let standing = Standing { under_way: Arc::default(), let_go: Arc::new(Semaphore::new(0)) };
        let workflows = Arc::new(Workflows::default().with(standing.clone()));
        state.app.scan_activity.scanned(0);
        let (metrics, shutdown) = (state.metrics.clone(), CancellationToken::new());
        let runner = tokio::spawn(run(state.app.clone(), workflows, "here".into(), metrics.clone(), shutdown.clone()));
        until(&standing.under_way, JOBS_BESIDE_SCANS).await;
        // When one ends, one begins. While somebody scans there are never more.
        for ended in 1..=5 {
            standing.let_go.add_permits(1);
            until(&standing.under_way, JOBS_BESIDE_SCANS + ended).await;
            assert_eq!(metrics.runs_under_way.get(), JOBS_BESIDE_SCANS as i64);
        }
        now_ms.store(DOORS_BUSY_MS, Ordering::SeqCst);
        until(&standing.under_way, JOBS_AT_ONCE + 5).await;
        shutdown.cancel();
        standing.let_go.add_permits(2 * JOBS_AT_ONCE);
        runner.await.unwrap();
    }
}
