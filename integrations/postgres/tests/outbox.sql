-- For the tests alone, after admit.sql: each fails where the outbox is not as it says.
CREATE FUNCTION must(holds BOOLEAN, what TEXT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  IF holds IS NOT TRUE THEN
    RAISE EXCEPTION '%', what;
  END IF;
END $$;
CREATE FUNCTION must_have_lines(many INT) RETURNS VOID LANGUAGE sql AS $$
  SELECT must((SELECT count(*) FROM admit.outbox) = many, 'the outbox has another number of lines') $$;
CREATE FUNCTION must_be_empty() RETURNS VOID LANGUAGE sql AS $$
  SELECT must(NOT EXISTS (SELECT FROM admit.outbox WHERE done_at IS NULL), 'lines wait') $$;
CREATE FUNCTION must_be_refused(many INT) RETURNS VOID LANGUAGE sql AS $$
  SELECT must((SELECT count(*) FROM admit.outbox WHERE done_at IS NOT NULL AND problem LIKE 'invalid_request: record.email%') = many,
    'another number of lines was refused') $$;
CREATE FUNCTION must_be_one_connection() RETURNS VOID LANGUAGE sql AS $$
  SELECT must((SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted) = 1, 'no relay, or two, are at work') $$;
CREATE FUNCTION offer_again() RETURNS VOID LANGUAGE sql AS $$
  UPDATE admit.outbox SET done_at = NULL, problem = NULL, tries = 0 WHERE problem IS NOT NULL $$;
CREATE FUNCTION must_be_left(many INT) RETURNS VOID LANGUAGE sql AS $$
  SELECT must((SELECT count(*) FROM admit.outbox WHERE done_at IS NULL) = many, 'another number of lines waits') $$;
-- The first line of a guest that waits was tried and says why; those behind it were not tried.
CREATE FUNCTION must_be_put_off(n INT, why TEXT) RETURNS VOID LANGUAGE sql AS $$
  SELECT must((SELECT array_agg(tries > 0 AND problem LIKE why ORDER BY sequence) FROM admit.outbox
    WHERE guest_key = md5(n::text)::uuid::text AND done_at IS NULL) = ARRAY[true, false], 'the first does not say why, or not it alone') $$;
CREATE FUNCTION must_have_told(n INT, what TEXT[]) RETURNS VOID LANGUAGE sql AS $$
  SELECT must((SELECT array_agg(message ->> 'type' ORDER BY sequence) FROM admit.outbox
    WHERE guest_key = md5(n::text)::uuid::text) IS NOT DISTINCT FROM what, 'something else was told of the row') $$;
CREATE FUNCTION must_tell_what_changed(n INT) RETURNS VOID LANGUAGE sql AS $$
  SELECT must((SELECT array_agg(told ORDER BY told) FROM admit.outbox, jsonb_object_keys(message -> 'old_record') AS told
    WHERE message ->> 'type' = 'UPDATE' AND guest_key = md5(n::text)::uuid::text) = '{party_size,updated_at}',
    'an update tells more or less than what changed') $$;
CREATE FUNCTION end_it() RETURNS VOID LANGUAGE plpgsql AS $$ BEGIN DROP SCHEMA admit CASCADE; END $$;
-- A table whose ids are long texts.
CREATE TABLE long_ids (id TEXT, email TEXT);
CREATE TRIGGER tell AFTER INSERT ON long_ids FOR EACH ROW EXECUTE FUNCTION admit.handle_guest_qr_webhook('id');
CREATE FUNCTION add_long_id() RETURNS VOID LANGUAGE sql AS $$
  INSERT INTO long_ids SELECT string_agg(md5(n::text), ''), 'a@example.org' FROM generate_series(1, 400) n $$;
