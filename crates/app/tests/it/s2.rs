//! S2 (`/api/scans`, `/api/scans/sync`), row by row. A test's name begins with the section that it proves.

mod online;
mod batches;
mod flags;
mod moved;

use admit_app::error::Error;
use admit_app::events::{self, EventPatch};
use admit_app::ports::read;
use admit_app::records::ScanRow;
use admit_app::scans::{self, IngestAnswer, JudgedScan};
use admit_app::tickets::{self, TicketPatch};
use admit_core::event::EventStatus;
use admit_core::ids::*;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use admit_core::wire::scans::{OnlineAnswer, OnlineRequest, ScansSyncRequest};
use serde_json::{Value, json};

use crate::world::*;

/// The body of a batch with these scans (offline id, code, time), sent now.
fn body(world: &World, phone: &Phone<'_>, batch: &str, scans: &[(&str, &str, Timestamp)]) -> Value {
    let scans: Vec<Value> = scans
        .iter()
        .map(|(id, code, at)| json!({ "offline_id": id, "ticket_code": code, "scanned_at": at.to_string() }))
        .collect();
    json!({
        "batch_id": batch, "device_id": phone.caller.device_id, "batch_size": scans.len(), "scans": scans,
        "batch_created_at": world.app.clock.now().to_string(),
    })
}

fn send(world: &World, phone: &Phone<'_>, body: &Value) -> Result<IngestAnswer, Error> {
    let request = ScansSyncRequest::read(body.to_string().as_bytes()).unwrap();
    now(scans::sync_offline(&world.app, &phone.caller, request))
}

/// Uploads a batch and returns its answer.
fn sync(world: &World, phone: &Phone<'_>, batch: &str, scans: &[(&str, &str, Timestamp)]) -> Value {
    said(&send(world, phone, &body(world, phone, batch, scans)).unwrap())
}

fn said(answer: &IngestAnswer) -> Value {
    serde_json::from_str(&answer.body).unwrap()
}

/// The (offline id, reason) of each error in the answer.
fn errors(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let errors = answer["errors"].as_array().unwrap().iter();
    errors.map(|error| (text(&error["offline_id"]), text(&error["reason"]))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

fn ask_body(phone: &Phone<'_>, body: &Value, world: &World) -> Result<JudgedScan, Error> {
    let request = OnlineRequest::read(body.to_string().as_bytes()).unwrap();
    now(scans::judge_online(&world.app, &phone.caller, request))
}

/// Asks the server about one scan in S2's form.
fn ask(world: &World, phone: &Phone<'_>, id: &str, code: &str, at: Timestamp) -> Result<JudgedScan, Error> {
    let body = json!({ "ticket_code": code, "scanned_at": at.to_string(), "offline_id": id });
    ask_body(phone, &body, world)
}

fn verdict(judged: &JudgedScan) -> OnlineAnswer {
    serde_json::from_str(&judged.body).unwrap()
}

fn head(world: &World) -> u64 {
    let event = world.event.clone();
    now(read(&*world.app.store, &world.owner.organization_id, move |tx| tx.head(&event))).unwrap().serial
}

fn stored(world: &World) -> Vec<ScanRow> {
    let listed = scans::list::list(&world.app, &world.owner, world.event.clone(), Default::default(), whole_page());
    now(listed).unwrap().items
}

fn set_status(world: &World, ticket: &TicketId, status: TicketStatus) {
    let patch = TicketPatch { status: Some(status), ..TicketPatch::default() };
    now(tickets::update(&world.app, &world.owner, ticket.clone(), patch)).unwrap();
}

fn set_event(world: &World, status: EventStatus) {
    let patch = EventPatch { status: Some(status), ..EventPatch::default() };
    now(events::update(&world.app, &world.owner, world.event.clone(), patch)).unwrap();
}

/// The changes and metadata of the newest line in the event's ledger.
fn last_line(world: &World) -> (String, Value, Value) {
    let page = admit_app::audits::list(&world.app, &world.owner, Some(world.event.clone()), None, whole_page());
    let line = now(page).unwrap().items.remove(0).line;
    let parsed = |text: &str| serde_json::from_str(text).unwrap();
    (line.action.clone(), parsed(&line.changes), parsed(&line.metadata))
}
