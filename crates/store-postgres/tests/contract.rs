//! The store contract on PostgreSQL. Each test has a database of its own.

use std::sync::Arc;

use admit_app::ports::Store;
use admit_store_postgres::{Options, Postgres, testing};
use futures_util::future::BoxFuture;

fn run(contract: impl FnOnce(Arc<dyn Store>) -> BoxFuture<'static, ()>) {
    let options = Options { writers: 4, readers: 2, require_fsync: false, ..Options::default() };
    let store = Postgres::open(&testing::shared().database(), options).expect("a database");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(contract(Arc::new(store)));
}

admit_app::store_suite!(super::run);
