//! Every bound of the code has a name here (law 11). Some bounds can be set on a server by its operator. Their values
//! here are the defaults.

/// Longest identifier, in characters (spec D2).
pub const ID_CHARS: usize = 128;
/// Longest barcode, in bytes (spec D12).
pub const BARCODE_BYTES: usize = 512;
/// The largest integer that every JSON reader represents exactly: 2^53 − 1. Counts and `seq` numbers stay at or below
/// it.
pub const JSON_INTEGER: u64 = (1 << 53) - 1;
/// Longest name (event, gate, guest, device), in characters.
pub const NAME_CHARS: usize = 200;
/// Longest note, in characters.
pub const NOTE_CHARS: usize = 2_000;
/// The most days that guests' personal data is kept after an event, if the organiser sets how long.
pub const RETENTION_DAYS: u32 = 3_650;
/// The most days of an event (decision 034).
pub const DAYS: usize = 400;
/// The most own fields of a guest, in addition to those that every guest has (decision 040).
pub const FIELDS: usize = 8;
/// Longest name of a guest's own field, in characters: it labels the value at the door.
pub const FIELD_NAME_CHARS: usize = 24;
/// Longest value of a guest's own field, in characters.
pub const FIELD_VALUE_CHARS: usize = 200;
/// The most fields that a verdict shows.
pub const VERDICT_FIELDS: usize = 3;
/// Longest value of a field at the door, in characters; a longer one is cut.
pub const VERDICT_VALUE_CHARS: usize = 40;
/// The most offsets of an event's clock: changes of its zone around the event.
pub const OFFSETS: usize = 64;
/// How long before and after an event its clock lists the zone's offset changes, in milliseconds: 60 days. Outside this
/// span the nearest offset holds.
pub const CLOCK_MARGIN_MS: i64 = 60 * 86_400_000;
/// The most zones of a gate, and the most gates of a ticket.
pub const SET_ITEMS: usize = 64;
/// Largest party and largest `count` of one scan, in persons.
pub const PARTY: u32 = 10_000;
/// The most people without a ticket of one headcount, in persons.
pub const HEADCOUNT_STEP: u32 = 50;
/// The most persons that a recount may say are inside.
pub const RECOUNT: u32 = 1_000_000;
/// The most scans of one `/api/scanning/sync` request in S1's form (S1 §4.4).
pub const SYNC_V1_SCANS: usize = 50;
/// The most scans of one `/api/scanning/sync` request with `"format": 2` (spec D1).
pub const SYNC_V2_SCANS: usize = 1_000;
/// The most scans of one `/api/scans/sync` request (S2 §3).
pub const SYNC_S2_SCANS: usize = 10_000;
/// The most scans that one block can encode. Stores write smaller blocks: to read one scan, a store reads and decodes
/// its whole block.
pub const BLOCK_SCANS: usize = 64;
/// The most items of one `changes` answer (spec §5).
pub const CHANGES_ITEMS: usize = 1_000;
/// One `changes` item lists at most this many of the scans that count for a ticket: the newest. The sum of the older
/// ones comes as the item's `prefix` (spec §5).
pub const CHANGES_SCANS: usize = 16;
/// Longest `changes` long poll, in seconds.
pub const CHANGES_WAIT_SECONDS: u64 = 25;
/// The most uploads that a live stream reads from the store at a time. If there may be more, it reads again at once.
pub const STREAM_BATCHES: usize = 32;
/// The most uploads that a live stream remembers as reported, so that it reports none twice.
pub const STREAM_REMEMBERED: usize = 1_024;
/// The most rows on a page of a list.
pub const PAGE_MAX: usize = 500;
/// Rows on a page of a list if the request names no number.
pub const PAGE_DEFAULT: usize = 50;
/// Largest request body as sent, in bytes.
pub const BODY_ENCODED_BYTES: usize = 16 * 1024 * 1024;
/// Largest request body after content decoding, in bytes.
pub const BODY_DECODED_BYTES: usize = 64 * 1024 * 1024;
/// Largest body of a request that states one thing, such as a sign-in or a gate, after content decoding, in bytes. A
/// parsed body takes many times its length in memory, and clients that are not signed in may send several of them.
pub const BODY_OBJECT_BYTES: usize = 256 * 1024;
/// Upload bodies that a server reads at a time and holds until they are judged, in KiB. Two kinds of bodies don't
/// count: small ones, which need little memory, and slow ones, which have a room of their own that is eight times as
/// large.
pub const UPLOADS_READ_KIB: u32 = 8 * 1024;
/// Upload bodies that the server judges at a time for each of its cores, in KiB. A full chunk of Admit's scanner has
/// about 1,000 KiB. The server judges an event's uploads one after another, so it gains nothing from several large
/// bodies at a time. Each body takes twenty times its length in memory.
pub const UPLOADS_JUDGED_KIB: u32 = 1_280;
/// The server multiplies the length of an S2 upload by this factor before it counts the upload against
/// [`UPLOADS_READ_KIB`] and [`UPLOADS_JUDGED_KIB`]. An S2 scan is shorter than a scan in Admit's form, and
/// judging it takes as long.
pub const UPLOAD_S2_WEIGHT: usize = 6;
/// How long an upload waits to be read before the server refuses it with 503, in milliseconds. It may wait half as long
/// again to be judged. Phones give up after [`REQUEST_MS`].
pub const UPLOAD_WAIT_MS: u64 = 10_000;
/// The longest time after which the server asks a refused upload to come back, in milliseconds.
pub const UPLOAD_BACK_MAX_MS: i64 = 60_000;
/// Deepest JSON nesting of a request.
pub const BODY_DEPTH: usize = 32;
/// The most syncs of a device in any 60 s (S1 §7.6).
pub const SYNCS_PER_MINUTE: u32 = 10;
/// How long a pairing token is good, in milliseconds (S1 §8.1).
pub const PAIRING_TOKEN_MS: i64 = 5 * 60 * 1000;
/// The longest time for which an organiser can make a pairing token valid, such as for a printed sheet, in minutes.
pub const PAIRING_TOKEN_MINUTES: u32 = 24 * 60;
/// The most devices of the whole server that wait for an organiser's approval (spec D11 way (b)). The bound is needed
/// because such a device asks before anybody has signed in.
pub const PAIRING_REQUESTS: u64 = 1_000;
/// How often a device that waits for approval asks the server, in milliseconds.
pub const APPROVAL_POLL_MS: i64 = 2_000;
/// How long a device's old key still works after a rotation, in milliseconds (spec §5 `rotate-key`).
pub const KEY_OVERLAP_MS: i64 = 3_600_000;
/// The most scans of one saved log that an organiser imports in one request.
pub const IMPORT_SCANS: usize = 50_000;
/// Scans in a device's full chunk, the largest upload in Admit's form (spec D1).
pub const CHUNK_SCANS: usize = SYNC_V2_SCANS;
/// The most full chunks of a backlog that a device sends in any 60 s (spec §5).
pub const CHUNKS_PER_MINUTE: usize = 9;
/// Time between two syncs of a device that has no backlog, in milliseconds (spec §5).
pub const SYNC_EVERY_MS: i64 = 6_000;
/// Time between two heartbeats of a device, in milliseconds (spec §5).
pub const HEARTBEAT_MS: i64 = 30_000;
/// How long an organiser's request to ring a device stays valid, in milliseconds. A device whose heartbeat comes later
/// does not ring, since the organiser is probably no longer listening.
pub const RING_MS: i64 = 120_000;
/// How long a device uses the server's last count of the persons in its gate's area, in milliseconds.
pub const AREA_KNOWN_MS: i64 = 10 * 60_000;
/// Uncertainty of the time of a scan in S1's or S2's form, in milliseconds (spec §4).
pub const LEGACY_UNCERTAINTY_MS: u64 = 1_000;
/// How far outside the event a scan's time is still plausible, in milliseconds (spec §4).
pub const PLAUSIBLE_MARGIN_MS: i64 = 24 * 3_600_000;
/// A scan whose time is this long after its arrival at the server opens a `future_time` incident, in milliseconds (spec
/// §4).
pub const FUTURE_MS: i64 = 120_000;
/// How far a scan's signed time may lie after its arrival at the server, beyond the scan's own uncertainty, in
/// milliseconds (spec §4). Later times open a `clock_suspect` incident.
pub const CLOCK_SUSPECT_MS: i64 = 2_000;
/// The largest step back of a device's clock, in milliseconds, after which its next scan gets a time just after its
/// last one (spec §4). After a larger step the scan gets the earlier time.
pub const SLEW_MS: i64 = 2_000;
/// If the device of a ticket's last entry reads the code again within this time, S2 calls it a double read, in
/// milliseconds (spec §4 step 4).
pub const DOUBLE_READ_MS: i64 = 300_000;
/// Default `min_gap_seconds` of re-entry (spec D7).
pub const MIN_GAP_SECONDS: u32 = 300;
/// How long after the event's end a manifest is valid by default, in milliseconds (spec §4).
pub const MANIFEST_AFTER_END_MS: i64 = 6 * 3_600_000;
/// The most unverified scans that the server keeps of a revoked device (spec D10).
pub const QUARANTINE_SCANS: u64 = 20_000;
/// Wrong PINs after which the PIN screen pauses (spec D18).
pub const PIN_TRIES: u32 = 5;
/// The pause after too many wrong PINs, in milliseconds (spec D18).
pub const PIN_PAUSE_MS: i64 = 30_000;
/// Rounds of PBKDF2 for the staff PIN (spec D18). No number protects a PIN of 4–8 digits from brute force. The rounds
/// slow a thief who holds a phone, and must stay quick on a cheap phone.
pub const PIN_ITERATIONS: u32 = 60_000;
/// The most waiting requests that a store groups into one transaction (ARCHITECTURE.md §4).
pub const LANE_REQUESTS: usize = 32;
/// The most devices that one pairing token may pair.
pub const PAIRING_TOKEN_USES: u32 = 500;
/// The most tickets or guests that one request may create.
pub const TICKETS_PER_REQUEST: usize = 10_000;
/// The most wrong lines that the answer to an import lists. Further wrong lines are only counted.
pub const IMPORT_ERRORS: usize = 1_000;
/// The most columns of an imported file. Exports of ticket shops have fewer than a hundred.
pub const IMPORT_COLUMNS: usize = 512;
/// The most cells of an imported file. A cell may be one byte in the file and takes many times as much in memory.
pub const IMPORT_CELLS: usize = 8_000_000;
/// The most bytes of text in an imported file. For a workbook, this is the size after unpacking.
pub const IMPORT_TEXT_BYTES: usize = 128 * 1024 * 1024;
/// The most entry types that one import may add to an event. A column with more kinds does not name entry types.
pub const IMPORT_NEW_TYPES: usize = 64;
/// Rows of each kind that a dry run of an import shows.
pub const IMPORT_SHOWN: usize = 100;
/// The most rows of one import.
pub const IMPORT_ROWS: usize = 200_000;
/// How far from the server's time a batch may have been made, in milliseconds (S2 §5 step 11, spec D13).
pub const BATCH_AGE_MS: i64 = 24 * 3_600_000;
/// About how many unknown codes in any 60 s a device may learn to be unknown. The server then answers nothing about
/// further unknown codes of that device (spec §5 "Rate limit").
pub const UNKNOWN_CODES_PER_MINUTE: u32 = 30;
/// A batch with at least this many scans is abnormal (S2 §7). So are this many scans of one device within
/// [`ARRIVALS_MS`].
pub const ABNORMAL_BATCH_SCANS: usize = 5_000;
/// How long the scans of a device's small batches are added up for [`ABNORMAL_BATCH_SCANS`], in milliseconds.
pub const ARRIVALS_MS: i64 = 3_600_000;
/// Fewest scans of a device within [`ARRIVALS_MS`] from which the share of failures is judged. One wrong code is no
/// pattern.
pub const ARRIVALS_JUDGED: u64 = 20;
/// A batch whose newest scan is older than this when the batch arrives is delayed, in milliseconds (S2 §8).
pub const DELAYED_BATCH_MS: i64 = 8 * 3_600_000;
/// Failed syncs in a row after which a device is suspended (S2 §7, spec D19).
pub const FAILED_SYNCS: u32 = 5;
/// How often the organisation's ledger notes where its events' ledgers end, in milliseconds (spec D14).
pub const ANCHOR_EVERY_MS: i64 = 3_600_000;
/// How much further back than the last note the search for changed ledgers looks, in milliseconds. A write may commit
/// after a note that was made while the write ran.
pub const ANCHOR_OVERLAP_MS: i64 = 600_000;
/// The most ledgers that one line of the organisation's ledger notes.
pub const ANCHOR_EVENTS: usize = 200;
/// How many lines of a ledger a verification reads at a time.
pub const LEDGER_PAGE: usize = 1_000;
/// The wait after the first failure of a run's step, in milliseconds. It doubles up to [`JOB_RETRY_MAX_MS`].
pub const JOB_RETRY_FIRST_MS: i64 = 1_000;
/// Longest wait between two tries of a step, in milliseconds.
pub const JOB_RETRY_MAX_MS: i64 = 600_000;
/// Tries of one step before its run gives up. With the waits between them they take about a day.
pub const JOB_TRIES: u32 = 150;
/// Shortest and longest wait of a run that needs a setting which the server lacks, in milliseconds.
pub const JOB_NOT_SET_UP_MS: (i64, i64) = (60_000, 300_000);
/// Runs restarted in one transaction, when a person restarts all of an event's runs that are `gave_up`.
pub const RUNS_RETRIED: usize = 200;
/// How long a run belongs to the node that took it, in milliseconds. The node renews this lease while it works.
pub const JOB_LEASE_MS: i64 = 30_000;
/// The most runs under way on one node at a time.
pub const JOBS_AT_ONCE: usize = 32;
/// The most runs under way on one node while scans come in. Syncs need the same processors and disk as the runs.
pub const JOBS_BESIDE_SCANS: usize = 6;
/// How long after the last received scan a node expects more scans, in milliseconds.
pub const DOORS_BUSY_MS: i64 = 1_000;
/// The most runs that a node takes at a time.
pub const JOBS_TAKEN: usize = 128;
/// Longest stored text of why a step failed, in characters.
pub const JOB_PROBLEM_CHARS: usize = 500;
/// A node looks for due runs at least this often, in milliseconds. For runs that it made itself it is woken at once.
pub const JOB_LOOK_MS: i64 = 2_000;
/// How long a stopping server waits for the steps under way, in milliseconds.
pub const JOB_GRACE_MS: u64 = 8_000;
/// How long the server waits for a mail server to take one mail, in milliseconds.
pub const MAIL_MS: u64 = 30_000;
/// How long a probe letter may take, in milliseconds. After that time another letter becomes the probe. A probe finds
/// out whether the mail server takes letters again.
pub const MAIL_PROBE_MS: i64 = 60_000;
/// Longest template of one text of a mail, in bytes.
pub const MAIL_TEMPLATE_BYTES: usize = 32 * 1024;
/// Longest subject of a mail, and longest template of one, in characters.
pub const MAIL_SUBJECT_CHARS: usize = 500;
/// Longest body of a mail, in bytes: some mail programs cut off what is longer.
pub const MAIL_BODY_BYTES: usize = 100 * 1024;
/// The work that one text of a mail may cost, in the template engine's fuel: one unit is an instruction, or 64 bytes of
/// text. The default HTML costs about 250.
pub const MAIL_TEMPLATE_FUEL: u64 = 20_000;
/// How long the server waits for an object store to answer one request, in milliseconds.
pub const OBJECTS_MS: u64 = 15_000;
/// The shortest time between two requests to send a guest's pass again, in milliseconds.
pub const RESEND_MS: i64 = 60_000;
/// Guests whose passes are sent again in one transaction, when a person asks for the passes of many.
pub const RESENT_AT_ONCE: usize = 200;
/// The most earlier runs of a guest that are checked for whether the guest was sent a mail before.
pub const PASS_RUNS: usize = 20;
/// Wrong pass tokens from one network address in any 60 s. Beyond this number the address must wait.
pub const PASS_GUESSES_PER_MINUTE: u32 = 30;
/// Sign-ins from one network address in any 60 s that failed or are under way. Beyond this number the address must
/// wait. Successful sign-ins don't count, because a venue's staff may share one address.
pub const SIGN_INS_PER_MINUTE: u32 = 30;
/// The most network addresses whose wrong tokens are remembered. A new address replaces the oldest.
pub const PASS_GUESSERS: usize = 10_000;
/// How far a webhook message's signing time may lie before or after the server's time, in milliseconds (Standard
/// Webhooks).
pub const WEBHOOK_TOLERANCE_MS: i64 = 300_000;
/// Longest `webhook-id`, in characters.
pub const WEBHOOK_ID_CHARS: usize = 128;
/// The most signatures of one webhook message. A sender that is changing its secret sends two.
pub const WEBHOOK_SIGNATURES: usize = 10;
/// Largest body of a webhook message, in bytes. A row of a table of guests has a few hundred.
pub const WEBHOOK_BODY_BYTES: usize = 256 * 1024;
/// The most messages of a webhook endpoint in any 60 s.
pub const WEBHOOKS_PER_MINUTE: u32 = 12_000;
/// How long an endpoint's old secret is still accepted after a rotation, in milliseconds.
pub const WEBHOOK_OVERLAP_MS: i64 = 24 * 3_600_000;
/// How long the server remembers a message's id and its answer, in milliseconds.
pub const WEBHOOK_KEEP_MS: i64 = 90 * 24 * 3_600_000;
/// Longest stored text of why an endpoint's last message was refused, in characters.
pub const WEBHOOK_PROBLEM_CHARS: usize = 500;
/// Lines of an organiser's outbox that a relay reads at a time.
pub const RELAY_LINES: usize = 500;
/// Guests whose outbox lines a relay sends at the same time.
pub const RELAY_AT_ONCE: usize = 8;
/// How often a relay reads the outbox when no notification arrived, in milliseconds.
pub const RELAY_POLL_MS: i64 = 5_000;
/// Longest wait between two tries of a relay whose database or endpoint does not answer, in milliseconds.
pub const RELAY_RETRY_MAX_MS: i64 = 60_000;
/// How long delivered lines stay in the outbox, in milliseconds. The time is bounded because lines hold names and
/// addresses.
pub const RELAY_KEEP_MS: i64 = 30 * 24 * 3_600_000;
/// How long a relay waits for the answer to one message, in milliseconds.
pub const RELAY_MESSAGE_MS: u64 = 30_000;
/// The most webhook endpoints of an organisation.
pub const WEBHOOK_ENDPOINTS: usize = 200;
/// Longest name of a column that an endpoint reads, in characters. PostgreSQL's column names have at most 63 bytes.
pub const COLUMN_CHARS: usize = 128;

// ------------------------------------------------------------------------------------- the scanner engine (`device`)

/// Uncertainty of a phone's wall clock before its first exchange with the server, in milliseconds. Nothing confirms
/// that clock, and one Android clock in thirty is hours off.
pub const CLOCK_UNKNOWN_MS: u64 = 7 * 24 * 3_600_000;
/// Added uncertainty of a clock that only the wall clock carried over a restart, in milliseconds.
pub const CLOCK_RESTART_MS: u64 = 60_000;
/// Largest error of a phone's oscillator, in parts per million.
pub const CLOCK_DRIFT_PPM: u64 = 200;
/// Tolerance between the wall clock and the monotonic clock from one input to the next, in milliseconds. The tolerance
/// also grows by [`CLOCK_SLEW_PPM`] of the time between the inputs. A wall clock that is further ahead was stepped, or
/// the phone slept.
pub const CLOCK_STEP_MS: i64 = 50;
/// A gap between wall clock and monotonic clock of at least this size is journalled, in milliseconds. Smaller gaps are
/// covered by [`CLOCK_RESTART_MS`] after a restart.
pub const CLOCK_JOURNAL_MS: i64 = 1_000;
/// The fastest rate at which an operating system corrects its wall clock gradually, in parts per million.
pub const CLOCK_SLEW_PPM: i64 = 500;
/// A gap between wall clock and monotonic clock up to this size is treated as sleep, a larger one as a step of the wall
/// clock, in milliseconds.
pub const CLOCK_SLEEP_MS: i64 = 12 * 3_600_000;
/// The most that one gap between wall clock and monotonic clock adds to the uncertainty, in milliseconds. No tab sleeps
/// longer and still scans the same event.
pub const CLOCK_GAP_MS: i64 = 7 * 24 * 3_600_000;
/// Time between two time exchanges with the server, in milliseconds.
pub const CLOCK_EVERY_MS: i64 = 600_000;
/// The most inputs that wait while a journal append is under way. Beyond this number staff are told to read the code
/// again.
pub const WAITING_INPUTS: usize = 32;
/// If a device reads a code again within this time after it let the code's guest in, it shows the screen `same_ticket`
/// and records nothing. In milliseconds.
pub const SAME_TICKET_MS: i64 = 60_000;
/// The shortest time between two exits of one party, in milliseconds. A code held before the camera counts as one exit.
pub const NEXT_EXIT_MS: i64 = 5_000;
/// A restarted scanner shows its last scan again if the scan is younger than this, in milliseconds. Staff may not have
/// seen it.
pub const SHOW_AGAIN_MS: i64 = 300_000;
/// How long a received scan stays in a phone's journal after its event's end, in milliseconds (spec §3 "Log").
pub const JOURNAL_KEEP_MS: i64 = 30 * 24 * 3_600_000;
/// Journal rows that one step of a purge deletes. A code read during a step waits until it ends.
pub const PURGE_ROWS: usize = 1_000;
/// The most rows of the history, and of the problem list, that a view shows.
pub const HISTORY_ROWS: usize = 50;
/// Wait after the first failed request, in milliseconds. It doubles up to [`RETRY_MAX_MS`] (S1 §4.4).
pub const RETRY_FIRST_MS: i64 = 1_000;
/// Longest wait between two tries, in milliseconds (S1 §4.4).
pub const RETRY_MAX_MS: i64 = 30_000;
/// Tries of a retry round. After them every wait is [`RETRY_MAX_MS`] (S1 §4.4).
pub const RETRY_ROUND: u32 = 5;
/// Longest random wait added to a `Retry-After` after the first failure, in milliseconds. Each further failure in a row
/// adds as much again.
pub const RETRY_SPREAD_MS: i64 = 1_000;
/// Longest `Retry-After` that a device obeys, in milliseconds.
pub const RETRY_AFTER_MAX_MS: i64 = 300_000;
/// How often a device fetches a list again that it could not store, in milliseconds.
pub const UNSAVED_EVERY_MS: i64 = 60_000;
/// How often a device uploads a scan again that the server cannot read, in milliseconds.
pub const POISON_EVERY_MS: i64 = 3_600_000;
/// How often a suspended device uploads its scans again while the server refuses to store them, in milliseconds.
pub const SUSPENDED_EVERY_MS: i64 = 60_000;
/// How often a device tries storage again that refused a write, in milliseconds.
pub const STORAGE_PROBE_MS: i64 = 5_000;
/// How long a device waits for the answer to a request, in milliseconds.
pub const REQUEST_MS: u64 = 20_000;
/// How long a device waits for a whole list, in milliseconds.
pub const MANIFEST_MS: u64 = 120_000;
/// How long a verdict waits for the server's answer, in milliseconds (spec §5 `POST /api/scans`).
pub const ASK_WAIT_MS: i64 = 200;
/// A device asks the server about a scan only if the last round trip took less than this, in milliseconds (spec §5).
pub const ASK_ROUND_MS: i64 = 150;
/// A device asks the server about a scan only if its last round trip is younger than this, in milliseconds (spec §5).
pub const ASK_FRESH_MS: i64 = 10_000;
/// How long a device listens for an answer that is too late for its verdict, in milliseconds. The late answer measures
/// the round trip.
pub const ASK_LISTEN_MS: u64 = 5_000;
/// How long a device stops asking after two questions in a row without an answer in time, in milliseconds. Each further
/// unanswered question doubles the pause.
pub const ASK_PAUSE_MS: i64 = 15_000;
/// The longest pause in asking the server about scans, in milliseconds.
pub const ASK_PAUSE_MAX_MS: i64 = 120_000;
/// How often a device in use measures the round trip to the server, in milliseconds. It must be less than
/// [`ASK_FRESH_MS`].
pub const PING_EVERY_MS: i64 = 8_000;
/// How long a device waits in one measurement of the round trip, in milliseconds. A longer round trip is too slow
/// anyway for a question before the door opens.
pub const PING_MS: u64 = 2_000;
/// How long after a code was read a device counts as in use, in milliseconds.
pub const IN_USE_MS: i64 = 300_000;
/// Pause between two long polls of `changes`, in milliseconds.
pub const CHANGES_PAUSE_MS: i64 = 500;
/// Pause between two long polls of `changes` if the first brought nothing and ended within this time, in milliseconds.
pub const CHANGES_IDLE_MS: i64 = 5_000;
/// The shortest time between two requests for names that may have changed, in milliseconds.
pub const NAMES_EVERY_MS: i64 = 15_000;
/// Fewest letters of a search by name. One letter is enough in a script that writes words or syllables.
pub const SEARCH_CHARS: usize = 2;
/// The most words of a search by name. Further words are ignored.
pub const SEARCH_WORDS: usize = 8;
/// The most letters of each word that a search by name compares.
pub const SEARCH_WORD_CHARS: usize = 32;
/// The most guests that a search by name shows.
pub const SEARCH_ROWS: usize = 50;
/// The most tickets of a booking that are offered together with one of them.
pub const BOOKING_TICKETS: usize = 50;
/// The most other guests of a booking that a search shows after the guest it found.
pub const BOOKING_ROWS: usize = 10;
/// The most deltas applied to a whole list before the device fetches a whole list again.
pub const DELTAS: usize = 8;
/// A device merges the pages of `changes` in its cache into a few once more than this many new ones have come.
pub const CHANGES_PAGES: u64 = 64;
/// Tries of a pairing request whose answer did not arrive.
pub const PAIRING_TRIES: u32 = 5;
/// The most witnesses that a device holds while the server has not confirmed them.
pub const WITNESSES: usize = 16;
/// The longest time between two journal writes of a changing witness, in milliseconds.
pub const WITNESS_EVERY_MS: i64 = 600_000;
