//! The organisers' acts at level 0: rules, imports, reviews, tokens, revocation.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::event::{Days, EventRules, EventStatus, ReEntry, StaffPin};
use admit_core::gate::{EntryRule, GateRules};
use admit_core::ids::{EventId, GateId, OrganizationId, TicketId};
use admit_core::incident::Subject;
use admit_core::review::{Decision, Review};
use admit_core::rule::{Change, Effective, Epoch, Epochs, EventBook, EventChange, GateChange, Rule, TicketChange};
use admit_core::sign;
use admit_core::ticket::{Group, TicketRules};
use admit_core::time::Timestamp;

use super::{ModelServer, Org, Token, first_of};
use crate::config::Config;
use crate::mutants::{Mutant, Planted};
use crate::rng::Rng;
use crate::server::Act;
use crate::venue::{GATES, PIN, ticket_rules};

impl Org {
    pub(super) fn new(seed: u64, org: u64, config: &Config, now_ms: i64, epoch: Epoch, planted: Planted) -> Self {
        let mut new = Self {
            // All ids except the organisation's are the same in both organisations.
            id: OrganizationId::new(format!("org-{org}")).unwrap_or_else(|_| unreachable!("printable")),
            event_id: EventId::new("event").unwrap_or_else(|_| unreachable!("printable")),
            rng: Rng::of(seed, "org", org),
            planted,
            serial: 0,
            last_effective_ms: 0,
            audit: vec![admit_core::audit::GENESIS],
            rules: Vec::new(),
            book: EventBook::new([], Epochs::new(vec![(epoch, 0)])),
            reviews: Vec::new(),
            facts: Default::default(),
            derived: Default::default(),
            incidents: Default::default(),
            codes: Default::default(),
            ruled_at: Default::default(),
            changed_at: Default::default(),
            event_at: 0,
            version: 0,
            lists: Default::default(),
            devices: Default::default(),
            tokens: Default::default(),
            batches: Default::default(),
            judged: Default::default(),
            logs: Default::default(),
            epochs: vec![(epoch, 0)],
            days: config.days(ReEntry::Daily),
            groups: BTreeMap::new(),
        };
        let salt = [7; 16];
        let event = EventRules {
            name: "Fest".into(),
            starts_at: config.starts_at(),
            ends_at: config.ends_at(),
            status: if config.opens_ms.is_some() { EventStatus::Draft } else { EventStatus::Live },
            re_entry: config.re_entry,
            min_gap_seconds: config.gap_seconds,
            staff_pin: Some(StaffPin { salt, hash: sign::pin_hash(PIN, &salt, 1), iterations: 1 }),
            opened_at: config.opens_ms.is_none().then(|| Timestamp::clamped(now_ms)),
            days: config.days(config.re_entry),
            limits: config.limits(),
            walk_ins: config.walk_ins_number,
        };
        let mut first = vec![Change::Event(EventChange::First(event))];
        for (id, direction) in GATES {
            let rules = GateRules {
                name: id.into(),
                zones: vec!["general".into()],
                direction,
                capacity: config.capacity,
                names_on_devices: false,
                walk_ins: config.walk_ins > 0,
                entry_rules: vec![EntryRule::CheckTicketValid, EntryRule::CheckNotDuplicate],
            };
            let gate_id = GateId::new(id).unwrap_or_else(|_| unreachable!("printable"));
            first.push(Change::Gate(gate_id, GateChange::First(rules)));
        }
        new.add_rules(now_ms, first, true);
        for n in 0..config.tickets {
            let entry_limit = 1 + (n as u32) % config.party;
            let id = TicketId::new(format!("ticket-{n}")).unwrap_or_else(|_| unreachable!("printable"));
            let order = config.order_of(n);
            new.groups.extend(order.map(|order| (id.clone(), Group::of(&new.event_id, &order))));
            new.add_ticket(now_ms, &id, &format!("CODE-{n}"), ticket_rules(entry_limit));
        }
        new
    }

    /// Adds rules in one transaction. They hold from the start, or from the moment of the write.
    fn add_rules(&mut self, now_ms: i64, changes: Vec<Change>, from_start: bool) {
        let serial = self.take_head(now_ms, "rules_changed", "");
        self.last_effective_ms = now_ms.max(self.last_effective_ms + 1);
        let later = Effective::At(Timestamp::clamped(self.last_effective_ms));
        for (ordinal, change) in (0..).zip(changes) {
            match &change {
                Change::Ticket(id, _) => {
                    self.ruled_at.insert(id.clone(), serial);
                    self.changed_at.insert(id.clone(), serial);
                }
                Change::Event(_) | Change::Gate(..) => self.event_at = serial,
                Change::Device(..) => {}
            }
            let effective_at = if from_start { Effective::Start } else { later };
            let rule = Rule { serial, ordinal, effective_at, change };
            self.book.add(&rule);
            self.rules.push(rule);
        }
        self.version = serial;
    }

    fn add_ticket(&mut self, now_ms: i64, id: &TicketId, code: &str, rules: TicketRules) {
        self.add_rules(now_ms, vec![Change::Ticket(id.clone(), TicketChange::First(rules))], true);
        self.codes.insert(BarcodeHash::of(code), id.clone());
    }
}

impl ModelServer {
    pub(super) fn do_act(&mut self, now_ms: i64, org: usize, act: &Act) -> Option<String> {
        let planted = self.planted;
        let (org, coverage) = (&mut self.state.orgs[org], &mut self.coverage);
        match act {
            Act::Token(gate_id) => {
                let token = admit_core::ids::uuid_v4(org.rng.bytes());
                org.tokens.insert(token.clone(), Token { gate_id: gate_id.clone(), used_by: None });
                return Some(token);
            }
            // At level 0 a link pairs every phone that is not revoked, so no phone shows a code of its own.
            Act::Approve { .. } => return None,
            Act::Rule { change, from_start } => {
                let mut changes = vec![change.clone()];
                match change {
                    Change::Event(EventChange::ReEntry(mode)) => {
                        let days = if *mode == ReEntry::Daily { org.days.clone() } else { Days::default() };
                        changes.push(Change::Event(EventChange::Days(days)));
                    }
                    Change::Event(EventChange::Status(EventStatus::Live)) => {
                        changes.push(Change::Event(EventChange::OpenedAt(Some(Timestamp::clamped(now_ms)))));
                    }
                    _ => {}
                }
                org.add_rules(now_ms, changes, *from_start);
                // A ticket's rule affects that ticket. A rule of event, gate or device affects every scanned ticket.
                let touched: BTreeSet<Subject> = match change {
                    Change::Ticket(id, _) => [Subject::Ticket(id.clone())].into(),
                    _ => org.derived.keys().cloned().collect(),
                };
                coverage
                    .hit_if(touched.iter().any(|it| org.derived.contains_key(it)), "rule changed for a scanned ticket");
                if !planted.is(Mutant::RuleWithoutRefold) {
                    org.refold(&touched, coverage, planted);
                }
            }
            Act::Import { ticket_id, code, rules } => {
                let hash = BarcodeHash::of(code);
                if org.codes.contains_key(&hash) || org.rules.iter().any(|rule| is_first(rule, ticket_id)) {
                    return None;
                }
                org.add_ticket(now_ms, ticket_id, code, rules.clone());
                let unknown = Subject::Unknown(hash);
                coverage.hit_if(org.derived.contains_key(&unknown), "late import of a scanned code");
                if !planted.is(Mutant::ImportWithoutRefold) {
                    org.refold(&[unknown, Subject::Ticket(ticket_id.clone())].into(), coverage, planted);
                }
            }
            Act::Review { device_id, scan_id, digest, decision } => {
                let fact = org.facts.get(&(device_id.clone(), scan_id.clone()))?.get(digest)?;
                let subject = org.subject_of(fact);
                let serial = org.take_head(now_ms, "scan_reviewed", scan_id.as_str());
                let (device_id, scan_id) = (device_id.clone(), scan_id.clone());
                org.reviews.push(Review { serial, device_id, scan_id, digest: *digest, decision: *decision });
                coverage.hit_if(*decision == Decision::Exclude, "scan excluded");
                org.refold(&[subject].into(), coverage, planted);
            }
            Act::Note(subject, kind) => {
                let incident = org.incidents.get_mut(&(subject.clone(), *kind))?;
                (incident.resolved, incident.open) = (Some(incident.digest), false);
                org.take_head(now_ms, "incident_resolved", kind.as_str());
            }
            Act::Rotate(device_id) => {
                let device = org.devices.get(device_id).filter(|device| !device.revoked)?;
                let token = admit_core::ids::uuid_v4(org.rng.bytes());
                org.tokens.insert(token.clone(), Token { gate_id: device.gate_id.clone(), used_by: None });
                return Some(token);
            }
            Act::Revoke(device_id) => {
                org.devices.get_mut(device_id)?.revoked = true;
                org.take_head(now_ms, "device_revoked", device_id.as_str());
                return Some(device_id.to_string());
            }
        }
        None
    }
}

fn is_first(rule: &Rule, ticket_id: &TicketId) -> bool {
    first_of(rule) && matches!(&rule.change, Change::Ticket(id, _) if id == ticket_id)
}
