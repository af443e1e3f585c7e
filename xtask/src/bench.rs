//! `cargo xtask bench`: builds and runs the measurements. They are a crate of their own, so that their dependencies are
//! never built into the product.

use crate::product::{PACKAGES, PROFILE};
use crate::{exec, setup, wasm, web};
use anyhow::Result;

/// Builds the product with the profile of a release, and measures it. `compare OLD NEW` compares the results of two
/// runs instead. `--proof` measures the build that `test` makes, which takes less time to build and runs slower.
pub fn run(args: &[String]) -> Result<()> {
    let cargo = |verb: &str, profile: &str, more: &[&str]| {
        let mut cargo = exec::cargo();
        cargo.args([verb, "--locked", "--profile", profile]).args(more);
        cargo
    };
    if args.first().is_some_and(|arg| arg == "compare") {
        // Comparing only reads files, so the build that takes the least time is good enough.
        return exec::run(cargo("run", "dev", &["--quiet", "-p", "admit-bench", "--"]).args(args));
    }
    let proof = args.iter().any(|arg| arg == "--proof");
    let profile = if proof { PROFILE } else { "dist" };
    setup::ensure(setup::TESTS)?;
    wasm::build(false)?;
    web::build()?;
    if proof {
        // These are the packages that `test` builds. Another selection would enable other features and rebuild half of
        // the crates.
        exec::run(cargo("build", profile, &PACKAGES).args(["--exclude", "xtask", "--all-targets"]))?;
    } else {
        // There are two builds, one after the other. In one common build the product would get features that only the
        // measurements need.
        exec::run(&mut cargo("build", profile, &["-p", "admit"]))?;
        exec::run(&mut cargo("build", profile, &["-p", "admit-bench"]))?;
    }
    let built = exec::root().join("target").join(profile);
    let mut bench = exec::command(built.join("admit-bench"));
    exec::run(bench.args(args.iter().filter(|arg| *arg != "--proof")).env("ADMIT_BIN", built.join("admit")))
}
