//! Scans that a device asks the server about before its door opens (spec §5 `POST /api/scans`).

use admit_core::decide::{Question, Verdict, decide};
use admit_core::ids::TicketId;
use admit_core::incident::Subject;
use admit_core::reduce::{Rules, TicketState, Visit, reduce};
use admit_core::rule::When;
use admit_core::scan::{Fact, Judged, Scan, SignatureState};
use admit_core::sign;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::Cursor;
use admit_core::wire::scans::{OnlineAnswer, OnlineRequest};

use super::routes::{self, Caller, raw};
use super::{ModelServer, Org};
use crate::server::Response;

impl ModelServer {
    /// Judges a claim and stores it with the answer. The same claim again gets the same bytes.
    pub(super) fn judge(&mut self, now_ms: i64, caller: &Caller, body: &str) -> Response {
        let Ok(OnlineRequest::Claim(claim)) = OnlineRequest::read(body.as_bytes()) else {
            return routes::problem(400, "invalid_body", "This is no claim.");
        };
        let (scan, evidence) = *claim;
        let signature = evidence.signature.unwrap_or_default();
        if scan.device_id != caller.device_id {
            return routes::problem(401, "device_mismatch", "The key is another device's.");
        }
        let org = &self.state.orgs[caller.org];
        if org.proof(&scan, &signature, self) != SignatureState::Verified {
            return routes::problem(400, "invalid_body", "The signature does not verify.");
        }
        let digest = sign::content_digest(&scan);
        if let Some(stored) = org.judged.get(&digest) {
            self.coverage.hit("asked twice about one claim");
            return raw(200, stored.clone());
        }
        let (ticket_id, state) = org.before(&scan);
        let verdict = org.ask(ticket_id.as_ref(), &state, &scan);
        self.coverage.hit_if(verdict.outcome != scan.outcome, "server overruled the phone");
        let (epoch, planted) = (self.state.epoch, self.planted);
        let org = &mut self.state.orgs[caller.org];
        let judged = Judged { serial: org.serial, outcome: verdict.outcome };
        org.take_head(now_ms, "scan_judged", scan.scan_id.as_str());
        let last = state.entries.last();
        let answer = OnlineAnswer {
            scan_id: scan.scan_id.clone(),
            ticket_id,
            outcome: verdict.outcome,
            reason: verdict.reason,
            may_admit: verdict.may_admit,
            last_scan_at: last.map(|entry| entry.at),
            last_gate_id: last.map(|entry| entry.gate_id.clone()),
            cursor: Cursor::at(epoch, org.serial),
            server_time: Timestamp::clamped(now_ms),
        };
        let fact = Fact {
            digest,
            signature: SignatureState::Verified,
            withheld: false,
            offset_seconds: 0,
            received_at: Timestamp::clamped(now_ms),
            judged: Some(judged),
            scan,
        };
        org.intake(&fact, false);
        let touched = [org.subject_of(&fact)].into();
        org.refold(&touched, &mut self.coverage, planted);
        let body = serde_json::to_vec(&answer).unwrap_or_default();
        self.state.orgs[caller.org].judged.insert(digest, body.clone());
        raw(200, body)
    }
}

impl Org {
    /// The ticket of a scan, and its state without any content of that scan.
    fn before(&self, scan: &Scan) -> (Option<TicketId>, TicketState) {
        let subject = match scan.barcode_hash.and_then(|hash| self.codes.get(&hash)) {
            Some(id) => Subject::Ticket(id.clone()),
            None => Subject::Unknown(scan.barcode_hash.unwrap_or(admit_core::barcode::BarcodeHash([0; 32]))),
        };
        let mut facts = self.resolved();
        facts.retain(|(of, fact)| {
            *of == subject && (&fact.scan.device_id, &fact.scan.scan_id) != (&scan.device_id, &scan.scan_id)
        });
        let ticket = self.ticket_book(&subject);
        let rules = Rules { event: &self.book, ticket: ticket.as_ref(), newest: false };
        (subject.ticket_id().cloned(), reduce(&subject, rules, &self.reviews, &facts).state)
    }

    /// Calls `decide` with the newest rules, at a time not before the ticket's last plausible entry.
    fn ask(&self, ticket_id: Option<&TicketId>, state: &TicketState, scan: &Scan) -> Verdict {
        let Some(event) = self.book.event_at_door(scan.at, (scan.epoch, scan.known_serial())) else {
            unreachable!("an organisation has its event")
        };
        let gate = self.book.gate(&scan.gate_id, When::Newest);
        let ticket = ticket_id.and_then(|id| self.ticket_book(&Subject::Ticket(id.clone())));
        let ticket = ticket.and_then(|book| book.get(When::Newest));
        let zone = ticket.as_ref().map(|ticket| ticket.zone.as_str());
        let visit = Visit { event: &event, zone, gate_id: &scan.gate_id };
        decide(Question {
            event: &event,
            ticket: ticket.as_ref(),
            standing: &state.standing_at_door(&visit, scan.at),
            gate_id: &scan.gate_id,
            gate: gate.as_ref(),
            at: scan.at,
            kind: scan.kind,
            area_inside: 0,
        })
    }
}
