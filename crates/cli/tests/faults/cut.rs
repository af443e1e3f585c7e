//! The common part of all power cuts: it freezes processes, and copies the disk as it is at that moment.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::run;

/// The number of power cuts (`ADMIT_CUTS`; 2 without it), and the random seed of the times between them
/// (`ADMIT_SEED`).
pub struct Plan {
    pub cuts: u64,
    pub seed: u64,
    pub random: u64,
}

impl Plan {
    pub fn told() -> Self {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let (cuts, seed) = (number("ADMIT_CUTS").unwrap_or(2), number("ADMIT_SEED"));
        let seed = seed.unwrap_or(u64::from(std::process::id()));
        println!("{cuts} cuts, ADMIT_SEED={seed}");
        Self { cuts, seed, random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 }
    }
}

/// The state of a process or thread in its `stat` file: `T` if it is stopped. `None`: it is gone.
fn state(stat: &Path) -> Option<char> {
    let text = std::fs::read_to_string(stat).ok()?;
    text.rsplit_once(") ")?.1.chars().next()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(1)); // tidy-allow: the pause of a poll loop
    }
}

fn signal(name: &str, pids: &[u32]) {
    for pid in pids {
        // A process that ended by itself needs no signal.
        let _ = std::process::Command::new("kill").args([name, &pid.to_string()]).output();
    }
}

/// Stops every thread of the processes, and waits until all are stopped.
pub fn freeze(pids: &[u32]) {
    signal("-STOP", pids);
    let stands = |pid: &u32| {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        tasks.map(|task| state(&task.path().join("stat"))).all(|state| state.is_none_or(|state| "TZX".contains(state)))
    };
    until("they do not stand still", || pids.iter().all(stands));
}

/// Kills the processes with SIGKILL, and waits until they are gone and have no file open.
pub fn kill(pids: &[u32]) {
    signal("-KILL", pids);
    let gone = |pid: &u32| state(Path::new(&format!("/proc/{pid}/stat"))).is_none_or(|state| "ZX".contains(state));
    until("they live", || pids.iter().all(gone));
}

/// Makes an image file of this many megabytes with an empty file system.
pub fn new_image(image: &Path, megabytes: u32) {
    run("truncate", &["-s", &format!("{megabytes}M"), image.to_str().unwrap()]);
    run("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
}

/// Copies the disk as it would be after a power cut. Data that the system has only in memory are not in the copy.
pub fn copy(image: &Path, to: &Path) {
    run("cp", &["--sparse=always", image.to_str().unwrap(), to.to_str().unwrap()]);
}
