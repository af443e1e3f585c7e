//! Runs the test cases of `vectors/*.json`. The same files run natively, through WASM, and in any later binding (law
//! 14).
//!
//! A file is `{"about": …, "cases": [{"name", "what", "in", "out"}]}`. [`answer`] computes `out` from `what` and `in`.
//! A binding that passes every file computes what the core computes. The feature `vectors` enables this module, and no
//! release has it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::audit::{self, AuditEntry};
use crate::barcode::{BarcodeError, BarcodeHash, candidates, hex, unhex};
use crate::block::{self, Kept};
use crate::decide::{Advice, Question, Reason, Standing, Verdict, decide, screen};
use crate::event::{DoorSettings, EventRules, StaffPin};
use crate::gate::GateRules;
use crate::idempotency::batch_digest;
use crate::ids::{DeviceId, EventId, GateId, OrganizationId, ScanId, TicketId};
use crate::incident::Subject;
use crate::manifest::{self, Code, Expected, Index, Input, Manifest, ManifestError};
use crate::normalize::{for_identity, for_search};
use crate::reduce::{Rules, reduce};
use crate::review::Review;
use crate::rule::{Change, Effective, Epoch, Epochs, EventBook, Rule, TicketBook};
use crate::scan::{Digest, Fact, Outcome, Scan, ScanKind};
use crate::search::{Found, NameQuery, SearchName};
use crate::sign::{self, ApiKey};
use crate::ticket::{Group, TicketRules};
use crate::time::Timestamp;
use crate::webhook::{self, Refusal, Signed, WebhookSecret};
use crate::wire::manifest::ManifestTail;
use crate::wire::scanning::{ScanV1, ScanV2};
use crate::wire::stored::change_from_parts;

/// The names of the files in `vectors/`, without `.json`.
pub const FILES: [&str; 9] =
    ["barcodes", "names", "hashes", "signatures", "webhooks", "manifests", "verdicts", "reductions", "blocks"];

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    what: String,
    #[serde(rename = "in")]
    given: Value,
    out: Value,
}

/// Runs one file's text and returns the number of its cases. Fails with the names of the cases whose `out` differs from
/// what the core computes, or if the file holds no case.
pub fn run(name: &str, json: &str) -> Result<usize, String> {
    let file: File = serde_json::from_str(json).map_err(|error| format!("{name}.json: {error}"))?;
    if file.cases.is_empty() {
        return Err(format!("{name}.json holds no case"));
    }
    let mut wrong = Vec::new();
    for case in &file.cases {
        match answer(&case.what, &case.given) {
            Ok(out) if out == case.out => {}
            Ok(out) => wrong.push(format!("{name}.json, {}: expected {}, got {out}", case.name, case.out)),
            Err(error) => wrong.push(format!("{name}.json, {}: {error}", case.name)),
        }
    }
    if wrong.is_empty() { Ok(file.cases.len()) } else { Err(wrong.join("\n")) }
}

/// Computes a case's `out`. Fails if `what` is unknown or `in` does not have its form.
pub fn answer(what: &str, given: &Value) -> Result<Value, String> {
    match what {
        "candidates" => one(given, codes_to_try),
        "find_name" => one(given, find_name),
        "for_search" => one(given, |text: String| json!(for_search(&text))),
        "for_identity" => one(given, |text: String| json!(for_identity(&text))),
        "search_words" => one(given, |name: String| json!(SearchName::new(&name).words)),
        "barcode_hash" => one(given, |text: String| json!(BarcodeHash::of(&text))),
        "scan" => one(
            given,
            |scan: Scan| json!({ "bytes": hex(&sign::scan_bytes(&scan)), "digest": sign::content_digest(&scan) }),
        ),
        "batch" => one(given, batch),
        "api_key" => api_key(given),
        "pin" => pin(given),
        "witness" => witness(given),
        "audit" => one(given, audit_head),
        "sign_v2" => sign_v2(given),
        "verify_v2" => verify_v2(given),
        "sign_v1" => one(given, sign_v1),
        "verify_v1" => one(given, |case: V1Case| json!(case.item.verify(&case.api_key))),
        "sign_webhook" => sign_webhook(given),
        "verify_webhook" => verify_webhook(given),
        "build_manifest" => build_manifest(given),
        "read_manifest" => one(given, read_manifest),
        "decide" => one(given, decide_case),
        "screen" => one(given, screen_case),
        "reduce" => reduce_case(given),
        "block_write" => block_write(given),
        "block_read" => one(given, block_read),
        _ => Err(format!("unknown kind of case: {what}")),
    }
}

fn parse<T: DeserializeOwned>(given: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(given).map_err(|error| format!("in.{}: {}", error.path(), error.inner()))
}
/// Writes scans, in the form in which a server keeps them, as a block's bytes.
fn block_write(given: &Value) -> Result<Value, String> {
    #[derive(Deserialize)]
    struct KeptCase {
        fact: Fact,
        signature: Option<String>,
        sent: Option<String>,
    }
    let kept: Vec<KeptCase> = parse(given)?;
    let kept: Vec<Kept> =
        kept.into_iter().map(|KeptCase { fact, signature, sent }| Kept { fact, signature, sent }).collect();
    let bytes = block::write(&kept).map_err(|error| error.to_string())?;
    let reads_back = block::read(&bytes).as_ref() == Ok(&kept);
    Ok(json!({ "bytes": hex(&bytes), "reads_back": reads_back }))
}
/// Reads a block's bytes. Returns the number of its scans, or the reason why the bytes cannot be read.
fn block_read(text: String) -> Value {
    let bytes: Option<Vec<u8>> =
        text.as_bytes().chunks(2).map(|pair| unhex::<1>(std::str::from_utf8(pair).ok()?).map(|[byte]| byte)).collect();
    match bytes.as_deref().map(block::read) {
        Some(Ok(kept)) => json!({ "scans": kept.len() }),
        Some(Err(error)) => json!({ "error": error.to_string() }),
        None => json!({ "error": "not hexadecimal" }),
    }
}
fn one<T: DeserializeOwned>(given: &Value, then: impl FnOnce(T) -> Value) -> Result<Value, String> {
    parse(given).map(then)
}
fn bytes<const N: usize>(text: &str) -> Result<[u8; N], String> {
    unhex(text).ok_or_else(|| format!("{text} is not {N} bytes of hexadecimal"))
}

// ---------------------------------------------------------------------------------------------------- codes, hashes

fn codes_to_try(read: String) -> Value {
    match candidates(&read) {
        Ok(list) => json!({ "candidates": list }),
        Err(BarcodeError::Empty) => json!({ "error": "empty" }),
        Err(BarcodeError::TooLong) => json!({ "error": "too_long" }),
        Err(BarcodeError::Control) => json!({ "error": "control" }),
    }
}

/// A guest's name, and the text that staff type to find it.
#[derive(Deserialize)]
struct FindCase {
    name: String,
    typed: String,
}

fn find_name(case: FindCase) -> Value {
    json!(match NameQuery::new(&case.typed).find(&SearchName::new(&case.name).words) {
        Some(Found::AtBeginning) => "at_beginning",
        Some(Found::Within) => "within",
        None => "not_found",
    })
}

#[derive(Deserialize)]
struct BatchCase {
    device_id: DeviceId,
    endpoint: String,
    scans: Vec<(ScanId, Digest)>,
    malformed: Vec<String>,
}

fn batch(case: BatchCase) -> Value {
    let malformed = case.malformed.iter().map(String::as_str);
    json!(hex(&batch_digest(&case.device_id, &case.endpoint, &case.scans, malformed)))
}

fn api_key(given: &Value) -> Result<Value, String> {
    let key = ApiKey::from_random(bytes(&parse::<String>(given)?)?);
    Ok(json!({ "text": key.as_str(), "sha256": hex(&key.sha256()), "scan_key": hex(&key.scan_key()) }))
}

fn pin(given: &Value) -> Result<Value, String> {
    #[derive(Deserialize)]
    struct PinCase {
        digits: String,
        salt: String,
        iterations: u32,
    }
    let case: PinCase = parse(given)?;
    let salt = bytes(&case.salt)?;
    let pin =
        StaffPin { salt, hash: sign::pin_hash(&case.digits, &salt, case.iterations), iterations: case.iterations };
    if !sign::check_pin(&pin, &case.digits) {
        return Err("its own digits do not open the PIN".to_owned());
    }
    Ok(json!(pin))
}

fn witness(given: &Value) -> Result<Value, String> {
    #[derive(Deserialize)]
    struct WitnessCase {
        secret: String,
        epoch: Epoch,
        event_id: EventId,
        serial: u64,
        audit_head: String,
    }
    let case: WitnessCase = parse(given)?;
    let head = bytes(&case.audit_head)?;
    Ok(json!(hex(&sign::witness_mac(case.secret.as_bytes(), case.epoch, &case.event_id, case.serial, &head))))
}

#[derive(Deserialize)]
struct AuditCase {
    serial: u64,
    n: u64,
    at: Timestamp,
    actor: String,
    action: String,
    entity_type: String,
    entity_id: String,
    changes: String,
    metadata: String,
}

/// The ledger's head after these lines, beginning with the empty ledger.
fn audit_head(lines: Vec<AuditCase>) -> Value {
    let head = lines.iter().fold(audit::GENESIS, |head, line| {
        let entry = AuditEntry {
            serial: line.serial,
            n: line.n,
            at: line.at,
            actor: &line.actor,
            action: &line.action,
            entity_type: &line.entity_type,
            entity_id: &line.entity_id,
            changes: &line.changes,
            metadata: &line.metadata,
        };
        audit::chain(head, &entry)
    });
    json!(hex(&head))
}

// ------------------------------------------------------------------------------------------------------- signatures

#[derive(Deserialize)]
struct V2Case {
    api_key: String,
    item: Value,
}

impl V2Case {
    fn read(given: &Value) -> Result<(ApiKey, Scan, String), String> {
        let case: Self = parse(given)?;
        let key = ApiKey::parse(&case.api_key).map_err(|error| format!("in.api_key: {error}"))?;
        let (scan, signature) = ScanV2::read(&case.item.to_string()).map_err(|error| format!("in.item.{error}"))?;
        Ok((key, scan, signature))
    }
}

fn sign_v2(given: &Value) -> Result<Value, String> {
    let (key, scan, _) = V2Case::read(given)?;
    let signature = sign::sign_v2(&key.scan_key(), &scan);
    let item = ScanV2::of(&scan, &signature).map_err(|error| error.to_string())?;
    Ok(json!({ "bytes": hex(&sign::scan_bytes(&scan)), "item": item }))
}

fn verify_v2(given: &Value) -> Result<Value, String> {
    let (key, scan, signature) = V2Case::read(given)?;
    Ok(json!(sign::verify_v2(&key.scan_key(), &scan, &signature)))
}

#[derive(Deserialize)]
struct V1Case {
    api_key: String,
    item: ScanV1,
}

fn sign_v1(case: V1Case) -> Value {
    let mut item = case.item;
    item.sign(&case.api_key);
    json!({ "text": item.signed_text(), "item": item })
}

// --------------------------------------------------------------------------------------------------------- webhooks

fn secret(text: &str) -> Result<WebhookSecret, String> {
    WebhookSecret::parse(text).map_err(|error| format!("in.secret {error}"))
}

fn sign_webhook(given: &Value) -> Result<Value, String> {
    #[derive(Deserialize)]
    struct SignCase {
        secret: String,
        id: String,
        at: Timestamp,
        body: String,
    }
    let case: SignCase = parse(given)?;
    let signature = secret(&case.secret)?.sign(&case.id, case.at, case.body.as_bytes());
    Ok(json!({ "timestamp": webhook::seconds(case.at), "signature": signature }))
}

fn verify_webhook(given: &Value) -> Result<Value, String> {
    #[derive(Deserialize)]
    struct VerifyCase {
        secrets: Vec<String>,
        id: String,
        timestamp: String,
        signature: String,
        body: String,
        now: Timestamp,
    }
    let case: VerifyCase = parse(given)?;
    let secrets: Vec<WebhookSecret> = case.secrets.iter().map(|text| secret(text)).collect::<Result<_, _>>()?;
    let signed = match Signed::read(&case.id, &case.timestamp, &case.signature) {
        Ok(signed) => signed,
        Err(error) => return Ok(json!({ "wrong_header": error.header })),
    };
    Ok(json!(match signed.check(&secrets, case.body.as_bytes(), case.now) {
        Ok(()) => "good",
        Err(Refusal::Wrong) => "wrong",
        Err(Refusal::TooOld) => "too_old",
        Err(Refusal::TooNew) => "too_new",
    }))
}

// -------------------------------------------------------------------------------------------------------- manifests

#[derive(Deserialize)]
struct BuildCase {
    organization_id: OrganizationId,
    event_id: EventId,
    event: EventRules,
    #[serde(default)]
    door: DoorSettings,
    version: u64,
    gates: Vec<(GateId, GateRules)>,
    codes: Vec<BuildCode>,
    tail: ManifestTail,
    api_key: String,
    /// The version that a delta starts from, the codes that it removes, and the content hash of the whole list. Absent
    /// if the case builds a whole list.
    delta: Option<DeltaCase>,
}

/// Code, ticket, rules and booking.
#[derive(Deserialize)]
struct BuildCode(BarcodeHash, TicketId, TicketRules, #[serde(default)] Option<Group>);

impl BuildCode {
    fn code(&self) -> Code<'_> {
        let Self(hash, ticket_id, rules, group) = self;
        Code { hash: *hash, ticket_id, rules, group: *group }
    }
}

#[derive(Deserialize)]
struct DeltaCase {
    since: u64,
    tombstones: Vec<BarcodeHash>,
    content_hash: BarcodeHash,
}

fn build_manifest(given: &Value) -> Result<Value, String> {
    let case: BuildCase = parse(given)?;
    let codes: Vec<Code<'_>> = case.codes.iter().map(BuildCode::code).collect();
    let input = Input {
        organization_id: &case.organization_id,
        event_id: &case.event_id,
        event: &case.event,
        door: &case.door,
        version: case.version,
        gates: &case.gates,
        codes: &codes,
    };
    let large = match &case.delta {
        None => manifest::large_part(&input),
        Some(delta) => manifest::delta_part(&input, delta.since, &delta.tombstones, delta.content_hash.0),
    };
    let large = match large {
        Ok(large) => large,
        Err(error) => return Ok(json!({ "error": error_word(&ManifestError::Index(error)) })),
    };
    let (body, header) = manifest::envelope(&large.bytes, &case.tail, &case.api_key);
    let body = String::from_utf8(body).map_err(|error| error.to_string())?;
    Ok(json!({ "body": body, "header": header, "content_hash": BarcodeHash(large.content_hash) }))
}

#[derive(Deserialize)]
struct ReadCase {
    organization_id: OrganizationId,
    event_id: EventId,
    api_key: String,
    body: String,
    /// The value of `X-Signature`. Absent at later starts.
    header: Option<String>,
    /// The list that the device uses before it reads `body`: a delta in `body` is applied to it, and a whole list is
    /// compared with it. Absent if the device has none.
    active: Option<String>,
    /// Codes to look up in the list.
    find: Vec<BarcodeHash>,
}

fn read_manifest(case: ReadCase) -> Value {
    match read_and_index(&case) {
        Err(error) => json!({ "error": error_word(&error) }),
        Ok((read, index)) => {
            let found = case.find.iter().map(|hash| {
                let found = index.find(hash);
                found.map(|found| json!({ "ticket_id": found.ticket_id, "rules": found.rules, "group": found.group }))
            });
            let found: Vec<_> = found.collect();
            let gates: BTreeMap<&str, &GateRules> = read.1.iter().map(|(id, gate)| (id.as_str(), gate)).collect();
            json!({ "version": read.0, "codes": index.len(), "gates": gates, "found": found })
        }
    }
}

type Read = ((u64, BTreeMap<GateId, GateRules>), Index);

fn read_and_index(case: &ReadCase) -> Result<Read, ManifestError> {
    let expected = Expected { organization_id: &case.organization_id, event_id: &case.event_id };
    let read = |body: &str, header: Option<&str>| manifest::read(body.as_bytes(), header, &case.api_key, expected);
    let active: Option<(Manifest, Index)> = match &case.active {
        None => None,
        Some(body) => {
            let active = read(body, None)?;
            let index = active.clone().into_index(None)?;
            Some((active, index))
        }
    };
    let incoming = read(&case.body, case.header.as_deref())?;
    if let Some((active, _)) = &active {
        manifest::compare(&active.identity(), &incoming.identity())?;
    }
    let seen = (incoming.version, incoming.gates.clone());
    let index = incoming.into_index(active.as_ref().map(|(active, index)| (index, active.version)))?;
    Ok((seen, index))
}

fn error_word(error: &ManifestError) -> String {
    match error {
        ManifestError::HeaderSignature => "header_signature".to_owned(),
        ManifestError::BodySignature => "body_signature".to_owned(),
        ManifestError::Malformed(field) => format!("malformed {}", field.path),
        ManifestError::WrongOrganization => "wrong_organization".to_owned(),
        ManifestError::WrongEvent(_) => "wrong_event".to_owned(),
        ManifestError::ContentHash => "content_hash".to_owned(),
        ManifestError::Index(_) => "index".to_owned(),
        ManifestError::WrongBase { .. } => "wrong_base".to_owned(),
        ManifestError::Older { .. } => "older".to_owned(),
        ManifestError::SameVersionOtherContent(_) => "same_version_other_content".to_owned(),
    }
}

// --------------------------------------------------------------------------------------- verdicts, screens, reductions

#[derive(Deserialize)]
struct DecideCase {
    event: EventRules,
    ticket: Option<TicketRules>,
    standing: Standing,
    gate_id: GateId,
    gate: Option<GateRules>,
    at: Timestamp,
    kind: ScanKind,
    area_inside: u32,
}

fn decide_case(case: DecideCase) -> Value {
    json!(decide(Question {
        event: &case.event,
        ticket: case.ticket.as_ref(),
        standing: &case.standing,
        gate_id: &case.gate_id,
        gate: case.gate.as_ref(),
        at: case.at,
        kind: case.kind,
        area_inside: case.area_inside,
    }))
}

#[derive(Deserialize)]
struct ScreenCase {
    outcome: Outcome,
    reason: Option<Reason>,
    advice: Option<Advice>,
    kind: ScanKind,
    party: bool,
    flagged: bool,
}

fn screen_case(case: ScreenCase) -> Value {
    let verdict = Verdict { outcome: case.outcome, reason: case.reason, advice: case.advice, ..Verdict::valid(0) };
    json!(screen(&verdict, case.kind, case.party, case.flagged))
}

#[derive(Deserialize)]
struct ReduceCase {
    rules: Vec<RuleCase>,
    epochs: Vec<(Epoch, u64)>,
    subject: Subject,
    reviews: Vec<Review>,
    facts: Vec<FactCase>,
}

#[derive(Deserialize)]
struct RuleCase {
    serial: u64,
    ordinal: u32,
    /// The moment from which the rule holds. Absent: it holds for every scan.
    effective_at: Option<Timestamp>,
    subject_kind: String,
    subject_id: String,
    field: String,
    value: Value,
}

#[derive(Deserialize)]
struct FactCase {
    /// The subject that the scan is about. If absent, it is the subject that the case reduces.
    subject: Option<Subject>,
    #[serde(flatten)]
    fact: Fact,
}

fn reduce_case(given: &Value) -> Result<Value, String> {
    let case: ReduceCase = parse(given)?;
    let mut book = EventBook::new([], Epochs::new(case.epochs));
    let mut tickets: BTreeMap<TicketId, TicketBook> = BTreeMap::new();
    for rule in &case.rules {
        let change = change_from_parts(&rule.subject_kind, &rule.subject_id, &rule.field, &rule.value.to_string())
            .map_err(|error| error.to_string())?;
        let effective_at = rule.effective_at.map_or(Effective::Start, Effective::At);
        let rule = Rule { serial: rule.serial, ordinal: rule.ordinal, effective_at, change };
        book.add(&rule);
        if let Change::Ticket(ticket_id, change) = &rule.change {
            tickets.entry(ticket_id.clone()).or_default().add(&rule, change);
        }
    }
    for fact in &case.facts {
        if sign::content_digest(&fact.fact.scan) != fact.fact.digest {
            return Err(format!("the digest of scan {} is not its content's", fact.fact.scan.scan_id));
        }
    }
    let facts: Vec<_> =
        case.facts.into_iter().map(|fact| (fact.subject.unwrap_or_else(|| case.subject.clone()), fact.fact)).collect();
    let ticket = case.subject.ticket_id().and_then(|ticket_id| tickets.get(ticket_id));
    let reduced = reduce(&case.subject, Rules { event: &book, ticket, newest: false }, &case.reviews, &facts);
    Ok(json!({
        "state": reduced.state,
        "verdicts": reduced.verdicts,
        "effective": reduced.effective,
        "causes": reduced.causes,
    }))
}
