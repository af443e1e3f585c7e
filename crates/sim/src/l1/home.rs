//! What a server of level 1 keeps its data in: the embedded store in memory, or whatever somebody puts in its place to
//! see that it comes to the same.

use std::sync::{Arc, OnceLock};

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

/// A store of one seed, with the disk under it. It runs in place: its futures are ready when they are made.
pub trait Home {
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

/// Makes an empty home, whose first epoch is [`FIRST_EPOCH`]: one for each run of a seed.
pub type Build<'a> = &'a (dyn Fn(Hooks) -> Result<Box<dyn Home>> + Sync);

/// The embedded store in memory.
struct Embedded {
    store: Sqlite,
    image: Option<Vec<u8>>,
}

/// The embedded store in memory.
pub fn embedded(hooks: Hooks) -> Result<Box<dyn Home>> {
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
    let options = Options {
        clock: Some(hooks.clock),
        before_commit: Some(hooks.before_commit),
        before_statement: Some(hooks.before_statement),
        first_epoch: Some(FIRST_EPOCH),
        ..Options::inline()
    };
    Ok(Box::new(Embedded { store: Sqlite::memory_of(empty, options)?, image: None }))
}

impl Home for Embedded {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }
    fn crash(&mut self) -> Result<()> {
        self.store.crash()
    }
    fn backup(&mut self) -> Result<()> {
        self.image = Some(self.store.snapshot()?);
        Ok(())
    }
    fn restore(&mut self) -> Result<()> {
        let image = self.image.as_ref().ok_or_else(|| Error::Bug("there is no backup".into()))?;
        self.store.restore(image)
    }
    fn contents(&self) -> Result<Contents> {
        self.store.contents()
    }
}
