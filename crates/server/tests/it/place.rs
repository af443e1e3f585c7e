//! The place of a test's data: a folder, or a database of a private PostgreSQL with a private Redis.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use admit_app::ports::Store;
use admit_app::secret::Secret;
use admit_server::config::TrustedProxies;
use admit_server::{AppState, Settings};
use admit_store_postgres::{Postgres, testing};
use admit_store_sqlite::Sqlite;

use crate::private_redis;

/// Whether these tests run on PostgreSQL and Redis.
pub fn is_shared() -> bool {
    match std::env::var("ADMIT_TEST_STORE").as_deref() {
        Ok("postgres") => true,
        Ok("sqlite") | Err(_) => false,
        Ok(other) => panic!("ADMIT_TEST_STORE is sqlite or postgres, not {other}"),
    }
}

/// The data of one test, which are deleted with this value.
pub enum Place {
    Folder(tempfile::TempDir),
    Database(String),
}

impl Place {
    /// A new empty place, on the store that these tests run on.
    pub async fn new() -> Self {
        if is_shared() { Self::database().await } else { Self::Folder(tempfile::tempdir().unwrap()) }
    }
    /// A new empty database, whatever store these tests run on.
    pub async fn database() -> Self {
        Self::Database(tokio::task::spawn_blocking(fresh_database).await.unwrap())
    }
    /// A node's state on these data. Several nodes share a database.
    pub async fn open(&self, settings: Settings) -> AppState {
        let store: Arc<dyn Store> = match self {
            Self::Folder(folder) => Arc::new(Sqlite::open(folder.path().join("admit.db"), Default::default()).unwrap()),
            Self::Database(address) => Arc::new(connected(address.clone()).await),
        };
        // Tests act as a trusted proxy and name their own address.
        let trusted_proxies = TrustedProxies::read("127.0.0.0/8").unwrap();
        let settings = Settings { trusted_proxies, ..settings };
        let settings = match self {
            Self::Database(_) if settings.redis_url.is_none() => {
                Settings { redis_url: Some(private_redis::shared().url()), several_nodes: true, ..settings }
            }
            _ => settings,
        };
        AppState::new(store, Secret::new(&"s".repeat(40)).unwrap(), settings)
    }
}

impl Place {
    /// Every stored row as a line: the table's name, a space, the row.
    pub fn rows(&self) -> Vec<String> {
        match self {
            Self::Folder(folder) => admit_store_sqlite::testing::rows(&folder.path().join("admit.db")),
            Self::Database(address) => testing::rows(&testing::shared().as_superuser(address)),
        }
    }
}

/// A database that has the schema already. Copying one is faster than migrating each time.
fn fresh_database() -> String {
    static TEMPLATE: OnceLock<String> = OnceLock::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let server = testing::shared();
    let template = TEMPLATE.get_or_init(|| {
        let address = server.database();
        drop(open(&address));
        address
    });
    let (rest, model) = template.rsplit_once("dbname=").unwrap();
    let name = format!("it_{}", COUNT.fetch_add(1, Ordering::Relaxed));
    server.admin(&format!("CREATE DATABASE {name} TEMPLATE {model} OWNER admit"));
    format!("{rest}dbname={name}")
}

fn open(address: &str) -> Postgres {
    let options = admit_store_postgres::Options { writers: 2, readers: 3, require_fsync: false, ..Default::default() };
    Postgres::open(address, options).unwrap()
}

async fn connected(address: String) -> Postgres {
    tokio::task::spawn_blocking(move || open(&address)).await.unwrap()
}
