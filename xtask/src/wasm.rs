//! Builds crates/wasm into web/shared/core/generated: an ES module, its types, and the WASM file.

use crate::exec;
use crate::setup;
use crate::stamp::Stamp;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::Command;
use wasm_bindgen_cli_support::Bindgen;

const TARGET: &str = "wasm32-unknown-unknown";
const STEM: &str = "admit_wasm";

/// One way of building the crate.
struct Variant {
    /// The folder of the generated bindings.
    out: &'static str,
    /// The name of its stamp.
    stamp: &'static str,
    /// The crate's features that are enabled.
    features: &'static str,
}

/// The build that both apps contain.
const SHIPPED: Variant = Variant { out: "web/shared/core/generated", stamp: "wasm.stamp", features: "" };
/// The build that can also run `vectors/`. Only tests use it; no app imports it.
const VECTORS: Variant =
    Variant { out: "web/shared/core/generated-vectors", stamp: "wasm-vectors.stamp", features: "vectors" };

/// The compiler for the browser.
pub enum Toolchain {
    /// The cargo that started this program has the wasm32 target.
    Own,
    /// Debian's compiler, which builds the standard library from its source package.
    Debian,
}

/// Finds a compiler for the browser, the quickest way first.
pub fn toolchain() -> Result<Toolchain> {
    if own_has_target() {
        return Ok(Toolchain::Own);
    }
    // If Debian's compiler is installed, nothing is fetched, so a bad network costs no minutes.
    if !debian_is_ready() {
        println!("looking for the {TARGET} target");
        let added =
            exec::output(exec::command("timeout").args(["60", "rustup", "--quiet", "target", "add", TARGET])).is_some();
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

fn debian_is_ready() -> bool {
    setup::WASM.iter().all(setup::Need::met)
}

/// Builds the shipped variant, unless its inputs are unchanged. `dev` builds faster, with a larger and slower result.
pub fn build(dev: bool) -> Result<()> {
    build_variant(&SHIPPED, dev)
}

/// Builds the variant that runs `vectors/`.
pub fn build_vectors() -> Result<()> {
    build_variant(&VECTORS, false)
}

fn build_variant(variant: &Variant, dev: bool) -> Result<()> {
    let root = exec::root();
    let out = root.join(variant.out);
    let profile = if dev { "dev" } else { "wasm" };
    let stamp = Stamp::of(
        variant.stamp,
        &["Cargo.toml", "Cargo.lock", "crates/wasm", "crates/core/src", "crates/core/Cargo.toml", "xtask/src/wasm.rs"],
        profile,
    )?;
    if stamp.fresh() && out.join(format!("{STEM}_bg.wasm")).exists() {
        return Ok(());
    }
    stamp.forget()?;

    let mut cargo = match toolchain()? {
        Toolchain::Own => exec::cargo(),
        Toolchain::Debian => debian_cargo(),
    };
    exec::run(
        cargo
            .args(["build", "--locked", "-p", "admit-wasm", "--lib", "--target", TARGET, "--profile", profile])
            .args(["--features", variant.features])
            // Names are removed when the bindings are made. Removing them here would also remove the list of WASM
            // features.
            .args(["--config", r#"profile.wasm.strip="debuginfo""#])
            .arg("--target-dir")
            .arg(root.join("target/wasm-build")),
    )?;
    let folder = if dev { "debug" } else { profile };
    bind(&root.join("target/wasm-build").join(TARGET).join(folder).join(format!("{STEM}.wasm")), &out, dev)?;
    stamp.keep()
}

/// Debian's cargo without variables of rustup. One of them would start the wrong compiler.
fn debian_cargo() -> Command {
    let mut cargo = exec::command("/usr/bin/cargo");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("RUSTUP_")
            || text.starts_with("RUSTC")
            || text.starts_with("RUSTDOC")
            || matches!(
                &*text,
                "CARGO" | "RUSTFLAGS" | "CARGO_ENCODED_RUSTFLAGS" | "LD_LIBRARY_PATH" | "CARGO_BUILD_TARGET"
            )
        {
            cargo.env_remove(&name);
        }
    }
    let path = std::env::var("PATH").unwrap_or_default();
    cargo
        .env("PATH", format!("/usr/bin:/bin:{path}"))
        // `build-std` is an unstable flag. Only this stable compiler is asked to accept it.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", "/usr/bin/rustc")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld-19")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-Clinker-flavor=wasm-ld")
        .args(["-Z", "build-std=std,panic_abort"]);
    cargo
}

fn bind(wasm: &Path, out: &Path, dev: bool) -> Result<()> {
    if out.exists() {
        fs::remove_dir_all(out)?;
    }
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(wasm)
        .web(true)?
        .typescript(true)
        .debug(dev)
        .keep_debug(dev)
        .remove_name_section(!dev)
        .remove_producers_section(!dev)
        // The apps pass the address themselves, so that the bundler sees one file and the service worker keeps it.
        .omit_default_module_path(true);
    bindgen.generate(out).with_context(|| format!("making the bindings of {}", wasm.display()))
}
