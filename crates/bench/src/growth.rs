//! Growth: the time of one batch while the stored scans grow to five million.
//!
//! Phones upload the first scans. Their rows are then copied straight into the database with other ids, spread over
//! the whole range of each key. So the next scans meet trees as deep, and pages as cold, as if phones had uploaded
//! every scan.

use std::time::{Duration, Instant};

use admit_store_postgres::testing;
use anyhow::{Context, Result, ensure};
use rusqlite::Connection;
use tokio_postgres::NoTls;

use crate::ground::{Ground, postgres};
use crate::ingest::{once, paired};
use crate::organiser::Listed;
use crate::phone::{Format, Phone};
use crate::row::{Row, Target, number};
use crate::run::{Run, Store};
use crate::sample::median;
use crate::server::{Data, Server};

/// Numbers of stored scans at which batches are timed.
const POINTS: [usize; 3] = [1_000_000, 2_000_000, 5_000_000];
/// The same for a quick run, which only shows that the measurement works.
const QUICK: [usize; 1] = [200_000];
/// The longest time that one database is filled. Numbers of scans that it did not reach are not measured.
const FILLING: Duration = Duration::from_secs(360);
/// The largest allowed ratio of a batch's time at the end to its time at the beginning (docs/performance.md).
const MOST: f64 = 1.3;
/// Scans per batch.
const BATCH: usize = 1_000;
/// The tables that get a row per scan.
const TABLES: [&str; 2] = ["scans", "states"];

/// Measures each of the run's stores.
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &store in &run.stores {
        rows.extend(one(run, store)?);
    }
    Ok(rows)
}

fn one(run: &Run, store: Store) -> Result<Vec<Row>> {
    let ground = Ground::of(run, store)?;
    let data = ground.copy(run, "growth")?;
    let mut server = Server::serve_on(run, &data)?;
    let mut phones = paired(ground, &server, 1)?;
    let mut fresh = ground.tickets.as_slice();
    let begun = batch_ms(run, &server, &mut phones, &mut fresh)?;
    let name = |stored: usize| format!("batch of 1,000, {store}, {} scans stored", number(stored as f64));
    let input = "one phone, format 2, first scans; limit: the same batch on an empty event";
    let mut rows = vec![Row::new(name(0), begun, "ms", Target::None, input)];
    let filler = Filler::of(store, &data, ground.tickets.len() - fresh.len())?;
    let mut stored = filler.base;
    let deadline = Instant::now() + FILLING;
    for point in if run.quick { &QUICK[..] } else { &POINTS[..] } {
        server.stop()?;
        stored = filler.fill(&data, stored, *point, deadline)?;
        server = Server::serve_on(run, &data)?;
        if stored < *point {
            eprintln!("   {store} held {stored} scans when the time for filling it was over");
            break;
        }
        let took = batch_ms(run, &server, &mut phones, &mut fresh)?;
        let mut row = Row::new(name(*point), took, "ms", Target::None, input).beside(begun, Target::None);
        row.target = Some(format!("≤ {MOST} × limit"));
        row.met = Some(took <= MOST * begun);
        rows.push(row);
    }
    server.stop()?;
    ground.drop_copy(&data)?;
    Ok(rows)
}

/// The median time of one batch in milliseconds, measured one after the other on a warm server.
fn batch_ms(run: &Run, server: &Server, phones: &mut [Phone], fresh: &mut &[Listed]) -> Result<f64> {
    once(server, phones, Format::V2, BATCH, 3, fresh)?;
    let times = (0..run.scaled(15, 3)).map(|_| once(server, phones, Format::V2, BATCH, 1, fresh));
    Ok(median(&times.collect::<Result<Vec<_>>>()?) * 1_000.0)
}

/// Fills a database with copies of the first scans' rows.
struct Filler {
    store: Store,
    /// The number of scans that each copy has.
    base: usize,
    /// The columns of each table, in the order of [`TABLES`].
    columns: Vec<Vec<String>>,
}

impl Filler {
    /// Saves the rows of the first `base` scans in tables of their own, and reads their columns.
    fn of(store: Store, data: &Data, base: usize) -> Result<Filler> {
        let mut columns = Vec::new();
        for table in TABLES {
            // tidy-allow: rows are copied as they are, whatever they are
            let aside = format!("CREATE TABLE first_{table} AS SELECT * FROM {table}");
            columns.push(match store {
                Store::Sqlite => {
                    let conn = open(data)?;
                    conn.execute_batch(&aside)?;
                    sqlite_columns(&conn, table)?
                }
                Store::Postgres => {
                    postgres_run(data, &aside)?;
                    postgres_columns(data, table)?
                }
            });
        }
        ensure!(columns.iter().all(|columns| !columns.is_empty()), "a table that copies are made of has no columns");
        Ok(Filler { store, base, columns })
    }

    /// Fills the database up to `point` scans, or until `deadline`. Gives the number of scans then stored.
    fn fill(&self, data: &Data, stored: usize, point: usize, deadline: Instant) -> Result<usize> {
        eprintln!("   filling {} to {} scans", self.store, number(point as f64));
        let sqlite = (self.store == Store::Sqlite).then(|| open(data)).transpose()?;
        let mut stored = stored;
        while stored < point && Instant::now() < deadline {
            let copy = stored / self.base;
            let statements = self.statements(copy);
            match &sqlite {
                Some(conn) => conn.execute_batch(&format!("BEGIN; {statements} COMMIT"))?,
                None => postgres_run(data, &format!("SET synchronous_commit = off; BEGIN; {statements} COMMIT"))?,
            }
            stored += self.base;
        }
        match sqlite {
            Some(conn) => conn.close().map_err(|(_, error)| error).context("closing the filled database")?,
            None => postgres().admin("CHECKPOINT"),
        }
        Ok(stored)
    }

    /// The statements that add one copy of the saved rows. Each text id gets the copy's number as its first four
    /// digits. The number is multiplied, so that copies lie apart in the key. Values of other columns stay as they
    /// are.
    fn statements(&self, copy: usize) -> String {
        let mark = format!("{:04x}", (copy * 40_503) % 65_536);
        let mut text = String::new();
        for (table, columns) in TABLES.iter().zip(&self.columns) {
            let values: Vec<String> = columns.iter().map(|column| self.value(column, &mark)).collect();
            let (names, values) = (columns.join(", "), values.join(", "));
            // tidy-allow: rows are copied as they are, whatever they are
            text.push_str(&format!("INSERT INTO {table} ({names}) SELECT {values} FROM first_{table};\n"));
        }
        text
    }

    fn value(&self, column: &str, mark: &str) -> String {
        match (column, self.store) {
            ("scan_id" | "log_id", _) => format!("'{mark}' || substr({column}, 5)"),
            ("subject", _) => format!("'ticket:{mark}' || substr(subject, 12)"),
            ("digest" | "barcode_hash", Store::Sqlite) => format!("unhex('{mark}' || substr(hex({column}), 5))"),
            ("digest" | "barcode_hash", Store::Postgres) => {
                format!("decode('{mark}' || substr(encode({column}, 'hex'), 5), 'hex')")
            }
            _ => column.to_owned(),
        }
    }
}

/// Opens the database file without durability, to fill it fast. A crash would only lose this measurement.
fn open(data: &Data) -> Result<Connection> {
    let conn = Connection::open(data.folder.join("admit.db"))?;
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; PRAGMA temp_store = MEMORY")?;
    Ok(conn)
}

fn sqlite_columns(conn: &Connection, table: &str) -> Result<Vec<String>> {
    // tidy-allow: of no store of ours
    let mut asked = conn.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = asked.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// The address of the database for a superuser. The product's own role sees only one organisation at a time.
fn superuser(data: &Data) -> Result<String> {
    Ok(postgres().as_superuser(data.database_url.as_ref().context("a database of its own")?))
}

fn postgres_run(data: &Data, sql: &str) -> Result<()> {
    testing::run_sql(&superuser(data)?, sql).context("filling PostgreSQL")
}

fn postgres_columns(data: &Data, table: &str) -> Result<Vec<String>> {
    let address = superuser(data)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
        tokio::spawn(connection);
        // tidy-allow: of no store of ours
        let asked = "SELECT attname::text FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0";
        let rows = client.query(asked, &[&table]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    })
}
