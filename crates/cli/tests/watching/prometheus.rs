//! A Prometheus for one test, with the rules of `ops/`.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::ops;

/// The time limit for its start and its first reading of the target.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Prometheus {
    url: String,
    client: Client,
    child: Child,
}

impl Prometheus {
    /// Starts a Prometheus that reads a server's metrics every second, and waits until it answers.
    pub async fn start(folder: &Path, metrics: &str) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let config = folder.join("prometheus.yml");
        let target = metrics.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let rules = ops::path("ops/prometheus/admit.rules.yml");
        let text = format!(
            "global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\nrule_files: ['{}']\nscrape_configs:\n  \
             - job_name: admit\n    static_configs:\n      - targets: ['{target}']\n",
            rules.display()
        );
        std::fs::write(&config, text).unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let child = Command::new("/usr/bin/prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address={free}"))
            .arg("--log.level=error")
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("Debian's package prometheus is missing: cargo xtask setup");
        let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
        let prometheus = Self { url: format!("http://{free}"), client, child };
        let ready = format!("{}/-/ready", prometheus.url);
        let begun = Instant::now();
        while !prometheus.client.get(&ready).send().await.is_ok_and(|answer| answer.status().is_success()) {
            assert!(begun.elapsed() < PATIENCE, "Prometheus does not start");
            tokio::time::sleep(Duration::from_millis(50)).await; // tidy-allow: the pause of a poll loop
        }
        prometheus
    }

    /// Kills it with SIGKILL, and waits until it is gone, because its folder is removed next.
    pub async fn stop(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until it has read the server's metrics, so that it sees later increases.
    pub async fn reads_its_target(&self) {
        let begun = Instant::now();
        while !self.has_a_number("up{job=\"admit\"} == 1").await {
            assert!(begun.elapsed() < PATIENCE, "Prometheus cannot read the server's metrics");
            tokio::time::sleep(Duration::from_millis(50)).await; // tidy-allow: the pause of a poll loop
        }
    }

    /// Whether a query returns a number. A ratio of nothing to nothing does not count.
    pub async fn has_a_number(&self, query: &str) -> bool {
        let request = self.client.post(format!("{}/api/v1/query", self.url));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let answer: Value =
            request.body(format!("query={}", encoded(query))).send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let values = answer["data"]["result"].as_array().unwrap().iter().map(|series| &series["value"][1]);
        values.filter_map(Value::as_str).any(|value| value.parse().is_ok_and(|value: f64| !value.is_nan()))
    }

    /// Checks that every rule could be evaluated with the server's real metrics.
    pub async fn every_rule_is_healthy(&self) {
        let answer = self.client.get(format!("{}/api/v1/rules", self.url)).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        let groups = answer["data"]["groups"].as_array().unwrap().iter();
        let rules: Vec<&Value> = groups.flat_map(|group| group["rules"].as_array().unwrap()).collect();
        assert_eq!(rules.len(), ops::alerts().len() + ops::records().len());
        for rule in rules {
            assert_eq!(rule["health"], "ok", "{rule}");
        }
    }
}

/// Encodes a text as a value of a form.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
