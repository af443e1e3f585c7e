//! The programs that a machine must have beyond Rust and Node, and how it gets them.

use crate::exec;
use anyhow::Result;
use std::fmt;
use std::path::Path;

/// A program that this machine lacks and that xtask cannot install. The exit code is then 2, so that a script can
/// recognise this case.
#[derive(Debug)]
pub struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// A needed program: it is there if any of these files exists. Otherwise this Debian package provides it.
pub struct Need(pub &'static [&'static str], pub &'static str);

impl Need {
    /// Whether the program is there already.
    pub fn met(&self) -> bool {
        self.0.iter().any(|file| Path::new(file).exists())
    }
}

/// The programs that the tests start.
pub const TESTS: &[Need] = &[
    // The browser tests, and the picture stream of their fake camera.
    Need(&["/usr/bin/chromium"], "chromium"),
    Need(&["/usr/bin/ffmpeg"], "ffmpeg"),
    // The store suite starts a server of its own from these.
    Need(&["/usr/lib/postgresql/15/bin/initdb"], "postgresql-15"),
    // The tests of several nodes start one of their own.
    Need(&["/usr/bin/redis-server"], "redis-server"),
    // The mail servers that tests of passes send to: Postfix's own sink, and a private instance of its own. The
    // package's service is not used.
    Need(&["/usr/sbin/smtp-sink"], "postfix"),
    // The commands in the guides use it.
    Need(&["/usr/bin/curl"], "curl"),
    // A reader of QR codes that is not ours.
    Need(&["/usr/bin/zbarimg"], "zbar-tools"),
    // The tests of `ops/` let Prometheus read the server's metrics. Its package also has promtool, which checks the
    // rules.
    Need(&["/usr/bin/prometheus"], "prometheus"),
    // A second, independent implementation of the signatures.
    Need(&["/usr/bin/python3"], "python3"),
];

/// The packages for the check of the served document. The checker is installed into a Python environment of its own,
/// and Debian's Python needs these packages to make one.
pub const CONTRACT: &[Need] = &[Need(
    &[
        "/usr/lib/python3.11/ensurepip/__init__.py",
        "/usr/lib/python3.12/ensurepip/__init__.py",
        "/usr/lib/python3.13/ensurepip/__init__.py",
    ],
    "python3-venv",
)];

/// Debian's Rust compiler for WASM, for a machine whose rustup cannot fetch the wasm32 target.
pub const WASM: &[Need] = &[
    // These are found by their packages, because a program `cargo` or `rustc` may be the one of Debian's older package.
    Need(&["/var/lib/dpkg/info/cargo-web.list"], "cargo-web"),
    Need(&["/var/lib/dpkg/info/rustc-web.list"], "rustc-web"),
    Need(&["/usr/lib/rustlib/src/rust/library/std/Cargo.toml"], "rust-web-src"),
    Need(&["/usr/bin/wasm-ld-19"], "lld-19"),
];

/// Installs the missing programs among `needs`. If that is not possible, the error has the command that installs them.
pub fn ensure(needs: &[Need]) -> Result<()> {
    let packages = missing(needs);
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    let by_hand = format!(
        "this machine lacks {list}. Run this once, then again what you ran:\n\n  \
         sudo apt-get update && sudo apt-get install -y --no-install-recommends {list}\n"
    );
    if !is_root() || !Path::new("/usr/bin/apt-get").exists() {
        return Err(Missing(by_hand).into());
    }
    println!("installing {list}");
    let apt = |args: &[&str]| {
        exec::run(exec::command("apt-get").arg("-qq").args(args).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update"])?;
    apt(&[&["install", "-y", "--no-install-recommends"], packages.as_slice()].concat())?;
    match missing(needs).as_slice() {
        [] => Ok(()),
        still => Err(Missing(format!("{} is installed and yet its files are not there", still.join(" "))).into()),
    }
}

fn missing(needs: &[Need]) -> Vec<&'static str> {
    needs.iter().filter(|need| !need.met()).map(|need| need.1).collect()
}

fn is_root() -> bool {
    exec::output(exec::command("id").arg("-u")).is_some_and(|id| id.trim() == "0")
}

/// The web build needs Node 20.19 or later; with an older one the bundler fails, and its error does not name the cause.
pub fn node() -> Result<()> {
    let found = exec::output(exec::command("node").arg("--version"));
    match found.as_deref().map(str::trim) {
        Some(version) if new_enough(version) => Ok(()),
        Some(version) => Err(Missing(format!("Node is {version}, and the web build needs 20.19 or later")).into()),
        None => Err(Missing("Node 20.19 or later is needed for the web build, and there is none".to_owned()).into()),
    }
}

fn new_enough(version: &str) -> bool {
    let mut parts = version.trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (20, 19)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_needs_are_compared() {
        assert_eq!(missing(&[Need(&["/nowhere", "/proc/self"], "a"), Need(&["/nowhere"], "b")]), ["b"]);
        assert!(new_enough("v20.19.0") && new_enough("v24.1.0"));
        assert!(!new_enough("v20.9.0") && !new_enough("v18.20.4"));
    }
}
