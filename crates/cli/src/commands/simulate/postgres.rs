//! PostgreSQL for the simulator: databases on a given server, which are emptied between seeds.

use std::sync::{Arc, Mutex, PoisonError};

use admit_app::error::{Error, Result};
use admit_app::ports::Store;
use admit_sim::store_factory::{FIRST_EPOCH, Handed, Hooks, StoreBehind};
use admit_store_postgres::scratch::{Scratch, Server};
use admit_store_postgres::{Options, Postgres};
use admit_store_queries::contents::Contents;

/// The server for the databases, and the databases that no seed uses now.
pub struct Databases {
    server: Server,
    free: Free,
}

type Free = Arc<Mutex<Vec<Held>>>;

/// A database with an open store. A connection prepares its statements once, which takes longer than a whole seed. So
/// the store stays open, and each seed exchanges only its clock and its fault hooks.
struct Held {
    database: Scratch,
    store: Postgres,
    handed: Handed,
}

/// The database of one seed while it runs.
struct Private {
    free: Free,
    held: Option<Held>,
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Databases {
    /// Makes databases on the server of `url`, as whose role the store works. `superuser` creates, empties and copies
    /// them.
    pub fn on(url: &str, superuser: &str) -> Self {
        Self { server: Server { url: url.to_owned(), superuser: superuser.to_owned() }, free: Arc::default() }
    }

    /// An empty database with the present schema.
    pub fn home(&self, hooks: Hooks) -> Result<Box<dyn StoreBehind>> {
        let free = lock(&self.free).pop();
        let held = match free {
            Some(held) => {
                held.database.put_back("empty")?;
                held.handed.hand_over(hooks);
                held
            }
            None => self.fresh(hooks)?,
        };
        Ok(Box::new(Private { free: Arc::clone(&self.free), held: Some(held) }))
    }

    fn fresh(&self, hooks: Hooks) -> Result<Held> {
        let database = self.server.database()?;
        let handed = Handed::new(hooks);
        let Hooks { clock, before_commit, before_statement } = handed.hooks();
        let options = Options {
            inline: true,
            require_fsync: false,
            first_epoch: Some(FIRST_EPOCH),
            clock: Some(clock),
            before_commit: Some(before_commit),
            before_statement: Some(before_statement),
            ..Options::default()
        };
        let store = Postgres::open(database.url(), options)?;
        database.keep("empty")?;
        Ok(Held { database, store, handed })
    }
}

impl Private {
    fn held(&self) -> Result<&Held> {
        self.held.as_ref().ok_or_else(|| Error::Bug("the database was given back".into()))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // After a panic the state of the database is unknown, so it is not reused.
        if !std::thread::panicking() {
            lock(&self.free).extend(self.held.take());
        }
    }
}

impl StoreBehind for Private {
    fn store(&self) -> Arc<dyn Store> {
        match &self.held {
            Some(held) => Arc::new(held.store.clone()),
            None => unreachable!("given back only when it is dropped"),
        }
    }
    fn crash(&mut self) -> Result<()> {
        self.held()?.store.crash();
        Ok(())
    }
    fn backup(&mut self) -> Result<()> {
        self.held()?.database.keep("backup")
    }
    fn restore(&mut self) -> Result<()> {
        let held = self.held()?;
        held.store.crash();
        held.database.put_back("backup")
    }
    /// Returns nothing, because level 1 compares the rows of both stores.
    fn contents(&self) -> Result<Contents> {
        Ok(Contents::default())
    }
}
