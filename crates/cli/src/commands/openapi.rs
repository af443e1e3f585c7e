//! `admit openapi`: the document of `/openapi.json`, without a server.

use std::io::{ErrorKind, Write};

use admit_server::{docs, router};

use crate::parts;

/// Prints it.
pub async fn run() -> anyhow::Result<()> {
    let state = parts::blank().await?;
    match writeln!(std::io::stdout(), "{}", docs::json(&router::document(&state))) {
        // Whoever reads it may stop early, as `head` does.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
