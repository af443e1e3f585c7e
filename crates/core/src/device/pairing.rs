//! The pairing under way, by either way of decision D11. Staff give the phone a pairing link. Or this phone asks by
//! itself, shows a code, and waits until an organiser approves it.
//!
//! A phone whose log is intact can be paired again by itself. It asks again if the answer to its pairing was lost, or if
//! an organiser revoked it and wants it back. Its name and its log stay the same, and the log goes on where it was.

use super::journal::{Journal, words};
use super::outbox::Outbox;
use super::session::Session;
use super::uplink::{Answer, Ask, Origin, Request};
use crate::ids::{DeviceId, LogId};
use crate::limits;
use crate::sign::ApiKey;
use crate::wire::journal::{Entry, Paired};
use crate::wire::scanning::{PairAnswer, PairRequest, PairingAsk, PairingTicket};
use crate::wire::stored::{from_json, to_text};

/// One attempt to be paired.
#[derive(Debug, Clone)]
struct Attempt {
    token: String,
    server: Option<String>,
    name: String,
    /// This phone's own request to be paired (spec D11 way (b)). While it waits, the token is empty until the server
    /// gives one. Absent if staff gave the phone a pairing code.
    own: Option<Own>,
}

/// The data of an attempt that waits for an organiser's approval.
#[derive(Debug, Clone)]
struct Own {
    claim_secret: String,
    /// The monotonic clock at which the shown code expires.
    until_mono_ms: i64,
}

/// The meaning of the server's answer for the pairing.
#[derive(Debug)]
pub(super) enum Reply {
    /// No pairing is under way.
    Nothing,
    /// Nobody has approved the phone yet.
    Waits,
    /// The server pairs the phone.
    Paired(Box<Paired>),
    /// The server refuses the phone, for this reason.
    Refused(String),
    /// The answer says nothing about the pairing.
    Unclear,
}

/// The pairing under way.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// Absent if there is none.
    attempt: Option<Attempt>,
}

impl Pairing {
    /// Whether a pairing is under way.
    pub fn is_under_way(&self) -> bool {
        self.attempt.is_some()
    }
    /// Ends the pairing under way, if there is one.
    pub fn end(&mut self) {
        self.attempt = None;
    }

    /// Begins a pairing by the link that staff scanned or pasted. Returns false, and changes nothing, if the text is no
    /// pairing code.
    pub fn begin(&mut self, code: &str, name: &str) -> bool {
        let Some((server, token)) = pairing_code(code) else { return false };
        self.attempt = Some(Attempt { token, server, name: words(name, limits::NAME_CHARS), own: None });
        true
    }
    /// Begins a pairing in which this phone shows a code for an organiser to approve.
    pub fn begin_alone(&mut self, name: &str) {
        let own = Some(Own { claim_secret: String::new(), until_mono_ms: 0 });
        let name = words(name, limits::NAME_CHARS);
        self.attempt = Some(Attempt { token: String::new(), server: None, name, own });
    }

    /// The code that this phone shows. `None` until the server has given one.
    pub fn shown_code(&self) -> Option<String> {
        let attempt = self.attempt.as_ref().filter(|attempt| attempt.own.is_some())?;
        Some(attempt.token.clone()).filter(|token| !token.is_empty())
    }
    /// Whether the shown code is still valid. While it is, a request whose answer did not come is repeated.
    pub fn still_waits(&self, now_ms: i64) -> bool {
        let own = self.attempt.as_ref().and_then(|attempt| attempt.own.as_ref());
        own.is_some_and(|own| now_ms < own.until_mono_ms)
    }

    /// The request to be paired, or the one for a code that this phone can show. `None` if no pairing is under way, or
    /// the phone has no name yet.
    pub fn request(&self, session: &Session, journal: &Journal) -> Option<Request> {
        let (attempt, (device_id, _)) = (self.attempt.as_ref()?, journal.identity.as_ref()?);
        let (device_id, device_type) = (device_id.clone(), session.device_type());
        let name = Some(attempt.name.clone()).filter(|name| !name.is_empty());
        let (path, body) = if attempt.own.is_some() && attempt.token.is_empty() {
            ("/api/scanning/pairing-requests", to_text(&PairingAsk { device_id, name, device_type }))
        } else {
            let request = PairRequest {
                pairing_token: attempt.token.clone(),
                device_id,
                claim_secret: attempt.own.as_ref().map(|own| own.claim_secret.clone()),
                name,
                device_type,
                app_version: session.app_version(),
            };
            ("/api/scanning/pair", to_text(&request))
        };
        let request = Request::post(Ask::Pair, path, body, limits::REQUEST_MS);
        Some(Request { origin: Origin::Link(attempt.server.clone()), ..request })
    }

    /// Takes the server's answer to a pairing request.
    pub fn answered(&mut self, answer: &Answer<'_>, now_ms: i64) -> Reply {
        if self.waits_on(answer, now_ms) {
            return Reply::Waits;
        }
        let Some(attempt) = &self.attempt else { return Reply::Nothing };
        let paired = answer.read::<PairAnswer>().filter(|paired| ApiKey::parse(&paired.api_key).is_ok());
        let Some(paired) = paired else {
            let problem = answer.problem().filter(|_| (400..500).contains(&answer.status) && answer.status != 429);
            return problem.map_or(Reply::Unclear, |problem| Reply::Refused(problem.detail));
        };
        Reply::Paired(Box::new(Paired {
            server: attempt.server.clone(),
            device_id: paired.device_id,
            name: paired.name.unwrap_or_else(|| attempt.name.clone()),
            api_key: paired.api_key,
            key_id: paired.key_id,
            organization_id: paired.organization_id,
            event_id: paired.event_id,
            gate_id: paired.gate_id,
            epoch: Some(paired.epoch),
            moved: false,
        }))
    }

    /// Handles an answer that belongs to the wait for an approval: the code, or the message that nobody has approved it
    /// yet. Returns false for any other answer.
    fn waits_on(&mut self, answer: &Answer<'_>, now_ms: i64) -> bool {
        let Some(Attempt { token, own: Some(own), .. }) = &mut self.attempt else { return false };
        if token.is_empty() {
            let ticket = matches!(answer.status, 200 | 201).then(|| from_json::<PairingTicket>(answer.body).ok());
            let Some(ticket) = ticket.flatten() else { return false };
            *token = ticket.pairing_token;
            let until_mono_ms = now_ms.saturating_add(limits::PAIRING_TOKEN_MS);
            *own = Own { claim_secret: ticket.claim_secret, until_mono_ms };
            return true;
        }
        answer.status == 202 && from_json::<serde::de::IgnoredAny>(answer.body).is_ok()
    }
}

/// Draws this phone's device id and log id, which the phone journals once and before any request. So a pairing whose
/// answer is lost can be repeated as the same device (spec D11). `None` if no id can be drawn.
pub(super) fn own_name(out: &mut Outbox) -> Option<Entry> {
    let (device, log) = (DeviceId::new(out.draw_uuid()), LogId::new(crate::barcode::hex(&out.draw()[..16])));
    Some(Entry::Log { device_id: device.ok()?, log_id: log.ok()? })
}

/// Server and token of a pairing link `https://host/scan/#pair=TOKEN`, or of a token alone. `None` for any other text.
fn pairing_code(code: &str) -> Option<(Option<String>, String)> {
    let code = code.trim();
    let token_of = |token: &str| {
        let fits = (8..=limits::ID_CHARS).contains(&token.len());
        let plain = token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b));
        (fits && plain).then(|| token.to_owned())
    };
    let Some((scheme, rest)) = code.split_once("://") else { return Some((None, token_of(code)?)) };
    if !matches!(scheme, "https" | "http") {
        return None;
    }
    let (place, fragment) = rest.split_once('#')?;
    let host = place.split(['/', '?']).next().filter(|host| !host.is_empty())?;
    let token = fragment.split('&').find_map(|pair| pair.strip_prefix("pair="))?;
    Some((Some(format!("{scheme}://{host}")), token_of(token)?))
}
