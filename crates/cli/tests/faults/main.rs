//! Faults of the machine under the real binary (docs/faults.md, rows 3, 26, 27, 28, 31). The power fails, the disk
//! fails or is full, the database is killed, cut off or put back to an old dump, or a body is a bomb.

#[path = "../serving/mod.rs"]
mod serving;
#[path = "../../../server/tests/it/signed.rs"]
mod signed;
#[path = "../hammer/mod.rs"]
mod hammer;

mod disk;
mod cut;
mod power;
mod database;
mod dumped;
mod power_postgres;
mod killed;
mod between;
mod cut_off;
mod full;
mod broken;
mod mute;
mod bombs;
mod log;

use std::process::Command;

/// Runs a program that must succeed.
fn run(program: &str, arguments: &[&str]) {
    let run = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(run.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
}
