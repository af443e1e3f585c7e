//! `/api/events/{id}/scans`: the scans of an event, with the server's verdict on each.

use admit_app::ports::ScanFilter;
use admit_app::records::ScanRow;
use admit_app::scans;
use admit_core::ids::{DeviceId, EventId, TicketId};
use admit_core::incident::Subject;
use admit_core::reduce::ScanVerdict;
use admit_core::scan::{Headcount, Outcome, ScanKind};
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, flag, page};
use crate::auth::user::User;
use crate::body::{Path, Query};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// A scan as its device wrote it, and what the server says to it.
#[derive(Serialize, ToSchema)]
struct ScanView {
    scan_id: String,
    device_id: String,
    gate_id: String,
    /// The ticket its code stands for, as far as known now; null for a headcount.
    ticket_id: Option<String>,
    barcode_hash: Option<String>,
    /// `entry`, `exit`, `revert` or `headcount`.
    kind: &'static str,
    /// `claim` or `final`.
    stage: &'static str,
    /// `qr`, `manual` or `import`.
    method: &'static str,
    /// `v1`, `v2` or `s2`.
    form: &'static str,
    /// Place in its log.
    log_id: Option<String>,
    seq: Option<u64>,
    /// Number of persons.
    count: u32,
    /// The outcome that the screen showed.
    device_outcome: &'static str,
    /// Whether the door opened.
    opened: bool,
    operator: Option<String>,
    /// Staff's count of people without a ticket; absent in all kinds but `headcount`.
    headcount: Option<HeadcountView>,
    /// Staff set a refusal aside: who, why.
    #[serde(rename = "override")]
    set_aside: Option<OverrideView>,
    /// A revert's target.
    target_device: Option<String>,
    target_scan_id: Option<String>,
    /// Canonical time.
    at: Timestamp,
    /// ±.
    uncertainty_ms: u64,
    received_at: Timestamp,
    /// `verified`, `bearer` or `unverified`.
    signature: &'static str,
    /// Version of the list the device decided by.
    manifest_version: u64,
    /// Serial it came in with.
    serial: u64,
    /// The server's word; null for a content that was not taken (another under the same id was).
    verdict: Option<VerdictView>,
}

/// Staff's count: people of a class who came in (below zero, went out), or everybody inside.
#[derive(Default, Serialize, ToSchema)]
struct HeadcountView {
    /// `staff`, `crew`, `child` or `other`; null for a recount.
    class: Option<&'static str>,
    /// Persons; null for a recount.
    delta: Option<i32>,
    /// Persons inside, of a recount alone.
    inside: Option<u32>,
}

impl From<Headcount> for HeadcountView {
    fn from(headcount: Headcount) -> Self {
        match headcount {
            Headcount::Change { class, delta } => {
                Self { class: Some(class.as_str()), delta: Some(delta), ..Self::default() }
            }
            Headcount::Recount { inside } => Self { inside: Some(inside), ..Self::default() },
        }
    }
}

/// The override: the person who set a refusal aside, and the reason.
#[derive(Serialize, ToSchema)]
struct OverrideView {
    by: String,
    reason: String,
}

/// The reducer's verdict on a scan.
#[derive(Serialize, ToSchema)]
struct VerdictView {
    /// The outcome by the rules at the scan's time.
    outcome: &'static str,
    reason: Option<&'static str>,
    /// Why it counts nothing: `excluded` or `unverified`.
    left_out: Option<&'static str>,
    /// Persons let in within the limit.
    within: u32,
    /// Persons let in beyond it.
    over: u32,
    /// Persons let out.
    exited: u32,
    conflict: bool,
    /// `double_entry` or `duplicate_scan`.
    conflict_reason: Option<&'static str>,
    admitted_in_error: bool,
    refused_in_error: bool,
    /// Its time lies outside the event by more than a day.
    implausible: bool,
}

impl From<ScanVerdict> for VerdictView {
    fn from(one: ScanVerdict) -> Self {
        Self {
            outcome: one.outcome.as_str(),
            reason: one.reason.map(|reason| reason.as_str()),
            left_out: one.left_out.map(|why| why.as_str()),
            within: one.within,
            over: one.over,
            exited: one.exited,
            conflict: one.conflict,
            conflict_reason: one.conflict_reason.map(|reason| reason.as_str()),
            admitted_in_error: one.admitted_in_error,
            refused_in_error: one.refused_in_error,
            implausible: one.implausible,
        }
    }
}

impl From<ScanRow> for ScanView {
    fn from(row: ScanRow) -> Self {
        let (at, opened) = (row.fact.at(), row.fact.opened());
        let scan = row.fact.scan;
        let subject = Subject::from_key(&row.subject_key);
        Self {
            scan_id: scan.scan_id.to_string(),
            device_id: scan.device_id.to_string(),
            gate_id: scan.gate_id.to_string(),
            ticket_id: subject
                .as_ref()
                .and_then(Subject::ticket_id)
                .filter(|_| scan.kind != ScanKind::Headcount)
                .map(ToString::to_string),
            barcode_hash: scan.barcode_hash.map(|hash| hash.to_string()),
            kind: scan.kind.as_str(),
            stage: scan.stage.as_str(),
            method: scan.method.as_str(),
            form: scan.form.as_str(),
            log_id: scan.log_id.map(|id| id.to_string()),
            seq: scan.seq,
            count: scan.count,
            device_outcome: scan.outcome.as_str(),
            opened,
            operator: scan.operator,
            headcount: scan.headcount.map(HeadcountView::from),
            set_aside: scan.override_.map(|one| OverrideView { by: one.by, reason: one.reason }),
            target_device: scan.target_device.map(|id| id.to_string()),
            target_scan_id: scan.target_scan_id.map(|id| id.to_string()),
            at,
            uncertainty_ms: scan.uncertainty_ms,
            received_at: row.fact.received_at,
            signature: row.fact.signature.as_str(),
            manifest_version: scan.manifest_version,
            serial: row.serial,
            verdict: row.verdict.map(VerdictView::from),
        }
    }
}

/// A scan in this API's form, for files that use the same names.
pub fn as_json(row: ScanRow) -> serde_json::Result<serde_json::Value> {
    serde_json::to_value(ScanView::from(row))
}

#[derive(Default, Deserialize)]
struct ScanQuery {
    limit: Option<usize>,
    cursor: Option<String>,
    ticket_id: Option<TicketId>,
    device_id: Option<DeviceId>,
    outcome: Option<Outcome>,
    conflict: Option<String>,
}

/// Scans of an event, newest arrival first.
#[utoipa::path(get, path = "/api/events/{id}/scans", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
        ("limit" = Option<usize>, Query, description = "1–500, 50 by default", minimum = 1, maximum = 500),
        ("cursor" = Option<String>, Query),
        ("ticket_id" = Option<String>, Query),
        ("device_id" = Option<String>, Query),
        ("outcome" = Option<String>, Query, description = "The server's outcome"),
        ("conflict" = Option<bool>, Query),
    ), extensions(("x-actions" = json!(["read_scans"]))), responses(
    (status = 200, description = "A page", body = List<ScanView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<ScanQuery>,
) -> Result<Json<List<ScanView>>> {
    let conflict = query.conflict.as_deref().map(|text| flag("conflict", Some(text))).transpose()?;
    let (ticket_id, device_id, outcome) = (query.ticket_id, query.device_id, query.outcome);
    let filter = ScanFilter { ticket_id, device_id, outcome, conflict };
    let listed = scans::list::list(&state.app, &caller, event_id, filter, page(query.limit, query.cursor)?).await?;
    let hidden = |view: ScanView| ScanView { barcode_hash: None, ..view };
    let sees_codes = caller.sees_contacts();
    Ok(Json(List::of(listed, |row| if sees_codes { row.into() } else { hidden(row.into()) })))
}
