//! Tests that prepare every statement on a real server.

use std::collections::BTreeSet;

use admit_store_queries::{bulks, statements};

use super::open;
use crate::connect;
use crate::testing::shared;

#[test]
fn every_statement_fits_the_schema() {
    let address = shared().database();
    open(&address);
    let mut driver = connect::connect(&connect::address(&address).unwrap()).unwrap();
    for stmt in statements() {
        let prepared = driver.try_prepare(stmt.name, stmt.postgres());
        prepared.unwrap_or_else(|error| panic!("{}: {error}\n{}", stmt.name, stmt.postgres()));
    }
    for bulk in bulks() {
        driver.try_prepare(bulk.name, bulk.postgres()).unwrap_or_else(|error| panic!("{}: {error}", bulk.name));
    }
}

/// The tables of a query decide which changes outdate its prefetched answer. The server itself knows which tables the
/// body of a function reads.
#[test]
fn every_question_says_which_tables_it_looks_at() {
    let address = shared().database();
    open(&address);
    let mut driver = connect::connect(&connect::address(&address).unwrap()).unwrap();
    let tables: BTreeSet<&str> = bulks().map(|bulk| bulk.table).collect();
    for stmt in statements().filter(|stmt| stmt.postgres().starts_with("SELECT ")) {
        let prepared = driver.try_prepare(stmt.name, stmt.postgres()).unwrap();
        let types: Vec<&str> = prepared.params().iter().map(|kind| kind.name()).collect();
        let (types, sql) = (types.join(", "), stmt.postgres());
        let body = format!("CREATE FUNCTION looks({types}) RETURNS void LANGUAGE sql BEGIN ATOMIC {sql}; END");
        driver.batch(&body).unwrap_or_else(|error| panic!("{}: {error}", stmt.name));
        let seen = driver
            .show(
                "SELECT coalesce(string_agg(DISTINCT relname::text, ' '), '') FROM pg_depend JOIN pg_class ON pg_class.oid = refobjid
                WHERE classid = 'pg_proc'::regclass AND objid = 'looks'::regproc AND refclassid = 'pg_class'::regclass",
            )
            .unwrap();
        driver.batch("DROP FUNCTION looks").unwrap();
        let seen: BTreeSet<&str> = seen.split(' ').filter(|name| tables.contains(name)).collect();
        let said: BTreeSet<&str> = tables.iter().copied().filter(|table| stmt.looks_at(table)).collect();
        assert_eq!(said, seen, "{}", stmt.name);
    }
}
