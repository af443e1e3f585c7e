//! Checks the served binary against its own OpenAPI document. `contract/requirements.txt` pins every file of the
//! checking program by its digest. The program is installed into an environment of its own under `target/`.

use crate::exec;
use crate::setup;
use crate::stamp::Stamp;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// The number of examples per operation, unless the caller gives another.
pub const EXAMPLES: &str = "200";
const REQUIREMENTS: &str = "contract/requirements.txt";
/// The pinned official library that signs webhooks. Only the test of webhooks needs it.
const WEBHOOKS: &str = "contract/webhooks.txt";

/// `cargo xtask contract [--examples N] [--only REGEX]`, with a debug build of the binary.
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

/// Serves `admit` with its own data and sends requests to every operation of its document, or to those that match
/// `only`.
pub fn check(admit: &str, examples: &str, only: Option<&str>) -> Result<()> {
    let python = installed("contract", REQUIREMENTS)?;
    let mut command = exec::command(python);
    command.arg("contract/run.py").args(["--admit", admit, "--examples", examples]);
    if let Some(only) = only {
        command.args(["--only", only]);
    }
    exec::run_within(&mut command, exec::PATIENCE * 12)
}

/// `cargo xtask webhooks`, with a debug build of the binary.
pub fn webhooks_command() -> Result<()> {
    exec::run(exec::cargo().args(["build", "--locked", "-p", "admit"]))?;
    webhooks(&exec::root().join("target/debug/admit").display().to_string())
}

/// Serves `admit` with its own data. The official Standard Webhooks library for Python signs the messages sent to it.
pub fn webhooks(admit: &str) -> Result<()> {
    let python = installed("webhooks", WEBHOOKS)?;
    exec::run(exec::command(python).args(["contract/webhooks.py", "--admit", admit]))
}

/// Gives the Python interpreter of an environment. Makes the environment again if its pinned packages have changed.
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
