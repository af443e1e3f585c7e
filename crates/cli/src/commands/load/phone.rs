//! One phone of the load.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use admit_core::ids::{BatchId, LogId, ScanId};
use admit_core::limits::{CHUNK_SCANS, REQUEST_MS, RETRY_AFTER_MAX_MS, RETRY_FIRST_MS, RETRY_MAX_MS, SYNC_EVERY_MS};
use admit_core::wire::scanning::{LogStatusAnswer, LogStatusRequest, PairAnswer, SyncAnswer};
use admit_sim::fake_phone::FakePhone;
use anyhow::{Context, ensure};
use reqwest::Response;
use reqwest::header::RETRY_AFTER;

use super::office::{Office, Ticket, answered, now_ms, uuid};
use super::report::Uploads;

/// The time between two scans made without a network, in milliseconds.
const STEP_MS: i64 = 1_000;
/// The most tries of one upload, those during an outage not counted. So many tries with the longest pauses take most of
/// an hour.
const TRIES: u32 = 100;

/// A phone, and the people who stand before it.
#[derive(Debug)]
pub struct Phone {
    office: Office,
    phone: FakePhone,
    queue: VecDeque<Ticket>,
    /// Scans that are not uploaded yet.
    held: Vec<String>,
    /// The beginning and end of the outage, if there is one.
    outage: Option<(Instant, Instant)>,
    /// When the last scan of the outage was uploaded.
    caught_up: Option<Instant>,
}

impl Phone {
    /// A phone that has scanned nobody yet.
    pub fn new(office: &Office, paired: PairAnswer, tickets: Vec<Ticket>) -> anyhow::Result<Self> {
        let log_id = LogId::new(uuid()?.replace('-', ""))?;
        let phone = FakePhone::new(paired, log_id, uuid()?)?;
        Ok(Self {
            office: office.clone(),
            phone,
            queue: tickets.into(),
            held: Vec::new(),
            outage: None,
            caught_up: None,
        })
    }

    /// Makes the server unreachable between these moments.
    pub fn cut_off(&mut self, from: Instant, to: Instant) {
        self.outage = Some((from, to));
    }
    fn is_cut_off(&self) -> bool {
        let now = Instant::now();
        self.outage.is_some_and(|(from, to)| from <= now && now < to)
    }
    /// The time from the outage's end until the last scan of the outage was uploaded; `None` before that.
    pub fn caught_up(&self) -> Option<Duration> {
        Some(self.caught_up?.saturating_duration_since(self.outage?.1))
    }

    fn scan(&mut self, at_ms: i64) -> anyhow::Result<()> {
        let (ticket_id, hash) = self.queue.pop_front().context("nobody is left")?;
        let item = self.phone.admit(ScanId::new(uuid()?)?, &ticket_id, hash, at_ms);
        self.held.push(item.map_err(|error| anyhow::anyhow!("{error}"))?);
        Ok(())
    }

    /// Scans the next people as if they had come earlier: `ago` is how long ago each came. The next upload sends these
    /// scans.
    pub fn scan_before(&mut self, ago: &[Duration]) -> anyhow::Result<()> {
        let now = now_ms();
        ago.iter().take(self.queue.len()).try_for_each(|ago| self.scan(now - ago.as_millis() as i64))
    }

    /// Scans everybody as if there was no network; the last one now.
    pub fn scan_offline(&mut self) -> anyhow::Result<()> {
        let now = now_ms();
        for left in (0..self.queue.len() as i64).rev() {
            self.scan(now - left * STEP_MS.min(3_600_000 / (left + 1)))?;
        }
        Ok(())
    }

    /// Scans people one after the other from `start`, with `gap` between them, and uploads in the scanner's own rhythm.
    /// If an upload takes longer than `gap`, the next scans still have the times at which their people came.
    pub async fn steady(&mut self, start: Instant, gap: Duration) -> anyhow::Result<Uploads> {
        let mut uploads = Uploads::default();
        let (mut next, mut sent) = (start, start);
        while !self.queue.is_empty() {
            tokio::time::sleep_until(next.into()).await;
            while !self.queue.is_empty() && next <= Instant::now() {
                self.scan(now_ms() - next.elapsed().as_millis() as i64)?;
                next += gap;
            }
            if self.queue.is_empty() || sent.elapsed() >= Duration::from_millis(SYNC_EVERY_MS as u64) {
                sent = Instant::now();
                self.upload(&mut uploads).await?;
            }
        }
        Ok(uploads)
    }

    /// Comes back at `start`, and uploads all its scans.
    pub async fn storm(&mut self, start: Instant) -> anyhow::Result<Uploads> {
        let mut uploads = Uploads::default();
        tokio::time::sleep_until(start.into()).await;
        self.upload(&mut uploads).await?;
        Ok(uploads)
    }

    /// Uploads the scans, chunk by chunk. Each chunk keeps its batch id until it is answered.
    async fn upload(&mut self, uploads: &mut Uploads) -> anyhow::Result<()> {
        while !self.held.is_empty() {
            let chunk: Vec<String> = self.held.drain(..self.held.len().min(CHUNK_SCANS)).collect();
            let scans = chunk.len();
            let body = self.phone.batch(BatchId::new(uuid()?)?, chunk).map_err(|error| anyhow::anyhow!("{error}"))?;
            let answer = self.until_answered(body, uploads).await?;
            ensure!(
                answer.processed.len() == scans && answer.rejected.is_empty(),
                "of {scans} scans {} were taken in and {} refused",
                answer.processed.len(),
                answer.rejected.len()
            );
        }
        if self.outage.is_some_and(|(_, to)| to <= Instant::now()) {
            self.caught_up.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// Tries to upload once. Gives `None` if no answer came. During an outage it gives `None` at once and sends
    /// nothing.
    async fn offer(&self, body: &str) -> Option<Response> {
        if self.is_cut_off() {
            return None;
        }
        let request = self.office.client.post(format!("{}/api/scanning/sync", self.office.server));
        let request = request.bearer_auth(&self.phone.paired().api_key).header("content-type", "application/json");
        request.timeout(Duration::from_millis(REQUEST_MS)).body(body.to_owned()).send().await.ok()
    }

    async fn until_answered(&self, body: String, uploads: &mut Uploads) -> anyhow::Result<SyncAnswer> {
        let (mut failures, mut tries) = (0, 0);
        while tries < TRIES {
            tries += u32::from(!self.is_cut_off());
            let begun = Instant::now();
            let asked_to_wait = match self.offer(&body).await {
                Some(answer) if answer.status().is_success() => {
                    if let Ok(body) = answer.bytes().await {
                        uploads.answered(begun.elapsed());
                        return serde_json::from_slice(&body).context("reading the answer to an upload");
                    }
                    None // Broken off in the middle: the same again.
                }
                Some(answer) if answer.status().as_u16() == 429 || answer.status().is_server_error() => {
                    let seconds = answer.headers().get(RETRY_AFTER).and_then(|text| text.to_str().ok()?.parse().ok());
                    seconds.map(|seconds: u64| seconds.saturating_mul(1_000))
                }
                Some(answer) => {
                    let (status, body) = (answer.status(), answer.text().await.unwrap_or_default());
                    anyhow::bail!("an upload was refused with {status}: {body}");
                }
                None => None,
            };
            uploads.repeated += 1;
            tokio::time::sleep(wait(failures, asked_to_wait)).await;
            failures += 1;
        }
        anyhow::bail!("an upload was not answered in {TRIES} tries")
    }

    /// The number of scans of this log that the server lacks, as the server says.
    pub async fn missing(&self) -> anyhow::Result<u64> {
        let (log_id, head) = self.phone.log();
        let request = LogStatusRequest { log_id: log_id.clone(), head };
        let ask = self.office.client.post(format!("{}/api/scanning/log-status", self.office.server));
        let ask = ask.bearer_auth(&self.phone.paired().api_key).json(&request);
        let answer: LogStatusAnswer = answered(ask).await.context("asking what is missing")?;
        Ok(answer.missing.iter().map(|(from, to)| to - from + 1).sum())
    }
}

/// The pause after a failure: what the server asked for, else twice the pause before.
fn wait(failures: u32, told_ms: Option<u64>) -> Duration {
    let doubled = (RETRY_FIRST_MS as u64).saturating_mul(1 << failures.min(16)).min(RETRY_MAX_MS as u64);
    Duration::from_millis(told_ms.map_or(doubled, |ms| ms.min(RETRY_AFTER_MAX_MS as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_waits_as_long_as_it_is_told_and_else_longer_each_time() {
        let seconds = |failures, told| wait(failures, told).as_secs();
        assert_eq!([seconds(0, None), seconds(1, None), seconds(2, None), seconds(60, None)], [1, 2, 4, 30]);
        assert_eq!([seconds(9, Some(7_000)), seconds(0, Some(u64::MAX))], [7, 300]);
    }
}
