//! Pairing by way (b) of decision D11: this phone asks by itself, shows a code, and waits until an organiser approves
//! it.
//!
//! A phone whose log is intact can be paired again in this way. The answer to its pairing may have been lost. Or an
//! organiser revoked the phone and wants it back. Its name, its log and its place in the log stay the same.

use super::net::Answer;
use super::recorder::After;
use super::state::{Ask, Own, Pairing, State};
use crate::ids::{DeviceId, LogId};
use crate::limits;
use crate::wire::engine::Effect;
use crate::wire::journal::Entry;
use crate::wire::scanning::{PairingAsk, PairingTicket};
use crate::wire::stored::{from_json, to_text};

impl State {
    /// Drops the pairing under way, if there is one.
    pub fn drop_pairing(&mut self) {
        if let Some(request) = self.lanes.pair.drop_request() {
            self.requests.remove(&request);
            self.emit(Effect::Cancel { request });
        }
        self.lanes.pair = super::lane::Lane::default();
        self.pairing = None;
        self.message = None;
    }

    /// Draws this phone's device id and log id and journals them, once and before any request. So a pairing whose
    /// answer is lost can be repeated as the same device.
    pub fn name_itself(&mut self) {
        if self.recorder.journal().identity.is_some() {
            return;
        }
        let (device, log) =
            (DeviceId::new(self.out.draw_uuid()), LogId::new(crate::barcode::hex(&self.out.draw()[..16])));
        if let (Ok(device_id), Ok(log_id)) = (device, log) {
            self.recorder.append(&mut self.out, vec![Entry::Log { device_id, log_id }], vec![After::Pair]);
        }
    }

    /// Begins a pairing in which this phone shows a code for an organiser to approve.
    pub fn begin_asking(&mut self, name: &str) {
        let name = super::door::words(name, limits::NAME_CHARS);
        self.drop_pairing();
        let own = Some(Own { claim_secret: String::new(), until_mono_ms: 0 });
        self.pairing = Some(Pairing { token: String::new(), server: None, name, own });
        self.name_itself();
    }

    /// The code that this phone shows. `None` until the server has given one.
    pub fn shown_code(&self) -> Option<String> {
        let pairing = self.pairing.as_ref().filter(|pairing| pairing.own.is_some())?;
        Some(pairing.token.clone()).filter(|token| !token.is_empty())
    }

    /// Asks the server for a code that this phone can show.
    pub fn ask_ticket(&mut self) {
        let (Some(pairing), Some((device_id, _))) = (&self.pairing, &self.recorder.journal().identity) else { return };
        let ask = PairingAsk {
            device_id: device_id.clone(),
            name: Some(pairing.name.clone()).filter(|name| !name.is_empty()),
            device_type: self.session.device_type(),
        };
        let path = "/api/scanning/pairing-requests".to_owned();
        self.send(Ask::Pair, "POST", path, Some(to_text(&ask)), limits::REQUEST_MS);
    }

    /// Handles an answer that belongs to the wait for an approval: the code, or the message that nobody has approved it
    /// yet. Returns false for any other answer.
    pub fn waits_on(&mut self, answer: &Answer<'_>) -> bool {
        let now = self.mono();
        let Some(Pairing { token, own: Some(own), .. }) = &mut self.pairing else { return false };
        if token.is_empty() {
            let ticket = matches!(answer.status, 200 | 201).then(|| from_json::<PairingTicket>(answer.body).ok());
            let Some(ticket) = ticket.flatten() else { return false };
            *token = ticket.pairing_token;
            *own =
                Own { claim_secret: ticket.claim_secret, until_mono_ms: now.saturating_add(limits::PAIRING_TOKEN_MS) };
        } else if answer.status != 202 || from_json::<serde::de::IgnoredAny>(answer.body).is_err() {
            return false;
        }
        self.done(&Ask::Pair, limits::APPROVAL_POLL_MS);
        true
    }

    /// Whether the shown code is still valid. While it is, a request whose answer did not come is repeated.
    pub fn still_waits(&self) -> bool {
        let own = self.pairing.as_ref().and_then(|pairing| pairing.own.as_ref());
        own.is_some_and(|own| self.mono() < own.until_mono_ms)
    }
}
