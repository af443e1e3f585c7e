//! Builds crates/wasm into web/shared/core/generated: an ES module, its types, and the WASM file.

use crate::stamp::Stamp;
use crate::{exec, setup};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";

/// The compiler for the browser.
pub enum Toolchain {
    /// The cargo that runs this process has the target.
    Own,
    /// Debian's compiler, which builds the standard library from its source package.
    Debian,
}

/// Finds a compiler for the browser; the quickest way first.
pub fn toolchain() -> Result<Toolchain> {
    if own_has_target() {
        return Ok(Toolchain::Own);
    }
    // If Debian's compiler is installed, nothing is fetched. The time limit is for networks that drop packets.
    if !setup::WASM.iter().all(setup::Need::met) {
        println!("looking for the {TARGET} target");
        let mut rustup = exec::command("timeout");
        let added = exec::output(rustup.args(["60", "rustup", "--quiet", "target", "add", TARGET])).is_some();
        if added && own_has_target() {
            return Ok(Toolchain::Own);
        }
        setup::ensure(setup::WASM)?;
    }
    Ok(Toolchain::Debian)
}

fn own_has_target() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = exec::output(exec::command(rustc).args(["--print", "sysroot"]));
    sysroot.is_some_and(|path| Path::new(path.trim()).join("lib/rustlib").join(TARGET).join("lib").exists())
}

/// Builds the WASM that the web apps load, unless its inputs are unchanged. With `dev` the build is quick, and the WASM
/// is larger and slower.
pub fn build(dev: bool) -> Result<()> {
    build_variant("web/shared/core/generated", "wasm.stamp", "", dev)
}

/// Builds a variant that can run `vectors/`. Only tests import it.
pub fn build_vectors() -> Result<()> {
    build_variant("web/shared/core/generated-vectors", "wasm-vectors.stamp", "vectors", false)
}

fn build_variant(out: &str, stamp: &str, features: &str, dev: bool) -> Result<()> {
    let profile = if dev { "dev" } else { "wasm" };
    let inputs =
        ["Cargo.toml", "Cargo.lock", "crates/wasm", "crates/core/src", "crates/core/Cargo.toml", "xtask/src/wasm.rs"];
    Stamp::of(stamp, &inputs, profile)?.unless_fresh(&[&format!("{out}/admit_wasm_bg.wasm")], || {
        let mut cargo = match toolchain()? {
            Toolchain::Own => exec::cargo(),
            Toolchain::Debian => debian_cargo(),
        };
        let target = exec::root().join("target/wasm-build");
        cargo.args(["build", "--locked", "-p", "admit-wasm", "--lib", "--target", TARGET, "--profile", profile]);
        // The names are removed later, when the bindings are made. Stripping them here would also remove the list of
        // WASM features.
        cargo.args(["--features", features, "--config", r#"profile.wasm.strip="debuginfo""#]);
        exec::run(cargo.arg("--target-dir").arg(&target))?;
        let wasm = target.join(TARGET).join(if dev { "debug" } else { profile }).join("admit_wasm.wasm");
        bind(&wasm, &exec::root().join(out), dev)
    })
}

/// Debian's cargo, without the environment variables of rustup. Any of these could select the wrong compiler.
fn debian_cargo() -> Command {
    const OURS: [&str; 5] = ["CARGO", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "LD_LIBRARY_PATH", "CARGO_BUILD_TARGET"];
    let mut cargo = exec::command("/usr/bin/cargo");
    exec::forget(&mut cargo, |name| {
        ["RUSTUP_", "RUSTC", "RUSTDOC"].iter().any(|begins| name.starts_with(begins)) || OURS.contains(&name)
    });
    let path = std::env::var("PATH").unwrap_or_default();
    cargo
        .env("PATH", format!("/usr/bin:/bin:{path}"))
        // build-std is an unstable flag. This variable makes a stable compiler accept it.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", "/usr/bin/rustc")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld-19")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-Clinker-flavor=wasm-ld")
        .args(["-Z", "build-std=std,panic_abort"]);
    cargo
}

fn bind(wasm: &Path, out: &Path, dev: bool) -> Result<()> {
    let _ = std::fs::remove_dir_all(out);
    let mut bindgen = Bindgen::new();
    bindgen.input_path(wasm).web(true)?.typescript(true).debug(dev).keep_debug(dev);
    bindgen.remove_name_section(!dev).remove_producers_section(!dev);
    // The apps pass the address of the WASM file themselves. So the bundler handles it as one file, and the service
    // worker caches it.
    bindgen.omit_default_module_path(true);
    bindgen.generate(out).with_context(|| format!("making the bindings of {}", wasm.display()))
}
