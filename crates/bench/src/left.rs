//! The limit of the rows themselves. It copies the rows that uploaded scans left in the server's tables, one batch per
//! transaction, into empty tables with the same keys and indices. The ratio shows what the server does besides
//! storing.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use rusqlite::params;
use tokio_postgres::{Client, Statement};

use crate::bare;
use crate::bare_postgres::connect;
use crate::ground::postgres;
use crate::run::{Run, Store};
use crate::sample::median;
use crate::server::Data;

// Finds the batches of exactly so many scans, newest first. tidy-allow: this SQL belongs to no store
const SQLITE_BATCHES: &str = "SELECT organization_id, event_id, serial FROM server.states
  GROUP BY organization_id, event_id, serial HAVING COUNT(*) = ?1 ORDER BY serial DESC LIMIT ?2";
// tidy-allow: this SQL belongs to no store
const POSTGRES_BATCHES: &str = "SELECT organization_id, event_id, serial FROM public.states
  GROUP BY organization_id, event_id, serial HAVING COUNT(*) = $1 ORDER BY serial DESC LIMIT $2";
/// The tables into which the server writes every scan, blocks of them and states.
const TABLES: [&str; 2] = ["scan_blocks", "states"];

/// Measures how many scans per second this machine copies, with their blocks and states. It copies about `scans` scans,
/// from the newest batches of exactly `batch` scans that a server left in `data`.
pub fn rate(run: &Run, store: Store, data: &Data, batch: usize, scans: usize, phones: usize) -> Result<f64> {
    let batches = (scans / batch).max(1);
    let once = || match store {
        Store::Sqlite => sqlite(&data.folder, batch, batches),
        Store::Postgres => on_postgres(data, batch, batches, phones),
    };
    Ok(median(&(0..run.runs(3)).map(|_| once()).collect::<Result<Vec<_>>>()?))
}

fn sqlite(folder: &Path, batch: usize, batches: usize) -> Result<f64> {
    let db = bare::open(folder, "left")?;
    db.execute("ATTACH ?1 AS server", [folder.join("admit.db").display().to_string()])?;
    let made: Vec<String> = {
        // tidy-allow: this SQL belongs to no store
        let asked = "SELECT sql FROM server.sqlite_schema WHERE tbl_name = ?1 AND type IN ('table', 'index') AND sql IS NOT NULL ORDER BY type DESC";
        let mut asked = db.prepare(asked)?;
        let texts =
            TABLES.map(|table| asked.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<Vec<_>>>());
        texts.into_iter().collect::<rusqlite::Result<Vec<_>>>()?.concat()
    };
    made.iter().try_for_each(|sql| db.execute_batch(sql))?;
    let mut found: Vec<(String, String, i64)> = db
        .prepare(SQLITE_BATCHES)?
        .query_map(params![batch as i64, batches as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    ensure!(!found.is_empty(), "the server stored no batch of {batch} scans");
    found.reverse();
    let copies = TABLES.map(|table| copy("server", "main", table, '?'));
    let start = Instant::now();
    for (organization_id, event_id, serial) in &found {
        db.execute_batch("BEGIN IMMEDIATE")?;
        for sql in &copies {
            let copied = db.prepare_cached(sql)?.execute(params![organization_id, event_id, serial])?;
            ensure!((1..=batch).contains(&copied), "{copied} rows of a batch of {batch} first scans");
        }
        db.execute_batch("COMMIT")?;
    }
    Ok((found.len() * batch) as f64 / start.elapsed().as_secs_f64())
}

/// The statement that copies one batch's rows of a table. `mark` is the sign that begins a parameter.
fn copy(from: &str, into: &str, table: &str, mark: char) -> String {
    // A block's position is the serial of its write times 16,384, plus its number in the write.
    let serial = if table == "scan_blocks" { "position / 16384" } else { "serial" };
    let whose = format!("organization_id = {mark}1 AND event_id = {mark}2 AND {serial} = {mark}3");
    // tidy-allow: this SQL belongs to no store
    format!("INSERT INTO {into}.{table} SELECT * FROM {from}.{table} WHERE {whose}")
}

/// The statement that makes an empty table with the keys and indices of the server's table.
fn same_table(table: &str) -> String {
    // tidy-allow: this SQL belongs to no store
    format!("CREATE TABLE bare.{table} (LIKE public.{table} INCLUDING ALL)")
}

fn on_postgres(data: &Data, batch: usize, batches: usize, phones: usize) -> Result<f64> {
    let address = postgres().as_superuser(data.database_url.as_ref().context("a database of its own")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let first = connect(&address).await?;
        first.batch_execute("DROP SCHEMA IF EXISTS bare CASCADE; CREATE SCHEMA bare; ANALYZE").await?;
        for table in TABLES {
            first.batch_execute(&same_table(table)).await?;
        }
        let mut found = first.query(POSTGRES_BATCHES, &[&(batch as i64), &(batches as i64)]).await?;
        ensure!(!found.is_empty(), "the server stored no batch of {batch} scans");
        found.reverse();
        let found: Vec<(String, String, i64)> = found.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
        let mut clients: Vec<(Client, Vec<Statement>)> = Vec::new();
        for _ in 0..phones {
            let client = connect(&address).await?;
            let copies = TABLES.map(|table| copy("public", "bare", table, '$'));
            let copies = try_join_all(copies.iter().map(|sql| client.prepare(sql))).await?;
            clients.push((client, copies));
        }
        let start = Instant::now();
        let senders = clients.iter_mut().enumerate().map(|(phone, (client, copies))| {
            let mine = found.iter().skip(phone).step_by(phones);
            async move {
                for (organization_id, event_id, serial) in mine {
                    let work = client.transaction().await?;
                    for copy in copies.iter() {
                        let copied = work.execute(copy, &[organization_id, event_id, serial]).await?;
                        let copied = copied as usize;
                        ensure!((1..=batch).contains(&copied), "{copied} rows of a batch of {batch} first scans");
                    }
                    work.commit().await?;
                }
                Ok(())
            }
        });
        try_join_all(senders).await?;
        Ok((found.len() * batch) as f64 / start.elapsed().as_secs_f64())
    })
}
