-- The embedded store's schema. The PostgreSQL migration of the same name holds the same tables and names.
-- Every table and unique key starts with organization_id, except for the few tables that are read before the
-- organisation is known.
-- Times are milliseconds since 1970, UTC. Digests and hashes are raw bytes. JSON is text, written by core's wire.

-- ---------------------------------------------------------------- found before an organisation is known
CREATE TABLE settings (
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  CONSTRAINT settings_pk PRIMARY KEY (name)
) STRICT, WITHOUT ROWID;

-- The server's epochs. The one with the highest restored_at_ms is the present one.
CREATE TABLE epochs (
  restored_at_ms INTEGER NOT NULL,
  random INTEGER NOT NULL,
  CONSTRAINT epochs_pk PRIMARY KEY (restored_at_ms, random)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  user_id TEXT NOT NULL,
  email TEXT NOT NULL,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT users_pk PRIMARY KEY (user_id),
  CONSTRAINT users_email_taken UNIQUE (email)
) STRICT;

CREATE TABLE credentials (
  token_hash BLOB NOT NULL,
  organization_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  holder TEXT NOT NULL,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  CONSTRAINT credentials_pk PRIMARY KEY (token_hash)
) STRICT;
CREATE INDEX credentials_holder ON credentials (organization_id, kind, holder);

-- Requests by which devices themselves ask to be paired, before anybody says for which organisation. A request is
-- deleted soon after it expires.
CREATE TABLE pairing_requests (
  token_hash BLOB NOT NULL,
  claim_hash BLOB NOT NULL,
  device_id TEXT NOT NULL,
  name TEXT NOT NULL,
  device_type TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT pairing_requests_pk PRIMARY KEY (token_hash)
) STRICT;
CREATE INDEX pairing_requests_by_end ON pairing_requests (expires_at);

-- The runs that are not done, and the process that carries one out (holder). The table runs has the content of each
-- run. next_at NULL: the run gave up, so only a person can restart it. parked: the run's place in the queue of those
-- that wait for the mail lane.
CREATE TABLE job_queue (
  organization_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  next_at INTEGER,
  fence INTEGER NOT NULL,
  holder TEXT,
  parked INTEGER,
  CONSTRAINT job_queue_pk PRIMARY KEY (organization_id, run_id)
) STRICT;
CREATE INDEX job_queue_due ON job_queue (next_at, run_id) WHERE next_at IS NOT NULL;
CREATE INDEX job_queue_of_holder ON job_queue (holder) WHERE holder IS NOT NULL;
CREATE INDEX job_queue_parked ON job_queue (parked, run_id) WHERE parked IS NOT NULL;

-- The row exists while the mail server refuses all letters, and the parked runs wait until it is gone.
CREATE TABLE mail_lane (
  id INTEGER NOT NULL CONSTRAINT mail_lane_is_one CHECK (id = 1),
  since INTEGER NOT NULL,
  reason TEXT NOT NULL,
  next_at INTEGER NOT NULL,
  pauses INTEGER NOT NULL,
  probe TEXT,
  CONSTRAINT mail_lane_pk PRIMARY KEY (id)
) STRICT;

-- ---------------------------------------------------------------- organisations
CREATE TABLE organizations (
  organization_id TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT organizations_pk PRIMARY KEY (organization_id)
) STRICT;

-- How an organisation's mails look, if it changed that. A column that is NULL stands for the standard look.
CREATE TABLE letterheads (
  organization_id TEXT NOT NULL REFERENCES organizations (organization_id),
  color TEXT,
  subject TEXT,
  reply_to TEXT,
  CONSTRAINT letterheads_pk PRIMARY KEY (organization_id)
) STRICT;

-- An organisation's own mail templates, one row per kind of mail. A text that is NULL stands for the server's own text.
CREATE TABLE mail_templates (
  organization_id TEXT NOT NULL REFERENCES organizations (organization_id),
  kind TEXT NOT NULL,
  subject TEXT,
  body_text TEXT,
  body_html TEXT,
  CONSTRAINT mail_templates_pk PRIMARY KEY (organization_id, kind)
) STRICT;

-- The head of each organisation's own ledger.
CREATE TABLE organization_heads (
  organization_id TEXT NOT NULL,
  audit_n INTEGER NOT NULL,
  audit_head BLOB NOT NULL,
  last_at INTEGER NOT NULL,
  CONSTRAINT organization_heads_pk PRIMARY KEY (organization_id)
) STRICT;

CREATE TABLE members (
  organization_id TEXT NOT NULL REFERENCES organizations (organization_id),
  user_id TEXT NOT NULL REFERENCES users (user_id),
  role TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT members_pk PRIMARY KEY (organization_id, user_id)
) STRICT;
CREATE INDEX members_of_user ON members (user_id, created_at);

CREATE TABLE api_tokens (
  organization_id TEXT NOT NULL REFERENCES organizations (organization_id),
  api_token_id TEXT NOT NULL,
  name TEXT NOT NULL,
  user_id TEXT NOT NULL,
  role TEXT NOT NULL,
  token_hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER,
  CONSTRAINT api_tokens_pk PRIMARY KEY (organization_id, api_token_id)
) STRICT;

-- ---------------------------------------------------------------- events and their order
CREATE TABLE events (
  organization_id TEXT NOT NULL REFERENCES organizations (organization_id),
  event_id TEXT NOT NULL,
  name TEXT NOT NULL,
  venue TEXT NOT NULL,
  time_zone TEXT NOT NULL,
  starts_at INTEGER NOT NULL,
  ends_at INTEGER NOT NULL,
  status TEXT NOT NULL,
  re_entry TEXT NOT NULL,
  min_gap_seconds INTEGER NOT NULL,
  day_starts_at INTEGER NOT NULL, -- minutes after midnight, in the event's time zone
  has_pin INTEGER NOT NULL,
  capacity INTEGER,
  walk_ins INTEGER, -- persons whom staff may add at the doors
  verdict_fields TEXT NOT NULL, -- names of guests' fields, a JSON array
  barcode_kinds TEXT NOT NULL, -- kinds of codes that cameras read in addition to QR, a JSON array
  retention_days INTEGER, -- days after the event's end until its guests' personal data is erased
  created_at INTEGER NOT NULL,
  CONSTRAINT events_pk PRIMARY KEY (organization_id, event_id)
) STRICT;
CREATE INDEX events_newest ON events (organization_id, created_at, event_id);

-- One row per event orders the event's writes. Every write locks the row, and a write that takes a serial raises it.
CREATE TABLE event_heads (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  serial INTEGER NOT NULL,
  last_effective_ms INTEGER NOT NULL,
  audit_n INTEGER NOT NULL,
  audit_head BLOB NOT NULL,
  rules_serial INTEGER NOT NULL,
  event_rules_serial INTEGER NOT NULL,
  reducer_version INTEGER NOT NULL,
  CONSTRAINT event_heads_pk PRIMARY KEY (organization_id, event_id),
  CONSTRAINT event_heads_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
) STRICT, WITHOUT ROWID;

-- The event's head serial when each epoch of the server began.
CREATE TABLE event_epochs (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  restored_at_ms INTEGER NOT NULL,
  random INTEGER NOT NULL,
  base_serial INTEGER NOT NULL,
  CONSTRAINT event_epochs_pk PRIMARY KEY (organization_id, event_id, restored_at_ms, random)
) STRICT, WITHOUT ROWID;

-- Facts. effective_at NULL: the rule holds from the start. The key begins with the subject, because every scan reads
-- the rules of its ticket.
CREATE TABLE rules (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  serial INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  effective_at INTEGER,
  subject_kind TEXT NOT NULL,
  subject_id TEXT NOT NULL,
  field TEXT NOT NULL,
  value TEXT NOT NULL,
  CONSTRAINT rules_pk PRIMARY KEY (organization_id, event_id, subject_kind, subject_id, serial, ordinal)
) STRICT, WITHOUT ROWID;

-- Facts. event_id is empty in the organisation's own ledger.
CREATE TABLE audit (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  at INTEGER NOT NULL,
  user_id TEXT,
  device_id TEXT,
  action TEXT NOT NULL,
  entity_type TEXT NOT NULL,
  entity_id TEXT NOT NULL,
  changes TEXT NOT NULL,
  metadata TEXT NOT NULL,
  head BLOB NOT NULL,
  CONSTRAINT audit_pk PRIMARY KEY (organization_id, event_id, n)
) STRICT;
CREATE INDEX audit_at_serial ON audit (organization_id, event_id, serial, n);
CREATE INDEX audit_of_entity ON audit (organization_id, event_id, entity_id, n) WHERE entity_type IN ('Guest', 'Ticket', 'GuestList');

-- ---------------------------------------------------------------- gates, entry types, guest lists
CREATE TABLE gates (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  gate_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT gates_pk PRIMARY KEY (organization_id, event_id, gate_id),
  CONSTRAINT gates_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
) STRICT;

CREATE TABLE entry_types (
  organization_id TEXT NOT NULL,
  entry_type_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  name TEXT NOT NULL,
  zone TEXT NOT NULL,
  position INTEGER NOT NULL,
  CONSTRAINT entry_types_pk PRIMARY KEY (organization_id, entry_type_id),
  CONSTRAINT entry_types_name UNIQUE (organization_id, event_id, name),
  CONSTRAINT entry_types_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
) STRICT;

CREATE TABLE guest_lists (
  organization_id TEXT NOT NULL,
  guest_list_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  name TEXT NOT NULL,
  promoter_id TEXT,
  created_at INTEGER NOT NULL,
  CONSTRAINT guest_lists_pk PRIMARY KEY (organization_id, guest_list_id),
  CONSTRAINT guest_lists_name UNIQUE (organization_id, event_id, name),
  CONSTRAINT guest_lists_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
) STRICT;

-- ---------------------------------------------------------------- tickets, codes, guests
-- From here on tables have no foreign keys. Their rows come by the ten thousand, from use cases that hold their event's
-- head. hashes: the hash of every code that the ticket ever held, 32 bytes each, oldest first; the table codes finds
-- the ticket by one of them. order_id: the number of the purchase that the ticket belongs to.
CREATE TABLE tickets (
  organization_id TEXT NOT NULL,
  ticket_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  status TEXT NOT NULL,
  entry_limit INTEGER NOT NULL,
  gate_ids TEXT NOT NULL,
  zone TEXT NOT NULL,
  valid_from INTEGER,
  expires_at INTEGER,
  barcode TEXT,
  drawn INTEGER NOT NULL,
  hashes BLOB NOT NULL,
  import_key TEXT,
  order_id TEXT,
  guest_id TEXT,
  rules_serial INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  CONSTRAINT tickets_pk PRIMARY KEY (organization_id, ticket_id),
  CONSTRAINT tickets_import_key UNIQUE (organization_id, event_id, import_key)
) STRICT;
CREATE INDEX tickets_newest ON tickets (organization_id, event_id, created_at, ticket_id);
-- Counts over all tickets of an event read this index alone, without the tickets' rows.
CREATE INDEX tickets_at_a_glance ON tickets (organization_id, event_id, status, entry_limit, ticket_id, order_id);
CREATE INDEX tickets_by_rules ON tickets (organization_id, event_id, rules_serial, ticket_id);

-- The ticket that holds or held a code. A row is never updated: a code given to a ticket is never given to another
-- ticket of the event.
CREATE TABLE codes (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  barcode_hash BLOB NOT NULL,
  ticket_id TEXT NOT NULL,
  CONSTRAINT codes_barcode_taken PRIMARY KEY (organization_id, event_id, barcode_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX codes_of_ticket ON codes (organization_id, event_id, ticket_id);

-- folded: the text that names are sorted by, in lower case and without accents. words: the text in which a search
-- looks, with a space before each word. serial: that of the guest's last change, which orders the names that devices
-- fetch.
CREATE TABLE guests (
  organization_id TEXT NOT NULL,
  guest_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  ticket_id TEXT,
  guest_list_id TEXT,
  entry_type_id TEXT,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  words TEXT NOT NULL,
  email TEXT,
  phone TEXT,
  party_size INTEGER NOT NULL,
  note TEXT,
  flag TEXT,
  fields TEXT NOT NULL, -- the organiser's own fields of the guest, a JSON object
  external_id TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  erased_at INTEGER, -- when the guest's personal data was erased
  CONSTRAINT guests_pk PRIMARY KEY (organization_id, guest_id)
) STRICT;
CREATE INDEX guests_newest ON guests (organization_id, event_id, created_at, guest_id);
CREATE INDEX guests_by_name ON guests (organization_id, event_id, folded, guest_id);
CREATE INDEX guests_by_serial ON guests (organization_id, event_id, serial, guest_id);

-- Imports of files. kept: the former values that undoing the import needs, in the use case's own form.
CREATE TABLE imports (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  import_id TEXT NOT NULL,
  serial INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  file_name TEXT,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  imported_at INTEGER NOT NULL,
  undone_at INTEGER,
  kept TEXT NOT NULL,
  CONSTRAINT imports_pk PRIMARY KEY (organization_id, event_id, import_id)
) STRICT;
CREATE INDEX imports_newest ON imports (organization_id, event_id, serial);

-- The mapping that a person last gave for files whose header has this shape.
CREATE TABLE import_mappings (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  shape TEXT NOT NULL,
  mapping TEXT NOT NULL,
  said_at INTEGER NOT NULL,
  CONSTRAINT import_mappings_pk PRIMARY KEY (organization_id, event_id, shape)
) STRICT, WITHOUT ROWID;

-- Tickets of an import that was undone. Neither they nor their guests are in any list or count.
CREATE TABLE withdrawn_tickets (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  ticket_id TEXT NOT NULL,
  CONSTRAINT withdrawn_tickets_pk PRIMARY KEY (organization_id, event_id, ticket_id)
) STRICT, WITHOUT ROWID;

-- Names of guests whom staff added at a door, by the tickets made from their scans. The scans hold only a digest of
-- name and salt, so a name can be erased.
CREATE TABLE walk_in_names (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  ticket_id TEXT NOT NULL,
  name TEXT NOT NULL,
  salt BLOB NOT NULL,
  CONSTRAINT walk_in_names_pk PRIMARY KEY (organization_id, event_id, ticket_id)
) STRICT, WITHOUT ROWID;

-- ---------------------------------------------------------------- devices, keys, pairing, logs, batches
CREATE TABLE devices (
  organization_id TEXT NOT NULL,
  device_id TEXT NOT NULL,
  name TEXT NOT NULL,
  device_type TEXT NOT NULL,
  event_id TEXT NOT NULL,
  gate_id TEXT NOT NULL,
  state TEXT NOT NULL,
  revoked_at INTEGER,
  lost_since INTEGER,
  created_at INTEGER NOT NULL,
  last_seen_at INTEGER,
  last_sync_at INTEGER,
  pending INTEGER NOT NULL,
  battery INTEGER,
  app_version TEXT NOT NULL,
  manifest_version INTEGER NOT NULL,
  clock_offset_ms INTEGER,
  failed_syncs INTEGER NOT NULL,
  code_reused_at INTEGER,
  rung_at INTEGER,
  arrived_since INTEGER,
  arrived INTEGER NOT NULL DEFAULT 0,
  arrived_failed INTEGER NOT NULL DEFAULT 0,
  figures_id INTEGER,
  CONSTRAINT devices_pk PRIMARY KEY (organization_id, device_id)
) STRICT;
CREATE INDEX devices_of_event ON devices (organization_id, event_id, created_at, device_id);

CREATE TABLE device_keys (
  organization_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  device_id TEXT NOT NULL,
  token_hash BLOB NOT NULL,
  sealed_scan_key BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  first_used_at INTEGER,
  revoked_at INTEGER,
  replaced_at INTEGER,
  paired_by BLOB,
  CONSTRAINT device_keys_pk PRIMARY KEY (organization_id, key_id)
) STRICT;
CREATE INDEX device_keys_of_device ON device_keys (organization_id, device_id, created_at, key_id);

CREATE TABLE pairing_tokens (
  organization_id TEXT NOT NULL,
  token_hash BLOB NOT NULL,
  event_id TEXT NOT NULL,
  gate_id TEXT NOT NULL,
  device_id TEXT,
  uses INTEGER NOT NULL,
  used_by TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  claim_hash BLOB,
  CONSTRAINT pairing_tokens_pk PRIMARY KEY (organization_id, token_hash)
) STRICT;

CREATE TABLE logs (
  organization_id TEXT NOT NULL,
  device_id TEXT NOT NULL,
  log_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  head INTEGER NOT NULL,
  received TEXT NOT NULL,
  closed_at INTEGER,
  CONSTRAINT logs_pk PRIMARY KEY (organization_id, device_id, log_id)
) STRICT;
CREATE INDEX logs_of_event ON logs (organization_id, event_id, device_id, log_id);

-- Facts. answer: compressed.
CREATE TABLE batches (
  organization_id TEXT NOT NULL,
  device_id TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  batch_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  digest BLOB NOT NULL,
  answer BLOB NOT NULL,
  status TEXT NOT NULL,
  batch_size INTEGER NOT NULL,
  processed_count INTEGER NOT NULL,
  error_count INTEGER NOT NULL,
  offset_seconds INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  synced_at INTEGER NOT NULL,
  CONSTRAINT batches_pk PRIMARY KEY (organization_id, device_id, endpoint, batch_id)
) STRICT;
CREATE INDEX batches_in_order ON batches (organization_id, event_id, serial, device_id);

-- Facts.
CREATE TABLE rejected (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  device_id TEXT NOT NULL,
  scan_id TEXT,
  log_id TEXT,
  seq INTEGER,
  reason TEXT NOT NULL,
  body TEXT NOT NULL,
  received_at INTEGER NOT NULL
) STRICT;
CREATE INDEX rejected_of_device ON rejected (organization_id, event_id, device_id, received_at);

-- ---------------------------------------------------------------- scans: facts
-- A block holds up to 14 scans of one author and one log that arrived one after the other (core's `block`). The subject
-- of a scan is not stored: a ticket may be made after its scan. An index in memory, made of the blocks, finds scans.
-- position: the serial of the write times 16,384, plus the block's number in the write. carrier: the device that sent
-- the scans, NULL for their author. first_seq, last_seq: the lowest and the highest of the scans' places in the log.
-- withheld: how many of the scans are withheld. checksum: of the block's own check and the checksum of the block before.
CREATE TABLE scan_blocks (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  device_id TEXT NOT NULL,
  log_id TEXT,
  first_seq INTEGER,
  last_seq INTEGER,
  withheld INTEGER NOT NULL,
  carrier TEXT,
  batch_id TEXT,
  checksum INTEGER NOT NULL,
  block BLOB NOT NULL,
  CONSTRAINT scan_blocks_pk PRIMARY KEY (organization_id, event_id, position)
) STRICT;
CREATE INDEX scan_blocks_of_log ON scan_blocks (organization_id, device_id, log_id, last_seq);

-- The proof of authorship that each later delivery of a stored content brought.
CREATE TABLE deliveries (
  organization_id TEXT NOT NULL,
  scan_id TEXT NOT NULL,
  device_id TEXT NOT NULL,
  digest BLOB NOT NULL,
  serial INTEGER NOT NULL,
  signature_state TEXT NOT NULL,
  withheld INTEGER NOT NULL,
  offset_seconds INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  judged_serial INTEGER,
  judged_outcome TEXT,
  carrier TEXT NOT NULL
) STRICT;
CREATE INDEX deliveries_of_scan ON deliveries (organization_id, scan_id, device_id, digest);

CREATE TABLE reviews (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  serial INTEGER NOT NULL,
  device_id TEXT NOT NULL,
  scan_id TEXT NOT NULL,
  digest BLOB NOT NULL,
  decision TEXT NOT NULL,
  user_id TEXT NOT NULL,
  note TEXT NOT NULL,
  at INTEGER NOT NULL,
  CONSTRAINT reviews_pk PRIMARY KEY (organization_id, event_id, serial, device_id, scan_id, digest)
) STRICT;
CREATE INDEX reviews_of_scan ON reviews (organization_id, scan_id, device_id, digest);

-- ---------------------------------------------------------------- derived: `admit rebuild` makes these again
-- The reducer's results for subjects, with the verdicts of their scans, in blocks like those of scans. Each write appends
-- the states that it changed, and the newest state of a subject is the valid one. If a subject loses its last scan to
-- another subject, its state without scans stays, because devices that follow the event's changes must learn of it.
-- position: the serial of the write times 1,048,576, plus the block's number in the write. checksum: as of blocks of scans.
CREATE TABLE state_blocks (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  block BLOB NOT NULL,
  CONSTRAINT state_blocks_pk PRIMARY KEY (organization_id, event_id, position)
) STRICT;
-- Judgements that are too long for a block, of tickets with many scans. The next judgement of the same subject overwrites
-- the row.
CREATE TABLE long_judgements (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  serial INTEGER NOT NULL,
  judgement BLOB NOT NULL,
  CONSTRAINT long_judgements_pk PRIMARY KEY (organization_id, event_id, subject)
) STRICT;

-- Scans that count nothing until a person accepts them. They are few, and are looked up by device.
CREATE TABLE waiting (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  device_id TEXT NOT NULL,
  scan_id TEXT NOT NULL,
  digest BLOB NOT NULL,
  CONSTRAINT waiting_pk PRIMARY KEY (organization_id, event_id, subject, device_id, scan_id, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX waiting_of_device ON waiting (organization_id, device_id);

-- Persons through each gate in each minute since 1970.
CREATE TABLE flow (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  minute INTEGER NOT NULL,
  gate_id TEXT NOT NULL,
  entered INTEGER NOT NULL,
  exited INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  without_ticket INTEGER NOT NULL,
  CONSTRAINT flow_pk PRIMARY KEY (organization_id, event_id, minute, gate_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE occupancy (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  serial INTEGER NOT NULL,
  inside INTEGER NOT NULL,
  inside_over INTEGER NOT NULL,
  entered INTEGER NOT NULL,
  over INTEGER NOT NULL,
  exited INTEGER NOT NULL,
  subjects INTEGER NOT NULL,
  walk_ins INTEGER NOT NULL,
  staff INTEGER NOT NULL,
  crew INTEGER NOT NULL,
  child INTEGER NOT NULL,
  other INTEGER NOT NULL,
  CONSTRAINT occupancy_pk PRIMARY KEY (organization_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE occupancy_gates (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  gate_id TEXT NOT NULL,
  entered INTEGER NOT NULL,
  exited INTEGER NOT NULL,
  without_ticket INTEGER NOT NULL,
  CONSTRAINT occupancy_gates_pk PRIMARY KEY (organization_id, event_id, gate_id)
) STRICT, WITHOUT ROWID;

-- The recounts that count. A recount is the number of all persons in the area behind a gate at a time.
CREATE TABLE recounts (
  organization_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  device_id TEXT NOT NULL,
  scan_id TEXT NOT NULL,
  gate_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  inside INTEGER NOT NULL,
  CONSTRAINT recounts_pk PRIMARY KEY (organization_id, event_id, subject, device_id, scan_id)
) STRICT, WITHOUT ROWID;

-- Causes are derived. That a person resolved a cause with a digest is the person's act, and survives a rebuild.
CREATE TABLE incidents (
  organization_id TEXT NOT NULL,
  incident_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  kind TEXT NOT NULL,
  severity TEXT NOT NULL,
  queued INTEGER NOT NULL,
  digest BLOB NOT NULL,
  cause TEXT NOT NULL,
  status TEXT NOT NULL,
  resolved_digest BLOB,
  resolved_by TEXT,
  resolution TEXT,
  resolution_note TEXT,
  resolved_at INTEGER,
  opened_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  serial INTEGER NOT NULL,
  CONSTRAINT incidents_pk PRIMARY KEY (organization_id, incident_id),
  CONSTRAINT incidents_subject_kind UNIQUE (organization_id, event_id, subject, kind)
) STRICT;
CREATE INDEX incidents_newest ON incidents (organization_id, event_id, opened_at, incident_id);
CREATE INDEX incidents_open ON incidents (organization_id, event_id, status, kind);
CREATE INDEX incidents_decided ON incidents (organization_id, event_id, resolved_at, incident_id) WHERE resolved_by IS NOT NULL;

-- ---------------------------------------------------------------- workflows
CREATE TABLE runs (
  organization_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  event_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  input TEXT NOT NULL,
  state TEXT NOT NULL,
  tries INTEGER NOT NULL,
  step TEXT,
  problem TEXT,
  next_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CONSTRAINT runs_pk PRIMARY KEY (organization_id, run_id)
) STRICT;
CREATE INDEX runs_newest ON runs (organization_id, created_at, run_id);
CREATE INDEX runs_of_kind ON runs (organization_id, event_id, kind, subject);
-- Runs that wait or gave up. They are few, and every look at the guests counts them.
CREATE INDEX runs_unfinished ON runs (organization_id, event_id, kind, subject) WHERE state <> 'done';
CREATE INDEX runs_of_subject ON runs (organization_id, subject, created_at, run_id);

-- The result of each step of a run that is done. place: the step's place in the order in which the steps were done.
CREATE TABLE steps (
  organization_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  name TEXT NOT NULL,
  place INTEGER NOT NULL,
  output BLOB NOT NULL,
  tries INTEGER NOT NULL,
  began_at INTEGER NOT NULL,
  done_at INTEGER NOT NULL,
  CONSTRAINT steps_pk PRIMARY KEY (organization_id, run_id, name)
) STRICT;

-- ---------------------------------------------------------------- webhooks
-- former_secret: the secret before a rotation, accepted until former_until. received_at, refused_at and problem are
-- about messages with a right signature only.
CREATE TABLE webhook_endpoints (
  organization_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL,
  event_id TEXT NOT NULL,
  name TEXT NOT NULL,
  columns TEXT NOT NULL,
  sealed_secret BLOB NOT NULL,
  former_secret BLOB,
  former_until INTEGER,
  created_at INTEGER NOT NULL,
  disabled_at INTEGER,
  received_at INTEGER,
  refused_at INTEGER,
  problem TEXT,
  CONSTRAINT webhook_endpoints_pk PRIMARY KEY (organization_id, endpoint_id),
  CONSTRAINT webhook_endpoints_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
) STRICT;

-- The messages that were accepted. The same message again gets the same answer and has no effect.
CREATE TABLE webhook_messages (
  organization_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL,
  webhook_id TEXT NOT NULL,
  digest BLOB NOT NULL,
  answer TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  CONSTRAINT webhook_messages_pk PRIMARY KEY (organization_id, endpoint_id, webhook_id)
) STRICT;
CREATE INDEX webhook_messages_by_time ON webhook_messages (organization_id, endpoint_id, received_at);

-- The newest state that an endpoint received of each row of the sender's table. changed_us: the row's own time of
-- change, in microseconds since 1970. said: a short hash of the last value of each field.
CREATE TABLE webhook_rows (
  organization_id TEXT NOT NULL,
  endpoint_id TEXT NOT NULL,
  external_id TEXT NOT NULL,
  sequence INTEGER,
  changed_us INTEGER,
  deleted_at INTEGER,
  said TEXT NOT NULL DEFAULT '{}',
  CONSTRAINT webhook_rows_pk PRIMARY KEY (organization_id, endpoint_id, external_id)
) STRICT;

-- ---------------------------------------------------------------- facts are insert-only
CREATE TRIGGER rules_no_update BEFORE UPDATE ON rules BEGIN SELECT RAISE(ABORT, 'facts are insert-only: rules'); END;
CREATE TRIGGER rules_no_delete BEFORE DELETE ON rules BEGIN SELECT RAISE(ABORT, 'facts are insert-only: rules'); END;
CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'facts are insert-only: audit'); END;
CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'facts are insert-only: audit'); END;
CREATE TRIGGER batches_no_update BEFORE UPDATE ON batches BEGIN SELECT RAISE(ABORT, 'facts are insert-only: batches'); END;
CREATE TRIGGER batches_no_delete BEFORE DELETE ON batches BEGIN SELECT RAISE(ABORT, 'facts are insert-only: batches'); END;
CREATE TRIGGER rejected_no_update BEFORE UPDATE ON rejected BEGIN SELECT RAISE(ABORT, 'facts are insert-only: rejected'); END;
CREATE TRIGGER rejected_no_delete BEFORE DELETE ON rejected BEGIN SELECT RAISE(ABORT, 'facts are insert-only: rejected'); END;
CREATE TRIGGER scan_blocks_no_update BEFORE UPDATE ON scan_blocks BEGIN SELECT RAISE(ABORT, 'facts are insert-only: scan_blocks'); END;
CREATE TRIGGER scan_blocks_no_delete BEFORE DELETE ON scan_blocks BEGIN SELECT RAISE(ABORT, 'facts are insert-only: scan_blocks'); END;
CREATE TRIGGER deliveries_no_update BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'facts are insert-only: deliveries'); END;
CREATE TRIGGER deliveries_no_delete BEFORE DELETE ON deliveries BEGIN SELECT RAISE(ABORT, 'facts are insert-only: deliveries'); END;
CREATE TRIGGER reviews_no_update BEFORE UPDATE ON reviews BEGIN SELECT RAISE(ABORT, 'facts are insert-only: reviews'); END;
CREATE TRIGGER reviews_no_delete BEFORE DELETE ON reviews BEGIN SELECT RAISE(ABORT, 'facts are insert-only: reviews'); END;
