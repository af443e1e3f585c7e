//! The one binary. The only place that names concrete parts: which store, which clock, which web apps.

mod say;
mod settings;
mod settings_file;
mod parts;
mod acting;
mod serve;
mod commands;

use std::process::ExitCode;

use admit_server::otlp::{self, Exporting};
use admit_server::telemetry;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::say::say;
use crate::settings::Place;

/// A scan is some hundred small texts made on one thread and given up on another: what costs glibc's allocator an eighth
/// of the writer's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Admit: check people in at doors where the network can't be trusted.
#[derive(Debug, Parser)]
#[command(name = "admit", version, about, max_term_width = 100)]
struct Cli {
    /// File of settings, one NAME=value a line; the names are those of the environment, which goes first.
    #[arg(long, global = true, env = "ADMIT_CONFIG")]
    config: Option<std::path::PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server.
    Serve {
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        listen: settings::Listen,
        #[command(flatten)]
        outside: settings::Outside,
        #[command(flatten)]
        tracing: settings::Tracing,
    },
    /// Run a server with a live demo event: 20,000 tickets, four gates, doors open.
    Demo(commands::demo::Demo),
    /// Virtual phones against a running server over HTTP: what it takes, how quickly, and that nothing is lost.
    Load(commands::load::Load),
    /// Organisations and members.
    #[command(subcommand)]
    User(commands::user::User),
    /// API tokens.
    #[command(subcommand)]
    Token(commands::token::Token),
    /// Import guests and tickets from a CSV file. The same file twice changes nothing.
    Import(commands::csv::Import),
    /// Write all guests and tickets of an event as a CSV file.
    Export(commands::csv::Export),
    /// Carry guests from the outbox of an organiser's own PostgreSQL to a webhook endpoint.
    Relay(commands::relay::Relay),
    /// Recompute everything derived from the stored scans, rules and reviews.
    Rebuild(commands::rebuild::Rebuild),
    /// Copy an embedded database and its secret, while a server goes on serving.
    Backup(commands::backup::Backup),
    /// Put a copy back and begin a new epoch: devices then hand over again what the copy doesn't hold.
    Restore(commands::backup::Restore),
    /// The audit ledgers.
    #[command(subcommand)]
    Audit(commands::audit::Audit),
    /// Virtual devices on a faulty network, checked against the invariants.
    Simulate(commands::simulate::Simulate),
    /// Print the OpenAPI document.
    Openapi,
}

fn main() -> ExitCode {
    let settings = match settings_file::read() {
        Ok(settings) => settings,
        Err(error) => return failed(&error),
    };
    let command = match settings_file::apply(Cli::command(), &settings) {
        Ok(command) => command,
        Err(error) => return failed(&error),
    };
    let cli = Cli::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    let log = std::env::var("ADMIT_LOG").ok();
    let as_json = match log.as_ref().or_else(|| settings.get("ADMIT_LOG")).map(String::as_str) {
        Some("json") => true,
        None | Some("" | "text") => false,
        Some(other) => {
            return failed(&anyhow::anyhow!(
                "ADMIT_LOG is {other:?}: it is json or text; RUST_LOG chooses what is logged"
            ));
        }
    };
    let exporting = match observe(&cli.command, as_json) {
        Ok(exporting) => exporting,
        Err(error) => return failed(&error),
    };
    // The simulator is one thread and needs no runtime.
    if let Command::Simulate(simulate) = cli.command {
        return simulate.run();
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(error);
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(run(cli.command));
    if let Some(exporting) = exporting {
        exporting.finish();
    }
    // Whatever still blocks must not hold the process: it was acknowledged or it was not.
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    match result {
        Ok(_) if parts::store_failed() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(error) => failed(&error),
    }
}

/// Turns on the log, and the export of traces where a setting names a collector.
fn observe(command: &Command, as_json: bool) -> anyhow::Result<Option<Exporting>> {
    // A demo's screen belongs to its welcome; only what went wrong interrupts it.
    let standard = match command {
        Command::Demo(_) => "error",
        // Its servers die thousands of deaths, and its report says all of them.
        Command::Simulate(_) => "off",
        _ => "warn,admit=info,admit_server=info",
    };
    let traces = match command {
        Command::Serve { tracing, .. } => tracing.traces()?,
        Command::Demo(demo) => demo.tracing.traces()?,
        _ => None,
    };
    let Some(traces) = traces else {
        telemetry::init(as_json, standard);
        return Ok(None);
    };
    Ok(Some(otlp::init(as_json, standard, &traces)?))
}

fn failed(error: &anyhow::Error) -> ExitCode {
    say(format_args!("{error:#}"));
    ExitCode::FAILURE
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve { place, listen, outside, tracing: _ } => serve::run(place, listen, outside).await?,
        Command::Demo(demo) => demo.run().await?,
        Command::Load(load) => return load.run().await,
        Command::User(user) => user.run().await?,
        Command::Token(token) => token.run().await?,
        Command::Import(import) => return import.run().await,
        Command::Export(export) => export.run().await?,
        Command::Relay(relay) => relay.run().await?,
        Command::Rebuild(rebuild) => return rebuild.run().await,
        Command::Backup(backup) => backup.run().await?,
        Command::Restore(restore) => restore.run().await?,
        Command::Audit(audit) => return audit.run().await,
        Command::Simulate(simulate) => return Ok(simulate.run()),
        Command::Openapi => commands::openapi::run().await?,
    }
    Ok(ExitCode::SUCCESS)
}
