//! `/api/events/{id}/runs`: the runs that mail passes, and why a run waits or gave up.

use admit_app::jobs;
use admit_app::ports::RunFilter;
use admit_app::records::{RunRecord, StepRecord};
use admit_core::ids::{EventId, GuestId};
use admit_core::job::RunState;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, page, word};
use crate::auth::user::User;
use crate::body::{Path, Query};
use crate::error::Result;
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(show)).routes(routes!(retry)).routes(routes!(retry_all))
}

/// A run: the work that makes one guest's pass and mails it.
#[derive(Serialize, ToSchema)]
pub(super) struct RunView {
    id: String,
    /// The kind of workflow: always `pass`.
    kind: String,
    event_id: String,
    guest_id: String,
    /// `open` (under way, or waiting to be tried again), `done`, or `gave_up` (a person must decide).
    state: &'static str,
    /// The step that failed last: `insert-qr-code`, `generate-qr-png`, `upload` or `send-email`. Null if none failed.
    step: Option<String>,
    /// Number of failed tries of this step.
    tries: u32,
    /// Why the step in `step` failed last, in plain words. Null if no step failed.
    problem: Option<String>,
    /// A remark about a run that is done, such as why nothing was mailed. Null without one.
    note: Option<String>,
    /// When the server tries the step in `step` again. Null if it does not try by itself.
    next_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<RunRecord> for RunView {
    fn from(one: RunRecord) -> Self {
        let is_done = one.state == RunState::Done;
        let (note, problem) = if is_done { (one.problem, None) } else { (None, one.problem) };
        Self {
            id: one.run_id,
            kind: one.kind,
            event_id: one.event_id.to_string(),
            guest_id: one.subject,
            state: one.state.as_str(),
            step: one.step,
            tries: one.tries,
            problem,
            note,
            next_at: one.next_at.filter(|_| one.state == RunState::Open),
            created_at: one.created_at,
            updated_at: one.updated_at,
        }
    }
}

/// A finished step of a run.
#[derive(Serialize, ToSchema)]
struct StepView {
    name: String,
    /// Number of tries of the step, including the successful one.
    tries: u32,
    /// When the successful try began.
    began_at: Timestamp,
    done_at: Timestamp,
}

impl From<StepRecord> for StepView {
    fn from(one: StepRecord) -> Self {
        Self { name: one.name, tries: one.tries, began_at: one.began_at, done_at: one.done_at }
    }
}

/// A run with its finished steps, in order.
#[derive(Serialize, ToSchema)]
struct RunWithStepsView {
    #[serde(flatten)]
    run: RunView,
    steps: Vec<StepView>,
}

#[derive(Default, Deserialize)]
struct RunQuery {
    limit: Option<usize>,
    cursor: Option<String>,
    state: Option<String>,
    guest_id: Option<GuestId>,
}

/// Runs of an event, newest first.
#[utoipa::path(get, path = "/api/events/{id}/runs", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
        ("limit" = Option<usize>, Query, description = "1–500, 50 by default", minimum = 1, maximum = 500),
        ("cursor" = Option<String>, Query),
        ("state" = Option<String>, Query, description = "Only runs in this state"),
        ("guest_id" = Option<String>, Query, description = "Only runs for this guest"),
    ), extensions(("x-actions" = json!(["read_guests"]))), responses(
    (status = 200, description = "A page", body = List<RunView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<RunQuery>,
) -> Result<Json<List<RunView>>> {
    let filter = RunFilter {
        event_id: Some(event_id),
        subject: query.guest_id.map(|id| id.to_string()),
        state: query.state.map(|text| word("state", &text)).transpose()?,
    };
    let listed = jobs::list(&state.app, &caller, filter, page(query.limit, query.cursor)?).await?;
    Ok(Json(List::of(listed, RunView::from)))
}

/// One run with its steps.
#[utoipa::path(get, path = "/api/events/{id}/runs/{run_id}", tag = "organisers", params(
        ("id" = String, Path, description = "Event"), ("run_id" = String, Path, description = "Run"),
    ), extensions(("x-actions" = json!(["read_guests"]))), responses(
    (status = 200, description = "The run", body = RunWithStepsView),
    (status = 404, description = "No such run"),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path((event_id, run_id)): Path<(EventId, String)>,
) -> Result<Json<RunWithStepsView>> {
    let (run, steps) = jobs::show(&state.app, &caller, event_id, run_id).await?;
    let steps = steps.into_iter().map(StepView::from).collect();
    Ok(Json(RunWithStepsView { run: run.into(), steps }))
}

/// Tries a run again at once, if it gave up or waits. Finished steps are not repeated.
#[utoipa::path(post, path = "/api/events/{id}/runs/{run_id}/retry", tag = "organisers", params(
        ("id" = String, Path, description = "Event"), ("run_id" = String, Path, description = "Run"),
    ), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "The run, which is under way again", body = RunView),
    (status = 404, description = "No such run"),
    (status = 409, description = "`run_done`"),
))]
async fn retry(
    State(state): State<AppState>,
    User(caller): User,
    Path((event_id, run_id)): Path<(EventId, String)>,
) -> Result<Json<RunView>> {
    Ok(Json(jobs::retry(&state.app, &caller, event_id, run_id).await?.into()))
}

/// The result of retrying an event's runs.
#[derive(Serialize, ToSchema)]
struct RetriedView {
    /// Number of runs that had given up and are under way again.
    retried: usize,
}

/// Tries all runs of an event that gave up again at once. Finished steps are not repeated.
#[utoipa::path(post, path = "/api/events/{id}/runs/retry", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
    ), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "Number of runs that are under way again", body = RetriedView),
))]
async fn retry_all(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
) -> Result<Json<RetriedView>> {
    Ok(Json(RetriedView { retried: jobs::retry_all(&state.app, &caller, event_id).await? }))
}
