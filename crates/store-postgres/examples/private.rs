//! `private PROGRAM [ARGUMENT…]` starts a private PostgreSQL server, runs a program, and stops the server when the
//! program ends. The program gets the server's address in `DATABASE_URL` (a plain role) and `ADMIT_SIM_SUPERUSER_URL`.
//! `cargo xtask` uses it.

use std::process::{Command, ExitCode};

use admit_store_postgres::testing;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let Some(program) = words.next() else {
        eprintln!("private PROGRAM [ARGUMENT…]");
        return ExitCode::FAILURE;
    };
    let server = testing::Server::start(false);
    let url = server.database();
    let mut command = Command::new(program);
    command.args(words).env("DATABASE_URL", &url).env("ADMIT_SIM_SUPERUSER_URL", server.as_superuser(&url));
    let ended = command.status().map(|status| status.success());
    drop(server);
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("private: {error}");
            ExitCode::FAILURE
        }
    }
}
