//! Reads the files of `ops/`. The rules and their tests are read line by line, which suffices for their layout,
//! because promtool has checked the rest.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

const RULES: &str = "ops/prometheus/admit.rules.yml";
const TESTS: [&str; 2] = ["ops/prometheus/admit.tests.yml", "ops/prometheus/admit-days.tests.yml"];

/// A file of the repository, by its path from the root.
pub fn path(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().unwrap_or_else(|error| {
        panic!("{path}: {error}");
    })
}

pub fn read(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// The text after `key: ` in a line of YAML, also in the first line of a list item; `None` if the line has another
/// key.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.trim().trim_start_matches("- ").strip_prefix(key)?.strip_prefix(':').map(str::trim)
}

fn values(text: &str, key: &str) -> Vec<String> {
    text.lines().filter_map(|line| value(line, key)).map(str::to_owned).collect()
}

/// The names of the alerts, in the order of the file.
pub fn alerts() -> Vec<String> {
    values(&read(RULES), "alert")
}

/// The names of the series that the rules record.
pub fn records() -> Vec<String> {
    values(&read(RULES), "record")
}

/// The values of a field of one alert.
pub fn fields_of(alert: &str, field: &str) -> Vec<String> {
    let text = read(RULES);
    let rule = text.lines().skip_while(|line| value(line, "alert") != Some(alert)).skip(1);
    let rule: Vec<&str> = rule.take_while(|line| value(line, "alert").is_none()).collect();
    values(&rule.join("\n"), field)
}

/// The names of the runbooks, without `.md`.
pub fn runbooks() -> BTreeSet<String> {
    let folder = std::fs::read_dir(path("ops/runbooks")).unwrap();
    let names = folder.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.map(|name| name.strip_suffix(".md").expect("a runbook is Markdown").to_owned()).collect()
}

/// The alerts that the rules' tests expect to fire, and those that they expect not to.
pub fn cases() -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut fires, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for text in TESTS.map(read) {
        let mut alert = None;
        for line in text.lines() {
            if let Some(name) = value(line, "alertname") {
                alert = Some(name.to_owned());
            }
            let Some(expected) = value(line, "exp_alerts") else { continue };
            let alert = alert.take().expect("an expectation belongs to an alert");
            match expected {
                "[]" => silent.insert(alert),
                _ => fires.insert(alert),
            };
        }
    }
    (fires, silent)
}

/// Runs promtool in the folder of the rules; it must succeed.
pub fn promtool(arguments: &[&str]) {
    let run = Command::new("/usr/bin/promtool").args(arguments).current_dir(path("ops/prometheus")).output();
    let run = run.expect("promtool is part of Debian's package prometheus: cargo xtask setup");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "promtool {arguments:?}: {out}{err}");
}

pub fn dashboard() -> Value {
    serde_json::from_str(&read("ops/grafana/admit.json")).unwrap()
}

/// All panels, including rows.
pub fn panels(dashboard: &Value) -> Vec<&Value> {
    dashboard["panels"].as_array().unwrap().iter().collect()
}

/// The queries of all panels, unchanged.
pub fn queries(dashboard: &Value) -> Vec<String> {
    let targets = panels(dashboard).into_iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// The names of the server's metrics in a text.
pub fn metrics_of(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == ':'));
    words.filter(|word| word.starts_with("admit_")).map(str::to_owned).collect()
}

/// The names of the server's metrics in the rules.
pub fn metrics_of_rules() -> BTreeSet<String> {
    metrics_of(&read(RULES))
}
