//! Sets up the demo: its organisation, its owner, its live event, a token. If the data folder holds the demo already,
//! each step uses what it finds there.

use admit_core::access::Role;
use admit_core::event::EventStatus;
use admit_core::gate::Direction;
use admit_core::ids::{EventId, GateId, GuestListId, OrganizationId};
use admit_core::limits::PAGE_MAX;
use admit_core::sign::hmac_sha256;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use serde_json::json;

use super::guests::{self, Setting};
use crate::api_tokens::{self, ApiTokenWish};
use crate::audits::line;
use crate::caller::UserCaller;
use crate::entry_types::{self, NewEntryType};
use crate::error::{Error, Result};
use crate::events::{self, NewEvent};
use crate::gates::{self, NewGate};
use crate::guest_lists::{self, NewGuestList};
use crate::organizations::{self, NewOrganization};
use crate::ports::{App, Scope, TicketFilter, read, write};
use crate::records::{AtDoor, EventRecord, Page, TicketRecord};
use crate::tickets::put_new;

/// The owner's e-mail for signing in. A second start recognises the demo by it.
const EMAIL: &str = "owner@demo.example";
const EVENT: &str = "Harbour Lights 2026";
/// The staff PIN. A demo's PIN is no secret.
const STAFF_PIN: &str = "2468";
/// Number of tickets that the demo creates.
pub const TICKETS: usize = 20_000;
const HOUR_MS: i64 = 3_600_000;
const SAMPLES: usize = 20;

/// The gates, in the order of their ids. The first admits both zones.
const GATES: [(&str, &str, Direction, &[&str]); 4] = [
    ("main", "Main entrance", Direction::In, &["general", "vip"]),
    ("north", "North gate", Direction::In, &["general"]),
    ("vip", "VIP terrace", Direction::Both, &["vip"]),
    ("way-out", "Way out", Direction::Out, &["general", "vip"]),
];
const LISTS: [&str; 3] = ["Box office", "Nightshift crew", "Friends of the harbour"];

/// The values that `admit demo` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeded {
    /// The e-mail for signing in.
    pub email: String,
    /// The password. It is derived from `ADMIT_SECRET`, so the same folder always has the same one, and it is stored
    /// nowhere.
    pub password: String,
    /// A new API token of the owner.
    pub api_token: String,
    /// The demo's organisation.
    pub organization_id: OrganizationId,
    /// The live event.
    pub event_id: EventId,
    /// The gates. The first leads in and admits both zones.
    pub gates: Vec<GateId>,
    /// Codes that let one person in at the first gate.
    pub sample_barcodes: Vec<String>,
    /// The staff PIN.
    pub staff_pin: String,
}

/// Sets up the demo or finds it, and makes a working token.
pub async fn seed(app: &App) -> Result<Seeded> {
    let password = password(app);
    let owner = owner(app, &password).await?;
    let event = event(app, &owner).await?;
    let gates = gates_of(app, &owner, &event.event_id).await?;
    fill(app, &owner, &event).await?;
    let sample_barcodes = samples(app, &owner, &event.event_id).await?;
    let token = api_tokens::create(app, &owner, ApiTokenWish::named("demo")).await?;
    Ok(Seeded {
        email: EMAIL.to_owned(),
        password,
        api_token: token.token,
        organization_id: owner.organization_id,
        event_id: event.event_id,
        gates,
        sample_barcodes,
        staff_pin: STAFF_PIN.to_owned(),
    })
}

/// Whether a database holds an organisation other than the demo's. If so, somebody works with it and the demo must not
/// touch it.
pub async fn is_of_others(app: &App) -> Result<bool> {
    Ok(app.store.sign_in(EMAIL.to_owned()).await?.is_none() && !app.store.organizations().await?.is_empty())
}

fn password(app: &App) -> String {
    let digits = admit_core::barcode::hex(&hmac_sha256(app.secret.witness_key(), b"admit.demo.password.v1"));
    [&digits[..5], &digits[5..10], &digits[10..15]].join("-")
}

async fn owner(app: &App, password: &str) -> Result<UserCaller> {
    if let Some((user, organizations)) = app.store.sign_in(EMAIL.to_owned()).await? {
        let organization_id = organizations
            .into_iter()
            .next()
            .ok_or_else(|| Error::Bug("the demo's owner has no organisation".into()))?;
        return Ok(UserCaller { organization_id, user_id: user.user_id, role: Role::Owner, token_ends_at: None });
    }
    let new = NewOrganization {
        name: "Harbour Lights (demo)".into(),
        email: EMAIL.into(),
        owner_name: "Ines Harbour".into(),
        password: password.into(),
    };
    organizations::create(app, new).await
}

/// The live event. Its doors opened two hours ago and close in ten.
async fn event(app: &App, owner: &UserCaller) -> Result<EventRecord> {
    let all = events::list(app, owner, Page { limit: PAGE_MAX, cursor: None }).await?;
    if let Some(event) = all.items.into_iter().rev().map(|one| one.event).find(|event| event.name == EVENT) {
        return Ok(event);
    }
    let minute = Timestamp::clamped(app.clock.now().ms() / 60_000 * 60_000);
    let new = NewEvent {
        name: EVENT.into(),
        venue: "Old Harbour, Quay 4".into(),
        time_zone: "Africa/Johannesburg".into(),
        starts_at: minute.plus_ms(-2 * HOUR_MS),
        ends_at: minute.plus_ms(10 * HOUR_MS),
        status: Some(EventStatus::Live),
        re_entry: None,
        min_gap_seconds: None,
        day_starts_at: None,
        staff_pin: Some(STAFF_PIN.into()),
        capacity: Some(24_000),
        retention_days: None,
        walk_ins: None,
        at_door: AtDoor { verdict_fields: vec!["Wristband".into(), "Table".into()], ..AtDoor::default() },
        gates: Some(Vec::new()),
    };
    events::create(app, owner, new).await
}

async fn gates_of(app: &App, owner: &UserCaller, event_id: &EventId) -> Result<Vec<GateId>> {
    let types = entry_types::list(app, owner, event_id.clone()).await?;
    if !types.iter().any(|one| one.record.zone == "vip") {
        let vip = NewEntryType { name: "VIP".into(), zone: "vip".into() };
        entry_types::create(app, owner, event_id.clone(), vip).await?;
    }
    let there = gates::list(app, owner, event_id.clone()).await?;
    let mut out = Vec::new();
    for (slug, name, direction, zones) in GATES {
        let gate_id = GateId::new(slug).map_err(|error| Error::Bug(error.to_string()))?;
        out.push(gate_id.clone());
        if there.iter().any(|gate| gate.gate_id == gate_id) {
            continue;
        }
        let new = NewGate {
            gate_id,
            name: Some(name.into()),
            zones: Some(zones.iter().map(|zone| (*zone).to_owned()).collect()),
            direction: Some(direction),
            capacity: None,
            names_on_devices: None,
            walk_ins: None,
            entry_rules: None,
        };
        gates::create(app, owner, event_id.clone(), new).await?;
    }
    Ok(out)
}

/// Creates guest lists, guests and tickets. All tickets are created in one transaction, so a data folder holds all of
/// them or none.
async fn fill(app: &App, owner: &UserCaller, event: &EventRecord) -> Result<()> {
    let id = event.event_id.clone();
    let (stored, _) = read(&*app.store, &owner.organization_id, move |tx| tx.count_tickets(&id)).await?;
    if stored > 0 {
        return Ok(());
    }
    let mut lists: Vec<GuestListId> = Vec::new();
    let there = guest_lists::list(app, owner, event.event_id.clone()).await?;
    for name in LISTS {
        lists.push(match there.iter().find(|list| list.name == name) {
            Some(list) => list.guest_list_id.clone(),
            None => {
                let new = NewGuestList { name: name.into(), promoter_id: None };
                guest_lists::create(app, owner, event.event_id.clone(), new).await?.guest_list_id
            }
        });
    }
    let entry_types = entry_types::list(app, owner, event.event_id.clone()).await?;
    let entry_types: Vec<_> = entry_types.into_iter().map(|one| one.record).collect();
    let restricted = GateId::new(GATES[1].0).map_err(|error| Error::Bug(error.to_string()))?;
    let now = app.clock.now();
    let mut seeded = app.seeded_ids();
    let setting = Setting { event, entry_types: &entry_types, lists: &lists, restricted: &restricted, now };
    let made = guests::make(TICKETS, &setting, &mut seeded)?;
    let id = event.event_id.clone();
    let by = owner.clone();
    write(&*app.store, Scope::event(&owner.organization_id, &event.event_id), move |tx| {
        let stamp = tx.stamp(&id)?;
        put_new(tx, &id, made.clone(), Default::default(), stamp, now, &mut seeded.clone())?;
        let said = json!({ "count": made.len() });
        tx.append_audit(line::of(&by, Some(&id), "tickets_created", ("Event", id.as_str()), said))
    })
    .await
}

async fn samples(app: &App, owner: &UserCaller, event_id: &EventId) -> Result<Vec<String>> {
    let id = event_id.clone();
    let filter = TicketFilter { status: Some(TicketStatus::Active), entered: Some(false), ..TicketFilter::default() };
    let page = Page { limit: PAGE_MAX, cursor: None };
    let listed = read(&*app.store, &owner.organization_id, move |tx| tx.tickets(&id, &filter, &page)).await?;
    let plain = |ticket: &TicketRecord| {
        let rules = &ticket.rules;
        rules.entry_limit == 1 && rules.gate_ids.is_empty() && rules.valid_from.is_none() && rules.expires_at.is_none()
    };
    let tickets = listed.items.into_iter().map(|(ticket, ..)| ticket).filter(plain);
    Ok(tickets.filter_map(|ticket| ticket.barcode).take(SAMPLES).collect())
}
