//! Opening a database: the settings (each is read back), the migrations, the first epoch.

use std::path::Path;
use std::time::Duration;

use admit_app::error::{Error, Result};
use admit_store_queries::block_index::BlockIndex;
use admit_store_queries::directory;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::driver::{Harm, SqliteDriver, meaning};
use crate::options::Options;

mod embedded {
    #![allow(missing_docs, reason = "written by refinery")]
    refinery::embed_migrations!("migrations");
}

/// The oldest allowed SQLite version, as a number. Older ones have the WAL-reset bug, which corrupts a database.
const OLDEST_SQLITE: i32 = 3_051_003;
/// How long to wait while another process holds the file's write lock.
const BUSY: Duration = Duration::from_secs(10);
/// The most prepared statements that a connection keeps. It is enough for all statements.
const STATEMENTS: usize = 256;

/// Turns an error while a database is opened into an error for the operator. No client waits here that could retry.
pub(crate) fn check<T>(what: &str, result: rusqlite::Result<T>) -> Result<T> {
    result.map_err(|error| match meaning(what, &error) {
        (Error::Later { .. }, Harm::Fatal) => Error::Bug(format!("opening the database: {what}: {error}")),
        (Error::Bug(why), _) => Error::Bug(format!("opening the database: {why}")),
        (other, _) => other,
    })
}

/// Makes a file that only its owner may read, because guests' names and addresses are in it. SQLite would use the
/// umask. SQLite gives the journal of this file the same rights.
pub(crate) fn make_private(path: &Path) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // Another process made the file meanwhile, or it existed before.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(drop).map_err(|error| Error::Bug(format!("making {}: {error}", path.display()))),
    }
}

/// Sets a pragma and reads it back, because SQLite ignores a value that it does not support.
pub(crate) fn pragma(conn: &Connection, name: &str, value: &str, must_read: &str) -> Result<()> {
    // Some pragmas answer with a row when set, some don't.
    check(name, conn.execute_batch(&format!("PRAGMA {name} = {value}")))?;
    let read = conn.query_row(&format!("PRAGMA {name}"), [], |row| {
        Ok(match row.get_ref(0)? {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => other.as_str().unwrap_or_default().to_owned(),
        })
    });
    let read = check(name, read)?;
    if read.eq_ignore_ascii_case(must_read) {
        Ok(())
    } else {
        Err(Error::Bug(format!("the database's {name} is {read}, it must be {must_read}: scans would not be safe")))
    }
}

/// The page cache of the connection that writes, in KiB (a negative number means KiB). Every scan looks up a few
/// pages.
const WRITER_PAGES: &str = "-16384";
/// The page cache of each other connection, in KiB. A larger cache would save little: these connections mostly read
/// pages that they have not read before, and the operating system caches the file.
const READER_PAGES: &str = "-2048";

fn settle(conn: &Connection, in_memory: bool, pages: &str) -> Result<()> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        let version = rusqlite::version();
        return Err(Error::Bug(format!("SQLite {version} may corrupt a database: 3.51.3 or newer is needed")));
    }
    check("busy_timeout", conn.busy_timeout(BUSY))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this setting SQLite plans a statement with a range again whenever its values change. That would be a
    // third of all work.
    check("planner", conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true))?;
    if in_memory {
        pragma(conn, "journal_mode", "memory", "memory")?;
    } else {
        pragma(conn, "journal_mode", "wal", "wal")?;
        pragma(conn, "synchronous", "FULL", "2")?;
        // A commit that finds a journal of this many pages (400 MB) copies all of it back itself, while all others
        // wait. The checkpoint thread normally does it far earlier. This limit is reached only while some reader
        // prevents that all the time.
        pragma(conn, "wal_autocheckpoint", "100000", "100000")?;
        pragma(conn, "cache_size", pages, pages)?;
    }
    // Deleted values are overwritten in the file, not only removed from their rows.
    pragma(conn, "secure_delete", "ON", "1")?;
    pragma(conn, "foreign_keys", "ON", "1")?;
    pragma(conn, "recursive_triggers", "ON", "1")?;
    pragma(conn, "temp_store", "MEMORY", "2")
}

/// Opens a connection that writes, and brings the schema up to date. Without a path the database is in memory.
pub(crate) fn writer(path: Option<&Path>, options: &Options) -> Result<Connection> {
    let conn = match path {
        Some(path) => {
            // SQLite takes an empty file for an empty database.
            make_private(path)?;
            Connection::open(path)
        }
        None => Connection::open_in_memory(),
    };
    let mut conn = check("open", conn)?;
    settle(&conn, path.is_none(), WRITER_PAGES)?;
    if path.is_some() {
        // Copies a journal that a crash left back into the file. Otherwise a server that crashes again and again fills
        // the disk.
        fold(&conn);
    }
    migrate(&mut conn, options)?;
    Ok(conn)
}

/// Prepares a connection that writes to a database in memory. Unless `migrated`, it creates the tables.
pub(crate) fn in_memory(mut conn: Connection, migrated: bool, options: &Options) -> Result<Connection> {
    settle(&conn, true, WRITER_PAGES)?;
    if !migrated {
        migrate(&mut conn, options)?;
    }
    Ok(conn)
}

fn migrate(conn: &mut Connection, options: &Options) -> Result<()> {
    embedded::migrations::runner()
        .run(conn)
        .map_err(|error| Error::Bug(format!("bringing the database up to date: {error}")))?;
    let transaction = check("begin", conn.transaction_with_behavior(TransactionBehavior::Immediate))?;
    let mut driver = SqliteDriver::new(&transaction, options, &BlockIndex::default(), false, None);
    directory::begin_first_epoch(&mut driver, options.first_epoch)?;
    check("commit", transaction.commit())
}

/// Copies the journal (WAL) back into the file, as far as that is possible without waiting for a reader or writer.
/// Gives the journal's length in pages. If all of it is in the file, the next write starts the journal at its
/// beginning.
pub(crate) fn fold(conn: &Connection) -> i64 {
    let pages = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get("log"));
    pages.unwrap_or_else(|error| {
        // If the disk is failing, the next commit finds that out itself.
        tracing::warn!(%error, "folding the journal back");
        0
    })
}

/// A connection that cannot write.
pub(crate) fn reader(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = check("open", Connection::open_with_flags(path, flags))?;
    settle(&conn, false, READER_PAGES)?;
    pragma(&conn, "query_only", "ON", "1")?;
    Ok(conn)
}

/// Opens a connection that only copies the journal back into the file.
pub(crate) fn checkpointer(path: &Path) -> Result<Connection> {
    let conn = check("open", Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE))?;
    settle(&conn, false, READER_PAGES)?;
    Ok(conn)
}
