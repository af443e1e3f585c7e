//! Decides whether the inputs of a build step changed since the last build. It compares contents, because a clone or a
//! checkout changes the times of files.

use crate::exec;
use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The inputs of one build step, and where their fingerprint is kept.
pub struct Stamp {
    file: PathBuf,
    now: String,
}

impl Stamp {
    /// Computes the digest of `inputs`, which are files, or folders with everything in them. The text `also` counts as
    /// an input too.
    pub fn of(name: &str, inputs: &[&str], also: &str) -> Result<Stamp> {
        let (root, mut files) = (exec::root(), Vec::new());
        inputs.iter().try_for_each(|input| collect(&root.join(input), &mut files))?;
        files.sort();
        let mut hasher = DefaultHasher::new();
        also.hash(&mut hasher);
        for file in files {
            file.strip_prefix(&root).unwrap_or(&file).hash(&mut hasher);
            fs::read(&file).with_context(|| format!("reading {}", file.display()))?.hash(&mut hasher);
        }
        Ok(Stamp { file: root.join("target/xtask").join(name), now: format!("{:016x}", hasher.finish()) })
    }

    /// Calls `build`, unless the last successful build had the same inputs and the files `made` exist.
    pub fn unless_fresh(self, made: &[&str], build: impl FnOnce() -> Result<()>) -> Result<()> {
        let fresh = fs::read_to_string(&self.file).is_ok_and(|kept| kept == self.now);
        if fresh && made.iter().all(|file| exec::root().join(file).exists()) {
            return Ok(());
        }
        // A build that is interrupted must not count as done.
        let _ = fs::remove_file(&self.file);
        build()?;
        fs::create_dir_all(self.file.parent().context("the stamp lies in a folder")?)?;
        Ok(fs::write(&self.file, &self.now)?)
    }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    const OUTPUTS: [&str; 4] = ["node_modules", "dist", "target", "test-results"];
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if !OUTPUTS.iter().any(|name| entry.file_name() == *name) {
                collect(&entry.path(), files)?;
            }
        }
    } else if path.exists() {
        files.push(path.to_path_buf());
    }
    Ok(())
}
