//! The one binary. Only this crate names the implementations of the ports: store, clock, web apps.
//!
//! `docs/glossary.md` defines the words and says what `spec §4`, S1, D3, I7 and the like are.

mod say;
mod outcome;
mod progress;
mod tls;
mod settings;
mod settings_text;
mod settings_page;
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

/// A scan is some hundred small texts that one thread allocates and another frees. With glibc's allocator, this takes
/// an eighth of the time of the thread that writes to the database.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Admit: check people in at doors where the network can't be trusted.
#[derive(Debug, Parser)]
#[command(name = "admit", version, about, max_term_width = 100)]
struct Cli {
    /// A settings file with one NAME=value per line, named as in the environment. Environment variables override the
    /// file.
    #[arg(long, global = true, env = "ADMIT_CONFIG")]
    config: Option<std::path::PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server.
    #[command(
        after_help = "Examples:\n  admit serve --data-dir ./data --public-url https://tickets.example.org\n  admit serve --config /etc/admit/admit.conf"
    )]
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
    /// Test a running server over HTTP with virtual phones: measure its speed, and verify that it loses no scan.
    Load(commands::load::Load),
    /// Add organisations and members, and set passwords.
    #[command(subcommand)]
    User(commands::user::User),
    /// Make API tokens.
    #[command(subcommand)]
    Token(commands::token::Token),
    /// Import guests and tickets from a CSV file. Importing the same file twice changes nothing.
    Import(commands::csv::Import),
    /// Write the guests, the scans or the audit ledger of an event as CSV or JSON lines.
    Export(commands::export::Export),
    /// Send guests from an outbox in your own PostgreSQL to a webhook endpoint.
    Relay(commands::relay::Relay),
    /// Scan tickets at a terminal, a Raspberry Pi with a USB reader, or a turnstile, with or without a network.
    Scan(commands::scan::Scan),
    /// Recompute everything that is derived from the stored scans, rules and reviews.
    Rebuild(commands::rebuild::Rebuild),
    /// Copy an embedded database and its secret. A server may go on serving meanwhile.
    Backup(commands::backup::Backup),
    /// Put a backup in place and begin a new epoch. Devices then send again the scans that the backup lacks.
    Restore(commands::backup::Restore),
    /// Copy all data into another database: from SQLite to PostgreSQL, or back.
    MigrateStore(commands::migrate_store::MigrateStore),
    /// Verify the audit ledgers.
    #[command(subcommand)]
    Audit(commands::audit::Audit),
    /// Simulate devices on a faulty network, and check the invariants.
    Simulate(commands::simulate::Simulate),
    /// Check everything that a server depends on, and say how to repair it.
    Doctor(commands::doctor::Doctor),
    /// Print the OpenAPI document.
    #[command(after_help = "Example:\n  admit openapi > openapi.json")]
    Openapi,
    /// Print shell completions, manual pages or the list of settings.
    #[command(subcommand)]
    Manual(commands::manual::Manual),
}

fn main() -> ExitCode {
    let settings = settings_file::read().and_then(|mut settings| {
        settings_file::add_files(&Cli::command(), &mut settings)?;
        Ok(settings)
    });
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => return failed(&error),
    };
    let command = match settings_text::apply(Cli::command(), &settings) {
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
    // The simulator uses one thread and needs no runtime.
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
    // Work that still blocks must not delay the end. Each operation was either acknowledged or not.
    runtime.shutdown_timeout(std::time::Duration::from_secs(5));
    match result {
        Ok(_) if parts::store_failed() => ExitCode::FAILURE,
        Ok(code) => code,
        Err(error) => failed(&error),
    }
}

/// Turns on the log, and the export of traces if a setting names a collector.
fn observe(command: &Command, as_json: bool) -> anyhow::Result<Option<Exporting>> {
    // The demo's welcome is on the screen, so only errors are logged.
    let standard = match command {
        Command::Demo(_) => "error",
        // The simulator's servers die thousands of times, and its report contains all of that.
        Command::Simulate(_) => "off",
        // The screen belongs to the verdict.
        Command::Scan(_) => "error",
        // The findings of the command say it better.
        Command::Doctor(_) => "off",
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
        Command::Scan(scan) => return Ok(scan.run().await),
        Command::Rebuild(rebuild) => return rebuild.run().await,
        Command::Backup(backup) => backup.run().await?,
        Command::Restore(restore) => restore.run().await?,
        Command::MigrateStore(migrate) => return migrate.run().await,
        Command::Audit(audit) => return audit.run().await,
        Command::Simulate(simulate) => return Ok(simulate.run()),
        Command::Doctor(doctor) => return doctor.run().await,
        Command::Openapi => commands::openapi::run().await?,
        Command::Manual(manual) => manual.run(Cli::command())?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a line of an example into words as a shell does. It drops the text after a redirection, and the
    /// explanation after three spaces.
    fn words(line: &str) -> Vec<String> {
        let line = line.trim().split("   ").next().unwrap_or_default();
        let line = line.split(['|', '>']).next().unwrap_or_default();
        let (mut words, mut quoted) = (vec![String::new()], false);
        for letter in line.trim().chars() {
            match letter {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                letter => words.last_mut().unwrap().push(letter),
            }
        }
        words
    }

    fn leaves(command: &clap::Command, path: &str, into: &mut Vec<(String, String)>) {
        if command.has_subcommands() {
            let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
            inner.for_each(|inner| leaves(inner, &format!("{path} {}", inner.get_name()), into));
            return;
        }
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        into.push((path.to_owned(), help));
    }

    #[test]
    fn the_help_of_every_command_ends_with_examples_that_can_be_typed() {
        let mut all = Vec::new();
        leaves(&Cli::command(), "admit", &mut all);
        assert!(all.len() > 15, "{all:?}");
        for (path, help) in all {
            let examples: Vec<&str> = help.lines().filter(|line| line.starts_with("  admit ")).collect();
            assert!(!examples.is_empty(), "`{path} --help` has no example: give it an after_help");
            for example in examples {
                assert!(example.trim().starts_with(&path), "`{path} --help` has an example of another command");
                let parsed = Cli::command().try_get_matches_from(words(example));
                assert!(parsed.is_ok(), "`{}`: {}", example.trim(), parsed.unwrap_err());
            }
        }
    }
}
