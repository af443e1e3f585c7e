//! Starts other programs. Errors say which command failed.

use anyhow::{Context, Result, anyhow, bail};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest time that one program of a run may take. The slowest one, the browser tests, takes 25 minutes on two slow
/// cores. A program that takes longer hangs. Ending it makes the run say which program that was.
pub const PATIENCE: Duration = Duration::from_secs(40 * 60);
/// How often a running program is checked.
const LOOK: Duration = Duration::from_millis(100);

/// The root folder of the repository.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// A command that starts a program in the root folder of the repository.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    const OUTER: [&str; 4] = ["CARGO_CRATE_NAME", "CARGO_BIN_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"];
    let mut command = Command::new(program);
    // The outer cargo set these variables for xtask. An inner build must not get them, because it would see another
    // package's name and version.
    forget(&mut command, |name| {
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || OUTER.contains(&name)
    });
    command.current_dir(root());
    command
}

/// Removes variables of this process's environment from a command.
pub fn forget(command: &mut Command, which: impl Fn(&str) -> bool) {
    for (name, _) in std::env::vars_os().filter(|(name, _)| which(&name.to_string_lossy())) {
        command.env_remove(name);
    }
}

/// A command of the cargo that runs this process.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a command to its end. Fails, and names the command, if it does not succeed.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", shown(command)))?;
    good(command, status)
}

/// Like [`run`]. A command that takes longer than `patience` is ended, together with all processes that it started.
pub fn run_within(command: &mut Command, patience: Duration) -> Result<()> {
    let mut child = command.spawn().with_context(|| format!("could not start {}", shown(command)))?;
    let status = wait(&mut child, patience).with_context(|| shown(command))?;
    good(command, status)
}

/// Like [`run_within`]. It prints each line of standard output and standard error in the order in which they come, and
/// passes it to `seen`.
pub fn run_reading(mut command: Command, patience: Duration, mut seen: impl FnMut(&str)) -> Result<()> {
    let (reader, writer) = std::io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn();
    let name = shown(&command);
    // The command holds a writing end of the pipe. Reading ends only when no writing end is open.
    drop(command);
    let child = child.as_mut().map_err(|error| anyhow!("could not start {name}: {error}"))?;
    let status = std::thread::scope(|scope| {
        let ended = scope.spawn(|| wait(child, patience));
        for line in BufReader::new(reader).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            seen(&line);
        }
        ended.join().unwrap_or_else(|_| bail!("waiting for it panicked"))
    });
    let status = status.with_context(|| name.clone())?;
    if status.success() { Ok(()) } else { bail!("{name} ended with {status}") }
}

fn good(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { bail!("{} ended with {status}", shown(command)) }
}

/// Waits for a program to end. If it takes longer than `patience`, it is ended together with all processes that it
/// started, and the result is an error.
pub fn wait(child: &mut Child, patience: Duration) -> Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > patience {
            // Parents are killed before their children, so that no parent replaces a child. The shell's built-in `kill`
            // is used, because not every machine has the program `kill`.
            let family = family(child.id()).into_iter().map(|id| id.to_string());
            let mut kill = Command::new("sh");
            let _ = kill.args(["-c", "kill -9 \"$@\"", "kill"]).args(family).stderr(Stdio::null()).status();
            child.wait()?;
            bail!("still running after {} s: it stands still, see the last line it printed", patience.as_secs());
        }
        std::thread::sleep(LOOK);
    }
}

/// The ids of a process and of all its descendants, parents before their children.
fn family(id: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let parents = entries.filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name is in brackets and may contain any character. The state and the parent's id follow it.
        Some((id, stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()?))
    });
    let parents: Vec<(u32, u32)> = parents.collect();
    let (mut family, mut next) = (vec![id], 0);
    while let Some(&elder) = family.get(next) {
        family.extend(parents.iter().filter(|(_, parent)| *parent == elder).map(|(id, _)| *id));
        next += 1;
    }
    family
}

/// The output of a program, if it ran and succeeded.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let args = command.get_args().map(|arg| format!(" {}", arg.to_string_lossy()));
    format!("`{}{}`", program.display(), args.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_still_is_ended_with_all_it_started() {
        let (mut told, mark) = (Vec::new(), format!("{}.25", 5000 + std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo before; echo beside >&2; sleep {mark} & sleep {mark}")]);
        let outcome = run_reading(command, Duration::from_secs(1), |line| told.push(line.to_owned()));
        assert!(format!("{:#}", outcome.unwrap_err()).contains("stands still"));
        assert_eq!(told, ["before", "beside"]);
        let running = std::fs::read_dir("/proc").unwrap();
        let mut lines = running.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("cmdline")).ok());
        assert!(!lines.any(|line| line.starts_with(&format!("sleep\0{mark}"))), "what it started is left");
        assert!(run_within(&mut Command::new("false"), PATIENCE).is_err());
    }
}
