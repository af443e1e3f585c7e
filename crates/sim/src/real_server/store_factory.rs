//! The store of levels 1 and 2: the embedded store in memory, or another store that the caller provides. So a test can
//! compare the results of both.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use admit_app::error::{Error, Result};
use admit_app::ports::Store;
use admit_core::rule::Epoch;
use admit_store_queries::contents::Contents;
use admit_store_queries::hooks::{ClockHook, CommitHook, StatementHook};
use admit_store_sqlite::{Options, Sqlite};

/// The epoch with which every world's server begins, a second before the world.
pub const FIRST_EPOCH: Epoch = Epoch { restored_at_ms: 1_780_847_999_000, random: 1 };

/// The world's clock and fault hooks, in the form that a store needs.
#[derive(Clone)]
pub struct Hooks {
    /// The clock.
    pub clock: ClockHook,
    /// The hook for faults at commits.
    pub before_commit: CommitHook,
    /// The hook for faults at statements.
    pub before_statement: StatementHook,
}

/// The hooks of a store that stays open from seed to seed. They pass each call on to the hooks of the world that runs
/// now.
#[derive(Clone)]
pub struct Handed(Arc<Mutex<Hooks>>);

impl Handed {
    /// Starts with the hooks of a world.
    pub fn new(hooks: Hooks) -> Self {
        Self(Arc::new(Mutex::new(hooks)))
    }
    /// Switches to the hooks of the next world.
    pub fn hand_over(&self, hooks: Hooks) {
        *lock(&self.0) = hooks;
    }
    /// The present world's time, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        let clock = Arc::clone(&lock(&self.0).clock);
        clock()
    }
    /// The hooks that the store keeps.
    pub fn hooks(&self) -> Hooks {
        let (for_clock, for_commit, for_statement) = (self.clone(), self.clone(), self.clone());
        Hooks {
            clock: Arc::new(move || for_clock.now_ms()),
            before_commit: Arc::new(move || {
                let before = Arc::clone(&lock(&for_commit.0).before_commit);
                before()
            }),
            before_statement: Arc::new(move |name| {
                let before = Arc::clone(&lock(&for_statement.0).before_statement);
                before(name)
            }),
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The store of one seed, with its disk. It runs on the calling thread, so its futures are ready at once.
pub trait StoreBehind {
    /// The store.
    fn store(&self) -> Arc<dyn Store>;
    /// Kills the server's process and starts it again on what was committed.
    fn crash(&mut self) -> Result<()>;
    /// Takes a backup of the committed content, which replaces the former backup.
    fn backup(&mut self) -> Result<()>;
    /// Restores the backup, which must exist.
    fn restore(&mut self) -> Result<()>;
    /// Every row of every table.
    fn contents(&self) -> Result<Contents>;
}

/// Makes an empty store whose first epoch is [`FIRST_EPOCH`], once for each run of a seed.
pub type Build<'a> = &'a (dyn Fn(Hooks) -> Result<Box<dyn StoreBehind>> + Sync);

/// The embedded store in memory. It stays open from seed to seed. Opening a store and preparing its statements took a
/// fourth of the time of a small simulated world.
struct Embedded {
    held: Option<(Sqlite, Handed)>,
    image: Option<Vec<u8>>,
}

/// The stores that no seed uses now.
static FREE: Mutex<Vec<(Sqlite, Handed)>> = Mutex::new(Vec::new());

/// The embedded store in memory.
pub fn embedded(hooks: Hooks) -> Result<Box<dyn StoreBehind>> {
    // The empty image is made once, because every seed begins with the same tables.
    static EMPTY: OnceLock<Vec<u8>> = OnceLock::new();
    let empty = match EMPTY.get() {
        Some(empty) => empty,
        None => {
            let options = Options { first_epoch: Some(FIRST_EPOCH), ..Options::inline() };
            let made = Sqlite::memory(options)?.snapshot()?;
            EMPTY.get_or_init(|| made)
        }
    };
    // A store that cannot be reset is not used again.
    let free = lock(&FREE).pop().filter(|(store, _)| store.restore(empty).is_ok());
    let held = match free {
        Some((store, handed)) => {
            handed.hand_over(hooks);
            (store, handed)
        }
        None => {
            let handed = Handed::new(hooks);
            let Hooks { clock, before_commit, before_statement } = handed.hooks();
            let options = Options {
                clock: Some(clock),
                before_commit: Some(before_commit),
                before_statement: Some(before_statement),
                first_epoch: Some(FIRST_EPOCH),
                ..Options::inline()
            };
            (Sqlite::memory_of(empty, options)?, handed)
        }
    };
    Ok(Box::new(Embedded { held: Some(held), image: None }))
}

impl Embedded {
    fn sqlite(&self) -> Result<&Sqlite> {
        self.held.as_ref().map(|(store, _)| store).ok_or_else(given_back)
    }
}

fn given_back() -> Error {
    Error::Bug("the store was given back".into())
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // After a panic the state of the store is unknown, so it is not reused.
        if !std::thread::panicking() {
            lock(&FREE).extend(self.held.take());
        }
    }
}

impl StoreBehind for Embedded {
    fn store(&self) -> Arc<dyn Store> {
        match &self.held {
            Some((store, _)) => Arc::new(store.clone()),
            None => unreachable!("given back only when it is dropped"),
        }
    }
    fn crash(&mut self) -> Result<()> {
        let Some((store, handed)) = &self.held else { return Err(given_back()) };
        // Opening the database takes long, so this happens only sometimes, chosen by the world's own clock.
        if handed.now_ms() % 16 == 0 { store.crash() } else { store.start_again() }
    }
    fn backup(&mut self) -> Result<()> {
        self.image = Some(self.sqlite()?.snapshot()?);
        Ok(())
    }
    fn restore(&mut self) -> Result<()> {
        let image = self.image.as_ref().ok_or_else(|| Error::Bug("there is no backup".into()))?;
        self.sqlite()?.restore(image)
    }
    fn contents(&self) -> Result<Contents> {
        self.sqlite()?.contents()
    }
}
