#!/bin/sh
# Runs once, when the database is made. Admit refuses a superuser: row-level security would not keep organisations apart.
set -eu
password="$(cat /run/secrets/postgres_admit_password)"
psql --set ON_ERROR_STOP=1 --set password="$password" --username postgres --dbname postgres <<'SQL'
CREATE ROLE admit LOGIN PASSWORD :'password';
CREATE DATABASE admit OWNER admit;
SQL
