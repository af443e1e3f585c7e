-- Admit: tells Admit of every guest in a Supabase database, from the trigger itself (pg_net), without a relay.
--
-- pg_net sends each message once, in no order, and tries nothing again: if Admit or the network is away, the message is
-- lost until the row changes again. Where that matters, use admit.sql and `admit relay` instead (docs/guides/supabase.md).
--
-- Needs the extensions pg_net and pgcrypto (Dashboard, Database, Extensions). Run it in the SQL editor; running it again
-- changes nothing but the functions. Then say where messages go and what they are signed with, as Admit showed both:
--
--     INSERT INTO admit.endpoint (url, secret) VALUES ('https://…/api/webhooks/guests/…', 'whsec_…')
--     ON CONFLICT (only_one) DO UPDATE SET url = excluded.url, secret = excluded.secret;

BEGIN;

-- A long transaction on the table holds this up, and everybody who writes to the table would queue behind it: after five
-- seconds it gives up and nothing has changed. Run it again then.
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
-- A secret that lost a letter when it was copied is refused where it is typed, not at the next guest.
ALTER TABLE admit.endpoint DROP CONSTRAINT IF EXISTS endpoint_secret_check;
ALTER TABLE admit.endpoint ADD CONSTRAINT endpoint_secret_check CHECK (
  CASE WHEN secret ~ '^whsec_[A-Za-z0-9+/]+=*$' THEN length(decode(substr(secret, 7), 'base64')) BETWEEN 24 AND 64
  ELSE false END);
REVOKE ALL ON SCHEMA admit FROM PUBLIC;
REVOKE ALL ON admit.endpoint FROM PUBLIC;

-- The order of a row's changes: Admit ignores what comes late. Never below what an earlier one had.
CREATE SEQUENCE IF NOT EXISTS admit.sequence;
SELECT setval('admit.sequence', greatest((extract(epoch FROM now()) * 1000)::bigint, (SELECT last_value FROM admit.sequence)));

CREATE OR REPLACE FUNCTION admit.handle_guest_qr_webhook() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, extensions, public, pg_temp AS $$
DECLARE
  target admit.endpoint;
  id TEXT := 'msg_' || replace(gen_random_uuid()::text, '-', '');
  sent_at TEXT := floor(extract(epoch FROM clock_timestamp()))::bigint::text;
  now_row JSONB := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END;
  -- Of an update only what changed: those columns alone change in Admit, and the message stays half as long.
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
  -- What pg_net sends is the text of the JSON, in UTF-8.
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
  -- Your guest comes first: an extension that is gone must not stop the row.
  RAISE WARNING 'admit: nobody is told of this guest: %', SQLERRM;
  RETURN NULL;
END $$;

DROP TRIGGER IF EXISTS handle_guest_qr_webhook ON guests;
CREATE TRIGGER handle_guest_qr_webhook
AFTER INSERT ON guests
FOR EACH ROW
WHEN (NEW.email IS NOT NULL OR NEW.phone IS NOT NULL)
EXECUTE FUNCTION admit.handle_guest_qr_webhook();

-- Who loses both addresses (who unsubscribed, who asked to be forgotten) is told of once more, so that they go in Admit too.
DROP TRIGGER IF EXISTS handle_guest_qr_webhook_updated ON guests;
CREATE TRIGGER handle_guest_qr_webhook_updated
AFTER UPDATE ON guests
FOR EACH ROW
WHEN (OLD.email IS NOT NULL OR OLD.phone IS NOT NULL OR NEW.email IS NOT NULL OR NEW.phone IS NOT NULL)
EXECUTE FUNCTION admit.handle_guest_qr_webhook();

-- Admit puts a deleted row on record and voids nothing: a ticket is voided in Admit, by a person. Whoever has neither address
-- by then may have had one before.
DROP TRIGGER IF EXISTS handle_guest_qr_webhook_deleted ON guests;
CREATE TRIGGER handle_guest_qr_webhook_deleted
AFTER DELETE ON guests
FOR EACH ROW
EXECUTE FUNCTION admit.handle_guest_qr_webhook();

COMMIT;

-- To end it, with all that it added:
--
--     DROP SCHEMA admit CASCADE;
