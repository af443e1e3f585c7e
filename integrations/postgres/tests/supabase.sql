-- For the tests alone, after admit-supabase.sql.
CREATE FUNCTION set_endpoint(at TEXT, whsec TEXT) RETURNS VOID LANGUAGE sql AS $$
  INSERT INTO admit.endpoint (url, secret) VALUES (at, whsec)
  ON CONFLICT (only_one) DO UPDATE SET url = excluded.url, secret = excluded.secret $$;
CREATE FUNCTION add_odd_guest(n INT) RETURNS VOID LANGUAGE sql AS $$
  INSERT INTO guests (id, name, email, party_size, note)
  VALUES (md5(n::text)::uuid, 'Zoë "Q" <b>O''Brien</b> ' || chr(127903), 'zoe@example.org', 3, E'two\nlines\\') $$;
CREATE FUNCTION must_have_guests(many INT) RETURNS VOID LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) FROM guests) <> many THEN
    RAISE EXCEPTION 'the table has another number of guests';
  END IF;
END $$;
