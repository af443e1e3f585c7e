//! The settings of one run: sizes, the binary, folders, stores.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

/// The settings of one run, which every measurement gets.
#[derive(Debug)]
pub struct Run {
    /// The repository's folder.
    pub root: PathBuf,
    /// The path of the server's binary.
    pub admit: PathBuf,
    /// Small sizes and few repeats. Such a run shows that everything works and says nothing about speed.
    pub quick: bool,
    /// The stores to measure, for measurements that use a store.
    pub stores: Vec<Store>,
}

impl Run {
    /// The number of repeats: `full`, but at most three in a quick run.
    pub fn runs(&self, full: usize) -> usize {
        if self.quick { full.min(3) } else { full }
    }
    /// The size of an input: `full`, or `quick` in a quick run.
    pub fn scaled(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick.min(full) } else { full }
    }
    /// The server's binary. If it is absent, the error says how to build it.
    pub fn binary(&self) -> Result<&Path> {
        ensure!(
            self.admit.exists(),
            "there is no {}: `cargo xtask bench` builds it, ADMIT_BIN names another",
            self.admit.display()
        );
        Ok(&self.admit)
    }
    /// The folder `target/bench/{name}`. It is made if it is absent.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join("target/bench").join(name);
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(path)
    }
    /// The folder `target/bench/{name}`, emptied.
    pub fn fresh_folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join("target/bench").join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path).with_context(|| format!("emptying {}", path.display()))?;
        }
        self.folder(name)
    }
}

/// A store that scans are taken into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Store {
    /// The embedded one.
    Sqlite,
    /// A PostgreSQL server that only this run uses, with every commit on the disk.
    Postgres,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Store::Sqlite => "SQLite",
            Store::Postgres => "PostgreSQL",
        })
    }
}
