//! Planted names and secrets must not appear in any log, metric, problem or readable part of a backup. So a person who
//! watches learns neither who came nor what opens a door. (Traces: `crates/cli/tests/traces.rs`.)

use crate::serving::said;
use crate::story::{GUEST, GUEST_EMAIL, Story};

/// Planted texts that name a guest or a device.
const NAMES: [&str; 5] = [GUEST, "Zwetschgenberg", GUEST_EMAIL, "Qanarinote", "Qanaridevice"];

/// The first line that contains this text.
fn line_with<'a>(text: &'a str, planted: &str) -> Option<&'a str> {
    text.lines().find(|line| line.contains(planted))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planted_names_and_secrets_are_in_no_log_metric_problem_or_plain_part_of_a_backup() {
    // Logs everything that our crates and the libraries can log.
    let mut story = Story::tell_with(&[("RUST_LOG", "trace".to_owned())]).await;
    let metrics = story.metrics_with("admit_devices{").await;
    let told = story.end().await;
    assert!(told.log.contains("conflict.detected") && told.problems.len() >= 2, "there is something to look at");

    let secret = std::fs::read_to_string(told.folder.0.join("secret")).unwrap();
    let server_secret = ("the server's secret", secret.trim().to_owned());
    let secrets: Vec<_> = told.secrets.iter().chain([&server_secret]).collect();
    let problems = told.problems.join("\n");
    for (place, text) in [("the log", &told.log), ("the metrics", &metrics), ("the problems", &problems)] {
        for name in NAMES {
            assert_eq!(line_with(text, name), None, "{name} is in {place}");
        }
        for (what, planted) in &secrets {
            assert_eq!(line_with(text, planted), None, "the {what} is in {place}");
        }
    }
    for label in ["qanari-by-hand", "QANARI", "device_id", "ticket_id"] {
        assert_eq!(line_with(&metrics, label), None, "{label} is in the metrics");
    }

    // A backup holds the guests in its database on purpose. Nothing that opens a door is readable in it, except the
    // secret in the file of that name.
    let copy = told.folder.0.join("copy");
    said(&["backup", "--to", copy.to_str().unwrap()], &told.folder.0);
    for file in std::fs::read_dir(&copy).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let holds = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        if name != "admit.db" {
            assert!(!NAMES.iter().any(|planted| holds(planted)), "a guest in {name}");
        }
        let openers = secrets.iter().filter(|(what, _)| !matches!(*what, "barcode"));
        for (what, planted) in openers.filter(|(what, _)| name != "secret" || *what != "the server's secret") {
            assert!(!holds(planted), "the {what} is readable in the backup's {name}");
        }
    }
}
