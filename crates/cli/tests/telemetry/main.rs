//! Tests what an operations team sees of one full story, and what must not appear there (S1 §10.1, spec §7). The story
//! has a demo on the real binary, one scanner with the real engine, and one device whose requests the test writes
//! itself.

#[path = "../serving/mod.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod serving;
#[path = "../../../server/tests/it/signed.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod signed;
#[path = "../scenarios/scanner.rs"]
#[allow(dead_code, reason = "each target uses its part of the harness")]
mod scanner;
mod story;
mod canary;

use std::collections::BTreeMap;

use serde_json::Value;

use story::Story;

/// The fields of the events in a JSON log, in order.
fn events(log: &str) -> Vec<Value> {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.map(|line| line["fields"].clone()).filter(|fields| fields["event"].is_string()).collect()
}

/// The sum of a metric over the samples whose labels contain a text.
fn sum(metrics: &str, name: &str, label: &str) -> f64 {
    let of_name = metrics.lines().filter(|line| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])) && line.contains(label)
    });
    of_name.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_10_1_one_story_logs_each_event_once_where_it_happened() {
    let told = Story::tell().await.end().await;
    let events = events(&told.log);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &events {
        *counts.entry(event["event"].as_str().unwrap()).or_default() += 1;
    }
    let of = |name: &str| counts.get(name).copied().unwrap_or_default();
    assert_eq!(of("device.paired"), 2, "the scanner and the device by hand: {counts:?}");
    // Both devices fetched the list. Pairing and revoking the second changed it, and the scanner may have fetched that
    // version too.
    assert!((2..=4).contains(&of("manifest.download")), "{counts:?}");
    let verified = events.iter().filter(|event| event["event"] == "manifest.verified");
    let versions: Vec<u64> = verified.filter_map(|event| event["version"].as_u64()).collect();
    assert!(!versions.is_empty() && versions.is_sorted_by(|one, next| one < next), "each once: {versions:?}");
    // The scanner admitted one guest. The test's device sent the same ticket and an unknown code. Neither the repeat
    // of that batch nor the upload of a scan that the server was asked about logs a scan again.
    assert_eq!((of("scan.valid"), of("scan.invalid")), (2, 1), "{counts:?}");
    assert!((2..=3).contains(&of("scan.local")), "the scanner may have asked the server: {counts:?}");
    assert_eq!((of("conflict.detected"), of("device.revoked")), (1, 1), "{counts:?}");
    // One batch has a wrong field, one is of the revoked device.
    assert_eq!(of("sync.failed"), 2, "{counts:?}");
    assert!(
        of("request.malformed") >= 1 && of("access.refused") >= 1,
        "with the caller's address (ASVS 16.3): {counts:?}"
    );
    assert_eq!(of("session.refused"), 1, "{counts:?}");
    let uploads = of("sync.success");
    assert_eq!(of("sync.attempt"), uploads + 2, "{counts:?}");
    let repeated = events.iter().filter(|event| event["event"] == "sync.success" && event["repeated"] == true);
    assert_eq!(repeated.count(), 1, "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_10_2_and_s2_11_the_metrics_of_one_story_are_what_happened_in_it() {
    let mut story = Story::tell().await;
    let metrics = story.metrics_with("admit_devices{state=\"online\"").await;
    assert_eq!(sum(&metrics, "admit_scans_total", "outcome=\"valid\""), 2.0, "{metrics}");
    assert_eq!(sum(&metrics, "admit_scans_total", "outcome=\"invalid\""), 1.0, "{metrics}");
    assert_eq!(sum(&metrics, "admit_conflicts_total", ""), 1.0);
    assert_eq!(sum(&metrics, "admit_syncs_total", "status=\"refused\""), 2.0);
    assert_eq!(sum(&metrics, "admit_devices_paired_total", ""), 2.0);
    assert_eq!(sum(&metrics, "admit_devices_revoked_total", ""), 1.0);
    assert_eq!(sum(&metrics, "admit_devices", ""), 1.0, "a revoked device is no device: {metrics}");
    assert_eq!(sum(&metrics, "admit_store_up", ""), 1.0);
    // The duration of the scanner's verdict, which its heartbeat reported.
    assert_eq!(sum(&metrics, "admit_scan_latency_seconds_count", ""), 1.0, "{metrics}");
    assert_eq!(sum(&metrics, "admit_time_to_sync_seconds_count", ""), 1.0, "{metrics}");
    assert!(sum(&metrics, "admit_list_age_seconds_count", "") >= 1.0);
    // The public address shows no metric.
    let public = story.get("/metrics").await;
    assert!(!public.contains("admit_scans"), "{public}");
    story.end().await;
}
