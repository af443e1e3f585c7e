//! What every handler is given.

use std::sync::Arc;

use admit_app::ports::{App, Hints, Ids, Store};
use admit_app::secret::Secret;
use tokio_util::sync::CancellationToken;

use crate::adapters::clock::SystemClock;
use crate::adapters::hints_local::Hub;
use crate::adapters::hints_shared;
use crate::adapters::random::SystemRandom;
use crate::adapters::rate_redis::SharedLog;
use crate::adapters::recent_scans::RecentScans;
use crate::adapters::redis_link::Link;
use crate::adapters::sync_limit::SyncLimit;
use crate::config::Settings;
use crate::encoding::Squeezed;
use crate::telemetry::Metrics;

/// The use cases' parts, the settings, and what belongs to HTTP alone. Cheap to clone.
#[derive(Clone)]
pub struct AppState {
    /// What use cases are given.
    pub app: App,
    /// Settings.
    pub settings: Arc<Settings>,
    /// Live hints to those who watch here: what `app.hints` tells, and what other nodes do.
    pub live: Arc<Hub>,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// The sync limit.
    pub syncs: Arc<SyncLimit>,
    /// Compressed forms of lists served lately; an answer's content is the same without them.
    pub squeezed: Arc<Squeezed>,
    /// Cancelled when the server stops: every stream and long poll ends on it.
    pub shutdown: CancellationToken,
}

impl AppState {
    /// Puts a server together around a store, with the machine's clock and randomness. With Redis, or where other nodes
    /// write to the same database, it begins to hear of them: call it inside a runtime.
    pub fn new(store: Arc<dyn Store>, secret: Secret, settings: Settings) -> Self {
        let (live, metrics) = (Arc::new(Hub::default()), Arc::<Metrics>::default());
        let shutdown = CancellationToken::new();
        let link = settings.redis_url.as_deref().and_then(|url| match Link::open(url) {
            Ok(link) => Some(Arc::new(link)),
            Err(error) => {
                tracing::error!(%error, "REDIS_URL cannot be used: going on without it");
                None
            }
        });
        let hints: Arc<dyn Hints> = match &link {
            Some(link) => {
                let node = SystemRandom.random().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                Arc::new(hints_shared::share(live.clone(), link.clone(), node, shutdown.clone()))
            }
            None => live.clone(),
        };
        if settings.several_nodes {
            tokio::spawn(hints_shared::look(store.clone(), live.clone(), shutdown.clone()));
        }
        let mut app = App::new(store, Arc::new(SystemClock::default()), Arc::new(SystemRandom), hints, secret);
        app.recent = Arc::new(RecentScans::new(link.clone(), metrics.clone()));
        Self {
            app,
            syncs: Arc::new(SyncLimit::new(settings.syncs_per_minute, link.map(SharedLog::new))),
            settings: Arc::new(settings),
            live,
            metrics,
            squeezed: Arc::default(),
            shutdown,
        }
    }
}
