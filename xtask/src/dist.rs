//! The release in `target/dist`: one stripped binary, its manual pages and completions, its bill of materials, a
//! Debian package, and their checksums.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::exec;

/// Tools that make parts of the release, with versions. Each is installed into `target/tools` once.
const TOOLS: [(&str, &str); 2] = [("cargo-cyclonedx", "0.5.9"), ("cargo-deb", "3.7.0")];
/// The list of known weaknesses of crates.
const ADVISORIES: &str = "https://github.com/RustSec/advisory-db";
/// The shells whose completions the release has.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Builds every part of the release.
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

/// Checks licences, sources and banned crates by `deny.toml`. Checks known weaknesses too if the network reaches their
/// list.
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

/// The folder into which tools are installed.
pub fn tools() -> PathBuf {
    exec::root().join("target/tools")
}

/// Installs a tool in this version, unless a version of it is installed.
pub fn install(tool: &str, version: &str) -> Result<()> {
    if tools().join("bin").join(tool).exists() {
        return Ok(());
    }
    let mut command = exec::cargo();
    command.args(["install", tool, "--version", version, "--locked", "--root"]).arg(tools());
    exec::run(&mut command)
}

/// Writes a CycloneDX file that names every crate in the binary, with version, licence and checksum.
fn bill_of_materials(folder: &Path) -> Result<PathBuf> {
    let mut command = exec::cargo();
    command.env("PATH", format!("{}:{}", tools().join("bin").display(), std::env::var("PATH")?));
    let name = "admit.cdx";
    command.args(["cyclonedx", "--format", "json", "--manifest-path", "crates/cli/Cargo.toml"]);
    command.args(["--override-filename", name]);
    exec::run(&mut command)?;
    // The tool writes a file for each crate of the workspace. The release only has the binary's.
    let made = exec::root().join("crates/cli").join(format!("{name}.json"));
    let to = folder.join("admit.cdx.json");
    fs::rename(&made, &to).with_context(|| format!("moving {}", made.display()))?;
    for entry in fs::read_dir(exec::root().join("crates"))? {
        let _ = fs::remove_file(entry?.path().join(format!("{name}.json")));
    }
    let _ = fs::remove_file(exec::root().join("xtask").join(format!("{name}.json")));
    Ok(to)
}

fn package(folder: &Path) -> Result<PathBuf> {
    let mut command = exec::cargo();
    command.env("PATH", format!("{}:{}", tools().join("bin").display(), std::env::var("PATH")?));
    let to = folder.join("admit.deb");
    command.args(["deb", "-p", "admit", "--no-build", "--no-strip", "--profile", "dist", "--output"]).arg(&to);
    exec::run(&mut command)?;
    Ok(to)
}

fn checksums(folder: &Path, made: &[PathBuf]) -> Result<()> {
    let names = made.iter().filter_map(|path| path.file_name());
    let sums = exec::command("sha256sum").args(names).current_dir(folder).output()?;
    fs::write(folder.join("SHA256SUMS"), sums.stdout).context("writing SHA256SUMS")
}
