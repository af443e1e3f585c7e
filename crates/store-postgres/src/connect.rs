//! Connecting to PostgreSQL: checks of the server, the migrations, the first epoch.

use std::error::Error as _;
use std::time::Duration;

use admit_app::error::{Error, Result};
use admit_store_queries::directory;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, NoTls, Socket};

use crate::driver::{PgDriver, unavailable};
use crate::options::Options;
use crate::tls::{self, Address};

mod embedded {
    #![allow(missing_docs, reason = "written by refinery")]
    refinery::embed_migrations!("migrations");
}

/// The number of the advisory lock under which one node at a time migrates.
const MIGRATION_LOCK: i64 = 0x61_64_6d_69_74;
/// How long a connection attempt may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a silent connection is trusted before it is probed. This limit and the next three are for a machine that
/// vanished, as in a fail-over. Without them its connection blocks for a quarter of an hour, as the operating system
/// waits.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// The time between two probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// The number of unanswered probes after which the connection is given up.
const KEEPALIVES: u32 = 4;
/// How long sent data may stay unconfirmed.
const UNCONFIRMED: Duration = Duration::from_secs(10);
/// The settings of every connection. A wait for a lock has a limit. The server rolls back the transaction of a node
/// that hangs in it. For a node that vanished it does so sooner, because it probes the connection. `jit` is off,
/// because compiling a plan takes longer than any statement of ours. Plans are generic, because a plan for one
/// organisation or event without statistics would assume that it has no rows (see the end of the schema).
const SETTINGS: &str = "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; \
                        SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 4; \
                        SET tcp_user_timeout = '10s'; SET jit = off; \
                        SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; \
                        SET plan_cache_mode = force_generic_plan";
/// Additional settings of connections that write. Every statement of a write must use its index, so that a batch's
/// cost does not grow with the event's history.
const WRITER: &str = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off";
/// Additional settings of connections that read. A read ends after this time.
const READER: &str = "SET statement_timeout = '30s'; SET default_transaction_read_only = on";

/// Parses `DATABASE_URL`. Fails if it is not the address of a PostgreSQL.
pub(crate) fn address(url: &str) -> Result<Address> {
    let mut address = tls::address(url)?;
    // Keepalives detect a connection whose other end vanished.
    let config = address.config.connect_timeout(CONNECT).application_name("admit").keepalives_idle(KEEPALIVE);
    config.keepalives_interval(KEEPALIVE_INTERVAL).keepalives_retries(KEEPALIVES).tcp_user_timeout(UNCONFIRMED);
    Ok(address)
}

async fn begin<T>(config: &Config, tls: T) -> std::result::Result<Client, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, connection) = config.connect(tls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::warn!(%error, "connection to the database ended");
        }
    });
    Ok(client)
}

/// Opens a connection that the calling thread drives.
pub(crate) fn connect(address: &Address) -> Result<PgDriver> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::Bug(format!("starting a runtime: {error}")))?;
    let connected = runtime.block_on(async {
        match address.tls.clone() {
            Some(tls) => begin(&address.config, tls).await,
            None => begin(&address.config, NoTls).await,
        }
    });
    let client = connected.map_err(|error| {
        let why = error.source().map(ToString::to_string).unwrap_or_default();
        let hosts = address.config.get_hosts();
        tracing::warn!(%error, why, ?hosts, "connecting to the database");
        match error.as_db_error() {
            Some(db) if !db.code().code().starts_with("57P") && !db.code().code().starts_with("53") => {
                Error::Bug(format!("connecting to the database: {}", db.message()))
            }
            // If the two ends do not agree on TLS, a retry does not help.
            None if error.to_string().contains("TLS") => {
                let why = error.source().map_or_else(String::new, |source| format!(": {source}"));
                Error::invalid("DATABASE_URL", format!("cannot be reached as it asks, {error}{why}"))
            }
            _ => unavailable(),
        }
    })?;
    let mut driver = PgDriver::new(runtime, client, address.index.clone());
    driver.batch(SETTINGS)?;
    Ok(driver)
}

/// Opens a connection that writes.
pub(crate) fn writer(address: &Address) -> Result<PgDriver> {
    let mut driver = connect(address)?;
    driver.batch(WRITER)?;
    Ok(driver)
}

/// Opens a connection that reads.
pub(crate) fn reader(address: &Address) -> Result<PgDriver> {
    let mut driver = connect(address)?;
    driver.batch(READER)?;
    Ok(driver)
}

/// Checks the server, brings the schema up to date, begins the first epoch.
pub(crate) fn prepare(address: &Address, options: &Options) -> Result<()> {
    let mut driver = connect(address)?;
    check(&mut driver, options)?;
    // Another node may hold the lock for as long as a migration takes, and so may our own statements.
    driver.batch("SET lock_timeout = 0")?;
    driver.batch(&format!("SELECT pg_advisory_lock({MIGRATION_LOCK})"))?;
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
