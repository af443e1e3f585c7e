//! Builds web/{scanner,admin} into web/{scanner,admin}/dist, which the server binary contains.

use crate::exec;
use crate::setup;
use crate::stamp::Stamp;
use anyhow::Result;

/// Builds both apps, unless their inputs are unchanged. The WASM build must exist.
pub fn build() -> Result<()> {
    packages()?;
    let inputs =
        ["web/package-lock.json", "web/tsconfig.base.json", "web/vite", "web/scanner", "web/admin", "web/shared"];
    let stamp = Stamp::of("web.stamp", &inputs, "")?;
    let built =
        ["scanner", "admin"].iter().all(|app| exec::root().join("web").join(app).join("dist/index.html").exists());
    if stamp.fresh() && built {
        return Ok(());
    }
    stamp.forget()?;
    exec::run(npm().args(["run", "--silent", "build"]))?;
    stamp.keep()
}

/// Installs exactly the packages of the lock file.
pub fn packages() -> Result<()> {
    setup::node()?;
    let stamp = Stamp::of("npm.stamp", &["web/package.json", "web/package-lock.json"], "")?;
    if stamp.fresh() && exec::root().join("web/node_modules/.package-lock.json").exists() {
        return Ok(());
    }
    stamp.forget()?;
    exec::run(npm().args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]))?;
    stamp.keep()
}

/// The npm command, in the folder of the web code.
pub fn npm() -> std::process::Command {
    let mut npm = exec::command("npm");
    npm.current_dir(exec::root().join("web"));
    npm
}
