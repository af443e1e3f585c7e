//! The report of a load, as text and as JSON.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::cost::Cost;

/// The pattern in which the phones scan and upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// The scans are spread evenly over the time, and each phone uploads every few seconds.
    Steady,
    /// All phones come back online within one second, with everything that they scanned without a network.
    Storm,
    /// Like steady, but no phone reaches the server in the middle third of the time (S1 §13.3's resync after an
    /// outage).
    Resync,
    /// Like steady, over a slow network: 150 ms delay and 16 kB/s in each direction.
    Slow,
}

/// The uploads of a phone or of all phones, with the durations of those that were answered.
#[derive(Debug, Default)]
pub struct Uploads {
    times: Vec<Duration>,
    /// Tries that the server put off or that got no answer.
    pub repeated: u64,
}

impl Uploads {
    /// Adds an answered upload.
    pub fn answered(&mut self, took: Duration) {
        self.times.push(took);
    }
    /// Adds another phone's uploads.
    pub fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.repeated += other.repeated;
    }
    /// The duration in milliseconds within which this share of uploads was answered.
    fn within(&self, percent: usize) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        let place = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    }
}

/// The result of a load.
#[derive(Debug)]
pub struct Report {
    /// The mode of the load.
    pub mode: Mode,
    /// The number of phones.
    pub phones: usize,
    /// The number of scans that the phones made.
    pub sent: u64,
    /// The time from the first scan or upload to the last answer.
    pub took: Duration,
    /// All uploads.
    pub uploads: Uploads,
    /// The number of scans that the server lacks.
    pub missing: u64,
    /// The number of persons that the server counted.
    pub counted: u64,
    /// The longest time from the end of the outage until a phone had uploaded its scans; `None` without an outage.
    pub caught_up: Option<Duration>,
    /// The server's use of processor and memory during the load; `None` if it is not a process of this machine.
    pub cost: Option<Cost>,
}

impl Report {
    /// Whether the server has every scan exactly once.
    pub fn whole(&self) -> bool {
        self.missing == 0 && self.counted == self.sent
    }
    fn twice(&self) -> u64 {
        self.counted.saturating_sub(self.sent)
    }
    fn a_second(&self) -> f64 {
        self.sent as f64 / self.took.as_secs_f64().max(f64::EPSILON)
    }
    fn mode(&self) -> &'static str {
        match self.mode {
            Mode::Steady => "steady",
            Mode::Storm => "storm",
            Mode::Resync => "resync",
            Mode::Slow => "slow",
        }
    }
    /// The report as JSON.
    pub fn json(&self) -> Value {
        json!({
            "mode": self.mode(),
            "phones": self.phones,
            "scans": self.sent,
            "seconds": self.took.as_secs_f64(),
            "scans_per_second": self.a_second(),
            "uploads": self.uploads.times.len(),
            "repeated": self.uploads.repeated,
            "upload_ms": {
                "p50": self.uploads.within(50),
                "p95": self.uploads.within(95),
                "p99": self.uploads.within(99),
                "max": self.uploads.within(100),
            },
            "caught_up_seconds": self.caught_up.map(|time| time.as_secs_f64()),
            "missing": self.missing,
            "counted": self.counted,
            "twice": self.twice(),
            "server": self.cost.map(|cost| json!({
                "processor_seconds": cost.processor.as_secs_f64(),
                "memory_bytes": cost.memory,
            })),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let within = |percent| self.uploads.within(percent);
        writeln!(f, "phones      {} ({})", self.phones, self.mode())?;
        writeln!(f, "scans       {} in {:.1} s: {:.0} a second", self.sent, self.took.as_secs_f64(), self.a_second())?;
        writeln!(f, "uploads     {}, {} tries put off or lost", self.uploads.times.len(), self.uploads.repeated)?;
        writeln!(
            f,
            "answered    p50 {:.0} ms, p95 {:.0} ms, p99 {:.0} ms, slowest {:.0} ms",
            within(50),
            within(95),
            within(99),
            within(100)
        )?;
        if let Some(time) = self.caught_up {
            writeln!(f, "caught up   {:.1} s after the server was back", time.as_secs_f64())?;
        }
        writeln!(f, "asked back  {} missing, {} counted, {} of them twice", self.missing, self.counted, self.twice())?;
        if let Some(cost) = self.cost {
            let share = cost.processor.as_secs_f64() / self.took.as_secs_f64().max(f64::EPSILON);
            let megabytes = cost.memory >> 20;
            writeln!(
                f,
                "server      {:.1} s of processor ({share:.2} cores), at most {megabytes} MB",
                cost.processor.as_secs_f64()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(missing: u64, counted: u64) -> Report {
        let mut uploads = Uploads::default();
        (1..=200).rev().for_each(|ms| uploads.answered(Duration::from_millis(ms)));
        let took = Duration::from_secs(2);
        Report { mode: Mode::Steady, phones: 2, sent: 10, took, uploads, missing, counted, caught_up: None, cost: None }
    }

    #[test]
    fn a_scan_that_is_missing_or_there_twice_is_seen() {
        assert!(report(0, 10).whole());
        assert!(!report(1, 10).whole() && !report(0, 9).whole() && !report(0, 11).whole());
        assert_eq!(report(0, 11).json()["twice"], 1);
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let json = report(0, 10).json();
        let ms = |name: &str| json["upload_ms"][name].as_f64().unwrap().round();
        assert_eq!([ms("p50"), ms("p95"), ms("p99"), ms("max")], [100.0, 190.0, 198.0, 200.0]);
        assert_eq!(Uploads::default().within(99), 0.0);
    }
}
