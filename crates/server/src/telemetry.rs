//! Events and metrics (S1 §10, S2 §11, spec §7). Never labelled by device, ticket or token.

use std::io::IsTerminal;
use std::sync::atomic::AtomicI64;

use admit_app::ports::TRACES;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

/// Labels of `admit_scans_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabel {
    /// The device's outcome, or `rejected`.
    pub outcome: &'static str,
}

/// Labels of `admit_syncs_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct StatusLabel {
    /// `success`, `busy` (no room: it comes again), or the problem's class: `refused` (4xx) or `failed` (5xx).
    pub status: &'static str,
}

/// Labels of `admit_recent_duplicates_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TierLabel {
    /// Who remembered the earlier scan: `hot` (this process) or `warm` (Redis).
    pub tier: &'static str,
}

/// Labels of `admit_http_requests_total` and its latency.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabel {
    /// Method.
    pub method: String,
    /// The route's pattern, never the path itself.
    pub route: String,
    /// Status class: `2xx` … `5xx`.
    pub status: &'static str,
}

/// Labels of `admit_runs_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EndedLabel {
    /// How it went this time: `done`, `waits` (it is tried again), `gave_up` (a person decides), `taken` (another node has it)
    /// or `failed` (the store did not answer).
    pub ended: &'static str,
}

/// Labels of a route's latency.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabel {
    /// The route's pattern.
    pub route: String,
}

/// Histogram buckets from 1 ms to about 16 s.
#[derive(Debug, Clone, Default)]
pub struct Latency;

impl MetricConstructor<Histogram> for Latency {
    fn new_metric(&self) -> Histogram {
        Histogram::new(exponential_buckets(0.001, 2.0, 15))
    }
}

/// Everything `/metrics` shows.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Scans stored, by outcome.
    pub scans: Family<OutcomeLabel, Counter>,
    /// Stored scans whose code was let in less than five minutes before (S2 §11 "Batch duplicate rate").
    pub recent_duplicates: Family<TierLabel, Counter>,
    /// Syncs, by status.
    pub syncs: Family<StatusLabel, Counter>,
    /// Conflicts that uploads brought to light.
    pub conflicts: Counter,
    /// Time of a sync, request to answer.
    pub sync_seconds: Histogram,
    /// Lists given to devices: whole and delta alike, 304 aside.
    pub manifests: Counter,
    /// Devices paired.
    pub pairings: Counter,
    /// Requests.
    pub requests: Family<RequestLabel, Counter>,
    /// Time of a request by route.
    pub request_seconds: Family<RouteLabel, Histogram, Latency>,
    /// Runs carried out, to their end or to a setback.
    pub runs: Family<EndedLabel, Counter>,
    /// Time of that.
    pub run_seconds: Histogram,
    /// Runs under way here now.
    pub runs_under_way: Gauge<i64, AtomicI64>,
    /// Live streams open now.
    pub streams: Gauge<i64, AtomicI64>,
    /// Live streams closed because their client did not keep up.
    pub streams_dropped: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("admit");
        let sync_seconds = Latency.new_metric();
        let request_seconds = Family::<RouteLabel, Histogram, Latency>::new_with_constructor(Latency);
        let scans = Family::<OutcomeLabel, Counter>::default();
        let syncs = Family::<StatusLabel, Counter>::default();
        let requests = Family::<RequestLabel, Counter>::default();
        let recent_duplicates = Family::<TierLabel, Counter>::default();
        let (conflicts, manifests, pairings) = (Counter::default(), Counter::default(), Counter::default());
        let runs = Family::<EndedLabel, Counter>::default();
        let (run_seconds, runs_under_way) = (Latency.new_metric(), Gauge::<i64, AtomicI64>::default());
        let (streams, streams_dropped) = (Gauge::<i64, AtomicI64>::default(), Counter::default());
        registry.register("scans", "Scans stored, by the device's outcome", scans.clone());
        let again = "Scans whose code was let in less than five minutes before, by who remembered";
        registry.register("recent_duplicates", again, recent_duplicates.clone());
        registry.register("syncs", "Uploads, by how they ended", syncs.clone());
        registry.register("conflicts", "Findings caused by uploads", conflicts.clone());
        registry.register_with_unit("sync_duration", "Upload, request to answer", Unit::Seconds, sync_seconds.clone());
        registry.register("manifest_downloads", "Ticket lists given to devices", manifests.clone());
        registry.register("devices_paired", "Devices paired", pairings.clone());
        registry.register("http_requests", "Requests by route and status class", requests.clone());
        registry.register_with_unit("http_duration", "Requests by route", Unit::Seconds, request_seconds.clone());
        registry.register("runs", "Runs carried out, by how it went this time", runs.clone());
        let carried = "A run, from its taking to its end or to a setback";
        registry.register_with_unit("run_duration", carried, Unit::Seconds, run_seconds.clone());
        registry.register("runs_under_way", "Runs under way here now", runs_under_way.clone());
        registry.register("streams_open", "Live streams open now", streams.clone());
        registry.register("streams_dropped", "Live streams whose client did not keep up", streams_dropped.clone());
        Self {
            registry,
            scans,
            recent_duplicates,
            syncs,
            conflicts,
            sync_seconds,
            manifests,
            pairings,
            requests,
            request_seconds,
            runs,
            run_seconds,
            runs_under_way,
            streams,
            streams_dropped,
        }
    }
}

impl Metrics {
    /// The text that `/metrics` answers.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

/// What the log on standard error shows: what `RUST_LOG` chooses, `standard` without it.
pub fn filter(standard: &str) -> EnvFilter {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(standard));
    // The driver would write every statement's values at `debug`: guests' names and addresses, hashes of passwords.
    let talks = filter.max_level_hint().is_none_or(|level| level > LevelFilter::INFO);
    let quiet: &[&str] = if talks { &["tokio_postgres=info", "tokio_postgres::query=info"] } else { &[] };
    let filter = quiet.iter().filter_map(|quiet| quiet.parse().ok()).fold(filter, EnvFilter::add_directive);
    // Spans for a collector would make every line longer.
    format!("{TRACES}=off").parse().into_iter().fold(filter, EnvFilter::add_directive)
}

/// Turns on the log on standard error, in JSON or as text. Answers `false` if a log was on.
pub fn init(json: bool, standard: &str) -> bool {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(standard))
        .with_ansi(std::io::stderr().is_terminal())
        // A log that can't be written, on a full disk for example, must not end the thread that has something to say.
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    if json { builder.json().try_init().is_ok() } else { builder.try_init().is_ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_the_issue_names_are_there() {
        let metrics = Metrics::default();
        metrics.scans.get_or_create(&OutcomeLabel { outcome: "valid" }).inc();
        metrics.syncs.get_or_create(&StatusLabel { status: "success" }).inc();
        metrics.conflicts.inc();
        let text = metrics.text();
        for line in [
            "admit_scans_total{outcome=\"valid\"} 1",
            "admit_syncs_total{status=\"success\"} 1",
            "admit_conflicts_total 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
