//! The raw limit of storing scans in SQLite. A bare loop inserts the same scans as the server and updates their
//! tickets' rows, with the durability that the server uses. SQLite has one writer, so this loop has one connection.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use crate::list::Random;
use crate::organiser::Listed;

// The columns and the key of the real table, without its indices, triggers and checks.
const SCHEMA: &str = "
  -- tidy-allow: the bare limit is no store of ours
  CREATE TABLE scans (
    organization_id TEXT NOT NULL, scan_id TEXT NOT NULL, device_id TEXT NOT NULL, digest BLOB NOT NULL,
    event_id TEXT NOT NULL, barcode_hash BLOB, serial INTEGER NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (organization_id, scan_id, device_id, digest)
  ) STRICT;
  -- tidy-allow: the bare limit is no store of ours
  CREATE TABLE tickets (
    organization_id TEXT NOT NULL, ticket_id TEXT NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (organization_id, ticket_id)
  ) STRICT;";
// tidy-allow: the bare limit is no store of ours
const INSERT_TICKET: &str = "INSERT INTO tickets VALUES (?1, ?2, '')";
// tidy-allow: the bare limit is no store of ours
const INSERT_SCAN: &str = "INSERT INTO scans VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
// tidy-allow: the bare limit is no store of ours
const UPDATE_TICKET: &str = "UPDATE tickets SET state = ?3 WHERE organization_id = ?1 AND ticket_id = ?2";

/// An id and a digest for each scan. They are made before the clock starts, because making them is no part of storing.
pub fn ids(items: &[String]) -> Vec<(String, [u8; 32])> {
    let mut random = Random(4);
    items.iter().map(|item| (random.uuid(), Sha256::digest(item.as_bytes()).into())).collect()
}

/// The text that the bare loop writes into each ticket's row.
pub const STATE: &str = r#"{"entries":1,"inside":1,"last_entry":{"at_ms":1780000000000,"gate_id":"north"}}"#;

/// Opens a new, empty database with the durability that the server uses.
pub fn open(folder: &Path, name: &str) -> Result<Connection> {
    let path = folder.join(format!("{name}.sqlite"));
    for end in ["", "-wal", "-shm"] {
        let file = folder.join(format!("{name}.sqlite{end}"));
        if file.exists() {
            std::fs::remove_file(file)?;
        }
    }
    let db = Connection::open(&path)?;
    let mode: String = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    ensure!(mode == "wal", "the limit is one of WAL, not of {mode}");
    db.execute_batch("PRAGMA synchronous = FULL")?;
    let level: i64 = db.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    ensure!(level == 2, "the limit is one of synchronous = FULL, not of {level}");
    Ok(db)
}

/// Measures bare SQLite in scans per second. `items` are scans as they are uploaded; `tickets` has the ticket of each,
/// in the same order. The database file is made in `folder`.
pub fn rate(folder: &Path, tickets: &[Listed], items: &[String], per_transaction: usize) -> Result<f64> {
    ensure!(tickets.len() >= items.len(), "each scan has a ticket of its own");
    let mut db = open(folder, "bare")?;
    db.execute_batch(SCHEMA)?;
    let mut random = Random(3);
    let (organization_id, device_id, event_id) = (random.uuid(), random.uuid(), random.uuid());
    let filling = db.transaction()?;
    for ticket in tickets {
        filling.prepare_cached(INSERT_TICKET)?.execute(params![organization_id, ticket.ticket_id])?;
    }
    filling.commit()?;
    let rows = ids(items);
    let start = Instant::now();
    for (batch, numbers) in (0..items.len()).collect::<Vec<_>>().chunks(per_transaction).enumerate() {
        let work = db.transaction()?;
        for &at in numbers {
            let (scan_id, digest) = &rows[at];
            let mut insert = work.prepare_cached(INSERT_SCAN)?;
            insert.execute(params![
                organization_id,
                scan_id,
                device_id,
                digest,
                event_id,
                digest,
                batch as i64,
                items[at]
            ])?;
            let mut update = work.prepare_cached(UPDATE_TICKET)?;
            update.execute(params![organization_id, tickets[at].ticket_id, STATE])?;
        }
        work.commit()?;
    }
    Ok(items.len() as f64 / start.elapsed().as_secs_f64())
}
