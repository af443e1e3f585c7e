//! Connecting: what the server must be like, migrations, the first epoch.

use std::time::Duration;

use admit_app::error::{Error, Result};
use admit_store_queries::directory;
use tokio_postgres::Config;
use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use crate::driver::{PgDriver, unavailable};
use crate::options::Options;

mod embedded {
    #![allow(missing_docs, reason = "written by refinery")]
    refinery::embed_migrations!("migrations");
}

/// Names our advisory lock: one node migrates at a time.
const MIGRATION_LOCK: i64 = 0x61_64_6d_69_74;
/// How long a connection attempt may take.
const CONNECT: Duration = Duration::from_secs(5);
/// What every connection sets: no lock is waited for without end, a node that hangs in a transaction loses it, no
/// statement of ours is worth compiling, and plans don't hang on which organisation or event asks: one that the planner
/// has no figures of yet would be taken for empty (see the end of the schema).
const SETTINGS: &str = "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; SET jit = off; \
                        SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; \
                        SET plan_cache_mode = force_generic_plan";
/// What write connections set beside: every statement of a write goes by its index, so a batch's cost does not grow with
/// the event's history (architecture §4).
const WRITER: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";
/// What read connections set beside: a read is ended after this.
const READER: &str = "SET statement_timeout = '30s'; SET default_transaction_read_only = on";

/// Reads `DATABASE_URL`. Fails on what is no address of a PostgreSQL, and on one that demands TLS.
pub(crate) fn config(url: &str) -> Result<Config> {
    if url.contains("sslmode=require") || url.contains("sslmode=verify") {
        return Err(no_tls());
    }
    let mut config: Config = url.parse().map_err(|error| {
        Error::invalid("DATABASE_URL", format!("must look like postgres://user:password@host/database: {error}"))
    })?;
    if config.get_ssl_mode() == SslMode::Require {
        return Err(no_tls());
    }
    config.connect_timeout(CONNECT).application_name("admit");
    Ok(config)
}
fn no_tls() -> Error {
    let message = "asks for TLS, which this build does not speak to PostgreSQL: connect over a unix socket, a private \
                   network or a tunnel, with sslmode=disable";
    Error::invalid("DATABASE_URL", message)
}

/// A connection driven by the calling thread.
pub(crate) fn connect(config: &Config) -> Result<PgDriver> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::Bug(format!("starting a runtime: {error}")))?;
    let connected = runtime.block_on(config.connect(NoTls));
    let (client, connection) = connected.map_err(|error| {
        tracing::warn!(%error, "connecting to the database");
        match error.as_db_error() {
            Some(db) if !db.code().code().starts_with("57P") => {
                Error::Bug(format!("connecting to the database: {}", db.message()))
            }
            _ => unavailable(),
        }
    })?;
    runtime.spawn(async move {
        if let Err(error) = connection.await {
            tracing::warn!(%error, "connection to the database ended");
        }
    });
    let mut driver = PgDriver::new(runtime, client);
    driver.batch(SETTINGS)?;
    Ok(driver)
}

/// A connection that writes.
pub(crate) fn writer(config: &Config) -> Result<PgDriver> {
    let mut driver = connect(config)?;
    driver.batch(WRITER)?;
    Ok(driver)
}

/// A connection that reads.
pub(crate) fn reader(config: &Config) -> Result<PgDriver> {
    let mut driver = connect(config)?;
    driver.batch(READER)?;
    Ok(driver)
}

/// Checks the server, brings the schema up to date, begins the first epoch.
pub(crate) fn prepare(config: &Config, options: &Options) -> Result<()> {
    let mut driver = connect(config)?;
    check(&mut driver, options)?;
    driver.batch(&format!("SELECT pg_advisory_lock({MIGRATION_LOCK})"))?;
    // Another node may hold the lock for as long as a migration takes; our own statements may take as long.
    driver.batch("SET lock_timeout = 0")?;
    driver.migrate(&embedded::migrations::runner())?;
    driver.begin("BEGIN");
    directory::begin_first_epoch(&mut driver, options.first_epoch)?;
    driver.commit()?;
    driver.batch(&format!("SELECT pg_advisory_unlock({MIGRATION_LOCK})"))
}

fn check(driver: &mut PgDriver, options: &Options) -> Result<()> {
    let wrong = |why: String| Err(Error::invalid("DATABASE_URL", why));
    let version: u32 = driver.show("SHOW server_version_num")?.parse().unwrap_or(0);
    if version < 150_000 {
        return wrong(format!("is a PostgreSQL {}: 15 or newer is needed", version / 10_000));
    }
    let commits = driver.show("SHOW synchronous_commit")?;
    if commits != "on" && commits != "remote_apply" {
        return wrong(format!("has synchronous_commit = {commits}: acknowledged scans could be lost; set it to on"));
    }
    if options.require_fsync && driver.show("SHOW fsync")? != "on" {
        return wrong("has fsync = off: acknowledged scans could be lost; set it to on".into());
    }
    let role = "SELECT CASE WHEN rolsuper THEN 'a superuser' WHEN rolbypassrls THEN 'a role with BYPASSRLS' ELSE '' END \
                FROM pg_roles WHERE rolname = current_user";
    let role = driver.show(role)?;
    if !role.is_empty() {
        return wrong(format!(
            "signs in as {role}: organisations would not be kept apart; use a plain role that owns the database"
        ));
    }
    Ok(())
}
