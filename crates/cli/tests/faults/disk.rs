//! A disk for one test, mounted as root and unmounted when the value is dropped.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Disk {
    pub at: PathBuf,
}

impl Disk {
    /// Mounts a disk of this many megabytes in memory.
    pub fn of_memory(at: PathBuf, megabytes: u32) -> Option<Self> {
        Self::mount(at, &["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "none"])
    }

    /// Mounts an image file that contains a file system.
    pub fn of_image(at: PathBuf, image: &Path) -> Option<Self> {
        Self::mount(at, &["-o", "loop", image.to_str().unwrap()])
    }

    /// Mounts a disk. `None` if this user may not mount; the test says so and proves nothing.
    fn mount(at: PathBuf, how: &[&str]) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let run = Command::new("mount").args(how).arg(&at).output().unwrap();
        if run.status.success() {
            return Some(Self { at });
        }
        let why = String::from_utf8_lossy(&run.stderr);
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        // Written directly to standard error, because the test runner shows only the output of failed tests.
        let _ = writeln!(std::io::stderr(), "SKIPPED, nothing is shown: {test}: no disk may be mounted here: {why}");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A process of a failed test may still have a file open there, so a lazy unmount follows.
        for how in [&[][..], &["-l"]] {
            if Command::new("umount").args(how).arg(&self.at).output().is_ok_and(|run| run.status.success()) {
                return;
            }
        }
    }
}
