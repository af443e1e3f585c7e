//! Lists the files of the built web apps in `web.rs`, which `src/assets.rs` includes. In a fresh clone the apps are
//! missing until `make build` builds them. The lists are then empty, and the server's pages say so.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let mut lists = String::new();
    for (app, list) in [("admin", "ADMIN"), ("scanner", "SCANNER")] {
        let dist = web.join(app).join("dist");
        // A missing folder would run this script in each build.
        fs::create_dir_all(&dist)
            .map_err(|error| io::Error::other(format!("cannot make {}: {error}", dist.display())))?;
        let dist = dist.canonicalize()?;
        println!("cargo::rerun-if-changed={}", dist.display());
        let mut files = Vec::new();
        collect(&dist, &mut files)?;
        files.sort();
        let _ = writeln!(lists, "static {list}: &[File] = &[");
        for path in files.iter().filter(|path| !is_variant(path)) {
            let _ = writeln!(lists, "{},", file(&dist, path)?);
        }
        lists.push_str("];\n");
    }
    let out = env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("cargo sets no OUT_DIR"))?;
    fs::write(out.join("web.rs"), lists)
}

/// The Rust source of the `File` for one file of an app. A file that gzip makes smaller is embedded in its compressed
/// forms alone.
fn file(dist: &Path, path: &Path) -> io::Result<String> {
    let name = path.strip_prefix(dist).unwrap_or(path);
    let hash = hash(&fs::read(path)?);
    let with = |ending: &str| PathBuf::from(format!("{}.{ending}", path.display()));
    let (br, gz) = (with("br"), with("gz"));
    let bytes = |path: &Path, embedded: bool| match embedded {
        true => format!("Some(include_bytes!({path:?}))"),
        false => "None".to_owned(),
    };
    let (plain, br, gz) = (bytes(path, !gz.exists()), bytes(&br, br.exists()), bytes(&gz, gz.exists()));
    Ok(format!("File {{ name: {name:?}, hash: \"{hash:016x}\", plain: {plain}, br: {br}, gz: {gz} }}"))
}

/// FNV-1a of 64 bits. It is the same in each build of the same bytes, so a new release keeps the ETags of unchanged
/// files. The hasher of `std` may change with each version of Rust.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// Whether a file is the compressed form of the file beside it. `web/vite/precompress.ts` writes `.br` and `.gz`.
fn is_variant(path: &Path) -> bool {
    let compressed = path.extension().is_some_and(|ending| ending == "br" || ending == "gz");
    compressed && path.with_extension("").exists()
}
