//! The settings of every measurement: how much, with which binary, where.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

/// The circumstances of a run.
#[derive(Debug)]
pub struct Run {
    /// The repository.
    pub root: PathBuf,
    /// The server's binary.
    pub admit: PathBuf,
    /// Small sizes and few repeats: shows that it works, says nothing about speed.
    pub quick: bool,
    /// Stores that are measured, where a measurement has one.
    pub stores: Vec<Store>,
}

impl Run {
    /// Repeats of something: three where it only must be shown to work.
    pub fn runs(&self, full: usize) -> usize {
        if self.quick { full.min(3) } else { full }
    }
    /// A size.
    pub fn scaled(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick.min(full) } else { full }
    }
    /// The binary, or what to do about its absence.
    pub fn binary(&self) -> Result<&Path> {
        ensure!(
            self.admit.exists(),
            "there is no {}: `cargo xtask bench` builds it, ADMIT_BIN names another",
            self.admit.display()
        );
        Ok(&self.admit)
    }
    /// `target/bench/…`, made when absent.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join("target/bench").join(name);
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(path)
    }
    /// `target/bench/…` with nothing in it.
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
    /// A server of its own, private to the run, with every commit on the disk.
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
