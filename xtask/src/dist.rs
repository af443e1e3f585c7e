//! The release: one stripped binary, its manual pages and completions, its bill of materials, a Debian package, and
//! the checksums of all of it, in `target/dist`.

use crate::exec;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tools from crates.io and their versions. They are installed into `target/tools` once.
const TOOLS: [(&str, &str); 2] = [("cargo-cyclonedx", "0.5.9"), ("cargo-deb", "3.7.0")];
/// The list of known vulnerabilities of crates.
const ADVISORIES: &str = "https://github.com/RustSec/advisory-db";
/// The shells for which a release has completions.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// The largest binary that a release may have, in bytes. A larger one also shows that its symbols were not removed.
const BINARY_BYTES: u64 = 40_000_000;

/// Builds the whole release.
pub fn build() -> Result<()> {
    exec::run(exec::cargo().args(["build", "--locked", "--profile", "dist", "-p", "admit"]))?;
    let folder = exec::root().join("target/dist");
    let binary = folder.join("admit");
    let size = fs::metadata(&binary)?.len();
    ensure!(size <= BINARY_BYTES, "{} has {size} bytes, at most {BINARY_BYTES}", binary.display());
    exec::run(exec::command(&binary).args(["manual", "pages"]).arg(folder.join("man")))?;
    for shell in SHELLS {
        let script = exec::command(&binary).args(["manual", "completions", shell]).output()?;
        let path = folder.join("completions").join(format!("admit.{shell}"));
        fs::create_dir_all(folder.join("completions"))?;
        fs::write(&path, script.stdout).with_context(|| format!("writing {}", path.display()))?;
    }
    let mut made = vec![binary];
    for (tool, version) in TOOLS {
        install(tool, version)?;
    }
    made.push(bill_of_materials(&folder)?);
    made.push(package(&folder)?);
    checksums(&folder, &made)?;
    for path in &made {
        println!("{:>8.1} MB  {}", fs::metadata(path)?.len() as f64 / 1e6, path.display());
    }
    Ok(())
}

/// Checks licences, sources and banned crates by `deny.toml`. Also checks for known vulnerabilities, if the list of
/// them can be downloaded.
pub fn deny() -> Result<()> {
    install("cargo-deny", "0.20.2")?;
    let deny = || {
        let mut command = exec::command(tools().join("bin/cargo-deny"));
        command.args(["--all-features", "check"]);
        command
    };
    exec::run(deny().args(["licenses", "sources", "bans"]))?;
    let list = exec::output(exec::command("git").args(["ls-remote", ADVISORIES, "HEAD"]));
    if list.is_none_or(|answer| answer.trim().is_empty()) {
        println!("advisories: not looked at, the network does not reach {ADVISORIES}");
        return Ok(());
    }
    exec::run(deny().arg("advisories"))
}

/// The folder of the installed tools.
pub fn tools() -> PathBuf {
    exec::root().join("target/tools")
}

/// Installs a tool, unless it is there.
pub fn install(tool: &str, version: &str) -> Result<()> {
    if tools().join("bin").join(tool).exists() {
        return Ok(());
    }
    let mut command = exec::cargo();
    command.args(["install", tool, "--version", version, "--locked", "--root"]).arg(tools());
    exec::run(&mut command)
}

/// A cargo command that finds the installed tools as its subcommands.
fn cargo_with_tools() -> Result<Command> {
    let mut command = exec::cargo();
    command.env("PATH", format!("{}:{}", tools().join("bin").display(), std::env::var("PATH")?));
    Ok(command)
}

/// Makes the bill of materials in CycloneDX's format: every crate in the binary, with version, licence and checksum.
fn bill_of_materials(folder: &Path) -> Result<PathBuf> {
    let mut command = cargo_with_tools()?;
    command.args(["cyclonedx", "--format", "json", "--manifest-path", "crates/cli/Cargo.toml"]);
    exec::run(command.args(["--override-filename", "admit.cdx"]))?;
    // The tool writes one file for each crate of the workspace. A release contains only the file of the binary.
    let (crates, to) = (exec::root().join("crates"), folder.join("admit.cdx.json"));
    fs::rename(crates.join("cli/admit.cdx.json"), &to).context("moving the bill of materials")?;
    for entry in fs::read_dir(crates)?.chain(fs::read_dir(exec::root())?) {
        let _ = fs::remove_file(entry?.path().join("admit.cdx.json"));
    }
    Ok(to)
}

fn package(folder: &Path) -> Result<PathBuf> {
    let (mut command, to) = (cargo_with_tools()?, folder.join("admit.deb"));
    command.args(["deb", "-p", "admit", "--no-build", "--no-strip", "--profile", "dist", "--output"]);
    exec::run(command.arg(&to))?;
    Ok(to)
}

fn checksums(folder: &Path, made: &[PathBuf]) -> Result<()> {
    let names = made.iter().filter_map(|path| path.file_name());
    let sums = exec::command("sha256sum").args(names).current_dir(folder).output()?;
    fs::write(folder.join("SHA256SUMS"), sums.stdout).context("writing SHA256SUMS")
}
