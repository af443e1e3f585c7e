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
    /// When their personal data was erased.
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

/// A guest, and where they stand.
#[derive(Serialize, ToSchema)]
pub(super) struct StandingGuestView {
    #[serde(flatten)]
    guest: GuestView,
    /// `pending`, `checked_in`, or after the event `no_show`: derived from the scans.
    status: &'static str,
    /// The status of their ticket: `active`, `used`, `voided` or `refunded`; absent without a ticket.
    ticket_status: Option<&'static str>,
    /// Persons let in.
    actual_count: u32,
    /// Persons inside now.
    inside: u32,
    /// The newest entry; none where nobody was let in.
    last_at: Option<Timestamp>,
    /// The name of its gate.
    last_gate: Option<String>,
    /// The number of the purchase their ticket belongs to.
    order_id: Option<String>,
    /// The name of their entry type.
    entry_type: Option<String>,
    /// The name of their guest list.
    guest_list: Option<String>,
    /// How the mail of their pass stands; none where they have their code from elsewhere.
    mail: Option<MailView>,
}

/// How the mail of a guest's pass stands.
#[derive(Serialize, ToSchema)]
struct MailView {
    /// `sent`, `waiting` (on its way, or to be tried again), or `not_sent`.
    state: &'static str,
    /// Why it waits, or was not sent, in plain words.
    why: Option<String>,
    /// Since when.
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

/// A new guest, and their ticket.
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

/// Guests by where they stand. All numbers but `persons` and `expected` count guests, each with their whole party.
#[derive(Serialize, ToSchema)]
struct GuestCountsView {
    all: u64,
    /// With somebody inside now.
    inside: u64,
    /// With nobody let in yet, while the event is not over and their ticket is good.
    to_come: u64,
    /// With somebody let in, ever.
    came: u64,
    /// With nobody let in, although their ticket was good and the event is over.
    no_show: u64,
    /// Guests whose ticket is voided or refunded.
    voided: u64,
    /// Guests whose newest pass was given up.
    mail_refused: u64,
    /// Guests whose newest pass is on its way.
    mail_waiting: u64,
    /// Persons: the sum of the guests' party sizes.
    persons: u64,
    /// Persons whom valid tickets admit. Without a search it is the event's own number, as in its overview and occupancy.
    expected: u64,
    /// By guest list, oldest first.
    lists: Vec<NamedCountView>,
    /// By entry type, in their order.
    entry_types: Vec<NamedCountView>,
}

/// Guests of a list or an entry type.
#[derive(Serialize, ToSchema)]
struct NamedCountView {
    id: String,
    name: String,
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

/// The fields to change; absent fields stay, null clears.
#[derive(Deserialize, ToSchema)]
struct GuestPatchRequest {
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    email: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    phone: Option<Option<String>>,
    /// Their ticket's limit follows.
    party_size: Option<u32>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    note: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    flag: Option<Option<String>>,
    /// By name: a value to set (at most 200 characters; the name at most 24), or null to take the field away. Others stay; a
    /// guest has at most 8.
    #[serde(default)]
    fields: BTreeMap<String, Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    external_id: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    guest_list_id: Option<Option<GuestListId>>,
    /// Of their ticket: `voided` admits nobody any more, `active` takes it back.
    ticket_status: Option<TicketStatus>,
}

/// Guests of an event; a promoter sees those of their own lists.
#[utoipa::path(get, path = "/api/events/{id}/guests", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
        ("limit" = Option<usize>, Query, description = "1–500, 50 by default", minimum = 1, maximum = 500),
        ("cursor" = Option<String>, Query),
        ("q" = Option<String>, Query, description = "Beginnings of words of the name, in any order; or the start of an e-mail, external id or order number; or a whole ticket code", max_length = 200),
        ("guest_list_id" = Option<String>, Query, description = "On this list"),
        ("entry_type_id" = Option<String>, Query, description = "Of this entry type"),
        ("state" = Option<String>, Query, description = "`inside`, `to_come`, `came`, `no_show` or `voided` (which includes refunded)"),
        ("mail" = Option<String>, Query, description = "By the newest pass: `refused` (given up), `waiting` or `sent`"),
        ("sort" = Option<String>, Query, description = "`name` (default, A to Z), `last` (newest entry first) or `added` (newest first)"),
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

/// Parses a query parameter that must be one of a few words. `words` lists them for the error; `None` without the
/// parameter.
fn one_of<T>(name: &str, text: Option<String>, read: fn(&str) -> Option<T>, words: &str) -> Result<Option<T>> {
    let unknown = || ApiError::field(name, format!("must be one of: {words}"));
    text.map(|text| read(&text).ok_or_else(unknown)).transpose()
}

/// How many guests stand where, of those that `q` finds; a promoter counts those of their own lists.
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

/// A guest, where they stand, and their ticket.
#[derive(Serialize, ToSchema)]
struct ShownGuestView {
    #[serde(flatten)]
    guest: StandingGuestView,
    ticket: Option<TicketView>,
    /// Their pass has a page; a code that was not made here has none. `POST /api/tickets/{id}/code` gives its address.
    has_pass: bool,
}

/// One moment of a guest's story.
#[derive(Serialize, ToSchema)]
pub(super) struct MomentView {
    at: Timestamp,
    /// `added`, `changed`, `received`, `row_deleted`, `resent`, `remade`, `opened`, `entered`, `refused`, `left`, `undone` or `erased`.
    ///
    /// `received` and `row_deleted` are of their row in the organiser's own table. `resent` is their pass, and `remade` the
    /// same where there was no address to send it to. `opened` is the first time that its page was looked at.
    what: &'static str,
    /// Of `changed`: which fields.
    fields: Vec<String>,
    /// Of `refused`: what the device said.
    outcome: Option<String>,
    /// A member's name, the operator at the door, or the webhook that told of it.
    by: Option<String>,
    /// The gate's name, of a scan.
    gate: Option<String>,
    /// The device's name, of a scan.
    device: Option<String>,
    /// Persons, of a scan.
    persons: u32,
    /// Staff picked the guest by name.
    by_hand: bool,
    /// Whether the server counts the scan.
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

/// A guest with their ticket; to a promoter only of their own lists.
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
    (status = 200, description = "All of it", body = List<MomentView>),
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

/// Sends a guest's pass again, once a minute at most; where it is on its way already, that run is the answer. For a guest without e-mail the pass is made, and its link can be shared.
#[utoipa::path(post, path = "/api/guests/{id}/resend", tag = "organisers",
    params(("id" = String, Path, description = "Guest")), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 202, description = "On its way: a run", body = RunView),
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
