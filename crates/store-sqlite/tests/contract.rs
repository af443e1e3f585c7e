//! The store contract on SQLite in three modes: in place, on threads in memory, on threads on a file.

use std::sync::Arc;

use admit_app::ports::Store;
use admit_store_sqlite::{Options, Sqlite};
use futures_util::future::BoxFuture;

fn drive(contract: impl FnOnce(Arc<dyn Store>) -> BoxFuture<'static, ()>, store: Sqlite) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(contract(Arc::new(store)));
}

mod inline {
    use super::*;
    fn run(contract: impl FnOnce(Arc<dyn Store>) -> BoxFuture<'static, ()>) {
        drive(contract, Sqlite::memory(Options::inline()).expect("a database in memory"));
    }
    admit_app::store_suite!(super::run);
}

mod in_memory {
    use super::*;
    fn run(contract: impl FnOnce(Arc<dyn Store>) -> BoxFuture<'static, ()>) {
        drive(contract, Sqlite::memory(Options::default()).expect("a database in memory"));
    }
    admit_app::store_suite!(super::run);
}

mod on_a_file {
    use super::*;
    fn run(contract: impl FnOnce(Arc<dyn Store>) -> BoxFuture<'static, ()>) {
        let folder = tempfile::tempdir().expect("a folder");
        drive(contract, Sqlite::open(folder.path().join("admit.db"), Options::default()).expect("a database"));
    }
    admit_app::store_suite!(super::run);
}
