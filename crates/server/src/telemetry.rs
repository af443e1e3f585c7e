//! Metrics and the log's settings (S1 §10, S2 §11, spec §7). No metric has a label with a device, a ticket or a token.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::atomic::AtomicI64;

use admit_app::devices::Fleet;
use admit_app::ports::TRACES;
use admit_core::scan::Outcome;
use admit_core::wire::scanning::{Figures, Observed};
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
    /// `success`, `busy` (no room, the device comes again), or the class of the problem: `refused` (4xx) or `failed`
    /// (5xx).
    pub status: &'static str,
}

/// Labels of `admit_recent_duplicates_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct TierLabel {
    /// The cache that knew the earlier scan: `hot` (this process) or `warm` (Redis).
    pub tier: &'static str,
}

/// Labels of `admit_http_requests_total` and its latency.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabel {
    /// The HTTP method.
    pub method: String,
    /// The pattern of the route, never the path itself.
    pub route: String,
    /// Status class: `2xx` … `5xx`.
    pub status: &'static str,
}

/// Labels of `admit_runs_total`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EndedLabel {
    /// The result of this attempt: `done`, `waits` (it is tried again), `gave_up` (a person decides), `taken` (another
    /// node has it) or `failed` (the store did not answer).
    pub ended: &'static str,
}

/// Labels of `admit_devices`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DeviceLabel {
    /// `online`, `silent` or `suspended`.
    pub state: &'static str,
    /// Version of the app; `other` for all but the most frequent ones.
    pub app_version: String,
}

/// Labels of `admit_build_info`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct BuildLabel {
    /// Version of the server.
    pub version: &'static str,
}

/// The label of metrics by route.
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

/// Histogram buckets from 0.1 s to about 55 min, for values that include waiting for a network.
#[derive(Debug, Clone, Default)]
pub struct Waiting;

impl MetricConstructor<Histogram> for Waiting {
    fn new_metric(&self) -> Histogram {
        Histogram::new(exponential_buckets(0.1, 2.0, 16))
    }
}

/// All metrics of `/metrics`.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Scans stored, by outcome.
    pub scans: Family<OutcomeLabel, Counter>,
    /// Stored scans whose code was let in less than five minutes before (S2 §11 "Batch duplicate rate").
    pub recent_duplicates: Family<TierLabel, Counter>,
    /// Syncs, by status.
    pub syncs: Family<StatusLabel, Counter>,
    /// Conflicts that uploads caused: double entries and duplicates.
    pub conflicts: Counter,
    /// Duration of a sync, from request to answer.
    pub sync_seconds: Histogram,
    /// Lists sent to devices, whole lists and deltas; an answer 304 does not count.
    pub manifests: Counter,
    /// Devices paired.
    pub pairings: Counter,
    /// Devices revoked.
    pub revocations: Counter,
    /// Heartbeats answered.
    pub heartbeats: Counter,
    /// The time from reading a code to the verdict on the screen, as devices measured it (S1 §10.2 "Scan Latency").
    pub scan_seconds: Histogram,
    /// The time from a scan to its receipt, as devices measured it (S2 §11 "Time-to-sync").
    pub time_to_sync_seconds: Histogram,
    /// The time since a device last knew its list to be the newest, measured at each heartbeat.
    pub list_age_seconds: Histogram,
    /// The number of devices of live events.
    pub devices: Family<DeviceLabel, Gauge<i64, AtomicI64>>,
    /// Scans that the devices of live events had not uploaded at their last heartbeat.
    pub pending_scans: Gauge<i64, AtomicI64>,
    /// The largest number of such scans on one device.
    pub pending_scans_max: Gauge<i64, AtomicI64>,
    /// 1 while the store answers.
    pub store_up: Gauge<i64, AtomicI64>,
    /// Requests, by method, route and status.
    pub requests: Family<RequestLabel, Counter>,
    /// Duration of a request, by route.
    pub request_seconds: Family<RouteLabel, Histogram, Latency>,
    /// Runs carried out, by the result of this attempt.
    pub runs: Family<EndedLabel, Counter>,
    /// Duration of carrying out a run, to its end or to a failure.
    pub run_seconds: Histogram,
    /// Runs under way on this node now.
    pub runs_under_way: Gauge<i64, AtomicI64>,
    /// 1 while the mail lane is stopped.
    pub mail_stopped: Gauge<i64, AtomicI64>,
    /// Live streams open now.
    pub streams: Gauge<i64, AtomicI64>,
    /// Live streams closed because their client did not keep up.
    pub streams_dropped: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let metrics = Self {
            registry: Registry::default(),
            scans: Family::default(),
            recent_duplicates: Family::default(),
            syncs: Family::default(),
            conflicts: Counter::default(),
            sync_seconds: Latency.new_metric(),
            manifests: Counter::default(),
            pairings: Counter::default(),
            revocations: Counter::default(),
            heartbeats: Counter::default(),
            scan_seconds: Latency.new_metric(),
            time_to_sync_seconds: Waiting.new_metric(),
            list_age_seconds: Waiting.new_metric(),
            devices: Family::default(),
            pending_scans: Gauge::default(),
            pending_scans_max: Gauge::default(),
            store_up: Gauge::default(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(Latency),
            runs: Family::default(),
            run_seconds: Latency.new_metric(),
            runs_under_way: Gauge::default(),
            mail_stopped: Gauge::default(),
            streams: Gauge::default(),
            streams_dropped: Counter::default(),
        };
        let registry = metrics.register();
        metrics.begin_at_zero();
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// Registers all metrics. The help text of each is its row in `docs/telemetry.md`.
    fn register(&self) -> Registry {
        let mut registry = Registry::with_prefix("admit");
        let build = Family::<BuildLabel, Gauge<i64, AtomicI64>>::default();
        build.get_or_create(&BuildLabel { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("build_info", "Always 1, with the version of the server", build);
        self.register_doors(&mut registry);
        self.register_server(&mut registry);
        registry
    }

    /// Sets every known label to 0 at the start. A rate would miss the first value of a series that begins later.
    fn begin_at_zero(&self) {
        for outcome in Outcome::ALL.iter().map(|outcome| outcome.as_str()).chain(["rejected"]) {
            self.scans.get_or_create(&OutcomeLabel { outcome }).inc_by(0);
        }
        for status in ["success", "busy", "refused", "failed"] {
            self.syncs.get_or_create(&StatusLabel { status }).inc_by(0);
        }
        for tier in ["hot", "warm"] {
            self.recent_duplicates.get_or_create(&TierLabel { tier }).inc_by(0);
        }
        for ended in ["done", "waits", "gave_up", "taken", "failed"] {
            self.runs.get_or_create(&EndedLabel { ended }).inc_by(0);
        }
    }

    fn register_doors(&self, registry: &mut Registry) {
        registry.register("scans", "Scans stored, by the device's outcome", self.scans.clone());
        let again = "Scans whose code was let in less than five minutes before, by who remembered";
        registry.register("recent_duplicates", again, self.recent_duplicates.clone());
        registry.register(
            "conflicts",
            "Double entries and duplicates that uploads brought to light",
            self.conflicts.clone(),
        );
        registry.register("syncs", "Uploads, by how they ended", self.syncs.clone());
        let seconds = Unit::Seconds;
        registry.register_with_unit("sync_duration", "Upload, request to answer", seconds, self.sync_seconds.clone());
        let shown = "Code read to verdict shown, measured by devices";
        registry.register_with_unit("scan_latency", shown, Unit::Seconds, self.scan_seconds.clone());
        let receipt = "Scan to its receipt, measured by devices";
        registry.register_with_unit("time_to_sync", receipt, Unit::Seconds, self.time_to_sync_seconds.clone());
        let newest = "How long ago a device knew its list to be the newest, seen at each heartbeat";
        registry.register_with_unit("list_age", newest, Unit::Seconds, self.list_age_seconds.clone());
        registry.register("manifest_downloads", "Ticket lists sent to devices", self.manifests.clone());
        registry.register("heartbeats", "Heartbeats of devices answered", self.heartbeats.clone());
        registry.register("devices_paired", "Devices that got a key", self.pairings.clone());
        registry.register("devices_revoked", "Devices whose key was withdrawn", self.revocations.clone());
        let devices = "Devices of live events, by state and version of the app; the same on every node";
        registry.register("devices", devices, self.devices.clone());
        let pending =
            "Scans that devices of live events have not handed over, as they said last; the same on every node";
        registry.register("pending_scans", pending, self.pending_scans.clone());
        let most = "The most of them on one device; the same on every node";
        registry.register("pending_scans_max", most, self.pending_scans_max.clone());
    }

    fn register_server(&self, registry: &mut Registry) {
        registry.register("store_up", "1 while the store answers this node", self.store_up.clone());
        registry.register("http_requests", "Requests by method, route and status class", self.requests.clone());
        let seconds = Unit::Seconds;
        registry.register_with_unit("http_duration", "Requests by route", seconds, self.request_seconds.clone());
        registry.register("runs", "Runs of pass workflows carried out, by how it went this time", self.runs.clone());
        let carried = "A run, from its taking to its end or to a setback";
        registry.register_with_unit("run_duration", carried, Unit::Seconds, self.run_seconds.clone());
        registry.register("runs_under_way", "Runs under way on this node now", self.runs_under_way.clone());
        let stopped =
            "1 while the mail server refuses the account or itself, so that all passes wait; the same on every node";
        registry.register("mail_stopped", stopped, self.mail_stopped.clone());
        registry.register("streams_open", "Live streams open now", self.streams.clone());
        registry.register("streams_dropped", "Live streams whose client did not keep up", self.streams_dropped.clone());
    }

    /// Adds a device's measurements. Each counts at the upper bound of its range, so no figure is shown smaller than
    /// it was.
    pub fn add_figures(&self, figures: &Figures) {
        for (histogram, observed) in
            [(&self.scan_seconds, &figures.scan_ms), (&self.time_to_sync_seconds, &figures.sync_ms)]
        {
            for Observed(bound_ms, count) in observed {
                // The count comes from the device. The bound keeps it from making this loop long.
                for _ in 0..(*count).min(MOST_OBSERVED) {
                    histogram.observe(*bound_ms as f64 / 1_000.0);
                }
            }
        }
        if let Some(age_ms) = figures.list_age_ms {
            self.list_age_seconds.observe(age_ms as f64 / 1_000.0);
        }
    }

    /// Replaces the figures about devices by the newest ones from the store.
    pub fn set_fleet(&self, fleet: &Fleet) {
        self.devices.clear();
        for ((presence, version), count) in &fleet.devices {
            let label = DeviceLabel { state: presence.as_str(), app_version: version.clone() };
            self.devices.get_or_create(&label).set(whole(*count));
        }
        self.pending_scans.set(whole(fleet.pending));
        self.pending_scans_max.set(whole(fleet.pending_most));
    }

    /// The text that `/metrics` answers.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }

    /// The table of `docs/telemetry.md`: name, kind, labels and meaning of every family.
    pub fn table() -> String {
        let (metrics, route) = (Self::default(), String::new());
        // A family shows nothing before it has a label.
        metrics.devices.get_or_create(&DeviceLabel { state: "", app_version: String::new() }).set(0);
        metrics.request_seconds.get_or_create(&RouteLabel { route: route.clone() }).observe(0.0);
        metrics.requests.get_or_create(&RequestLabel { method: String::new(), route, status: "" }).inc_by(0);
        let (text, mut out) =
            (metrics.text(), String::from("| Metric | Kind | Labels | Meaning |\n|---|---|---|---|\n"));
        let kinds: BTreeMap<&str, &str> =
            text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
        for (name, help) in text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' ')) {
            let kind = kinds.get(name).copied().unwrap_or_default();
            let end = if kind == "counter" { "_total" } else { "" };
            out += &format!("| `{name}{end}` | {kind} | {} | {help} |\n", labels_of(&text, name));
        }
        out
    }
}

/// The names of a family's labels, taken from its first sample, without the bounds of a histogram.
fn labels_of(text: &str, family: &str) -> String {
    let samples = text.lines().filter_map(|line| line.strip_prefix(family)?.split_once('{'));
    let of_family = |end: &&str| matches!(*end, "" | "_total" | "_count" | "_info");
    let found = samples.filter(|(end, _)| of_family(end)).find_map(|(_, rest)| rest.split_once('}'));
    let names = found.into_iter().flat_map(|(labels, _)| labels.split(',')).filter_map(|label| label.split_once('='));
    names.map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The most observations of one range in a heartbeat: more than a device makes in an hour.
const MOST_OBSERVED: u32 = 10_000;

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The filter of the log on standard error: that of `RUST_LOG`, or `standard` without it.
pub fn filter(standard: &str) -> EnvFilter {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(standard));
    // At `debug` the database driver would log every statement's values: guests' names and addresses, hashes of
    // passwords.
    let talks = filter.max_level_hint().is_none_or(|level| level > LevelFilter::INFO);
    let quiet: &[&str] = if talks { &["tokio_postgres=info", "tokio_postgres::query=info"] } else { &[] };
    let filter = quiet.iter().filter_map(|quiet| quiet.parse().ok()).fold(filter, EnvFilter::add_directive);
    // Spans for a collector would make every log line longer.
    format!("{TRACES}=off").parse().into_iter().fold(filter, EnvFilter::add_directive)
}

/// Turns on the log on standard error, as JSON or as text. Gives `false` if a log was on already.
pub fn init(json: bool, standard: &str) -> bool {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(standard))
        .with_ansi(std::io::stderr().is_terminal())
        // If the log cannot be written, for example on a full disk, the logging thread must not end.
        .log_internal_errors(false)
        .with_writer(std::io::stderr);
    if json { builder.json().try_init().is_ok() } else { builder.try_init().is_ok() }
}

#[cfg(test)]
mod tests {
    use admit_app::devices::Presence;

    use super::*;

    #[test]
    fn the_documentation_has_the_table_of_the_code() {
        let (page, table) = (include_str!("../../../docs/telemetry.md"), Metrics::table());
        assert!(page.contains(&table), "docs/telemetry.md needs this table:\n\n{table}");
    }

    #[test]
    fn what_a_device_measured_counts_by_its_upper_bound() {
        let metrics = Metrics::default();
        let figures = Figures {
            id: 1,
            scan_ms: vec![Observed(8, 3), Observed(256, 1)],
            sync_ms: vec![Observed(1 << 20, 2)],
            list_age_ms: Some(2_000),
        };
        metrics.add_figures(&figures);
        let text = metrics.text();
        for line in [
            "admit_scan_latency_seconds_bucket{le=\"0.008\"} 3",
            "admit_scan_latency_seconds_count 4",
            "admit_time_to_sync_seconds_count 2",
            "admit_list_age_seconds_sum 2.0",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn a_state_that_no_device_is_in_any_more_is_not_shown_any_more() {
        let metrics = Metrics::default();
        let of = |presence, pending| Fleet {
            devices: BTreeMap::from([((presence, "0.1.0".to_owned()), 1)]),
            pending,
            pending_most: pending,
        };
        metrics.set_fleet(&of(Presence::Online, 7));
        metrics.set_fleet(&of(Presence::Silent, 9));
        let text = metrics.text();
        assert!(text.contains("admit_devices{state=\"silent\",app_version=\"0.1.0\"} 1"), "{text}");
        assert!(!text.contains("online") && text.contains("admit_pending_scans_max 9"), "{text}");
    }
}
