//! Judges a scan about which the server is asked before the door opens (S2 `POST /api/scans`, spec §5). It is a scan in
//! S2's form, or a claim in Admit's own. The rules at the event's head decide. The head's serial and the answer are
//! stored with the scan (spec §3).

use admit_core::barcode::{BarcodeHash, hex};
use admit_core::decide::{Question, Verdict, decide};
use admit_core::event::EventStatus;
use admit_core::fraud::Delivery;
use admit_core::gate::Direction;
use admit_core::ids::{BatchId, EventId, GateId, ScanId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::{Rules, TicketState, Visit, reduce};
use admit_core::rule::{Change, TicketBook, When};
use admit_core::scan::{Fact, Form, Judged, Method, Outcome, Scan, ScanKind, SignatureState};
use admit_core::time::Timestamp;
use admit_core::wire::problem::FieldError;
use admit_core::wire::scanning::Cursor;
use admit_core::wire::scanning::Evidence;
use admit_core::wire::scans::{OnlineAnswer, OnlineRequest, ScanS2};
use admit_core::wire::stored::to_text;
use serde_json::json;

use super::announce::{moved, remember};
use super::assign::Assignments;
use super::decode::{Batch, Item, item};
use super::ingest_batch::read_keys;
use super::intake::{Allowed, Arrived, Carrier, Taken, flag, plan_part, refuse_mismatch, refuse_revoked};
use super::quarantine::is_stranger;
use crate::caller::DeviceCaller;
use crate::error::{Error, Result};
use crate::ports::{App, Pace, Prefetch, Scope, Tx, read_prefetching, write};
use crate::records::{BatchRecord, Head, LoadedRules, NewAudit, Stamp};
use crate::seeded_ids::SeededIds;

/// The word of this endpoint in its stored answers.
pub const ENDPOINT: &str = "scans";

/// The server's answer to an online scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedScan {
    /// The JSON of [`OnlineAnswer`]. Every repeat gets the same bytes.
    pub body: String,
    /// Whether the answer was stored before.
    pub repeated: bool,
    /// The event in which the scan is stored.
    pub event_id: EventId,
    /// The event's head after this scan. `None` for a stored answer.
    pub head: Option<Head>,
}

/// A request about one scan: the scan without an outcome, and the spellings of its code.
#[derive(Clone)]
struct Asked {
    scan: Scan,
    evidence: Evidence,
    state: SignatureState,
    /// The hashes of the code's spellings (the texts that the read text may stand for), in the order in which they are
    /// tried. A claim names only one spelling, the one that its device took.
    spellings: Vec<BarcodeHash>,
    /// The digest of the request, by which the server knows a repeated one.
    batch_id: BatchId,
    digest: [u8; 32],
}

/// The result of the transaction.
#[derive(Clone)]
enum Done {
    Repeated(JudgedScan),
    Judged { answer: JudgedScan, arrived: Arrived, part: Box<Batch>, unknown: bool },
    Revoked(u64),
    Suspended,
    NotAssigned,
    NotLive,
}

/// Judges a scan and stores it. The same scan again gets the original answer. Fails with `rate_limited` (429) once the
/// device asked about too many unknown codes, even if this code is known. Fails with `event_not_live` (422) if the
/// event was not live at the scan's time (spec D17).
pub async fn judge_online(app: &App, caller: &DeviceCaller, request: OnlineRequest) -> Result<JudgedScan> {
    if let OnlineRequest::Claim(claim) = &request
        && claim.0.device_id != caller.device_id
    {
        return Err(refuse_mismatch(app, caller, &claim.0.device_id).await?);
    }
    let received_at = app.clock.now();
    let (asked, stored) = read_asked(app, caller, request).await?;
    if let Some(answer) = stored {
        return Ok(answer);
    }
    let (organization_id, now_ms) = (&caller.organization_id, app.clock.monotonic_ms());
    app.scan_activity.scanned(now_ms);
    let Some(mut one) = app.unknown_codes.set_aside(organization_id, &caller.device_id, now_ms) else {
        let retry_after_ms = app.unknown_codes.wait_ms(organization_id, &caller.device_id, now_ms);
        return Err(Error::Later { code: "rate_limited", retry_after_ms });
    };
    let seeded = app.seeded_ids();
    let prefetch = Prefetch {
        devices: vec![caller.device_id.clone()],
        scans: vec![asked.scan.event_id.clone()],
        codes: asked.spellings.clone(),
        ..Prefetch::default()
    };
    let scope = Scope { pace: Pace::Urgent, prefetch, ..Scope::event(organization_id, &asked.scan.event_id) };
    let done = {
        let caller = caller.clone();
        write(&*app.store, scope, move |tx| {
            let done = judge(tx, &caller, &asked, one.tells, received_at, &mut seeded.clone());
            one.found(matches!(done, Ok(Done::Judged { unknown: true, .. })));
            done
        })
        .await?
    };
    match done {
        Done::Repeated(answer) => Ok(answer),
        Done::Judged { answer, arrived, part, .. } => {
            moved(app, organization_id, &arrived, "scan_recorded", None);
            remember(app, organization_id, &part);
            Ok(answer)
        }
        Done::Revoked(quota_left) => Err(refuse_revoked(Vec::new(), Vec::new(), quota_left)),
        Done::Suspended => {
            let message = "this device is suspended: nothing is judged for it, its uploads are stored and held";
            Err(Error::denied("device_suspended", message))
        }
        Done::NotAssigned => {
            // If the scan were stored, it would wait for a person and count nothing, while the answer would open a door
            // for it.
            let message = "this device was never assigned to that event: nothing was judged";
            Err(Error::denied("device_not_assigned", message))
        }
        Done::NotLive => Err(not_live()),
    }
}

/// The refusal for an event that was not live (spec D17).
pub(super) fn not_live() -> Error {
    Error::Unprocessable {
        code: "event_not_live",
        message: "the event was not live when this was scanned: nothing was stored, the scans stay with the device"
            .into(),
    }
}

/// Reads what needs no lock: the scan's author, event and spellings. Also returns the stored answer if the same scan
/// was asked about before.
async fn read_asked(app: &App, caller: &DeviceCaller, request: OnlineRequest) -> Result<(Asked, Option<JudgedScan>)> {
    let (secret, caller) = (app.secret.clone(), caller.clone());
    let prefetch = prefetch_of(&caller, &request);
    read_prefetching(&*app.store, &caller.organization_id.clone(), prefetch, move |tx| {
        let asked = match request {
            OnlineRequest::S2(sent) => {
                let device =
                    tx.device(&caller.device_id)?.ok_or_else(|| Error::Bug("a key without a device".into()))?;
                of_s2(&caller, sent, &Assignments::read(tx, &device)?)?
            }
            OnlineRequest::Claim(claim) => {
                let (scan, evidence) = *claim;
                let names = scan.key_id.iter().cloned().collect();
                let keys = read_keys(tx, &secret, names)?;
                of_claim(scan, evidence, &keys)?
            }
        };
        let stored = stored(tx, &caller, &asked)?;
        // A device that may no longer sync is told so under the head, not from storage.
        let carrier = Carrier::of(tx, &caller)?;
        let stored = stored.filter(|_| !carrier.revoked && !carrier.held).map(answered);
        Ok((asked, stored))
    })
    .await
}

/// The keys that reading the question will look up.
fn prefetch_of(caller: &DeviceCaller, request: &OnlineRequest) -> Prefetch {
    let (assignments, scans) = match request {
        OnlineRequest::S2(_) => (vec![caller.device_id.clone()], Vec::new()),
        OnlineRequest::Claim(claim) => (Vec::new(), vec![claim.0.event_id.clone()]),
    };
    Prefetch { devices: vec![caller.device_id.clone()], assignments, scans, ..Prefetch::default() }
}

/// The stored answer about this scan. `None` if nothing is stored under the scan's id, since an answer is stored
/// together with its scan.
fn stored(tx: &mut dyn Tx, caller: &DeviceCaller, asked: &Asked) -> Result<Option<BatchRecord>> {
    let known = tx.stored_ids(&asked.scan.event_id, std::slice::from_ref(&asked.scan.scan_id))?;
    if known.iter().any(|one| one.known.device_id == asked.scan.device_id) {
        tx.batch(&caller.device_id, ENDPOINT, &asked.batch_id)
    } else {
        Ok(None)
    }
}

fn invalid(error: FieldError) -> Error {
    Error::invalid(error.path, error.message)
}

fn answered(stored: BatchRecord) -> JudgedScan {
    JudgedScan { body: stored.answer, repeated: true, event_id: stored.event_id, head: None }
}

fn of_s2(caller: &DeviceCaller, sent: ScanS2, assignments: &Assignments) -> Result<Asked> {
    let spellings: Vec<BarcodeHash> =
        sent.spellings().map_err(invalid)?.iter().map(|text| BarcodeHash::of(text)).collect();
    let place = assignments.at(sent.scanned_at);
    let evidence = Evidence { signature: None, sent: sent.sent.clone(), named: None };
    let scan = sent.into_scan(&caller.device_id, place.0, place.1, spellings[0]).map_err(invalid)?;
    asked(scan, evidence, SignatureState::Bearer, spellings)
}

fn of_claim(scan: Scan, evidence: Evidence, keys: &super::decode::Keys) -> Result<Asked> {
    let key = scan.key_id.as_ref().and_then(|key_id| keys.get(key_id));
    let signature = evidence.signature.as_deref().unwrap_or_default();
    let good =
        key.is_some_and(|(owner, key)| *owner == scan.device_id && admit_core::sign::verify_v2(key, &scan, signature));
    if !good {
        // If the scan were stored unverified, it would count nothing, while the answer would open a door for it.
        return Err(Error::invalid("signature", "does not verify under this device's key: nothing was judged"));
    }
    let spellings = scan.barcode_hash.into_iter().collect();
    asked(scan, evidence, SignatureState::Verified, spellings)
}

fn asked(scan: Scan, evidence: Evidence, state: SignatureState, spellings: Vec<BarcodeHash>) -> Result<Asked> {
    let digest = admit_core::sign::content_digest(&scan);
    let pairs = [(scan.scan_id.clone(), digest)];
    let digest = admit_core::idempotency::batch_digest(&scan.device_id, ENDPOINT, &pairs, []);
    let batch_id = BatchId::new(hex(&digest)).map_err(|error| Error::Bug(error.to_string()))?;
    Ok(Asked { scan, evidence, state, spellings, batch_id, digest })
}

/// Steps ③–⑨, inside the lane.
fn judge(
    tx: &mut dyn Tx,
    caller: &DeviceCaller,
    asked: &Asked,
    tells: bool,
    received_at: Timestamp,
    seeded: &mut SeededIds,
) -> Result<Done> {
    // ③ Who asks, and was the question asked before?
    let carrier = Carrier::of(tx, caller)?;
    if carrier.revoked {
        return Ok(Done::Revoked(carrier.room));
    }
    if carrier.held {
        return Ok(Done::Suspended);
    }
    if is_stranger(tx, &carrier.device, &asked.scan.event_id)? {
        return Ok(Done::NotAssigned);
    }
    if let Some(stored) = stored(tx, caller, asked)? {
        return Ok(Done::Repeated(answered(stored)));
    }
    let event_id = asked.scan.event_id.clone();
    tx.event(&event_id)?.ok_or_else(|| Error::not_found("event"))?;
    // ④ Find the ticket.
    let (matched, ticket_id) = resolve(tx, asked)?;
    let rules = tx.load_rules(&event_id, ticket_id.as_slice())?;
    let mut ticket = TicketBook::default();
    for rule in &rules.tickets {
        if let Change::Ticket(_, change) = &rule.change {
            ticket.add(rule, change);
        }
    }
    if !may_be_judged(&rules, &asked.scan) {
        return Ok(Done::NotLive);
    }
    // Judge under the head: the newest rules, and everything known of the ticket except this scan.
    let head = tx.head(&event_id)?;
    let subject = match (&ticket_id, matched) {
        (Some(id), _) => Subject::Ticket(id.clone()),
        (None, Some(hash)) => Subject::Unknown(hash),
        (None, None) => return Err(Error::invalid("ticket_id", "is no ticket of this event")),
    };
    let state = state_without(tx, &event_id, &subject, &rules, &ticket, &asked.scan)?;
    let verdict = ask(&rules, &ticket, &state, &asked.scan);
    // ⑤–⑧ Store the scan with the answer as a fact.
    let judged = Judged { serial: head.serial, outcome: verdict.outcome };
    let part = as_batch(asked, matched, judged, received_at);
    let mut taken = plan_part(tx, &part, &carrier, Allowed::ALL_SCANS, received_at, seeded)?;
    let unknown = !std::mem::take(&mut taken.stored.unknown).is_empty();
    if unknown && tells {
        warn_of_guessing(tx, &part, received_at, &mut taken, seeded)?;
    }
    taken.store(tx, &event_id)?;
    tx.note_seen(&carrier.device.device_id, received_at)?;
    // ⑨ The answer, its row and the ledger's line are part of the same commit.
    let cursor = Cursor::at(head.epoch, taken.stamp.serial);
    let body = answer(&part.items[0].fact.scan, ticket_id, &verdict, &state, cursor, received_at);
    tx.insert_batch(&row(&part, asked.digest, &body, taken.stamp, received_at))?;
    line(tx, &part, &verdict, taken.stamp)?;
    let arrived = Arrived::of(&part, &taken);
    let head = Some(tx.head(&event_id)?);
    let answer = JudgedScan { body, repeated: false, event_id, head };
    Ok(Done::Judged { answer, arrived, part: Box::new(part), unknown })
}

/// Opens an incident because this unknown code used up the device's allowance of unknown codes. A device that asks
/// about so many unknown codes may be guessing codes, so a person is told.
fn warn_of_guessing(
    tx: &mut dyn Tx,
    part: &Batch,
    received_at: Timestamp,
    taken: &mut Taken,
    seeded: &mut SeededIds,
) -> Result<()> {
    let delivery = Delivery {
        device_id: &part.device_id,
        batch_id: &part.batch_id,
        size: 1,
        errors: 1,
        newest: None,
        received_at,
        arrivals: None,
    };
    flag(tx, part, &delivery, taken, seeded)
}

/// Whether a scan is judged at all. S2's form is refused unless the event was live (spec D17). In Admit's own form, a
/// device gets an answer for an ended event, but none for a draft: it decides practice scans itself (decision 034).
fn may_be_judged(rules: &LoadedRules, scan: &Scan) -> bool {
    match scan.form {
        Form::S2 => was_live(rules, scan.at),
        Form::V1 | Form::V2 => rules.book.event(When::Newest).is_some_and(|event| event.status != EventStatus::Draft),
    }
}

/// Whether the event was live at a moment, by the rules at that moment. A draft was never live (spec D17).
pub(super) fn was_live(rules: &LoadedRules, at: Timestamp) -> bool {
    let draft = rules.book.event(When::Newest).is_none_or(|event| event.status == EventStatus::Draft);
    let then = rules.book.event(When::Scan { at, known: 0 });
    !draft && then.is_some_and(|event| event.status == EventStatus::Live)
}

/// Returns the hash of the spelling of the code that a ticket ever held, otherwise of the first spelling. Also returns
/// the ticket: by its code, otherwise the one that a person picked.
fn resolve(tx: &mut dyn Tx, asked: &Asked) -> Result<(Option<BarcodeHash>, Option<TicketId>)> {
    let found = tx.find_codes(&asked.scan.event_id, &asked.spellings)?;
    let holder = |hash: &BarcodeHash| found.iter().find(|(held, _)| held == hash).map(|(_, id)| id.clone());
    let known = asked.spellings.iter().find_map(|hash| holder(hash).map(|id| (*hash, id)));
    if let Some((hash, ticket_id)) = known {
        return Ok((Some(hash), Some(ticket_id)));
    }
    let scan = &asked.scan;
    let picked = scan.ticket_id.as_ref().filter(|_| scan.method == Method::Manual);
    let picked = match picked {
        Some(id) => tx.ticket(id)?.filter(|ticket| ticket.event_id == scan.event_id).map(|ticket| ticket.ticket_id),
        None => None,
    };
    Ok((asked.spellings.first().copied(), picked))
}

/// The subject's stored state without this scan. If some content of the scan is stored already, the subject is reduced
/// again without the scan. So a claim that arrives after its own final is not judged a duplicate of that final.
fn state_without(
    tx: &mut dyn Tx,
    event_id: &EventId,
    subject: &Subject,
    rules: &LoadedRules,
    ticket: &TicketBook,
    scan: &Scan,
) -> Result<TicketState> {
    let key = [subject.key()];
    let known = tx.stored_ids(event_id, std::slice::from_ref(&scan.scan_id))?;
    if known.iter().all(|one| one.known.device_id != scan.device_id) {
        let state = tx.states(event_id, &key)?.into_iter().next();
        return Ok(state.map(|record| record.state).unwrap_or_default());
    }
    let mut facts = tx.facts(event_id, &key)?;
    facts.retain(|(_, fact)| fact.scan.device_id != scan.device_id || fact.scan.scan_id != scan.scan_id);
    let reviews = tx.reviews(event_id, &key)?;
    let ticket = subject.ticket_id().map(|_| ticket);
    let rules = Rules { event: &rules.book, ticket, newest: false };
    Ok(reduce(subject, rules, &reviews, &facts).state)
}

/// The verdict of the rules at the event's head on a scan of a ticket in this state.
pub(super) fn ask(rules: &LoadedRules, ticket: &TicketBook, state: &TicketState, scan: &Scan) -> Verdict {
    let gate = rules.book.gate(&scan.gate_id, When::Newest);
    let leads_out = gate.as_ref().is_some_and(|gate| gate.direction == Direction::Out);
    // S2 has no exits. Its scans at a gate that leads out are exits (spec §4).
    let kind = if scan.form == Form::S2 && leads_out { ScanKind::Exit } else { scan.kind };
    let Some(event) = rules.book.event_at_door(scan.at, (scan.epoch, scan.known_serial())) else {
        let reason = Some(admit_core::decide::Reason::UnknownCode);
        return Verdict { outcome: Outcome::Invalid, reason, ..Verdict::valid(0) };
    };
    let rules_of_ticket = ticket.get(When::Newest);
    let zone = rules_of_ticket.as_ref().map(|ticket| ticket.zone.as_str());
    let standing = state.standing_at_door(&Visit { event: &event, zone, gate_id: &scan.gate_id }, scan.at);
    decide(Question {
        event: &event,
        ticket: rules_of_ticket.as_ref(),
        standing: &standing,
        gate_id: &scan.gate_id,
        gate: gate.as_ref(),
        at: scan.at,
        kind,
        area_inside: 0,
    })
}

/// The scan as a batch of one.
fn as_batch(asked: &Asked, matched: Option<BarcodeHash>, judged: Judged, received_at: Timestamp) -> Batch {
    let mut scan = asked.scan.clone();
    if scan.form == Form::S2 {
        scan.barcode_hash = matched;
        (scan.outcome, scan.opened) = (judged.outcome, judged.outcome == Outcome::Valid);
    }
    let Item { fact, evidence } = item(scan, asked.evidence.clone(), asked.state, 0, received_at);
    Batch {
        batch_id: asked.batch_id.clone(),
        device_id: asked.scan.device_id.clone(),
        endpoint: ENDPOINT,
        event_id: asked.scan.event_id.clone(),
        offset_seconds: 0,
        log: None,
        items: vec![Item { fact: Fact { judged: Some(judged), ..fact }, evidence }],
        rejected: Vec::new(),
    }
}

fn answer(
    scan: &Scan,
    ticket_id: Option<TicketId>,
    verdict: &Verdict,
    state: &TicketState,
    cursor: Cursor,
    server_time: Timestamp,
) -> String {
    let last = state.entries.last();
    let (scan_id, last_gate_id): (ScanId, Option<GateId>) =
        (scan.scan_id.clone(), last.map(|entry| entry.gate_id.clone()));
    to_text(&OnlineAnswer {
        scan_id,
        ticket_id,
        outcome: verdict.outcome,
        reason: verdict.reason,
        may_admit: verdict.may_admit,
        last_scan_at: last.map(|entry| entry.at),
        last_gate_id,
        cursor,
        server_time,
    })
}

pub(super) fn row(part: &Batch, digest: [u8; 32], body: &str, stamp: Stamp, synced_at: Timestamp) -> BatchRecord {
    BatchRecord {
        batch_id: part.batch_id.clone(),
        device_id: part.device_id.clone(),
        endpoint: part.endpoint.to_owned(),
        event_id: part.event_id.clone(),
        digest,
        answer: body.to_owned(),
        status: "completed".to_owned(),
        batch_size: 1,
        processed_count: 1,
        error_count: 0,
        offset_seconds: 0,
        serial: stamp.serial,
        synced_at,
    }
}

fn line(tx: &mut dyn Tx, part: &Batch, verdict: &Verdict, stamp: Stamp) -> Result<()> {
    let scan = &part.items[0].fact.scan;
    let changes = json!({
        "scan_id": scan.scan_id.as_str(),
        "gate_id": scan.gate_id.as_str(),
        "outcome": verdict.outcome.as_str(),
        "reason": verdict.reason.map(|reason| reason.as_str()),
        "serial": stamp.serial,
    });
    tx.append_audit(NewAudit {
        event_id: Some(part.event_id.clone()),
        user_id: None,
        device_id: Some(part.device_id.clone()),
        action: "scan_judged",
        entity_type: "Scan",
        entity_id: scan.scan_id.as_str().to_owned(),
        changes: changes.to_string(),
        metadata: "{}".to_owned(),
    })
}
