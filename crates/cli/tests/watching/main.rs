//! Tests of the folder `ops/`. Every alert has a runbook and tests. Every query of the rules and the dashboard finds
//! its metrics on a real server, which a real Prometheus reads.

#[path = "../serving/mod.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod serving;
#[path = "../../../server/tests/it/signed.rs"]
mod signed;

mod ops;
mod prometheus;
mod doors;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use doors::{Admit, Doors};
use prometheus::Prometheus;
use serving::Folder;

/// The time limit until the queries find data.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time between two rounds of scans, heartbeats and queries.
const ROUND: Duration = Duration::from_millis(250);

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let alerts = ops::alerts();
    assert!(alerts.len() >= 20, "{alerts:?}");
    let index = ops::read("ops/runbooks/README.md");
    for alert in &alerts {
        let path = format!("ops/runbooks/{alert}.md");
        assert_eq!(ops::fields_of(alert, "runbook_url"), [path.as_str()], "{alert}");
        for field in ["severity", "summary", "description"] {
            assert_eq!(ops::fields_of(alert, field).len(), 1, "{alert} has no {field}");
        }
        let runbook = ops::read(&path);
        assert!(runbook.starts_with(&format!("# {alert}\n")), "{path} does not begin with the alert's name");
        assert!(index.contains(&format!("[{alert}]({alert}.md)")), "the index does not name {alert}");
    }
    let mut runbooks = ops::runbooks();
    runbooks.retain(|name| name != "README");
    assert_eq!(runbooks, alerts.into_iter().collect::<BTreeSet<_>>(), "runbooks, and alerts");
}

#[test]
fn promtool_checks_rules_config_and_unit_tests() {
    ops::promtool(&["check", "rules", "admit.rules.yml"]);
    ops::promtool(&["check", "config", "prometheus.yml"]);
    ops::promtool(&["test", "rules", "admit.tests.yml", "admit-days.tests.yml"]);
    let (fires, silent) = ops::cases();
    let alerts = ops::alerts().into_iter().collect::<BTreeSet<_>>();
    assert_eq!(fires, alerts, "alerts that a test makes fire, and all alerts");
    assert_eq!(silent, alerts, "alerts that a test keeps silent, and all alerts");
}

#[test]
fn the_dashboard_can_be_imported_anywhere() {
    let dashboard = ops::dashboard();
    assert_eq!(dashboard["schemaVersion"], 39);
    let variable = &dashboard["templating"]["list"][0];
    assert_eq!((&variable["name"], &variable["type"]), (&"datasource".into(), &"datasource".into()));
    let mut ids = BTreeSet::new();
    for panel in ops::panels(&dashboard) {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels with one id: {panel}");
        if panel["type"] != "row" {
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{panel}");
            assert!(!panel["targets"].as_array().unwrap().is_empty(), "{panel}");
        }
    }
    for query in ops::queries(&dashboard) {
        assert!(!query.replace("$__rate_interval", "").contains('$'), "{query}");
    }
}

#[tokio::test]
async fn every_query_of_the_dashboard_returns_data_under_load() {
    let folder = Folder::new("watching");
    let admit = Admit::start(&folder.0).await;
    let prometheus = Prometheus::start(&folder.0.join("prometheus"), &admit.metrics).await;
    prometheus.reads_its_target().await;
    let mut doors = Doors::open(&admit).await;
    let load = admit.load().spawn().unwrap();

    let dashboard = ops::queries(&ops::dashboard());
    let dashboard = dashboard.iter().map(|query| query.replace("$__rate_interval", "1m"));
    let names = ops::metrics_of_rules().into_iter().chain(ops::records());
    let mut open: BTreeSet<String> = dashboard.chain(names).collect();
    let begun = Instant::now();
    while !open.is_empty() {
        assert!(begun.elapsed() < PATIENCE, "these return nothing: {open:#?}");
        doors.round(&admit).await;
        let mut still = BTreeSet::new();
        for query in open {
            if !prometheus.has_a_number(&query).await {
                still.insert(query);
            }
        }
        open = still;
        tokio::time::sleep(ROUND).await; // tidy-allow: the pause of a poll loop
    }
    let load = load.wait_with_output().await.unwrap();
    assert!(load.status.success(), "{}", String::from_utf8_lossy(&load.stderr));
    prometheus.every_rule_is_healthy().await;

    // A query with `or vector(0)` returns data even for a metric that does not exist, so the names are compared too.
    let shown = admit.shown_metrics().await;
    let used = ops::metrics_of_rules().into_iter().chain(ops::metrics_of(&ops::queries(&ops::dashboard()).join("\n")));
    let unknown: BTreeSet<String> = used.filter(|name| !shown.contains(name)).collect();
    assert!(unknown.is_empty(), "the server shows no such metrics: {unknown:?}");
    prometheus.stop().await;
    admit.stop().await;
}
