//! The release: one stripped binary, its manual pages and completions, its bill of materials, a Debian package, and
//! the checksums of all of it, in `target/dist`.

use crate::exec;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tools of other people, as they are installed: into `target/tools`, and never again while they are there.
const TOOLS: [(&str, &str); 2] = [("cargo-cyclonedx", "0.5.9"), ("cargo-deb", "3.7.0")];
/// Where known weaknesses of crates are listed.
const ADVISORIES: &str = "https://github.com/RustSec/advisory-db";
/// Shells whose completions are handed out.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Builds all of it.
pub fn build() -> Result<()> {
    exec::run(exec::cargo().args(["build", "--locked", "--profile", "dist", "-p", "admit"]))?;
    let folder = exec::root().join("target/dist");
    let binary = folder.join("admit");
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

/// Licences, sources and banned crates, as `deny.toml` has them; known weaknesses too where the network reaches their list.
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

/// Where they are installed.
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

/// A subcommand of cargo that is installed here.
fn cargo_with_tools() -> Result<Command> {
    let mut command = exec::cargo();
    command.env("PATH", format!("{}:{}", tools().join("bin").display(), std::env::var("PATH")?));
    Ok(command)
}

/// CycloneDX: every crate in the binary, with version, licence and checksum.
fn bill_of_materials(folder: &Path) -> Result<PathBuf> {
    let mut command = cargo_with_tools()?;
    command.args(["cyclonedx", "--format", "json", "--manifest-path", "crates/cli/Cargo.toml"]);
    exec::run(command.args(["--override-filename", "admit.cdx"]))?;
    // It writes one beside each crate of the workspace; what is handed out is the binary's.
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
