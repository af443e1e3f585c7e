//! The programs that this repository builds, and their places. Demo, tests and clippy use the same packages and the
//! same profile. If one of them selected other packages, cargo would enable other features and rebuild half of the
//! crates.

use crate::{exec, wasm, web};
use anyhow::Result;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The profile of everything but a release; see the root's `Cargo.toml`.
pub const PROFILE: &str = "proof";
/// All packages but `crates/wasm`, which is built for browsers.
pub const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "admit-wasm"];

/// Builds the program that `make demo` starts and that the tests start, with both web apps inside. It builds nothing
/// that only tests need, and prints how long each stage took.
pub fn served() -> Result<()> {
    // With an example among the targets, cargo enables the features that tests need. So the tests can use this build.
    let targets = ["--bin", "admit", "--example", "private"];
    let server =
        || exec::run(exec::cargo().args(["build", "--locked", "--profile", PROFILE]).args(PACKAGES).args(targets));
    let stages: [(&str, &dyn Fn() -> Result<()>); 3] =
        [("wasm", &|| wasm::build(false)), ("web", &web::build), ("server", &server)];
    let mut said = Vec::new();
    for (name, work) in stages {
        let begun = Instant::now();
        work()?;
        said.push(format!("{name} {:.1} s", begun.elapsed().as_secs_f64()));
    }
    println!("built: {}", said.join(", "));
    Ok(())
}

/// The path of a built program.
pub fn built(program: &str) -> String {
    exec::root().join("target").join(PROFILE).join(program).display().to_string()
}

/// The command that runs the simulator of the binary in `folder`. For PostgreSQL, the example `private` first starts a
/// server of its own.
pub fn simulator(folder: &Path, level: &str, store: &str) -> Command {
    let admit = folder.join("admit");
    let mut command = exec::command(if store == "postgres" { folder.join("examples/private") } else { admit.clone() });
    command.args(Some(admit).filter(|_| store == "postgres"));
    command.args(["simulate", "--level", level, "--store", store]);
    command
}
