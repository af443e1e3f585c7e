//! Turns requests into calls of use cases, like the HTTP layer but without HTTP.

use admit_app::caller::DeviceCaller;
use admit_app::changes::poll::{ChangesCommand, Polled, poll};
use admit_app::error::{Error, Result};
use admit_app::manifests::fetch::{FetchCommand, FetchedManifest, fetch};
use admit_app::records::Head;
use admit_app::{devices, epochs, scans};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::manifest::compact::MEDIA_TYPE;
use admit_core::time::Timestamp;
use admit_core::wire::problem::{Problem, read};
use admit_core::wire::scanning::{
    Cursor, DEVICE_TIME_HEADER, HeartbeatRequest, LogStatusRequest, PairAnswer, PairRequest, PairingAsk, PairingTicket,
    SERVER_TIME_HEADER, SIGNATURE_HEADER, SyncRequest, TimeAnswer, WITNESS_HEADER, Witness,
};
use admit_core::wire::scans::OnlineRequest;
use serde_json::{Map, Value};

use super::{RealServer, now};
use crate::server::{Reply, Request, Response};

fn ok<T: serde::Serialize>(body: &T) -> Response {
    raw(200, serde_json::to_vec(body).unwrap_or_default())
}
fn raw(status: u16, body: Vec<u8>) -> Response {
    Response { status, headers: vec![("content-type".into(), "application/json".into())], body }
}

fn body<'a, T: serde::Deserialize<'a>>(request: &'a Request) -> Result<T> {
    let text = request.body.as_deref().unwrap_or_default();
    read(text.as_bytes()).map_err(|error| Error::invalid(error.path, error.message))
}

/// The status and code of each error, as in the HTTP layer.
fn refusal(error: &Error) -> Response {
    let (status, code) = match error {
        Error::Invalid { code, .. } => (400, *code),
        Error::Unauthenticated { code, .. } => (401, *code),
        Error::Denied { code, .. } => (403, *code),
        Error::NotFound { .. } => (404, "not_found"),
        Error::Gone { code, .. } => (410, *code),
        Error::Conflict { code, .. } => (409, *code),
        Error::Unprocessable { code, .. } => (422, *code),
        Error::Later { code, .. } => (503, *code),
        Error::Bug(_) => (500, "internal"),
    };
    let details = match error {
        Error::Denied { details: Some(details), .. } => match &**details {
            Value::Object(map) => map.clone(),
            _ => Map::new(),
        },
        _ => Map::new(),
    };
    let problem = Problem {
        kind: format!("/problems/{code}"),
        title: code.into(),
        status,
        code: code.into(),
        detail: error.to_string(),
        errors: vec![],
        details,
    };
    raw(status, serde_json::to_vec(&problem).unwrap_or_default())
}

impl RealServer {
    /// The organisation whose stream of randomness this request uses.
    pub(super) fn whose(&self, request: &Request) -> usize {
        let token = body::<PairRequest>(request).map(|asked| asked.pairing_token).unwrap_or_default();
        let text = bearer(request).unwrap_or(&token);
        self.texts.get(text).or_else(|| self.texts.get(&token)).copied().unwrap_or(self.owners.len())
    }

    /// Records the organisation of a key or token.
    pub(super) fn belongs(&mut self, text: &str, org: usize) {
        if org < self.owners.len() {
            self.texts.insert(text.to_owned(), org);
        }
    }

    pub(super) fn route(&mut self, request: &Request) -> Reply {
        if request.route() == "/api/scanning/pair" {
            return Reply::Answer(self.pair(request).unwrap_or_else(|error| refusal(&error)));
        }
        if request.route() == "/api/scanning/pairing-requests" {
            return Reply::Answer(self.note_wish(request).unwrap_or_else(|error| refusal(&error)));
        }
        let caller = match now(devices::authenticate(&self.app, bearer(request).unwrap_or_default())) {
            Ok(caller) => caller,
            // The route of the time needs no key.
            Err(_) if request.route() == "/api/scanning/time" => {
                return Reply::Answer(self.time().unwrap_or_else(|error| refusal(&error)));
            }
            Err(error) => return Reply::Answer(refusal(&error)),
        };
        if let Err(error) = self.check_witness(&caller.organization_id, request) {
            return Reply::Answer(refusal(&error));
        }
        match self.ask(&caller, request) {
            Ok(Some(answer)) => Reply::Answer(self.dress(&caller, answer)),
            Ok(None) => Reply::Hold,
            Err(error) => {
                self.note(&error);
                Reply::Answer(self.dress(&caller, refusal(&error)))
            }
        }
    }

    /// Checks the witness that a device brought, before the request is handled.
    fn check_witness(&mut self, organization_id: &OrganizationId, request: &Request) -> Result<()> {
        let Some(Ok(witness)) = request.header(WITNESS_HEADER).map(str::parse::<Witness>) else { return Ok(()) };
        let before = self.epoch.map_or_else(|| now(self.app.store.epoch()), Ok)?;
        let begun = self.begun.len();
        let checked = now(epochs::check_witness(&self.app, organization_id, &witness));
        // The epoch is read whatever the result was, because a commit whose answer is lost begins an epoch too.
        self.note_epoch(before);
        if self.begun.len() > begun {
            self.coverage.hit("rollback found by a witness");
            self.coverage.hit("epoch changed");
        }
        checked
    }

    fn note(&mut self, error: &Error) {
        self.coverage.hit_if(matches!(error, Error::Conflict { code: "batch_id_reused", .. }), "batch id reused");
        self.coverage.hit_if(matches!(error, Error::Later { .. }), "server said later");
    }

    fn dress(&self, caller: &DeviceCaller, mut answer: Response) -> Response {
        let Some(owner) = self.owners.iter().find(|it| it.caller.organization_id == caller.organization_id) else {
            return answer;
        };
        if answer.headers.iter().all(|(name, _)| name != WITNESS_HEADER)
            && let Ok(witness) = now(epochs::witness(&self.app, &caller.organization_id, &owner.event_id))
        {
            answer.headers.push((WITNESS_HEADER.into(), witness.to_string()));
        }
        answer.headers.push((SERVER_TIME_HEADER.into(), self.app.clock.now().to_string()));
        answer
    }

    fn pair(&mut self, request: &Request) -> Result<Response> {
        let asked: PairRequest = body(request)?;
        let org = self.texts.get(&asked.pairing_token).copied();
        // A phone whose key was lost in a roll-back cannot use any other route, so its witness is checked here.
        if let Some(org) = org {
            let organization_id = self.owners[org].caller.organization_id.clone();
            self.check_witness(&organization_id, request)?;
        }
        let command = devices::PairCommand {
            pairing_token: asked.pairing_token,
            device_id: asked.device_id,
            name: asked.name,
            device_type: asked.device_type.map(|kind| kind.as_str().to_owned()),
            api_key: bearer(request).map(str::to_owned),
        };
        let claimed = match asked.claim_secret {
            Some(secret) => now(devices::claim(&self.app, command, &secret))?,
            None => devices::Claimed::Paired(now(devices::pair(&self.app, command))?),
        };
        let devices::Claimed::Paired(paired) = claimed else {
            return Ok(raw(202, br#"{"status":"waiting"}"#.to_vec()));
        };
        if let Some(org) = self.owners.iter().position(|it| it.caller.organization_id == paired.organization_id) {
            self.belongs(&paired.api_key, org);
        }
        Ok(ok(&PairAnswer {
            device_id: paired.device_id,
            api_key: paired.api_key,
            key_id: paired.key_id,
            organization_id: paired.organization_id,
            event_id: paired.event_id,
            gate_id: paired.gate_id,
            epoch: paired.epoch,
            name: None,
        }))
    }

    /// A device asks for a code of its own.
    fn note_wish(&mut self, request: &Request) -> Result<Response> {
        let asked: PairingAsk = body(request)?;
        let wish = devices::RequestPairing {
            device_id: asked.device_id,
            name: asked.name,
            device_type: asked.device_type.map(|kind| kind.as_str().to_owned()),
        };
        let devices::PairingTicket { pairing_token, claim_secret, expires_at } =
            now(devices::request_pairing(&self.app, wish))?;
        self.belongs(&pairing_token, self.whose(request));
        let ticket = serde_json::to_vec(&PairingTicket { pairing_token, claim_secret, expires_at });
        Ok(raw(201, ticket.unwrap_or_default()))
    }

    /// Handles a request of a device. `None`: a long poll without changes.
    fn ask(&mut self, caller: &DeviceCaller, request: &Request) -> Result<Option<Response>> {
        let app = &self.app;
        let route = request.route();
        Ok(Some(match route {
            "/api/scanning/time" => self.time()?,
            "/api/scanning/log-status" => {
                ok(&now(devices::log_status(app, caller, body::<LogStatusRequest>(request)?))?)
            }
            "/api/scanning/sync" => {
                let answer = now(scans::ingest_batch(app, caller, body::<SyncRequest>(request)?))?;
                self.coverage.hit_if(answer.repeated, "batch repeated");
                self.told_if(raw(200, answer.body.into_bytes()), &answer.event_id, answer.head.as_ref())
            }
            "/api/scans" => {
                let text = request.body.as_deref().unwrap_or_default();
                let asked = OnlineRequest::read(text.as_bytes());
                let asked = asked.map_err(|error| Error::invalid(error.path, error.message))?;
                let answer = now(scans::judge_online(app, caller, asked))?;
                self.coverage.hit_if(answer.repeated, "asked twice about one claim");
                self.told_if(raw(200, answer.body.into_bytes()), &answer.event_id, answer.head.as_ref())
            }
            _ => {
                let event = route.strip_prefix("/api/scanning/events/").and_then(|rest| rest.split_once('/'));
                let Some((event_id, what)) = event else { return Err(Error::not_found("route")) };
                let event_id = EventId::new(event_id).map_err(|_| Error::not_found("event"))?;
                match what {
                    "heartbeat" => {
                        let heard = now(devices::heartbeat(app, caller, body::<HeartbeatRequest>(request)?))?;
                        self.told(ok(&heard.answer), &heard.answer.event_id, &heard.head)
                    }
                    "manifest" => self.manifest(caller, &event_id, request)?,
                    "changes" => return self.changes(caller, &event_id, request),
                    _ => return Err(Error::not_found("route")),
                }
            }
        }))
    }

    /// An answer with the witness of the head under which it was made.
    fn told(&self, mut answer: Response, event_id: &EventId, head: &Head) -> Response {
        let witness = epochs::witness_of(&self.app, event_id, head);
        answer.headers.push((WITNESS_HEADER.into(), witness.to_string()));
        answer
    }

    fn told_if(&self, answer: Response, event_id: &EventId, head: Option<&Head>) -> Response {
        match head {
            Some(head) => self.told(answer, event_id, head),
            None => answer,
        }
    }

    fn time(&self) -> Result<Response> {
        let server_time = now(self.app.store.now())?;
        let ms = server_time.ms();
        Ok(ok(&TimeAnswer { received_at_ms: ms, sent_at_ms: ms, server_time }))
    }

    fn manifest(&self, caller: &DeviceCaller, event_id: &EventId, request: &Request) -> Result<Response> {
        let command = FetchCommand {
            if_none_match: request.header("if-none-match").map(str::to_owned),
            since: request.query("since").and_then(|since| since.parse().ok()),
            device_time: request.header(DEVICE_TIME_HEADER).and_then(|text| Timestamp::parse(text).ok()),
            compact: request.header("accept").is_some_and(|accept| accept.contains(MEDIA_TYPE)),
        };
        Ok(match now(fetch(&self.app, caller, event_id, command))? {
            FetchedManifest::NotModified { .. } => raw(304, Vec::new()),
            FetchedManifest::Body { large, tail, signature, .. } => {
                let mut answer = raw(200, [large.bytes.as_slice(), &tail].concat());
                answer.headers.push((SIGNATURE_HEADER.into(), signature));
                answer
            }
        })
    }

    fn changes(&self, caller: &DeviceCaller, event_id: &EventId, request: &Request) -> Result<Option<Response>> {
        let cursor = match request.query("cursor").filter(|text| !text.is_empty()) {
            Some(text) => Some(text.parse::<Cursor>().map_err(|error| Error::invalid("cursor", error.to_string()))?),
            None => None,
        };
        let manifest_version = request.query("manifest_version").and_then(|text| text.parse().ok()).unwrap_or(0);
        let command = ChangesCommand { cursor, manifest_version };
        let Polled { answer, head } = now(poll(&self.app, caller, event_id, command))?;
        let news =
            !answer.items.is_empty() || answer.resync || answer.more || answer.manifest_version > manifest_version;
        Ok((news || request.query("wait").is_none()).then(|| self.told(ok(&answer), event_id, &head)))
    }
}

fn bearer(request: &Request) -> Option<&str> {
    request.header("authorization").and_then(|value| value.strip_prefix("Bearer "))
}
