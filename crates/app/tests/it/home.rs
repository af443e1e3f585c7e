//! Where a test world's data is: in memory, or with `ADMIT_TEST_STORE=postgres` in a database of the private PostgreSQL
//! that these tests start. Both stores run in place, with the same clock and the same injected faults.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use admit_app::ports::Store;
use admit_store_postgres::testing::{self, Server};
use admit_store_postgres::{Options as PostgresOptions, Postgres};
use admit_store_sqlite::{ClockHook, CommitHook, Options as SqliteOptions, Sqlite, StatementHook};

/// Databases that no world uses now. Each has a copy of its state from before the first world.
static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());
static COPIES: AtomicU32 = AtomicU32::new(0);
/// The name of the copy made before the first world.
const EMPTY: &str = "empty";

/// True if these tests run on PostgreSQL.
pub fn is_postgres() -> bool {
    match std::env::var("ADMIT_TEST_STORE").as_deref() {
        Ok("postgres") => true,
        Ok("sqlite") | Err(_) => false,
        Ok(other) => panic!("ADMIT_TEST_STORE is sqlite or postgres, not {other}"),
    }
}

/// The hooks through which a test controls a store.
#[derive(Clone)]
pub struct Hooks {
    pub clock: ClockHook,
    pub before_statement: StatementHook,
    pub before_commit: CommitHook,
}

/// The store of one world, on SQLite or PostgreSQL.
pub enum Home {
    Memory(Sqlite),
    Database(Database),
}

/// A copy of a store's content at one moment.
pub enum Copy {
    Image(Vec<u8>),
    Named(String),
}

/// A database that one world uses alone. It is free again when this is dropped.
pub struct Database {
    server: &'static Server,
    address: String,
    store: Postgres,
}

impl Drop for Database {
    fn drop(&mut self) {
        // Rolls open transactions back: the next world begins by emptying every table.
        self.store.crash();
        FREE.lock().unwrap().push(std::mem::take(&mut self.address));
    }
}

impl Home {
    /// Makes an empty store.
    pub fn new(hooks: Hooks) -> Self {
        if is_postgres() { Self::Database(Database::new(hooks)) } else { Self::memory(hooks) }
    }
    fn memory(hooks: Hooks) -> Self {
        let options = SqliteOptions {
            clock: Some(hooks.clock),
            before_statement: Some(hooks.before_statement),
            before_commit: Some(hooks.before_commit),
            ..SqliteOptions::inline()
        };
        Self::Memory(Sqlite::memory(options).unwrap())
    }
    /// The store, as the port that use cases get.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(store) => Arc::new(store.clone()),
            Self::Database(held) => Arc::new(held.store.clone()),
        }
    }
    /// Simulates a crash: the process starts again with what was committed last.
    pub fn crash(&self) {
        match self {
            Self::Memory(store) => store.crash().unwrap(),
            Self::Database(held) => held.store.crash(),
        }
    }
    /// Makes a backup of the store.
    pub fn copy(&self) -> Copy {
        match self {
            Self::Memory(store) => Copy::Image(store.snapshot().unwrap()),
            Self::Database(held) => {
                let name = format!("copy_{}", COPIES.fetch_add(1, Ordering::Relaxed));
                held.server.keep(&held.address, &name);
                Copy::Named(name)
            }
        }
    }
    /// Restores a backup of this store in place of its content.
    pub fn put_back(&self, copy: &Copy) {
        match (self, copy) {
            (Self::Memory(store), Copy::Image(image)) => store.restore(image).unwrap(),
            (Self::Database(held), Copy::Named(name)) => {
                held.store.crash();
                held.server.put_back(&held.address, name);
            }
            _ => panic!("a copy of the other kind of store"),
        }
    }
    /// The size of the store's content: the characters of all values of all rows.
    pub fn size(&self) -> usize {
        let contents = match self {
            Self::Memory(store) => store.contents().unwrap(),
            Self::Database(held) => held.server.contents(&held.address),
        };
        contents.tables().flat_map(|(_, rows)| rows).map(String::len).sum()
    }
}

impl Database {
    fn new(hooks: Hooks) -> Self {
        let server = testing::shared();
        let options = PostgresOptions {
            inline: true,
            require_fsync: false,
            clock: Some(hooks.clock.clone()),
            ..PostgresOptions::default()
        };
        let free = FREE.lock().unwrap().pop();
        let address = match free {
            Some(address) => {
                server.put_back(&address, EMPTY);
                address
            }
            None => {
                let address = server.database();
                // Only a new database is set up here, without faults. Setting it up takes longer than emptying its
                // tables later.
                drop(Postgres::open(&address, options.clone()).unwrap());
                server.keep(&address, EMPTY);
                address
            }
        };
        let options = PostgresOptions {
            before_statement: Some(hooks.before_statement),
            before_commit: Some(hooks.before_commit),
            ..options
        };
        let store = Postgres::open(&address, options).unwrap();
        Self { server, address, store }
    }
}
