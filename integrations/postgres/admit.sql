-- Sends every change of a guest in your own PostgreSQL to Admit (version 13 or newer; no extension is needed).
--
-- Run it once, as the owner of the table, in the table's database. Running it again changes nothing:
--
--     psql "$YOUR_DATABASE" -v ON_ERROR_STOP=1 -f admit.sql
--
-- It adds a schema `admit` with an outbox, and three triggers to the table `guests` of your search path. A change and its line
-- in the outbox are committed together. `admit relay` sends the lines to Admit (docs/guides/supabase.md).
--
-- If your table or its column for the row's id has another name, change the lines marked HERE.

BEGIN;

-- If a long transaction holds the table, this script waits, and every writer of the table waits behind it. So the script gives
-- up after five seconds without any change. Run it again later.
SET LOCAL lock_timeout = '5s';

CREATE SCHEMA IF NOT EXISTS admit;

-- The changes for Admit. sequence: the order of a row's changes. Two changes of one row never overlap, because the
-- second waits for the first one's commit. done_at: when Admit accepted the line, or refused it for good (then problem says why).
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

-- A new outbox must not begin at 1, because Admit ignores a change with a lower number than one that it knows.
SELECT setval('admit.outbox_sequence_seq',
  greatest((extract(epoch FROM now()) * 1000)::bigint, (SELECT last_value FROM admit.outbox_sequence_seq)));

-- The function runs with the rights of its owner. So a role that changes guests needs no right on the outbox.
CREATE OR REPLACE FUNCTION admit.handle_guest_qr_webhook() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now_row JSONB := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
  -- For an update, the old values of the changed columns. Admit changes only these columns, and the message is half as long.
  old_row JSONB := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) WHEN 'UPDATE' THEN (
    SELECT coalesce(jsonb_object_agg(was.key, was.value), '{}')
    FROM jsonb_each(to_jsonb(OLD)) AS was WHERE was.value IS DISTINCT FROM now_row -> was.key) END;
  key TEXT := coalesce(now_row, old_row) ->> TG_ARGV[0];
BEGIN
  IF key IS NULL THEN
    RAISE WARNING 'admit: a row of %.% has no %, nobody is told of it', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_ARGV[0];
    RETURN NULL;
  END IF;
  -- The index limits the length of a key. If two keys have the same first 500 characters, their lines only wait for each other.
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

-- An update that removes both addresses of a guest is sent too, so that Admit removes them. The guest may have asked for that.
DROP TRIGGER IF EXISTS handle_guest_qr_webhook_updated ON guests;
CREATE TRIGGER handle_guest_qr_webhook_updated
AFTER UPDATE ON guests                                               -- HERE
FOR EACH ROW
WHEN (OLD.email IS NOT NULL OR OLD.phone IS NOT NULL OR NEW.email IS NOT NULL OR NEW.phone IS NOT NULL)
EXECUTE FUNCTION admit.handle_guest_qr_webhook('id');                -- HERE

-- Admit records a deleted row and voids nothing: a person voids the ticket in Admit. This trigger has no condition, because a row
-- that has no address now may have had one before.
DROP TRIGGER IF EXISTS handle_guest_qr_webhook_deleted ON guests;
CREATE TRIGGER handle_guest_qr_webhook_deleted
AFTER DELETE ON guests                                               -- HERE
FOR EACH ROW
EXECUTE FUNCTION admit.handle_guest_qr_webhook('id');                -- HERE

-- Without this check, a wrong column name would make the trigger skip every row.
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
-- This writes a line for each guest that was in the table before:
--
--     UPDATE guests SET email = email;
--
-- The lines that Admit refused, with the reason:
--
--     SELECT sequence, guest_key, problem FROM admit.outbox WHERE problem IS NOT NULL AND done_at IS NOT NULL;
--
-- To send those lines again after you corrected the cause:
--
--     UPDATE admit.outbox SET done_at = NULL, problem = NULL, tries = 0 WHERE problem IS NOT NULL;
--
-- To remove everything that this script added (lines that wait in the outbox are lost):
--
--     DROP SCHEMA admit CASCADE;
