//! Starting other programs, with errors a person can act on.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository.
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_path_buf)
}

/// A program started in the repository.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    // What the outer cargo told *us* must not reach an inner build: it would see another package's name and version.
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

/// The cargo that runs us.
pub fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs to the end; anything but success is an error that names the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
}

/// Runs to the end and hands each line of its output to `seen` and of its errors to `told`, after printing it.
pub fn run_reading(command: &mut Command, seen: impl FnMut(&str), told: impl FnMut(&str) + Send) -> Result<()> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", shown(command)))?;
    let stdout = child.stdout.take().context("the output was piped")?;
    let stderr = child.stderr.take().context("the errors were piped")?;
    std::thread::scope(|scope| {
        let errors = scope.spawn(move || echo(stderr, std::io::stderr(), told));
        echo(stdout, std::io::stdout(), seen)?;
        errors.join().unwrap_or(Ok(()))
    })?;
    let status = child.wait()?;
    if !status.success() {
        bail!("{} ended with {status}", shown(command));
    }
    Ok(())
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

/// What it printed, if it ran and succeeded.
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
