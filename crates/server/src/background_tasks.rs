//! The background tasks of a server. Any of several nodes may do them, and doing one twice changes nothing.

use std::sync::Arc;
use std::time::Duration;

use admit_app::ports::App;
use admit_app::{audits, devices, epochs, guests};
use admit_core::time::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::telemetry::Metrics;

/// How often the server checks whether the scans of a new epoch are judged.
const JUDGE: Duration = Duration::from_secs(10);
/// How often the server counts the devices for the metrics.
const FLEET: Duration = Duration::from_secs(15);
/// How often the server checks whether the mail lane is stopped.
const MAIL: Duration = Duration::from_secs(5);
/// How often the server checks whether guests' data must be erased.
const ERASE: Duration = Duration::from_secs(600);
/// How often the server checks whether an hour has passed since the last anchor of the ledgers.
const ANCHOR: Duration = Duration::from_secs(600);

/// Runs all tasks again and again until `shutdown`. A task that fails is repeated at its next turn.
pub async fn run(app: App, metrics: Arc<Metrics>, shutdown: CancellationToken) {
    let ticker = |every| {
        let mut tick = tokio::time::interval(every);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        tick
    };
    let (mut judge, mut fleet, mut anchor) = (ticker(JUDGE), ticker(FLEET), ticker(ANCHOR));
    let (mut mail, mut stopped_since, mut erase) = (ticker(MAIL), None, ticker(ERASE));
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return,
            _ = judge.tick() => judged(&app).await,
            _ = fleet.tick() => counted(&app, &metrics).await,
            _ = anchor.tick() => anchored(&app).await,
            _ = erase.tick() => erased(&app).await,
            _ = mail.tick() => stopped_since = mail_told(&app, &metrics, stopped_since).await,
        }
    }
}

/// Judges the scans that a new epoch affects. The request that began the epoch does this first; if that request was
/// given up or failed, this task finishes it (spec §3 "Epoch and witness").
async fn judged(app: &App) {
    if let Err(error) = epochs::judge_anew(app).await {
        tracing::warn!(%error, "scans of an epoch that ended are not judged anew yet");
    }
}

/// Updates the metrics about the devices of all live events. If the store does not answer, the last values stay.
async fn counted(app: &App, metrics: &Metrics) {
    match devices::fleet(app).await {
        Ok(fleet) => {
            metrics.set_fleet(&fleet);
            metrics.store_up.set(1);
        }
        Err(error) => {
            metrics.store_up.set(0);
            tracing::warn!(%error, "the devices could not be counted for the metrics");
        }
    }
}

/// Updates the metric about the mail lane. Logs once when the lane stops and once when it resumes. Returns the time
/// since which the lane is stopped; `None` while it is open.
async fn mail_told(app: &App, metrics: &Metrics, told: Option<Timestamp>) -> Option<Timestamp> {
    let Ok(lane) = app.store.mail_lane().await else { return told };
    metrics.mail_stopped.set(i64::from(lane.is_some()));
    match (&lane, told) {
        (Some(lane), None) => {
            tracing::warn!(event = "mail.stopped", reason = lane.reason, "passes wait for the mail server")
        }
        (None, Some(_)) => tracing::info!(event = "mail.resumed", "the mail server takes letters again"),
        (Some(_), Some(_)) | (None, None) => {}
    }
    lane.map(|lane| lane.since)
}

/// Erases guests' personal data when the retention time of their event is over.
async fn erased(app: &App) {
    match guests::erase_due(app).await {
        Ok(done) => {
            for (event_id, guests) in done {
                tracing::info!(event = "guests.erased", %event_id, guests, "guests' personal data was erased: its time was over");
            }
        }
        Err(error) => tracing::warn!(%error, "guests' personal data is not erased yet"),
    }
}

/// Writes the ends of the events' ledgers into each organisation's own ledger (spec D14).
async fn anchored(app: &App) {
    let organizations = match app.store.organizations().await {
        Ok(organizations) => organizations,
        Err(error) => {
            tracing::warn!(%error, "the ledgers' ends were not noted");
            return;
        }
    };
    for organization_id in organizations {
        if let Err(error) = audits::anchor(app, &organization_id).await {
            tracing::warn!(%error, %organization_id, "the ledgers' ends were not noted");
        }
    }
}

#[cfg(test)]
mod tests {
    use admit_app::secret::Secret;
    use admit_core::rule::Epoch;
    use admit_store_sqlite::{Options, Sqlite};

    use super::*;
    use crate::config::Settings;
    use crate::state::AppState;

    /// A request began an epoch and was given up before it judged the scans. The background task judges them.
    #[tokio::test]
    async fn an_epoch_that_was_begun_and_not_judged_is_judged_without_a_restart() {
        let store = Arc::new(Sqlite::memory(Options::default()).unwrap());
        let state = AppState::new(store, Secret::new(&"0".repeat(64)).unwrap(), Settings::default());
        let held = state.app.store.epoch().await.unwrap();
        let next = Epoch { restored_at_ms: held.restored_at_ms + 1, random: 7 };
        state.app.store.begin_epoch(held, next).await.unwrap();
        let key = format!("epoch_judged:{next}");
        assert_eq!(state.app.store.setting(key.clone()).await.unwrap(), None);
        let running = tokio::spawn(run(state.app.clone(), state.metrics.clone(), state.shutdown.clone()));
        while state.app.store.setting(key.clone()).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        state.shutdown.cancel();
        running.await.unwrap();
    }
}
