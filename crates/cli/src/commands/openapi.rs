//! `admit openapi`: the document of `/openapi.json`, without a server.

use admit_server::{docs, router};

use crate::parts;

/// Prints it.
pub async fn run() -> anyhow::Result<()> {
    let state = parts::blank().await?;
    println!("{}", docs::json(&router::document(&state)));
    Ok(())
}
