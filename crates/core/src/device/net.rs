//! Requests and answers as such: what every request carries, what every answer tells beside its own matter, and what
//! is no answer of ours at all (spec §3 "Epoch and witness", D10, D19; trust fault 5).

use super::state::{Ask, State};
use crate::limits;
use crate::rule::Epoch;
use crate::wire::engine::Effect;
use crate::wire::journal::Entry;
use crate::wire::problem::Problem;
use crate::wire::scanning::{RevokedDetails, WITNESS_HEADER, Witness};

/// One answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer<'a> {
    pub status: u16,
    pub headers: &'a [(String, String)],
    pub body: &'a [u8],
    pub sent_mono_ms: i64,
}

impl<'a> Answer<'a> {
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(held, _)| held == name).map(|(_, value)| value.as_str())
    }
    /// Its JSON, if it is a success of the expected shape.
    pub fn read<T: serde::Deserialize<'a>>(&self) -> Option<T> {
        (self.status == 200).then(|| serde_json::from_slice(self.body).ok()).flatten()
    }
    /// Its problem, if it is one of ours.
    pub fn problem(&self) -> Option<Problem> {
        let problem: Problem = (self.status >= 400).then(|| serde_json::from_slice(self.body).ok()).flatten()?;
        (!problem.code.is_empty()).then_some(problem)
    }
    fn retry_after_ms(&self) -> Option<i64> {
        let seconds: i64 = self.header("retry-after")?.trim().parse().ok()?;
        Some(seconds.saturating_mul(1_000).clamp(0, limits::RETRY_AFTER_MAX_MS))
    }
}

impl State {
    /// Sends a request on its lane.
    pub fn send(&mut self, ask: Ask, method: &str, path: String, body: Option<String>, timeout_ms: u64) {
        self.next_request += 1;
        let request = self.next_request;
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        if let Some(key) = self.journal.api_key() {
            headers.push(("authorization".to_owned(), format!("Bearer {}", key.as_str())));
        }
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        if let Some(witness) = self.newest_witness() {
            headers.push((WITNESS_HEADER.to_owned(), witness));
        }
        if matches!(ask, Ask::List { .. }) {
            let wall = crate::time::Timestamp::clamped(self.now.map_or(0, |now| now.wall_ms));
            headers.push((crate::wire::scanning::DEVICE_TIME_HEADER.to_owned(), wall.to_string()));
        }
        let pairing = self.pairing.as_ref().filter(|_| ask == Ask::Pair);
        let server = match pairing {
            Some(pairing) => pairing.server.clone(),
            None => self.paired().and_then(|paired| paired.server.clone()),
        };
        self.lanes.of(&ask).sent(request);
        self.requests.insert(request, ask);
        self.emit(Effect::Send { request, method: method.to_owned(), path, headers, body, timeout_ms, server });
    }

    fn newest_witness(&self) -> Option<String> {
        let event_id = &self.paired()?.event_id;
        let held = self.witness.as_ref().filter(|(witness, _)| witness.event_id == *event_id);
        held.map(|(_, text)| text.clone()).or_else(|| self.journal.witnesses.get(event_id).cloned())
    }

    /// The lane's request came to nothing: try again later.
    pub fn failed(&mut self, ask: &Ask) {
        let (now, jitter) = (self.mono(), self.jitter());
        self.lanes.of(ask).failed(now, jitter);
    }
    /// The lane's request did what it was for.
    pub fn done(&mut self, ask: &Ask, after_ms: i64) {
        let now = self.mono();
        self.lanes.of(ask).done(now, after_ms);
        self.online = true;
        self.captive = false;
        self.key_unknown = false;
    }

    /// What any answer may tell, whatever was asked. `false`: nothing else of it may be believed.
    pub fn heed(&mut self, answer: &Answer<'_>) -> bool {
        let Some(text) = answer.header(WITNESS_HEADER) else { return true };
        let Ok(witness) = text.parse::<Witness>() else { return true };
        if self.paired().is_none_or(|paired| paired.event_id != witness.event_id) {
            return true;
        }
        if !self.heed_epoch(witness.epoch) {
            return false;
        }
        let place = |witness: &Witness| (witness.event_id.clone(), witness.epoch, witness.serial);
        let newer = self
            .witness
            .as_ref()
            .is_none_or(|(held, _)| held.event_id != witness.event_id || place(held) < place(&witness));
        if newer {
            self.witness = Some((witness, text.to_owned()));
            if self.mono() - self.witness_kept_at >= limits::WITNESS_EVERY_MS {
                self.keep_witness();
            }
        }
        true
    }

    /// Writes the newest witness beside other rows: a server rolled back while this device was off is still found out.
    pub fn keep_witness(&mut self) {
        let Some((witness, text)) = &self.witness else { return };
        if self.journal.witnesses.get(&witness.event_id) == Some(text) {
            return;
        }
        let row = Entry::Witness { event_id: witness.event_id.clone(), text: text.clone() };
        self.witness_kept_at = self.mono();
        self.note(row);
    }

    /// Compares the server's epoch with the one this device knows. A newer one un-acknowledges the whole log; an
    /// older one is an answer out of the past: `false`.
    pub fn heed_epoch(&mut self, epoch: Epoch) -> bool {
        let known = self.epoch_seen.or(self.journal.epoch);
        if known.is_none_or(|known| known < epoch) {
            self.epoch_seen = Some(epoch);
            self.note(Entry::Epoch { epoch });
        }
        known.is_none_or(|known| known <= epoch)
    }

    /// An answer that is not what was hoped for. What it means for the device is said here; the caller has dealt with
    /// what it means for its own matter.
    pub fn refused_by_server(&mut self, ask: &Ask, answer: &Answer<'_>) {
        self.failed(ask);
        let now = self.mono();
        if let Some(wait) = answer.retry_after_ms()
            && matches!(answer.status, 429 | 503)
        {
            self.lanes.of(ask).hold(now, wait);
        }
        let Some(problem) = answer.problem() else {
            // A page that is no error and not ours: a captive portal, or another service.
            self.captive |= answer.status < 400;
            self.online = false;
            return;
        };
        self.online = true;
        self.captive = false;
        match (answer.status, problem.code.as_str()) {
            (401, "unknown_key") => {
                self.key_unknown = true;
                self.lanes.of(ask).hold(now, limits::RETRY_AFTER_MAX_MS);
            }
            (403, "device_revoked") => self.revoked(&problem),
            (403, "device_suspended") => {
                self.suspended = true;
                self.lanes.of(ask).hold(now, limits::SUSPENDED_EVERY_MS);
            }
            _ => {}
        }
    }

    /// The organiser revoked this device: guest data goes at once, the log is still handed over (spec D10).
    fn revoked(&mut self, problem: &Problem) {
        self.emit(Effect::WipeCaches);
        self.list = None;
        self.feed = super::feed::Feed::default();
        self.deltas.clear();
        self.caches.clear();
        if !self.journal.revoked {
            let at_ms = self.clock.read().at_ms;
            self.note(Entry::Revoked { at_ms });
        }
        let details = serde_json::to_value(&problem.details).ok();
        if let Some(details) = details.and_then(|it| serde_json::from_value::<RevokedDetails>(it).ok()) {
            self.handed_over(&details);
        }
    }
}
