//! Prints how many scans per second are stored on a server with every commit on the disk. Run with `--ignored
//! --nocapture`.

use std::sync::Arc;
use std::time::Instant;

use admit_app::store_suite::throughput::intake;
use admit_store_postgres::{Options, Postgres, testing::Server};

#[test]
#[ignore = "a measurement, not a check"]
fn scans_a_second() {
    let server = Server::start(true);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for (batches, size, at_once) in [(30, 1_000, 8), (3, 10_000, 3), (600, 1, 200)] {
        let store = Postgres::open(&server.database(), Options::default()).expect("a database");
        let mut begun = Instant::now();
        let count = runtime.block_on(intake(Arc::new(store), batches, size, at_once, || begun = Instant::now()));
        let rate = count as f64 / begun.elapsed().as_secs_f64();
        println!("{batches} batches of {size}, {at_once} at once: {rate:.0} scans/s");
    }
}
