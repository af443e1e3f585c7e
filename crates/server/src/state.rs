//! The state that every handler gets.

use std::sync::Arc;

use admit_app::jobs::Workflows;
use admit_app::passes::{Delivery, SetUp};
use admit_app::ports::{App, Hints, Ids, Mail, NoMail, Objects, Store as StorePort};
use admit_app::secret::Secret;
use admit_core::limits::{PASS_GUESSES_PER_MINUTE, SIGN_INS_PER_MINUTE};
use admit_core::rate::WINDOW_MS;
use tokio_util::sync::CancellationToken;

use crate::adapters::clock::SystemClock;
use crate::adapters::hints_local::Hub;
use crate::adapters::hints_shared;
use crate::adapters::imports_under_way::ImportsUnderWay;
use crate::adapters::mail::Smtp;
use crate::adapters::objects::{Nowhere, Store};
use crate::adapters::per_address::{PAIRING_ASKS, PAIRING_ASKS_MS, PerAddress};
use crate::adapters::random::SystemRandom;
use crate::adapters::rate_redis::SharedLog;
use crate::adapters::recent_scans::RecentScans;
use crate::adapters::redis_link::Link;
use crate::adapters::runner;
use crate::adapters::sync_limit::SyncLimit;
use crate::adapters::upload_room::UploadRoom;
use crate::adapters::webhook_limit::WebhookLimit;
use crate::config::Settings;
use crate::encoding::Squeezed;
use crate::finding::Seen;
use crate::telemetry::Metrics;

/// The use cases' ports, the settings, and the state of the HTTP layer. A clone is cheap.
#[derive(Clone)]
pub struct AppState {
    /// The ports that use cases get.
    pub app: App,
    /// The settings of this installation.
    pub settings: Arc<Settings>,
    /// Hints to the clients of this node: from `app.hints` of this process, and from other nodes.
    pub live: Arc<Hub>,
    /// The metrics of this process.
    pub metrics: Arc<Metrics>,
    /// The sync limit.
    pub syncs: Arc<SyncLimit>,
    /// Room for uploads.
    pub uploads: Arc<UploadRoom>,
    /// The services that the workflows of passes need.
    pub passes: SetUp,
    /// Limits the guesses of pass tokens, by network address.
    pub guesses: Arc<PerAddress>,
    /// Limits failed sign-ins, by network address.
    pub sign_ins: Arc<PerAddress>,
    /// Limits pairing requests before anybody signed in, by network address.
    pub pairing_asks: Arc<PerAddress>,
    /// Limits the guesses of pairing tokens, by network address.
    pub pairing_looks: Arc<PerAddress>,
    /// Limits the messages of each webhook endpoint.
    pub webhooks: Arc<WebhookLimit>,
    /// Compressed forms of recently served lists. They make an answer faster and do not change it.
    pub squeezed: Arc<Squeezed>,
    /// The link to Redis; `None` without `REDIS_URL`.
    pub redis: Option<Arc<Link>>,
    /// The last findings about the services that this server depends on.
    pub seen: Arc<Seen>,
    /// The progress of the imports that this process runs.
    pub imports: ImportsUnderWay,
    /// Is cancelled when the server stops. Every stream and long poll then ends.
    pub shutdown: CancellationToken,
}

impl AppState {
    /// Makes the state of a server on a store, with the machine's clock and randomness. With Redis, or if other nodes
    /// use the same database, it starts to listen for their changes. Call it inside a runtime.
    pub fn new(store: Arc<dyn StorePort>, secret: Secret, settings: Settings) -> Self {
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
        let redis = link.clone();
        app.recent = Arc::new(RecentScans::new(link.clone(), metrics.clone()));
        Self {
            app,
            syncs: Arc::new(SyncLimit::new(settings.syncs_per_minute, link.map(SharedLog::new))),
            uploads: Arc::default(),
            redis,
            seen: Arc::default(),
            imports: ImportsUnderWay::default(),
            passes: SetUp {
                mail: mail(&settings),
                objects: objects(&settings),
                public_url: settings.passes_lead_to(),
                objects_public_url: settings.objects_public_url.clone(),
            },
            guesses: Arc::new(PerAddress::new(PASS_GUESSES_PER_MINUTE, WINDOW_MS)),
            sign_ins: Arc::new(PerAddress::new(SIGN_INS_PER_MINUTE, WINDOW_MS)),
            pairing_asks: Arc::new(PerAddress::new(PAIRING_ASKS, PAIRING_ASKS_MS)),
            pairing_looks: Arc::new(PerAddress::new(PAIRING_ASKS, PAIRING_ASKS_MS)),
            webhooks: Arc::new(WebhookLimit::new(settings.webhooks_per_minute)),
            settings: Arc::new(settings),
            live,
            metrics,
            squeezed: Arc::default(),
            shutdown,
        }
    }
}

impl AppState {
    /// Carries out runs until the server stops.
    pub async fn carry_out_runs(self) {
        let workflows = Arc::new(Workflows::default().with(Delivery(self.passes.clone())));
        // The embedded database has only one process, so every earlier lease was its own.
        let holder = match (&self.settings.node, self.settings.several_nodes) {
            (Some(name), _) => name.clone(),
            (None, false) => "server".to_owned(),
            (None, true) => self.app.ids.random().iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
        };
        runner::run(self.app, workflows, holder, self.metrics, self.shutdown).await;
    }
}

fn mail(settings: &Settings) -> Arc<dyn Mail> {
    let Some(place) = &settings.mail else { return Arc::new(NoMail) };
    match Smtp::open(&place.url, place.sender.clone()) {
        Ok(smtp) => Arc::new(smtp),
        Err(error) => {
            tracing::error!(%error, "SMTP_URL cannot be used: nothing is mailed");
            Arc::new(NoMail)
        }
    }
}

fn objects(settings: &Settings) -> Arc<dyn Objects> {
    match Store::open(&settings.objects) {
        Ok(store) => Arc::new(store),
        Err(error) => {
            tracing::error!(error, "OBJECTS_URL cannot be used: passes wait");
            Arc::new(Nowhere(error))
        }
    }
}
