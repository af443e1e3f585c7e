//! A data folder as it is before the doors open. A run makes it once and copies it for each measurement.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

use crate::organiser::{Organiser, Place};
use crate::run::Run;
use crate::server::{Demo, Server};

/// The folder, and the ids and codes that it holds.
#[derive(Debug, Clone)]
pub struct Seed {
    /// The folder of a server that was stopped properly.
    folder: PathBuf,
    /// The demo, with 20,000 tickets.
    pub demo: Demo,
    /// The demo's event and its first gate.
    pub demo_place: Place,
    /// Codes of some of the demo's tickets.
    pub demo_codes: Vec<String>,
    /// An event so large that no measurement scans a ticket twice.
    pub large_place: Place,
    /// The codes of the large event's tickets.
    pub large_codes: Vec<String>,
}

static MADE: OnceLock<Seed> = OnceLock::new();

impl Seed {
    /// Gives this process's folder. The first call makes it.
    pub fn of(run: &Run) -> Result<&'static Seed> {
        if MADE.get().is_none() {
            let seed = Seed::make(run)?;
            return Ok(MADE.get_or_init(|| seed));
        }
        MADE.get().context("made a moment ago")
    }

    /// Makes the demo, and imports a second event of 100,000 tickets.
    fn make(run: &Run) -> Result<Seed> {
        eprintln!("   making the events to measure with");
        let folder = run.fresh_folder("seed")?;
        let (server, demo) = Server::demo(run, &folder)?;
        let mut organiser = Organiser::sign_in(&server, &demo.account)?;
        let gate_id = demo.gates.first().context("a demo without gates")?.clone();
        let demo_place = Place { event_id: demo.event_id.clone(), gate_id };
        let demo_codes = organiser.codes(&demo.event_id, 2_000)?;
        let large_place = organiser.event("A large event")?;
        let large_codes = organiser.import(&large_place, run.scaled(100_000, 30_000))?;
        server.stop()?;
        Ok(Seed { folder, demo, demo_place, demo_codes, large_place, large_codes })
    }

    /// Copies the folder for one measurement, which may change the copy.
    pub fn copy(&self, run: &Run, name: &str) -> Result<PathBuf> {
        let to = run.fresh_folder(name)?;
        copy_folder(&self.folder, &to)?;
        Ok(to)
    }
}

/// Copies a folder and syncs every file to disk. Otherwise the system would write them during the measurement and slow
/// it.
pub fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &place)?;
        } else {
            std::fs::copy(entry.path(), &place)?;
            std::fs::File::open(&place)?.sync_all()?;
        }
    }
    Ok(())
}
