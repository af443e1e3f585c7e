//! The programs that this repository builds, and their places. Demo, tests and clippy choose the same packages in the
//! same profile: another choice has other features, and builds half of everything again.

use crate::{exec, wasm, web};
use anyhow::Result;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// The profile of everything but a release; see the root's `Cargo.toml`.
pub const PROFILE: &str = "proof";
/// All packages but `crates/wasm`, which is for another machine.
pub const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "admit-wasm"];

/// Builds the program that `make demo` starts and that the tests start, with both web apps inside and nothing that only
/// tests need; says how long each stage took.
pub fn served() -> Result<()> {
    // An example among the targets makes cargo choose the features that tests want of every crate.
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

/// A file in the folder of the profile.
pub fn built(program: &str) -> String {
    exec::root().join("target").join(PROFILE).join(program).display().to_string()
}

/// The simulator of the binary in a folder; for PostgreSQL around a server of its own.
pub fn simulator(folder: &Path, level: &str, store: &str) -> Command {
    let admit = folder.join("admit");
    let mut command = exec::command(if store == "postgres" { folder.join("examples/private") } else { admit.clone() });
    command.args(Some(admit).filter(|_| store == "postgres"));
    command.args(["simulate", "--level", level, "--store", store]);
    command
}
