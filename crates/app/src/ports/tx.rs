//! A transaction, noun by noun. Born scoped to its organisation: no method takes one, no row of another can be seen.
//!
//! Names of conflicts: a unique key that an insert breaks is answered as [`crate::error::Error::Conflict`] with the
//! code named at the method.

use std::collections::BTreeMap;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::*;
use admit_core::occupancy::{Occupancy, Recount};
use admit_core::reduce::{Resolved, ScanVerdict};
use admit_core::review::Review;
use admit_core::rule::{Epochs, Rule};
use admit_core::scan::SignatureState;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::Named;

use super::filters::*;
use crate::error::Result;
use crate::records::*;

/// Organisations, users, members, secrets.
pub trait TxAccounts {
    /// The organisation of this transaction.
    fn organization(&mut self) -> Result<OrganizationRecord>;
    /// How the organisation's mails look.
    fn letterhead(&mut self) -> Result<LetterheadRecord>;
    /// Overwrites how they look.
    fn put_letterhead(&mut self, letterhead: &LetterheadRecord) -> Result<()>;
    /// The organisation's own templates of a kind of mail; none where it never wrote any.
    fn mail_template(&mut self, kind: MailKind) -> Result<MailTemplateRecord>;
    /// Overwrites them.
    fn put_mail_template(&mut self, kind: MailKind, template: &MailTemplateRecord) -> Result<()>;
    /// Takes the organisation's own order until the end of this write: of two that look and then change, the second sees
    /// what the first did. For checks that no constraint of the database makes.
    fn hold_organization(&mut self) -> Result<()>;
    /// Makes a user and their membership. `email_taken`.
    fn insert_member(&mut self, user: &UserRecord, role: Role) -> Result<()>;
    /// Sets a user's password, and ends every session of theirs, in other organisations too: who knew the old one is out.
    fn set_password(&mut self, user_id: &UserId, password_hash: &str) -> Result<()>;
    /// The hash of a member's password as it is now.
    fn password_hash(&mut self, user_id: &UserId) -> Result<Option<String>>;
    /// Members, oldest first.
    fn members(&mut self) -> Result<Vec<MemberRecord>>;
    /// One member.
    fn member(&mut self, user_id: &UserId) -> Result<Option<MemberRecord>>;
    /// Sets a member's role.
    fn set_member_role(&mut self, user_id: &UserId, role: Role) -> Result<()>;
    /// Ends a membership and every session and API token of it here.
    fn remove_member(&mut self, user_id: &UserId) -> Result<()>;
    /// Stores what a secret opens.
    fn insert_credential(&mut self, credential: &CredentialRecord) -> Result<()>;
    /// Stores what a pass's token opens, unless it is stored already: a guest has one pass, however often it is made.
    /// Returns `false` where the token opens something else, because it came from another event or from another
    /// system.
    fn keep_pass(&mut self, credential: &CredentialRecord) -> Result<bool>;
    /// Forgets a secret.
    fn delete_credential(&mut self, token_hash: &[u8; 32]) -> Result<()>;
    /// Stores an API token's description.
    fn insert_api_token(&mut self, token: &ApiTokenRecord) -> Result<()>;
    /// API tokens, newest first.
    fn api_tokens(&mut self) -> Result<Vec<ApiTokenRecord>>;
    /// The API token whose text has this SHA-256.
    fn api_token(&mut self, token_hash: &[u8; 32]) -> Result<Option<ApiTokenRecord>>;
    /// Marks an API token withdrawn and forgets its secret.
    fn revoke_api_token(&mut self, api_token_id: &str, at: Timestamp) -> Result<()>;
}

/// Events and their order.
pub trait TxEvents {
    /// Makes an event and its head. `event_exists`.
    fn insert_event(&mut self, event: &EventRecord) -> Result<()>;
    /// One event.
    fn event(&mut self, event_id: &EventId) -> Result<Option<EventRecord>>;
    /// Events, newest first.
    fn events(&mut self, page: &Page) -> Result<Listed<EventRecord>>;
    /// Figures of these events, in order of id; an event without any has zeros.
    fn event_figures(&mut self, event_ids: &[EventId]) -> Result<Vec<EventFigures>>;
    /// Overwrites the newest values of an event (its rules hold the history).
    fn update_event(&mut self, event: &EventRecord) -> Result<()>;
    /// The event's head as this transaction sees it, this write's own place included once taken.
    fn head(&mut self, event_id: &EventId) -> Result<Head>;
    /// Takes this write's place in the event's order: once per transaction and event, the same answer every time. Only
    /// for events of the [`crate::ports::Scope`].
    fn stamp(&mut self, event_id: &EventId) -> Result<Stamp>;
    /// Stores rules. Their serial must be this write's stamp.
    fn insert_rules(&mut self, event_id: &EventId, rules: &[Rule]) -> Result<()>;
    /// The rules for a fold: of the event, its gates and devices, and of these tickets.
    fn load_rules(&mut self, event_id: &EventId, tickets: &[TicketId]) -> Result<LoadedRules>;
    /// The epochs of the event's ledger alone: every request of a device asks for them.
    fn epochs(&mut self, event_id: &EventId) -> Result<Epochs>;
    /// Where a device was ever told to scan, over all events: rules of the kind
    /// [`admit_core::rule::DeviceChange::Assignment`], in no order.
    fn assignments(&mut self, device_id: &DeviceId) -> Result<Vec<Rule>>;
    /// Serial of the last rule change of anything in the event: the manifest's version.
    fn rules_serial(&mut self, event_id: &EventId) -> Result<u64>;
    /// Serial of the last rule change of the event itself, its gates or devices (not tickets).
    fn event_rules_serial(&mut self, event_id: &EventId) -> Result<u64>;
    /// The reducer version this event's derived rows were made by.
    fn reducer_version(&mut self, event_id: &EventId) -> Result<u32>;
    /// Notes the reducer version of this event's derived rows.
    fn set_reducer_version(&mut self, event_id: &EventId, version: u32) -> Result<()>;
    /// Adds a line to the ledger of the event (or the organisation): chains it, and remembers the new head.
    fn append_audit(&mut self, line: NewAudit) -> Result<()>;
    /// Lines of a ledger, newest first.
    fn audit(&mut self, event_id: Option<&EventId>, page: &Page) -> Result<Listed<AuditRecord>>;
    /// Lines of an event's ledger about one guest, ticket or guest list (`entity_type`, `entity_id`), newest first.
    fn audit_of(&mut self, event_id: &EventId, entity: (&str, &str), limit: usize) -> Result<Vec<AuditRecord>>;
    /// Lines of a ledger from place `from` on, oldest first, for verification.
    fn audit_from(&mut self, event_id: Option<&EventId>, from: u64, limit: usize) -> Result<Vec<AuditRecord>>;
    /// Where the organisation's own ledger ends.
    fn organization_ledger_end(&mut self) -> Result<LedgerEnd>;
    /// The newest line of the organisation's own ledger about this action.
    fn newest_audit(&mut self, action: &'static str) -> Result<Option<AuditRecord>>;
    /// Where the ledgers of those events end that were written to since `since`, in order of id.
    fn event_ledger_ends(&mut self, since: Timestamp) -> Result<Vec<(EventId, LedgerEnd)>>;
    /// The event's audit head as it stood after serial `serial`: what a witness of that serial must say.
    fn audit_head_at(&mut self, event_id: &EventId, serial: u64) -> Result<Option<[u8; 32]>>;
}

/// Gates, entry types, guest lists.
pub trait TxGates {
    /// Makes a gate. `gate_exists`. Its rules hold name, zones and the rest.
    fn insert_gate(&mut self, event_id: &EventId, gate_id: &GateId, created_at: Timestamp) -> Result<()>;
    /// Removes a gate; its rules stay, because they are facts.
    fn delete_gate(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<()>;
    /// How many tickets of an event are limited to gates of which this is one.
    fn count_tickets_of_gate(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<u64>;
    /// Whether a scan at this gate counts or was refused.
    fn gate_has_flow(&mut self, event_id: &EventId, gate_id: &GateId) -> Result<bool>;
    /// Gate ids, in order of id. (Their values come from [`TxEvents::load_rules`].)
    fn gate_ids(&mut self, event_id: &EventId) -> Result<Vec<GateId>>;
    /// Makes an entry type. `entry_type_exists` (name).
    fn insert_entry_type(&mut self, entry_type: &EntryTypeRecord) -> Result<()>;
    /// Renames an entry type. `entry_type_exists` (name).
    fn rename_entry_type(&mut self, entry_type_id: &EntryTypeId, name: &str) -> Result<()>;
    /// Entry types by position.
    fn entry_types(&mut self, event_id: &EventId) -> Result<Vec<EntryTypeRecord>>;
    /// Makes a guest list. `guest_list_exists` (name).
    fn insert_guest_list(&mut self, list: &GuestListRecord) -> Result<()>;
    /// Overwrites a guest list's name and promoter. `guest_list_exists` (name).
    fn update_guest_list(&mut self, list: &GuestListRecord) -> Result<()>;
    /// Guest lists, oldest first.
    fn guest_lists(&mut self, event_id: &EventId) -> Result<Vec<GuestListRecord>>;
}

/// Tickets, their codes, their guests.
pub trait TxTickets {
    /// Makes tickets with their codes. `barcode_taken` when a code was ever given to another ticket of the event,
    /// `ticket_exists`.
    fn insert_tickets(&mut self, tickets: &[TicketRecord]) -> Result<()>;
    /// Overwrites newest values of tickets (their rules hold the history).
    fn update_tickets(&mut self, tickets: &[TicketRecord]) -> Result<()>;
    /// One ticket, of any event of the organisation.
    fn ticket(&mut self, ticket_id: &TicketId) -> Result<Option<TicketRecord>>;
    /// Several tickets of one event, those that exist, in order of id.
    fn tickets_by_id(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<Vec<TicketRecord>>;
    /// A page of tickets with their guests and states.
    #[allow(clippy::type_complexity, reason = "one row of a list, named by its parts")]
    fn tickets(
        &mut self,
        event_id: &EventId,
        filter: &TicketFilter,
        page: &Page,
    ) -> Result<Listed<(TicketRecord, Option<GuestRecord>, Option<StateRecord>)>>;
    /// Tickets that a text finds, all of them where it is absent, as a page's filter has it.
    fn count_found_tickets(&mut self, event_id: &EventId, text: Option<&Sought>) -> Result<TicketCounts>;
    /// Which tickets ever held these codes.
    fn find_codes(&mut self, event_id: &EventId, hashes: &[BarcodeHash]) -> Result<Vec<(BarcodeHash, TicketId)>>;
    /// The same, each with whether its ticket has a stored state.
    fn resolve_codes(&mut self, event_id: &EventId, hashes: &[BarcodeHash]) -> Result<Vec<ResolvedCode>>;
    /// Every code with its ticket and newest values, in order of hash: what a manifest is built from.
    fn manifest_rows(&mut self, event_id: &EventId) -> Result<Vec<(BarcodeHash, TicketRecord)>>;
    /// The same of tickets whose rules changed after a version: what a delta is built from.
    fn manifest_rows_since(&mut self, event_id: &EventId, version: u64) -> Result<Vec<(BarcodeHash, TicketRecord)>>;
    /// Number of tickets, and of persons those admit that are not voided or refunded.
    fn count_tickets(&mut self, event_id: &EventId) -> Result<(u64, u64)>;
    /// Tickets by import key, those that exist.
    fn tickets_by_import_key(&mut self, event_id: &EventId, keys: &[String]) -> Result<Vec<TicketRecord>>;
    /// Makes guests. Takes the write's place in their event's order.
    fn insert_guests(&mut self, guests: &[GuestRecord]) -> Result<()>;
    /// Overwrites guests. Takes the write's place in their event's order.
    fn update_guests(&mut self, guests: &[GuestRecord]) -> Result<()>;
    /// Guests by id, those that exist.
    fn guests_by_id(&mut self, guest_ids: &[GuestId]) -> Result<Vec<GuestRecord>>;
    /// Serial of the last change of a guest of the event; 0 where there is none.
    fn names_serial(&mut self, event_id: &EventId) -> Result<u64>;
    /// Guests that hold a ticket and changed after a serial (0: all), in order of ticket: what names are built from.
    fn names_since(&mut self, event_id: &EventId, serial: u64) -> Result<Vec<GuestRecord>>;
    /// A page of guests with the states of their tickets.
    fn guests(
        &mut self,
        event_id: &EventId,
        filter: &GuestFilter,
        sort: GuestSort,
        page: &Page,
    ) -> Result<Listed<(GuestRecord, Option<StateRecord>)>>;
    /// Guests that a text finds (all where it is absent; on lists of one promoter where one is named), counted by list and
    /// entry type, in order of their ids.
    fn count_guests(
        &mut self,
        event_id: &EventId,
        text: Option<&Sought>,
        promoter_id: Option<&UserId>,
    ) -> Result<Vec<GuestCount>>;
    /// Of the same guests those whose newest pass is not done.
    fn count_unsent_passes(
        &mut self,
        event_id: &EventId,
        text: Option<&Sought>,
        promoter_id: Option<&UserId>,
    ) -> Result<UnsentPasses>;
    /// Guests whose newest pass was mailed.
    fn count_sent_passes(&mut self, event_id: &EventId) -> Result<u64>;
}

/// Imports of files, and what is remembered of them.
pub trait TxImports {
    /// Notes an import.
    fn insert_import(&mut self, import: &ImportRecord) -> Result<()>;
    /// Overwrites when it was undone.
    fn update_import(&mut self, import: &ImportRecord) -> Result<()>;
    /// One import of an event.
    fn import(&mut self, event_id: &EventId, import_id: &str) -> Result<Option<ImportRecord>>;
    /// The newest imports of an event, newest first, without what undoing them needs.
    fn imports(&mut self, event_id: &EventId) -> Result<Vec<ImportRecord>>;
    /// A person's last mapping of a file of this shape, as it was written; absent where there is none.
    fn import_mapping(&mut self, event_id: &EventId, shape: &str) -> Result<Option<String>>;
    /// Remembers that.
    fn put_import_mapping(&mut self, event_id: &EventId, shape: &str, mapping: &str, at: Timestamp) -> Result<()>;
    /// Takes tickets and their guests out of every list and count.
    fn withdraw_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<()>;
    /// Takes that back.
    fn restore_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<()>;
    /// Which of these tickets are withdrawn.
    fn withdrawn_tickets(&mut self, event_id: &EventId, ticket_ids: &[TicketId]) -> Result<Vec<TicketId>>;
}

/// Names of guests whom staff added at a door.
pub trait TxWalkIns {
    /// Keeps names by the tickets that their scans made. The first that came for a ticket stays.
    fn put_walk_in_names(&mut self, event_id: &EventId, names: &[(TicketId, Named)]) -> Result<()>;
    /// The name that came with the scan which made a ticket.
    fn walk_in_name(&mut self, event_id: &EventId, ticket_id: &TicketId) -> Result<Option<Named>>;
}

/// Erasing guests' personal data.
pub trait TxErasure {
    /// Forgets what is kept of guests beside their rows: names that came with scans, and the keys by which files and
    /// orders find their tickets. It also forgets the fate of their mails, and the last content of rows of a sender's
    /// table.
    fn forget_guests(&mut self, event_id: &EventId, guests: &[GuestRecord], at: Timestamp) -> Result<()>;
    /// Guests of an event whose personal data is there, oldest first.
    fn unerased_guests(&mut self, event_id: &EventId, limit: usize) -> Result<Vec<GuestRecord>>;
    /// Events with such guests that ended longer ago than their organiser keeps them.
    fn events_past_retention(&mut self, now: Timestamp) -> Result<Vec<EventId>>;
    /// Serial of the last change of a guest whose data was erased; 0 where there is none.
    fn erased_serial(&mut self, event_id: &EventId) -> Result<u64>;
    /// Imports of an event with what undoing them needs.
    fn imports_with_kept(&mut self, event_id: &EventId) -> Result<Vec<ImportRecord>>;
    /// Overwrites what undoing an import needs.
    fn put_kept(&mut self, import: &ImportRecord) -> Result<()>;
}

/// Scans and what follows from them.
pub trait TxScans {
    /// The scans stored under these ids, of any device and event, all contents, in order.
    fn stored_ids(&mut self, scan_ids: &[ScanId]) -> Result<Vec<StoredId>>;
    /// The scans of one device stored under these ids, all contents, of any event.
    fn known_scans(&mut self, device_id: &DeviceId, scan_ids: &[ScanId]) -> Result<Vec<KnownScan>>;
    /// Stores scans: facts, never changed.
    fn insert_scans(&mut self, scans: &[NewScan]) -> Result<()>;
    /// Stores what later deliveries prove.
    fn insert_deliveries(&mut self, deliveries: &[NewDelivery]) -> Result<()>;
    /// The proof of these contents by the deliveries so far: (device, scan, digest) → best signature and offset.
    #[allow(clippy::type_complexity, reason = "one row, named by its parts")]
    fn proven(
        &mut self,
        device_id: &DeviceId,
        scan_ids: &[ScanId],
    ) -> Result<Vec<(ScanId, admit_core::scan::Digest, SignatureState, i64)>>;
    /// Every fact of these subjects, deliveries merged, each with its subject; and every other content under the same
    /// (device, scan id) wherever it resolves to.
    fn facts(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<Resolved>>;
    /// Subjects that manual scans of these tickets, or scans of these hashes, resolved to: for a ticket made late.
    fn subjects_with_scans(&mut self, event_id: &EventId) -> Result<Vec<String>>;
    /// Subjects with a scan whose canonical time lies outside `[from, to]`, or inside it when `inside`.
    fn subjects_by_time(
        &mut self,
        event_id: &EventId,
        from: Timestamp,
        to: Timestamp,
        inside: bool,
    ) -> Result<Vec<String>>;
    /// How many subjects (tickets and unknown codes) have a scan whose canonical time lies before a moment.
    fn count_subjects_before(&mut self, event_id: &EventId, before: Timestamp) -> Result<u64>;
    /// Subjects with scans of one device.
    fn subjects_of_device(&mut self, event_id: &EventId, device_id: &DeviceId) -> Result<Vec<String>>;
    /// Stores reviews.
    fn insert_reviews(
        &mut self,
        event_id: &EventId,
        user_id: &UserId,
        note: &str,
        at: Timestamp,
        reviews: &[Review],
    ) -> Result<()>;
    /// Reviews of the scans of these subjects.
    fn reviews(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<Review>>;
    /// The same with who decided, when and why, in the event's order.
    fn decisions(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<DecisionRecord>>;
    /// Stored states of these subjects.
    fn states(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<StateRecord>>;
    /// Every stored state, in order of key: for `rebuild`.
    fn all_states(&mut self, event_id: &EventId) -> Result<Vec<StateRecord>>;
    /// Stored verdicts of a subject, in the reducer's order.
    fn verdicts(&mut self, event_id: &EventId, subject: &str) -> Result<Vec<ScanVerdict>>;
    /// Stored states of these subjects, each with its verdicts in the reducer's order.
    fn judged_states(
        &mut self,
        event_id: &EventId,
        subjects: &[String],
    ) -> Result<Vec<(StateRecord, Vec<ScanVerdict>)>>;
    /// Overwrites states and verdicts. A state without scans is gone, for all but [`TxScans::changed_tickets`].
    fn put_states(&mut self, event_id: &EventId, states: &[(StateRecord, Vec<ScanVerdict>)]) -> Result<()>;
    /// [`TxScans::put_states`] of subjects that had neither state nor verdicts, which need not be looked for.
    fn insert_states(&mut self, event_id: &EventId, states: &[(StateRecord, Vec<ScanVerdict>)]) -> Result<()>;
    /// A page of scans with verdicts, newest first by arrival.
    fn scans(&mut self, event_id: &EventId, filter: &ScanFilter, page: &Page) -> Result<Listed<ScanRow>>;
    /// Adds to the event's counters.
    fn add_occupancy(&mut self, event_id: &EventId, delta: &Occupancy, serial: u64) -> Result<()>;
    /// The event's counters.
    fn occupancy(&mut self, event_id: &EventId) -> Result<Occupancy>;
    /// Overwrites the event's counters: only for `rebuild`.
    fn set_occupancy(&mut self, event_id: &EventId, occupancy: &Occupancy, serial: u64) -> Result<()>;
    /// Persons by gate and minute, from the minute of a moment on; minutes in which nothing happened are left out.
    fn flow(&mut self, event_id: &EventId, since: Timestamp) -> Result<Vec<MinuteFlow>>;
    /// Adds to the event's flow: each gate's minute at most once.
    fn add_flow(&mut self, event_id: &EventId, delta: &[MinuteFlow]) -> Result<()>;
    /// Overwrites the event's flow: only for `rebuild`.
    fn set_flow(&mut self, event_id: &EventId, flow: &[MinuteFlow]) -> Result<()>;
    /// Recounts of an event that count, in order of subject.
    fn recounts(&mut self, event_id: &EventId) -> Result<Vec<(String, Recount)>>;
    /// Overwrites the recounts of these subjects; of one without any, none stays.
    fn put_recounts(&mut self, event_id: &EventId, recounts: &[(String, Vec<Recount>)]) -> Result<()>;
    /// Forgets the recounts of an event: only for `rebuild`.
    fn clear_recounts(&mut self, event_id: &EventId) -> Result<()>;
    /// Tickets changed after `after` (serial, ticket id), oldest change first: `scans` = by scans, else by rules after
    /// `rules_after`. For `changes`.
    fn changed_tickets(
        &mut self,
        event_id: &EventId,
        after: (u64, Option<&TicketId>),
        rules_after: u64,
        limit: usize,
    ) -> Result<Vec<(TicketRecord, u64)>>;
}

/// Access to incidents.
pub trait TxIncidents {
    /// Incidents of these subjects.
    fn incidents_of(&mut self, event_id: &EventId, subjects: &[String]) -> Result<Vec<IncidentRecord>>;
    /// Makes or overwrites incidents; unique per (event, subject, kind).
    fn put_incidents(&mut self, incidents: &[IncidentRecord]) -> Result<()>;
    /// One incident, of any event.
    fn incident(&mut self, incident_id: &IncidentId) -> Result<Option<IncidentRecord>>;
    /// A page of incidents, newest first: by when they were opened, of decided ones by when they were decided.
    fn incidents(&mut self, event_id: &EventId, filter: IncidentFilter, page: &Page) -> Result<Listed<IncidentRecord>>;
    /// Every incident of an event: for `rebuild --check`.
    fn all_incidents(&mut self, event_id: &EventId) -> Result<Vec<IncidentRecord>>;
    /// Of the review queue's kinds, those that a person answered and that are not open again.
    fn count_decided_incidents(&mut self, event_id: &EventId) -> Result<u64>;
    /// Open ones by kind.
    fn count_open_incidents(&mut self, event_id: &EventId) -> Result<Vec<(admit_core::incident::IncidentKind, u64)>>;
}

/// Devices, keys, pairing, logs, batches.
pub trait TxDevices {
    /// Makes a device.
    fn insert_device(&mut self, device: &DeviceRecord) -> Result<()>;
    /// Overwrites a device, health aside.
    fn update_device(&mut self, device: &DeviceRecord) -> Result<()>;
    /// Overwrites a device's health.
    fn put_health(&mut self, device_id: &DeviceId, health: &DeviceHealth) -> Result<()>;
    /// Notes when a device was heard of: one that this write has read.
    fn note_seen(&mut self, device_id: &DeviceId, at: Timestamp) -> Result<()>;
    /// One device.
    fn device(&mut self, device_id: &DeviceId) -> Result<Option<DeviceRecord>>;
    /// Devices of an event, oldest first.
    fn devices(&mut self, event_id: &EventId) -> Result<Vec<DeviceRecord>>;
    /// Makes a key and what its secret opens.
    fn insert_device_key(&mut self, key: &DeviceKeyRecord) -> Result<()>;
    /// Overwrites a key's times; a revoked key's secret still opens its device (which then hears so).
    fn update_device_key(&mut self, key: &DeviceKeyRecord) -> Result<()>;
    /// Keys of a device, oldest first.
    fn device_keys(&mut self, device_id: &DeviceId) -> Result<Vec<DeviceKeyRecord>>;
    /// One key by its name.
    fn device_key(&mut self, key_id: &KeyId) -> Result<Option<DeviceKeyRecord>>;
    /// Makes a pairing token and what it opens.
    fn insert_pairing_token(&mut self, token: &PairingTokenRecord) -> Result<()>;
    /// A pairing token, locked against another use in another transaction.
    fn pairing_token(&mut self, token_hash: &[u8; 32]) -> Result<Option<PairingTokenRecord>>;
    /// Overwrites who used it.
    fn update_pairing_token(&mut self, token: &PairingTokenRecord) -> Result<()>;
    /// A log.
    fn log(&mut self, device_id: &DeviceId, log_id: &LogId) -> Result<Option<LogRecord>>;
    /// Logs of an event's devices.
    fn logs(&mut self, event_id: &EventId) -> Result<Vec<LogRecord>>;
    /// Makes or overwrites a log.
    fn put_log(&mut self, log: &LogRecord) -> Result<()>;
    /// `seq` numbers of a log with more than one content, those among `seqs`, counted with what is stored.
    fn forked(&mut self, device_id: &DeviceId, log_id: &LogId, seqs: &[u64]) -> Result<Vec<u64>>;
    /// A batch.
    fn batch(&mut self, device_id: &DeviceId, endpoint: &str, batch_id: &BatchId) -> Result<Option<BatchRecord>>;
    /// Batches of an event after a place in its order, at most so many, in that order; of one device where it is
    /// named. A scan asked online is no batch here.
    fn batches_after(
        &mut self,
        event_id: &EventId,
        device_id: Option<&DeviceId>,
        serial: u64,
        limit: usize,
    ) -> Result<Vec<BatchRecord>>;
    /// Stores a batch. `batch_exists`.
    fn insert_batch(&mut self, batch: &BatchRecord) -> Result<()>;
    /// Stores items that were refused for good.
    fn insert_rejected(&mut self, event_id: &EventId, items: &[RejectedRecord]) -> Result<()>;
    /// Scans of a device in an event that count nothing until a person accepts them, oldest arrival first.
    fn waiting_scans(&mut self, event_id: &EventId, device_id: &DeviceId) -> Result<Vec<WaitingScan>>;
    /// Forgets which scans of an event wait: only for `rebuild`, which finds them again.
    fn clear_waiting(&mut self, event_id: &EventId) -> Result<()>;
    /// Every such scan of an event with its device: for `rebuild --check`.
    fn all_waiting_scans(&mut self, event_id: &EventId) -> Result<Vec<(DeviceId, WaitingScan)>>;
    /// How many such scans each device of the organisation has, in all events; those that have none are left out.
    fn count_waiting(&mut self) -> Result<BTreeMap<DeviceId, u64>>;
    /// Which of these refused items are stored already, of a device and whatever event.
    fn rejected_bodies(&mut self, device_id: &DeviceId, bodies: &[String]) -> Result<Vec<String>>;
    /// Unverified scans stored of a device after its revocation, and items of it that were refused for good, whenever.
    fn count_quarantined(&mut self, device_id: &DeviceId) -> Result<u64>;
}

/// Runs of workflows and their steps. A run under way belongs to the worker that took it last. Each taking has a
/// higher fence, and a step may be stored only under its own fence.
pub trait TxJobs {
    /// Makes runs, due at once: they are taken up as soon as this transaction is committed, and never if it is not.
    fn insert_runs(&mut self, runs: &[RunRecord]) -> Result<()>;
    /// One run.
    fn run(&mut self, run_id: &str) -> Result<Option<RunRecord>>;
    /// A page of runs, newest first.
    fn runs(&mut self, filter: &RunFilter, page: &Page) -> Result<Listed<RunRecord>>;
    /// The subjects of all runs of a kind in an event, each once, in order; among the given ones, where some are
    /// given.
    fn run_subjects(&mut self, event_id: &EventId, kind: &str, among: Option<&[String]>) -> Result<Vec<String>>;
    /// The newest run of a kind about each of these, where there is one.
    fn newest_runs(&mut self, event_id: &EventId, kind: &str, subjects: &[String]) -> Result<Vec<RunRecord>>;
    /// Overwrites how a run stands, unless it is done: `false`, and nothing is changed.
    fn update_run(&mut self, run: &RunRecord) -> Result<bool>;
    /// Steps of a run that are done, in the order they were.
    fn run_steps(&mut self, run_id: &str) -> Result<Vec<StepRecord>>;
    /// Stores a step that is done. `step_exists`.
    fn insert_step(&mut self, step: &StepRecord) -> Result<()>;
    /// Holds a run until the end of this write, and for `lease_ms` from now. `false` where somebody else took it since.
    fn hold_run(&mut self, run_id: &str, fence: u64, lease_ms: i64) -> Result<bool>;
    /// Lets go of a run: due again `after_ms` from now, or never by itself.
    fn release_run(&mut self, run_id: &str, after_ms: Option<i64>) -> Result<()>;
    /// Lets go of a run that waits for the mail lane: due once the lane is open, as its probe, or at `until`.
    fn park_run(&mut self, run_id: &str, until: Timestamp) -> Result<()>;
    /// A run that nobody works on is due at once.
    fn hurry_run(&mut self, run_id: &str) -> Result<()>;
    /// Takes a run that is done out of the queue.
    fn dequeue_run(&mut self, run_id: &str) -> Result<()>;
}

/// Webhook endpoints and what came to them.
pub trait TxWebhooks {
    /// Makes an endpoint, and has it found by its id. `webhook_endpoint_exists`.
    fn insert_webhook_endpoint(&mut self, endpoint: &WebhookEndpointRecord) -> Result<()>;
    /// Endpoints, newest first.
    fn webhook_endpoints(&mut self) -> Result<Vec<WebhookEndpointRecord>>;
    /// One endpoint.
    fn webhook_endpoint(&mut self, endpoint_id: &str) -> Result<Option<WebhookEndpointRecord>>;
    /// Overwrites an endpoint but for its health.
    fn update_webhook_endpoint(&mut self, endpoint: &WebhookEndpointRecord) -> Result<()>;
    /// Notes that a message was taken in.
    fn note_webhook_received(&mut self, endpoint_id: &str, at: Timestamp) -> Result<()>;
    /// Notes that a message was refused, and why.
    fn note_webhook_refused(&mut self, endpoint_id: &str, at: Timestamp, problem: &str) -> Result<()>;
    /// A message that was taken in.
    fn webhook_message(&mut self, endpoint_id: &str, webhook_id: &str) -> Result<Option<WebhookMessageRecord>>;
    /// Remembers a message, and forgets those of its endpoint that came before `forget_before`. `webhook_message_exists`.
    fn insert_webhook_message(&mut self, message: &WebhookMessageRecord, forget_before: Timestamp) -> Result<()>;
    /// How far a row is known.
    fn webhook_row(&mut self, endpoint_id: &str, external_id: &str) -> Result<Option<WebhookRowRecord>>;
    /// The name of another endpoint of the event that is in use and has told of a row of this id.
    fn other_webhook_of_row(
        &mut self,
        event_id: &EventId,
        endpoint_id: &str,
        external_id: &str,
    ) -> Result<Option<String>>;
    /// Makes or overwrites that.
    fn put_webhook_row(&mut self, row: &WebhookRowRecord) -> Result<()>;
}

/// A transaction: all nouns.
pub trait Tx:
    TxAccounts
    + TxEvents
    + TxGates
    + TxTickets
    + TxImports
    + TxWalkIns
    + TxErasure
    + TxScans
    + TxIncidents
    + TxDevices
    + TxJobs
    + TxWebhooks
{
    /// The organisation it is scoped to.
    fn organization_id(&self) -> &OrganizationId;
}
