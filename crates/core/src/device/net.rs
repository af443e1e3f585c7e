//! Requests and answers in general (spec §3 "Epoch and witness", D10, D19; trust fault 5). The module knows what every
//! request carries, what every answer says in addition to its content, and which answers do not come from Admit at all.

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

/// One answer of the server.
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
    /// The answer's JSON. `None` unless it is a success of the expected shape.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        (self.status == 200).then(|| from_json(self.body).ok()).flatten()
    }
    /// The answer's problem. `None` unless it is an error in Admit's form.
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
    /// Sends a request on the lane of its kind.
    pub fn send(&mut self, ask: Ask, method: &str, path: String, body: Option<String>, timeout_ms: u64) {
        self.next_request += 1;
        let request = self.next_request;
        // A list comes in either form. The compact one is half as long.
        let accept = match ask {
            Ask::List { .. } => format!("{}, application/json;q=0.9", compact::MEDIA_TYPE),
            _ => "application/json".to_owned(),
        };
        let mut headers = vec![("accept".to_owned(), accept)];
        if let Some(key) = self.recorder.journal().api_key() {
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
            let wall = crate::time::Timestamp::clamped(self.session.wall_ms());
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

    /// Loads the witnesses of the present event. At first these are the ones in the journal.
    fn recall_proofs(&mut self) {
        let event_id = self.recorder.journal().paired.as_ref().map(|paired| &paired.event_id);
        if self.proofs.event_id() != event_id {
            let kept = event_id.and_then(|event_id| self.recorder.journal().witnesses.get(event_id));
            self.proofs = Proofs::recall(kept.map(Vec::as_slice).unwrap_or_default());
        }
    }

    /// Notes that a lane's request failed. The lane tries again later.
    pub fn failed(&mut self, ask: &Ask) {
        let (now, jitter) = (self.mono(), self.out.jitter());
        self.lanes.of(ask).failed(now, jitter);
    }
    /// Notes that a lane's request succeeded. The next one is due in `after_ms`.
    pub fn done(&mut self, ask: &Ask, after_ms: i64) {
        let now = self.mono();
        self.lanes.of(ask).done(now, after_ms);
        self.online = true;
        self.captive = false;
        // The server answers these requests without a key.
        let keyless = matches!(ask, Ask::Pair | Ask::Time { .. } | Ask::Ping);
        if !keyless && self.key_unknown.is_some_and(|asked| self.answering > asked) {
            // The server knows the key again. Its database was an older copy for a while, which lacked the key. Lanes
            // that waited for a new pairing go on.
            self.key_unknown = None;
            self.lanes.all().into_iter().filter(|lane| lane.failures() > 0).for_each(|lane| lane.hurry(now));
        }
    }

    /// Reads the witness that any answer may carry. Returns false if nothing else of the answer may be trusted.
    pub fn follow(&mut self, answer: &Answer<'_>) -> bool {
        let Some(text) = answer.header(WITNESS_HEADER) else { return true };
        let Ok(witness) = text.parse::<Witness>() else { return true };
        if self.paired().is_none_or(|paired| paired.event_id != witness.event_id) {
            return true;
        }
        let news = self.epoch_seen.or(self.recorder.journal().epoch) != Some(witness.epoch);
        if !self.follow_epoch(witness.epoch) {
            return false;
        }
        self.recall_proofs();
        self.carried.retain(|request, _| *request == self.answering || self.requests.contains_key(request));
        let (before, carried) = (self.proofs.newest(), self.carried.remove(&self.answering));
        self.proofs.take(carried.as_deref(), witness, text);
        // The device trusts this epoch from now on, so the witness is stored. Without it, a device could prove nothing
        // if the server lost the epoch.
        let due = self.mono() - self.witness_kept_at >= limits::WITNESS_EVERY_MS && self.proofs.newest() != before;
        if news || due {
            self.keep_witness();
        }
        true
    }

    /// Journals the newest witness together with other rows. So a server that is rolled back while this device is off
    /// is detected.
    pub fn keep_witness(&mut self) {
        let (Some(event_id), mut also) = (self.proofs.event_id().cloned(), self.proofs.texts()) else { return };
        if self.recorder.journal().witnesses.get(&event_id) == Some(&also) {
            return;
        }
        let Some(text) = also.pop() else { return };
        self.witness_kept_at = self.mono();
        self.recorder.note(Entry::Witness { event_id, text, also });
    }

    /// Compares the server's epoch with the one that this device knows. After a newer one, every receipt of the log
    /// must be confirmed. Returns false for an older one: the answer comes from a state before a restore.
    pub fn follow_epoch(&mut self, epoch: Epoch) -> bool {
        let known = self.epoch_seen.or(self.recorder.journal().epoch);
        if known.is_none_or(|known| known < epoch) {
            self.epoch_seen = Some(epoch);
            self.recorder.note(Entry::Epoch { epoch });
        }
        known.is_none_or(|known| known <= epoch)
    }

    /// Handles an answer that is not a success, as far as it concerns the device as a whole. The caller has handled
    /// what it means for the request itself.
    pub fn refused_by_server(&mut self, ask: &Ask, answer: &Answer<'_>) {
        self.failed(ask);
        let now = self.mono();
        if let Some(wait) = answer.retry_after_ms()
            && matches!(answer.status, 429 | 503)
        {
            self.lanes.of(ask).turned_away(now, wait);
        }
        let Some(problem) = answer.problem() else {
            // The answer is no problem in Admit's form: it comes from a captive portal, a proxy or another service. RFC
            // 6585 gives portals a status of their own: 511, Network Authentication Required.
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

    /// Follows the organiser's revocation of this device. Guest data is removed at once, and the log is still uploaded
    /// (spec D10).
    fn revoked(&mut self, problem: &Problem) {
        self.emit(Effect::WipeCaches);
        // Requests under way would bring back what was just removed. Only the upload of the log and a new pairing go
        // on.
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
        if !self.recorder.journal().revoked {
            let at_ms = self.session.at_ms();
            self.recorder.note(Entry::Revoked { at_ms });
        }
        if let Ok(details) = from_tree::<RevokedDetails>(problem.details.clone().into()) {
            self.handed_over(&details);
        }
    }
}
