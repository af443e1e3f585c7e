//! The programs that a machine needs besides Rust and Node, and how to install them.

use crate::exec;
use anyhow::Result;
use std::fmt;
use std::path::Path;

/// Something that this machine lacks and that this program may not install. The exit code is then 2.
#[derive(Debug)]
pub struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// One need. It is met if any of the files exists; otherwise the Debian packages are installed.
pub struct Need {
    files: &'static [&'static str],
    packages: &'static [&'static str],
}

impl Need {
    /// A need that any of `files` meets, and that `packages` would install.
    pub const fn new(files: &'static [&'static str], packages: &'static [&'static str]) -> Self {
        Self { files, packages }
    }
    /// Whether the need is met already.
    pub fn met(&self) -> bool {
        self.files.iter().any(|file| Path::new(file).exists())
    }
}

/// The programs that the tests start.
pub const TESTS: &[Need] = &[
    // For the browser tests, and for the video of their fake camera.
    Need { files: &["/usr/bin/chromium"], packages: &["chromium"] },
    Need { files: &["/usr/bin/ffmpeg"], packages: &["ffmpeg"] },
    // The store suite starts its own PostgreSQL server.
    Need { files: &["/usr/lib/postgresql/15/bin/initdb"], packages: &["postgresql-15"] },
    // The tests of several nodes start their own Redis.
    Need { files: &["/usr/bin/redis-server"], packages: &["redis-server"] },
    // The mail servers to which tests of passes send: Postfix's `smtp-sink`, and a private instance of Postfix. The
    // package's service is not used.
    Need { files: &["/usr/sbin/smtp-sink"], packages: &["postfix"] },
    // The guides use it.
    Need { files: &["/usr/bin/curl"], packages: &["curl"] },
    // A reader of QR codes that is not part of this project.
    Need { files: &["/usr/bin/zbarimg"], packages: &["zbar-tools"] },
    // It reads the server's metrics in the tests of `ops/`. The package also has promtool, which checks the rules.
    Need { files: &["/usr/bin/prometheus"], packages: &["prometheus"] },
    // For a second, independent implementation of the signatures.
    Need { files: &["/usr/bin/python3"], packages: &["python3"] },
];

/// The packages for checking the served OpenAPI document. The checker needs an environment of its own, which Debian's
/// Python cannot make without this package.
pub const CONTRACT: &[Need] = &[Need {
    files: &[
        "/usr/lib/python3.11/ensurepip/__init__.py",
        "/usr/lib/python3.12/ensurepip/__init__.py",
        "/usr/lib/python3.13/ensurepip/__init__.py",
    ],
    packages: &["python3-venv"],
}];

/// The compiler for the browser, if rustup cannot fetch the wasm32 target on this machine.
pub const WASM: &[Need] = &[
    // The package's file list is checked and not the program, because plain `cargo` and `rustc` of the release are too
    // old.
    Need { files: &["/var/lib/dpkg/info/cargo-web.list"], packages: &["cargo-web"] },
    Need { files: &["/var/lib/dpkg/info/rustc-web.list"], packages: &["rustc-web"] },
    Need { files: &["/usr/lib/rustlib/src/rust/library/std/Cargo.toml"], packages: &["rust-web-src"] },
    Need { files: &["/usr/bin/wasm-ld-19"], packages: &["lld-19"] },
];

/// Installs the missing `needs`. Without the rights for that, the error names the command that installs them.
pub fn ensure(needs: &[Need]) -> Result<()> {
    let packages = missing(needs, |file| Path::new(file).exists());
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
    match missing(needs, |file| Path::new(file).exists()).as_slice() {
        [] => Ok(()),
        still => Err(Missing(format!("{} is installed and yet its files are not there", still.join(" "))).into()),
    }
}

fn missing(needs: &[Need], exists: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let absent = needs.iter().filter(|need| !need.files.iter().any(|file| exists(file)));
    absent.flat_map(|need| need.packages.iter().copied()).collect()
}

fn is_root() -> bool {
    exec::output(exec::command("id").arg("-u")).is_some_and(|id| id.trim() == "0")
}

/// Checks that Node is 20.19 or later, which the web build needs. Older ones fail with an unclear error of the
/// bundler.
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
    fn only_what_is_absent_is_installed() {
        assert_eq!(missing(TESTS, |_| true), Vec::<&str>::new());
        assert_eq!(missing(TESTS, |file| file != "/usr/bin/ffmpeg"), ["ffmpeg"]);
    }

    #[test]
    fn node_is_compared_by_number() {
        assert!(new_enough("v20.19.0"));
        assert!(new_enough("v24.1.0"));
        assert!(!new_enough("v20.9.0"));
        assert!(!new_enough("v18.20.4"));
    }
}
