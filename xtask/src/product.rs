//! The programs that this repository builds, and their places. Demo, tests and clippy choose the same packages in the
//! same profile: another choice has other features, and builds half of everything again.

use crate::exec;
use anyhow::Result;

/// The profile of everything but a release; see the root's `Cargo.toml`.
pub const PROFILE: &str = "proof";
/// All packages but `crates/wasm`, which is for another machine.
pub const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "admit-wasm"];

/// Builds the program that `make demo` starts and that the tests start, and nothing that only tests need.
pub fn build() -> Result<()> {
    // An example among the targets makes cargo choose the features that tests want of every crate.
    let targets = ["--bin", "admit", "--example", "private"];
    exec::run(exec::cargo().args(["build", "--locked", "--profile", PROFILE]).args(PACKAGES).args(targets))
}

/// The program that `build` made.
pub fn binary() -> String {
    built("admit")
}

/// A file in the folder of the profile.
pub fn built(program: &str) -> String {
    exec::root().join("target").join(PROFILE).join(program).display().to_string()
}
