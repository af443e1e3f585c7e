//! PostgreSQL under the simulator: databases of its own on a given server, emptied between seeds.

use std::sync::{Arc, Mutex, PoisonError};

use admit_app::error::{Error, Result};
use admit_app::ports::Store;
use admit_sim::home::{FIRST_EPOCH, Home, Hooks};
use admit_store_postgres::scratch::{Scratch, Server};
use admit_store_postgres::{Options, Postgres};
use admit_store_queries::contents::Contents;

/// Where databases come from, and those that no seed uses at the moment.
pub struct Databases {
    server: Server,
    free: Arc<Mutex<Vec<Scratch>>>,
}

/// A database of a seed's own, for as long as it runs.
struct Private {
    free: Arc<Mutex<Vec<Scratch>>>,
    database: Option<Scratch>,
    store: Postgres,
}

fn lock(free: &Mutex<Vec<Scratch>>) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
    free.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Databases {
    /// On the server of `url`, as whose role the store works; `superuser` makes, empties and copies databases there.
    pub fn on(url: &str, superuser: &str) -> Self {
        Self { server: Server { url: url.to_owned(), superuser: superuser.to_owned() }, free: Arc::default() }
    }

    /// An empty database of today's schema.
    pub fn home(&self, hooks: Hooks) -> Result<Box<dyn Home>> {
        let plain =
            Options { inline: true, require_fsync: false, first_epoch: Some(FIRST_EPOCH), ..Options::default() };
        let free = lock(&self.free).pop();
        let database = match free {
            Some(database) => {
                database.put_back("empty")?;
                database
            }
            None => {
                let database = self.server.database()?;
                Postgres::open(database.url(), plain.clone())?;
                database.keep("empty")?;
                database
            }
        };
        let options = Options {
            clock: Some(hooks.clock),
            before_commit: Some(hooks.before_commit),
            before_statement: Some(hooks.before_statement),
            ..plain
        };
        let store = Postgres::open(database.url(), options)?;
        Ok(Box::new(Private { free: Arc::clone(&self.free), database: Some(database), store }))
    }
}

impl Private {
    fn database(&self) -> Result<&Scratch> {
        self.database.as_ref().ok_or_else(|| Error::Bug("the database was given back".into()))
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        lock(&self.free).extend(self.database.take());
    }
}

impl Home for Private {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }
    fn crash(&mut self) -> Result<()> {
        self.store.crash();
        Ok(())
    }
    fn backup(&mut self) -> Result<()> {
        self.database()?.keep("backup")
    }
    fn restore(&mut self) -> Result<()> {
        self.store.crash();
        self.database()?.put_back("backup")
    }
    /// Which store holds the same rows is asked at level 1.
    fn contents(&self) -> Result<Contents> {
        Ok(Contents::default())
    }
}
