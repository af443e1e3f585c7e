//! Routes of tickets: `/api/events/{id}/tickets` and `/api/tickets/{id}`.

use admit_app::guests;
use admit_app::records::{Fields, GuestRecord, TicketCounts, TicketRecord};
use admit_app::rules::HoldsFrom;
use admit_app::tickets::{self, Listing, NewGuest, NewTicket, TicketPatch};
use admit_core::ids::{EntryTypeId, EventId, GateId, GuestListId, TicketId};
use admit_core::limits::{BARCODE_BYTES, BODY_ENCODED_BYTES, TICKETS_PER_REQUEST};
use admit_core::pass;
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use admit_core::wire::bounded::at_most;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::shape::{List, flag, page, present, sought};
use crate::auth::user::User;
use crate::body::{self, JsonBody, Path, Query, RawJson};
use crate::error::{ApiError, Result};
use crate::state::AppState;

/// The routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(counts))
        .routes(routes!(export))
        .routes(routes!(show, update))
        .routes(routes!(show_code))
}

/// A ticket, its holder, and the sum of its scans. Its code admits a person who has it. So `POST
/// /api/tickets/{id}/code` shows it, and the ledger says to whom.
#[derive(Serialize, ToSchema)]
pub(super) struct TicketView {
    id: String,
    event_id: String,
    /// The end of its code, four characters at most, to tell two tickets apart. Absent for a caller who only looks,
    /// and where only the code's hash is kept.
    code_end: Option<String>,
    zone: String,
    /// Gates it admits at; empty = any whose zones hold its zone.
    gate_ids: Vec<GateId>,
    /// Number of persons that the ticket admits.
    entry_limit: u32,
    /// `active`, `used`, `voided` or `refunded`: set by people or import.
    status: TicketStatus,
    valid_from: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    /// The number of the purchase it belongs to; tickets of one order share it.
    order_id: Option<String>,
    guest: Option<HolderView>,
    /// Somebody was let in.
    scanned: bool,
    /// Scans that let somebody in.
    scan_count: usize,
    /// The last of them.
    scanned_at: Option<Timestamp>,
    last_gate_id: Option<String>,
    /// Persons let in within the limit.
    entered: u32,
    /// Persons let in beyond it.
    over: u32,
    /// Persons inside now, within the limit.
    inside: u32,
    created_at: Timestamp,
}

/// The guest who holds a ticket.
#[derive(Serialize, ToSchema)]
struct HolderView {
    id: String,
    name: String,
    email: Option<String>,
    phone: Option<String>,
    party_size: u32,
    note: Option<String>,
    flag: Option<String>,
    external_id: Option<String>,
    guest_list_id: Option<String>,
}

impl From<GuestRecord> for HolderView {
    fn from(one: GuestRecord) -> Self {
        Self {
            id: one.guest_id.to_string(),
            name: one.name,
            email: one.email,
            phone: one.phone,
            party_size: one.party_size,
            note: one.note,
            flag: one.flag,
            external_id: one.external_id,
            guest_list_id: one.guest_list_id.map(|id| id.to_string()),
        }
    }
}

/// The code and the link that admit the holder of a ticket.
#[derive(Serialize, ToSchema)]
pub(super) struct CodeView {
    /// Its code as text, where we may know it.
    barcode: Option<String>,
    /// `sha256:` and 64 digits.
    barcode_hash: Option<String>,
    /// Its code as people read it out, such as `K7QF-2M9D`: scanners take it typed.
    short_code: Option<String>,
}

impl From<&TicketRecord> for CodeView {
    fn from(ticket: &TicketRecord) -> Self {
        Self {
            barcode: ticket.barcode.clone(),
            barcode_hash: ticket.barcode_hashes.last().map(ToString::to_string),
            short_code: ticket.short_code(),
        }
    }
}

/// A ticket that was just made, with its code.
#[derive(Serialize, ToSchema)]
pub(super) struct NewTicketView {
    #[serde(flatten)]
    ticket: TicketView,
    #[serde(flatten)]
    code: CodeView,
}

impl NewTicketView {
    /// The view of a ticket that nobody has scanned yet.
    pub(super) fn of(ticket: TicketRecord, guest: Option<GuestRecord>) -> Self {
        Self { code: CodeView::from(&ticket), ticket: TicketView::of((ticket, guest, None), true) }
    }
}

/// A code that was asked for, and where its pass is.
#[derive(Serialize, ToSchema)]
struct ShownCodeView {
    #[serde(flatten)]
    code: CodeView,
    /// The page of its pass, once there is one; a code that was not made here has none.
    pass_url: Option<String>,
}

impl TicketView {
    /// A ticket as it is listed; `shows_end`: the caller may know the end of its code.
    pub(super) fn of((ticket, guest, state): Listing, shows_end: bool) -> Self {
        let state = state.map(|record| record.state).unwrap_or_default();
        let last = state.entries.last();
        Self {
            id: ticket.ticket_id.to_string(),
            event_id: ticket.event_id.to_string(),
            code_end: ticket.code_end().filter(|_| shows_end),
            zone: ticket.rules.zone,
            gate_ids: ticket.rules.gate_ids,
            entry_limit: ticket.rules.entry_limit,
            status: ticket.rules.status,
            valid_from: ticket.rules.valid_from,
            expires_at: ticket.rules.expires_at,
            order_id: ticket.order_id,
            guest: guest.map(HolderView::from),
            scanned: state.persons() > 0,
            scan_count: state.entries.len(),
            scanned_at: last.map(|entry| entry.at),
            last_gate_id: last.map(|entry| entry.gate_id.to_string()),
            entered: state.within,
            over: state.over,
            inside: state.inside_within,
            created_at: ticket.created_at,
        }
    }
}

/// Tickets to be, not all read where they are too many.
#[derive(Deserialize)]
struct Tickets(#[serde(deserialize_with = "tickets_to_be")] Vec<TicketRequest>);

fn tickets_to_be<'de, D: Deserializer<'de>>(source: D) -> std::result::Result<Vec<TicketRequest>, D::Error> {
    at_most(source, TICKETS_PER_REQUEST, "tickets")
}

/// A ticket to be.
#[derive(Deserialize, ToSchema)]
struct TicketRequest {
    /// 1–512 bytes; a fresh UUID v4 where absent.
    barcode: Option<String>,
    /// That of the entry type where absent.
    zone: Option<String>,
    /// The event's first where absent.
    entry_type_id: Option<EntryTypeId>,
    #[serde(default)]
    gate_ids: Option<Vec<GateId>>,
    /// The guest's party where absent, else 1.
    entry_limit: Option<u32>,
    /// `active` where absent.
    status: Option<TicketStatus>,
    valid_from: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    /// The number of the purchase it belongs to, at most 64 characters.
    order_id: Option<String>,
    guest: Option<GuestRequest>,
}

/// A guest to be.
#[derive(Deserialize, ToSchema)]
pub(super) struct GuestRequest {
    name: String,
    email: Option<String>,
    phone: Option<String>,
    /// Persons; 1 where absent.
    party_size: Option<u32>,
    /// Note for the door.
    note: Option<String>,
    /// Flag for the door, such as `check ID`.
    flag: Option<String>,
    /// Other fields kept of the guest, by name: at most 8 of at most 200 characters; a name has at most 24.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, String>)]
    fields: Fields,
    /// The organiser's own id.
    external_id: Option<String>,
    guest_list_id: Option<GuestListId>,
    /// The event's first where absent; not read inside a ticket, which has its own.
    pub(super) entry_type_id: Option<EntryTypeId>,
    /// The number of the purchase, at most 64 characters; not read inside a ticket, which has its own.
    pub(super) order_id: Option<String>,
}

impl From<GuestRequest> for NewGuest {
    fn from(one: GuestRequest) -> Self {
        Self {
            name: one.name,
            email: one.email,
            phone: one.phone,
            party_size: one.party_size,
            note: one.note,
            flag: one.flag,
            fields: one.fields,
            external_id: one.external_id,
            guest_list_id: one.guest_list_id,
        }
    }
}

impl From<TicketRequest> for NewTicket {
    fn from(one: TicketRequest) -> Self {
        Self {
            barcode: one.barcode,
            zone: one.zone,
            entry_type_id: one.entry_type_id,
            gate_ids: one.gate_ids.unwrap_or_default(),
            entry_limit: one.entry_limit,
            status: one.status,
            valid_from: one.valid_from,
            expires_at: one.expires_at,
            order_id: one.order_id,
            guest: one.guest.map(NewGuest::from),
        }
    }
}

/// One ticket or many.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what `create` reads; which of the two it is shows in the first byte")]
enum TicketsRequest {
    One(Box<TicketRequest>),
    Many(Vec<TicketRequest>),
}

/// The ticket made, or all of them.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what `create` answers")]
enum NewTicketsView {
    One(Box<NewTicketView>),
    Many(Vec<NewTicketView>),
}

/// The fields to change; absent fields stay.
#[derive(Deserialize, ToSchema)]
struct TicketPatchRequest {
    /// `active`, `used`, `voided` or `refunded`.
    status: Option<TicketStatus>,
    entry_limit: Option<u32>,
    gate_ids: Option<Vec<GateId>>,
    zone: Option<String>,
    /// Null for always.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_from: Option<Option<Timestamp>>,
    /// Null for ever.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Option<Timestamp>>,
    /// `now` (default) or `start`: from when the changes hold.
    effective: Option<String>,
}

/// The tickets to look for.
#[derive(Default, Deserialize)]
struct TicketQuery {
    limit: Option<usize>,
    cursor: Option<String>,
    q: Option<String>,
    status: Option<TicketStatus>,
    entered: Option<String>,
}

/// Tickets of an event, newest first.
#[utoipa::path(get, path = "/api/events/{id}/tickets", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
        ("limit" = Option<usize>, Query, description = "1–500, 50 by default", minimum = 1, maximum = 500),
        ("cursor" = Option<String>, Query),
        ("q" = Option<String>, Query, description = "Beginnings of words of a guest's name, in any order, or the start of an id, external id or order number, and unless you only look of a code; or a whole code, or its short code", max_length = 512),
        ("status" = Option<String>, Query, description = "`active`, `used`, `voided`, `refunded`"),
        ("entered" = Option<bool>, Query, description = "Only those with (or without) anybody let in"),
    ), extensions(("x-actions" = json!(["read_guests"]))), responses(
    (status = 200, description = "A page", body = List<TicketView>),
))]
async fn list(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<TicketQuery>,
) -> Result<Json<List<TicketView>>> {
    let entered = query.entered.as_deref().map(|text| flag("entered", Some(text))).transpose()?;
    let wanted = tickets::Wanted { text: sought(query.q, BARCODE_BYTES)?, status: query.status, entered };
    let listed = tickets::list(&state.app, &caller, event_id, wanted, page(query.limit, query.cursor)?).await?;
    Ok(Json(List::of(listed, |ticket| TicketView::of(ticket, caller.sees_contacts()))))
}

/// How many tickets stand where.
#[derive(Serialize, ToSchema)]
struct TicketCountsView {
    all: u64,
    /// Active, with nobody let in.
    to_come: u64,
    /// With somebody let in, ever.
    came: u64,
    voided: u64,
    refunded: u64,
}

impl From<TicketCounts> for TicketCountsView {
    fn from(one: TicketCounts) -> Self {
        let TicketCounts { all, to_come, came, voided, refunded } = one;
        Self { all, to_come, came, voided, refunded }
    }
}

/// The tickets to count.
#[derive(Default, Deserialize)]
struct CountQuery {
    q: Option<String>,
}

/// How many tickets stand where, of those that `q` finds.
#[utoipa::path(get, path = "/api/events/{id}/tickets/counts", tag = "organisers", params(
        ("id" = String, Path, description = "Event"),
        ("q" = Option<String>, Query, description = "As in the list of tickets", max_length = 512),
    ), extensions(("x-actions" = json!(["read_guests"]))), responses(
    (status = 200, description = "The counts", body = TicketCountsView),
))]
async fn counts(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    Query(query): Query<CountQuery>,
) -> Result<Json<TicketCountsView>> {
    let text = sought(query.q, BARCODE_BYTES)?;
    Ok(Json(tickets::count(&state.app, &caller, event_id, text).await?.into()))
}

/// Makes one ticket or many (an array, at most 10,000): all or none.
#[utoipa::path(post, path = "/api/events/{id}/tickets", tag = "organisers", request_body = TicketsRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 201, description = "Made: a ticket for one, an array for an array", body = NewTicketsView),
    (status = 409, description = "`barcode_taken`"),
))]
async fn create(
    State(state): State<AppState>,
    User(caller): User,
    Path(event_id): Path<EventId>,
    RawJson(bytes): RawJson,
) -> Result<Response> {
    body::no_larger(&bytes, BODY_ENCODED_BYTES)?;
    let many = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let view = |(ticket, guest): (TicketRecord, Option<GuestRecord>)| NewTicketView::of(ticket, guest);
    if many {
        let requests: Tickets = body::parse(&bytes)?;
        let new = requests.0.into_iter().map(NewTicket::from).collect();
        let made = tickets::create(&state.app, &caller, event_id, new).await?;
        let views: Vec<NewTicketView> = made.into_iter().map(view).collect();
        return Ok((StatusCode::CREATED, Json(views)).into_response());
    }
    let request: TicketRequest = body::parse(&bytes)?;
    let made = tickets::create_one(&state.app, &caller, event_id, request.into()).await?;
    Ok((StatusCode::CREATED, Json(view(made))).into_response())
}

/// All tickets and guests as CSV. Imported again it changes nothing.
#[utoipa::path(get, path = "/api/events/{id}/tickets/export", tag = "organisers",
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "The file", body = String, content_type = "text/csv"),
))]
async fn export(State(state): State<AppState>, User(caller): User, Path(event_id): Path<EventId>) -> Result<Response> {
    let file = tickets::export(&state.app, &caller, event_id).await?;
    let mut response = file.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"tickets.csv\""));
    Ok(response)
}

/// One ticket.
#[utoipa::path(get, path = "/api/tickets/{id}", tag = "organisers", params(("id" = String, Path, description = "Ticket")),
    extensions(("x-actions" = json!(["read_guests"]))), responses(
    (status = 200, description = "The ticket", body = TicketView),
    (status = 404, description = "No such ticket"),
))]
async fn show(
    State(state): State<AppState>,
    User(caller): User,
    Path(ticket_id): Path<TicketId>,
) -> Result<Json<TicketView>> {
    Ok(Json(TicketView::of(tickets::show(&state.app, &caller, ticket_id).await?, caller.sees_contacts())))
}

/// Changes a ticket, from now on or from the start; its scans are judged anew.
#[utoipa::path(patch, path = "/api/tickets/{id}", tag = "organisers", request_body = TicketPatchRequest,
    params(("id" = String, Path, description = "Ticket")), extensions(("x-actions" = json!(["manage_guests"]))), responses(
    (status = 200, description = "Changed", body = TicketView),
    (status = 404, description = "No such ticket"),
))]
async fn update(
    State(state): State<AppState>,
    User(caller): User,
    Path(ticket_id): Path<TicketId>,
    JsonBody(request): JsonBody<TicketPatchRequest>,
) -> Result<Json<TicketView>> {
    let effective = match request.effective.as_deref() {
        None | Some("now") => HoldsFrom::Now,
        Some("start") => HoldsFrom::Start,
        Some(_) => return Err(ApiError::field("effective", "must be now or start")),
    };
    let patch = TicketPatch {
        status: request.status,
        entry_limit: request.entry_limit,
        gate_ids: request.gate_ids,
        zone: request.zone,
        valid_from: request.valid_from,
        expires_at: request.expires_at,
        effective,
    };
    tickets::update(&state.app, &caller, ticket_id.clone(), patch).await?;
    Ok(Json(TicketView::of(tickets::show(&state.app, &caller, ticket_id).await?, caller.sees_contacts())))
}

/// Shows a ticket's code, and the page of its pass. A person who has the code can be let in: the ledger gets a line,
/// `ticket_code_shown`. A promoter sees those of their own lists.
#[utoipa::path(post, path = "/api/tickets/{id}/code", tag = "organisers", params(("id" = String, Path, description = "Ticket")),
    extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 200, description = "The code", body = ShownCodeView),
    (status = 404, description = "No such ticket"),
))]
async fn show_code(
    State(state): State<AppState>,
    User(caller): User,
    Path(ticket_id): Path<TicketId>,
) -> Result<Json<ShownCodeView>> {
    let shown = guests::show_code(&state.app, &caller, ticket_id).await?;
    let pass_url = shown.pass.zip(state.passes.public_url.as_deref()).map(|(token, base)| pass::url(base, &token));
    Ok(Json(ShownCodeView { code: CodeView::from(&shown.ticket), pass_url }))
}
