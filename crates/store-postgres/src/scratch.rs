//! Temporary databases for the simulator. They are made, emptied, copied and restored again and again, without regard
//! to triggers and row level security. Never use this on a database with data of value.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use admit_app::error::{Error, Result};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

/// A PostgreSQL server on this machine.
#[derive(Debug, Clone)]
pub struct Server {
    /// The address for the store's role: a URL or `host=… user=…`.
    pub url: String,
    /// The address for a superuser of the same server. The store refuses that role, but only a superuser may do what
    /// this module does.
    pub superuser: String,
}

/// A temporary database.
pub struct Scratch {
    url: String,
    name: String,
    server: String,
    /// The superuser's connection, kept open. Opening a connection takes as long as all work of this module on it.
    superuser: Mutex<Connected>,
}

/// Deletes the database when the value is dropped, after closing connections to it.
impl Drop for Scratch {
    fn drop(&mut self) {
        let drop = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name);
        if let Err(error) = Connected::to(&self.server).and_then(|server| server.run(&drop)) {
            tracing::warn!(name = self.name, %error, "a database to play with is left behind");
        }
    }
}

struct Connected {
    runtime: Runtime,
    client: Client,
}

fn bug(what: &str, error: impl std::fmt::Display) -> Error {
    Error::Bug(format!("{what}: {error}"))
}

impl Connected {
    fn to(url: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| bug("starting a runtime", error))?;
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
            tokio::spawn(connection);
            Ok::<_, tokio_postgres::Error>(client)
        });
        Ok(Self { client: client.map_err(|error| bug("connecting as superuser", error))?, runtime })
    }
    fn run(&self, sql: &str) -> Result<()> {
        self.runtime.block_on(self.client.batch_execute(sql)).map_err(|error| bug("SQL of a superuser", error))
    }
}

/// The address with another database's name. In a URL the name replaces the path. Else `dbname=…` is appended, and
/// PostgreSQL uses the last `dbname`.
fn with_database(url: &str, name: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return format!("{url} dbname={name}") };
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let host = place.split('/').next().unwrap_or(place);
    format!("{scheme}://{host}/{name}{}", query.map_or_else(String::new, |query| format!("?{query}")))
}

impl Server {
    /// Makes a new database that belongs to the store's role. Don't call this module from inside an async runtime.
    pub fn database(&self) -> Result<Scratch> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let config: tokio_postgres::Config = self.url.parse().map_err(|error| bug("the database's address", error))?;
        let role = config.get_user().ok_or_else(|| Error::Bug("the database's address names no role".into()))?;
        // In containers every process has the same number, so the time is part of the name.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("admit_sim_{since}_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let server = Connected::to(&self.superuser)?;
        server.run(&format!("CREATE DATABASE {name} OWNER \"{role}\""))?;
        let superuser = Mutex::new(Connected::to(&with_database(&self.superuser, &name))?);
        Ok(Scratch { url: with_database(&self.url, &name), name, server: self.superuser.clone(), superuser })
    }
}

impl Scratch {
    /// The address of this database for the store's role.
    pub fn url(&self) -> &str {
        &self.url
    }
    /// Copies the content of all tables under a name, and replaces an earlier copy of that name.
    pub fn keep(&self, name: &str) -> Result<()> {
        self.run(&keep(name))
    }
    /// Replaces the content of all tables by the copy with this name.
    pub fn put_back(&self, name: &str) -> Result<()> {
        self.run(&put_back(name))
    }
    fn run(&self, sql: &str) -> Result<()> {
        self.superuser.lock().unwrap_or_else(PoisonError::into_inner).run(sql)
    }
}

/// The SQL that copies every table under a name.
pub(crate) fn keep(name: &str) -> String {
    let copy = "CREATE TABLE IF NOT EXISTS kept.%2$I (LIKE public.%1$I);
        DELETE FROM kept.%2$I; INSERT INTO kept.%2$I SELECT * FROM public.%1$I";
    each_table(name, copy)
}
/// The SQL that puts back the copy that [`keep`] made under this name, without triggers and row level security.
pub(crate) fn put_back(name: &str) -> String {
    each_table(name, "DELETE FROM public.%1$I; INSERT INTO public.%1$I SELECT * FROM kept.%2$I")
}
fn each_table(name: &str, copy: &str) -> String {
    format!(
        "SET client_min_messages = warning; SET session_replication_role = replica; CREATE SCHEMA IF NOT EXISTS kept;
         DO $$ DECLARE name TEXT; BEGIN
             FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
                 EXECUTE format('{copy}', name, '{name}_' || name);
             END LOOP; END $$"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_either_form_is_led_to_another_database() {
        assert_eq!(with_database("host=/tmp user=a dbname=b", "c"), "host=/tmp user=a dbname=b dbname=c");
        assert_eq!(with_database("postgres://a:b@h:5/old?x=1", "c"), "postgres://a:b@h:5/c?x=1");
        assert_eq!(with_database("postgres://h", "c"), "postgres://h/c");
        let config: tokio_postgres::Config = with_database("host=/tmp user=a dbname=b", "c").parse().unwrap();
        assert_eq!((config.get_dbname(), config.get_user()), (Some("c"), Some("a")));
    }
}
