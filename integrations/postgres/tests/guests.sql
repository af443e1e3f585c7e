-- For the tests alone: an organiser's own table of guests, and what the tests do with it.
CREATE TABLE guests (
  id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
  name TEXT,
  email TEXT,
  phone TEXT,
  party_size INT NOT NULL DEFAULT 1,
  note TEXT,
  updated_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

-- A guest with a mail address; made of its number, so that it is found again.
CREATE FUNCTION add_guest(n INT, called TEXT, persons INT) RETURNS VOID LANGUAGE sql AS $$
  INSERT INTO guests (id, name, email, party_size)
  VALUES (md5(n::text)::uuid, called, 'guest-' || n || '@example.org', persons) $$;
CREATE FUNCTION add_guests(first INT, last INT) RETURNS VOID LANGUAGE sql AS $$
  SELECT add_guest(n, 'Guest ' || n, 1) FROM generate_series(first, last) n $$;
CREATE FUNCTION add_phone(n INT) RETURNS VOID LANGUAGE sql AS $$
  INSERT INTO guests (id, name, phone) VALUES (md5(n::text)::uuid, 'By phone', '+49 30 1234567') $$;
CREATE FUNCTION add_nobody(n INT) RETURNS VOID LANGUAGE sql AS $$
  INSERT INTO guests (id, name) VALUES (md5(n::text)::uuid, 'Neither mail nor phone') $$;
CREATE FUNCTION change_guest(n INT, persons INT) RETURNS VOID LANGUAGE sql AS $$
  UPDATE guests SET party_size = persons, updated_at = clock_timestamp() WHERE id = md5(n::text)::uuid $$;
CREATE FUNCTION change_guests(first INT, last INT, persons INT) RETURNS VOID LANGUAGE sql AS $$
  SELECT change_guest(n, persons) FROM generate_series(first, last) n $$;
CREATE FUNCTION spoil_guest(n INT) RETURNS VOID LANGUAGE sql AS $$
  UPDATE guests SET email = 'no address' WHERE id = md5(n::text)::uuid $$;
CREATE FUNCTION mend_guest(n INT) RETURNS VOID LANGUAGE sql AS $$
  UPDATE guests SET email = 'guest-' || n || '@example.org' WHERE id = md5(n::text)::uuid $$;
-- Who unsubscribed: the row stays without its addresses.
CREATE FUNCTION strip_guest(n INT) RETURNS VOID LANGUAGE sql AS $$
  UPDATE guests SET email = NULL, phone = NULL WHERE id = md5(n::text)::uuid $$;
CREATE FUNCTION drop_guest(n INT) RETURNS VOID LANGUAGE sql AS $$
  DELETE FROM guests WHERE id = md5(n::text)::uuid $$;
