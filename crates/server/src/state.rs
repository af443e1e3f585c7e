//! What every handler is given.

use std::sync::Arc;

use admit_app::ports::{App, Store};
use admit_app::secret::Secret;
use tokio_util::sync::CancellationToken;

use crate::adapters::clock::SystemClock;
use crate::adapters::hints_local::Hub;
use crate::adapters::random::SystemRandom;
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
    /// Live hints: the same object as `app.hints`.
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
    /// Puts a server together around a store, with the machine's clock and randomness.
    pub fn new(store: Arc<dyn Store>, secret: Secret, settings: Settings) -> Self {
        let live = Arc::new(Hub::default());
        let app = App::new(store, Arc::new(SystemClock::default()), Arc::new(SystemRandom), live.clone(), secret);
        Self {
            app,
            syncs: Arc::new(SyncLimit::new(settings.syncs_per_minute)),
            settings: Arc::new(settings),
            live,
            metrics: Arc::default(),
            squeezed: Arc::default(),
            shutdown: CancellationToken::new(),
        }
    }
}
