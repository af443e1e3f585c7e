-- For the tests alone, run by the superuser: what a Supabase project has, with a stub in the place of pg_net that writes
-- down what it was asked to send, as text in UTF-8, as pg_net would send it.
CREATE SCHEMA extensions;
CREATE EXTENSION pgcrypto SCHEMA extensions;
CREATE SCHEMA net;
CREATE TABLE public.calls (id BIGINT GENERATED ALWAYS AS IDENTITY, url TEXT, headers JSONB, body TEXT);
CREATE FUNCTION net.http_post(url TEXT, body JSONB DEFAULT '{}', params JSONB DEFAULT '{}',
  headers JSONB DEFAULT '{"Content-Type": "application/json"}', timeout_milliseconds INT DEFAULT 1000)
RETURNS BIGINT LANGUAGE sql AS $$
  INSERT INTO public.calls (url, headers, body) VALUES ($1, $4, convert_from(convert_to($2::text, 'UTF8'), 'UTF8')) RETURNING id $$;
GRANT USAGE ON SCHEMA extensions, net TO admit;
GRANT ALL ON public.calls TO admit;
-- An extension that is gone later.
CREATE FUNCTION public.drop_pgcrypto() RETURNS VOID LANGUAGE plpgsql AS $$ BEGIN DROP EXTENSION pgcrypto; END $$;
