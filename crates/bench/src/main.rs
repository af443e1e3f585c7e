//! `make bench`: every figure of this project next to the raw limit of this machine in the same run.
//!
//! Each measurement is a module with a function `measure`, which takes the settings of the run and gives rows. Nothing
//! here asserts a time: a missed target is only a line of the report.
//!
//! `docs/glossary.md` defines the words and says what `spec §4`, S1, D3, I7 and the like are.

mod row;
mod table;
mod sample;
mod run;
mod list;
mod decide;
mod manifest;
mod http;
mod server;
mod organiser;
mod phone;
mod seed;
mod ground;
mod bare;
mod bare_postgres;
mod limits;
mod ingest;
mod hmac;
mod online;
mod filler;
mod growth;
mod mailbox;
mod passes;
mod fetch;
mod memory;
mod simulator;
mod sizes;
mod product;
mod browser;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use row::Row;
use run::{Run, Store};

type Measure = fn(&Run) -> Result<Vec<Row>>;

/// The measurements, in the order of the table.
const MEASUREMENTS: &[(&str, Measure)] = &[
    ("decide", decide::measure),
    ("decide-browser", browser::decide),
    ("verdict", browser::verdict),
    ("cold-start", browser::cold_start),
    ("door", browser::door),
    ("ingest", ingest::measure),
    ("hmac", hmac::measure),
    ("online", online::measure),
    ("growth", growth::measure),
    ("passes", passes::measure),
    ("list", manifest::measure),
    ("fetch", fetch::measure),
    ("memory", memory::measure),
    ("sizes", sizes::measure),
    ("product", product::measure),
    ("simulator", simulator::measure),
];

/// Runs the measurements of Admit.
#[derive(Parser)]
#[command(name = "cargo xtask bench")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Run only these measurements, as names separated by commas.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Measure only these stores, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["sqlite", "postgres"])]
    store: Vec<Store>,
    /// Use small sizes and few repeats. This tests that everything works, but the times mean nothing.
    #[arg(long)]
    quick: bool,
    /// File to write the results to, as JSON.
    #[arg(long, default_value = "target/bench/latest.json")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Compares the results of two runs.
    Compare {
        /// Results file of the earlier run.
        old: PathBuf,
        /// Results file of the later run.
        new: PathBuf,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse() {
        Arguments { command: Some(Command::Compare { old, new }), .. } => compare(&old, &new).map(|()| true),
        arguments => measure(&arguments),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the chosen measurements, prints the table and keeps the rows. Gives `false` if a measurement could not be
/// made. A missed target is not a failure.
fn measure(arguments: &Arguments) -> Result<bool> {
    let root = root();
    let admit = std::env::var_os("ADMIT_BIN").map_or_else(|| root.join("target/dist/admit"), PathBuf::from);
    let run = Run { root, admit, quick: arguments.quick, stores: arguments.store.clone() };
    let wanted = chosen(&arguments.only)?;
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for (name, work) in wanted {
        eprintln!("── {name}");
        match work(&run) {
            Ok(more) => rows.extend(more),
            Err(error) => {
                eprintln!("{name} was not measured: {error:#}");
                failed.push(format!("{name} was not measured: {error:#}"));
            }
        }
    }
    println!("\n{}", table::table(&rows));
    if run.quick {
        println!("A quick run: these figures show that the measurements work, and nothing else.");
    }
    for line in &failed {
        println!("{line}");
    }
    let out = run.root.join(&arguments.out);
    keep(&rows, &out)?;
    println!("kept in {}", arguments.out.display());
    Ok(failed.is_empty())
}

fn chosen(names: &[String]) -> Result<Vec<(&'static str, Measure)>> {
    let known: Vec<&str> = MEASUREMENTS.iter().map(|(name, _)| *name).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no measurement {unknown:?}; there are {}", known.join(", "));
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    Ok(MEASUREMENTS.iter().copied().filter(|(name, _)| wanted(name)).collect())
}

fn keep(rows: &[Row], out: &Path) -> Result<()> {
    if let Some(folder) = out.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(out, serde_json::to_string_pretty(rows)? + "\n")
        .with_context(|| format!("writing {}", out.display()))
}

fn compare(old: &Path, new: &Path) -> Result<()> {
    let rows = |path: &Path| -> Result<Vec<Row>> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} does not hold the rows of a run", path.display()))
    };
    println!("{}", table::comparison(&rows(old)?, &rows(new)?));
    Ok(())
}

/// The repository's folder, which is two levels above this crate.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).map_or_else(|| here.to_path_buf(), Path::to_path_buf)
}
