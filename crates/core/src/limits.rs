//! Every bound, named (law 11). Those an organiser may set are settings of the server; these are their defaults.

/// Longest identifier, in characters (spec D2).
pub const ID_CHARS: usize = 128;
/// Longest barcode, in bytes (spec D12).
pub const BARCODE_BYTES: usize = 512;
/// Largest count or place in a log that JSON readers everywhere agree on: 2^53 − 1.
pub const JSON_INTEGER: u64 = (1 << 53) - 1;
/// Longest name (event, gate, guest, device), in characters.
pub const NAME_CHARS: usize = 200;
/// Longest note, in characters.
pub const NOTE_CHARS: usize = 2_000;
/// Most days that guests' personal data is kept after an event whose organiser sets a time.
pub const RETENTION_DAYS: u32 = 3_650;
/// Most days of an event (door.md "Limits").
pub const DAYS: usize = 400;
/// Most fields of a guest beside those that every guest has (door.md "Names and fields at the door").
pub const FIELDS: usize = 8;
/// Longest name of such a field, in characters: it labels the value at the door.
pub const FIELD_NAME_CHARS: usize = 24;
/// Longest value of such a field, in characters.
pub const FIELD_VALUE_CHARS: usize = 200;
/// Most fields that a verdict shows.
pub const VERDICT_FIELDS: usize = 3;
/// Longest value of a field at the door, in characters; a longer one is cut.
pub const VERDICT_VALUE_CHARS: usize = 40;
/// Most offsets of an event's clock: changes of its zone around the event.
pub const OFFSETS: usize = 64;
/// How long before an event and after it its clock knows the zone's changes, in milliseconds: 60 days. Beyond, the nearest
/// offset holds.
pub const CLOCK_MARGIN_MS: i64 = 60 * 86_400_000;
/// Most zones of a gate, most gates of a ticket.
pub const SET_ITEMS: usize = 64;
/// Largest party and largest `count` of one scan, in persons.
pub const PARTY: u32 = 10_000;
/// Most people without a ticket of one headcount, in persons.
pub const HEADCOUNT_STEP: u32 = 50;
/// Most persons that a recount may say are inside.
pub const RECOUNT: u32 = 1_000_000;
/// Most scans of one `/api/scanning/sync` request in S1's form (S1 §4.4).
pub const SYNC_V1_SCANS: usize = 50;
/// Most scans of one `/api/scanning/sync` request with `"format": 2` (spec D1).
pub const SYNC_V2_SCANS: usize = 1_000;
/// Most scans of one `/api/scans/sync` request (S2 §3).
pub const SYNC_S2_SCANS: usize = 10_000;
/// Most scans of a block as it is stored: one of them is read by reading the block.
pub const BLOCK_SCANS: usize = 64;
/// Most items of one `changes` answer (spec §5).
pub const CHANGES_ITEMS: usize = 1_000;
/// Newest effective scans of a ticket in one `changes` item; the rest is a folded prefix (spec §5).
pub const CHANGES_SCANS: usize = 16;
/// Longest `changes` long poll, in seconds.
pub const CHANGES_WAIT_SECONDS: u64 = 25;
/// Uploads that a live stream tells of at once; more follow at its next look.
pub const STREAM_BATCHES: usize = 32;
/// Uploads that a live stream remembers to have told of, so that none comes twice.
pub const STREAM_REMEMBERED: usize = 1_024;
/// Largest page of a list.
pub const PAGE_MAX: usize = 500;
/// Default page of a list.
pub const PAGE_DEFAULT: usize = 50;
/// Largest request body as sent, in bytes.
pub const BODY_ENCODED_BYTES: usize = 16 * 1024 * 1024;
/// Largest request body after content decoding, in bytes.
pub const BODY_DECODED_BYTES: usize = 64 * 1024 * 1024;
/// Largest request body that says one thing, such as a sign-in or a gate, after content decoding, in bytes. A body
/// that is read into members takes many times its length in memory, and a stranger may send some of them.
pub const BODY_OBJECT_BYTES: usize = 256 * 1024;
/// Bodies of uploads that a server reads at a time and holds until they are judged, in KiB; beside them the small ones, and
/// eight times as much of what comes slowly.
pub const UPLOADS_READ_KIB: u32 = 8 * 1024;
/// Of those, what the server judges at a time for each of its cores, in KiB. A full chunk of our scanner has about a
/// thousand. An event is judged in order, so one chunk that is stored and one that is read meanwhile are as fast as
/// more. Each takes twenty times its length in memory.
pub const UPLOADS_JUDGED_KIB: u32 = 1_280;
/// How many times a scan of S2's form weighs its length beside one of ours: it is as much to judge, and says less.
pub const UPLOAD_S2_WEIGHT: usize = 6;
/// How long an upload waits to be read before it is sent away, in milliseconds, and half as long again to be judged; phones give
/// up after [`REQUEST_MS`].
pub const UPLOAD_WAIT_MS: u64 = 10_000;
/// Latest moment at which an upload that was sent away is to come back, in milliseconds.
pub const UPLOAD_BACK_MAX_MS: i64 = 60_000;
/// Deepest JSON nesting of a request.
pub const BODY_DEPTH: usize = 32;
/// Syncs of a device in any 60 s (S1 §7.6).
pub const SYNCS_PER_MINUTE: u32 = 10;
/// A pairing token's life, in milliseconds (S1 §8.1).
pub const PAIRING_TOKEN_MS: i64 = 5 * 60 * 1000;
/// Longest life of a pairing token that an organiser asks for by minutes, such as for a printed sheet, in minutes.
pub const PAIRING_TOKEN_MINUTES: u32 = 24 * 60;
/// Devices of the whole server that wait for an organiser's approval (spec D11 way (b)); nobody has signed in yet who asks.
pub const PAIRING_REQUESTS: u64 = 1_000;
/// How often a device that waits for approval asks, in milliseconds.
pub const APPROVAL_POLL_MS: i64 = 2_000;
/// After a rotation, how long the old key still opens its device, in milliseconds (spec §5 `rotate-key`).
pub const KEY_OVERLAP_MS: i64 = 3_600_000;
/// Scans of one saved log that an organiser imports in one request.
pub const IMPORT_SCANS: usize = 50_000;
/// A device's full chunk: scans in one upload of ours (spec D1).
pub const CHUNK_SCANS: usize = SYNC_V2_SCANS;
/// Full chunks of a backlog a device sends in any 60 s (spec §5).
pub const CHUNKS_PER_MINUTE: usize = 9;
/// Time between two syncs of a device that has no backlog, in milliseconds (spec §5).
pub const SYNC_EVERY_MS: i64 = 6_000;
/// A device's heartbeat, in milliseconds (spec §5).
pub const HEARTBEAT_MS: i64 = 30_000;
/// So long after an organiser looked for a device it is told so: beyond that they stand somewhere else.
pub const RING_MS: i64 = 120_000;
/// How long what the server last said of a gate's area is acted on, in milliseconds.
pub const AREA_KNOWN_MS: i64 = 10 * 60_000;
/// Uncertainty of a v1 or S2 scan's time, in milliseconds (spec §4).
pub const LEGACY_UNCERTAINTY_MS: u64 = 1_000;
/// How far outside the event a scan's time is still plausible, in milliseconds (spec §4).
pub const PLAUSIBLE_MARGIN_MS: i64 = 24 * 3_600_000;
/// A scan this much after its receipt opens `future_time`, in milliseconds (spec §4).
pub const FUTURE_MS: i64 = 120_000;
/// Beyond its own uncertainty, how far a signed time may lie after receipt, in milliseconds (spec §4).
pub const CLOCK_SUSPECT_MS: i64 = 2_000;
/// A backward clock correction up to this is slewed, in milliseconds (spec §4).
pub const SLEW_MS: i64 = 2_000;
/// S2's double read: the same device within this, in milliseconds (spec §4 step 4).
pub const DOUBLE_READ_MS: i64 = 300_000;
/// Default `min_gap_seconds` of re-entry (spec D7).
pub const MIN_GAP_SECONDS: u32 = 300;
/// A manifest's default life after the event's end, in milliseconds (spec §4).
pub const MANIFEST_AFTER_END_MS: i64 = 6 * 3_600_000;
/// Unverified scans kept of a revoked device (spec D10).
pub const QUARANTINE_SCANS: u64 = 20_000;
/// Wrong PINs before a pause (spec D18).
pub const PIN_TRIES: u32 = 5;
/// The pause after too many wrong PINs, in milliseconds (spec D18).
pub const PIN_PAUSE_MS: i64 = 30_000;
/// Rounds of PBKDF2 for the staff PIN: a PIN of 4–8 digits falls to brute force whatever this is; it slows a thief with
/// a phone in hand, and must stay quick on a cheap one (spec D18).
pub const PIN_ITERATIONS: u32 = 60_000;
/// Waiting requests grouped into one transaction (architecture §4).
pub const LANE_REQUESTS: usize = 32;
/// Devices that one pairing token may pair.
pub const PAIRING_TOKEN_USES: u32 = 500;
/// Tickets or guests made by one request.
pub const TICKETS_PER_REQUEST: usize = 10_000;
/// Wrong lines that the answer to an import lists; the rest are counted.
pub const IMPORT_ERRORS: usize = 1_000;
/// Columns of an imported file: exports of the field have fewer than a hundred.
pub const IMPORT_COLUMNS: usize = 512;
/// Cells of an imported file: each takes many times the byte that it may come in.
pub const IMPORT_CELLS: usize = 8_000_000;
/// Bytes of text of an imported file, and of a workbook once it is unpacked.
pub const IMPORT_TEXT_BYTES: usize = 128 * 1024 * 1024;
/// Entry types that one import may add to an event: a column with more kinds is none of entry types.
pub const IMPORT_NEW_TYPES: usize = 64;
/// Rows of each kind that a dry run shows.
pub const IMPORT_SHOWN: usize = 100;
/// Rows of one import.
pub const IMPORT_ROWS: usize = 200_000;
/// How far from the server's time a batch may have been made, in milliseconds (S2 §5 step 11, spec D13).
pub const BATCH_AGE_MS: i64 = 24 * 3_600_000;
/// Unknown codes of a device in any 60 s that it is told about (spec §5 "Rate limit").
pub const UNKNOWN_CODES_PER_MINUTE: u32 = 30;
/// A batch of this many scans is of abnormal size (S2 §7); so are this many of one device in [`ARRIVALS_MS`].
pub const ABNORMAL_BATCH_SCANS: usize = 5_000;
/// How long what a device brings in small batches is added up, in milliseconds.
pub const ARRIVALS_MS: i64 = 3_600_000;
/// Fewer scans than this in that time say nothing about how many of a device's fail: one wrong code shown is no pattern.
pub const ARRIVALS_JUDGED: u64 = 20;
/// A batch whose newest scan is older than this at receipt came long after the outage, in milliseconds (S2 §8).
pub const DELAYED_BATCH_MS: i64 = 8 * 3_600_000;
/// Failed syncs in a row after which a device is suspended (S2 §7, spec D19).
pub const FAILED_SYNCS: u32 = 5;
/// How often the organisation's ledger notes where its events' ledgers end, in milliseconds (spec D14).
pub const ANCHOR_EVERY_MS: i64 = 3_600_000;
/// How much longer than since the last note a ledger is looked back at, in milliseconds: a write may end after it began.
pub const ANCHOR_OVERLAP_MS: i64 = 600_000;
/// Ledgers noted by one line.
pub const ANCHOR_EVENTS: usize = 200;
/// Lines of a ledger read at a time while it is verified.
pub const LEDGER_PAGE: usize = 1_000;
/// First wait after a failed step of a run, in milliseconds; doubles up to [`JOB_RETRY_MAX_MS`].
pub const JOB_RETRY_FIRST_MS: i64 = 1_000;
/// Longest wait between two tries of a step, in milliseconds.
pub const JOB_RETRY_MAX_MS: i64 = 600_000;
/// Tries of one step before its run gives up: with the waits between them, a day.
pub const JOB_TRIES: u32 = 150;
/// Shortest and longest wait of a run that lacks a setting of the server, in milliseconds.
pub const JOB_NOT_SET_UP_MS: (i64, i64) = (60_000, 300_000);
/// Runs that are tried again in one transaction, where all of an event that gave up are.
pub const RUNS_RETRIED: usize = 200;
/// How long a run belongs to the node that took it, in milliseconds; renewed while it works.
pub const JOB_LEASE_MS: i64 = 30_000;
/// Runs under way on one node at a time.
pub const JOBS_AT_ONCE: usize = 32;
/// The same while somebody scans: their syncs share processors and disk with these.
pub const JOBS_BESIDE_SCANS: usize = 6;
/// For so long after a scan came in more are expected, in milliseconds.
pub const DOORS_BUSY_MS: i64 = 1_000;
/// Runs that a node takes at a time.
pub const JOBS_TAKEN: usize = 128;
/// Longest text of why a step failed, in characters.
pub const JOB_PROBLEM_CHARS: usize = 500;
/// A node looks for due runs at least this often, in milliseconds; those made here are told at once.
pub const JOB_LOOK_MS: i64 = 2_000;
/// When a server stops, time that steps under way get, in milliseconds.
pub const JOB_GRACE_MS: u64 = 8_000;
/// Time a mail server gets for one mail, in milliseconds.
pub const MAIL_MS: u64 = 30_000;
/// How long a letter that finds out whether the mail server takes letters again has for that, in milliseconds; then another is
/// the probe.
pub const MAIL_PROBE_MS: i64 = 60_000;
/// Longest template of one text of a mail, in bytes.
pub const MAIL_TEMPLATE_BYTES: usize = 32 * 1024;
/// Longest subject of a mail, and longest template of one, in characters.
pub const MAIL_SUBJECT_CHARS: usize = 500;
/// Longest body of a mail, in bytes: some mail programs cut off what is longer.
pub const MAIL_BODY_BYTES: usize = 100 * 1024;
/// The work that one text of a mail may cost, in the template engine's fuel: a unit is an instruction, or 64 bytes of text.
/// The default HTML costs about 250.
pub const MAIL_TEMPLATE_FUEL: u64 = 20_000;
/// Time an object store gets for one request, in milliseconds.
pub const OBJECTS_MS: u64 = 15_000;
/// A guest's pass is asked for again at most this often, in milliseconds.
pub const RESEND_MS: i64 = 60_000;
/// Earlier runs of a guest that are looked at for whether they had a mail before.
pub const PASS_RUNS: usize = 20;
/// Wrong tokens of passes from one network address in any 60 s; beyond it that address waits.
pub const PASS_GUESSES_PER_MINUTE: u32 = 30;
/// Sign-ins that fail or are under way from one network address in any 60 s; beyond it that address waits. A venue's staff
/// may share an address: what succeeds is not counted.
pub const SIGN_INS_PER_MINUTE: u32 = 30;
/// Network addresses whose wrong tokens are remembered; the oldest is forgotten for a new one.
pub const PASS_GUESSERS: usize = 10_000;
/// How old, or how far in the future, a webhook message may have been signed, in milliseconds (Standard Webhooks).
pub const WEBHOOK_TOLERANCE_MS: i64 = 300_000;
/// Longest `webhook-id`, in characters.
pub const WEBHOOK_ID_CHARS: usize = 128;
/// Most signatures of one webhook message: senders that change their secret send two.
pub const WEBHOOK_SIGNATURES: usize = 10;
/// Largest body of a webhook message, in bytes: a row of a table of guests has a few hundred.
pub const WEBHOOK_BODY_BYTES: usize = 256 * 1024;
/// Messages of an endpoint in any 60 s.
pub const WEBHOOKS_PER_MINUTE: u32 = 12_000;
/// How long an endpoint's former secret goes on being good after a rotation, in milliseconds.
pub const WEBHOOK_OVERLAP_MS: i64 = 24 * 3_600_000;
/// How long a message's id is remembered with its answer, in milliseconds.
pub const WEBHOOK_KEEP_MS: i64 = 90 * 24 * 3_600_000;
/// Longest text of why an endpoint's last message was refused, in characters.
pub const WEBHOOK_PROBLEM_CHARS: usize = 500;
/// Lines of an organiser's outbox that a relay reads at a time.
pub const RELAY_LINES: usize = 500;
/// Guests whose lines a relay carries at the same time.
pub const RELAY_AT_ONCE: usize = 8;
/// How often a relay looks into the outbox although nobody told it of news, in milliseconds.
pub const RELAY_POLL_MS: i64 = 5_000;
/// Longest wait of a relay whose database or endpoint is away, in milliseconds.
pub const RELAY_RETRY_MAX_MS: i64 = 60_000;
/// How long delivered lines stay in the outbox, in milliseconds: they hold names and addresses.
pub const RELAY_KEEP_MS: i64 = 30 * 24 * 3_600_000;
/// Time a relay gives a message, in milliseconds.
pub const RELAY_MESSAGE_MS: u64 = 30_000;
/// Webhook endpoints of an organisation.
pub const WEBHOOK_ENDPOINTS: usize = 200;
/// Longest name of a column that an endpoint reads, in characters (PostgreSQL's have 63 bytes).
pub const COLUMN_CHARS: usize = 128;

// ------------------------------------------------------------------------------------- the scanner engine (`device`)

/// Uncertainty of a phone's own wall clock while no exchange with the server ever happened, in milliseconds. Nothing
/// vouches for that clock, and one Android clock in thirty is hours off.
pub const CLOCK_UNKNOWN_MS: u64 = 7 * 24 * 3_600_000;
/// Added to the uncertainty of a clock carried over a restart by the wall clock alone, in milliseconds.
pub const CLOCK_RESTART_MS: u64 = 60_000;
/// How fast a phone's oscillator may run wrong, in parts per million.
pub const CLOCK_DRIFT_PPM: u64 = 200;
/// A wall clock ahead of the monotonic one by more than this between two inputs was stepped, or the phone slept, in
/// milliseconds (plus [`CLOCK_SLEW_PPM`] of the time between).
pub const CLOCK_STEP_MS: i64 = 50;
/// A gap of at least this is journalled, in milliseconds: after a restart [`CLOCK_RESTART_MS`] holds what is smaller.
pub const CLOCK_JOURNAL_MS: i64 = 1_000;
/// How fast a system may slew its wall clock, in parts per million.
pub const CLOCK_SLEW_PPM: i64 = 500;
/// A gap up to this is taken for sleep, a larger one for a step of the wall clock, in milliseconds.
pub const CLOCK_SLEEP_MS: i64 = 12 * 3_600_000;
/// The most that one gap widens the uncertainty, in milliseconds: no tab sleeps longer and still scans the same event.
pub const CLOCK_GAP_MS: i64 = 7 * 24 * 3_600_000;
/// Time between two exchanges with the server's clock, in milliseconds.
pub const CLOCK_EVERY_MS: i64 = 600_000;
/// Inputs that wait while an append is under way; beyond it staff are told to read the code again.
pub const WAITING_INPUTS: usize = 32;
/// A repeat of an admitted code on the same device within this is the same ticket again, in milliseconds (experience §7.2).
pub const SAME_TICKET_MS: i64 = 60_000;
/// A party's next exit is taken only this long after the one before, in milliseconds: a held code is one exit.
pub const NEXT_EXIT_MS: i64 = 5_000;
/// A last scan younger than this is shown again at start, in milliseconds (architecture §5).
pub const SHOW_AGAIN_MS: i64 = 300_000;
/// How long a received scan stays in a phone's journal after its event's end, in milliseconds (spec §3 "Log").
pub const JOURNAL_KEEP_MS: i64 = 30 * 24 * 3_600_000;
/// Rows that one step of a purge takes out of the journal: a code read meanwhile waits for that step.
pub const PURGE_ROWS: usize = 1_000;
/// Rows of the history and of the problem list that a view shows.
pub const HISTORY_ROWS: usize = 50;
/// First wait after a failed request, in milliseconds; doubles up to [`RETRY_MAX_MS`] (S1 §4.4).
pub const RETRY_FIRST_MS: i64 = 1_000;
/// Longest wait between two tries, in milliseconds (S1 §4.4).
pub const RETRY_MAX_MS: i64 = 30_000;
/// Tries of a round; after it every wait is the longest (S1 §4.4).
pub const RETRY_ROUND: u32 = 5;
/// Longest wait beyond a `Retry-After` after the first one in a row, in milliseconds; as much more after each of a round.
pub const RETRY_SPREAD_MS: i64 = 1_000;
/// Longest `Retry-After` that is believed, in milliseconds.
pub const RETRY_AFTER_MAX_MS: i64 = 300_000;
/// A list that could not be stored is fetched anew to be stored this often, in milliseconds.
pub const UNSAVED_EVERY_MS: i64 = 60_000;
/// A scan that the server cannot even read is offered again this often, in milliseconds.
pub const POISON_EVERY_MS: i64 = 3_600_000;
/// While the server holds a suspended device's uploads unstored, they are offered again this often, in milliseconds.
pub const SUSPENDED_EVERY_MS: i64 = 60_000;
/// Storage that refused is tried again this often, in milliseconds.
pub const STORAGE_PROBE_MS: i64 = 5_000;
/// Time a device gives a request, in milliseconds.
pub const REQUEST_MS: u64 = 20_000;
/// Time a device gives a whole list, in milliseconds.
pub const MANIFEST_MS: u64 = 120_000;
/// How long a verdict waits for the server at most, in milliseconds (spec §5 `POST /api/scans`).
pub const ASK_WAIT_MS: i64 = 200;
/// A scan is asked about only where the last round trip took less than this, in milliseconds (spec §5).
pub const ASK_ROUND_MS: i64 = 150;
/// And only where that round trip is younger than this, in milliseconds (spec §5).
pub const ASK_FRESH_MS: i64 = 10_000;
/// How long an answer is listened for that came too late for its verdict, in milliseconds: it tells how slow the round
/// trip is.
pub const ASK_LISTEN_MS: u64 = 5_000;
/// After two asks in a row without an answer in time no scan is asked about for so long, in milliseconds; each further
/// one doubles it.
pub const ASK_PAUSE_MS: i64 = 15_000;
/// The longest such pause, in milliseconds.
pub const ASK_PAUSE_MAX_MS: i64 = 120_000;
/// While a device is in use it measures the round trip to the server this often, in milliseconds: less than [`ASK_FRESH_MS`].
pub const PING_EVERY_MS: i64 = 8_000;
/// Time a device gives such a measurement, in milliseconds: longer ones would say nothing more.
pub const PING_MS: u64 = 2_000;
/// A device is in use for so long after a code was read, in milliseconds.
pub const IN_USE_MS: i64 = 300_000;
/// Pause between two long polls of `changes`, in milliseconds.
pub const CHANGES_PAUSE_MS: i64 = 500;
/// Pause after one that brought nothing sooner than this, in milliseconds.
pub const CHANGES_IDLE_MS: i64 = 5_000;
/// Names that may have changed are asked for at most this often, in milliseconds.
pub const NAMES_EVERY_MS: i64 = 15_000;
/// Fewest letters that a search by name begins with; one of a script that writes words or syllables is enough.
pub const SEARCH_CHARS: usize = 2;
/// Most words of a search by name; those after them are not looked at.
pub const SEARCH_WORDS: usize = 8;
/// Letters of a word that a search by name compares.
pub const SEARCH_WORD_CHARS: usize = 32;
/// Guests that a search by name shows.
pub const SEARCH_ROWS: usize = 50;
/// Tickets of a booking that are offered with one of them.
pub const BOOKING_TICKETS: usize = 50;
/// Others of a booking that a search shows behind the guest it found.
pub const BOOKING_ROWS: usize = 10;
/// Deltas laid over one whole list before a whole one is fetched again.
pub const DELTAS: usize = 8;
/// Pages of `changes` kept beside each other in the cache before they are folded into one.
pub const CHANGES_PAGES: u64 = 64;
/// Tries of a pairing whose answer is lost.
pub const PAIRING_TRIES: u32 = 5;
/// Witnesses that a device holds while the server has not been asked about them.
pub const WITNESSES: usize = 16;
/// A witness is journalled at least this often while it changes, in milliseconds.
pub const WITNESS_EVERY_MS: i64 = 600_000;
