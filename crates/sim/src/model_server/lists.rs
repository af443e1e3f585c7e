//! The signed list and the changes, built with core's own functions.

use std::collections::BTreeMap;
use std::rc::Rc;

use admit_core::barcode::BarcodeHash;
use admit_core::gate::GateRules;
use admit_core::ids::{GateId, TicketId};
use admit_core::incident::Subject;
use admit_core::limits;
use admit_core::manifest::build::{self, Code, Input, Large};
use admit_core::rule::When;
use admit_core::ticket::TicketRules;
use admit_core::time::Timestamp;
use admit_core::wire::manifest::ManifestTail;
use admit_core::wire::scanning::{
    ChangedGate, ChangedTicket, ChangesAnswer, Cursor, DEVICE_TIME_HEADER, SIGNATURE_HEADER,
};

use super::routes::{Caller, ok, problem, raw};
use super::{Lists, ModelServer, Org};
use crate::server::{Reply, Request, Response};

/// The most tickets in one answer to `changes`. It is small, so that there are several pages.
const PAGE: usize = 4;

impl Org {
    /// The newest rules of every ticket.
    fn newest_tickets(&self) -> BTreeMap<TicketId, TicketRules> {
        let newest = |id: &TicketId| self.ticket_book(&Subject::Ticket(id.clone()))?.get(When::Newest);
        self.ruled_at.keys().filter_map(|id| Some((id.clone(), newest(id)?))).collect()
    }

    fn newest_gates(&self) -> Vec<(GateId, GateRules)> {
        self.book.gate_ids().filter_map(|id| Some((id.clone(), self.book.gate(id, When::Newest)?))).collect()
    }

    fn codes_of(&self, ticket_id: &TicketId) -> Vec<BarcodeHash> {
        self.codes.iter().filter(|(_, id)| *id == ticket_id).map(|(hash, _)| *hash).collect()
    }

    /// The list's large part: the whole list, or the changes since a version. It is made once per version, because its
    /// content depends only on the version (spec §5).
    fn large(&mut self, since: Option<u64>) -> Option<(Timestamp, Rc<Large>)> {
        if self.lists.version != self.version {
            self.lists = Lists { version: self.version, made: BTreeMap::new() };
        }
        if let Some(made) = self.lists.made.get(&since) {
            return Some(made.clone());
        }
        let whole = since.and_then(|_| self.large(None));
        let event = self.book.event(When::Newest)?;
        let (gates, tickets) = (self.newest_gates(), self.newest_tickets());
        let newer = |id: &TicketId| since.is_none_or(|since| self.ruled_at.get(id).is_some_and(|at| *at > since));
        let codes = self.codes.iter().filter(|(_, id)| newer(id));
        let codes: Vec<Code<'_>> = codes
            .filter_map(|(hash, id)| {
                Some(Code { hash: *hash, ticket_id: id, rules: tickets.get(id)?, group: self.groups.get(id).copied() })
            })
            .collect();
        let input = Input {
            organization_id: &self.id,
            event_id: &self.event_id,
            event: &event,
            door: &self.book.door(),
            version: self.version,
            gates: &gates,
            codes: &codes,
        };
        let large = match (since, whole) {
            (Some(since), Some((_, whole))) => build::delta_part(&input, since, &[], whole.content_hash),
            _ => build::large_part(&input),
        };
        let made = (event.ends_at, Rc::new(large.ok()?));
        self.lists.made.insert(since, made.clone());
        Some(made)
    }

    fn changed_ticket(&self, ticket_id: &TicketId) -> Option<ChangedTicket> {
        let subject = Subject::Ticket(ticket_id.clone());
        Some(ChangedTicket {
            ticket_id: ticket_id.clone(),
            rules: self.ticket_book(&subject)?.get(When::Newest)?,
            barcode_hashes: self.codes_of(ticket_id),
            prefix: Default::default(),
            scans: self.derived.get(&subject).map(|reduced| reduced.effective.clone()).unwrap_or_default(),
        })
    }
}

impl ModelServer {
    pub(super) fn manifest(&mut self, now_ms: i64, caller: &Caller, request: &Request) -> Response {
        let epoch = self.state.epoch;
        let org = &mut self.state.orgs[caller.org];
        let since = request.query("since").and_then(|since| since.parse::<u64>().ok());
        let since = since.filter(|since| *since <= org.version);
        let Some((ends_at, large)) = org.large(since) else {
            return problem(500, "bug", "The list could not be built.");
        };
        let wall = request.header(DEVICE_TIME_HEADER).and_then(|text| Timestamp::parse(text).ok());
        let tail = ManifestTail {
            generated_at: Timestamp::clamped(now_ms),
            expires_at: ends_at.plus_ms(limits::MANIFEST_AFTER_END_MS),
            offset_seconds: wall.map_or(0, |wall| (now_ms - wall.ms()) / 1_000),
            epoch,
            serial: org.serial,
        };
        let (body, signature) = build::envelope(&large.bytes, &tail, &caller.key);
        let mut answer = raw(200, body);
        answer.headers.push((SIGNATURE_HEADER.into(), signature));
        answer
    }

    pub(super) fn changes(&mut self, now_ms: i64, caller: &Caller, request: &Request) -> Reply {
        let epoch = self.state.epoch;
        let org = &self.state.orgs[caller.org];
        let asked = request.query("cursor").filter(|text| !text.is_empty());
        let cursor = match asked.as_deref().map(str::parse::<Cursor>) {
            Some(Err(_)) => return Reply::Answer(problem(400, "invalid_cursor", "This is no cursor.")),
            Some(Ok(cursor)) => Some(cursor),
            None => None,
        };
        let resync = cursor.as_ref().is_some_and(|cursor| cursor.epoch != epoch || cursor.serial > org.serial);
        let version = request.query("manifest_version").and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        if resync {
            return Reply::Answer(ok(&ChangesAnswer {
                items: Vec::new(),
                event: None,
                gates: None,
                devices: Vec::new(),
                manifest_version: org.version,
                cursor: Cursor::at(epoch, 0),
                more: false,
                resync,
                server_time: Timestamp::clamped(now_ms),
            }));
        }
        let from = cursor.map_or(0, |cursor| cursor.serial);
        let mut changed: Vec<(u64, &TicketId)> =
            org.changed_at.iter().filter(|(_, at)| **at > from).map(|(id, at)| (*at, id)).collect();
        changed.sort();
        // A page ends between two serials, never within one.
        let more = changed.len() > PAGE && changed.last().map(|it| it.0) != changed.get(PAGE - 1).map(|it| it.0);
        let last = if more { changed[PAGE - 1].0 } else { org.serial };
        changed.retain(|(at, _)| *at <= last);
        let news = !changed.is_empty() || org.version > version;
        if !news && request.query("wait").is_some() {
            return Reply::Hold;
        }
        let rules_changed = org.event_at > from;
        let gates = || {
            let rules = org.newest_gates().into_iter();
            rules.map(|(gate_id, rules)| ChangedGate { gate_id, rules }).collect()
        };
        Reply::Answer(ok(&ChangesAnswer {
            items: changed.iter().filter_map(|(_, id)| org.changed_ticket(id)).collect(),
            event: org.book.event(When::Newest).filter(|_| rules_changed),
            gates: rules_changed.then(gates),
            devices: Vec::new(),
            manifest_version: org.version,
            cursor: Cursor::at(epoch, last),
            more,
            resync,
            server_time: Timestamp::clamped(now_ms),
        }))
    }
}
