//! A transaction, in one trait per noun. It is bound to its organisation from the start. So no method takes an
//! organisation, and rows of other organisations cannot be seen.
//!
//! An insert that breaks a unique key returns [`crate::error::Error::Conflict`]. The method's documentation names its
//! code, such as `email_taken`.

use std::collections::{BTreeMap, BTreeSet};

use admit_core::barcode::BarcodeHash;
use admit_core::ids::{
    BatchId, DeviceId, EntryTypeId, EventId, GateId, GuestId, IncidentId, KeyId, LogId, OrganizationId, ScanId,
    TicketId, UserId,
};
use admit_core::occupancy::{Occupancy, Recount};
use admit_core::reduce::{Resolved, ScanVerdict};
use admit_core::review::Review;
use admit_core::rule::{Epochs, Rule};
use admit_core::scan::Digest;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::Named;

use super::filters::{GuestFilter, GuestSort, IncidentFilter, RunFilter, ScanFilter, Sought, TicketFilter};
use super::prefetch::Prefetch;
use crate::error::Result;
use crate::records::{
    ApiTokenRecord, AuditRecord, BatchRecord, CredentialRecord, DecisionRecord, DeviceHealth, DeviceKeyRecord,
    DeviceRecord, EntryTypeRecord, EventFigures, EventRecord, GuestCount, GuestListRecord, GuestRecord, Head,
    ImportRecord, IncidentRecord, LedgerEnd, LetterheadRecord, Listed, LoadedRules, LogRecord, MailKind,
    MailTemplateRecord, MemberRecord, MinuteFlow, NewAudit, NewDelivery, NewScan, OrganizationRecord, Page,
    PairingTokenRecord, RejectedRecord, ResolvedCode, Role, RunRecord, ScanRow, Stamp, StateRecord, StepRecord,
    StoredId, TicketCounts, TicketRecord, UnsentPasses, UserRecord, WaitingScan, WebhookEndpointRecord,
    WebhookMessageRecord, WebhookRowRecord,
};

/// Organisations, users, members and secrets.
pub trait TxAccounts {
    /// The organisation of this transaction.
    fn organization(&mut self) -> Result<OrganizationRecord>;
    /// How the organisation's mails look.
    fn letterhead(&mut self) -> Result<LetterheadRecord>;
    /// Overwrites how the organisation's mails look.
    fn put_letterhead(&mut self, letterhead: &LetterheadRecord) -> Result<()>;
    /// The organisation's own templates of a kind of mail; empty texts if it wrote none.
    fn mail_template(&mut self, kind: MailKind) -> Result<MailTemplateRecord>;
    /// Overwrites the organisation's own templates of a kind of mail.
    fn put_mail_template(&mut self, kind: MailKind, template: &MailTemplateRecord) -> Result<()>;
    /// Locks the organisation until the end of this write. If two writes check something and then change it, the second
    /// one sees the change of the first one. Use it for checks that no constraint of the database makes.
    fn hold_organization(&mut self) -> Result<()>;
    /// Creates a user and the membership. Fails with `email_taken` if another user has the address.
    fn insert_member(&mut self, user: &UserRecord, role: Role) -> Result<()>;
    /// Sets a user's password, and ends all of the user's sessions, in other organisations too. So a person who knew
    /// the old password loses access.
    fn set_password(&mut self, user_id: &UserId, password_hash: &str) -> Result<()>;
    /// The hash of a member's present password. `None` if there is no such member.
    fn password_hash(&mut self, user_id: &UserId) -> Result<Option<String>>;
    /// Members, oldest first.
    fn members(&mut self) -> Result<Vec<MemberRecord>>;
    /// One member. `None` if the user is no member.
    fn member(&mut self, user_id: &UserId) -> Result<Option<MemberRecord>>;
    /// Sets a member's role.
    fn set_member_role(&mut self, user_id: &UserId, role: Role) -> Result<()>;
    /// Ends a membership, with all of its sessions and API tokens in this organisation.
    fn remove_member(&mut self, user_id: &UserId) -> Result<()>;
    /// Stores what a secret gives access to.
    fn insert_credential(&mut self, credential: &CredentialRecord) -> Result<()>;
    /// Stores which ticket's pass a token gives access to, unless that is stored already. A guest has one pass, however
    /// often it is made. Returns `false` if the token belongs to something else, because it came from another event or
    /// another system.
    fn keep_pass(&mut self, credential: &CredentialRecord) -> Result<bool>;
    /// Deletes a secret.
    fn delete_credential(&mut self, token_hash: &[u8; 32]) -> Result<()>;
    /// Stores an API token's description.
    fn insert_api_token(&mut self, token: &ApiTokenRecord) -> Result<()>;
    /// API tokens, newest first.
    fn api_tokens(&mut self) -> Result<Vec<ApiTokenRecord>>;
    /// The API token whose text has this SHA-256.
    fn api_token(&mut self, token_hash: &[u8; 32]) -> Result<Option<ApiTokenRecord>>;
    /// Marks an API token as revoked, and deletes its secret.
    fn revoke_api_token(&mut self, api_token_id: &str, at: Timestamp) -> Result<()>;
}

/// Events and their order of changes.
pub trait TxEvents {
    /// Creates an event and its head. Fails with `event_exists` if the id is taken.
    fn insert_event(&mut self, event: &EventRecord) -> Result<()>;
    /// One event.
    fn event(&mut self, event_id: &EventId) -> Result<Option<EventRecord>>;
    /// Events, newest first.
    fn events(&mut self, page: &Page) -> Result<Listed<EventRecord>>;
    /// The figures that a list of events shows, such as the persons let in, in order of the event's id. An event
    /// without tickets or scans has zeros.
    fn event_figures(&mut self, event_ids: &[EventId]) -> Result<Vec<EventFigures>>;
    /// Overwrites the newest values of an event (its rules hold the history).
    fn update_event(&mut self, event: &EventRecord) -> Result<()>;
    /// The event's head as this transaction sees it. It includes this write's own serial once the write has one.
    fn head(&mut self, event_id: &EventId) -> Result<Head>;
    /// Gives this write its serial in the event, once per transaction and event. Later calls return the same stamp. The
    /// event must be in the [`crate::ports::Scope`].
    fn stamp(&mut self, event_id: &EventId) -> Result<Stamp>;
    /// Stores rules. Their serial must be that of this write's stamp.
    fn insert_rules(&mut self, event_id: &EventId, rules: &[Rule]) -> Result<()>;
    /// The rules that `reduce` needs for these tickets: those of the event, its gates and devices, and of the tickets.
    fn load_rules(&mut self, event_id: &EventId, tickets: &[TicketId]) -> Result<LoadedRules>;
    /// The epochs of the event's ledger, without the rules that [`Self::load_rules`] loads too. Every request of a
    /// device needs the epochs.
    fn epochs(&mut self, event_id: &EventId) -> Result<Epochs>;
    /// All assignments of a device so far, over all events, in no order. They are rules of the kind
    /// [`admit_core::rule::DeviceChange::Assignment`].
    fn assignments(&mut self, device_id: &DeviceId) -> Result<Vec<Rule>>;
    /// The serial of the last rule change in the event, which is the version of its list.
    fn rules_serial(&mut self, event_id: &EventId) -> Result<u64>;
    /// The serial of the last rule change of the event itself, its gates or its devices (not its tickets).
    fn event_rules_serial(&mut self, event_id: &EventId) -> Result<u64>;
    /// The reducer version that made this event's derived rows.
    fn reducer_version(&mut self, event_id: &EventId) -> Result<u32>;
    /// Stores the reducer version that made this event's derived rows.
    fn set_reducer_version(&mut self, event_id: &EventId, version: u32) -> Result<()>;
    /// Adds a line to the ledger of the event (or of the organisation), chained to the line before. Stores the new
    /// head.
    fn append_audit(&mut self, line: NewAudit) -> Result<()>;
    /// Lines of a ledger, newest first. If `action` is given, the page has only lines of that action.
    fn audit(&mut self, event_id: Option<&EventId>, action: Option<&str>, page: &Page) -> Result<Listed<AuditRecord>>;
    /// Lines of an event's ledger about one guest, ticket or guest list (`entity_type`, `entity_id`), newest first.
    fn audit_of(&mut self, event_id: &EventId, entity: (&str, &str), limit: usize) -> Result<Vec<AuditRecord>>;
    /// Lines of a ledger from place `from` on, oldest first, for verification.
    fn audit_from(&mut self, event_id: Option<&EventId>, from: u64, limit: usize) -> Result<Vec<AuditRecord>>;
    /// The end of the organisation's own ledger.
    fn organization_ledger_end(&mut self) -> Result<LedgerEnd>;
    /// The newest line with this action in the organisation's own ledger.
    fn newest_audit(&mut self, action: &'static str) -> Result<Option<AuditRecord>>;
    /// The ends of those event ledgers that were written to since `since`, in order of id.
    fn event_ledger_ends(&mut self, since: Timestamp) -> Result<Vec<(EventId, LedgerEnd)>>;
    /// The hash at the end of the event's ledger after serial `serial`. A witness of that serial must contain this
    /// hash. `None` if there was no such serial.
    fn audit_head_at(&mut self, event_id: &EventId, serial: u64) -> Result<Option<[u8; 32]>>;
}

/// Gates, entry types and guest lists.
pub trait TxGates {
    /// Creates a gate. The gate's name, zones and so on are in its rules. Fails with `gate_exists` if the event has a
    /// gate of this id.
    fn insert_gate(&mut self, event_id: &EventId, gate_id: &GateId, created_at: Timestamp) -> Result<()>;
    /// Removes a gate. Its rules stay, because they are facts.
    fn delete_gate(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<()>;
    /// Number of tickets of an event whose `gate_ids` include this gate.
    fn count_tickets_of_gate(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<u64>;
    /// Whether any scan at this gate counts or was refused.
    fn gate_has_flow(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<bool>;
    /// Gate ids in order. Their values come from [`TxEvents::load_rules`].
    fn gate_ids(&mut self, event_id: &EventId) -> Result<Vec<GateId>>;
    /// Creates an entry type. Fails with `entry_type_exists` if the event has one of this name.
    fn insert_entry_type(&mut self, entry_type: &EntryTypeRecord) -> Result<()>;
    /// Renames an entry type. Fails with `entry_type_exists` if the event has another of this name.
    fn rename_entry_type(&mut self, entry_type_id: &EntryTypeId, name: &str) -> Result<()>;
    /// The event's entry types, by position.
    fn entry_types(&mut self, event_id: &EventId) -> Result<Vec<EntryTypeRecord>>;
    /// Creates a guest list. Fails with `guest_list_exists` if the event has one of this name.
    fn insert_guest_list(&mut self, list: &GuestListRecord) -> Result<()>;
    /// Overwrites a guest list's name and promoter. Fails with `guest_list_exists` if the event has another of this
    /// name.
    fn update_guest_list(&mut self, list: &GuestListRecord) -> Result<()>;
    /// Guest lists, oldest first.
    fn guest_lists(&mut self, event_id: &EventId) -> Result<Vec<GuestListRecord>>;
}

/// Tickets, their codes and their guests.
pub trait TxTickets {
    /// Creates tickets with their codes. Fails with `barcode_taken` if a code was ever given to another ticket of the
    /// event, and with `ticket_exists` if a ticket id is taken.
    fn insert_tickets(&mut self, tickets: &[TicketRecord]) -> Result<()>;
    /// Overwrites the newest values of tickets. Their rules hold the history.
    fn update_tickets(&mut self, tickets: &[TicketRecord]) -> Result<()>;
    /// One ticket of any event of the organisation. `None` if there is none.
    fn ticket(&mut self, ticket_id: &TicketId) -> Result<Option<TicketRecord>>;
    /// Several tickets of one event, in order of id. Those that don't exist are left out.
    fn tickets_by_id(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<Vec<TicketRecord>>;
    /// A page of tickets, with their guests and states.
    #[allow(clippy::type_complexity, reason = "one row of a list, named by its parts")]
    fn tickets(
        &mut self,
        event_id: &EventId,
        filter: &TicketFilter,
        page: &Page,
    ) -> Result<Listed<(TicketRecord, Option<GuestRecord>, Option<StateRecord>)>>;
    /// Numbers of the tickets that a text finds, by the same match as in a page of tickets. Without a text, numbers of
    /// all tickets.
    fn count_found_tickets(&mut self, event_id: &EventId, text: Option<&Sought>) -> Result<TicketCounts>;
    /// The tickets that ever had these codes.
    fn find_codes(&mut self, event_id: &EventId, hashes: &[BarcodeHash]) -> Result<Vec<(BarcodeHash, TicketId)>>;
    /// Like [`TxTickets::find_codes`], with whether each ticket has a stored state.
    fn resolve_codes(&mut self, event_id: &EventId, hashes: &[BarcodeHash]) -> Result<Vec<ResolvedCode>>;
    /// Every code with its ticket's newest values, in order of hash. A list is built from these.
    fn manifest_rows(&mut self, event_id: &EventId) -> Result<Vec<(BarcodeHash, TicketRecord)>>;
    /// Like [`Self::manifest_rows`], but only rows of tickets whose rules or codes changed after a version. A delta is
    /// built from these.
    fn manifest_rows_since(&mut self, event_id: &EventId, version: u64) -> Result<Vec<(BarcodeHash, TicketRecord)>>;
    /// Number of tickets, and number of persons admitted by those that are neither voided nor refunded.
    fn count_tickets(&mut self, event_id: &EventId) -> Result<(u64, u64)>;
    /// Tickets by import key. Those that don't exist are left out.
    fn tickets_by_import_key(&mut self, event_id: &EventId, keys: &[String]) -> Result<Vec<TicketRecord>>;
    /// Creates guests. Takes the write's serial in the event.
    fn insert_guests(&mut self, guests: &[GuestRecord]) -> Result<()>;
    /// Overwrites guests. Takes the write's serial in the event.
    fn update_guests(&mut self, guests: &[GuestRecord]) -> Result<()>;
}

/// Guests, and what lists say of them.
pub trait TxGuests {
    /// Guests by id. Those that don't exist are left out.
    fn guests_by_id(&mut self, guest_ids: &[GuestId]) -> Result<Vec<GuestRecord>>;
    /// The serial of the last change of a guest of the event. 0 if there is none.
    fn names_serial(&mut self, event_id: &EventId) -> Result<u64>;
    /// Guests that have a ticket and changed after a serial (0 means all), in order of ticket. The names that devices
    /// fetch are built from these.
    fn names_since(&mut self, event_id: &EventId, serial: u64) -> Result<Vec<GuestRecord>>;
    /// A page of guests, with the states of their tickets.
    fn guests(
        &mut self,
        event_id: &EventId,
        filter: &GuestFilter,
        sort: GuestSort,
        page: &Page,
    ) -> Result<Listed<(GuestRecord, Option<StateRecord>)>>;
    /// Guests that a text finds, counted by guest list and entry type, in order of these ids. Without a text all guests
    /// are counted. If a promoter is named, only guests on that promoter's lists are counted.
    fn count_guests(
        &mut self,
        event_id: &EventId,
        text: Option<&Sought>,
        promoter_id: Option<&UserId>,
    ) -> Result<Vec<GuestCount>>;
    /// Among the guests that [`Self::count_guests`] counts, the number of those whose newest pass was not delivered
    /// yet.
    fn count_unsent_passes(
        &mut self,
        event_id: &EventId,
        text: Option<&Sought>,
        promoter_id: Option<&UserId>,
    ) -> Result<UnsentPasses>;
    /// Number of guests whose newest pass was mailed.
    fn count_sent_passes(&mut self, event_id: &EventId) -> Result<u64>;
}

/// Imports of files, and the mappings that are remembered.
pub trait TxImports {
    /// Stores an import.
    fn insert_import(&mut self, import: &ImportRecord) -> Result<()>;
    /// Overwrites when an import was undone.
    fn update_import(&mut self, import: &ImportRecord) -> Result<()>;
    /// One import of an event.
    fn import(&mut self, event_id: &EventId, import_id: &str) -> Result<Option<ImportRecord>>;
    /// The newest imports of an event, newest first, without the data that undoing them needs.
    fn imports(&mut self, event_id: &EventId) -> Result<Vec<ImportRecord>>;
    /// The last mapping that a person chose for a file of this shape (the same header), as it was written. `None` if
    /// there is none.
    fn import_mapping(&mut self, event_id: &EventId, shape: &str) -> Result<Option<String>>;
    /// Stores the mapping for files of this shape.
    fn put_import_mapping(&mut self, event_id: &EventId, shape: &str, mapping: &str, at: Timestamp) -> Result<()>;
    /// Withdraws tickets: removes them and their guests from every list and count.
    fn withdraw_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<()>;
    /// Takes the withdrawal of tickets back.
    fn restore_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<()>;
    /// Those of these tickets that are withdrawn.
    fn withdrawn_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<Vec<TicketId>>;
}

/// Names of guests whom staff added at a door.
pub trait TxWalkIns {
    /// Stores the names of guests added at a door, by the tickets that the server made from their scans. If a ticket
    /// has a name already, that name stays.
    fn put_walk_in_names(&mut self, event_id: &EventId, names: &[(TicketId, Named)]) -> Result<()>;
    /// The name that came with the scan from which a ticket was made. `None` if there is none.
    fn walk_in_name(&mut self, event_id: &EventId, ticket_id: &TicketId) -> Result<Option<Named>>;
}

/// Erasing of guests' personal data.
pub trait TxErasure {
    /// Deletes what is stored about guests outside their rows: names that came with scans, and the keys by which files
    /// and orders find their tickets. Also deletes the steps and problem texts of the runs that mailed them, and the
    /// last values that webhooks sent of their rows.
    fn forget_guests(&mut self, event_id: &EventId, guests: &[GuestRecord], at: Timestamp) -> Result<()>;
    /// Guests of an event whose personal data is not erased, oldest first.
    fn unerased_guests(&mut self, event_id: &EventId, limit: usize) -> Result<Vec<GuestRecord>>;
    /// Events that ended longer ago than the organiser's retention time, and have guests whose data is not erased.
    fn events_past_retention(&mut self, now: Timestamp) -> Result<Vec<EventId>>;
    /// The serial of the last change of a guest whose data was erased. 0 if there is none.
    fn erased_serial(&mut self, event_id: &EventId) -> Result<u64>;
    /// Imports of an event, with the data that undoing them needs.
    fn imports_with_kept(&mut self, event_id: &EventId) -> Result<Vec<ImportRecord>>;
    /// Overwrites the data that undoing an import needs.
    fn put_kept(&mut self, import: &ImportRecord) -> Result<()>;
}

/// Scans, and the results that follow from them.
pub trait TxScans {
    /// Every fact of these subjects with its deliveries merged, each with its subject. Also every other content under
    /// the same (device, scan id), whatever subject that content belongs to.
    fn facts(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<Resolved>>;
    /// Stores reviews.
    fn insert_reviews(
        &mut self,
        event_id: &EventId,
        user_id: &UserId,
        note: &str,
        at: Timestamp,
        reviews: &[Review],
    ) -> Result<()>;
    /// The reviews of these subjects' scans.
    fn reviews(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<Review>>;
    /// The same reviews, with who decided, when and why, in the event's order.
    fn decisions(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<DecisionRecord>>;
    /// The stored verdicts of a subject, in the reducer's order.
    fn verdicts(&mut self, event_id: &EventId, subject: &str) -> Result<Vec<ScanVerdict>>;
    /// A page of scans with their verdicts, ordered by arrival, newest first.
    fn scans(&mut self, event_id: &EventId, filter: &ScanFilter, page: &Page) -> Result<Listed<ScanRow>>;
    /// Tickets that changed after `after` (serial, ticket id), each with the serial of its last change, oldest change
    /// first. A ticket changes by scans, and by rules with a serial above `rules_after`. The `changes` request uses it.
    fn changed_tickets(
        &mut self,
        event_id: &EventId,
        after: (u64, Option<&TicketId>),
        rules_after: u64,
        limit: usize,
    ) -> Result<Vec<(TicketRecord, u64)>>;
}

/// States that the reducer computed from scans, and the counters that follow from these states.
pub trait TxStates {
    /// Subjects with a scan whose canonical time lies outside `[from, to]`, or inside it if `inside` is set.
    fn subjects_by_time(
        &mut self,
        event_id: &EventId,
        from: Timestamp,
        to: Timestamp,
        inside: bool,
    ) -> Result<Vec<String>>;
    /// Number of subjects (tickets and unknown codes) that have a scan whose canonical time lies before a moment.
    fn count_subjects_before(&mut self, event_id: &EventId, before: Timestamp) -> Result<u64>;
    /// The stored states of these subjects. Subjects without one are left out.
    fn states(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<StateRecord>>;
    /// The stored states of these subjects, each with its verdicts in the reducer's order.
    fn judged_states(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
    ) -> Result<Vec<(StateRecord, Vec<ScanVerdict>)>>;
    /// The keys of all subjects of the event with a stored state, in order, for `rebuild`. Subjects whose state has no
    /// scans are among them.
    fn subjects_with_states(&mut self, event_id: &EventId) -> Result<Vec<String>>;
    /// Replaces states and verdicts. A state without scans counts as absent, except for [`TxScans::changed_tickets`].
    /// No state may have a lower serial than a state of the event that is stored already, because the newest state of a
    /// subject is the valid one.
    fn put_states(&mut self, event_id: &EventId, states: &[(StateRecord, Vec<ScanVerdict>)]) -> Result<()>;
    /// Like [`TxStates::put_states`], for subjects that had neither a state nor verdicts. The store has no rows about
    /// waiting scans of such subjects, so it deletes none. A scan waits if it counts only once a person accepts it.
    fn insert_states(&mut self, event_id: &EventId, states: &[(StateRecord, Vec<ScanVerdict>)]) -> Result<()>;
    /// Deletes every state that a write before this serial stored. Only `rebuild` calls it, after it stored all states
    /// anew.
    fn delete_states_before(&mut self, event_id: &EventId, serial: u64) -> Result<()>;
    /// Adds to the event's counters.
    fn add_occupancy(&mut self, event_id: &EventId, delta: &Occupancy, serial: u64) -> Result<()>;
    /// The event's counters.
    fn occupancy(&mut self, event_id: &EventId) -> Result<Occupancy>;
    /// Overwrites the event's counters. Only `rebuild` calls it.
    fn set_occupancy(&mut self, event_id: &EventId, occupancy: &Occupancy, serial: u64) -> Result<()>;
    /// Persons by gate and minute, from the minute of `since` on. Minutes in which nothing happened are left out.
    fn flow(&mut self, event_id: &EventId, since: Timestamp) -> Result<Vec<MinuteFlow>>;
    /// Adds to the event's flow. `delta` has each gate's minute at most once.
    fn add_flow(&mut self, event_id: &EventId, delta: &[MinuteFlow]) -> Result<()>;
    /// Overwrites the event's flow. Only `rebuild` calls it.
    fn set_flow(&mut self, event_id: &EventId, flow: &[MinuteFlow]) -> Result<()>;
    /// The recounts of an event that count, in order of subject.
    fn recounts(&mut self, event_id: &EventId) -> Result<Vec<(String, Recount)>>;
    /// Overwrites the recounts of these subjects. A subject with an empty list keeps none.
    fn put_recounts(&mut self, event_id: &EventId, recounts: &[(String, Vec<Recount>)]) -> Result<()>;
    /// Deletes the recounts of an event. Only `rebuild` calls it.
    fn clear_recounts(&mut self, event_id: &EventId) -> Result<()>;
}

/// Scans as facts.
pub trait TxFacts {
    /// The scans of an event stored under these ids, by any device, with all contents. Ordered by scan id, device and
    /// digest, each with the best proof of all its deliveries.
    fn stored_ids(&mut self, event_id: &EventId, scan_ids: &[ScanId]) -> Result<Vec<StoredId>>;
    /// Stores scans. They are facts, and never changed later.
    fn insert_scans(&mut self, scans: &[NewScan]) -> Result<()>;
    /// Stores what later deliveries prove.
    fn insert_deliveries(&mut self, deliveries: &[NewDelivery]) -> Result<()>;
    /// All subjects of the event that have scans. A scan belongs to the ticket that has its code now, even if the
    /// ticket got the code after the scan.
    fn subjects_with_scans(&mut self, event_id: &EventId) -> Result<Vec<String>>;
    /// Subjects that have scans of one device.
    fn subjects_of_device(&mut self, event_id: &EventId, device_id: &DeviceId) -> Result<Vec<String>>;
}

/// Incidents of the review queue.
pub trait TxIncidents {
    /// The incidents of these subjects.
    fn incidents_of(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<IncidentRecord>>;
    /// Creates or overwrites incidents. They are unique per (event, subject, kind).
    fn put_incidents(&mut self, incidents: &[IncidentRecord]) -> Result<()>;
    /// One incident of any event. `None` if there is none.
    fn incident(&mut self, incident_id: &IncidentId) -> Result<Option<IncidentRecord>>;
    /// A page of incidents, newest first by when they were opened. Decided ones are ordered by when they were decided.
    fn incidents(&mut self, event_id: &EventId, filter: IncidentFilter, page: &Page) -> Result<Listed<IncidentRecord>>;
    /// Every incident of an event, for `rebuild --check`.
    fn all_incidents(&mut self, event_id: &EventId) -> Result<Vec<IncidentRecord>>;
    /// Number of incidents in the review queue that a person answered and that are not open again.
    fn count_decided_incidents(&mut self, event_id: &EventId) -> Result<u64>;
    /// Number of open incidents, by kind.
    fn count_open_incidents(&mut self, event_id: &EventId) -> Result<Vec<(admit_core::incident::IncidentKind, u64)>>;
}

/// Devices, keys, pairing, logs and batches.
pub trait TxDevices {
    /// Creates a device.
    fn insert_device(&mut self, device: &DeviceRecord) -> Result<()>;
    /// Overwrites a device, except its health.
    fn update_device(&mut self, device: &DeviceRecord) -> Result<()>;
    /// Overwrites a device's health.
    fn put_health(&mut self, device_id: &DeviceId, health: &DeviceHealth) -> Result<()>;
    /// Stores when the server heard of a device. This write must have read the device before, because reading it locks
    /// the device's row.
    fn note_seen(&mut self, device_id: &DeviceId, at: Timestamp) -> Result<()>;
    /// One device. `None` if there is none.
    fn device(&mut self, device_id: &DeviceId) -> Result<Option<DeviceRecord>>;
    /// Devices of an event, oldest first.
    fn devices(&mut self, event_id: &EventId) -> Result<Vec<DeviceRecord>>;
    /// Creates a key and what its secret gives access to.
    fn insert_device_key(&mut self, key: &DeviceKeyRecord) -> Result<()>;
    /// Overwrites a key's times. A revoked key's secret still identifies its device, which is then told that it is
    /// revoked.
    fn update_device_key(&mut self, key: &DeviceKeyRecord) -> Result<()>;
    /// Keys of a device, oldest first.
    fn device_keys(&mut self, device_id: &DeviceId) -> Result<Vec<DeviceKeyRecord>>;
    /// One key by its id. `None` if there is none.
    fn device_key(&mut self, key_id: &KeyId) -> Result<Option<DeviceKeyRecord>>;
    /// Creates a pairing token and what it gives access to.
    fn insert_pairing_token(&mut self, token: &PairingTokenRecord) -> Result<()>;
    /// A pairing token, locked against use in another transaction. `None` if there is none.
    fn pairing_token(&mut self, token_hash: &[u8; 32]) -> Result<Option<PairingTokenRecord>>;
    /// Overwrites who used a pairing token.
    fn update_pairing_token(&mut self, token: &PairingTokenRecord) -> Result<()>;
    /// A device's scans in an event that count nothing until a person accepts them, oldest arrival first.
    fn waiting_scans(&mut self, event_id: &EventId, device_id: &DeviceId) -> Result<Vec<WaitingScan>>;
    /// Number of waiting scans per device of the organisation, in all events. Devices without any are left out.
    fn count_waiting(&mut self) -> Result<BTreeMap<DeviceId, u64>>;
}

/// Scans that count nothing until a person accepts them.
pub trait TxWaiting {
    /// Deletes the record of which scans of an event wait. Only `rebuild` calls it, and then finds the waiting scans
    /// again.
    fn clear_waiting(&mut self, event_id: &EventId) -> Result<()>;
    /// All waiting scans of an event, each with its device, for `rebuild --check`.
    fn all_waiting_scans(&mut self, event_id: &EventId) -> Result<Vec<(DeviceId, WaitingScan)>>;
}

/// Logs of devices, batches that they sent, and items that were refused.
pub trait TxBatches {
    /// One log of a device. `None` if there is none.
    fn log(&mut self, device_id: &DeviceId, log_id: &LogId) -> Result<Option<LogRecord>>;
    /// The logs of an event's devices.
    fn logs(&mut self, event_id: &EventId) -> Result<Vec<LogRecord>>;
    /// Creates or overwrites a log.
    fn put_log(&mut self, log: &LogRecord) -> Result<()>;
    /// The digests of the contents that are stored at these places of a log. Each of `seqs` has an entry, which is empty
    /// if nothing is stored there.
    fn contents_at(
        &mut self,
        device_id: &DeviceId,
        log_id: &LogId,
        seqs: &[u64],
    ) -> Result<BTreeMap<u64, BTreeSet<Digest>>>;
    /// One batch. `None` if there is none.
    fn batch(&mut self, device_id: &DeviceId, endpoint: &str, batch_id: &BatchId) -> Result<Option<BatchRecord>>;
    /// At most `limit` batches of an event after a serial, in order of serials. If a device is named, only its batches.
    /// Scans that a device asked about online are not among them.
    fn batches_after(
        &mut self,
        event_id: &EventId,
        device_id: Option<&DeviceId>,
        serial: u64,
        limit: usize,
    ) -> Result<Vec<BatchRecord>>;
    /// Stores a batch. Fails with `batch_exists` if the batch is stored already.
    fn insert_batch(&mut self, batch: &BatchRecord) -> Result<()>;
    /// Stores items that were refused and will not be taken later.
    fn insert_rejected(&mut self, event_id: &EventId, items: &[RejectedRecord]) -> Result<()>;
    /// Returns those of the refused items `bodies` that are stored already for the device, in any event.
    fn rejected_bodies(&mut self, device_id: &DeviceId, bodies: &[String]) -> Result<Vec<String>>;
    /// Number of withheld scans of a device, and of its items that nobody could read.
    fn count_quarantined(&mut self, device_id: &DeviceId) -> Result<u64>;
}

/// Runs of workflows and their steps. A run under way belongs to the worker that took it last. Each time a worker takes
/// a run, the run gets a higher number, its fence. A worker may store a step only under the fence that it got.
pub trait TxJobs {
    /// Creates runs that are due at once. A worker can take them once this transaction is committed, and never if it is
    /// not.
    fn insert_runs(&mut self, runs: &[RunRecord]) -> Result<()>;
    /// One run. `None` if there is none.
    fn run(&mut self, run_id: &str) -> Result<Option<RunRecord>>;
    /// A page of runs, newest first.
    fn runs(&mut self, filter: &RunFilter, page: &Page) -> Result<Listed<RunRecord>>;
    /// The subjects of all runs of a kind in an event, each once, sorted. If `among` is given, only subjects in it.
    fn run_subjects(&mut self, event_id: &EventId, kind: &str, among: Option<&[String]>) -> Result<Vec<String>>;
    /// The newest run of a kind about each of these subjects. Subjects without a run are left out.
    fn newest_runs(&mut self, event_id: &EventId, kind: &str, subjects: &[String]) -> Result<Vec<RunRecord>>;
    /// Overwrites a run's state. Returns `false`, and changes nothing, if the run is done.
    fn update_run(&mut self, run: &RunRecord) -> Result<bool>;
    /// The steps of a run that are done, in the order in which they were done.
    fn run_steps(&mut self, run_id: &str) -> Result<Vec<StepRecord>>;
    /// Stores a step that is done. Fails with `step_exists` if the run's step is stored already.
    fn insert_step(&mut self, step: &StepRecord) -> Result<()>;
    /// Locks a run until the end of this write, and extends its lease to `lease_ms` from now. Returns `false` if
    /// somebody else took the run since.
    fn hold_run(&mut self, run_id: &str, fence: u64, lease_ms: i64) -> Result<bool>;
    /// Releases a run. The run is due again `after_ms` from now. If `after_ms` is `None`, it is not due again by
    /// itself.
    fn release_run(&mut self, run_id: &str, after_ms: Option<i64>) -> Result<()>;
    /// Releases a run that waits for the mail lane. The run is due once the lane is open, as the lane's probe, or at
    /// `until`.
    fn park_run(&mut self, run_id: &str, until: Timestamp) -> Result<()>;
    /// Makes a run due at once, if nobody works on it.
    fn hurry_run(&mut self, run_id: &str) -> Result<()>;
    /// Removes a run that is done from the queue.
    fn dequeue_run(&mut self, run_id: &str) -> Result<()>;
}

/// Webhook endpoints and the messages they received.
pub trait TxWebhooks {
    /// Creates an endpoint, which can then be found by its id. Fails with `webhook_endpoint_exists` if the id is taken.
    fn insert_webhook_endpoint(&mut self, endpoint: &WebhookEndpointRecord) -> Result<()>;
    /// Endpoints, newest first.
    fn webhook_endpoints(&mut self) -> Result<Vec<WebhookEndpointRecord>>;
    /// One endpoint.
    fn webhook_endpoint(&mut self, endpoint_id: &str) -> Result<Option<WebhookEndpointRecord>>;
    /// Overwrites an endpoint, except its health.
    fn update_webhook_endpoint(&mut self, endpoint: &WebhookEndpointRecord) -> Result<()>;
    /// Stores when a message was accepted.
    fn note_webhook_received(&mut self, endpoint_id: &str, at: Timestamp) -> Result<()>;
    /// Stores when and why a message was refused.
    fn note_webhook_refused(&mut self, endpoint_id: &str, at: Timestamp, problem: &str) -> Result<()>;
    /// An accepted message. `None` if there is none.
    fn webhook_message(&mut self, endpoint_id: &str, webhook_id: &str) -> Result<Option<WebhookMessageRecord>>;
    /// Stores an accepted message, and deletes those of its endpoint that came before `forget_before`. Fails with
    /// `webhook_message_exists` if the message is stored already.
    fn insert_webhook_message(&mut self, message: &WebhookMessageRecord, forget_before: Timestamp) -> Result<()>;
    /// The newest known change of a sender's row. `None` if none is known.
    fn webhook_row(&mut self, endpoint_id: &str, external_id: &str) -> Result<Option<WebhookRowRecord>>;
    /// The name of another active endpoint of the event that has sent a row with this id. `None` if there is none.
    fn other_webhook_of_row(
        &mut self,
        event_id: &EventId,
        endpoint_id: &str,
        external_id: &str,
    ) -> Result<Option<String>>;
    /// Creates or overwrites the newest known change of a sender's row.
    fn put_webhook_row(&mut self, row: &WebhookRowRecord) -> Result<()>;
}

/// A transaction: all nouns together.
pub trait Tx:
    TxAccounts
    + TxEvents
    + TxGates
    + TxTickets
    + TxGuests
    + TxImports
    + TxWalkIns
    + TxErasure
    + TxScans
    + TxStates
    + TxFacts
    + TxIncidents
    + TxDevices
    + TxWaiting
    + TxBatches
    + TxJobs
    + TxWebhooks
{
    /// The organisation to which the transaction is bound.
    fn organization_id(&self) -> &OrganizationId;
    /// Names rows of an event that a write reads next.
    fn prefetch(&mut self, event_id: &EventId, wanted: &Prefetch) -> Result<()>;
}
