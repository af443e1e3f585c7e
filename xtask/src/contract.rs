//! The served binary against its own OpenAPI document. The checking program is pinned in `contract/requirements.txt`,
//! every file of it by its digest, and installed into an environment of its own under `target/`.

use crate::exec;
use crate::setup;
use crate::stamp::Stamp;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// Examples an operation where nothing else is asked for.
pub const EXAMPLES: &str = "200";
const REQUIREMENTS: &str = "contract/requirements.txt";
/// The official library that signs webhooks, for their test alone.
const WEBHOOKS: &str = "contract/webhooks.txt";

/// `cargo xtask contract [--examples N] [--only REGEX]`, with the binary as the editor builds it.
pub fn command(args: &[String]) -> Result<()> {
    let (mut examples, mut only) = (EXAMPLES, None);
    for pair in args.chunks(2) {
        match pair {
            [name, value] if name == "--examples" => examples = value,
            [name, value] if name == "--only" => only = Some(value.as_str()),
            _ => bail!("cargo xtask contract [--examples N] [--only REGEX], not `{}`", pair.join(" ")),
        }
    }
    exec::run(exec::cargo().args(["build", "--locked", "-p", "admit"]))?;
    let admit = exec::root().join("target/debug/admit").display().to_string();
    check(&admit, examples, only)
}

/// Serves `admit` with data of its own and asks every operation of its document.
pub fn check(admit: &str, examples: &str, only: Option<&str>) -> Result<()> {
    let python = installed("contract", REQUIREMENTS)?;
    let mut command = exec::command(python);
    command.arg("contract/run.py").args(["--admit", admit, "--examples", examples]);
    if let Some(only) = only {
        command.args(["--only", only]);
    }
    exec::run_within(&mut command, exec::PATIENCE * 12)
}

/// `cargo xtask webhooks`, with the binary as the editor builds it.
pub fn webhooks_command() -> Result<()> {
    exec::run(exec::cargo().args(["build", "--locked", "-p", "admit"]))?;
    webhooks(&exec::root().join("target/debug/admit").display().to_string())
}

/// Serves `admit` with data of its own; the official Standard Webhooks library for Python signs what is sent to it.
pub fn webhooks(admit: &str) -> Result<()> {
    let python = installed("webhooks", WEBHOOKS)?;
    exec::run(exec::command(python).args(["contract/webhooks.py", "--admit", admit]))
}

/// The interpreter of an environment, made or renewed where the pins are not those it was made from.
fn installed(name: &str, requirements: &str) -> Result<PathBuf> {
    setup::ensure(setup::CONTRACT)?;
    let folder = exec::root().join("target").join(name);
    let python = folder.join("bin/python");
    let stamp = Stamp::of(name, &[requirements], "")?;
    if stamp.fresh() && python.exists() {
        return Ok(python);
    }
    stamp.forget()?;
    exec::run(exec::command("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", requirements];
    exec::run(exec::command(&python).args(pip)).context("installing what a test of the served binary needs")?;
    stamp.keep()?;
    Ok(python)
}
