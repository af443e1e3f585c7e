-- Sends every change of a guest in a Supabase database to Admit. A trigger sends it itself, by pg_net, without a relay.
--
-- pg_net sends each message once, in no order, and does not retry. If Admit or the network does not answer, the message is
-- lost until the row changes again. If that matters, use admit.sql and `admit relay` instead (docs/guides/supabase.md).
--
-- It needs the extensions pg_net and pgcrypto (Dashboard, Database, Extensions). Run it in the SQL editor. Running it again
-- only replaces the functions. Then store the address and the secret of the endpoint, as Admit showed them:
--
--     INSERT INTO admit.endpoint (url, secret) VALUES ('https://…/api/webhooks/guests/…', 'whsec_…')
--     ON CONFLICT (only_one) DO UPDATE SET url = excluded.url, secret = excluded.secret;

BEGIN;

-- If a long transaction holds the table, this script waits, and every writer of the table waits behind it. So the script gives
-- up after five seconds without any change. Run it again later.
SET LOCAL lock_timeout = '5s';

DO $$
DECLARE missing TEXT;
BEGIN
  SELECT string_agg(wanted.extension, ' and ') INTO missing
  FROM (VALUES ('pg_net', 'http_post', ARRAY['net']), ('pgcrypto', 'hmac', ARRAY['extensions', 'public', 'pg_catalog']))
    AS wanted (extension, called, schemas)
  WHERE NOT EXISTS (SELECT FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace
    WHERE proname = wanted.called AND nspname = ANY (wanted.schemas));
  IF missing IS NOT NULL THEN
    RAISE EXCEPTION 'admit: % is not here: enable it under Dashboard, Database, Extensions, and run this again', missing;
  END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS admit;

-- One row. Only its owner and the trigger read it.
CREATE TABLE IF NOT EXISTS admit.endpoint (
  only_one BOOLEAN PRIMARY KEY DEFAULT true CHECK (only_one),
  url TEXT NOT NULL CHECK (url ~ '^https?://'),
  secret TEXT NOT NULL
);
-- This check refuses a secret that was copied incompletely. Otherwise only the message about the next guest would fail.
ALTER TABLE admit.endpoint DROP CONSTRAINT IF EXISTS endpoint_secret_check;
ALTER TABLE admit.endpoint ADD CONSTRAINT endpoint_secret_check CHECK (
  CASE WHEN secret ~ '^whsec_[A-Za-z0-9+/]+=*$' THEN length(decode(substr(secret, 7), 'base64')) BETWEEN 24 AND 64
  ELSE false END);
REVOKE ALL ON SCHEMA admit FROM PUBLIC;
REVOKE ALL ON admit.endpoint FROM PUBLIC;

-- Numbers that give the order of a row's changes: Admit ignores an older change that arrives later. A new sequence never begins
-- below an earlier one.
CREATE SEQUENCE IF NOT EXISTS admit.sequence;
SELECT setval('admit.sequence', greatest((extract(epoch FROM now()) * 1000)::bigint, (SELECT last_value FROM admit.sequence)));

CREATE OR REPLACE FUNCTION admit.handle_guest_qr_webhook() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, extensions, public, pg_temp AS $$
DECLARE
  target admit.endpoint;
  id TEXT := 'msg_' || replace(gen_random_uuid()::text, '-', '');
  sent_at TEXT := floor(extract(epoch FROM clock_timestamp()))::bigint::text;
  now_row JSONB := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
  -- For an update, the old values of the changed columns. Admit changes only these columns, and the message is half as long.
  old_row JSONB := CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) WHEN 'UPDATE' THEN (
    SELECT coalesce(jsonb_object_agg(was.key, was.value), '{}')
    FROM jsonb_each(to_jsonb(OLD)) AS was WHERE was.value IS DISTINCT FROM now_row -> was.key) END;
  body JSONB := jsonb_build_object(
    'type', TG_OP, 'table', TG_TABLE_NAME, 'schema', TG_TABLE_SCHEMA,
    'record', now_row, 'old_record', old_row, 'sequence', nextval('admit.sequence'));
BEGIN
  SELECT * INTO target FROM admit.endpoint;
  IF target.url IS NULL THEN
    RAISE WARNING 'admit: no endpoint is set, nobody is told of this guest';
    RETURN NULL;
  END IF;
  -- pg_net sends the text of the JSON in UTF-8. So the signature is over exactly this text.
  PERFORM net.http_post(
    url := target.url,
    body := body,
    headers := jsonb_build_object(
      'Content-Type', 'application/json',
      'webhook-id', id,
      'webhook-timestamp', sent_at,
      'webhook-signature', 'v1,' || encode(hmac(
        convert_to(id || '.' || sent_at || '.' || body::text, 'UTF8'),
        decode(substr(target.secret, length('whsec_') + 1), 'base64'), 'sha256'), 'base64')),
    timeout_milliseconds := 10000);
  RETURN NULL;
EXCEPTION WHEN OTHERS THEN
  -- An error here, such as a missing extension, must not prevent the change of the guest's row.
  RAISE WARNING 'admit: nobody is told of this guest: %', SQLERRM;
  RETURN NULL;
END $$;

DROP TRIGGER IF EXISTS handle_guest_qr_webhook ON guests;
CREATE TRIGGER handle_guest_qr_webhook
AFTER INSERT ON guests
FOR EACH ROW
WHEN (NEW.email IS NOT NULL OR NEW.phone IS NOT NULL)
EXECUTE FUNCTION admit.handle_guest_qr_webhook();

-- An update that removes both addresses of a guest is sent too, so that Admit removes them. The guest may have asked for that.
DROP TRIGGER IF EXISTS handle_guest_qr_webhook_updated ON guests;
CREATE TRIGGER handle_guest_qr_webhook_updated
AFTER UPDATE ON guests
FOR EACH ROW
WHEN (OLD.email IS NOT NULL OR OLD.phone IS NOT NULL OR NEW.email IS NOT NULL OR NEW.phone IS NOT NULL)
EXECUTE FUNCTION admit.handle_guest_qr_webhook();

-- Admit records a deleted row and voids nothing: a person voids the ticket in Admit. This trigger has no condition, because a row
-- that has no address now may have had one before.
DROP TRIGGER IF EXISTS handle_guest_qr_webhook_deleted ON guests;
CREATE TRIGGER handle_guest_qr_webhook_deleted
AFTER DELETE ON guests
FOR EACH ROW
EXECUTE FUNCTION admit.handle_guest_qr_webhook();

COMMIT;

-- To remove everything that this script added:
--
--     DROP SCHEMA admit CASCADE;
