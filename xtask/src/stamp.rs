//! Detects by content that a step's inputs have not changed. Times of files are wrong after a clone or a checkout.

use crate::exec;
use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The fingerprint of one build step's inputs, and the file that keeps it.
pub struct Stamp {
    file: PathBuf,
    now: String,
}

impl Stamp {
    /// Reads `inputs`: files, or folders with all they contain, from the repository's root. `also` is added to the
    /// fingerprint.
    pub fn of(name: &str, inputs: &[&str], also: &str) -> Result<Stamp> {
        let root = exec::root();
        let mut files = Vec::new();
        for input in inputs {
            collect(&root.join(input), &mut files)?;
        }
        files.sort();
        let mut hasher = DefaultHasher::new();
        also.hash(&mut hasher);
        for file in files {
            file.strip_prefix(&root).unwrap_or(&file).hash(&mut hasher);
            fs::read(&file).with_context(|| format!("reading {}", file.display()))?.hash(&mut hasher);
        }
        let file = root.join("target/xtask").join(name);
        Ok(Stamp { file, now: format!("{:016x}", hasher.finish()) })
    }

    /// Whether the last finished build had these inputs.
    pub fn fresh(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|kept| kept == self.now)
    }

    /// Removes the fingerprint. Call it before a build, so that a build that fails halfway does not count as done.
    pub fn forget(&self) -> Result<()> {
        if self.file.exists() {
            fs::remove_file(&self.file)?;
        }
        Ok(())
    }

    /// Keeps the fingerprint. Call it after a build succeeded.
    pub fn keep(&self) -> Result<()> {
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
