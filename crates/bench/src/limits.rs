//! Two raw limits of ingest, which no server can exceed: appending the uploaded bytes durably, and reading them on one
//! core.

use std::path::Path;
use std::time::Instant;

use admit_core::barcode::BarcodeHash;
use admit_core::sign::{content_digest, verify_v2};
use admit_core::wire::scanning::{ScanV1, ScanV2};
use admit_core::wire::scans::ScanS2;
use anyhow::{Context, Result, anyhow, ensure};
use rusqlite::params;
use tokio_postgres::Client;

use crate::bare;
use crate::bare_postgres::connect;
use crate::ground::postgres;
use crate::phone::{Format, Phone};
use crate::run::Store;
use crate::server::Data;

/// Appending, in scans per second: each batch is one value, committed by itself.
pub fn append(store: Store, data: &Data, items: &[String], batch: usize) -> Result<f64> {
    let bodies: Vec<Vec<u8>> = items.chunks(batch).map(|items| items.concat().into_bytes()).collect();
    let seconds = match store {
        Store::Sqlite => to_sqlite(&data.folder, &bodies)?,
        Store::Postgres => to_postgres(data, &bodies)?,
    };
    Ok(items.len() as f64 / seconds)
}

fn to_sqlite(folder: &Path, bodies: &[Vec<u8>]) -> Result<f64> {
    let db = bare::open(folder, "append")?;
    // tidy-allow: the limit is no store of ours
    db.execute_batch("CREATE TABLE bodies (number INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT")?;
    let start = Instant::now();
    for body in bodies {
        // tidy-allow: the limit is no store of ours
        db.prepare_cached("INSERT INTO bodies (body) VALUES (?1)")?.execute(params![body])?;
    }
    Ok(start.elapsed().as_secs_f64())
}

fn to_postgres(data: &Data, bodies: &[Vec<u8>]) -> Result<f64> {
    let address = postgres().as_superuser(data.database_url.as_ref().context("a database of its own")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client: Client = connect(&address).await?;
        client
            .batch_execute(
                // tidy-allow: the limit is no store of ours
                "DROP SCHEMA IF EXISTS append CASCADE; CREATE SCHEMA append; CREATE TABLE append.bodies (number BIGSERIAL PRIMARY KEY, body BYTEA NOT NULL)",
            )
            .await?;
        // tidy-allow: the limit is no store of ours
        let insert = client.prepare("INSERT INTO append.bodies (body) VALUES ($1)").await?;
        let start = Instant::now();
        for body in bodies {
            client.execute(&insert, &[body]).await?;
        }
        Ok(start.elapsed().as_secs_f64())
    })
}

/// Measures reading on one core, in scans per second: it parses the JSON, verifies the signature if the form has one,
/// and computes the digest.
pub fn read(format: Format, phone: &Phone, items: &[String]) -> Result<f64> {
    let start = Instant::now();
    for item in items {
        let is_read = match format {
            Format::V1 => ScanV1::read(item).map_err(|error| anyhow!("{error}"))?.verify(phone.api_key()),
            Format::V2 => {
                let (scan, signature) = ScanV2::read(item).map_err(|error| anyhow!("{error}"))?;
                verify_v2(phone.scan_key(), &scan, &signature) && content_digest(&scan).0 != [0; 32]
            }
            Format::S2 => BarcodeHash::of(&serde_json::from_str::<ScanS2>(item)?.ticket_code).0 != [0; 32],
        };
        ensure!(is_read, "a scan of the phone is not verified");
    }
    Ok(items.len() as f64 / start.elapsed().as_secs_f64())
}
