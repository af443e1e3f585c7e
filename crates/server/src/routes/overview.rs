//! `/api/events/{id}/overview`: the figures of an event and what is still to be done.

use admit_app::overview::{self, Overview};
use admit_core::ids::EventId;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::mail::MailProblemView;
use crate::auth::user::User;
use crate::body::Path;
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(show))
}

/// The figures of an event, and the steps before its doors open.
#[derive(Serialize, ToSchema)]
struct OverviewView {
    /// Number of persons whom the tickets admit.
    expected: u64,
    /// Number of persons let in, including those beyond their tickets' limits.
    admitted: u64,
    /// Number of persons inside now, including those beyond their tickets' limits.
    inside: u64,
    /// Number of persons who may be inside at once. Null if the event has no such number.
    capacity: Option<u32>,
    guests: u64,
    gates: Vec<GateNameView>,
    /// Number of devices that are paired to the event and not revoked.
    devices: u64,
    /// Number of devices that the event needs: one per 500 expected persons, and at least one per gate.
    devices_needed: u64,
    passes: PassCountsView,
    /// Number of codes that were scanned before the event's start, or while it is a draft.
    test_scans: u64,
    /// For a draft: the number of persons whom practice scans of the last 12 hours let in. They count only if the
    /// request that opens the doors has `count_practice`.
    practice_persons: u64,
    has_staff_pin: bool,
    /// Number of open incidents in the review queue.
    open_incidents: u64,
    /// Why no mail is sent now. Null while mail is sent, and for callers who may not see guests.
    mail_problem: Option<MailProblemView>,
    /// The steps before the doors open, in their order.
    checklist: Vec<ChecklistItemView>,
}

/// A gate with its name.
#[derive(Serialize, ToSchema)]
struct GateNameView {
    id: String,
    name: String,
}

/// Numbers of guests by the state of their newest pass.
#[derive(Serialize, ToSchema)]
struct PassCountsView {
    /// Number of passes that were mailed.
    sent: u64,
    /// Number of passes that are under way or wait to be tried again.
    waiting: u64,
    /// Number of passes that could not be mailed and are no longer tried.
    refused: u64,
}

/// A step of the checklist.
#[derive(Serialize, ToSchema)]
struct ChecklistItemView {
    /// `event`, `gates`, `guests`, `phones`, `test_scan`, `staff_pin` or `open_doors`.
    key: &'static str,
    /// `done`, `todo`, or `warn` (done in part, or late).
    state: &'static str,
}

impl From<Overview> for OverviewView {
    fn from(one: Overview) -> Self {
        let gates =
            one.gates.into_iter().map(|gate| GateNameView { id: gate.gate_id.to_string(), name: gate.rules.name });
        let steps = one.checklist.into_iter();
        Self {
            expected: one.expected,
            admitted: one.admitted,
            inside: one.inside,
            capacity: one.event.capacity,
            guests: one.guests,
            gates: gates.collect(),
            devices: one.devices,
            devices_needed: one.devices_needed,
            passes: PassCountsView { sent: one.passes_sent, waiting: one.passes_waiting, refused: one.passes_refused },
            test_scans: one.test_scans,
            practice_persons: one.practice_persons,
            has_staff_pin: one.event.has_pin,
            open_incidents: one.open_incidents,
            mail_problem: one.mail_problem.map(MailProblemView::from),
            checklist: steps
                .map(|(step, state)| ChecklistItemView { key: step.as_str(), state: state.as_str() })
                .collect(),
        }
    }
}

/// The figures and the checklist of an event, all of the same moment.
///
/// The answer contains counts only and no personal data.
#[utoipa::path(get, path = "/api/events/{id}/overview", tag = "organisers", params(("id" = String, Path, description = "Event")),
    extensions(("x-actions" = json!(["read_events"]))), responses(
    (status = 200, description = "The figures now", body = OverviewView),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<OverviewView>> {
    Ok(Json(overview::show(&state.app, &caller, event_id).await?.into()))
}
