//! Embeds the built web apps. In a fresh clone they are missing until `make build` builds them. The embedded folders
//! are then empty, and the server's pages say so.

use std::path::PathBuf;

fn main() {
    let web = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../web");
    for app in ["admin", "scanner"] {
        let dist = web.join(app).join("dist");
        // Embedding a missing folder does not compile, so an empty one is made.
        if let Err(error) = std::fs::create_dir_all(&dist) {
            println!("cargo::warning=cannot make {}: {error}", dist.display());
        }
        println!("cargo::rerun-if-changed={}", dist.display());
    }
}
