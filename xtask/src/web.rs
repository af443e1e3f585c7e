//! web/{scanner,admin} → web/{scanner,admin}/dist, which the server embeds.

use crate::stamp::Stamp;
use crate::{exec, setup};
use anyhow::Result;
use std::process::Command;

/// Builds both apps, unless nothing that matters has changed. Needs the WASM to be there.
pub fn build() -> Result<()> {
    packages()?;
    let inputs =
        ["web/package-lock.json", "web/tsconfig.base.json", "web/vite", "web/scanner", "web/admin", "web/shared"];
    let made = ["web/scanner/dist/index.html", "web/admin/dist/index.html"];
    Stamp::of("web.stamp", &inputs, "")?.unless_fresh(&made, || exec::run(&mut npm_run("build")))
}

/// Exactly the packages of the lock file.
fn packages() -> Result<()> {
    setup::node()?;
    let stamp = Stamp::of("npm.stamp", &["web/package.json", "web/package-lock.json"], "")?;
    stamp.unless_fresh(&["web/node_modules/.package-lock.json"], || {
        exec::run(npm().args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))
    })
}

/// A script of the web code.
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
