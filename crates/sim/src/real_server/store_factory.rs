//! The store of a server of level 1: the embedded store in memory, or another store that takes its place to see that
//! it comes to the same.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use admit_app::error::{Error, Result};
use admit_app::ports::Store;
use admit_core::rule::Epoch;
use admit_store_queries::contents::Contents;
use admit_store_queries::hooks::{ClockHook, CommitHook, StatementHook};
use admit_store_sqlite::{Options, Sqlite};

/// The epoch every world's server begins with: a second before the world itself.
pub const FIRST_EPOCH: Epoch = Epoch { restored_at_ms: 1_780_847_999_000, random: 1 };

/// The world's clock and faults, as a store asks for them.
#[derive(Clone)]
pub struct Hooks {
    /// The clock.
    pub clock: ClockHook,
    /// Faults at commits.
    pub before_commit: CommitHook,
    /// Faults at statements.
    pub before_statement: StatementHook,
}

/// Hooks of a store that stays open from seed to seed, and asks another world's each time.
#[derive(Clone)]
pub struct Handed(Arc<Mutex<Hooks>>);

impl Handed {
    /// Begins with those of a world.
    pub fn new(hooks: Hooks) -> Self {
        Self(Arc::new(Mutex::new(hooks)))
    }
    /// The next world's, from now on.
    pub fn hand_over(&self, hooks: Hooks) {
        *lock(&self.0) = hooks;
    }
    /// The present world's clock.
    pub fn now_ms(&self) -> i64 {
        let clock = Arc::clone(&lock(&self.0).clock);
        clock()
    }
    /// The hooks that the store asks for good.
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

/// A store of one seed, with the disk under it. It runs in place: its futures are ready when they are made.
pub trait StoreBehind {
    /// The store.
    fn store(&self) -> Arc<dyn Store>;
    /// The server's process dies and starts again on what was committed last.
    fn crash(&mut self) -> Result<()>;
    /// Takes a backup of what is committed, in place of the one before.
    fn backup(&mut self) -> Result<()>;
    /// Goes back to the backup, of which there is one.
    fn restore(&mut self) -> Result<()>;
    /// Every row of every table.
    fn contents(&self) -> Result<Contents>;
}

/// Makes an empty store, whose first epoch is [`FIRST_EPOCH`]: one for each run of a seed.
pub type Build<'a> = &'a (dyn Fn(Hooks) -> Result<Box<dyn StoreBehind>> + Sync);

/// The embedded store in memory. It stays open from seed to seed: opening one and preparing its statements anew was a
/// fourth of a small world's time.
struct Embedded {
    held: Option<(Sqlite, Handed)>,
    image: Option<Vec<u8>>,
}

/// Those that no seed uses at the moment.
static FREE: Mutex<Vec<(Sqlite, Handed)>> = Mutex::new(Vec::new());

/// The embedded store in memory.
pub fn embedded(hooks: Hooks) -> Result<Box<dyn StoreBehind>> {
    // Made once: every seed begins with the same tables.
    static EMPTY: OnceLock<Vec<u8>> = OnceLock::new();
    let empty = match EMPTY.get() {
        Some(empty) => empty,
        None => {
            let options = Options { first_epoch: Some(FIRST_EPOCH), ..Options::inline() };
            let made = Sqlite::memory(options)?.snapshot()?;
            EMPTY.get_or_init(|| made)
        }
    };
    // One that can't be put back to the beginning is no seed's any more.
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
        // After a panic nobody knows in what state it is.
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
        // Opening anew is what takes time: so every now and then, by the world's own clock.
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
