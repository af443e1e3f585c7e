//! `admit openapi`: prints the document of `/openapi.json`, without a server.

use std::io::{ErrorKind, Write};

use admit_server::{docs, router};

use crate::parts;

/// Runs the command.
pub async fn run() -> anyhow::Result<()> {
    let state = parts::blank().await?;
    match writeln!(std::io::stdout(), "{}", docs::json(&router::document(&state))) {
        // The reader of a pipe may stop early, as `head` does. That is no error.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
