//! Builds web/{scanner,admin} into web/{scanner,admin}/dist, which the server embeds.

use crate::stamp::Stamp;
use crate::{exec, setup};
use anyhow::Result;
use std::process::Command;

/// Builds the scanner and the organiser's app, unless their inputs are unchanged. The WASM must be built before.
pub fn build() -> Result<()> {
    packages()?;
    let inputs =
        ["web/package-lock.json", "web/tsconfig.base.json", "web/vite", "web/scanner", "web/admin", "web/shared"];
    let made = ["web/scanner/dist/index.html", "web/admin/dist/index.html"];
    Stamp::of("web.stamp", &inputs, "")?.unless_fresh(&made, || exec::run(&mut npm_run("build")))
}

/// Installs exactly the packages of the lock file.
fn packages() -> Result<()> {
    setup::node()?;
    let stamp = Stamp::of("npm.stamp", &["web/package.json", "web/package-lock.json"], "")?;
    stamp.unless_fresh(&["web/node_modules/.package-lock.json"], || {
        exec::run(npm().args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
    })
}

/// The command that runs a script of the web code's package.json.
pub fn npm_run(script: &str) -> Command {
    let mut npm = npm();
    npm.args(["run", "--silent", script]);
    npm
}

fn npm() -> Command {
    let mut npm = exec::command("npm");
    npm.current_dir(exec::root().join("web"));
    npm
}
