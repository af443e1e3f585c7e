//! Embeds the built web apps. A fresh clone has none until they are built (`make build` builds them first): then the
//! folders embedded are empty, and the server says so on the page.

use std::path::PathBuf;

fn main() {
    let web = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../web");
    for app in ["admin", "scanner"] {
        let dist = web.join(app).join("dist");
        // Embedding a folder that is missing does not compile; an empty one does.
        if let Err(error) = std::fs::create_dir_all(&dist) {
            println!("cargo::warning=cannot make {}: {error}", dist.display());
        }
        println!("cargo::rerun-if-changed={}", dist.display());
    }
}
