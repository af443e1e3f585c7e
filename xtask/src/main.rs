//! The project's own commands, which `make` calls.
//!
//! Reading order:
//!
//! - `exec` starts programs, `stamp` remembers inputs, `setup` installs missing programs.
//! - `wasm` and `web` build the code for browsers, `product` the rest.
//! - `dist` builds the release; `docs` builds the documentation as a site.
//! - `conformance` knows which test proves which row; `tidy` checks laws that a compiler cannot check.
//! - `contract` checks the served binary against its OpenAPI document.
//! - `suite` runs everything; `bench` measures.
//! - `fuzz` searches for bytes that break a reader; `night` searches for seeds that break a promise.

mod exec;
mod stamp;
mod setup;
mod wasm;
mod web;
mod product;
mod dist;
mod docs;
mod conformance;
mod tidy;
mod contract;
mod suite;
mod bench;
mod fuzz;
mod night;

use anyhow::{Result, bail};
use std::os::unix::process::CommandExt;

const HELP: &str = "\
cargo xtask <command>

  setup          install what the builds and tests need (as root), or print the one line that does
  wasm [--dev]   build crates/wasm for the browser into web/shared/core/generated; with --vectors, for its test
  web            build the scanner and the organiser's app into web/*/dist
  build          wasm, web, and the release binary target/release/admit
  dist           wasm, web, and what is handed out: one stripped binary, manual pages, completions, bill of materials, checksums, Debian package
  docs           the documentation as a site with a search, in target/docs-site; fails where a link leads nowhere
  demo [...]     build, then `admit demo` with the arguments that follow
  check          the quick look before a commit: format, tidy, clippy, types of the web code
  tidy           the laws of the house that a compiler does not know
  conformance    the list of what S1 and S2 ask for, checked and counted, and the faults, promises and figures; --write puts the last run's results into it
  contract       a served binary against its own OpenAPI document: [--examples N] [--only REGEX]
  pictures       the pictures of the README, of a demo in Chromium (build first: `make demo`)
  webhooks       a served binary takes what the official Standard Webhooks library for Python signs
  test           everything that must hold before a change lands
  test-long      the same with far more generated histories, seeds and kills
  mutants        every planted bug, the invariant that finds it, after how many seeds
  sim-night      the simulator at every level and store, with new seeds, and a report: [--minutes N] [--from SEED] [--profile NAME]
  bench [...]    the measurements, each beside the limit of this machine: [--only a,b] [--quick], or compare OLD NEW
  fuzz [...]     bytes from outside that break what reads them: [--seconds N] [TARGET…], 60 seconds each without
";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let outcome = run(args.first().map_or("help", String::as_str), args.get(1..).unwrap_or_default());
    if let Err(error) = outcome {
        eprintln!("\nxtask: {error:#}");
        // Exit code 2 means "this machine lacks something"; 1 means "the code is wrong".
        std::process::exit(if error.is::<setup::Missing>() { 2 } else { 1 });
    }
}

fn run(command: &str, args: &[String]) -> Result<()> {
    match command {
        "setup" => suite::setup(),
        "wasm" if args.iter().any(|arg| arg == "--vectors") => wasm::build_vectors(),
        "wasm" => wasm::build(args.iter().any(|arg| arg == "--dev")),
        "web" => web::build(),
        "build" => build(),
        "dist" => browsers_half().and_then(|()| dist::build()),
        "docs" => docs::build(served),
        "demo" => {
            served()?;
            // The demo replaces this process, so that Ctrl-C and signals reach only the server.
            Err(exec::command(product::binary()).arg("demo").args(args).exec().into())
        }
        "check" => suite::check(),
        "tidy" => tidy::run(),
        "conformance" => conformance::command(args),
        "contract" => contract::command(args),
        "pictures" => exec::run(
            exec::command("node")
                .arg("e2e/pictures.mjs")
                .current_dir(exec::root().join("web"))
                .env("ADMIT_BIN", product::binary()),
        ),
        "webhooks" => contract::webhooks_command(),
        "test" => suite::test(suite::Depth::Gate),
        "test-long" => suite::test(suite::Depth::Long),
        "mutants" => suite::mutants(),
        "bench" => bench::run(args),
        "fuzz" => fuzz::command(args),
        "sim-night" => night::command(args),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("there is no command `{other}`\n\n{HELP}"),
    }
}

/// Runs the stages one after the other, and prints how long each took.
fn stages(stages: &[(&str, &dyn Fn() -> Result<()>)]) -> Result<()> {
    let mut said = Vec::new();
    for (name, work) in stages {
        let begun = std::time::Instant::now();
        work()?;
        said.push(format!("{name} {:.1} s", begun.elapsed().as_secs_f64()));
    }
    println!("built: {}", said.join(", "));
    Ok(())
}

/// Builds the binary that `make demo` starts, which contains both web apps.
fn served() -> Result<()> {
    stages(&[("wasm", &|| wasm::build(false)), ("web", &web::build), ("server", &product::build)])
}

fn browsers_half() -> Result<()> {
    wasm::build(false)?;
    web::build()
}

fn build() -> Result<()> {
    browsers_half()?;
    exec::run(exec::cargo().args(["build", "--release", "--locked", "-p", "admit"]))
}
