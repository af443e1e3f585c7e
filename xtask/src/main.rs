//! The project's own commands, which the Makefile calls.
//!
//! Reading order:
//!
//! - `exec` starts programs, `stamp` tells whether a step's inputs changed, `setup` installs what a machine lacks.
//! - `wasm` and `web` build the parts for browsers, `product` the programs; `dist` builds a release.
//! - `source` and `markdown` parse files, `files` lists all of them; `docs` builds the documentation as a site.
//! - `proof` reads which test proves which claim, `results` has the tests' results, `conformance` reports both.
//! - `tidy` checks the laws that a compiler cannot check.
//! - `contract` checks a served binary against its OpenAPI document.
//! - `suite` runs everything; `bench` measures.
//! - `fuzz` searches for bytes that break a reader; `night` searches for seeds that break a promise.

mod exec;
mod stamp;
mod setup;
mod wasm;
mod web;
mod product;
mod dist;
mod source;
mod markdown;
mod files;
mod docs;
mod proof;
mod results;
mod conformance;
mod tidy;
mod contract;
mod suite;
mod bench;
mod fuzz;
mod night;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::os::unix::process::CommandExt;

/// The project's own commands.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what the builds and tests need (as root), or print the one line that does
    Setup,
    /// Build crates/wasm for the browser into web/shared/core/generated
    Wasm {
        /// Trade size and speed of the result for a quick build
        #[arg(long)]
        dev: bool,
        /// Build the variant that runs vectors/, for its test
        #[arg(long)]
        vectors: bool,
    },
    /// Build the scanner and the organiser's app into web/*/dist
    Web,
    /// Build wasm, web, and the release binary target/release/admit
    Build,
    /// Build a release: one stripped binary, manual pages, completions, bill of materials, checksums, Debian package
    Dist,
    /// Build the documentation as a site with a search, in target/docs-site; fails if a link leads nowhere
    Docs,
    /// Build, then `admit demo` with the arguments that follow
    #[command(disable_help_flag = true)]
    Demo {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// The quick look before a commit: format, tidy, clippy, types of the web code
    Check,
    /// Check the laws of ARCHITECTURE.md that a compiler cannot check
    Tidy,
    /// Check that each requirement, fault and promise names its tests or figures, and count the results
    Conformance {
        /// Render the pages, with the last run's results
        #[arg(long)]
        write: bool,
    },
    /// Check a served binary against its own OpenAPI document
    Contract {
        /// Number of examples per operation
        #[arg(long, default_value = contract::EXAMPLES)]
        examples: String,
        /// Check only operations whose path matches this
        #[arg(long, value_name = "REGEX")]
        only: Option<String>,
    },
    /// Make the pictures of the README, of a demo in Chromium (build first: `make demo`)
    Pictures,
    /// Check that a served binary accepts messages signed by the official Standard Webhooks library for Python
    Webhooks,
    /// Run everything that must hold before a change lands
    Test,
    /// Run the same with far more generated histories, seeds and kills
    TestLong,
    /// Find every planted bug: the invariant that finds it, after how many seeds
    Mutants,
    /// Run the simulator at every level and store, with new seeds, and write a report
    SimNight {
        /// Duration in minutes
        #[arg(long, default_value_t = night::MINUTES)]
        minutes: f64,
        /// The first seed; if absent, one that no earlier night ran
        #[arg(long, value_name = "SEED")]
        from: Option<u64>,
        /// The profile to build with
        #[arg(long, value_name = "NAME", default_value = product::PROFILE)]
        profile: String,
    },
    /// Measure times and sizes, and print each beside the raw limit of this machine: [--only a,b] [--quick], or compare
    /// OLD NEW
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Search for bytes that break a reader of bytes from outside
    Fuzz {
        /// Duration in seconds for each target
        #[arg(long, value_name = "N", default_value_t = 60)]
        seconds: u64,
        /// The targets; all of them if none is named
        targets: Vec<String>,
    },
}

fn main() {
    let mut args: Vec<String> = std::env::args().collect();
    if args.len() == 1 {
        args.push("help".to_owned());
    }
    let cli = Cli::try_parse_from(args).unwrap_or_else(|told| {
        let _ = told.print();
        std::process::exit(i32::from(told.use_stderr()))
    });
    if let Err(error) = run(cli.command) {
        eprintln!("\nxtask: {error:#}");
        // 2 means that this machine lacks a program, 1 that the code is wrong.
        std::process::exit(if error.is::<setup::Missing>() { 2 } else { 1 });
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Setup => suite::setup(),
        Command::Wasm { vectors: true, .. } => wasm::build_vectors(),
        Command::Wasm { dev, .. } => wasm::build(dev),
        Command::Web => web::build(),
        Command::Build => {
            wasm::build(false)?;
            web::build()?;
            exec::run(exec::cargo().args(["build", "--release", "--locked", "-p", "admit"]))
        }
        Command::Dist => wasm::build(false).and_then(|()| web::build()).and_then(|()| dist::build()),
        Command::Docs => docs::build(product::served),
        Command::Demo { args } => {
            product::served()?;
            // The demo replaces this process, so that Ctrl-C and signals reach only the server.
            Err(exec::command(product::built("admit")).arg("demo").args(args).exec().into())
        }
        Command::Check => suite::check(),
        Command::Tidy => tidy::run(),
        Command::Conformance { write } => conformance::command(write),
        Command::Contract { examples, only } => {
            contract::check(&contract::built_by_editor()?, &examples, only.as_deref())
        }
        Command::Pictures => exec::run(
            exec::command("node")
                .arg("e2e/pictures.mjs")
                .current_dir(exec::root().join("web"))
                .env("ADMIT_BIN", product::built("admit")),
        ),
        Command::Webhooks => contract::webhooks(&contract::built_by_editor()?),
        Command::Test => suite::test(false),
        Command::TestLong => suite::test(true),
        Command::Mutants => suite::mutants(),
        Command::Bench { args } => bench::run(&args),
        Command::Fuzz { seconds, targets } => fuzz::run(seconds, targets),
        Command::SimNight { minutes, from, profile } => night::run(minutes, from, &profile),
    }
}
