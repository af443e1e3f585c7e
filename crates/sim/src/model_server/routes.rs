//! Handles requests at level 0.

use admit_core::ids::{DeviceId, GateId, KeyId};
use admit_core::limits;
use admit_core::occupancy::{GateFlow, Occupancy, Recount};
use admit_core::reduce::Reduced;
use admit_core::rule::When;
use admit_core::sign::ApiKey;
use admit_core::time::Timestamp;
use admit_core::wire::problem::Problem;
use admit_core::wire::scanning::{
    Cursor, HeartbeatAnswer, HeartbeatRequest, LogStatusAnswer, LogStatusRequest, PairAnswer, PairRequest,
    SERVER_TIME_HEADER, TimeAnswer, WITNESS_HEADER, Witness,
};

use super::{Device, ModelServer, Org, SECRET};
use crate::mutants::Mutant;
use crate::server::{Reply, Request, Response};

/// The device that sends a request.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub org: usize,
    pub device_id: DeviceId,
    pub key: String,
}

/// A success with this body.
pub(super) fn ok<T: serde::Serialize>(body: &T) -> Response {
    raw(200, serde_json::to_vec(body).unwrap_or_default())
}

pub(super) fn raw(status: u16, body: Vec<u8>) -> Response {
    Response { status, headers: vec![("content-type".into(), "application/json".into())], body }
}

/// A problem in Admit's form.
pub(super) fn problem(status: u16, code: &str, detail: &str) -> Response {
    with_details(status, code, detail, serde_json::Map::new())
}

pub(super) fn with_details(
    status: u16,
    code: &str,
    detail: &str,
    details: serde_json::Map<String, serde_json::Value>,
) -> Response {
    let problem = Problem {
        kind: format!("/problems/{code}"),
        title: code.into(),
        status,
        code: code.into(),
        detail: detail.into(),
        errors: vec![],
        details,
    };
    raw(status, serde_json::to_vec(&problem).unwrap_or_default())
}

fn time(now_ms: i64) -> Response {
    let server_time = Timestamp::clamped(now_ms);
    ok(&TimeAnswer { received_at_ms: now_ms, sent_at_ms: now_ms, server_time })
}

impl ModelServer {
    pub(super) fn route(&mut self, now_ms: i64, request: &Request) -> Reply {
        if request.route() == "/api/scanning/pair" {
            return Reply::Answer(self.pair(now_ms, request));
        }
        let caller = match self.caller(request) {
            Ok(caller) => caller,
            // The route of the time needs no key.
            Err(_) if request.route() == "/api/scanning/time" => return Reply::Answer(time(now_ms)),
            Err(refusal) => return Reply::Answer(refusal),
        };
        self.check_witness(now_ms, caller.org, request);
        if let Some(device) = self.state.orgs[caller.org].devices.get_mut(&caller.device_id) {
            device.key_used |= device.keys.last().is_some_and(|key| key.as_str() == caller.key);
        }
        let route = request.route();
        let body = request.body.as_deref().unwrap_or_default();
        let reply = if route == "/api/scanning/sync" {
            Reply::Answer(self.sync(now_ms, &caller, body))
        } else if route == "/api/scanning/time" {
            Reply::Answer(time(now_ms))
        } else if self.device(&caller).revoked {
            Reply::Answer(self.revoked(&caller, Vec::new(), Vec::new()))
        } else if route == "/api/scans" {
            Reply::Answer(self.judge(now_ms, &caller, body))
        } else if route.ends_with("/heartbeat") {
            Reply::Answer(self.heartbeat(now_ms, &caller, body))
        } else if route == "/api/scanning/log-status" {
            Reply::Answer(self.log_status(&caller, body))
        } else if route.ends_with("/manifest") {
            Reply::Answer(self.manifest(now_ms, &caller, request))
        } else if route.ends_with("/changes") {
            self.changes(now_ms, &caller, request)
        } else {
            Reply::Answer(problem(404, "not_found", "There is nothing here."))
        };
        match reply {
            Reply::Answer(answer) => Reply::Answer(self.dress(now_ms, caller.org, answer)),
            Reply::Hold => Reply::Hold,
        }
    }

    /// Adds the time to an answer, and the witness of the ledger's present end.
    fn dress(&self, now_ms: i64, org: usize, mut answer: Response) -> Response {
        let held = &self.state.orgs[org];
        let audit_head = held.audit.last().copied().unwrap_or_default();
        let witness = Witness::new(SECRET, self.state.epoch, &held.event_id, held.serial, audit_head);
        answer.headers.push((WITNESS_HEADER.into(), witness.to_string()));
        answer.headers.push((SERVER_TIME_HEADER.into(), Timestamp::clamped(now_ms).to_string()));
        answer
    }

    fn caller(&self, request: &Request) -> Result<Caller, Response> {
        let key = request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        let mut all = self
            .state
            .orgs
            .iter()
            .enumerate()
            .flat_map(|(org, held)| held.devices.iter().map(move |(device_id, device)| (org, device_id, device)));
        // A key that a later pairing replaced is unknown. A revoked device may upload its log with any key that it
        // had.
        let opens = |device: &Device| match device.revoked {
            true => device.keys.iter().any(|held| held.as_str() == key),
            false => device.keys.last().is_some_and(|held| held.as_str() == key),
        };
        let found = all.find(|(_, _, device)| opens(device));
        match found {
            Some((org, device_id, _)) => Ok(Caller { org, device_id: device_id.clone(), key: key.to_owned() }),
            None => Err(problem(401, "unknown_key", "This key is not known here.")),
        }
    }

    pub(super) fn device(&self, caller: &Caller) -> &Device {
        &self.state.orgs[caller.org].devices[&caller.device_id]
    }

    /// Checks the witness of a request. A valid witness about a line that the ledger does not have proves that the
    /// database was put back to an older copy (spec §3).
    fn check_witness(&mut self, now_ms: i64, org: usize, request: &Request) {
        let Some(Ok(witness)) = request.header(WITNESS_HEADER).map(str::parse::<Witness>) else { return };
        let org = &self.state.orgs[org];
        if !witness.is_ours(SECRET) || witness.event_id != org.event_id || self.planted.is(Mutant::WitnessIgnored) {
            return;
        }
        let known = org.epochs.iter().any(|(epoch, _)| *epoch == witness.epoch);
        let held = usize::try_from(witness.serial).ok().and_then(|serial| org.audit.get(serial));
        let lacking = witness.epoch == self.state.epoch && held != Some(&witness.audit_head);
        // A witness of a lost epoch before the present one proves nothing new. Scans acknowledged in that epoch are
        // sent again when the device learns of the present one.
        let lost = !known && witness.epoch > self.state.epoch;
        if lacking || lost {
            self.coverage.hit("rollback found by a witness");
            self.begin_epoch(now_ms, witness.epoch);
        }
    }

    fn pair(&mut self, now_ms: i64, request: &Request) -> Response {
        let Ok(asked) = serde_json::from_str::<PairRequest>(request.body.as_deref().unwrap_or_default()) else {
            return problem(400, "invalid_body", "This is no pairing request.");
        };
        let found = self.state.orgs.iter().position(|org| org.tokens.contains_key(&asked.pairing_token));
        let Some(place) = found else { return problem(404, "unknown_token", "This pairing code is not known.") };
        // A phone whose key was lost in a roll-back cannot use any other route, so its witness is checked here.
        self.check_witness(now_ms, place, request);
        let epoch = self.state.epoch;
        let org = &mut self.state.orgs[place];
        let Some(token) = org.tokens.get_mut(&asked.pairing_token) else {
            return problem(404, "unknown_token", "This pairing code is not known.");
        };
        // A repeat of the same device is answered until the key that it got is in use (spec D11). A delayed request
        // must not replace a key in use.
        let key_used = org.devices.get(&asked.device_id).is_some_and(|device| device.key_used);
        if token.used_by.as_ref().is_some_and(|device_id| *device_id != asked.device_id || key_used) {
            return problem(410, "token_used", "This pairing code was used already.");
        }
        if org.devices.get(&asked.device_id).is_some_and(|device| device.revoked) {
            return problem(409, "device_id_taken", "A revoked device is not paired again.");
        }
        token.used_by = Some(asked.device_id.clone());
        let gate_id = token.gate_id.clone();
        let key = ApiKey::from_random(org.rng.bytes());
        let key_id = admit_core::ids::uuid_v4(org.rng.bytes());
        let device = org.devices.entry(asked.device_id.clone()).or_insert_with(|| Device {
            keys: Vec::new(),
            key_ids: Vec::new(),
            key_used: false,
            gate_id: gate_id.clone(),
            revoked: false,
            quota_left: limits::QUARANTINE_SCANS,
        });
        device.keys.push(key.clone());
        device.key_ids.push(key_id.clone());
        device.key_used = false;
        device.gate_id = gate_id.clone();
        let answer = PairAnswer {
            device_id: asked.device_id.clone(),
            api_key: key.as_str().to_owned(),
            key_id: KeyId::new(key_id).unwrap_or_else(|_| unreachable!("a UUID")),
            organization_id: org.id.clone(),
            event_id: org.event_id.clone(),
            gate_id,
            epoch,
            name: None,
        };
        org.take_head(now_ms, "device_paired", asked.device_id.as_str());
        self.dress(now_ms, place, ok(&answer))
    }

    fn heartbeat(&mut self, now_ms: i64, caller: &Caller, body: &str) -> Response {
        let Ok(beat) = serde_json::from_str::<HeartbeatRequest>(body) else {
            return problem(400, "invalid_body", "This is no heartbeat.");
        };
        let epoch = self.state.epoch;
        let org = &mut self.state.orgs[caller.org];
        org.hear_of(caller, &beat.log_id, beat.head);
        ok(&HeartbeatAnswer {
            server_time: Timestamp::clamped(now_ms),
            event_id: org.event_id.clone(),
            gate_id: org.devices[&caller.device_id].gate_id.clone(),
            manifest_version: org.version,
            cursor: Cursor::at(epoch, org.serial),
            suspended: false,
            area_inside: org.area_inside(&caller.device_id, Timestamp::clamped(now_ms)),
            walk_ins: Some(org.walk_ins()),
            rung_at: None,
        })
    }

    fn log_status(&mut self, caller: &Caller, body: &str) -> Response {
        let Ok(asked) = serde_json::from_str::<LogStatusRequest>(body) else {
            return problem(400, "invalid_body", "This is no question about a log.");
        };
        let planted = self.planted;
        let org = &mut self.state.orgs[caller.org];
        org.hear_of(caller, &asked.log_id, asked.head);
        let log = org.logs.get(&(caller.device_id.clone(), asked.log_id));
        ok(&LogStatusAnswer { missing: log.map(|log| log.missing(planted)).unwrap_or_default() })
    }
}

impl Org {
    /// The persons in the area behind a device's gate; `None` if the gate has no capacity.
    fn area_inside(&self, device_id: &DeviceId, now: Timestamp) -> Option<u32> {
        let own = &self.devices[device_id].gate_id;
        self.book.gate(own, When::Newest)?.capacity?;
        let rules = |gate_id: &GateId| self.book.gate(gate_id, When::Newest);
        let verdicts = || self.derived.values().flat_map(|reduced| &reduced.verdicts);
        let (mut all, mut recounts) = (Occupancy::default(), Vec::new());
        for reduced in self.derived.values() {
            all.add(&Occupancy::of(reduced), 1);
            recounts.extend(Recount::of(&reduced.verdicts));
        }
        let base = all.area_base(own, rules, self.book.event(When::Newest).as_ref(), now, &recounts);
        let mut since = Occupancy::default();
        for verdict in verdicts().filter(|verdict| base.until.is_none_or(|until| verdict.at > until)) {
            since.add_flow(&verdict.gate_id, GateFlow::of(verdict));
        }
        since.area_inside(base.persons, own, rules)
    }

    /// The number of guests added at the doors.
    fn walk_ins(&self) -> u32 {
        self.derived.values().map(Reduced::walk_in_persons).sum()
    }

    /// Records the head of a log that a device reported.
    pub(super) fn hear_of(&mut self, caller: &Caller, log_id: &admit_core::ids::LogId, head: u64) {
        let log = self.logs.entry((caller.device_id.clone(), log_id.clone())).or_default();
        log.head = log.head.max(head);
    }
}
