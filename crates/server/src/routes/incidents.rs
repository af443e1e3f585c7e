//! Routes of incidents: `/api/events/{id}/incidents` and `/api/incidents/{id}`.

use admit_app::error::Error;
use admit_app::incidents::{self, Resolve, ShownIncident};
use admit_app::ports::IncidentFilter;
use admit_app::records::{DecisionRecord, IncidentStatus};
use admit_core::ids::{DeviceId, EventId, IncidentId, ScanId};
use admit_core::incident::{CauseScan, CauseSubject, IncidentKind, Subject};
use admit_core::review::Decision;
use admit_core::time::Timestamp;
use admit_core::wire::stored;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, flag, page, word};
use crate::auth::user::User;
use crate::body::{JsonBody, Path, Query};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(counts))
        .routes(routes!(resolve_many))
        .routes(routes!(show))
        .routes(routes!(resolve))
}

/// An incident: a finding about scans that a person must review.
#[derive(Serialize, ToSchema)]
struct IncidentView {
    id: String,
    event_id: String,
    /// The kind of incident.
    kind: &'static str,
    /// `low`, `medium`, `high` or `critical`.
    severity: &'static str,
    /// `open`, `resolved` (a person answered it for its present cause) or `cleared` (its cause is gone).
    status: &'static str,
    /// The subject of the incident: `ticket:…`, `unknown:…`, `log:…`, `device:…`, `scan:…` or `batch:…`.
    subject: String,
    /// The ticket of the incident. Null if it is about none.
    ticket_id: Option<String>,
    /// The hash of the code. Null if the incident is about none.
    barcode_hash: Option<String>,
    /// The device of the incident. Null if it is about none.
    device_id: Option<String>,
    /// The holder of the ticket. Null if the incident is about no ticket, or nobody holds it.
    guest: Option<InvolvedGuestView>,
    /// The name of the ticket's entry type. Null if the incident is about no ticket.
    entry_type: Option<String>,
    /// Whether the order of the scans is uncertain: the times of a scan within the ticket's limit and of a scan beyond
    /// it overlap within their uncertainties.
    order_uncertain: bool,
    /// The scans that cause the incident, in the order in which the server counts them.
    scans: Vec<IncidentScanView>,
    /// The last answer of a person. Null if nobody answered. `restore` means that the answer before it was taken back.
    resolution: Option<ResolutionView>,
    /// The decisions in force about scans of this ticket or code, oldest first. They may come from other incidents or
    /// requests. The decision `restore` takes them back.
    decided: Vec<DecidedScanView>,
    opened_at: Timestamp,
    updated_at: Timestamp,
}

/// The guest who holds the ticket of an incident.
#[derive(Serialize, ToSchema)]
struct InvolvedGuestView {
    id: String,
    name: String,
    /// Number of persons.
    party_size: u32,
}

/// Numbers of the review queue.
#[derive(Serialize, ToSchema)]
struct IncidentCountsView {
    /// Number of open incidents.
    open: u64,
    /// Number of incidents that a person answered and that are not open again.
    decided: u64,
    /// Numbers of open incidents by kind. Kinds without any are left out.
    kinds: Vec<KindCountView>,
}

/// The number of open incidents of one kind.
#[derive(Serialize, ToSchema)]
struct KindCountView {
    kind: &'static str,
    /// Number of open incidents of this kind.
    open: u64,
}

/// One answer to several incidents.
#[derive(Deserialize, ToSchema)]
struct ResolveManyRequest {
    /// The ids of 1–500 incidents of the event.
    #[schema(value_type = Vec<String>, min_items = 1, max_items = 500)]
    ids: Vec<IncidentId>,
    /// The decision, as for one incident. If an incident has scans that let persons in beyond the ticket's limit,
    /// `accept` and `exclude` are about these scans only. The incident's other scans were within the limit. For every
    /// other incident they are about all its scans.
    decision: String,
    /// A note about the decision. Empty if absent.
    note: Option<String>,
}

/// The result of answering several incidents.
#[derive(Serialize, ToSchema)]
struct ResolvedManyView {
    /// The ids of the answered incidents, in the order of the request.
    resolved: Vec<String>,
    /// The incidents that could not be answered. They are unchanged.
    refused: Vec<RefusedAnswerView>,
}

/// An incident that could not be answered.
#[derive(Serialize, ToSchema)]
struct RefusedAnswerView {
    id: String,
    /// The reason: `not_found`, `incident_cleared` (its cause is gone) or `no_scans` (there is no scan to accept or
    /// exclude).
    reason: &'static str,
}

/// A scan that is part of an incident.
#[derive(Serialize, ToSchema)]
struct IncidentScanView {
    device_id: String,
    scan_id: String,
    /// `entry`: the scan let persons in within the ticket's limit. `double_entry`: the scan let persons in beyond it.
    /// `subject`: the incident is about this scan.
    role: &'static str,
    gate_id: String,
    /// When the scan was made.
    at: Timestamp,
    /// Half the width of the interval in which the scan's true time lies, in milliseconds.
    uncertainty_ms: u64,
    /// Number of persons within the ticket's limit.
    within: u32,
    /// Number of persons beyond the ticket's limit. For an exit, persons who left without an entry.
    over: u32,
    /// The server's reason, if it causes the incident. Null otherwise.
    reason: Option<&'static str>,
    /// The version of the ticket list by which the device decided.
    manifest_version: u64,
}

/// A person's answer to an incident.
#[derive(Serialize, ToSchema)]
struct ResolutionView {
    /// The user who answered.
    user_id: String,
    /// `accept`, `exclude`, `restore` or `note`.
    decision: String,
    note: String,
    at: Timestamp,
}

/// A decision about a scan that is in force.
#[derive(Serialize, ToSchema)]
struct DecidedScanView {
    device_id: String,
    scan_id: String,
    /// `accept` or `exclude`.
    decision: &'static str,
    /// The user who decided.
    user_id: String,
    note: String,
    at: Timestamp,
}

/// A person's answer to an incident.
#[derive(Deserialize, ToSchema)]
struct ResolveRequest {
    /// `accept` makes an unproven scan count. `exclude` makes a scan not count. `restore` takes either decision back.
    /// `note` decides nothing.
    decision: String,
    /// The scans of the decision. Not allowed for `note`. If absent for `restore`, it takes back every decision in
    /// `decided`.
    #[serde(default)]
    scans: Option<Vec<ScanName>>,
    /// A note about the decision. Empty if absent.
    note: Option<String>,
}

/// The name of a scan: its device and its id.
#[derive(Deserialize, ToSchema)]
struct ScanName {
    device_id: DeviceId,
    scan_id: ScanId,
}

#[derive(Default, Deserialize)]
struct IncidentQuery {
    limit: Option<usize>,
    cursor: Option<String>,
    status: Option<String>,
    decided: Option<String>,
    kind: Option<String>,
}

fn decided(one: DecisionRecord) -> DecidedScanView {
    DecidedScanView {
        device_id: one.review.device_id.to_string(),
        scan_id: one.review.scan_id.to_string(),
        decision: one.review.decision.as_str(),
        user_id: one.user_id.to_string(),
        note: one.note,
        at: one.at,
    }
}

fn scan(one: CauseScan) -> IncidentScanView {
    IncidentScanView {
        device_id: one.device_id.to_string(),
        scan_id: one.scan_id.to_string(),
        role: one.role.as_str(),
        gate_id: one.gate_id.to_string(),
        at: one.at,
        uncertainty_ms: one.uncertainty_ms,
        within: one.within,
        over: one.over,
        reason: one.reason.map(|reason| reason.as_str()),
        manifest_version: one.manifest_version,
    }
}

/// The subject that is shown for a code which the reader may not see.
const UNKNOWN_CODE: &str = "unknown:";

fn view(shown: ShownIncident, sees_codes: bool) -> Result<IncidentView> {
    let one = shown.incident;
    let cause = stored::cause_from_json(&one.cause).map_err(|error| Error::Bug(error.to_string()))?;
    let (ticket_id, barcode_hash, device_id) = match &cause.subject {
        CauseSubject::Scans(Subject::Ticket(id)) => (Some(id.to_string()), None, None),
        CauseSubject::Scans(Subject::Unknown(hash)) => (None, Some(hash.to_string()), None),
        CauseSubject::Log(id, _) | CauseSubject::Device(id) | CauseSubject::Batch(id, _) => {
            (None, None, Some(id.to_string()))
        }
        CauseSubject::ScanId(_) => (None, None, None),
    };
    let resolution = one.resolution.map(|said| ResolutionView {
        user_id: said.user_id.to_string(),
        decision: said.decision,
        note: said.note,
        at: said.at,
    });
    Ok(IncidentView {
        id: one.incident_id.to_string(),
        event_id: one.event_id.to_string(),
        kind: one.kind.as_str(),
        severity: one.severity.as_str(),
        status: one.status.as_str(),
        subject: if sees_codes || barcode_hash.is_none() { one.subject_key } else { UNKNOWN_CODE.to_owned() },
        ticket_id,
        barcode_hash: barcode_hash.filter(|_| sees_codes),
        device_id,
        guest: shown.holder.guest.map(|guest| InvolvedGuestView {
            id: guest.guest_id.to_string(),
            name: guest.name,
            party_size: guest.party_size,
        }),
        entry_type: shown.holder.entry_type,
        order_uncertain: cause.order_uncertain,
        scans: cause.scans.into_iter().map(scan).collect(),
        resolution,
        decided: shown.decided.into_iter().map(decided).collect(),
        opened_at: one.opened_at,
        updated_at: one.updated_at,
    })
}

/// The review queue, newest incident first. With `decided` the order is by time of the decision.
#[utoipa::path(get, path = "/api/events/{id}/incidents", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
        ("limit" = Option<usize>, Query, description = "1–500, 50 by default", minimum = 1, maximum = 500),
        ("cursor" = Option<String>, Query),
        ("status" = Option<String>, Query, description = "`open`, `resolved` or `cleared`; all if absent"),
        ("decided" = Option<String>, Query, description = "`1`: only incidents that a person answered and that are not open again"),
        ("kind" = Option<String>, Query, description = "Only incidents of this kind"),
    ), extensions(("x-actions" = json!(["read_scans"]))), responses(
    (status = 200, description = "A page", body = List<IncidentView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<IncidentQuery>,
) -> Result<Json<List<IncidentView>>> {
    let unknown = || ApiError::field("status", "must be one of: open, resolved, cleared");
    let status = query.status.map(|text| IncidentStatus::parse(&text).ok_or_else(unknown)).transpose()?;
    let decided = flag("decided", query.decided.as_deref())?;
    let kind = query.kind.map(|text| word("kind", &text)).transpose()?;
    let filter = IncidentFilter { status, decided, queued: true, kind };
    let listed = incidents::list(&state.app, &caller, event_id, filter, page(query.limit, query.cursor)?).await?;
    let items = listed.items.into_iter().map(|one| view(one, caller.sees_contacts())).collect::<Result<_>>()?;
    Ok(Json(List { items, next_cursor: listed.next_cursor }))
}

/// The decision in a person's answer; `None` for a note, which decides nothing.
fn decision(text: &str) -> Result<Option<Decision>> {
    let unknown = |_| ApiError::field("decision", "must be one of: accept, exclude, restore, note");
    if text == "note" { Ok(None) } else { text.parse::<Decision>().map(Some).map_err(unknown) }
}

/// Numbers of the review queue.
#[utoipa::path(get, path = "/api/events/{id}/incidents/counts", tag = "organisers",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["read_scans"]))), responses(
    (status = 200, description = "The counts", body = IncidentCountsView),
))]
async fn counts(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<IncidentCountsView>> {
    let counts = incidents::count(&state.app, &caller, event_id).await?;
    let kind = |(kind, open): (IncidentKind, u64)| KindCountView { kind: kind.as_str(), open };
    let kinds = counts.kinds.into_iter().map(kind).collect();
    Ok(Json(IncidentCountsView { open: counts.open, decided: counts.decided, kinds }))
}

/// Answers several incidents of an event at once.
///
/// Each is answered as by the request for one incident. Incidents that cannot be answered are listed and do not stop
/// the others.
#[utoipa::path(post, path = "/api/events/{id}/incidents/resolve", tag = "organisers", request_body = ResolveManyRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["review"]))), responses(
    (status = 200, description = "The result for each incident", body = ResolvedManyView),
))]
async fn resolve_many(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    JsonBody(request): JsonBody<ResolveManyRequest>,
) -> Result<Json<ResolvedManyView>> {
    let (decision, note) = (decision(&request.decision)?, request.note.unwrap_or_default());
    let done = incidents::resolve_many(&state.app, &caller, event_id, request.ids, decision, &note).await?;
    let refused = |(id, reason): (IncidentId, &'static str)| RefusedAnswerView { id: id.to_string(), reason };
    Ok(Json(ResolvedManyView {
        resolved: done.resolved.iter().map(ToString::to_string).collect(),
        refused: done.refused.into_iter().map(refused).collect(),
    }))
}

/// One incident.
#[utoipa::path(get, path = "/api/incidents/{id}", tag = "organisers",
    params(("id" = String, Path, description = "Incident")), extensions(("x-actions" = json!(["read_scans"]))), responses(
    (status = 200, description = "The incident", body = IncidentView),
    (status = 404, description = "No such incident"),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path(incident_id): Path<IncidentId>,
) -> Result<Json<IncidentView>> {
    Ok(Json(view(incidents::show(&state.app, &caller, incident_id).await?, caller.sees_contacts())?))
}

/// Answers an incident. The answer resolves the incident for its present cause only.
///
/// `restore` takes back the decisions and the answer, even if the decision itself cleared the incident. The incident is
/// then open if its cause holds.
#[utoipa::path(post, path = "/api/incidents/{id}/resolve", tag = "organisers", request_body = ResolveRequest,
    params(("id" = String, Path, description = "Incident")), extensions(("x-actions" = json!(["review"]))), responses(
    (status = 200, description = "The incident after the answer", body = IncidentView),
    (status = 404, description = "No such incident"),
    (status = 409, description = "`incident_cleared`: its cause is gone and there is nothing to take back"),
))]
async fn resolve(
    State(state): State<AppState>,
    User(caller): User,
    Path(incident_id): Path<IncidentId>,
    JsonBody(request): JsonBody<ResolveRequest>,
) -> Result<Json<IncidentView>> {
    let decision = decision(&request.decision)?;
    let scans = request.scans.unwrap_or_default().into_iter().map(|one| (one.device_id, one.scan_id)).collect();
    let said = Resolve { decision, scans, note: request.note.unwrap_or_default() };
    Ok(Json(view(incidents::resolve(&state.app, &caller, incident_id, said).await?, caller.sees_contacts())?))
}
