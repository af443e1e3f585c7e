-- Admit: tells Admit of every guest in your own PostgreSQL (13 or newer; no extension is needed).
--
-- Run it once, as the owner of the table, in the database that has it; running it again changes nothing:
--
--     psql "$YOUR_DATABASE" -v ON_ERROR_STOP=1 -f admit.sql
--
-- It adds a schema `admit` with an outbox, and three triggers to the table `guests` of your search path. A change and its line
-- in the outbox are committed together. `admit relay` carries the lines to Admit (docs/guides/supabase.md).
--
-- Another table, or another column for the row's id: change the lines marked HERE.

BEGIN;

-- A long transaction on the table holds this up, and everybody who writes to the table would queue behind it: after five
-- seconds it gives up and nothing has changed. Run it again then.
SET LOCAL lock_timeout = '5s';

CREATE SCHEMA IF NOT EXISTS admit;

-- What Admit has to be told. sequence: the order of a row's changes; two changes of one row never overlap, since the
-- second waits for the first one's commit. done_at: Admit said yes, or (with a problem) no for good.
CREATE TABLE IF NOT EXISTS admit.outbox (
  sequence BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id TEXT NOT NULL UNIQUE DEFAULT 'msg_' || replace(gen_random_uuid()::text, '-', ''),
  guest_key TEXT NOT NULL,
  message JSONB NOT NULL,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  tries INTEGER NOT NULL DEFAULT 0,
  next_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  done_at TIMESTAMPTZ,
  problem TEXT
);
CREATE INDEX IF NOT EXISTS outbox_waiting ON admit.outbox (sequence) WHERE done_at IS NULL;
CREATE INDEX IF NOT EXISTS outbox_waiting_of_guest ON admit.outbox (guest_key, sequence) WHERE done_at IS NULL;
CREATE INDEX IF NOT EXISTS outbox_done ON admit.outbox (done_at) WHERE done_at IS NOT NULL;

-- An outbox made anew must not begin again at 1: Admit ignores what it takes for older than what it knows.
SELECT setval('admit.outbox_sequence_seq',
  greatest((extract(epoch FROM now()) * 1000)::bigint, (SELECT last_value FROM admit.outbox_sequence_seq)));

-- Runs with the rights of its owner: whoever may change a guest needs no right on the outbox.
CREATE OR REPLACE FUNCTION admit.handle_guest_qr_webhook() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now_row JSONB := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
  -- Of an update only what changed: those columns alone change in Admit, and the message stays half as long.
  old_row JSONB := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) WHEN 'UPDATE' THEN (
    SELECT coalesce(jsonb_object_agg(was.key, was.value), '{}')
    FROM jsonb_each(to_jsonb(OLD)) AS was WHERE was.value IS DISTINCT FROM now_row -> was.key) END;
  key TEXT := coalesce(now_row, old_row) ->> TG_ARGV[0];
BEGIN
  IF key IS NULL THEN
    RAISE WARNING 'admit: a row of %.% has no %, nobody is told of it', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_ARGV[0];
    RETURN NULL;
  END IF;
  -- An index takes no text of any length. Two keys that begin alike for so long only wait for each other.
  INSERT INTO admit.outbox (guest_key, message) VALUES (left(key, 500), jsonb_build_object(
    'type', TG_OP, 'table', TG_TABLE_NAME, 'schema', TG_TABLE_SCHEMA, 'record', now_row, 'old_record', old_row));
  PERFORM pg_notify('admit_outbox', '');
  RETURN NULL;
END $$;

DROP TRIGGER IF EXISTS handle_guest_qr_webhook ON guests;
CREATE TRIGGER handle_guest_qr_webhook
AFTER INSERT ON guests                                               -- HERE: your table
FOR EACH ROW
WHEN (NEW.email IS NOT NULL OR NEW.phone IS NOT NULL)
EXECUTE FUNCTION admit.handle_guest_qr_webhook('id');                -- HERE: the column with the row's id

-- Who loses both addresses (who unsubscribed, who asked to be forgotten) is told of once more, so that they go in Admit too.
DROP TRIGGER IF EXISTS handle_guest_qr_webhook_updated ON guests;
CREATE TRIGGER handle_guest_qr_webhook_updated
AFTER UPDATE ON guests                                               -- HERE
FOR EACH ROW
WHEN (OLD.email IS NOT NULL OR OLD.phone IS NOT NULL OR NEW.email IS NOT NULL OR NEW.phone IS NOT NULL)
EXECUTE FUNCTION admit.handle_guest_qr_webhook('id');                -- HERE

-- Admit puts a deleted row on record and voids nothing: a ticket is voided in Admit, by a person. Whoever has neither address
-- by then may have had one before.
DROP TRIGGER IF EXISTS handle_guest_qr_webhook_deleted ON guests;
CREATE TRIGGER handle_guest_qr_webhook_deleted
AFTER DELETE ON guests                                               -- HERE
FOR EACH ROW
EXECUTE FUNCTION admit.handle_guest_qr_webhook('id');                -- HERE

-- A column that is not there would silence every row.
DO $$
DECLARE one RECORD;
BEGIN
  FOR one IN SELECT tgrelid::regclass AS guests, split_part(encode(tgargs, 'escape'), '\000', 1) AS key FROM pg_trigger
    WHERE tgfoid = 'admit.handle_guest_qr_webhook()'::regprocedure
  LOOP
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = one.guests AND attname = one.key AND NOT attisdropped) THEN
      RAISE EXCEPTION 'table % has no column "%": name the one with the row''s id in the triggers', one.guests, one.key;
    END IF;
  END LOOP;
END $$;

COMMIT;

-- A role of its own for the relay:
--
--     CREATE ROLE admit_relay LOGIN PASSWORD '…';
--     GRANT USAGE ON SCHEMA admit TO admit_relay;
--     GRANT SELECT, UPDATE, DELETE ON admit.outbox TO admit_relay;
--
-- Guests that were there before: each gets its line, oldest first.
--
--     UPDATE guests SET email = email;
--
-- What Admit said no to, and why:
--
--     SELECT sequence, guest_key, problem FROM admit.outbox WHERE problem IS NOT NULL AND done_at IS NOT NULL;
--
-- To offer those again once it is mended:
--
--     UPDATE admit.outbox SET done_at = NULL, problem = NULL, tries = 0 WHERE problem IS NOT NULL;
--
-- To end it, with all that it added (what waits in the outbox is lost):
--
--     DROP SCHEMA admit CASCADE;
