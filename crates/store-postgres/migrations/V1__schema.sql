-- The PostgreSQL store's schema. The embedded store's migration of the same name holds the same tables and names.
-- Text compares by bytes (COLLATE "C"), as in SQLite. So both stores give the same order.
-- Every table and unique key starts with organization_id, except for the few tables that are read before the
-- organisation is known.
-- Times are milliseconds since 1970, UTC. Digests and hashes are raw bytes. JSON is text, written by core's wire.

-- ---------------------------------------------------------------- found before an organisation is known
CREATE TABLE settings (
  name TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  CONSTRAINT settings_pk PRIMARY KEY (name)
);

-- The server's epochs. The one with the highest restored_at_ms is the present one.
CREATE TABLE epochs (
  restored_at_ms BIGINT NOT NULL,
  random BIGINT NOT NULL,
  CONSTRAINT epochs_pk PRIMARY KEY (restored_at_ms, random)
);

CREATE TABLE users (
  user_id TEXT COLLATE "C" NOT NULL,
  email TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  password_hash TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT users_pk PRIMARY KEY (user_id),
  CONSTRAINT users_email_taken UNIQUE (email)
);

CREATE TABLE credentials (
  token_hash BYTEA NOT NULL,
  organization_id TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  holder TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT,
  created_at BIGINT NOT NULL,
  CONSTRAINT credentials_pk PRIMARY KEY (token_hash)
);
CREATE INDEX credentials_holder ON credentials (organization_id, kind, holder);

-- Requests by which devices themselves ask to be paired, before anybody says for which organisation. A request is
-- deleted soon after it expires.
CREATE TABLE pairing_requests (
  token_hash BYTEA NOT NULL,
  claim_hash BYTEA NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  device_type TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT pairing_requests_pk PRIMARY KEY (token_hash)
);
CREATE INDEX pairing_requests_by_end ON pairing_requests (expires_at);

-- The runs that are not done, and the process that carries one out (holder). The table runs has the content of each
-- run. next_at NULL: the run gave up, so only a person can restart it. parked: the run's place in the queue of those
-- that wait for the mail lane.
CREATE TABLE job_queue (
  organization_id TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  next_at BIGINT,
  fence BIGINT NOT NULL,
  holder TEXT COLLATE "C",
  parked BIGINT,
  CONSTRAINT job_queue_pk PRIMARY KEY (organization_id, run_id)
);
CREATE INDEX job_queue_due ON job_queue (next_at, run_id) WHERE next_at IS NOT NULL;
CREATE INDEX job_queue_of_holder ON job_queue (holder) WHERE holder IS NOT NULL;
CREATE INDEX job_queue_parked ON job_queue (parked, run_id) WHERE parked IS NOT NULL;

-- The row exists while the mail server refuses all letters, and the parked runs wait until it is gone.
CREATE TABLE mail_lane (
  id BIGINT NOT NULL CONSTRAINT mail_lane_is_one CHECK (id = 1),
  since BIGINT NOT NULL,
  reason TEXT COLLATE "C" NOT NULL,
  next_at BIGINT NOT NULL,
  pauses BIGINT NOT NULL,
  probe TEXT COLLATE "C",
  CONSTRAINT mail_lane_pk PRIMARY KEY (id)
);

-- ---------------------------------------------------------------- organisations
CREATE TABLE organizations (
  organization_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT organizations_pk PRIMARY KEY (organization_id)
);

-- How an organisation's mails look, if it changed that. A column that is NULL stands for the standard look.
CREATE TABLE letterheads (
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id),
  color TEXT COLLATE "C",
  subject TEXT COLLATE "C",
  reply_to TEXT COLLATE "C",
  CONSTRAINT letterheads_pk PRIMARY KEY (organization_id)
);

-- An organisation's own mail templates, one row per kind of mail. A text that is NULL stands for the server's own text.
CREATE TABLE mail_templates (
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id),
  kind TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C",
  body_text TEXT COLLATE "C",
  body_html TEXT COLLATE "C",
  CONSTRAINT mail_templates_pk PRIMARY KEY (organization_id, kind)
);

-- The head of each organisation's own ledger.
CREATE TABLE organization_heads (
  organization_id TEXT COLLATE "C" NOT NULL,
  audit_n BIGINT NOT NULL,
  audit_head BYTEA NOT NULL,
  last_at BIGINT NOT NULL,
  CONSTRAINT organization_heads_pk PRIMARY KEY (organization_id)
);

CREATE TABLE members (
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id),
  user_id TEXT COLLATE "C" NOT NULL REFERENCES users (user_id),
  role TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT members_pk PRIMARY KEY (organization_id, user_id)
);
CREATE INDEX members_of_user ON members (user_id, created_at);

CREATE TABLE api_tokens (
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id),
  api_token_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  role TEXT COLLATE "C" NOT NULL,
  token_hash BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT,
  CONSTRAINT api_tokens_pk PRIMARY KEY (organization_id, api_token_id)
);

-- ---------------------------------------------------------------- events and their order
CREATE TABLE events (
  organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (organization_id),
  event_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  venue TEXT COLLATE "C" NOT NULL,
  time_zone TEXT COLLATE "C" NOT NULL,
  starts_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  re_entry TEXT COLLATE "C" NOT NULL,
  min_gap_seconds BIGINT NOT NULL,
  day_starts_at BIGINT NOT NULL, -- minutes after midnight, in the event's time zone
  has_pin BOOLEAN NOT NULL,
  capacity BIGINT,
  walk_ins BIGINT, -- persons whom staff may add at the doors
  verdict_fields TEXT COLLATE "C" NOT NULL, -- names of guests' fields, a JSON array
  barcode_kinds TEXT COLLATE "C" NOT NULL, -- kinds of codes that cameras read in addition to QR, a JSON array
  retention_days BIGINT, -- days after the event's end until its guests' personal data is erased
  created_at BIGINT NOT NULL,
  CONSTRAINT events_pk PRIMARY KEY (organization_id, event_id)
);
CREATE INDEX events_newest ON events (organization_id, created_at, event_id);

-- One row per event orders the event's writes. Every write locks the row, and a write that takes a serial raises it.
CREATE TABLE event_heads (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  serial BIGINT NOT NULL,
  last_effective_ms BIGINT NOT NULL,
  audit_n BIGINT NOT NULL,
  audit_head BYTEA NOT NULL,
  rules_serial BIGINT NOT NULL,
  event_rules_serial BIGINT NOT NULL,
  reducer_version BIGINT NOT NULL,
  CONSTRAINT event_heads_pk PRIMARY KEY (organization_id, event_id),
  CONSTRAINT event_heads_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
);

-- The event's head serial when each epoch of the server began.
CREATE TABLE event_epochs (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  restored_at_ms BIGINT NOT NULL,
  random BIGINT NOT NULL,
  base_serial BIGINT NOT NULL,
  CONSTRAINT event_epochs_pk PRIMARY KEY (organization_id, event_id, restored_at_ms, random)
);

-- Facts. effective_at NULL: the rule holds from the start. The key begins with the subject, because every scan reads
-- the rules of its ticket.
CREATE TABLE rules (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  serial BIGINT NOT NULL,
  ordinal BIGINT NOT NULL,
  effective_at BIGINT,
  subject_kind TEXT COLLATE "C" NOT NULL,
  subject_id TEXT COLLATE "C" NOT NULL,
  field TEXT COLLATE "C" NOT NULL,
  value TEXT COLLATE "C" NOT NULL,
  CONSTRAINT rules_pk PRIMARY KEY (organization_id, event_id, subject_kind, subject_id, serial, ordinal)
);

-- Facts. event_id is empty in the organisation's own ledger.
CREATE TABLE audit (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  n BIGINT NOT NULL,
  serial BIGINT NOT NULL,
  at BIGINT NOT NULL,
  user_id TEXT COLLATE "C",
  device_id TEXT COLLATE "C",
  action TEXT COLLATE "C" NOT NULL,
  entity_type TEXT COLLATE "C" NOT NULL,
  entity_id TEXT COLLATE "C" NOT NULL,
  changes TEXT COLLATE "C" NOT NULL,
  metadata TEXT COLLATE "C" NOT NULL,
  head BYTEA NOT NULL,
  CONSTRAINT audit_pk PRIMARY KEY (organization_id, event_id, n)
);
CREATE INDEX audit_at_serial ON audit (organization_id, event_id, serial, n);
CREATE INDEX audit_of_entity ON audit (organization_id, event_id, entity_id, n) WHERE entity_type IN ('Guest', 'Ticket', 'GuestList');

-- ---------------------------------------------------------------- gates, entry types, guest lists
CREATE TABLE gates (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  gate_id TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT gates_pk PRIMARY KEY (organization_id, event_id, gate_id),
  CONSTRAINT gates_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
);

CREATE TABLE entry_types (
  organization_id TEXT COLLATE "C" NOT NULL,
  entry_type_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  zone TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  CONSTRAINT entry_types_pk PRIMARY KEY (organization_id, entry_type_id),
  CONSTRAINT entry_types_name UNIQUE (organization_id, event_id, name),
  CONSTRAINT entry_types_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
);

CREATE TABLE guest_lists (
  organization_id TEXT COLLATE "C" NOT NULL,
  guest_list_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  promoter_id TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  CONSTRAINT guest_lists_pk PRIMARY KEY (organization_id, guest_list_id),
  CONSTRAINT guest_lists_name UNIQUE (organization_id, event_id, name),
  CONSTRAINT guest_lists_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
);

-- ---------------------------------------------------------------- tickets, codes, guests
-- From here on tables have no foreign keys. Their rows come by the ten thousand, from use cases that hold their event's
-- head. hashes: the hash of every code that the ticket ever held, 32 bytes each, oldest first; the table codes finds
-- the ticket by one of them. order_id: the number of the purchase that the ticket belongs to.
CREATE TABLE tickets (
  organization_id TEXT COLLATE "C" NOT NULL,
  ticket_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  entry_limit BIGINT NOT NULL,
  gate_ids TEXT COLLATE "C" NOT NULL,
  zone TEXT COLLATE "C" NOT NULL,
  valid_from BIGINT,
  expires_at BIGINT,
  barcode TEXT COLLATE "C",
  drawn BOOLEAN NOT NULL,
  hashes BYTEA NOT NULL,
  import_key TEXT COLLATE "C",
  order_id TEXT COLLATE "C",
  guest_id TEXT COLLATE "C",
  rules_serial BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  CONSTRAINT tickets_pk PRIMARY KEY (organization_id, ticket_id),
  CONSTRAINT tickets_import_key UNIQUE (organization_id, event_id, import_key)
);
CREATE INDEX tickets_newest ON tickets (organization_id, event_id, created_at, ticket_id);
-- Counts over all tickets of an event read this index alone, without the tickets' rows.
CREATE INDEX tickets_at_a_glance ON tickets (organization_id, event_id, status, entry_limit, ticket_id, order_id);
CREATE INDEX tickets_by_rules ON tickets (organization_id, event_id, rules_serial, ticket_id);

-- The ticket that holds or held a code. A row is never updated: a code given to a ticket is never given to another
-- ticket of the event.
CREATE TABLE codes (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  barcode_hash BYTEA NOT NULL,
  ticket_id TEXT COLLATE "C" NOT NULL,
  CONSTRAINT codes_barcode_taken PRIMARY KEY (organization_id, event_id, barcode_hash)
);
CREATE INDEX codes_of_ticket ON codes (organization_id, event_id, ticket_id);

-- folded: the text that names are sorted by, in lower case and without accents. words: the text in which a search
-- looks, with a space before each word. serial: that of the guest's last change, which orders the names that devices
-- fetch.
CREATE TABLE guests (
  organization_id TEXT COLLATE "C" NOT NULL,
  guest_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  ticket_id TEXT COLLATE "C",
  guest_list_id TEXT COLLATE "C",
  entry_type_id TEXT COLLATE "C",
  name TEXT COLLATE "C" NOT NULL,
  folded TEXT COLLATE "C" NOT NULL,
  words TEXT COLLATE "C" NOT NULL,
  email TEXT COLLATE "C",
  phone TEXT COLLATE "C",
  party_size BIGINT NOT NULL,
  note TEXT COLLATE "C",
  flag TEXT COLLATE "C",
  fields TEXT COLLATE "C" NOT NULL, -- the organiser's own fields of the guest, a JSON object
  external_id TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  serial BIGINT NOT NULL,
  erased_at BIGINT, -- when the guest's personal data was erased
  CONSTRAINT guests_pk PRIMARY KEY (organization_id, guest_id)
);
CREATE INDEX guests_newest ON guests (organization_id, event_id, created_at, guest_id);
CREATE INDEX guests_by_name ON guests (organization_id, event_id, folded, guest_id);
CREATE INDEX guests_by_serial ON guests (organization_id, event_id, serial, guest_id);

-- Imports of files. kept: the former values that undoing the import needs, in the use case's own form.
CREATE TABLE imports (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  import_id TEXT COLLATE "C" NOT NULL,
  serial BIGINT NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  file_name TEXT COLLATE "C",
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  imported_at BIGINT NOT NULL,
  undone_at BIGINT,
  kept TEXT COLLATE "C" NOT NULL,
  CONSTRAINT imports_pk PRIMARY KEY (organization_id, event_id, import_id)
);
CREATE INDEX imports_newest ON imports (organization_id, event_id, serial);

-- The mapping that a person last gave for files whose header has this shape.
CREATE TABLE import_mappings (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  shape TEXT COLLATE "C" NOT NULL,
  mapping TEXT COLLATE "C" NOT NULL,
  said_at BIGINT NOT NULL,
  CONSTRAINT import_mappings_pk PRIMARY KEY (organization_id, event_id, shape)
);

-- Tickets of an import that was undone. Neither they nor their guests are in any list or count.
CREATE TABLE withdrawn_tickets (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  ticket_id TEXT COLLATE "C" NOT NULL,
  CONSTRAINT withdrawn_tickets_pk PRIMARY KEY (organization_id, event_id, ticket_id)
);

-- Names of guests whom staff added at a door, by the tickets made from their scans. The scans hold only a digest of
-- name and salt, so a name can be erased.
CREATE TABLE walk_in_names (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  ticket_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  salt BYTEA NOT NULL,
  CONSTRAINT walk_in_names_pk PRIMARY KEY (organization_id, event_id, ticket_id)
);

-- ---------------------------------------------------------------- devices, keys, pairing, logs, batches
CREATE TABLE devices (
  organization_id TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  device_type TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  gate_id TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  revoked_at BIGINT,
  lost_since BIGINT,
  created_at BIGINT NOT NULL,
  last_seen_at BIGINT,
  last_sync_at BIGINT,
  pending BIGINT NOT NULL,
  battery BIGINT,
  app_version TEXT COLLATE "C" NOT NULL,
  manifest_version BIGINT NOT NULL,
  clock_offset_ms BIGINT,
  failed_syncs BIGINT NOT NULL,
  code_reused_at BIGINT,
  rung_at BIGINT,
  arrived_since BIGINT,
  arrived BIGINT NOT NULL DEFAULT 0,
  arrived_failed BIGINT NOT NULL DEFAULT 0,
  figures_id BIGINT,
  CONSTRAINT devices_pk PRIMARY KEY (organization_id, device_id)
);
CREATE INDEX devices_of_event ON devices (organization_id, event_id, created_at, device_id);

CREATE TABLE device_keys (
  organization_id TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  token_hash BYTEA NOT NULL,
  sealed_scan_key BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  first_used_at BIGINT,
  revoked_at BIGINT,
  replaced_at BIGINT,
  paired_by BYTEA,
  CONSTRAINT device_keys_pk PRIMARY KEY (organization_id, key_id)
);
CREATE INDEX device_keys_of_device ON device_keys (organization_id, device_id, created_at, key_id);

CREATE TABLE pairing_tokens (
  organization_id TEXT COLLATE "C" NOT NULL,
  token_hash BYTEA NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  gate_id TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C",
  uses BIGINT NOT NULL,
  used_by TEXT COLLATE "C" NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  claim_hash BYTEA,
  CONSTRAINT pairing_tokens_pk PRIMARY KEY (organization_id, token_hash)
);

CREATE TABLE logs (
  organization_id TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  log_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  head BIGINT NOT NULL,
  received TEXT COLLATE "C" NOT NULL,
  closed_at BIGINT,
  CONSTRAINT logs_pk PRIMARY KEY (organization_id, device_id, log_id)
);
CREATE INDEX logs_of_event ON logs (organization_id, event_id, device_id, log_id);

-- Facts. answer: compressed.
CREATE TABLE batches (
  organization_id TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  endpoint TEXT COLLATE "C" NOT NULL,
  batch_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  answer BYTEA NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  batch_size BIGINT NOT NULL,
  processed_count BIGINT NOT NULL,
  error_count BIGINT NOT NULL,
  offset_seconds BIGINT NOT NULL,
  serial BIGINT NOT NULL,
  synced_at BIGINT NOT NULL,
  CONSTRAINT batches_pk PRIMARY KEY (organization_id, device_id, endpoint, batch_id)
);
CREATE INDEX batches_in_order ON batches (organization_id, event_id, serial, device_id);

-- Facts.
CREATE TABLE rejected (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  scan_id TEXT COLLATE "C",
  log_id TEXT COLLATE "C",
  seq BIGINT,
  reason TEXT COLLATE "C" NOT NULL,
  body TEXT COLLATE "C" NOT NULL,
  received_at BIGINT NOT NULL
);
CREATE INDEX rejected_of_device ON rejected (organization_id, event_id, device_id, received_at);

-- ---------------------------------------------------------------- scans: facts
-- A block holds up to 14 scans of one author and one log that arrived one after the other (core's `block`). The subject
-- of a scan is not stored: a ticket may be made after its scan. An index in memory, made of the blocks, finds scans.
-- position: the serial of the write times 16,384, plus the block's number in the write. carrier: the device that sent
-- the scans, NULL for their author. first_seq, last_seq: the lowest and the highest of the scans' places in the log.
-- withheld: how many of the scans are withheld. checksum: of the block's own check and the checksum of the block before.
CREATE TABLE scan_blocks (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  log_id TEXT COLLATE "C",
  first_seq BIGINT,
  last_seq BIGINT,
  withheld BIGINT NOT NULL,
  carrier TEXT COLLATE "C",
  batch_id TEXT COLLATE "C",
  checksum BIGINT NOT NULL,
  block BYTEA NOT NULL,
  CONSTRAINT scan_blocks_pk PRIMARY KEY (organization_id, event_id, position)
);
CREATE INDEX scan_blocks_of_log ON scan_blocks (organization_id, device_id, log_id, last_seq);
-- A block is compressed already.
ALTER TABLE scan_blocks ALTER COLUMN block SET STORAGE EXTERNAL;

-- The proof of authorship that each later delivery of a stored content brought.
CREATE TABLE deliveries (
  organization_id TEXT COLLATE "C" NOT NULL,
  scan_id TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  serial BIGINT NOT NULL,
  signature_state TEXT COLLATE "C" NOT NULL,
  withheld BOOLEAN NOT NULL,
  offset_seconds BIGINT NOT NULL,
  received_at BIGINT NOT NULL,
  judged_serial BIGINT,
  judged_outcome TEXT COLLATE "C",
  carrier TEXT COLLATE "C" NOT NULL
);
CREATE INDEX deliveries_of_scan ON deliveries (organization_id, scan_id, device_id, digest);

CREATE TABLE reviews (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  serial BIGINT NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  scan_id TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  decision TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  note TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  CONSTRAINT reviews_pk PRIMARY KEY (organization_id, event_id, serial, device_id, scan_id, digest)
);
CREATE INDEX reviews_of_scan ON reviews (organization_id, scan_id, device_id, digest);

-- ---------------------------------------------------------------- derived: `admit rebuild` makes these again
-- The reducer's results for subjects, with the verdicts of their scans, in blocks like those of scans. Each write appends
-- the states that it changed, and the newest state of a subject is the valid one. If a subject loses its last scan to
-- another subject, its state without scans stays, because devices that follow the event's changes must learn of it.
-- position: the serial of the write times 1,048,576, plus the block's number in the write. checksum: as of blocks of scans.
CREATE TABLE state_blocks (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  position BIGINT NOT NULL,
  checksum BIGINT NOT NULL,
  block BYTEA NOT NULL,
  CONSTRAINT state_blocks_pk PRIMARY KEY (organization_id, event_id, position)
);
-- Judgements that are too long for a block, of tickets with many scans. The next judgement of the same subject overwrites
-- the row.
CREATE TABLE long_judgements (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  serial BIGINT NOT NULL,
  judgement BYTEA NOT NULL,
  CONSTRAINT long_judgements_pk PRIMARY KEY (organization_id, event_id, subject)
);

-- Scans that count nothing until a person accepts them. They are few, and are looked up by device.
CREATE TABLE waiting (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  scan_id TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  CONSTRAINT waiting_pk PRIMARY KEY (organization_id, event_id, subject, device_id, scan_id, digest)
);
CREATE INDEX waiting_of_device ON waiting (organization_id, device_id);

-- Persons through each gate in each minute since 1970.
CREATE TABLE flow (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  minute BIGINT NOT NULL,
  gate_id TEXT COLLATE "C" NOT NULL,
  entered BIGINT NOT NULL,
  exited BIGINT NOT NULL,
  refused BIGINT NOT NULL,
  without_ticket BIGINT NOT NULL,
  CONSTRAINT flow_pk PRIMARY KEY (organization_id, event_id, minute, gate_id)
);

CREATE TABLE occupancy (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  serial BIGINT NOT NULL,
  inside BIGINT NOT NULL,
  inside_over BIGINT NOT NULL,
  entered BIGINT NOT NULL,
  over BIGINT NOT NULL,
  exited BIGINT NOT NULL,
  subjects BIGINT NOT NULL,
  walk_ins BIGINT NOT NULL,
  staff BIGINT NOT NULL,
  crew BIGINT NOT NULL,
  child BIGINT NOT NULL,
  other BIGINT NOT NULL,
  CONSTRAINT occupancy_pk PRIMARY KEY (organization_id, event_id)
);

CREATE TABLE occupancy_gates (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  gate_id TEXT COLLATE "C" NOT NULL,
  entered BIGINT NOT NULL,
  exited BIGINT NOT NULL,
  without_ticket BIGINT NOT NULL,
  CONSTRAINT occupancy_gates_pk PRIMARY KEY (organization_id, event_id, gate_id)
);

-- The recounts that count. A recount is the number of all persons in the area behind a gate at a time.
CREATE TABLE recounts (
  organization_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL,
  scan_id TEXT COLLATE "C" NOT NULL,
  gate_id TEXT COLLATE "C" NOT NULL,
  at BIGINT NOT NULL,
  inside BIGINT NOT NULL,
  CONSTRAINT recounts_pk PRIMARY KEY (organization_id, event_id, subject, device_id, scan_id)
);

-- Causes are derived. That a person resolved a cause with a digest is the person's act, and survives a rebuild.
CREATE TABLE incidents (
  organization_id TEXT COLLATE "C" NOT NULL,
  incident_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  severity TEXT COLLATE "C" NOT NULL,
  queued BOOLEAN NOT NULL,
  digest BYTEA NOT NULL,
  cause TEXT COLLATE "C" NOT NULL,
  status TEXT COLLATE "C" NOT NULL,
  resolved_digest BYTEA,
  resolved_by TEXT COLLATE "C",
  resolution TEXT COLLATE "C",
  resolution_note TEXT COLLATE "C",
  resolved_at BIGINT,
  opened_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  serial BIGINT NOT NULL,
  CONSTRAINT incidents_pk PRIMARY KEY (organization_id, incident_id),
  CONSTRAINT incidents_subject_kind UNIQUE (organization_id, event_id, subject, kind)
);
CREATE INDEX incidents_newest ON incidents (organization_id, event_id, opened_at, incident_id);
CREATE INDEX incidents_open ON incidents (organization_id, event_id, status, kind);
CREATE INDEX incidents_decided ON incidents (organization_id, event_id, resolved_at, incident_id) WHERE resolved_by IS NOT NULL;

-- ---------------------------------------------------------------- what the tables will look like
-- A planner that never saw a row takes every column for equally selective. It would read all scans of an event to find
-- those of one ticket. So this migration inserts rows of the usual shape, lets PostgreSQL collect statistics, and
-- removes the rows. The statistics stay until real rows replace them.
INSERT INTO tickets SELECT 'o', 't' || n, 'e', 'active', 1, '[]', 'z', NULL, NULL, 'b' || n, true, '', 'k' || n, NULL, 'g' || n,
  n / 10, n / 100 FROM generate_series(1, 3000) n;
INSERT INTO codes SELECT 'o', 'e', decode(md5(n::text), 'hex'), 't' || n FROM generate_series(1, 3000) n;
INSERT INTO guests SELECT 'o', 'g' || n, 'e', 't' || n, NULL, NULL, 'n' || n, 'n' || n, '  n' || n || ' ', 'm' || n, NULL, 1, NULL, NULL, '{}',
  'x' || n, n / 100, n, n / 10 FROM generate_series(1, 3000) n;
INSERT INTO rules SELECT 'o', 'e', n / 10, n, NULL,
  CASE n % 50 WHEN 0 THEN 'event' WHEN 1 THEN 'gate' WHEN 2 THEN 'device' ELSE 'ticket' END, 't' || n, 'first', '{}'
  FROM generate_series(1, 3000) n;
INSERT INTO audit SELECT 'o', 'e', n, n, n, NULL, NULL, 'a', 't', 'i', '{}', '{}', '' FROM generate_series(1, 3000) n;
INSERT INTO scan_blocks SELECT 'o', 'e', n * 16384, 'd' || n % 40, 'l' || n % 40, n, n + 9, 0, 'd' || n % 40, 'b' || n, n, ''
  FROM generate_series(1, 3000) n;
INSERT INTO deliveries SELECT 'o', 's' || n, 'd' || n % 40, decode(md5(n::text), 'hex'), n, 'verified', false, 0, n, NULL, NULL,
  'd' || n % 40 FROM generate_series(1, 300) n;
INSERT INTO reviews SELECT 'o', 'e', n, 'd' || n % 40, 's' || n, decode(md5(n::text), 'hex'), 'accept', 'u', '', n
  FROM generate_series(1, 300) n;
INSERT INTO state_blocks SELECT 'o', 'e', n::bigint * 1048576, n, '' FROM generate_series(1, 3000) n;
INSERT INTO long_judgements SELECT 'o', 'e', 'ticket:t' || n, n, '' FROM generate_series(1, 3000) n;
INSERT INTO waiting SELECT 'o', 'e', 'ticket:t' || n, 'd' || n % 40, 's' || n, decode(md5(n::text), 'hex') FROM generate_series(1, 300) n;
INSERT INTO flow SELECT 'o', 'e', n / 10, 'g' || n % 10, 1, 0, 0, 0 FROM generate_series(1, 3000) n;
INSERT INTO incidents SELECT 'o', 'i' || n, 'e', 'ticket:t' || n, 'double_entry', 'critical', true, '', '{}', 'open',
  NULL, NULL, NULL, NULL, NULL, n, n, n FROM generate_series(1, 3000) n;
INSERT INTO batches SELECT 'o', 'd' || n % 40, 'sync', 'b' || n, 'e', '', '{}', 'completed', 1, 1, 0, 0, n, n
  FROM generate_series(1, 3000) n;
INSERT INTO devices SELECT 'o', 'd' || n, 'n', 'phone', 'e', 'north', 'active', NULL, NULL, n, NULL, NULL, 0, NULL, '',
  0, NULL, 0 FROM generate_series(1, 300) n;
INSERT INTO device_keys SELECT 'o', 'k' || n, 'd' || n, '', '', n, NULL, NULL FROM generate_series(1, 300) n;
INSERT INTO logs SELECT 'o', 'd' || n, 'l' || n, 'e', 0, '[]', NULL FROM generate_series(1, 300) n;
-- The planner must not expect the id of an organisation or an event alone to select few rows. The other columns of an
-- index do that.
ALTER TABLE tickets ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE codes ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE guests ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE rules ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE audit ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE scan_blocks ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE deliveries ALTER COLUMN organization_id SET (n_distinct = 1);
ALTER TABLE reviews ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE state_blocks ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE long_judgements ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE waiting ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE flow ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE incidents ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE batches ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE devices ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ALTER TABLE device_keys ALTER COLUMN organization_id SET (n_distinct = 1);
ALTER TABLE logs ALTER COLUMN organization_id SET (n_distinct = 1), ALTER COLUMN event_id SET (n_distinct = 1);
ANALYZE tickets, codes, guests, rules, audit, scan_blocks, deliveries, reviews, state_blocks, long_judgements, waiting, flow, incidents, batches, devices, device_keys, logs;
TRUNCATE tickets, codes, guests, rules, audit, scan_blocks, deliveries, reviews, state_blocks, long_judgements, waiting, flow, incidents, batches, devices, device_keys, logs;

-- ---------------------------------------------------------------- workflows
CREATE TABLE runs (
  organization_id TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  kind TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  input TEXT COLLATE "C" NOT NULL,
  state TEXT COLLATE "C" NOT NULL,
  tries BIGINT NOT NULL,
  step TEXT COLLATE "C",
  problem TEXT COLLATE "C",
  next_at BIGINT,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT runs_pk PRIMARY KEY (organization_id, run_id)
);
CREATE INDEX runs_newest ON runs (organization_id, created_at, run_id);
CREATE INDEX runs_of_kind ON runs (organization_id, event_id, kind, subject);
-- Runs that wait or gave up. They are few, and every look at the guests counts them.
CREATE INDEX runs_unfinished ON runs (organization_id, event_id, kind, subject) WHERE state <> 'done';
CREATE INDEX runs_of_subject ON runs (organization_id, subject, created_at, run_id);

-- The result of each step of a run that is done. place: the step's place in the order in which the steps were done.
CREATE TABLE steps (
  organization_id TEXT COLLATE "C" NOT NULL,
  run_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  place BIGINT NOT NULL,
  output BYTEA NOT NULL,
  tries BIGINT NOT NULL,
  began_at BIGINT NOT NULL,
  done_at BIGINT NOT NULL,
  CONSTRAINT steps_pk PRIMARY KEY (organization_id, run_id, name)
);

-- ---------------------------------------------------------------- webhooks
-- former_secret: the secret before a rotation, accepted until former_until. received_at, refused_at and problem are
-- about messages with a right signature only.
CREATE TABLE webhook_endpoints (
  organization_id TEXT COLLATE "C" NOT NULL,
  endpoint_id TEXT COLLATE "C" NOT NULL,
  event_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  columns TEXT COLLATE "C" NOT NULL,
  sealed_secret BYTEA NOT NULL,
  former_secret BYTEA,
  former_until BIGINT,
  created_at BIGINT NOT NULL,
  disabled_at BIGINT,
  received_at BIGINT,
  refused_at BIGINT,
  problem TEXT COLLATE "C",
  CONSTRAINT webhook_endpoints_pk PRIMARY KEY (organization_id, endpoint_id),
  CONSTRAINT webhook_endpoints_event FOREIGN KEY (organization_id, event_id) REFERENCES events (organization_id, event_id)
);

-- The messages that were accepted. The same message again gets the same answer and has no effect.
CREATE TABLE webhook_messages (
  organization_id TEXT COLLATE "C" NOT NULL,
  endpoint_id TEXT COLLATE "C" NOT NULL,
  webhook_id TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  answer TEXT COLLATE "C" NOT NULL,
  received_at BIGINT NOT NULL,
  CONSTRAINT webhook_messages_pk PRIMARY KEY (organization_id, endpoint_id, webhook_id)
);
CREATE INDEX webhook_messages_by_time ON webhook_messages (organization_id, endpoint_id, received_at);

-- The newest state that an endpoint received of each row of the sender's table. changed_us: the row's own time of
-- change, in microseconds since 1970. said: a short hash of the last value of each field.
CREATE TABLE webhook_rows (
  organization_id TEXT COLLATE "C" NOT NULL,
  endpoint_id TEXT COLLATE "C" NOT NULL,
  external_id TEXT COLLATE "C" NOT NULL,
  sequence BIGINT,
  changed_us BIGINT,
  deleted_at BIGINT,
  said TEXT COLLATE "C" NOT NULL DEFAULT '{}',
  CONSTRAINT webhook_rows_pk PRIMARY KEY (organization_id, endpoint_id, external_id)
);

-- ---------------------------------------------------------------- facts are insert-only
CREATE FUNCTION facts_are_insert_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'facts are insert-only: %', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER rules_insert_only BEFORE UPDATE OR DELETE ON rules FOR EACH ROW EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER rules_no_truncate BEFORE TRUNCATE ON rules FOR EACH STATEMENT EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER audit_insert_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER batches_insert_only BEFORE UPDATE OR DELETE ON batches FOR EACH ROW EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER batches_no_truncate BEFORE TRUNCATE ON batches FOR EACH STATEMENT EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER rejected_insert_only BEFORE UPDATE OR DELETE ON rejected FOR EACH ROW EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER rejected_no_truncate BEFORE TRUNCATE ON rejected FOR EACH STATEMENT EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER scan_blocks_insert_only BEFORE UPDATE OR DELETE ON scan_blocks FOR EACH ROW EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER scan_blocks_no_truncate BEFORE TRUNCATE ON scan_blocks FOR EACH STATEMENT EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER deliveries_insert_only BEFORE UPDATE OR DELETE ON deliveries FOR EACH ROW EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER deliveries_no_truncate BEFORE TRUNCATE ON deliveries FOR EACH STATEMENT EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER reviews_insert_only BEFORE UPDATE OR DELETE ON reviews FOR EACH ROW EXECUTE FUNCTION facts_are_insert_only();
CREATE TRIGGER reviews_no_truncate BEFORE TRUNCATE ON reviews FOR EACH STATEMENT EXECUTE FUNCTION facts_are_insert_only();

-- ---------------------------------------------------------------- one organisation sees its own rows only
-- These tables have no policy: settings, epochs and mail_lane, which belong to the server; users, found by the e-mail
-- address of a sign-in; credentials, found by the hash of a token; pairing_requests, of devices that belong to no
-- organisation yet; and job_queue, which says only which run is due. organizations and members have a second policy,
-- which the few unscoped reads use for one transaction.
ALTER TABLE organizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE organizations FORCE ROW LEVEL SECURITY;
CREATE POLICY organizations_own ON organizations USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE letterheads ENABLE ROW LEVEL SECURITY;
ALTER TABLE letterheads FORCE ROW LEVEL SECURITY;
CREATE POLICY letterheads_own ON letterheads USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE mail_templates ENABLE ROW LEVEL SECURITY;
ALTER TABLE mail_templates FORCE ROW LEVEL SECURITY;
CREATE POLICY mail_templates_own ON mail_templates USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE organization_heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE organization_heads FORCE ROW LEVEL SECURITY;
CREATE POLICY organization_heads_own ON organization_heads USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE members ENABLE ROW LEVEL SECURITY;
ALTER TABLE members FORCE ROW LEVEL SECURITY;
CREATE POLICY members_own ON members USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE api_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY api_tokens_own ON api_tokens USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
ALTER TABLE events FORCE ROW LEVEL SECURITY;
CREATE POLICY events_own ON events USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE event_heads ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_heads FORCE ROW LEVEL SECURITY;
CREATE POLICY event_heads_own ON event_heads USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE event_epochs ENABLE ROW LEVEL SECURITY;
ALTER TABLE event_epochs FORCE ROW LEVEL SECURITY;
CREATE POLICY event_epochs_own ON event_epochs USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE rules ENABLE ROW LEVEL SECURITY;
ALTER TABLE rules FORCE ROW LEVEL SECURITY;
CREATE POLICY rules_own ON rules USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit FORCE ROW LEVEL SECURITY;
CREATE POLICY audit_own ON audit USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE gates ENABLE ROW LEVEL SECURITY;
ALTER TABLE gates FORCE ROW LEVEL SECURITY;
CREATE POLICY gates_own ON gates USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE entry_types ENABLE ROW LEVEL SECURITY;
ALTER TABLE entry_types FORCE ROW LEVEL SECURITY;
CREATE POLICY entry_types_own ON entry_types USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE guest_lists ENABLE ROW LEVEL SECURITY;
ALTER TABLE guest_lists FORCE ROW LEVEL SECURITY;
CREATE POLICY guest_lists_own ON guest_lists USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE tickets ENABLE ROW LEVEL SECURITY;
ALTER TABLE tickets FORCE ROW LEVEL SECURITY;
CREATE POLICY tickets_own ON tickets USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE codes FORCE ROW LEVEL SECURITY;
CREATE POLICY codes_own ON codes USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE guests ENABLE ROW LEVEL SECURITY;
ALTER TABLE guests FORCE ROW LEVEL SECURITY;
CREATE POLICY guests_own ON guests USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE devices ENABLE ROW LEVEL SECURITY;
ALTER TABLE devices FORCE ROW LEVEL SECURITY;
CREATE POLICY devices_own ON devices USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE device_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE device_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY device_keys_own ON device_keys USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE pairing_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE pairing_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY pairing_tokens_own ON pairing_tokens USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE logs ENABLE ROW LEVEL SECURITY;
ALTER TABLE logs FORCE ROW LEVEL SECURITY;
CREATE POLICY logs_own ON logs USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE batches ENABLE ROW LEVEL SECURITY;
ALTER TABLE batches FORCE ROW LEVEL SECURITY;
CREATE POLICY batches_own ON batches USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE rejected ENABLE ROW LEVEL SECURITY;
ALTER TABLE rejected FORCE ROW LEVEL SECURITY;
CREATE POLICY rejected_own ON rejected USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE scan_blocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE scan_blocks FORCE ROW LEVEL SECURITY;
CREATE POLICY scan_blocks_own ON scan_blocks USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY deliveries_own ON deliveries USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE reviews ENABLE ROW LEVEL SECURITY;
ALTER TABLE reviews FORCE ROW LEVEL SECURITY;
CREATE POLICY reviews_own ON reviews USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE state_blocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE state_blocks FORCE ROW LEVEL SECURITY;
CREATE POLICY state_blocks_own ON state_blocks USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE long_judgements ENABLE ROW LEVEL SECURITY;
ALTER TABLE long_judgements FORCE ROW LEVEL SECURITY;
CREATE POLICY long_judgements_own ON long_judgements USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE waiting ENABLE ROW LEVEL SECURITY;
ALTER TABLE waiting FORCE ROW LEVEL SECURITY;
CREATE POLICY waiting_own ON waiting USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE flow ENABLE ROW LEVEL SECURITY;
ALTER TABLE flow FORCE ROW LEVEL SECURITY;
CREATE POLICY flow_own ON flow USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE occupancy ENABLE ROW LEVEL SECURITY;
ALTER TABLE occupancy FORCE ROW LEVEL SECURITY;
CREATE POLICY occupancy_own ON occupancy USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE occupancy_gates ENABLE ROW LEVEL SECURITY;
ALTER TABLE occupancy_gates FORCE ROW LEVEL SECURITY;
CREATE POLICY occupancy_gates_own ON occupancy_gates USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE recounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE recounts FORCE ROW LEVEL SECURITY;
CREATE POLICY recounts_own ON recounts USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE incidents ENABLE ROW LEVEL SECURITY;
ALTER TABLE incidents FORCE ROW LEVEL SECURITY;
CREATE POLICY incidents_own ON incidents USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE runs FORCE ROW LEVEL SECURITY;
CREATE POLICY runs_own ON runs USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE steps ENABLE ROW LEVEL SECURITY;
ALTER TABLE steps FORCE ROW LEVEL SECURITY;
CREATE POLICY steps_own ON steps USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE webhook_endpoints ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_endpoints FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_endpoints_own ON webhook_endpoints USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE webhook_messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_messages FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_messages_own ON webhook_messages USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE webhook_rows ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_rows FORCE ROW LEVEL SECURITY;
CREATE POLICY webhook_rows_own ON webhook_rows USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE imports ENABLE ROW LEVEL SECURITY;
ALTER TABLE imports FORCE ROW LEVEL SECURITY;
CREATE POLICY imports_own ON imports USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE walk_in_names ENABLE ROW LEVEL SECURITY;
ALTER TABLE walk_in_names FORCE ROW LEVEL SECURITY;
CREATE POLICY walk_in_names_own ON walk_in_names USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE import_mappings ENABLE ROW LEVEL SECURITY;
ALTER TABLE import_mappings FORCE ROW LEVEL SECURITY;
CREATE POLICY import_mappings_own ON import_mappings USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
ALTER TABLE withdrawn_tickets ENABLE ROW LEVEL SECURITY;
ALTER TABLE withdrawn_tickets FORCE ROW LEVEL SECURITY;
CREATE POLICY withdrawn_tickets_own ON withdrawn_tickets USING (organization_id = current_setting('app.organization_id', true))
  WITH CHECK (organization_id = current_setting('app.organization_id', true));
CREATE POLICY organizations_all ON organizations FOR SELECT
  USING (current_setting('app.every_organization', true) = 'on');
CREATE POLICY members_of_user ON members FOR SELECT USING (user_id = current_setting('app.user_id', true));
