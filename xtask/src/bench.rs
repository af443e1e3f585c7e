//! `bench`: the measurements live in a crate of their own, so that what they need is never built into the product.

use crate::product::{PACKAGES, PROFILE};
use crate::{exec, setup, wasm, web};
use anyhow::Result;

/// Builds the product as it is released, and measures it. `compare OLD NEW` puts two runs beside each other instead;
/// `--proof` measures the build of `test`, which is quicker to have and slower to run.
pub fn run(args: &[String]) -> Result<()> {
    let cargo = |verb: &str, profile: &str, more: &[&str]| {
        let mut cargo = exec::cargo();
        cargo.args([verb, "--locked", "--profile", profile]).args(more);
        cargo
    };
    if args.first().is_some_and(|arg| arg == "compare") {
        // It only reads: whatever is built soonest will do.
        return exec::run(cargo("run", "dev", &["--quiet", "-p", "admit-bench", "--"]).args(args));
    }
    let proof = args.iter().any(|arg| arg == "--proof");
    let profile = if proof { PROFILE } else { "dist" };
    setup::ensure(setup::TESTS)?;
    wasm::build(false)?;
    web::build()?;
    if proof {
        // The same selection as `test` makes: another one would choose other features and build half of it again.
        exec::run(cargo("build", profile, &PACKAGES).args(["--exclude", "xtask", "--all-targets"]))?;
    } else {
        // One after the other: built together, the product would take on features that only the measurements need.
        exec::run(&mut cargo("build", profile, &["-p", "admit"]))?;
        exec::run(&mut cargo("build", profile, &["-p", "admit-bench"]))?;
    }
    let built = exec::root().join("target").join(profile);
    let mut bench = exec::command(built.join("admit-bench"));
    exec::run(bench.args(args.iter().filter(|arg| *arg != "--proof")).env("ADMIT_BIN", built.join("admit")))
}
