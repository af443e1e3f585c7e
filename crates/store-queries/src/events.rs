//! Statements about events, their serials, their rules and their ledgers.

use std::collections::BTreeMap;
use std::sync::Arc;

use admit_app::error::{Error, Result};
use admit_app::ports::TxEvents;
use admit_app::records::{
    AtDoor, AuditRecord, ClockTime, EventFigures, EventRecord, Head, LedgerEnd, Listed, LoadedRules, NewAudit,
    NewAuditOwned, Page, Stamp,
};
use admit_core::audit::{self, AuditEntry};
use admit_core::ids::{DeviceId, EventId, TicketId};
use admit_core::rule::{Change, Effective, Epochs, EventBook, Rule};
use admit_core::time::Timestamp;
use admit_core::wire::stored;

use crate::driver::{Asked, Driver, Stmt, bulks, statements};
use crate::heads::{self, EVENT_EPOCHS, EventHead, INSERT_HEAD, OrganizationHead};
use crate::page;
use crate::tx::SqlTx;
use crate::value::{Row, Value, check_text};

macro_rules! event_columns {
    () => {
        "event_id, name, venue, time_zone, starts_at, ends_at, status, re_entry, min_gap_seconds, day_starts_at, has_pin, \
         capacity, walk_ins, verdict_fields, barcode_kinds, retention_days, created_at"
    };
}
/// The kinds of rules in an event's book ([`admit_core::rule::EventBook`]). The store reads them without reading the
/// rules of all tickets.
pub(crate) const KINDS: [&str; 3] = ["event", "gate", "device"];

macro_rules! audit_columns {
    () => {
        "event_id, n, serial, at, user_id, device_id, action, entity_type, entity_id, changes, metadata, head"
    };
}

statements! {
    /// Makes an event.
    INSERT_EVENT = "INSERT INTO events (organization_id, event_id, name, venue, time_zone, starts_at, ends_at, status, re_entry,
        min_gap_seconds, day_starts_at, has_pin, capacity, walk_ins, verdict_fields, barcode_kinds, retention_days,
        created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)";
    /// Overwrites the newest values of an event.
    UPDATE_EVENT = "UPDATE events SET name = $3, venue = $4, time_zone = $5, starts_at = $6, ends_at = $7, status = $8, re_entry = $9,
        min_gap_seconds = $10, day_starts_at = $11, has_pin = $12, capacity = $13, walk_ins = $14, verdict_fields = $15,
        barcode_kinds = $16, retention_days = $17
        WHERE organization_id = $1 AND event_id = $2";
    /// One event.
    EVENT = concat!("SELECT ", event_columns!(), " FROM events WHERE organization_id = $1 AND event_id = $2");
    /// A page of events, newest first.
    EVENTS = concat!("SELECT ", event_columns!(), " FROM events WHERE organization_id = $1 AND (created_at, event_id) < ($2, $3)
        ORDER BY created_at DESC, event_id DESC LIMIT $4");
    /// For each event, the number of persons that its tickets admit.
    EVENTS_EXPECTED = "SELECT event_id, CAST(SUM(entry_limit) AS BIGINT) FROM tickets WHERE organization_id = $1
        AND status IN ('active', 'used') AND event_id IN ($2) GROUP BY event_id";
    /// For each event, the number of persons that were let in, within limits and beyond.
    EVENTS_ADMITTED = "SELECT event_id, entered + over FROM occupancy WHERE organization_id = $1 AND event_id IN ($2)";
    /// For each event, the number of persons beyond their tickets' limits.
    EVENTS_OVER = "SELECT event_id, over FROM occupancy WHERE organization_id = $1 AND event_id IN ($2)";
    /// For each event, the number of open incidents in its review queue.
    EVENTS_OPEN = "SELECT event_id, COUNT(*) FROM incidents WHERE organization_id = $1 AND status = 'open' AND queued
        AND event_id IN ($2) GROUP BY event_id";
    /// Ids of all events of an organisation.
    EVENT_IDS = "SELECT event_id FROM events WHERE organization_id = $1 ORDER BY event_id";
    /// Rules of an event, its gates and its devices. They are found by kind, without reading the rules of all tickets.
    EVENT_RULES = "SELECT serial, ordinal, effective_at, subject_kind, subject_id, field, value FROM rules
        WHERE organization_id = $1 AND event_id = $2 AND subject_kind IN ($3)";
    /// Rules of the given tickets.
    TICKET_RULES = "SELECT serial, ordinal, effective_at, subject_kind, subject_id, field, value FROM rules
        WHERE organization_id = $1 AND event_id = $2 AND subject_kind = 'ticket' AND subject_id IN ($3)", by 4 of [];
    /// The rules that assign a device to events and gates, event by event.
    ASSIGNMENTS = "SELECT r.serial, r.ordinal, r.effective_at, r.subject_kind, r.subject_id, r.field, r.value
        FROM events e CROSS JOIN rules r
        WHERE r.organization_id = e.organization_id AND r.event_id = e.event_id AND r.subject_kind = 'device'
        AND e.organization_id = $1 AND r.subject_id IN ($2) AND r.field = 'assignment'", by 4 of [];
    /// A page of a ledger, newest first. $5: the action of its lines. Only a person asks for it, so it may be slow, and
    /// no index serves it.
    AUDIT = concat!("SELECT ", audit_columns!(), " FROM audit WHERE organization_id = $1 AND event_id = $2 AND n < $3
        AND (CAST($5 AS TEXT) IS NULL OR action = $5) ORDER BY n DESC LIMIT $4");
    /// A page of ledger lines about one guest, ticket or guest list, newest first.
    AUDIT_OF = concat!("SELECT ", audit_columns!(), " FROM audit WHERE organization_id = $1 AND event_id = $2
        AND entity_type IN ('Guest', 'Ticket', 'GuestList') AND entity_type = $3 AND entity_id = $4 ORDER BY n DESC LIMIT $5");
    /// Lines of a ledger from a place on, in order.
    AUDIT_FROM = concat!("SELECT ", audit_columns!(), " FROM audit WHERE organization_id = $1 AND event_id = $2 AND n >= $3
        ORDER BY n LIMIT $4");
    /// The newest line of a ledger with a given action.
    NEWEST_AUDIT = concat!("SELECT ", audit_columns!(), " FROM audit WHERE organization_id = $1 AND event_id = $2 AND action = $3
        ORDER BY n DESC LIMIT 1");
    /// The hash of the last line that an event's ledger had after the serial $3.
    AUDIT_HEAD_AT = "SELECT head FROM audit WHERE organization_id = $1 AND event_id = $2 AND serial <= $3
        ORDER BY serial DESC, n DESC LIMIT 1";
}
bulks! {
    /// Appends lines to a ledger.
    INSERT_AUDIT = "audit" {
        organization_id: Text, event_id: Text, n: Int, serial: Int, at: Int, user_id: Text, device_id: Text, action: Text,
        entity_type: Text, entity_id: Text, changes: Text, metadata: Text, head: Blob,
    };
    /// Stores rules.
    INSERT_RULES = "rules" {
        organization_id: Text, event_id: Text, serial: Int, ordinal: Int, effective_at: Int, subject_kind: Text,
        subject_id: Text, field: Text, value: Text,
    };
}

fn read_event(row: &mut Row) -> Result<EventRecord> {
    Ok(EventRecord {
        event_id: row.parsed()?,
        name: row.text()?,
        venue: row.text()?,
        time_zone: row.text()?,
        starts_at: row.at()?,
        ends_at: row.at()?,
        status: row.parsed()?,
        re_entry: row.parsed()?,
        min_gap_seconds: row.count()?,
        day_starts_at: read_clock_time(row)?,
        has_pin: row.bool()?,
        capacity: row.option(Row::count)?,
        walk_ins: row.option(Row::count)?,
        at_door: AtDoor {
            verdict_fields: read_words(row, "fields of a verdict")?,
            barcode_kinds: read_words(row, "kinds of codes")?,
        },
        retention_days: row.option(Row::count)?,
        created_at: row.at()?,
    })
}
/// Reads a column that stores a list of words as JSON.
fn read_words<T: serde::de::DeserializeOwned>(row: &mut Row, what: &'static str) -> Result<Vec<T>> {
    let text: String = row.text()?;
    stored::from_text(what, &text).map_err(|error| Error::Bug(error.to_string()))
}
fn read_clock_time(row: &mut Row) -> Result<ClockTime> {
    let minutes: u16 = row.count()?;
    ClockTime::of_minutes(minutes).ok_or_else(|| Error::Bug(format!("a stored time of day is {minutes} minutes")))
}
/// The values of an event's row, without `created_at`.
fn event_values<'a>(organization_id: Value<'a>, event: &'a EventRecord) -> Vec<Value<'a>> {
    vec![
        organization_id,
        (&event.event_id).into(),
        (&event.name).into(),
        (&event.venue).into(),
        (&event.time_zone).into(),
        event.starts_at.into(),
        event.ends_at.into(),
        event.status.as_str().into(),
        event.re_entry.as_str().into(),
        event.min_gap_seconds.into(),
        u32::from(event.day_starts_at.minutes()).into(),
        event.has_pin.into(),
        event.capacity.into(),
        event.walk_ins.into(),
        stored::to_text(&event.at_door.verdict_fields).into(),
        stored::to_text(&event.at_door.barcode_kinds).into(),
        event.retention_days.into(),
    ]
}
fn read_rule(row: &mut Row) -> Result<Rule> {
    let serial = row.count()?;
    let ordinal = row.count()?;
    let effective_at = row.option(Row::at)?.map_or(Effective::Start, Effective::At);
    let (kind, subject_id, field, value) = (row.text()?, row.text()?, row.text()?, row.text()?);
    let change = stored::change_from_parts(&kind, &subject_id, &field, &value);
    Ok(Rule { serial, ordinal, effective_at, change: change.map_err(|error| Error::Bug(error.to_string()))? })
}
fn read_epochs(rows: Vec<Row>) -> Result<Epochs> {
    let epochs = rows.into_iter().map(|mut row| Ok((heads::read_epoch(&mut row)?, row.count()?)));
    epochs.collect::<Result<Vec<_>>>().map(Epochs::new)
}
fn read_audit(row: &mut Row) -> Result<AuditRecord> {
    let event_id = row.text()?;
    let event_id = if event_id.is_empty() { None } else { event_id.parse().ok() };
    let (n, serial, at) = (row.count()?, row.count()?, row.at()?);
    let line = NewAuditOwned {
        event_id,
        user_id: row.option(Row::parsed)?,
        device_id: row.option(Row::parsed)?,
        action: row.text()?,
        entity_type: row.text()?,
        entity_id: row.text()?,
        changes: row.text()?,
        metadata: row.text()?,
    };
    Ok(AuditRecord { n, serial, at, line, head: row.hash()? })
}
/// The author of a ledger line, as the hash chain includes it.
fn actor(line: &NewAudit) -> String {
    match (&line.user_id, &line.device_id) {
        (Some(user), Some(device)) => format!("user:{user} device:{device}"),
        (Some(user), None) => format!("user:{user}"),
        (None, Some(device)) => format!("device:{device}"),
        (None, None) => "system".to_owned(),
    }
}
/// The value of the column that names the ledger: the event's id, or empty for the organisation's own ledger.
fn ledger(event_id: Option<&EventId>) -> Value<'_> {
    event_id.map_or_else(|| Value::from(""), Value::from)
}

/// The place of a line in its ledger.
struct Place {
    n: u64,
    serial: u64,
    at: Timestamp,
    prev: [u8; 32],
}

/// Writes one figure into an event's figures.
type PutFigure = fn(&mut EventFigures, i64);

impl<D: Driver> SqlTx<'_, D> {
    fn organization_head(&mut self) -> Result<OrganizationHead> {
        if let Some(head) = &self.organization_head {
            return Ok(head.clone());
        }
        self.change(heads::lock_organization)
    }
    fn place(&mut self, event_id: Option<&EventId>) -> Result<Place> {
        if let Some(event_id) = event_id {
            let stamp = self.stamp(event_id)?;
            let head = self.held_head(event_id)?;
            return Ok(Place {
                n: head.audit_n + 1,
                serial: stamp.serial,
                at: stamp.effective_at,
                prev: head.audit_head,
            });
        }
        let head = self.organization_head()?;
        let now = self.with(|driver, _| driver.now())?;
        let (n, at) = (head.audit_n + 1, now.max(Timestamp::clamped(head.last_at)));
        Ok(Place { n, serial: n, at, prev: head.audit_head })
    }
}

impl<D: Driver> TxEvents for SqlTx<'_, D> {
    fn insert_event(&mut self, event: &EventRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let mut values = event_values((&id).into(), event);
        values.push(event.created_at.into());
        self.execute(&INSERT_EVENT, &values)?;
        let new = EventHead::new();
        self.execute(&INSERT_HEAD, &[(&id).into(), (&event.event_id).into(), (&new.audit_head).into()])?;
        let epoch = self.present_epoch()?;
        self.change(|driver, organization_id| {
            heads::insert_event_epoch(driver, organization_id, &event.event_id, epoch, 0)
        })?;
        self.held.heads.insert(event.event_id.clone(), new);
        Ok(())
    }
    fn event(&mut self, event_id: &EventId) -> Result<Option<EventRecord>> {
        let id = self.organization_id.clone();
        self.one(&EVENT, &[(&id).into(), event_id.into()], read_event)
    }
    fn events(&mut self, page: &Page) -> Result<Listed<EventRecord>> {
        let id = self.organization_id.clone();
        let from = page::from(page)?;
        let values = [(&id).into(), from.number.into(), from.id.into(), page::limit(page).into()];
        let events = self.all(&EVENTS, &values, read_event)?;
        Ok(page::listed(page, events, |event| (event.created_at.ms(), event.event_id.to_string())))
    }
    fn event_figures(&mut self, event_ids: &[EventId]) -> Result<Vec<EventFigures>> {
        let id = self.organization_id.clone();
        let list: Vec<Value<'_>> = event_ids.iter().map(Value::from).collect();
        let mut figures: BTreeMap<EventId, EventFigures> = BTreeMap::new();
        let none = |event_id: &EventId| EventFigures {
            event_id: event_id.clone(),
            expected: 0,
            admitted: 0,
            over: 0,
            open_incidents: 0,
        };
        for event_id in event_ids {
            figures.insert(event_id.clone(), none(event_id));
        }
        let put: [(&'static Stmt, PutFigure); 4] = [
            (&EVENTS_EXPECTED, |one, count| one.expected = count.max(0).unsigned_abs()),
            (&EVENTS_ADMITTED, |one, count| one.admitted = count.max(0).unsigned_abs()),
            (&EVENTS_OVER, |one, count| one.over = count.max(0).unsigned_abs()),
            (&EVENTS_OPEN, |one, count| one.open_incidents = count.max(0).unsigned_abs()),
        ];
        for (stmt, put) in put {
            for (event_id, count) in
                self.each(stmt, &[(&id).into()], &list, |row| Ok((row.parsed::<EventId>()?, row.int()?)))?
            {
                if let Some(one) = figures.get_mut(&event_id) {
                    put(one, count);
                }
            }
        }
        Ok(figures.into_values().collect())
    }
    fn update_event(&mut self, event: &EventRecord) -> Result<()> {
        let id = self.organization_id.clone();
        let changed = self.execute(&UPDATE_EVENT, &event_values((&id).into(), event))?;
        if changed == 1 { Ok(()) } else { Err(Error::NotFound { what: "event" }) }
    }
    fn head(&mut self, event_id: &EventId) -> Result<Head> {
        let head = self.event_head(event_id)?;
        Ok(Head { serial: head.serial, audit_head: head.audit_head, epoch: self.present_epoch()? })
    }
    fn stamp(&mut self, event_id: &EventId) -> Result<Stamp> {
        if let Some(stamp) = self.held_head(event_id)?.stamp {
            return Ok(stamp);
        }
        let now = self.with(|driver, _| driver.now())?;
        self.held_head(event_id)?.stamp(|| Ok(now))
    }
    fn insert_rules(&mut self, event_id: &EventId, rules: &[Rule]) -> Result<()> {
        if rules.is_empty() {
            return Ok(());
        }
        let stamp = self.held_head(event_id)?.stamp;
        let stamp = stamp.ok_or_else(|| Error::Bug("rules without a place in the event's order".into()))?;
        if rules.iter().any(|rule| rule.serial != stamp.serial) {
            return Err(Error::Bug("a rule's serial is not its write's".into()));
        }
        let id = self.organization_id.clone();
        let mut values = Vec::with_capacity(rules.len() * 9);
        for rule in rules {
            let parts = stored::change_to_parts(&rule.change);
            let effective_at = match rule.effective_at {
                Effective::Start => Value::Null,
                Effective::At(at) => at.into(),
            };
            values.extend([
                (&id).into(),
                event_id.into(),
                rule.serial.into(),
                rule.ordinal.into(),
                effective_at,
                parts.subject_kind.into(),
                parts.subject_id.into(),
                parts.field.into(),
                parts.value.into(),
            ]);
        }
        self.queue_many(&INSERT_RULES, &values)?;
        self.held.books.clear();
        let of_event = rules.iter().any(|rule| !matches!(rule.change, Change::Ticket(..)));
        let head = self.held_head(event_id)?;
        head.rules_serial = stamp.serial;
        if of_event {
            head.event_rules_serial = stamp.serial;
        }
        Ok(())
    }
    fn load_rules(&mut self, event_id: &EventId, tickets: &[TicketId]) -> Result<LoadedRules> {
        let id = self.organization_id.clone();
        let key = [(&id).into(), event_id.into()];
        let kinds = KINDS.map(Value::from);
        let list: Vec<Value<'_>> = tickets.iter().map(Value::from).collect();
        let of_tickets = Asked { stmt: &TICKET_RULES, params: &key, list: Some(&list) };
        let read_all = |rows: Vec<Row>| rows.into_iter().map(|mut row| read_rule(&mut row)).collect::<Result<Vec<_>>>();
        let (book, of_tickets) = match self.held.books.get(event_id).cloned() {
            Some(book) => {
                let [of_tickets] = self.ask([of_tickets])?;
                (book, of_tickets)
            }
            None => {
                let [rules, epochs, of_tickets] = self.ask([
                    Asked { stmt: &EVENT_RULES, params: &key, list: Some(&kinds) },
                    Asked { stmt: &EVENT_EPOCHS, params: &key, list: None },
                    of_tickets,
                ])?;
                let book = Arc::new(EventBook::new(&read_all(rules)?, read_epochs(epochs)?));
                // Only if this transaction holds the event's head, nobody else can write rules of the event meanwhile.
                // So only such a book is kept for later reads.
                if self.held.heads.contains_key(event_id) {
                    self.held.books.insert(event_id.clone(), Arc::clone(&book));
                }
                (book, of_tickets)
            }
        };
        let mut tickets = read_all(of_tickets)?;
        tickets.sort_by_key(|rule| (rule.serial, rule.ordinal));
        Ok(LoadedRules { book, tickets })
    }
    fn epochs(&mut self, event_id: &EventId) -> Result<Epochs> {
        let id = self.organization_id.clone();
        read_epochs(self.query(&EVENT_EPOCHS, &[(&id).into(), event_id.into()])?)
    }
    fn assignments(&mut self, device_id: &DeviceId) -> Result<Vec<Rule>> {
        let id = self.organization_id.clone();
        self.each(&ASSIGNMENTS, &[(&id).into()], &[device_id.into()], read_rule)
    }
    fn rules_serial(&mut self, event_id: &EventId) -> Result<u64> {
        self.event_head(event_id).map(|head| head.rules_serial)
    }
    fn event_rules_serial(&mut self, event_id: &EventId) -> Result<u64> {
        self.event_head(event_id).map(|head| head.event_rules_serial)
    }
    fn reducer_version(&mut self, event_id: &EventId) -> Result<u32> {
        self.event_head(event_id).map(|head| head.reducer_version)
    }
    fn set_reducer_version(&mut self, event_id: &EventId, version: u32) -> Result<()> {
        let head = self.held_head(event_id)?;
        head.reducer_version = version;
        head.changed = true;
        Ok(())
    }
    fn append_audit(&mut self, line: NewAudit) -> Result<()> {
        check_text(&line.entity_id)?;
        let place = self.place(line.event_id.as_ref())?;
        let entry = AuditEntry {
            serial: place.serial,
            n: place.n,
            at: place.at,
            actor: &actor(&line),
            action: line.action,
            entity_type: line.entity_type,
            entity_id: &line.entity_id,
            changes: &line.changes,
            metadata: &line.metadata,
        };
        let head = audit::chain(place.prev, &entry);
        let id = self.organization_id.clone();
        let values = [
            (&id).into(),
            ledger(line.event_id.as_ref()),
            place.n.into(),
            place.serial.into(),
            place.at.into(),
            line.user_id.as_ref().into(),
            line.device_id.as_ref().into(),
            line.action.into(),
            line.entity_type.into(),
            (&line.entity_id).into(),
            (&line.changes).into(),
            (&line.metadata).into(),
            (&head).into(),
        ];
        self.queue_many(&INSERT_AUDIT, &values)?;
        match &line.event_id {
            Some(event_id) => {
                let held = self.held_head(event_id)?;
                (held.audit_n, held.audit_head) = (place.n, head);
            }
            None => {
                let last_at = place.at.ms();
                self.organization_head = Some(OrganizationHead { audit_n: place.n, audit_head: head, last_at });
            }
        }
        Ok(())
    }
    fn audit(&mut self, event_id: Option<&EventId>, action: Option<&str>, page: &Page) -> Result<Listed<AuditRecord>> {
        let id = self.organization_id.clone();
        let from = page::from(page)?;
        let values = [(&id).into(), ledger(event_id), from.number.into(), page::limit(page).into(), action.into()];
        let lines = self.all(&AUDIT, &values, read_audit)?;
        Ok(page::listed(page, lines, |line| (line.n as i64, String::new())))
    }
    fn audit_of(&mut self, event_id: &EventId, entity: (&str, &str), limit: usize) -> Result<Vec<AuditRecord>> {
        let id = self.organization_id.clone();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let values = [(&id).into(), event_id.into(), entity.0.into(), entity.1.into(), limit.into()];
        self.all(&AUDIT_OF, &values, read_audit)
    }
    fn audit_from(&mut self, event_id: Option<&EventId>, from: u64, limit: usize) -> Result<Vec<AuditRecord>> {
        let id = self.organization_id.clone();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.all(&AUDIT_FROM, &[(&id).into(), ledger(event_id), from.into(), limit.into()], read_audit)
    }
    fn organization_ledger_end(&mut self) -> Result<LedgerEnd> {
        let head = match &self.organization_head {
            Some(head) => head.clone(),
            None => self.with(heads::read_organization)?,
        };
        Ok(LedgerEnd { n: head.audit_n, head: head.audit_head })
    }
    fn newest_audit(&mut self, action: &'static str) -> Result<Option<AuditRecord>> {
        let id = self.organization_id.clone();
        self.one(&NEWEST_AUDIT, &[(&id).into(), ledger(None), action.into()], read_audit)
    }
    fn event_ledger_ends(&mut self, since: Timestamp) -> Result<Vec<(EventId, LedgerEnd)>> {
        self.with(|driver, organization_id| heads::ledger_ends(driver, organization_id, since))
    }
    fn audit_head_at(&mut self, event_id: &EventId, serial: u64) -> Result<Option<[u8; 32]>> {
        if serial > self.event_head(event_id)?.serial {
            return Ok(None);
        }
        let id = self.organization_id.clone();
        let head = self.one(&AUDIT_HEAD_AT, &[(&id).into(), event_id.into(), serial.into()], Row::hash)?;
        Ok(Some(head.unwrap_or(audit::GENESIS)))
    }
}
