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
    let python = installed()?;
    let mut command = exec::command(python);
    command.arg("contract/run.py").args(["--admit", admit, "--examples", examples]);
    if let Some(only) = only {
        command.args(["--only", only]);
    }
    exec::run_within(&mut command, exec::PATIENCE * 12)
}

/// The interpreter of the environment, made or renewed where the pins are not those it was made from.
fn installed() -> Result<PathBuf> {
    setup::ensure(setup::CONTRACT)?;
    let folder = exec::root().join("target/contract");
    let python = folder.join("bin/python");
    let stamp = Stamp::of("contract", &[REQUIREMENTS], "")?;
    if stamp.fresh() && python.exists() {
        return Ok(python);
    }
    stamp.forget()?;
    exec::run(exec::command("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", REQUIREMENTS];
    exec::run(exec::command(&python).args(pip)).context("installing what checks the document")?;
    stamp.keep()?;
    Ok(python)
}
