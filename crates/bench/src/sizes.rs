//! The gzipped bytes of the built web apps, which a phone and an organiser's browser must fetch.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::row::{Row, Target};
use crate::run::Run;

/// Measures the sizes that have a target (docs/performance.md).
pub fn measure(run: &Run) -> Result<Vec<Row>> {
    let scanner = files(&run.root.join("web/scanner/dist"))?;
    let is_decoder = |name: &str| name.starts_with("decoder") || name.starts_with("zxing");
    let is_core = |name: &str| name.starts_with("admit_wasm");
    let sum = |wanted: &dyn Fn(&str) -> bool| -> f64 {
        scanner.iter().filter(|file| wanted(&file.name)).map(|file| file.gzipped).sum::<usize>() as f64 / 1e3
    };
    let kilobytes = |name: &str, value: f64, most: f64, input: &str| {
        ensure!(value > 0.0, "{name}: there is no such file in the built app");
        Ok(Row::new(name, value, "kB gz", Target::AtMost(most), input))
    };
    let first_route = first_route(&run.root.join("web/admin/dist"))?;
    Ok(vec![
        kilobytes(
            "scanner JS",
            sum(&|name| name.ends_with(".js") && !is_decoder(name)),
            90.0,
            "page, engine worker, service worker",
        )?,
        kilobytes("core WASM", sum(&|name| is_core(name) && name.ends_with(".wasm")), 120.0, "the engine")?,
        kilobytes("decoder", sum(&is_decoder), 440.0, "its worker and its WASM")?,
        kilobytes(
            "precache",
            sum(&|name| name != "sw.js" && !name.ends_with(".png")),
            720.0,
            "all that the service worker keeps, fonts too",
        )?,
        kilobytes(
            "admin, first route",
            first_route as f64 / 1e3,
            160.0,
            "JS of the start page and what it imports at once",
        )?,
    ])
}

struct Built {
    name: String,
    gzipped: usize,
}

/// Lists every file of an app, without compressed copies and source maps.
fn files(folder: &Path) -> Result<Vec<Built>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("there is no {}: `cargo xtask web` builds it", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if ![".br", ".gz", ".map"].iter().any(|end| name.ends_with(end)) {
            found.push(Built { gzipped: gzipped(&std::fs::read(entry.path())?)?, name });
        }
    }
    Ok(found)
}

/// The smaller of the gzipped and the plain size. Pictures and fonts are sent without compression.
fn gzipped(bytes: &[u8]) -> Result<usize> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len().min(bytes.len()))
}

/// The gzipped bytes of the scripts that `index.html` names, and of all that they import statically.
fn first_route(folder: &Path) -> Result<usize> {
    let page = std::fs::read_to_string(folder.join("index.html")).context("the organiser's app is not built")?;
    let mut open: Vec<String> = quoted_after(&page, &["src=", "href="]).filter(|path| path.ends_with(".js")).collect();
    let mut seen = BTreeSet::new();
    let mut sum = 0;
    while let Some(path) = open.pop() {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if !seen.insert(name.clone()) {
            continue;
        }
        let script =
            std::fs::read_to_string(folder.join("assets").join(&name)).with_context(|| format!("reading {name}"))?;
        sum += gzipped(script.as_bytes())?;
        open.extend(quoted_after(&script, &["from", "import"]).filter(|path| path.starts_with("./")));
    }
    Ok(sum)
}

/// The quoted texts directly after one of these words.
fn quoted_after<'a>(text: &'a str, words: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    words.iter().flat_map(move |word| {
        text.match_indices(word).filter_map(move |(at, _)| {
            let rest = &text[at + word.len()..];
            let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
            Some(rest[1..].split(quote).next()?.to_owned())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_imported_at_once_is_followed() {
        let script = r#"import{a as b}from"./one.js";import"./two.js";const late=()=>import("./three.js");"#;
        let found: Vec<String> = quoted_after(script, &["from", "import"]).collect();
        assert_eq!(found, ["./one.js", "./two.js"]);
        let page = r#"<script type="module" src="/assets/index-1.js"></script><link href='/assets/a.css'>"#;
        assert_eq!(quoted_after(page, &["src=", "href="]).collect::<Vec<_>>(), ["/assets/index-1.js", "/assets/a.css"]);
    }
}
