//! Checks a served binary against its own OpenAPI document. `contract/requirements.txt` pins the checking program and
//! the digest of each of its files. The program is installed into a Python environment of its own under `target/`.

use crate::stamp::Stamp;
use crate::{exec, setup};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The number of examples per operation, unless the caller gives another.
pub const EXAMPLES: &str = "200";

/// Builds the binary with cargo's default profile, which editors use too, and returns its path.
pub fn built_by_editor() -> Result<String> {
    exec::run(exec::cargo().args(["build", "--locked", "-p", "admit"]))?;
    Ok(exec::root().join("target/debug/admit").display().to_string())
}

/// Serves the binary `admit` with its own data folder, and sends requests to every operation of its document.
pub fn check(admit: &str, examples: &str, only: Option<&str>) -> Result<()> {
    let mut command = exec::command(installed("contract", "contract/requirements.txt")?);
    command.arg("contract/run.py").args(["--admit", admit, "--examples", examples]);
    command.args(only.iter().flat_map(|only| ["--only", only]));
    exec::run_within(&mut command, exec::PATIENCE * 12)
}

/// Serves the binary `admit` with its own data folder, and sends it messages that the official Standard Webhooks
/// library for Python signed.
pub fn webhooks(admit: &str) -> Result<()> {
    let python = installed("webhooks", "contract/webhooks.txt")?;
    exec::run(exec::command(python).args(["contract/webhooks.py", "--admit", admit]))
}

/// Returns the Python interpreter of an environment. Makes the environment if it is missing, or if the pins changed
/// since it was made.
fn installed(name: &str, requirements: &str) -> Result<PathBuf> {
    setup::ensure(setup::CONTRACT)?;
    let folder = exec::root().join("target").join(name);
    let python = folder.join("bin/python");
    Stamp::of(name, &[requirements], "")?.unless_fresh(&[&format!("target/{name}/bin/python")], || {
        exec::run(exec::command("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"];
        let mut pip = exec::command(&python);
        exec::run(pip.args(quiet).arg(requirements)).context("installing what a test of the served binary needs")
    })?;
    Ok(python)
}
