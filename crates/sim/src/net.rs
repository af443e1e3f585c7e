//! The network: delay, loss, repetition, cut answers, captive portals, replayed answers.

use admit_core::ids::ScanId;
use admit_core::time::Timestamp;
use admit_core::wire::engine::Input;
use admit_core::wire::scanning::{Cursor, Readable, SyncAnswer, SyncRequest, raw_item};
use serde_json::json;

use crate::config::BEGINNING_MS;
use crate::mutants::Mutant;
use crate::server::{Reply, Request, Response, Server};
use crate::trace::short;
use crate::world::{Asker, Ev, World};

/// Whether the item of a scan is damaged each time it travels to the server.
pub(crate) fn is_poisoned(scan_id: &ScanId, per_mille: u32) -> bool {
    short(scan_id.as_str().as_bytes()) % 1_000 < per_mille
}

/// The longest time that a long poll is held, in milliseconds.
const HOLD_MS: i64 = 25_000;
/// How often a held long poll is tried again, in milliseconds.
const LOOK_MS: i64 = 2_000;

impl<S: Server> World<S> {
    fn delay(&mut self, side: usize) -> i64 {
        let most = if self.chaos() { self.config.delay_ms } else { 40 };
        // If all times are multiples of a quantum, most messages take no time, because ties need that.
        if self.config.quantum_ms > 1 && self.sides[side].rng.per_mille(700) {
            return 0;
        }
        self.sides[side].rng.between(1, most)
    }

    /// Sends a request of a phone.
    pub(crate) fn send(&mut self, side: usize, asker: Asker, mut wire: Request, timeout_ms: u64) {
        let (now_ms, chaos) = (self.now_ms, self.chaos());
        let Asker { phone, request, .. } = asker;
        if self.planted.is(Mutant::ScanAltered)
            && let Some(body) = &mut wire.body
        {
            *body = body.replace("\"opened\":true", "\"opened\":false");
        }
        let line = format_args!("{phone} > {request} {} {}", wire.method, wire.path);
        self.sides[side].trace.line(now_ms - BEGINNING_MS, line);
        let failed = Input::Failed { request };
        if self.sides[side].phones[phone].offline_until > now_ms {
            return self.queue(side, &asker, now_ms + 50, failed, Vec::new());
        }
        if self.config.poison > 0
            && wire.route() == "/api/scanning/sync"
            && let Some(damaged) = wire.body.as_deref().and_then(|body| self.damaged(body))
        {
            self.coverage.hit("poison item");
            wire.body = Some(damaged);
        }
        let config = self.config.clone();
        self.queue(side, &asker, now_ms + timeout_ms as i64, failed, Vec::new());
        let rng = &mut self.sides[side].rng;
        let (drop, captive, twice) =
            (rng.per_mille(config.drop), rng.per_mille(config.captive), rng.per_mille(config.duplicate));
        let there = now_ms + self.delay(side);
        if chaos && captive {
            self.coverage.hit("captive portal");
            let page = Response {
                status: 200,
                headers: vec![("content-type".into(), "text/html".into())],
                body: b"<html>Welcome to the stadium network. Please accept our terms.</html>".to_vec(),
            };
            let page = self.as_receipt(&wire, page, Mutant::PortalIsReceipt);
            return self.answer(side, &asker, there, page);
        }
        if chaos
            && config.busy > 0
            && wire.route() == "/api/scanning/sync"
            && self.sides[side].extra.per_mille(config.busy)
        {
            self.coverage.hit("upload turned away");
            let later = Response {
                status: 503,
                headers: vec![
                    ("content-type".into(), "application/problem+json".into()),
                    ("retry-after".into(), "5".into()),
                ],
                body: br#"{"type":"/problems/busy","title":"busy","status":503,"code":"busy","detail":"come back"}"#
                    .to_vec(),
            };
            return self.answer(side, &asker, there, later);
        }
        if chaos
            && config.refuse_whole > 0
            && wire.route() == "/api/scanning/sync"
            && let Some(refusal) = self.refused_whole(side, wire.body.as_deref().unwrap_or_default())
        {
            self.coverage.hit("batch refused whole");
            let refusal = self.as_receipt(&wire, refusal, Mutant::DeleteOn4xx);
            return self.answer(side, &asker, there, refusal);
        }
        if chaos && drop {
            return self.coverage.hit("request lost on the way");
        }
        let held_until = now_ms + HOLD_MS;
        let again = (chaos && twice).then(|| (asker.clone(), Box::new(wire.clone())));
        let first = Ev::Arrives { asker, wire: Box::new(wire), held_until, echo: false, looked: None };
        self.at(side, there, first);
        if let Some((asker, wire)) = again {
            let again = there + self.delay(side);
            let echo = Ev::Arrives { asker, wire, held_until, echo: true, looked: None };
            self.at(side, again, echo);
        }
    }

    /// The batch with its poisoned scans damaged, so that no server can read them. Their ids and places stay readable.
    fn damaged(&self, body: &str) -> Option<String> {
        let mut sync: SyncRequest = serde_json::from_str(body).ok()?;
        let mut any = false;
        for item in &mut sync.scans {
            let Some(scan_id) = Readable::of(item.get()).scan_id else { continue };
            if is_poisoned(&scan_id, self.config.poison) {
                *item = raw_item(item.get().replacen("\"outcome\":\"", "\"outcome\":\"un", 1)).ok()?;
                any = true;
            }
        }
        any.then(|| serde_json::to_string(&sync).ok()).flatten()
    }

    /// The answer of a proxy in front of the server. The proxy refuses every batch with a certain scan (trust §5, fault
    /// 4). The answer looks like a problem of the server, with or without the name of the item, or has the proxy's own
    /// form.
    fn refused_whole(&mut self, side: usize, body: &str) -> Option<Response> {
        let sync: SyncRequest = serde_json::from_str(body).ok()?;
        let disliked = sync.scans.iter().position(|item| {
            let scan_id = Readable::of(item.get()).scan_id;
            scan_id.is_some_and(|scan_id| {
                short(scan_id.as_str().as_bytes()).rotate_left(16) % 1_000 < self.config.refuse_whole
            })
        })?;
        let problem = |status: u16, errors: serde_json::Value| {
            let said = json!({ "type": "/problems/invalid", "title": "invalid", "status": status, "code": "invalid_request",
                "detail": "an item cannot be read", "errors": errors });
            (status, "application/problem+json", said.to_string())
        };
        let named = json!([{ "path": format!("scans[{disliked}].outcome"), "message": "must be a word" }]);
        let (status, media_type, text) = match self.sides[side].extra.below(4) {
            0 => (413, "text/html", "<html>413 Request Entity Too Large</html>".to_owned()),
            1 => problem(413, json!([])),
            2 => problem(422, json!([])),
            _ => problem(400, named),
        };
        Some(Response { status, headers: vec![("content-type".into(), media_type.into())], body: text.into_bytes() })
    }

    /// Delivers a request to the server.
    pub(crate) fn arrives(
        &mut self,
        side: usize,
        asker: Asker,
        mut wire: Box<Request>,
        held_until: i64,
        echo: bool,
        looked: Option<u64>,
    ) {
        let (now_ms, chaos) = (self.now_ms, self.chaos());
        if now_ms >= held_until {
            wire.path = wire.path.split("&wait=").next().unwrap_or_default().to_owned();
        } else if looked == Some(self.sides[side].stirred) {
            // Nothing has changed at the server, so it would go on holding the poll.
            return self.at(side, now_ms + LOOK_MS, Ev::Arrives { asker, wire, held_until, echo, looked });
        }
        let answer = match self.ask(side, &wire) {
            Reply::Answer(answer) => answer,
            Reply::Hold => {
                let looked = Some(self.sides[side].stirred);
                return self.at(side, now_ms + LOOK_MS, Ev::Arrives { asker, wire, held_until, echo, looked });
            }
        };
        self.heard(side, &asker, &wire, &answer);
        if echo {
            return self.coverage.hit("request arrived twice");
        }
        let answer = self.as_receipt(&wire, answer, Mutant::DeleteOn4xx);
        let back = now_ms + self.delay(side);
        let config = self.config.clone();
        let rng = &mut self.sides[side].rng;
        if chaos && rng.per_mille(config.drop) {
            self.coverage.hit("answer lost on the way");
            self.coverage.hit_if(wire.route() == "/api/scanning/sync" && answer.status == 200, "ack lost after commit");
            return;
        }
        let mut answer = answer;
        if chaos && rng.per_mille(config.truncate) && !answer.body.is_empty() {
            let keep = rng.below(answer.body.len() as u64) as usize;
            answer.body.truncate(keep);
            self.coverage.hit("answer cut short");
        } else if wire.route().ends_with("/manifest") && answer.status == 200 {
            answer = self.maybe_old_list(side, asker.phone, answer);
        }
        self.answer(side, &asker, back, answer);
    }

    /// Records an exchange for the checkers.
    fn heard(&mut self, side: usize, asker: &Asker, wire: &Request, answer: &Response) {
        let now_ms = self.now_ms;
        let held = &mut self.sides[side];
        if wire.route() == "/api/scanning/pair" {
            let taken = &mut held.phones[asker.phone].taken;
            match answer.status {
                409 => *taken += 1,
                200 => *taken = 0,
                _ => {}
            }
        }
        held.record.answered(asker.author.as_ref(), wire, answer);
        let line = format_args!("server {} {} {:08x}", answer.status, wire.route(), short(&answer.body));
        held.trace.line(now_ms - BEGINNING_MS, line);
    }

    /// Sometimes replaces an answer by an older list of this phone (trust §5, fault 18).
    fn maybe_old_list(&mut self, side: usize, phone: usize, answer: Response) -> Response {
        let chaos = self.chaos();
        let held = &mut self.sides[side];
        let old = held.phones[phone].old_list.replace(answer.clone());
        match old {
            Some(old) if chaos && held.rng.per_mille(self.config.truncate) => {
                self.coverage.hit("old list replayed");
                old
            }
            _ => answer,
        }
    }

    /// Plants the bug that a phone treats an answer to an upload, such as a refusal, as a receipt. For this, the
    /// simulator replaces the answer by a receipt.
    fn as_receipt(&self, wire: &Request, answer: Response, bug: Mutant) -> Response {
        let wrong = answer.status >= 400 && answer.status < 500 || bug == Mutant::PortalIsReceipt;
        if !self.planted.is(bug) || !wrong || wire.route() != "/api/scanning/sync" {
            return answer;
        }
        let Ok(sent) = serde_json::from_str::<SyncRequest>(wire.body.as_deref().unwrap_or_default()) else {
            return answer;
        };
        let id_of = |item: &str| {
            let value: serde_json::Value = serde_json::from_str(item).ok()?;
            value.get("scan_id")?.as_str().and_then(|id| ScanId::new(id).ok())
        };
        let witness = wire.header(admit_core::wire::scanning::WITNESS_HEADER);
        let epoch =
            witness.and_then(|text| text.parse::<admit_core::wire::scanning::Witness>().ok()).map(|it| it.epoch);
        let receipt = SyncAnswer {
            batch_id: sent.sync_batch_id.clone(),
            processed: sent.scans.iter().filter_map(|item| id_of(item.get())).collect(),
            skipped: vec![],
            rejected: vec![],
            conflicts: vec![],
            cursor: Cursor::at(epoch.unwrap_or(admit_core::rule::Epoch { restored_at_ms: 0, random: 0 }), 0),
            server_time: Timestamp::clamped(self.now_ms),
        };
        Response { status: 200, headers: vec![], body: serde_json::to_vec(&receipt).unwrap_or_default() }
    }

    fn answer(&mut self, side: usize, asker: &Asker, at_ms: i64, answer: Response) {
        let Asker { phone, request, .. } = *asker;
        let sent_mono_ms = self.sides[side].phones[phone].requests.get(&request).copied().unwrap_or(0);
        let Response { status, headers, body } = answer;
        self.queue(side, asker, at_ms, Input::Response { request, status, headers, sent_mono_ms }, body);
    }

    fn queue(&mut self, side: usize, asker: &Asker, at_ms: i64, input: Input, body: Vec<u8>) {
        let Asker { phone, generation, .. } = *asker;
        self.at(side, at_ms, Ev::Input { phone, generation, input: Box::new(input), body });
    }
}
