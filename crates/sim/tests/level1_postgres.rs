//! Level 1 on PostgreSQL ends as on SQLite: with the same trace, and the same bytes in every row of every table. The
//! variable `ADMIT_SIM_POSTGRES_SEEDS` sets the number of seeds (500 with `ADMIT_LONG`). The variable `ADMIT_SIM_FROM`
//! sets the first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use admit_app::error::Result;
use admit_app::ports::Store;
use admit_sim::store_factory::{FIRST_EPOCH, Hooks, StoreBehind};
use admit_sim::{Options, Outcome, Place, regressions, run_seed, run_seed_in};
use admit_store_postgres::testing::{self, Server};
use admit_store_postgres::{Options as StoreOptions, Postgres};
use admit_store_queries::contents::Contents;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

/// Seeds that once ended differently on PostgreSQL: the answer to an injected fault named another pause.
const ONCE_DIFFERENT: [u64; 1] = [316];

/// The databases that no seed uses now.
static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The database of one seed while it runs.
struct Private {
    server: &'static Server,
    address: String,
    store: Postgres,
}

impl Drop for Private {
    fn drop(&mut self) {
        FREE.lock().expect("the list").push(std::mem::take(&mut self.address));
    }
}

/// A store on an empty database with the present schema.
fn private(hooks: Hooks) -> Result<Box<dyn StoreBehind>> {
    let server = testing::shared();
    let options =
        StoreOptions { inline: true, require_fsync: false, first_epoch: Some(FIRST_EPOCH), ..Default::default() };
    let free = FREE.lock().expect("the list").pop();
    let address = match free {
        Some(address) => {
            server.put_back(&address, "empty");
            address
        }
        None => {
            let address = server.database();
            Postgres::open(&address, options.clone())?;
            server.keep(&address, "empty");
            address
        }
    };
    let options = StoreOptions {
        clock: Some(hooks.clock),
        before_commit: Some(hooks.before_commit),
        before_statement: Some(hooks.before_statement),
        ..options
    };
    let store = Postgres::open(&address, options)?;
    Ok(Box::new(Private { server, address, store }))
}

impl StoreBehind for Private {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }
    fn crash(&mut self) -> Result<()> {
        self.store.crash();
        Ok(())
    }
    fn backup(&mut self) -> Result<()> {
        self.server.keep(&self.address, "backup");
        Ok(())
    }
    fn restore(&mut self) -> Result<()> {
        self.store.crash();
        self.server.put_back(&self.address, "backup");
        Ok(())
    }
    fn contents(&self) -> Result<Contents> {
        Ok(self.server.contents(&self.address))
    }
}

/// Runs a seed on both stores, and gives the differences in the order of the run.
fn differences(seed: u64) -> Vec<String> {
    let options = Options { keep_trace: true, ..Options::default() };
    let place = Place { build: &private, open: None };
    let (embedded, other): (Outcome, Outcome) = (run_seed(1, seed, &options), run_seed_in(1, seed, &options, &place));
    let mut out = Vec::new();
    for (place, (first, second)) in embedded.trace.iter().zip(&other.trace).enumerate() {
        if first != second {
            out.push(format!("line {place} of the trace\n  SQLite:     {first}\n  PostgreSQL: {second}"));
            break;
        }
    }
    if (embedded.trace.len(), embedded.trace_hash) != (other.trace.len(), other.trace_hash) && out.is_empty() {
        out.push(format!("traces of {} and {} lines", embedded.trace.len(), other.trace.len()));
    }
    let violations = |outcome: &Outcome| format!("{:?}", outcome.violations);
    if violations(&embedded) != violations(&other) || embedded.coverage != other.coverage {
        out.push(format!("SQLite: {embedded}\nPostgreSQL: {other}"));
    }
    assert!(embedded.contents.tables().any(|(_, rows)| !rows.is_empty()), "something is stored");
    out.extend(embedded.contents.differences(&other.contents).into_iter().take(20));
    out
}

#[test]
fn a_seed_comes_to_the_same_bytes_on_both_stores() {
    let seeds =
        number("ADMIT_SIM_POSTGRES_SEEDS").unwrap_or(if std::env::var_os("ADMIT_LONG").is_some() { 500 } else { 12 });
    let from = number("ADMIT_SIM_FROM").unwrap_or(0);
    let (next, found) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let all: Vec<u64> = regressions(1).into_iter().chain(ONCE_DIFFERENT).chain(from..from + seeds).collect();
    std::thread::scope(|scope| {
        // Most of a seed's time is spent between two processes, so more threads than processors run.
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(seed) = all.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let differs = differences(*seed);
                    if !differs.is_empty() {
                        println!("seed {seed}:\n{}", differs.join("\n"));
                        found.lock().expect("the list").push(*seed);
                    }
                }
            });
        }
    });
    let found = found.into_inner().expect("the list");
    assert!(found.is_empty(), "of {} seeds these differ: {found:?}", all.len());
    println!("{} seeds, the same on both stores", all.len());
}
