//! `cargo xtask bench`: builds the product and starts the measurements. They are a crate of their own, so the product
//! never contains their dependencies.

use crate::exec;
use crate::setup;
use crate::wasm;
use crate::web;
use anyhow::Result;
use std::process::Command;

/// Builds the product as it is released, and measures it. `compare OLD NEW` compares two runs instead. `--proof`
/// measures the build that `test` uses, which is built sooner and runs slower.
pub fn run(args: &[String]) -> Result<()> {
    if args.first().is_some_and(|arg| arg == "compare") {
        // Comparing only reads files, so the profile that builds fastest is enough.
        return exec::run(cargo("run", "dev").args(["--quiet", "-p", "admit-bench", "--"]).args(args));
    }
    let proof = args.iter().any(|arg| arg == "--proof");
    let profile = if proof { "proof" } else { "dist" };
    setup::ensure(setup::TESTS)?;
    wasm::build(false)?;
    web::build()?;
    if proof {
        // The same packages as `test` builds. Another selection would choose other features and build half of it
        // again.
        let all = ["--workspace", "--exclude", "admit-wasm", "--exclude", "xtask", "--all-targets"];
        exec::run(cargo("build", profile).args(all))?;
    } else {
        // Built separately: together, the product would get features that only the measurements need.
        exec::run(cargo("build", profile).args(["-p", "admit"]))?;
        exec::run(cargo("build", profile).args(["-p", "admit-bench"]))?;
    }
    let built = exec::root().join("target").join(profile);
    let mut bench = exec::command(built.join("admit-bench"));
    exec::run(bench.args(args.iter().filter(|arg| *arg != "--proof")).env("ADMIT_BIN", built.join("admit")))
}

fn cargo(verb: &str, profile: &str) -> Command {
    let mut cargo = exec::cargo();
    cargo.args([verb, "--locked", "--profile", profile]);
    cargo
}
