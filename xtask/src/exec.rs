//! Starts other programs. Errors name the command.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest time that one program of a run may take. The slowest takes a fifth of it on two slow cores. A program
/// that runs longer has stopped working, and without a limit nobody would learn which test it was.
pub const PATIENCE: Duration = Duration::from_secs(25 * 60);
/// The time between two checks of whether a program has ended.
const LOOK: Duration = Duration::from_millis(100);

/// The repository's folder.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// A program that starts in the repository's folder.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    // Cargo's variables about this crate must not reach an inner build, which would see another package's name and
    // version.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || matches!(name.as_str(), "CARGO_CRATE_NAME" | "CARGO_BIN_NAME" | "CARGO_PRIMARY_PACKAGE" | "OUT_DIR")
        {
            command.env_remove(name);
        }
    }
    command
}

/// The cargo that started this program, or the one in PATH.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs a program to its end. A failure is an error that names the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs a program to its end. After `patience` it ends the program and its descendants, which is an error.
pub fn run_within(command: &mut Command, patience: Duration) -> Result<()> {
    let mut child = command.spawn().with_context(|| format!("could not start {}", shown(command)))?;
    let status = wait(&mut child, patience).with_context(|| shown(command))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs a program to its end. Prints each line, then gives lines of its output to `seen` and of its errors to `told`.
/// After `patience` it ends the program and its descendants, which is an error.
pub fn run_reading(
    command: &mut Command,
    patience: Duration,
    seen: impl FnMut(&str),
    told: impl FnMut(&str) + Send,
) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", shown(command)))?;
    let stdout = child.stdout.take().context("the output was piped")?;
    let stderr = child.stderr.take().context("the errors were piped")?;
    let status = std::thread::scope(|scope| {
        let errors = scope.spawn(move || echo(stderr, std::io::stderr(), told));
        let ended = scope.spawn(move || wait(&mut child, patience));
        echo(stdout, std::io::stdout(), seen)?;
        errors.join().unwrap_or(Ok(()))?;
        ended.join().unwrap_or_else(|_| bail!("waiting for it panicked"))
    });
    let status = status.with_context(|| shown(command))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Waits for a program to end. After `patience` it ends the program and its descendants, which is an error.
pub fn wait(child: &mut Child, patience: Duration) -> Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > patience {
            let family = family(child.id()).iter().map(u32::to_string).collect::<Vec<_>>();
            // Parents end first, so that they cannot restart a child that ended. The shell's own `kill` is used,
            // because not every machine has the program.
            let _ =
                Command::new("sh").args(["-c", "kill -9 \"$@\"", "kill"]).args(family).stderr(Stdio::null()).status();
            child.wait()?;
            bail!("still running after {} s: it stands still, see the last line it printed", patience.as_secs());
        }
        std::thread::sleep(LOOK);
    }
}

/// A process and all its descendants, parents first.
fn family(id: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let id = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // The name is in brackets and may contain anything. After it come the state and the parent's id.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect();
    let mut family = vec![id];
    let mut next = 0;
    while let Some(&elder) = family.get(next) {
        family.extend(parents.iter().filter(|(_, parent)| *parent == elder).map(|(id, _)| *id));
        next += 1;
    }
    family
}

fn echo(from: impl Read, mut to: impl Write, mut seen: impl FnMut(&str)) -> std::io::Result<()> {
    for line in BufReader::new(from).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        writeln!(to, "{line}")?;
        seen(&line);
    }
    Ok(())
}

/// The standard output of a program; `None` if it did not start or failed.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let mut text = format!("`{}", Path::new(command.get_program()).file_name().unwrap_or_default().display());
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text.push('`');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_still_is_ended_with_all_it_started() {
        let (told, mark) = (std::sync::Mutex::new(Vec::new()), format!("{}.25", 5000 + std::process::id()));
        let begun = Instant::now();
        let outcome = run_reading(
            Command::new("sh").args(["-c", &format!("echo before; sleep {mark} & sleep {mark}")]),
            Duration::from_secs(1),
            |line| told.lock().unwrap().push(line.to_owned()),
            |_| {},
        );
        assert!(format!("{:#}", outcome.unwrap_err()).contains("stands still"));
        assert_eq!(*told.lock().unwrap(), ["before"]);
        assert!(begun.elapsed() < Duration::from_secs(60));
        let lines = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("cmdline")).ok());
        assert_eq!(
            lines.filter(|line| line.starts_with(&format!("sleep\0{mark}"))).count(),
            0,
            "what it started is left"
        );
    }

    #[test]
    fn what_ends_by_itself_is_left_alone() {
        let mut lines = 0;
        run_reading(Command::new("sh").args(["-c", "echo one; echo two"]), PATIENCE, |_| lines += 1, |_| {}).unwrap();
        assert_eq!(lines, 2);
        assert!(run_within(&mut Command::new("false"), PATIENCE).is_err());
    }
}
