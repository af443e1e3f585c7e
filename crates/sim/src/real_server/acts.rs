//! The organisers' acts at levels 1 and 2, through the use cases.

use admit_app::audits::line;
use admit_app::caller::UserCaller;
use admit_app::error::{Error, Result};
use admit_app::ports::{Scope, read, write};
use admit_app::records::{OrganizationRecord, Role, UserRecord};
use admit_app::rules::{HoldsFrom, put};
use admit_app::{devices, entry_types, events, gates, incidents, pairing_tokens, tickets};
use admit_core::event::{EventStatus, StaffPin};
use admit_core::ids::{GateId, OrganizationId, TicketId, UserId};
use admit_core::incident::{CauseSubject, Subject};
use admit_core::rule::{Change, Effective, EventChange, GateChange, TicketChange};
use admit_core::sign;
use admit_core::wire::stored;

use super::{Owner, RealServer, now};
use crate::config::Config;
use crate::rng::Rng;
use crate::server::Act;
use crate::venue::{GATES, PIN};

fn named<T>(made: std::result::Result<T, admit_core::ids::IdError>) -> Result<T> {
    made.map_err(|error| Error::Bug(error.to_string()))
}

impl RealServer {
    /// Makes an organisation with its event, gates and tickets. Every organisation starts the same stream of random
    /// ids, so all their ids are the same on purpose.
    pub(super) fn found(&mut self, seed: u64, org: u64, config: &Config) -> Result<Owner> {
        let at = self.app.clock.now();
        self.serve(at.ms(), org as usize);
        let mine = std::mem::replace(&mut self.streams()[org as usize], Rng::of(seed, "colliding ids", 0));
        let organization_id = named(OrganizationId::new(format!("org-{org}")))?;
        let user_id = named(UserId::new(format!("owner-{org}")))?;
        let organization =
            OrganizationRecord { organization_id: organization_id.clone(), name: "Org".into(), created_at: at };
        let owner = UserRecord {
            user_id: user_id.clone(),
            email: format!("owner-{org}@example.org"),
            name: "Ada".into(),
            password_hash: "never signs in".into(),
            created_at: at,
        };
        now(self.app.store.create_organization(organization, owner))?;
        let caller = UserCaller { organization_id, user_id, role: Role::Owner, token_ends_at: None };
        let new = events::NewEvent {
            name: "Fest".into(),
            venue: String::new(),
            time_zone: "UTC".into(),
            starts_at: config.starts_at(),
            ends_at: config.ends_at(),
            status: Some(if config.opens_ms.is_some() { EventStatus::Draft } else { EventStatus::Live }),
            re_entry: Some(config.re_entry),
            min_gap_seconds: Some(config.gap_seconds),
            day_starts_at: admit_app::records::ClockTime::of_minutes(config.day_starts_minute),
            staff_pin: None,
            capacity: None,
            retention_days: None,
            walk_ins: config.walk_ins_number,
            at_door: Default::default(),
            gates: Some(Vec::new()),
        };
        let event_id = now(events::create(&self.app, &caller, new))?.event_id;
        self.set_pin(&caller, &event_id)?;
        for (id, direction) in GATES {
            let new = gates::NewGate {
                gate_id: named(GateId::new(id))?,
                name: None,
                zones: Some(vec!["general".into()]),
                direction: Some(direction),
                capacity: config.capacity,
                names_on_devices: Some(false),
                walk_ins: Some(config.walk_ins > 0),
                entry_rules: None,
            };
            now(gates::create(&self.app, &caller, event_id.clone(), new))?;
        }
        let general = now(entry_types::list(&self.app, &caller, event_id.clone()))?.remove(0).record.entry_type_id;
        let (per_gate, uses) = (Some(config.per_gate), Some(config.uses));
        let patch = entry_types::EntryTypePatch { per_gate, uses, ..entry_types::EntryTypePatch::default() };
        now(entry_types::update(&self.app, &caller, event_id.clone(), general, patch))?;
        let mut owner = Owner { caller, event_id, tickets: Default::default() };
        for n in 0..config.tickets {
            let name = named(TicketId::new(format!("ticket-{n}")))?;
            let order_id = config.order_of(n);
            let id = self.sell(&owner, &format!("CODE-{n}"), 1 + (n as u32) % config.party, order_id)?;
            owner.tickets.insert(name, id);
        }
        self.streams()[org as usize] = mine;
        Ok(owner)
    }

    fn streams(&self) -> std::sync::MutexGuard<'_, Vec<Rng>> {
        self.machine.ids.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Sets the staff PIN by a rule of its own. The use case would hash it for longer than a whole seed takes.
    fn set_pin(&self, caller: &UserCaller, event_id: &admit_core::ids::EventId) -> Result<()> {
        let (id, at, draw, by) = (event_id.clone(), self.app.clock.now(), self.app.seeded_ids(), caller.clone());
        let scope = Scope::event(&caller.organization_id, event_id);
        now(write(&*self.app.store, scope, move |tx| {
            let salt = [7; 16];
            let pin = StaffPin { salt, hash: sign::pin_hash(PIN, &salt, 1), iterations: 1 };
            let change = Change::Event(EventChange::StaffPin(Some(pin)));
            let stamp = tx.stamp(&id)?;
            put(tx, &id, stamp, vec![(Effective::Start, change)], &Default::default(), at, &mut draw.clone())?;
            tx.append_audit(line::of(&by, Some(&id), "event_updated", ("Event", id.as_str()), serde_json::json!({})))
        }))
    }

    fn sell(&self, owner: &Owner, code: &str, entry_limit: u32, order_id: Option<String>) -> Result<TicketId> {
        let new = tickets::NewTicket {
            barcode: Some(code.into()),
            zone: Some("general".into()),
            entry_limit: Some(entry_limit),
            order_id,
            ..Default::default()
        };
        let made = now(tickets::create_one(&self.app, &owner.caller, owner.event_id.clone(), new))?;
        Ok(made.0.ticket_id)
    }

    pub(super) fn do_act(&mut self, org: usize, act: &Act) -> Result<Option<String>> {
        let owner = &self.owners[org];
        let (app, caller, event_id) = (&self.app, &owner.caller, owner.event_id.clone());
        match act {
            Act::Token(gate_id) => {
                let token = now(pairing_tokens::create(app, caller, event_id, gate_id.clone(), None))?.pairing_token;
                self.texts.insert(token.clone(), org);
                return Ok(Some(token));
            }
            Act::Approve { code, gate_id } => {
                now(devices::approve_pairing(app, caller, code, Some((event_id, gate_id.clone())), false))?;
                self.belongs(code, org);
                self.coverage.hit("phone let in by its own code");
            }
            Act::Rule { change, from_start } => self.change(org, change, *from_start)?,
            Act::Import { ticket_id, code, rules } => {
                let id = self.sell(owner, code, rules.entry_limit, None)?;
                self.owners[org].tickets.insert(ticket_id.clone(), id);
            }
            Act::Review { device_id, scan_id, decision, .. } => {
                let all = self.incidents(org)?;
                let names = |incident: &&admit_app::records::IncidentRecord| {
                    let cause = stored::cause_from_json(&incident.cause);
                    let of_scans = |subject: &CauseSubject| matches!(subject, CauseSubject::Scans(_));
                    cause.is_ok_and(|cause| {
                        let named =
                            |it: &admit_core::incident::CauseScan| it.device_id == *device_id && it.scan_id == *scan_id;
                        of_scans(&cause.subject) && cause.scans.iter().any(named)
                    })
                };
                let Some(incident) = all.iter().find(names) else { return Ok(None) };
                let scans = vec![(device_id.clone(), scan_id.clone())];
                let said = incidents::Resolve { decision: Some(*decision), scans, note: String::new() };
                now(incidents::resolve(app, caller, incident.incident_id.clone(), said))?;
                self.coverage.hit_if(*decision == admit_core::review::Decision::Exclude, "scan excluded");
            }
            Act::Note(subject, kind) => {
                let all = self.incidents(org)?;
                let found = all
                    .iter()
                    .find(|it| it.kind == *kind && Subject::from_key(&it.subject_key).as_ref() == Some(subject));
                let Some(incident) = found else { return Ok(None) };
                let said = incidents::Resolve { decision: None, scans: vec![], note: "seen".into() };
                now(incidents::resolve(app, caller, incident.incident_id.clone(), said))?;
            }
            Act::Rotate(device_id) => {
                let token = now(devices::rotate_key(app, caller, device_id.clone()))?.pairing_token;
                self.belongs(&token, org);
                return Ok(Some(token));
            }
            Act::Revoke(device_id) => {
                now(devices::revoke(app, caller, device_id.clone(), None))?;
            }
        }
        Ok(None)
    }

    fn incidents(&self, org: usize) -> Result<Vec<admit_app::records::IncidentRecord>> {
        let owner = &self.owners[org];
        let event_id = owner.event_id.clone();
        now(read(&*self.app.store, &owner.caller.organization_id, move |tx| tx.all_incidents(&event_id)))
    }

    fn change(&mut self, org: usize, change: &Change, from_start: bool) -> Result<()> {
        let owner = &self.owners[org];
        let (app, caller, event_id) = (&self.app, &owner.caller, owner.event_id.clone());
        match change {
            Change::Ticket(name, change) => {
                let Some(id) = owner.tickets.get(name).cloned() else { return Ok(()) };
                let effective = if from_start { HoldsFrom::Start } else { HoldsFrom::Now };
                let mut patch = tickets::TicketPatch { effective, ..Default::default() };
                match change.clone() {
                    TicketChange::First(_) => return Ok(()),
                    TicketChange::Status(status) => patch.status = Some(status),
                    TicketChange::EntryLimit(limit) => patch.entry_limit = Some(limit),
                    TicketChange::GateIds(gate_ids) => patch.gate_ids = Some(gate_ids),
                    TicketChange::Zone(zone) => patch.zone = Some(zone),
                    TicketChange::Window { valid_from, expires_at } => {
                        (patch.valid_from, patch.expires_at) = (Some(valid_from), Some(expires_at));
                    }
                }
                now(tickets::update(app, caller, id, patch))?;
            }
            Change::Gate(gate_id, GateChange::Zones(zones)) => {
                let patch = gates::GatePatch { zones: Some(zones.clone()), ..Default::default() };
                now(gates::update(app, caller, event_id, gate_id.clone(), patch))?;
            }
            Change::Event(EventChange::ReEntry(mode)) => {
                let patch = events::EventPatch { re_entry: Some(*mode), ..Default::default() };
                now(events::update(app, caller, event_id, patch))?;
            }
            Change::Event(EventChange::Status(status)) => {
                let patch = events::EventPatch { status: Some(*status), ..Default::default() };
                now(events::update(app, caller, event_id, patch))?;
            }
            Change::Event(EventChange::MinGapSeconds(gap)) => {
                let patch = events::EventPatch { min_gap_seconds: Some(*gap), ..Default::default() };
                now(events::update(app, caller, event_id, patch))?;
            }
            _ => {}
        }
        self.coverage.hit("rule changed for a scanned ticket");
        Ok(())
    }
}
