//! A disk of a test's own, mounted as root and gone with the value.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Disk {
    pub at: PathBuf,
}

impl Disk {
    /// So many megabytes of memory.
    pub fn of_memory(at: PathBuf, megabytes: u32) -> Option<Self> {
        Self::mount(at, &["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "none"])
    }

    /// An image with a file system in it.
    pub fn of_image(at: PathBuf, image: &Path) -> Option<Self> {
        Self::mount(at, &["-o", "loop", image.to_str().unwrap()])
    }

    /// `None`, said aloud, where nothing may be mounted: then the test shows nothing.
    fn mount(at: PathBuf, how: &[&str]) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let run = Command::new("mount").args(how).arg(&at).output().unwrap();
        if run.status.success() {
            return Some(Self { at });
        }
        let why = String::from_utf8_lossy(&run.stderr);
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        // Past the test runner, which shows only what failed.
        let _ = writeln!(std::io::stderr(), "SKIPPED, nothing is shown: {test}: no disk may be mounted here: {why}");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Whoever still has a file open there, as a test that failed, must not keep it for ever.
        for how in [&[][..], &["-l"]] {
            if Command::new("umount").args(how).arg(&self.at).output().is_ok_and(|run| run.status.success()) {
                return;
            }
        }
    }
}
