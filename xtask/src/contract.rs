//! The served binary against its own OpenAPI document. The checking program is pinned in `contract/requirements.txt`,
//! every file of it by its digest, and installed into an environment of its own under `target/`.

use crate::stamp::Stamp;
use crate::{exec, setup};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Examples an operation where nothing else is asked for.
pub const EXAMPLES: &str = "200";

/// The binary as the editor builds it.
pub fn built_by_editor() -> Result<String> {
    exec::run(exec::cargo().args(["build", "--locked", "-p", "admit"]))?;
    Ok(exec::root().join("target/debug/admit").display().to_string())
}

/// Serves `admit` with data of its own and asks every operation of its document.
pub fn check(admit: &str, examples: &str, only: Option<&str>) -> Result<()> {
    let mut command = exec::command(installed("contract", "contract/requirements.txt")?);
    command.arg("contract/run.py").args(["--admit", admit, "--examples", examples]);
    command.args(only.iter().flat_map(|only| ["--only", only]));
    exec::run_within(&mut command, exec::PATIENCE * 12)
}

/// Serves `admit` with data of its own; the official Standard Webhooks library for Python signs what is sent to it.
pub fn webhooks(admit: &str) -> Result<()> {
    let python = installed("webhooks", "contract/webhooks.txt")?;
    exec::run(exec::command(python).args(["contract/webhooks.py", "--admit", admit]))
}

/// The interpreter of an environment, made or renewed where the pins are not those it was made from.
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
