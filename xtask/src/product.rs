//! The programs that this repository builds, and their paths. Demo, tests and clippy choose the same packages in the
//! same profile. Another choice would have other features, and cargo would build half of everything again.

use crate::exec;
use anyhow::Result;

/// The profile of every build except the release; see the root's `Cargo.toml`.
pub const PROFILE: &str = "proof";
/// All packages except `crates/wasm`, which is compiled for the browser.
pub const PACKAGES: [&str; 3] = ["--workspace", "--exclude", "admit-wasm"];

/// Builds the program that `make demo` and the tests start, without code that only tests need.
pub fn build() -> Result<()> {
    // If an example is among the targets, cargo enables the features that tests need of every crate.
    let targets = ["--bin", "admit", "--example", "private"];
    exec::run(exec::cargo().args(["build", "--locked", "--profile", PROFILE]).args(PACKAGES).args(targets))
}

/// The path of the program that `build` makes.
pub fn binary() -> String {
    built("admit")
}

/// The path of a program in the folder of the profile.
pub fn built(program: &str) -> String {
    exec::root().join("target").join(PROFILE).join(program).display().to_string()
}
