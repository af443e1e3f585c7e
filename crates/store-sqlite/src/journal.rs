//! The journal file of a terminal scanner (`admit scan`). It holds the rows of the engine, and the bodies (such as the
//! list) that the engine wants back at the next start.
//!
//! An append is one transaction that is on the disk when the call returns. The verdict is shown only after that (law
//! 10).

use std::path::Path;

use admit_app::error::{Error, Result};
use admit_core::wire::engine::Row;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Transaction, TransactionBehavior, params};

use crate::connect::{check, make_private, pragma};

/// The application id in the file's header, which marks it as a scanner's journal: "AdmJ".
const APPLICATION: i64 = 0x4164_6d4a;
/// The version of the schema. It never changes: rows are opaque text, so a newer engine needs no other schema.
const VERSION: i64 = 1;
const SCHEMA: &str = "
    CREATE TABLE rows (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
    CREATE TABLE bodies (key TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
    CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;";

/// The rows and bodies that the file holds when it is opened.
#[derive(Debug, Default)]
pub struct Found {
    /// The rows of the journal, in order.
    pub rows: Vec<Row>,
    /// The stored bodies with their keys.
    pub bodies: Vec<(String, Vec<u8>)>,
}

/// Why an append failed. The engine gets it as one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendError {
    /// The disk is full.
    Quota,
    /// The first row does not have the number after the last stored one.
    OutOfStep,
    /// Any other failure.
    Closed,
}

impl AppendError {
    /// The word that the engine knows for this failure.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::OutOfStep => "out_of_step",
            Self::Closed => "closed",
        }
    }
}

/// An open journal. The caller keeps other processes away from the file.
#[derive(Debug)]
pub struct DeviceJournal {
    conn: Connection,
    /// The number that the next row must have.
    next: u64,
}

impl DeviceJournal {
    /// Opens the file, creates it if it is missing, and reads all of it. Refuses a database that is no journal.
    pub fn open(path: &Path) -> Result<(Self, Found)> {
        make_private(path)?;
        let mut conn = check("open", Connection::open(path))?;
        belongs(&conn, path)?;
        pragma(&conn, "journal_mode", "wal", "wal")?;
        pragma(&conn, "synchronous", "FULL", "2")?;
        // Deleted bodies may hold guests' names, so SQLite must overwrite them in the file.
        pragma(&conn, "secure_delete", "ON", "1")?;
        check("making the journal", make(&mut conn))?;
        let found = check("reading the journal", read(&conn))?;
        let next = found.rows.last().map_or(0, |row| row.n) + 1;
        Ok((Self { conn, next }, found))
    }

    /// Writes rows in one flushed transaction: all of them or none.
    pub fn append(&mut self, rows: &[Row]) -> std::result::Result<(), AppendError> {
        if rows.iter().zip(self.next..).any(|(row, n)| row.n != n) {
            return Err(AppendError::OutOfStep);
        }
        self.write(|tx| {
            let mut insert = tx.prepare_cached("INSERT INTO rows (n, text) VALUES (?1, ?2)")?;
            rows.iter().try_for_each(|row| insert.execute(params![row.n as i64, row.text]).map(drop))
        })
        .map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => AppendError::Quota,
            _ => AppendError::Closed,
        })?;
        self.next += rows.len() as u64;
        Ok(())
    }

    /// Replaces the row with this number and deletes all rows before it. If the call fails, every row is unchanged.
    pub fn purge(&mut self, row: &Row) -> rusqlite::Result<()> {
        self.write(|tx| {
            let changed = tx.execute("UPDATE rows SET text = ?2 WHERE n = ?1", params![row.n as i64, row.text])?;
            if changed == 0 {
                return Err(rusqlite::Error::QueryReturnedNoRows);
            }
            tx.execute("DELETE FROM rows WHERE n < ?1", [row.n as i64]).map(drop)
        })
    }

    /// Stores a body under a key.
    pub fn save(&mut self, key: &str, body: &[u8]) -> rusqlite::Result<()> {
        self.write(|tx| {
            tx.execute("INSERT OR REPLACE INTO bodies (key, body) VALUES (?1, ?2)", params![key, body]).map(drop)
        })
    }

    /// Deletes the body with this key.
    pub fn forget(&mut self, key: &str) -> rusqlite::Result<()> {
        self.write(|tx| tx.execute("DELETE FROM bodies WHERE key = ?1", [key]).map(drop))
    }

    /// Deletes every body, also from the write-ahead log beside the file.
    pub fn wipe(&mut self) -> rusqlite::Result<()> {
        self.write(|tx| tx.execute("DELETE FROM bodies", []).map(drop))?;
        self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }

    /// A setting of this file; `None` if it is not set.
    pub fn setting(&self, name: &str) -> rusqlite::Result<Option<String>> {
        self.conn.query_row("SELECT value FROM settings WHERE name = ?1", [name], |row| row.get(0)).optional()
    }

    /// Stores a setting.
    pub fn set(&mut self, name: &str, value: &str) -> rusqlite::Result<()> {
        self.write(|tx| {
            tx.execute("INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)", [name, value]).map(drop)
        })
    }

    fn write(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> rusqlite::Result<()> {
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        work(&tx)?;
        tx.commit()
    }
}

/// Checks that the file is a journal or empty. A server's database must not get a scanner's tables.
fn belongs(conn: &Connection, path: &Path) -> Result<()> {
    let number = |name: &str| conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let application = check("reading its head", number("application_id"))?;
    let tables = conn.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0));
    let tables = check("reading its head", tables)?;
    let version = check("reading its head", number("user_version"))?;
    let path = path.display();
    if application != APPLICATION && tables > 0 {
        return Err(Error::Bug(format!("{path} is a database of something else: choose another file")));
    }
    if version > VERSION {
        return Err(Error::Bug(format!("a newer version of Admit wrote {path}: use that version")));
    }
    Ok(())
}

fn make(conn: &mut Connection) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = tx.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == 0 {
        tx.execute_batch(SCHEMA)?;
        tx.execute_batch(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"))?;
    }
    tx.commit()
}

fn read(conn: &Connection) -> rusqlite::Result<Found> {
    let mut rows = conn.prepare("SELECT n, text FROM rows ORDER BY n")?;
    let rows = rows.query_map([], |row| Ok(Row { n: row.get::<_, i64>(0)? as u64, text: row.get(1)? }))?;
    let rows = rows.collect::<rusqlite::Result<_>>()?;
    let mut bodies = conn.prepare("SELECT key, body FROM bodies ORDER BY key")?;
    let bodies = bodies.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    Ok(Found { rows, bodies })
}
