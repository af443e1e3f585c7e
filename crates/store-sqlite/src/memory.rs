//! Databases in memory whose content the simulator copies and replaces. A connection that reads such a database keeps
//! its prepared statements. Preparing them again would take a fourth of the time of a small simulated world.

use std::sync::atomic::{AtomicU64, Ordering};

use admit_app::error::{Error, Result};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, MAIN_DB, OpenFlags};

use crate::connect::{check, pragma};

/// A database in memory. It holds a second connection, which keeps the database alive and replaces its content.
pub(crate) struct Memory {
    name: String,
    keeper: Connection,
}

impl Memory {
    /// Makes an empty database.
    pub fn empty() -> Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("file:/admit-{}?vfs=memdb", MADE.fetch_add(1, Ordering::Relaxed));
        let keeper = connect(&name)?;
        // This connection never rolls back, so it needs no journal.
        pragma(&keeper, "journal_mode", "off", "off")?;
        Ok(Self { name, keeper })
    }

    /// Opens another connection to this database.
    pub fn connect(&self) -> Result<Connection> {
        connect(&self.name)
    }

    /// Replaces the content by an image. No connection may be inside a transaction.
    pub fn put(&mut self, image: &[u8]) -> Result<()> {
        let mut from = check("open", Connection::open_in_memory())?;
        check("restore", from.deserialize_read_exact(MAIN_DB, image, image.len(), true))?;
        let done = Backup::new(&from, &mut self.keeper).and_then(|copy| copy.step(-1));
        if check("restore", done)? != StepResult::Done {
            return Err(Error::Bug("an image was put in place of a database in use".into()));
        }
        // SQLite gives a copy a new schema version, so that all connections prepare again. This sets the version of
        // the image.
        let version: i64 = check("restore", from.query_row("PRAGMA schema_version", [], |row| row.get(0)))?;
        check("restore", self.keeper.pragma_update(None, "schema_version", version))
    }
}

fn connect(name: &str) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    check("open", Connection::open_with_flags(name, flags))
}
