//! Requests and answers as such (spec §3 "Epoch and witness", D10, D19; trust fault 5). The module knows what every
//! request carries, what every answer tells beside its own matter, and which answers are not ours at all.

use super::proofs::Proofs;
use super::state::{Ask, State};
use crate::limits;
use crate::manifest::compact;
use crate::rule::Epoch;
use crate::wire::engine::Effect;
use crate::wire::journal::Entry;
use crate::wire::problem::Problem;
use crate::wire::scanning::{RevokedDetails, WITNESS_HEADER, Witness};
use crate::wire::stored::{from_json, from_tree};

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
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        (self.status == 200).then(|| from_json(self.body).ok()).flatten()
    }
    /// Its problem, if it is one of ours.
    pub fn problem(&self) -> Option<Problem> {
        let problem: Problem = (self.status >= 400).then(|| from_json(self.body).ok()).flatten()?;
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
        // A list comes in either form; the compact one is half as long.
        let accept = match ask {
            Ask::List { .. } => format!("{}, application/json;q=0.9", compact::MEDIA_TYPE),
            _ => "application/json".to_owned(),
        };
        let mut headers = vec![("accept".to_owned(), accept)];
        if let Some(key) = self.journal.api_key() {
            headers.push(("authorization".to_owned(), format!("Bearer {}", key.as_str())));
        }
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        self.recall_proofs();
        if let Some(witness) = self.proofs.to_carry().map(str::to_owned) {
            self.carried.insert(request, witness.clone());
            headers.push((WITNESS_HEADER.to_owned(), witness));
        }
        if matches!(ask, Ask::Names { .. })
            && let Some(etag) = self.names_etag()
        {
            headers.push(("if-none-match".to_owned(), etag));
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
        let urgent = matches!(ask, Ask::Scan { .. });
        self.lanes.of(&ask).sent(request);
        self.requests.insert(request, ask);
        self.emit(Effect::Send { request, method: method.to_owned(), path, headers, body, timeout_ms, server, urgent });
    }

    /// Loads the witnesses of the present event. At first they are those that the journal kept.
    fn recall_proofs(&mut self) {
        let event_id = self.journal.paired.as_ref().map(|paired| &paired.event_id);
        if self.proofs.event_id() != event_id {
            let kept = event_id.and_then(|event_id| self.journal.witnesses.get(event_id));
            self.proofs = Proofs::recall(kept.map(Vec::as_slice).unwrap_or_default());
        }
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
        // These are answered whoever asks.
        let keyless = matches!(ask, Ask::Pair | Ask::Time { .. } | Ask::Ping);
        if !keyless && self.key_unknown.is_some_and(|asked| self.answering > asked) {
            // Known again (the server went back and forth): whatever waited for a pairing need not.
            self.key_unknown = None;
            self.lanes.all().into_iter().filter(|lane| lane.failures() > 0).for_each(|lane| lane.hurry(now));
        }
    }

    /// Reads what any answer may tell, whatever was asked. With `false` nothing else of the answer may be believed.
    pub fn follow(&mut self, answer: &Answer<'_>) -> bool {
        let Some(text) = answer.header(WITNESS_HEADER) else { return true };
        let Ok(witness) = text.parse::<Witness>() else { return true };
        if self.paired().is_none_or(|paired| paired.event_id != witness.event_id) {
            return true;
        }
        let news = self.epoch_seen.or(self.journal.epoch) != Some(witness.epoch);
        if !self.follow_epoch(witness.epoch) {
            return false;
        }
        self.recall_proofs();
        self.carried.retain(|request, _| *request == self.answering || self.requests.contains_key(request));
        let (before, carried) = (self.proofs.newest(), self.carried.remove(&self.answering));
        self.proofs.take(carried.as_deref(), witness, text);
        // An epoch is believed from now on: a device that could not prove it would believe nobody, should the server
        // lose it.
        let due = self.mono() - self.witness_kept_at >= limits::WITNESS_EVERY_MS && self.proofs.newest() != before;
        if news || due {
            self.keep_witness();
        }
        true
    }

    /// Writes the newest witness beside other rows: a server rolled back while this device was off is still found out.
    pub fn keep_witness(&mut self) {
        let (Some(event_id), mut also) = (self.proofs.event_id().cloned(), self.proofs.texts()) else { return };
        if self.journal.witnesses.get(&event_id) == Some(&also) {
            return;
        }
        let Some(text) = also.pop() else { return };
        self.witness_kept_at = self.mono();
        self.note(Entry::Witness { event_id, text, also });
    }

    /// Compares the server's epoch with the one this device knows. A newer one un-acknowledges the whole log; an
    /// older one is an answer out of the past: `false`.
    pub fn follow_epoch(&mut self, epoch: Epoch) -> bool {
        let known = self.epoch_seen.or(self.journal.epoch);
        if known.is_none_or(|known| known < epoch) {
            self.epoch_seen = Some(epoch);
            self.note(Entry::Epoch { epoch });
        }
        known.is_none_or(|known| known <= epoch)
    }

    /// Handles an answer that is not what was hoped for. This function handles its meaning for the device; the caller
    /// has handled its meaning for its own matter.
    pub fn refused_by_server(&mut self, ask: &Ask, answer: &Answer<'_>) {
        self.failed(ask);
        let now = self.mono();
        if let Some(wait) = answer.retry_after_ms()
            && matches!(answer.status, 429 | 503)
        {
            self.lanes.of(ask).turned_away(now, wait);
        }
        let Some(problem) = answer.problem() else {
            // A page that is no error and not ours: a captive portal, or another service. RFC 6585 gives portals a status
            // of their own: 511, Network Authentication Required.
            self.captive |= answer.status < 400 || answer.status == 511;
            self.online = false;
            return;
        };
        self.online = true;
        self.captive = false;
        match (answer.status, problem.code.as_str()) {
            (401, "unknown_key") => {
                self.key_unknown = Some(self.next_request);
                self.lanes.of(ask).pause(now, limits::RETRY_AFTER_MAX_MS);
            }
            (403, "device_revoked") => self.revoked(&problem),
            (403, "device_suspended") => {
                self.suspended = true;
                if !self.held(&problem) {
                    self.lanes.of(ask).hold(now, limits::SUSPENDED_EVERY_MS);
                }
            }
            _ => {}
        }
    }

    /// The organiser revoked this device: guest data goes at once, the log is still handed over (spec D10).
    fn revoked(&mut self, problem: &Problem) {
        self.emit(Effect::WipeCaches);
        // What is on its way still would bring back what was just wiped. Only the log is handed over, and
        // whoever is pairing this device anew goes on.
        let others = self.requests.iter().filter(|(_, ask)| !matches!(ask, Ask::Sync | Ask::Status { .. } | Ask::Pair));
        for (request, ask) in others.map(|(request, ask)| (*request, ask.clone())).collect::<Vec<_>>() {
            self.emit(Effect::Cancel { request });
            self.requests.remove(&request);
            self.lanes.of(&ask).drop_request();
        }
        self.list = None;
        self.names = None;
        self.feed = super::feed::Feed::default();
        self.deltas.clear();
        self.caches.clear();
        if !self.journal.revoked {
            let at_ms = self.clock.read().at_ms;
            self.note(Entry::Revoked { at_ms });
        }
        if let Ok(details) = from_tree::<RevokedDetails>(problem.details.clone().into()) {
            self.handed_over(&details);
        }
    }
}
