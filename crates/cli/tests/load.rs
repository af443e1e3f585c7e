//! A small load against a real server: every scan is stored once, and the report says so.

#[allow(dead_code, reason = "other tests use the rest")]
mod serving;

use serde_json::Value;
use serving::{Folder, Server};

/// Runs `admit load` against the demo, and gives its JSON report.
async fn load(server: &Server, folder: &Folder, arguments: &[&str]) -> Value {
    let file = folder.0.join("load.json");
    let pid = server.child.id().unwrap().to_string();
    let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_admit"))
        .args(["load", "--server", &server.url(), "--token", server.told["api_token"].as_str().unwrap()])
        .args(["--pid", &pid, "--json"])
        .arg(&file)
        .args(arguments)
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("0 missing"), "{said}");
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn all_there(report: &Value, scans: u64) {
    let number = |name: &str| report[name].as_u64();
    assert_eq!([number("scans"), number("counted")], [Some(scans); 2], "{report}");
    assert_eq!([number("missing"), number("twice")], [Some(0); 2], "{report}");
    assert!(report["server"]["memory_bytes"].as_u64().unwrap() > 0, "{report}");
}

#[tokio::test]
async fn every_scan_of_a_crowd_is_asked_back() {
    let folder = Folder::new("load");
    let server = Server::start(&folder.0).await;
    let steady = load(&server, &folder, &["--phones", "4", "--scans", "5", "--seconds", "1"]).await;
    all_there(&steady, 20);
    let storm = load(&server, &folder, &["--mode", "storm", "--phones", "3", "--scans", "1100"]).await;
    all_there(&storm, 3_300);
    assert_eq!(storm["uploads"].as_u64(), Some(6), "a thousand scans an upload at most");
    server.kill().await;
    serving::in_order(&folder.0);
}

#[tokio::test]
async fn a_crowd_is_asked_back_after_an_outage_and_over_a_slow_network() {
    let folder = Folder::new("load-outage");
    let server = Server::start(&folder.0).await;
    // The run is longer than the scanner's rhythm, so some uploads come before the outage, some during it, some after
    // it.
    let cut = load(&server, &folder, &["--mode", "resync", "--phones", "4", "--scans", "9", "--seconds", "12"]).await;
    all_there(&cut, 36);
    assert!(cut["repeated"].as_u64().unwrap() > 0, "the outage stopped nobody: {cut}");
    assert!(cut["caught_up_seconds"].as_f64().is_some(), "{cut}");
    let slow = load(&server, &folder, &["--mode", "slow", "--phones", "3", "--scans", "4", "--seconds", "1"]).await;
    all_there(&slow, 12);
    // The delay counts in both directions.
    assert!(slow["upload_ms"]["p50"].as_f64().unwrap() >= 300.0, "that network is quick: {slow}");
    server.kill().await;
    serving::in_order(&folder.0);
}

#[tokio::test]
async fn a_crowd_comes_to_the_demo() {
    let folder = Folder::new("crowd");
    let server = Server::start_with(&folder.0, &[("ADMIT_DEMO_CROWD", "true".into())]).await;
    let event = server.told["event_id"].as_str().unwrap();
    let inside = || async {
        let asked = admit_server::adapters::http_client::builder()
            .build()
            .unwrap()
            .get(format!("{}/api/events/{event}/occupancy", server.url()));
        let answer = asked.bearer_auth(server.told["api_token"].as_str().unwrap()).send().await.unwrap();
        serde_json::from_slice::<Value>(&answer.bytes().await.unwrap()).unwrap()["entered"].as_u64().unwrap()
    };
    let begun = std::time::Instant::now();
    while inside().await < 5 {
        assert!(begun.elapsed().as_secs() < 60, "nobody came in a minute");
        tokio::time::sleep(std::time::Duration::from_millis(250)).await; // tidy-allow: between two looks
    }
    server.kill().await;
    serving::in_order(&folder.0);
}
