//! Routes of guests: `/api/events/{id}/guests` and `/api/guests/{id}`.

use std::collections::BTreeMap;

use admit_app::guests::{self, Counts, GuestPatch, GuestState, Listing, Moment, Shown, Wanted, What};
use admit_app::passes::Mailing;
use admit_app::ports::{GuestSort, PassMail};
use admit_app::records::{EntryTypeRecord, Fields, GuestListRecord, GuestRecord};
use admit_core::ids::{EntryTypeId, EventId, GuestId, GuestListId};
use admit_core::limits::NAME_CHARS;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::runs::RunView;
use super::shape::{List, page, present, sought};
use super::tickets::{GuestRequest, NewTicketView, TicketView};
use crate::auth::user::User;
use crate::body::{JsonBody, Path, Query};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(counts))
        .routes(routes!(show, update))
        .routes(routes!(timeline))
        .routes(routes!(resend))
}

/// A guest.
#[derive(Serialize, ToSchema)]
pub(super) struct GuestView {
    id: String,
    event_id: String,
    name: String,
    email: Option<String>,
    phone: Option<String>,
    party_size: u32,
    /// Note for the door.
    note: Option<String>,
    /// Flag for the door.
    flag: Option<String>,
    /// Other fields kept of the guest, by name.
    #[schema(value_type = BTreeMap<String, String>)]
    fields: Fields,
    /// The organiser's own id.
    external_id: Option<String>,
    guest_list_id: Option<String>,
    entry_type_id: Option<String>,
    ticket_id: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// When the guest's personal data was erased. Null if it was not.
    erased_at: Option<Timestamp>,
}

impl From<GuestRecord> for GuestView {
    fn from(one: GuestRecord) -> Self {
        Self {
            id: one.guest_id.to_string(),
            event_id: one.event_id.to_string(),
            name: one.name,
            email: one.email,
            phone: one.phone,
            party_size: one.party_size,
            note: one.note,
            flag: one.flag,
            fields: one.fields,
            external_id: one.external_id,
            guest_list_id: one.guest_list_id.map(|id| id.to_string()),
            entry_type_id: one.entry_type_id.map(|id| id.to_string()),
            ticket_id: one.ticket_id.map(|id| id.to_string()),
            created_at: one.created_at,
            updated_at: one.updated_at,
            erased_at: one.erased_at,
        }
    }
}

/// A guest, with their ticket's status and their entries.
#[derive(Serialize, ToSchema)]
pub(super) struct StandingGuestView {
    #[serde(flatten)]
    guest: GuestView,
    /// `pending`, `checked_in`, or after the event `no_show`. The server derives it from the scans.
    status: &'static str,
    /// The status of the guest's ticket: `active`, `used`, `voided` or `refunded`. Null without a ticket.
    ticket_status: Option<&'static str>,
    /// Number of persons of the guest's party let in.
    actual_count: u32,
    /// Number of persons of the guest's party inside now.
    inside: u32,
    /// When somebody of the guest's party was last let in. Null if nobody was.
    last_at: Option<Timestamp>,
    /// The name of the gate at which somebody of the guest's party was last let in. Null if nobody was.
    last_gate: Option<String>,
    /// The number of the order that the guest's ticket belongs to. Null if there is none.
    order_id: Option<String>,
    /// The name of the guest's entry type. Null if the guest has none.
    entry_type: Option<String>,
    /// The name of the guest's list. Null if the guest is on none.
    guest_list: Option<String>,
    /// The state of the mail with the guest's pass. Null if Admit did not make the guest's code.
    mail: Option<MailView>,
}

/// The state of the mail with a guest's pass.
#[derive(Serialize, ToSchema)]
struct MailView {
    /// `sent`, `waiting` (under way, or to be tried again) or `not_sent`.
    state: &'static str,
    /// Why the mail waits or was not sent, in plain words. Null if nothing is wrong.
    why: Option<String>,
    /// The time since which the mail is in this state. Null if no mail was ever begun.
    at: Option<Timestamp>,
}

impl From<Mailing> for MailView {
    fn from(one: Mailing) -> Self {
        Self { state: one.state.as_str(), why: one.why, at: one.at }
    }
}

impl From<Listing> for StandingGuestView {
    fn from(listing: Listing) -> Self {
        let status = guests::list::status(&listing);
        let Listing { guest, state, ticket_status, order_id, mailing, entry_type, guest_list, last, .. } = listing;
        let (last_at, last_gate) = last.unzip();
        Self {
            guest: guest.into(),
            status,
            ticket_status: ticket_status.map(TicketStatus::as_str),
            actual_count: state.as_ref().map_or(0, |record| record.state.persons()),
            inside: state.map_or(0, |record| record.state.inside()),
            last_at,
            last_gate,
            order_id,
            entry_type,
            guest_list,
            mail: mailing.map(MailView::from),
        }
    }
}

/// A new guest with their ticket.
#[derive(Serialize, ToSchema)]
struct NewGuestView {
    #[serde(flatten)]
    guest: GuestView,
    ticket: NewTicketView,
}

#[derive(Default, Deserialize)]
struct GuestQuery {
    limit: Option<usize>,
    cursor: Option<String>,
    q: Option<String>,
    guest_list_id: Option<GuestListId>,
    entry_type_id: Option<EntryTypeId>,
    state: Option<String>,
    mail: Option<String>,
    sort: Option<String>,
}

#[derive(Default, Deserialize)]
struct CountQuery {
    q: Option<String>,
}

/// Numbers of guests by their state. Every number except `persons` and `expected` counts guests: a guest counts as one,
/// whatever the party size.
#[derive(Serialize, ToSchema)]
struct GuestCountsView {
    /// All guests.
    all: u64,
    /// Guests with somebody of their party inside now.
    inside: u64,
    /// Guests with nobody let in yet, while the event is not over and their ticket is active.
    to_come: u64,
    /// Guests with somebody of their party let in so far.
    came: u64,
    /// Guests with nobody let in, although their ticket was active and the event is over.
    no_show: u64,
    /// Guests whose ticket is voided or refunded.
    voided: u64,
    /// Guests whose newest pass could not be mailed and is no longer tried.
    mail_refused: u64,
    /// Guests whose newest pass is under way or waits to be tried again.
    mail_waiting: u64,
    /// Number of persons: the sum of the guests' party sizes.
    persons: u64,
    /// Number of persons whom valid tickets admit. Without a search it equals the number in the event's overview and
    /// occupancy.
    expected: u64,
    /// Guests by guest list, oldest list first. Lists without a guest are included.
    lists: Vec<NamedCountView>,
    /// Guests by entry type, in the types' order. Types without a guest are included.
    entry_types: Vec<NamedCountView>,
}

/// The number of guests on a list or of an entry type.
#[derive(Serialize, ToSchema)]
struct NamedCountView {
    id: String,
    name: String,
    /// Number of guests.
    guests: u64,
}

impl From<Counts> for GuestCountsView {
    fn from(one: Counts) -> Self {
        let list = |(list, guests): (GuestListRecord, u64)| NamedCountView {
            id: list.guest_list_id.to_string(),
            name: list.name,
            guests,
        };
        let kind = |(kind, guests): (EntryTypeRecord, u64)| NamedCountView {
            id: kind.entry_type_id.to_string(),
            name: kind.name,
            guests,
        };
        Self {
            all: one.all,
            inside: one.inside,
            to_come: one.to_come,
            came: one.came,
            no_show: one.no_show,
            voided: one.voided,
            mail_refused: one.mail_refused,
            mail_waiting: one.mail_waiting,
            persons: one.persons,
            expected: one.expected,
            lists: one.lists.into_iter().map(list).collect(),
            entry_types: one.entry_types.into_iter().map(kind).collect(),
        }
    }
}

/// The fields to change. Absent fields keep their values. Null clears a field.
#[derive(Deserialize, ToSchema)]
struct GuestPatchRequest {
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    email: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    phone: Option<Option<String>>,
    /// Number of persons of the party. The limit of the guest's ticket changes with it.
    party_size: Option<u32>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    note: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    flag: Option<Option<String>>,
    /// Fields to change, by name. A value sets the field, null removes it, and other fields stay. A guest has at most
    /// 8. A value has at most 200 characters, a name at most 24.
    #[serde(default)]
    fields: BTreeMap<String, Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    external_id: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    guest_list_id: Option<Option<GuestListId>>,
    /// The new status of the guest's ticket. `voided` admits nobody any more, and `active` restores the ticket.
    ticket_status: Option<TicketStatus>,
}

/// Guests of an event. A promoter sees the guests of their own lists only.
#[utoipa::path(get, path = "/api/events/{id}/guests", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
        ("limit" = Option<usize>, Query, description = "1–500, 50 by default", minimum = 1, maximum = 500),
        ("cursor" = Option<String>, Query),
        ("q" = Option<String>, Query, description = "Beginnings of words of the name, in any order; or the start of an e-mail, external id or order number; or a whole ticket code", max_length = 200),
        ("guest_list_id" = Option<String>, Query, description = "Only guests on this list"),
        ("entry_type_id" = Option<String>, Query, description = "Only guests of this entry type"),
        ("state" = Option<String>, Query, description = "Only guests in this state: `inside`, `to_come`, `came`, `no_show` or `voided` (which includes refunded)"),
        ("mail" = Option<String>, Query, description = "Only guests whose newest pass is `refused` (no longer tried), `waiting` or `sent`"),
        ("sort" = Option<String>, Query, description = "The order: `name` (default, A to Z), `last` (newest entry first) or `added` (newest first)"),
    ), extensions(("x-actions" = json!(["read_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "A page", body = List<StandingGuestView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<GuestQuery>,
) -> Result<Json<List<StandingGuestView>>> {
    let wanted = Wanted {
        text: sought(query.q, NAME_CHARS)?,
        guest_list_id: query.guest_list_id,
        entry_type_id: query.entry_type_id,
        state: one_of("state", query.state, GuestState::parse, "inside, to_come, came, no_show, voided")?,
        mail: one_of("mail", query.mail, PassMail::parse, "refused, waiting, sent")?,
        sort: one_of("sort", query.sort, GuestSort::parse, "name, last, added")?.unwrap_or_default(),
    };
    let listed = guests::list(&state.app, &caller, event_id, wanted, page(query.limit, query.cursor)?).await?;
    Ok(Json(List::of(listed, StandingGuestView::from)))
}

/// Parses a query parameter or field that must be one of a few words. `words` lists them for the error; `None` without the
/// parameter.
pub(super) fn one_of<T>(
    name: &str,
    text: Option<String>,
    read: fn(&str) -> Option<T>,
    words: &str,
) -> Result<Option<T>> {
    let unknown = || ApiError::field(name, format!("must be one of: {words}"));
    text.map(|text| read(&text).ok_or_else(unknown)).transpose()
}

/// Numbers of guests by their state, of those that `q` finds. A promoter's numbers count the guests of their own lists
/// only.
#[utoipa::path(get, path = "/api/events/{id}/guests/counts", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
        ("q" = Option<String>, Query, description = "As in the list of guests", max_length = 200),
    ), extensions(("x-actions" = json!(["read_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "The counts", body = GuestCountsView),
))]
async fn counts(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<CountQuery>,
) -> Result<Json<GuestCountsView>> {
    let text = sought(query.q, NAME_CHARS)?;
    Ok(Json(guests::count(&state.app, &caller, event_id, text).await?.into()))
}

/// Makes a guest with a ticket for the whole party.
#[utoipa::path(post, path = "/api/events/{id}/guests", tag = "organisers", request_body = GuestRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 201, description = "Made", body = NewGuestView),
    (status = 404, description = "No such event or guest list"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    JsonBody(mut request): JsonBody<GuestRequest>,
) -> Result<(StatusCode, Json<NewGuestView>)> {
    let (entry_type_id, order_id) = (request.entry_type_id.take(), request.order_id.take());
    let made = guests::create(&state.app, &caller, event_id, request.into(), entry_type_id, order_id).await;
    let (guest, ticket) = made?;
    let view = NewGuestView { ticket: NewTicketView::of(ticket, Some(guest.clone())), guest: guest.into() };
    Ok((StatusCode::CREATED, Json(view)))
}

/// A guest with their state and their ticket.
#[derive(Serialize, ToSchema)]
struct ShownGuestView {
    #[serde(flatten)]
    guest: StandingGuestView,
    /// The guest's ticket. Null if they have none.
    ticket: Option<TicketView>,
    /// Whether the guest's pass has a page. A code that Admit did not make has none. `POST /api/tickets/{id}/code`
    /// gives the page's address.
    has_pass: bool,
}

/// One entry of a guest's history.
#[derive(Serialize, ToSchema)]
pub(super) struct MomentView {
    at: Timestamp,
    /// The kind of this entry: `added`, `changed`, `received`, `row_deleted`, `resent`, `remade`, `opened`, `entered`,
    /// `refused`, `left`, `undone` or `erased`.
    ///
    /// `received` and `row_deleted` are messages about the guest's row in the organiser's own table. `resent` means
    /// that the pass was sent again, and `remade` that it was made again for a guest without an address. `opened` is
    /// the first view of the pass's page.
    what: &'static str,
    /// For `changed`: the names of the changed fields. Empty otherwise.
    fields: Vec<String>,
    /// For `refused`: the outcome that the device showed. Null otherwise.
    outcome: Option<String>,
    /// Who did it: a member's name, the operator at the gate, or the webhook endpoint. Null if unknown.
    by: Option<String>,
    /// For a scan: the gate's name. Null otherwise.
    gate: Option<String>,
    /// For a scan: the device's name. Null otherwise.
    device: Option<String>,
    /// For a scan: the number of persons. 0 otherwise.
    persons: u32,
    /// Whether staff picked the guest by name, without a code.
    by_hand: bool,
    /// Whether the server counts the scan. A scan that was excluded or waits for review is listed but does not count.
    counts: bool,
}

impl From<Moment> for MomentView {
    fn from(one: Moment) -> Self {
        let (what, fields, outcome) = match one.what {
            What::Added => ("added", Vec::new(), None),
            What::Changed { fields } => ("changed", fields, None),
            What::Received => ("received", Vec::new(), None),
            What::RowDeleted => ("row_deleted", Vec::new(), None),
            What::Resent => ("resent", Vec::new(), None),
            What::Remade => ("remade", Vec::new(), None),
            What::Opened => ("opened", Vec::new(), None),
            What::Entered => ("entered", Vec::new(), None),
            What::Refused { outcome } => ("refused", Vec::new(), Some(outcome)),
            What::Left => ("left", Vec::new(), None),
            What::Undone => ("undone", Vec::new(), None),
            What::Erased => ("erased", Vec::new(), None),
        };
        let Moment { at, by, gate, device, persons, by_hand, counts, .. } = one;
        Self { at, what, fields, outcome, by, gate, device, persons, by_hand, counts }
    }
}

/// A guest with their ticket. A promoter sees the guests of their own lists only.
#[utoipa::path(get, path = "/api/guests/{id}", tag = "organisers",
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["read_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "The guest", body = ShownGuestView),
    (status = 404, description = "No such guest"),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path(guest_id): Path<GuestId>,
) -> Result<Json<ShownGuestView>> {
    let Shown { listing, ticket, has_pass } = guests::show(&state.app, &caller, guest_id).await?;
    let has_pass = has_pass && state.passes.public_url.is_some();
    let view =
        |ticket| TicketView::of((ticket, Some(listing.guest.clone()), listing.state.clone()), caller.sees_contacts());
    let ticket = ticket.map(view);
    Ok(Json(ShownGuestView { guest: listing.into(), ticket, has_pass }))
}

/// A guest's history, newest first: who added and changed them, when their pass was first opened, and every scan of
/// their ticket.
#[utoipa::path(get, path = "/api/guests/{id}/timeline", tag = "organisers",
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["read_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "The whole history", body = List<MomentView>),
    (status = 404, description = "No such guest"),
))]
async fn timeline(
    State(state): State<AppState>,
    User(caller): User,
    Path(guest_id): Path<GuestId>,
) -> Result<Json<List<MomentView>>> {
    let moments = guests::timeline(&state.app, &caller, guest_id).await?;
    Ok(Json(List::whole(moments.into_iter().map(MomentView::from).collect())))
}

/// Changes a guest.
#[utoipa::path(patch, path = "/api/guests/{id}", tag = "organisers", request_body = GuestPatchRequest,
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "Changed", body = GuestView),
    (status = 404, description = "No such guest"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path(guest_id): Path<GuestId>,
    JsonBody(request): JsonBody<GuestPatchRequest>,
) -> Result<Json<GuestView>> {
    let patch = GuestPatch {
        name: request.name,
        email: request.email,
        phone: request.phone,
        party_size: request.party_size,
        note: request.note,
        flag: request.flag,
        fields: request.fields,
        external_id: request.external_id,
        guest_list_id: request.guest_list_id,
        ticket_status: request.ticket_status,
    };
    Ok(Json(guests::update(&state.app, &caller, guest_id, patch).await?.into()))
}

/// Sends a guest's pass again, at most once a minute.
///
/// If the pass still waits to be mailed, the server tries it at once, and the answer is its run. For a guest with
/// neither e-mail nor phone the server only makes the pass, and a member can share its link.
#[utoipa::path(post, path = "/api/guests/{id}/resend", tag = "organisers",
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 202, description = "The run that sends the pass", body = RunView),
    (status = 404, description = "No such guest"),
    (status = 409, description = "`code_of_another`: the guest's code was not made here; `ticket_not_active`; `event_over`"),
    (status = 429, description = "`rate_limited`: it was sent again less than a minute ago"),
))]
async fn resend(
    State(state): State<AppState>,
    User(caller): User,
    Path(guest_id): Path<GuestId>,
) -> Result<(StatusCode, Json<RunView>)> {
    Ok((StatusCode::ACCEPTED, Json(guests::resend(&state.app, &caller, guest_id).await?.into())))
}
