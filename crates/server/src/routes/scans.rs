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

/// A scan as its device recorded it, with the server's verdict.
#[derive(Serialize, ToSchema)]
struct ScanView {
    scan_id: String,
    device_id: String,
    gate_id: String,
    /// The ticket of the code, as far as it is known now. Null for a headcount or an unknown code.
    ticket_id: Option<String>,
    /// The hash of the code. Null if there was no code, or the caller may not see codes.
    barcode_hash: Option<String>,
    /// `entry`, `exit`, `revert` or `headcount`.
    kind: &'static str,
    /// `claim` (the device asks the server first) or `final`.
    stage: &'static str,
    /// `qr`, `manual` or `import`.
    method: &'static str,
    /// The format in which the scan arrived: `v1`, `v2` or `s2`.
    form: &'static str,
    /// The device's log that contains the scan. Null for `v1` and `s2`.
    log_id: Option<String>,
    /// The scan's place in that log, from 1. Null for `v1` and `s2`.
    seq: Option<u64>,
    /// Number of persons.
    count: u32,
    /// The outcome that the screen showed.
    device_outcome: &'static str,
    /// Whether the door opened.
    opened: bool,
    /// The name of the person who operated the device. Null if nobody signed on.
    operator: Option<String>,
    /// For `headcount`: the people whom staff counted. Null for other kinds.
    headcount: Option<HeadcountView>,
    /// Who set a refusal aside, and why. Null if nobody did.
    #[serde(rename = "override")]
    set_aside: Option<OverrideView>,
    /// For `revert`: the device of the scan to undo. Null otherwise.
    target_device: Option<String>,
    /// For `revert`: the id of the scan to undo. Null otherwise.
    target_scan_id: Option<String>,
    /// The scan's time, corrected for the error of the device's clock.
    at: Timestamp,
    /// The true time of the scan lies at most this far before or after `at`, in milliseconds.
    uncertainty_ms: u64,
    /// When the server received the scan.
    received_at: Timestamp,
    /// The proof of authorship: `verified` (valid signature), `bearer` (sent with a valid key, counts like `verified`)
    /// or `unverified`.
    signature: &'static str,
    /// The version of the ticket list by which the device decided.
    manifest_version: u64,
    /// The serial of the event's change that stored the scan.
    serial: u64,
    /// The server's verdict. Null if another scan with the same id counts instead of this content.
    verdict: Option<VerdictView>,
}

/// A count by staff: the people of a class who came in or went out, or all people inside.
#[derive(Default, Serialize, ToSchema)]
struct HeadcountView {
    /// `staff`, `crew`, `child` or `other`. Null for a recount.
    class: Option<&'static str>,
    /// Number of persons who came in; below zero, who went out. Null for a recount.
    delta: Option<i32>,
    /// For a recount: the number of persons inside. Null otherwise.
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

/// The override of a refusal.
#[derive(Serialize, ToSchema)]
struct OverrideView {
    /// The person who set the refusal aside.
    by: String,
    /// The person's reason.
    reason: String,
}

/// The server's verdict on a scan.
#[derive(Serialize, ToSchema)]
struct VerdictView {
    /// The outcome by the rules that were in force at the scan's time.
    outcome: &'static str,
    /// Why the outcome is not `valid`. Null if it is.
    reason: Option<&'static str>,
    /// Why the scan does not count: `excluded` or `unverified`. Null if it counts.
    left_out: Option<&'static str>,
    /// Number of persons let in within the ticket's limit.
    within: u32,
    /// Number of persons let in beyond the ticket's limit.
    over: u32,
    /// Number of persons let out.
    exited: u32,
    /// Whether the scan collides with another one. Both scans have this mark.
    conflict: bool,
    /// The kind of conflict, on the later scan: `double_entry` or `duplicate_scan`. Null otherwise.
    conflict_reason: Option<&'static str>,
    /// Whether persons were let in although the rules refuse the ticket.
    admitted_in_error: bool,
    /// Whether the door stayed shut although the rules admit the ticket.
    refused_in_error: bool,
    /// Whether the scan's time lies more than a day outside the event.
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
