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

/// A ticket with its holder and the sum of its scans.
///
/// The code is not included, because it admits whoever has it. `POST /api/tickets/{id}/code` shows it, and the audit
/// ledger records to whom.
#[derive(Serialize, ToSchema)]
pub(super) struct TicketView {
    id: String,
    event_id: String,
    /// The end of the ticket's code, at most four characters, to tell two tickets apart. Null for callers with
    /// read-only access, and if only the code's hash is stored.
    code_end: Option<String>,
    zone: String,
    /// The ids of the gates that admit the ticket. If empty, every gate that admits its zone.
    gate_ids: Vec<GateId>,
    /// Number of persons that the ticket admits.
    entry_limit: u32,
    /// `active`, `used`, `voided` or `refunded`. A person or an import sets it.
    status: TicketStatus,
    /// The time from which the ticket is valid. Null for always.
    valid_from: Option<Timestamp>,
    /// The time at which the ticket expires. Null for never.
    expires_at: Option<Timestamp>,
    /// The number of the order that the ticket belongs to. Tickets of one order share it. Null without one.
    order_id: Option<String>,
    /// The guest who holds the ticket. Null if nobody does.
    guest: Option<HolderView>,
    /// Whether the ticket let somebody in.
    scanned: bool,
    /// Number of scans that let somebody in.
    scan_count: usize,
    /// When the ticket last let somebody in. Null if it never did.
    scanned_at: Option<Timestamp>,
    /// The gate of that entry. Null if there was none.
    last_gate_id: Option<String>,
    /// Number of persons let in within the ticket's limit.
    entered: u32,
    /// Number of persons let in beyond the ticket's limit.
    over: u32,
    /// Number of persons inside now within the ticket's limit.
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
    /// The ticket's code as text. Null if the server only knows its hash.
    barcode: Option<String>,
    /// The hash of the code: `sha256:` and 64 hexadecimal digits.
    barcode_hash: Option<String>,
    /// The code as people read it out, such as `K7QF-2M9D`. It can be typed into a scanner. Null if the ticket has no
    /// code.
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

/// The code of a ticket, with the address of its pass.
#[derive(Serialize, ToSchema)]
struct ShownCodeView {
    #[serde(flatten)]
    code: CodeView,
    /// The address of the pass's page. Null if there is no pass yet, or Admit did not make the code.
    pass_url: Option<String>,
}

impl TicketView {
    /// A ticket as a list shows it. `shows_end` says whether the caller may see the end of its code.
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

/// The new tickets of a request. If there are more than [`TICKETS_PER_REQUEST`], reading stops there.
#[derive(Deserialize)]
struct Tickets(#[serde(deserialize_with = "tickets_to_be")] Vec<TicketRequest>);

fn tickets_to_be<'de, D: Deserializer<'de>>(source: D) -> std::result::Result<Vec<TicketRequest>, D::Error> {
    at_most(source, TICKETS_PER_REQUEST, "tickets")
}

/// The values of a new ticket.
#[derive(Deserialize, ToSchema)]
struct TicketRequest {
    /// The ticket's code, 1–512 bytes. If absent, the server makes a UUID v4.
    barcode: Option<String>,
    /// The ticket's zone. If absent, the zone of its entry type.
    zone: Option<String>,
    /// The ticket's entry type. If absent, the event's first type.
    entry_type_id: Option<EntryTypeId>,
    #[serde(default)]
    gate_ids: Option<Vec<GateId>>,
    /// Number of persons whom the ticket admits. If absent, the guest's party size, or 1 without a guest.
    entry_limit: Option<u32>,
    /// The ticket's status. `active` if absent.
    status: Option<TicketStatus>,
    /// The time from which the ticket is valid. Always if absent.
    valid_from: Option<Timestamp>,
    /// The time at which the ticket expires. Never if absent.
    expires_at: Option<Timestamp>,
    /// The number of the order that the ticket belongs to, at most 64 characters.
    order_id: Option<String>,
    /// The guest who holds the ticket. Nobody if absent.
    guest: Option<GuestRequest>,
}

/// The values of a new guest.
#[derive(Deserialize, ToSchema)]
pub(super) struct GuestRequest {
    name: String,
    email: Option<String>,
    phone: Option<String>,
    /// Number of persons of the guest's party. 1 if absent.
    party_size: Option<u32>,
    /// A note that staff see at the gate.
    note: Option<String>,
    /// A flag that staff see at the gate, such as `check ID`.
    flag: Option<String>,
    /// Other fields of the guest, by name, at most 8. A value has at most 200 characters, a name at most 24.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, String>)]
    fields: Fields,
    /// The organiser's own id of the guest.
    external_id: Option<String>,
    /// The guest's list. None if absent.
    guest_list_id: Option<GuestListId>,
    /// The entry type of the guest's ticket. If absent, the event's first type. Ignored if the guest is given as the
    /// holder of a new ticket, because the ticket has this field too.
    pub(super) entry_type_id: Option<EntryTypeId>,
    /// The order number of the guest's ticket, at most 64 characters. Ignored if the guest is given as the holder of a
    /// new ticket, because the ticket has this field too.
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

/// The new ticket, or all new tickets.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what `create` answers")]
enum NewTicketsView {
    One(Box<NewTicketView>),
    Many(Vec<NewTicketView>),
}

/// The fields to change. Absent fields keep their values.
#[derive(Deserialize, ToSchema)]
struct TicketPatchRequest {
    /// The new status: `active`, `used`, `voided` or `refunded`.
    status: Option<TicketStatus>,
    entry_limit: Option<u32>,
    gate_ids: Option<Vec<GateId>>,
    zone: Option<String>,
    /// The time from which the ticket is valid. Null for always.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_from: Option<Option<Timestamp>>,
    /// The time at which the ticket expires. Null for never.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Option<Timestamp>>,
    /// From when the changes hold: `now` (default) or `start`, as if the ticket always had these values.
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
        ("entered" = Option<bool>, Query, description = "`true`: only tickets with somebody let in; `false`: only tickets with nobody let in"),
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

/// Numbers of tickets by their state.
#[derive(Serialize, ToSchema)]
struct TicketCountsView {
    all: u64,
    /// Number of active tickets with nobody let in.
    to_come: u64,
    /// Number of tickets with somebody let in so far.
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

/// Numbers of tickets by their state, of those that `q` finds.
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

/// Makes one ticket, or several from an array of at most 10,000. If one is refused, none is made.
#[utoipa::path(post, path = "/api/events/{id}/tickets", tag = "organisers", request_body = TicketsRequest,
    params(("id" = String, Path, description = "Event")), extensions(("x-actions" = json!(["manage_guests", "manage_own_guests"]))), responses(
    (status = 201, description = "Made. The answer is one ticket, or an array if the request was one", body = NewTicketsView),
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

/// All tickets and guests as CSV. Importing the unchanged file again changes nothing.
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

/// Changes a ticket, from now on or from the start.
///
/// The server judges the ticket's scans again.
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

/// Shows a ticket's code and the address of its pass.
///
/// The code admits whoever has it, so the audit ledger records this as `ticket_code_shown`. A promoter may use it for
/// tickets of their own lists.
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
