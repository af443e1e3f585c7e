//! Tests of connections that were lost while idle.

use admit_app::store_suite::fixture::*;

use super::{drive, open};
use crate::testing::shared;

/// A read without prefetch keys sends no query before its closure is consumed. It too must find out in time that its
/// connection is gone.
#[test]
fn a_read_finds_out_that_its_connection_went_while_nobody_used_it() {
    let server = shared();
    let address = server.database();
    let store = open(&address);
    let name = address.rsplit('=').next().unwrap().to_owned();
    drive(async {
        with_event(&store).await;
        for _ in 0..4 {
            look(&store, |tx| tx.gate_ids(&id("e"))).await;
            server.admin(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"));
            assert_eq!(look(&store, |tx| tx.gate_ids(&id("e"))).await, []);
        }
    });
}
