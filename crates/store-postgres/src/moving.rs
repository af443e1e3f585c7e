//! A PostgreSQL database as one side of a move (`admit migrate-store`): everything in one transaction.
//!
//! Row level security separates organisations during a move too. So guarded tables are read and written for one
//! organisation after the other. COPY cannot write into such tables, so rows go by `INSERT … UNNEST`, with one array
//! per column.

use std::sync::Arc;
use std::time::{Duration, Instant};

use admit_app::error::{Error, Result};
use admit_app::ports::ReadOp;
use admit_core::ids::{EventId, OrganizationId};
use admit_store_queries::contents::HISTORY;
use admit_store_queries::driver::{Driver as _, RunFor};
use admit_store_queries::moving::{Catalog, Column, OWNER, ROWS, Side, Table, quoted};
use admit_store_queries::value::{Kind, Row, Value, check_text};
use admit_store_queries::{directory, run_read};
use tokio_postgres::Statement;
use tokio_postgres::types::ToSql;

use crate::connect;
use crate::driver::{PgDriver, read_row};
use crate::options::Options;
use crate::params::column;

/// The number of the advisory lock that a move holds on both of its databases. If it is taken already, both addresses
/// may mean the same database.
const MOVE_LOCK: i64 = 0x61_64_6d_6d_76;
/// How long a process that has ended may still appear in the list of connections.
const LEAVING: Duration = Duration::from_secs(2);
/// The settings during a move. Nothing else is connected then, and the checks at its end may take long.
const PATIENT: &str = "SET idle_in_transaction_session_timeout = 0; SET plan_cache_mode = auto";

/// A database with one open transaction. Dropping it without a commit rolls back.
pub struct PgSide {
    driver: PgDriver,
    /// The table that is being filled, with its insert statement; `None` while no table is.
    inserts: Option<(String, Statement)>,
}

/// The address without user name and password, for messages.
pub fn shown(url: &str) -> Result<String> {
    let config = connect::address(url)?.config;
    let host = config.get_hosts().first().map(|host| match host {
        tokio_postgres::config::Host::Tcp(name) => name.clone(),
        tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
    });
    let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
    let database = config.get_dbname().or_else(|| config.get_user()).unwrap_or_default();
    Ok(format!("postgres://{}{port}/{database}", host.unwrap_or_default()))
}

impl PgSide {
    /// Opens the source of a move. It is neither migrated nor changed, and until this value is dropped nobody else can
    /// change it.
    pub fn source(url: &str) -> Result<Self> {
        let mut side = Self::connected(url, "the source")?;
        let locked: Vec<String> = side.catalog()?.tables.iter().map(|table| quoted(&table.name)).collect();
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        // The locks come before the first query, so the snapshot contains whatever was committed before them.
        let locked = side.driver.batch(&format!("{begin}; LOCK TABLE {} IN SHARE MODE", locked.join(", ")));
        locked.map_err(|error| match error {
            Error::Later { code: "store_busy", .. } => {
                Error::invalid("", "another process writes to the source: stop every server that uses it")
            }
            error => error,
        })?;
        Ok(side)
    }
    /// Opens the target of a move, and migrates it.
    pub fn target(url: &str) -> Result<Self> {
        let mut side = Self::connected(url, "the target")?;
        connect::prepare(&connect::address(url)?, &Options::default())?;
        side.driver.batch("BEGIN")?;
        Ok(side)
    }
    fn connected(url: &str, which: &str) -> Result<Self> {
        let mut driver = connect::connect(&connect::address(url)?)?;
        driver.batch(PATIENT)?;
        if driver.show(&format!("SELECT pg_try_advisory_lock({MOVE_LOCK})::text"))? != "true" {
            return Err(Error::invalid(
                "",
                format!(
                    "{which} is in use by a move: it is the database at the other end too, or another move is under way"
                ),
            ));
        }
        let mut side = Self { driver, inserts: None };
        let until = Instant::now() + LEAVING;
        while side.others()? > 0 {
            if Instant::now() > until {
                return Err(Error::invalid(
                    "",
                    format!("a server or another command of Admit is connected to {which}: stop it, then move again"),
                ));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(side)
    }
    fn rows(&mut self, sql: &str) -> Result<Vec<Row>> {
        self.rows_with(sql, &[])
    }
    fn rows_with(&mut self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let client = Arc::clone(&self.driver.client);
        let rows = self.driver.asked(sql, client.query(sql, params))?;
        let read = rows.iter().map(read_row).collect::<std::result::Result<Vec<_>, _>>();
        self.driver.noted(sql, read)
    }
    fn migrations(&mut self) -> Result<Vec<(i64, String)>> {
        let there = format!("SELECT COALESCE(to_regclass('{HISTORY}')::text, '')");
        if self.driver.show(&there)?.is_empty() {
            return Err(Error::invalid("", "the database was not made by Admit: it has no history of migrations"));
        }
        let sql = format!("SELECT version::bigint, name::text FROM {HISTORY} ORDER BY version");
        self.rows(&sql)?.into_iter().map(|mut row| Ok((row.int()?, row.text()?))).collect()
    }
    /// Runs `work` once for each organisation if row level security guards the table, else once.
    fn for_each(&mut self, table: &Table, mut work: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if !table.owned {
            return work(self);
        }
        for organization_id in self.organizations()? {
            self.driver.run_for(RunFor::Organization(&organization_id))?;
            work(self)?;
        }
        Ok(())
    }
    fn read_cursor(&mut self, see: &mut dyn FnMut(Vec<Value<'static>>) -> Result<()>) -> Result<()> {
        let client = Arc::clone(&self.driver.client);
        let fetch = self.driver.asked("FETCH", client.prepare(&format!("FETCH FORWARD {ROWS} FROM moved")))?;
        loop {
            let rows = self.driver.asked("FETCH", client.query(&fetch, &[]))?;
            for row in &rows {
                let row = self.driver.noted("FETCH", read_row(row))?;
                see(row.into_values().collect())?;
            }
            if rows.len() < ROWS {
                return Ok(());
            }
        }
    }
    fn statement(&mut self, table: &Table) -> Result<Statement> {
        if let Some((_, statement)) = self.inserts.as_ref().filter(|(name, _)| *name == table.name) {
            return Ok(statement.clone());
        }
        let arrays = table.columns.iter().enumerate().map(|(i, column)| {
            let kind = match column.kind {
                Kind::Int => "bigint",
                Kind::Text => "text",
                Kind::Blob => "bytea",
                Kind::Bool => "boolean",
            };
            format!("${}::{kind}[]", i + 1)
        });
        let arrays = arrays.collect::<Vec<_>>().join(", ");
        let sql = format!("INSERT INTO {} ({}) SELECT * FROM UNNEST({arrays})", quoted(&table.name), table.names());
        let client = Arc::clone(&self.driver.client);
        let statement = self.driver.asked("INSERT", client.prepare(&sql))?;
        self.inserts = Some((table.name.clone(), statement.clone()));
        Ok(statement)
    }
    /// Inserts rows that all belong to one organisation, or to an unguarded table.
    fn insert_some(&mut self, table: &Table, rows: &[Vec<Value<'static>>]) -> Result<()> {
        if let Some(Value::Text(owner)) = table.owner().and_then(|place| rows.first()?.get(place)) {
            let owner = OrganizationId::new(owner.clone().into_owned())
                .map_err(|_| Error::Bug(format!("a row of {} names no organisation", table.name)))?;
            self.driver.run_for(RunFor::Organization(&owner))?;
        }
        let statement = self.statement(table)?;
        let width = table.columns.len();
        let values: Vec<Value<'static>> = rows.iter().flatten().cloned().collect();
        for value in &values {
            if let Value::Text(text) = value {
                check_text(text)?;
            }
        }
        let columns = table.columns.iter().enumerate().map(|(i, one)| column(one.kind, &values, i, width));
        let columns: Vec<Box<dyn ToSql + Sync + '_>> = columns.collect();
        let params: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|column| &**column).collect();
        let client = Arc::clone(&self.driver.client);
        let inserted = self.driver.asked("INSERT", client.execute(&statement, &params))?;
        if inserted == rows.len() as u64 { Ok(()) } else { Err(Error::Bug(format!("{}: rows were lost", table.name))) }
    }
}

/// A row of the catalog: the table, whether row level security guards it, and a column with its place in the primary
/// key.
const COLUMNS: &str = "SELECT c.relname::text, c.relrowsecurity, a.attname::text, format_type(a.atttypid, NULL)::text, \
    NOT a.attnotnull, a.attgenerated <> '' OR a.attidentity <> '', COALESCE((SELECT array_position(k.conkey, a.attnum) \
    FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p'), 0)::bigint \
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
    WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace AND a.attnum > 0 \
    AND NOT a.attisdropped ORDER BY c.relname COLLATE \"C\", a.attnum";
const REFERENCES: &str = "SELECT f.relname::text, t.relname::text FROM pg_constraint k JOIN pg_class f ON f.oid = k.conrelid \
    JOIN pg_class t ON t.oid = k.confrelid WHERE k.contype = 'f' AND f.relnamespace = current_schema()::regnamespace \
    GROUP BY 1, 2 ORDER BY 1, 2";
const SEQUENCES: &str =
    "SELECT relname::text FROM pg_class WHERE relkind = 'S' AND relnamespace = current_schema()::regnamespace";
const OTHERS: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() \
    AND application_name = 'admit' AND pid <> pg_backend_pid()";

impl Side for PgSide {
    fn catalog(&mut self) -> Result<Catalog> {
        let migrations = self.migrations()?;
        if let Some(mut sequence) = self.rows(SEQUENCES)?.into_iter().next() {
            let name = sequence.text()?;
            return Err(Error::Bug(format!("a move does not know what to do with the sequence {name}")));
        }
        let mut tables: Vec<(Table, Vec<(i64, String)>)> = Vec::new();
        for mut row in self.rows(COLUMNS)? {
            let (name, owned) = (row.text()?, row.bool()?);
            let (column, of, nullable, made, place) = (row.text()?, row.text()?, row.bool()?, row.bool()?, row.int()?);
            if name == HISTORY {
                continue;
            }
            let kind = match of.as_str() {
                "bigint" => Kind::Int,
                "text" => Kind::Text,
                "bytea" => Kind::Blob,
                "boolean" => Kind::Bool,
                _ => return Err(unknown(&name, &column, &of)),
            };
            if made {
                return Err(unknown(&name, &column, "generated"));
            }
            if tables.last().is_none_or(|(table, _)| table.name != name) {
                let (columns, key, refers_to) = (Vec::new(), Vec::new(), Vec::new());
                tables.push((Table { name, columns, key, owned, refers_to }, Vec::new()));
            }
            let Some((table, key)) = tables.last_mut() else { continue };
            if place > 0 {
                key.push((place, column.clone()));
            }
            table.columns.push(Column { name: column, kind, nullable });
        }
        let mut refers = Vec::new();
        for mut row in self.rows(REFERENCES)? {
            refers.push((row.text()?, row.text()?));
        }
        let tables = tables.into_iter().map(|(mut table, mut key)| {
            key.sort();
            table.key = key.into_iter().map(|(_, name)| name).collect();
            let of_it = refers.iter().filter(|(from, _)| *from == table.name);
            table.refers_to = of_it.map(|(_, to)| to.clone()).collect();
            let by_owner = table.owner().is_some() && table.key.first().is_none_or(|name| name == OWNER);
            // Rows are read for one organisation after the other, so the order must begin with the organisation.
            if table.owned && !by_owner { Err(unknown(&table.name, OWNER, "guarded otherwise")) } else { Ok(table) }
        });
        Ok(Catalog { migrations, tables: tables.collect::<Result<_>>()? })
    }
    fn count(&mut self, table: &Table) -> Result<u64> {
        let mut total = 0;
        let sql = format!("SELECT COUNT(*) FROM {}{}", quoted(&table.name), own(table));
        self.for_each(table, |side| {
            let row = side.rows(&sql)?.into_iter().next();
            total += row.map_or(Ok(0), |mut row| row.count::<u64>())?;
            Ok(())
        })?;
        Ok(total)
    }
    fn each(&mut self, table: &Table, see: &mut dyn FnMut(Vec<Value<'static>>) -> Result<()>) -> Result<()> {
        let order: Vec<String> = table.order().into_iter().map(|name| format!("{name} NULLS FIRST")).collect();
        // A key has no NULLs, so no order of NULLs is given. With one, PostgreSQL would not use the key's index.
        let order = if table.key.is_empty() { order } else { table.order() };
        let (names, from, own) = (table.names(), quoted(&table.name), own(table));
        let sql =
            format!("DECLARE moved NO SCROLL CURSOR FOR SELECT {names} FROM {from}{own} ORDER BY {}", order.join(", "));
        self.for_each(table, |side| {
            side.driver.batch(&sql)?;
            side.read_cursor(see)?;
            side.driver.batch("CLOSE moved")
        })
    }
    fn insert(&mut self, table: &Table, rows: &[Vec<Value<'static>>]) -> Result<()> {
        let Some(owner) = table.owner() else { return self.insert_some(table, rows) };
        rows.chunk_by(|one, next| one.get(owner) == next.get(owner)).try_for_each(|some| self.insert_some(table, some))
    }
    fn clear(&mut self, table: &Table) -> Result<()> {
        self.driver.batch(&format!("DELETE FROM {}", quoted(&table.name)))
    }
    fn others(&mut self) -> Result<u64> {
        let row = self.rows(OTHERS)?.into_iter().next();
        row.map_or(Ok(0), |mut row| row.count())
    }
    fn setting(&mut self, name: &str) -> Result<Option<String>> {
        directory::setting(&mut self.driver, name)
    }
    fn organizations(&mut self) -> Result<Vec<OrganizationId>> {
        directory::organizations(&mut self.driver)
    }
    fn all_events(&mut self) -> Result<Vec<(OrganizationId, EventId)>> {
        directory::all_events(&mut self.driver)
    }
    fn read(&mut self, organization_id: &OrganizationId, op: ReadOp) -> Result<()> {
        run_read(&mut self.driver, organization_id, op)
    }
    fn commit(&mut self) -> Result<()> {
        self.driver.batch("COMMIT")?;
        // The planner has no statistics about the new rows yet. It would collect them by itself a minute later.
        self.driver.batch("SET client_min_messages = error; ANALYZE").or(Ok(()))
    }
    fn roll_back(&mut self) {
        let _ = self.driver.batch("ROLLBACK");
    }
}

fn unknown(table: &str, column: &str, what: &str) -> Error {
    Error::Bug(format!("a move does not know what to do with the column {table}.{column} ({what})"))
}

/// The condition that the policy uses, added to the statement, so that PostgreSQL uses the index of the primary key.
fn own(table: &Table) -> &'static str {
    if table.owned { " WHERE organization_id = current_setting('app.organization_id', true)" } else { "" }
}
