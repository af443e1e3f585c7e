//! Tests of PostgreSQL alone: its roles, its settings, its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use admit_app::ports::{Prefetch, write};
use admit_app::records::{IncidentRecord, IncidentStatus, NewDelivery};
use admit_app::store_suite::devices::device;
use admit_app::store_suite::fixture::*;
use admit_app::store_suite::states;
use admit_core::incident::IncidentKind;
use admit_core::occupancy::Occupancy;
use admit_core::reduce::{EffectiveScan, LeftOut, ScanVerdict};
use admit_store_queries::driver::RunFor;
use admit_store_queries::{bulks, statements};
use futures_util::FutureExt as _;

use super::*;
use crate::testing::{Server, run_sql, shared};

mod idle;
mod nodes;
mod prepared;

fn options() -> Options {
    Options { writers: 3, readers: 2, require_fsync: false, ..Options::default() }
}
fn drive<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
}
fn open(address: &str) -> TestStore {
    Arc::new(Postgres::open(address, options()).unwrap())
}
async fn stamp(store: &TestStore) -> Result<u64> {
    on_event(store, |tx| tx.stamp(&id("e")).map(|stamp| stamp.serial)).await
}

#[test]
fn facts_can_be_neither_changed_nor_removed() {
    let address = shared().database();
    let store = open(&address);
    drive(async {
        with_event(&store).await;
        with_scans(&store, vec![scan("e", "s1", "t1")]).await;
    });
    for change in ["UPDATE scan_blocks SET position = 9", "DELETE FROM scan_blocks", "TRUNCATE scan_blocks"] {
        let sql = format!("SELECT set_config('app.organization_id', 'o', false); {change}");
        let error = run_sql(&address, &sql).unwrap_err();
        let error = error.as_db_error().map(|error| error.message().to_owned()).unwrap_or_default();
        assert!(error.contains("facts are insert-only"), "{change}: {error}");
    }
    for table in ["rules", "audit", "batches", "rejected", "scan_blocks", "deliveries", "reviews"] {
        let count = format!(
            "DO $$ BEGIN ASSERT (SELECT COUNT(*) = 2 FROM pg_trigger WHERE tgrelid = '{table}'::regclass AND NOT tgisinternal); END $$"
        );
        run_sql(&address, &count).unwrap();
    }
}

#[test]
fn every_table_but_six_is_closed_to_other_organizations() {
    let address = shared().database();
    open(&address);
    let open_tables = "DO $$ DECLARE found TEXT; BEGIN
        SELECT string_agg(relname::text, ' ' ORDER BY relname) INTO found FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND NOT (relrowsecurity AND relforcerowsecurity);
        ASSERT found = 'credentials epochs job_queue mail_lane pairing_requests refinery_schema_history settings users', found; END $$";
    run_sql(&address, open_tables).unwrap();
}

#[test]
fn the_database_itself_keeps_organizations_apart() {
    let address = shared().database();
    let store = open(&address);
    drive(async {
        with_event(&store).await;
        with_organization(&store, "p").await;
    });
    let mut driver = connect::connect(&connect::address(&address).unwrap()).unwrap();
    let count =
        |driver: &mut PgDriver, table: &str| driver.show(&format!("SELECT COUNT(*)::text FROM {table}")).unwrap();
    assert_eq!(count(&mut driver, "events"), "0", "nothing is seen before it is said for whom");
    driver.begin("BEGIN");
    driver.run_for(RunFor::Organization(&id("p"))).unwrap();
    assert_eq!((count(&mut driver, "events"), count(&mut driver, "organizations")), ("0".into(), "1".into()));
    driver.run_for(RunFor::Organization(&id("o"))).unwrap();
    assert_eq!(count(&mut driver, "events"), "1");
    driver.run_for(RunFor::EveryOrganization).unwrap();
    assert_eq!((count(&mut driver, "events"), count(&mut driver, "organizations")), ("1".into(), "2".into()));
    let forged = driver.batch("INSERT INTO gates VALUES ('p', 'e', 'north', 1)");
    assert!(forged.unwrap_err().to_string().contains("row-level security"));
    driver.roll_back();
    assert_eq!(count(&mut driver, "organizations"), "0", "what was said ends with the transaction");
}

#[test]
fn a_statement_that_forgets_its_organization_finds_nothing_of_another() {
    let address = shared().database();
    let store = open(&address);
    drive(async {
        with_event(&store).await;
        with_organization(&store, "p").await;
        with_tickets(&store, &["t1"]).await;
        with_scans(&store, vec![scan("e", "s1", "t1")]).await;
        let found = vec![(states::state("ticket:t1", 1), vec![states::verdict("s1", "t1")])];
        on_event(&store, move |tx| tx.put_states(&id("e"), &found)).await.unwrap();
    });
    let look = |whose: &str, assertion: &str| {
        format!(
            "SELECT set_config('app.organization_id', '{whose}', false);
            DO $$ DECLARE name TEXT; many BIGINT; full_ones BIGINT := 0; BEGIN
                FOR name IN SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                    WHERE relkind = 'r' AND relrowsecurity AND attname = 'organization_id' LOOP
                    EXECUTE format('SELECT COUNT(*) FROM %I', name) INTO many;
                    {assertion}
                    full_ones := full_ones + (many > 0)::int;
                END LOOP;
                ASSERT full_ones >= CASE '{whose}' WHEN 'o' THEN 8 ELSE 3 END, full_ones::text;
            END $$"
        )
    };
    run_sql(&address, &look("o", "")).unwrap();
    // The other organisation has its own row, its head and its owner, and nothing of the first.
    run_sql(
        &address,
        &look("p", "ASSERT many = 0 OR name IN ('organizations', 'organization_heads', 'members'), name;"),
    )
    .unwrap();
    run_sql(&address, &look("p", "ASSERT many <= 1, name;")).unwrap();
}

#[test]
fn with_tls_demanded_the_connection_speaks_it() {
    let server = Server::start_with_tls();
    let address = server.database();
    let host = |mode: &str| format!("{} {mode}", server.by_network(&address));
    let in_use = |mode: &str| {
        let mut driver = connect::connect(&connect::address(&host(mode)).unwrap()).unwrap();
        driver.show("SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()").unwrap()
    };
    let authority = format!("sslmode=verify-full sslrootcert={}", server.certificate().display());
    assert_eq!(in_use("sslmode=disable"), "false");
    for mode in ["", "sslmode=prefer", "sslmode=require", &authority] {
        assert_eq!(in_use(mode), "true", "{mode}");
    }
    let refused = Postgres::open(&host("sslmode=verify-full"), options()).err().unwrap();
    assert!(matches!(&refused, Error::Invalid { .. }), "a certificate of nobody known: {refused:?}");
    let store: TestStore = Arc::new(Postgres::open(&host(&authority), options()).unwrap());
    drive(async {
        with_event(&store).await;
        assert_eq!(stamp(&store).await, Ok(1));
    });
    let refused = Postgres::open(&format!("{} sslmode=require", shared().database()), options()).err().unwrap();
    assert!(matches!(&refused, Error::Invalid { .. }), "a socket: {refused:?}");
}

#[test]
fn a_change_that_fails_late_fails_its_own_write_alone() {
    let store = open(&shared().database());
    drive(async {
        with_event(&store).await;
        with_scans(&store, vec![scan("e", "known", "t1")]).await;
        // Many writes run at once, so that some share a transaction with the one whose insert the database refuses.
        let writes = (0..40).map(|n| {
            let store = store.clone();
            async move {
                on_event(&store, move |tx| {
                    let stamp = tx.stamp(&id("e"))?;
                    let name = if n % 8 == 3 { "known".to_owned() } else { format!("s{n}") };
                    tx.insert_scans(&[new_scan(scan("e", &name, "t1"), stamp.serial)])
                })
                .await
            }
        });
        let results = futures_util::future::join_all(writes).await;
        for (n, result) in results.into_iter().enumerate() {
            if n % 8 == 3 {
                assert_ne!(conflict(result), "");
            } else {
                assert_eq!(result, Ok(()), "{n}");
            }
        }
        let listed = look(&store, |tx| tx.scans(&id("e"), &Default::default(), &page(100))).await.items;
        assert_eq!(listed.len(), 36);
        assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 36, "no place was lost");
    });
}

#[test]
fn an_identifier_with_a_quote_is_just_an_identifier() {
    let store = open(&shared().database());
    drive(async {
        let name = "o';DROP--\\";
        with_organization(&store, name).await;
        make_event(&store, name, event("e", 1)).await;
        let found = admit_app::ports::read(&*store, &id(name), |tx| tx.event(&id("e"))).await.unwrap();
        assert!(found.is_some());
    });
}

#[test]
fn a_superuser_or_an_unsafe_server_is_refused() {
    let server = shared();
    let address = server.database();
    let refused = |address: &str, options: Options, word: &str| {
        let error = Postgres::open(address, options).err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    };
    refused(&server.as_superuser(&address), options(), "superuser");
    refused(&address, Options { require_fsync: true, ..options() }, "fsync");
    let name = address.rsplit('=').next().unwrap().to_owned();
    server.admin(&format!("ALTER DATABASE {name} SET synchronous_commit = off"));
    refused(&address, options(), "synchronous_commit");
    server.admin(&format!("ALTER DATABASE {name} RESET synchronous_commit"));
    server.admin("CREATE ROLE sees_all LOGIN BYPASSRLS");
    refused(&address.replace("user=admit", "user=sees_all"), options(), "BYPASSRLS");
    refused("nonsense", options(), "DATABASE_URL");
    Postgres::open(&address, options()).unwrap();
}

#[test]
fn two_nodes_at_once_share_one_order() {
    let address = shared().database();
    let nodes: Vec<TestStore> = std::thread::scope(|scope| {
        let opening: Vec<_> = (0..2).map(|_| scope.spawn(|| open(&address))).collect();
        opening.into_iter().map(|node| node.join().unwrap()).collect()
    });
    drive(async {
        with_event(&nodes[0]).await;
        let writes = (0..60).map(|n| stamp(&nodes[n % 2]));
        let mut serials: Vec<u64> =
            futures_util::future::join_all(writes).await.into_iter().map(Result::unwrap).collect();
        serials.sort_unstable();
        assert_eq!(serials, (1..=60).collect::<Vec<u64>>());
        assert_eq!(nodes[0].epoch().await.unwrap(), nodes[1].epoch().await.unwrap());
    });
}

#[test]
fn a_server_that_restarts_loses_nothing_that_was_acknowledged() {
    let server = Server::start(true);
    let store: TestStore =
        Arc::new(Postgres::open(&server.database(), Options { writers: 2, readers: 1, ..Options::default() }).unwrap());
    drive(async {
        with_event(&store).await;
        assert_eq!(stamp(&store).await, Ok(1));
    });
    server.stop();
    let down = drive(stamp(&store));
    assert!(matches!(down, Err(Error::Later { code: "store_unavailable", .. })), "{down:?}");
    server.start_again();
    drive(async {
        assert_eq!(stamp(&store).await, Ok(2), "the lane connects again by itself");
        assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 2);
    });
}

#[test]
fn an_operation_whose_connection_is_cut_runs_again_once() {
    let server = shared();
    let address = server.database();
    let store = open(&address);
    let name = address.rsplit('=').next().unwrap().to_owned();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    drive(async {
        with_event(&store).await;
        let serial = write(&*store, scope("o", "e"), move |tx| {
            let stamp = tx.stamp(&id("e"))?;
            if counted.fetch_add(1, Ordering::Relaxed) == 0 {
                shared()
                    .admin(&format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"));
            }
            tx.insert_gate(&id("e"), &id("north"), at(1))?;
            Ok(stamp.serial)
        })
        .await;
        assert_eq!(serial, Ok(1));
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        assert_eq!(look(&store, |tx| tx.gate_ids(&id("e"))).await, [id("north")]);
    });
}

fn open_incident(ticket: &str) -> IncidentRecord {
    IncidentRecord {
        incident_id: id(ticket),
        event_id: id("e"),
        kind: IncidentKind::DoubleEntry,
        severity: IncidentKind::DoubleEntry.severity(),
        subject_key: format!("ticket:{ticket}"),
        digest: [1; 32],
        cause: "{}".into(),
        status: IncidentStatus::Open,
        resolved_digest: None,
        resolution: None,
        opened_at: at(1),
        updated_at: at(1),
        serial: 1,
    }
}

#[test]
fn no_lookup_of_a_batch_reads_all_of_an_event() {
    let address = shared().database();
    let store = open(&address);
    drive(async {
        with_event(&store).await;
        let names: Vec<String> = (0..2_000).map(|n| format!("t{n}")).collect();
        with_tickets(&store, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        with_scans(&store, names.iter().map(|name| scan("e", &format!("s-{name}"), name)).collect()).await;
        let found = |name: &String| {
            let waits =
                ScanVerdict { left_out: Some(LeftOut::Unverified), ..states::verdict(&format!("s-{name}"), name) };
            let mut state = states::state(&format!("ticket:{name}"), 1);
            // So many scans that the judgement stands outside the block.
            let first = state.effective[0].clone();
            state
                .effective
                .extend((0..200).map(|n| EffectiveScan { scan_id: id(&format!("{name}-{n}")), ..first.clone() }));
            (state, vec![waits])
        };
        let found: Vec<_> = names.iter().map(found).collect();
        let again = |name: &String| {
            let fact = new_scan(scan("e", &format!("s-{name}"), name), 2).fact;
            NewDelivery { fact, serial: 2, carrier: id("d7") }
        };
        let again: Vec<_> = names.iter().map(again).collect();
        let open: Vec<_> = names.iter().map(|name| open_incident(name)).collect();
        on_event(&store, move |tx| {
            tx.insert_deliveries(&again)?;
            tx.put_incidents(&open)?;
            tx.put_states(&id("e"), &found)
        })
        .await
        .unwrap();
    });
    // The state of a lane without statistics about this organisation or event.
    let mut driver = connect::writer(&connect::address(&address).unwrap()).unwrap();
    driver.batch("SET app.organization_id = 'o'").unwrap();
    let hot = [
        ("CODES_OF_TICKETS", "'o', 'e', ARRAY['t1']"),
        ("BLOCKS_AT", "'o', 'e', ARRAY[16384::bigint]"),
        ("BLOCKS_FROM", "'o', 'e', 16384, 256"),
        ("BLOCKS_OF_LOG", "'o', 'd1', 'l1', 1, 2"),
        ("DELIVERIES", "'o', ARRAY['s1']"),
        ("FIND_CODES", "'o', 'e', ARRAY['x'::bytea]"),
        ("DELETE_WAITING", "'o', 'e', ARRAY['ticket:t1']"),
        ("TICKET_RULES", "'o', 'e', ARRAY['t1']"),
        ("INCIDENTS_OF", "'o', 'e', ARRAY['ticket:t1']"),
        ("STATES_AT", "'o', 'e', ARRAY[1048576::bigint]"),
        ("STATES_FROM", "'o', 'e', 1048576, 256"),
        ("LONG_JUDGEMENTS", "'o', 'e', ARRAY['ticket:t1']"),
        ("RUNS_OF_SUBJECT", "'o', 1, 'r', NULL, NULL, 1, 'g'"),
    ];
    for (name, values) in hot {
        let stmt = statements().find(|stmt| stmt.name == name).map(|stmt| stmt.postgres());
        let sql = stmt.or_else(|| bulks().find(|bulk| bulk.name == name).map(|bulk| bulk.postgres())).unwrap();
        driver.batch(&format!("PREPARE {name} AS {sql}")).unwrap();
        let look = format!(
            "DO $look$ DECLARE line TEXT; plan TEXT := ''; wide BOOLEAN := false; BEGIN
                FOR line IN EXECUTE $q$EXPLAIN EXECUTE {name}({values})$q$ LOOP
                    plan := plan || chr(10) || line;
                    wide := wide OR line LIKE '%Seq Scan%'
                        OR line ~ 'Index Cond: \\(*organization_id = [^=]*(AND \\(event_id = [^=]*)?$';
                END LOOP; ASSERT NOT wide, plan; END $look$"
        );
        driver.batch(&look).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// The store reads and stores the rows of writes that share a transaction together. Each write must still see what
/// those before it did: a ticket's state, what is stored under a scan's id, the counters.
#[test]
fn each_of_many_writes_sees_those_before_it() {
    let store = open(&shared().database());
    drive(async {
        with_event(&store).await;
        with_tickets(&store, &["t0", "t1", "t2"]).await;
        let writes = (0..40).map(|n| {
            let (store, ticket) = (store.clone(), format!("t{}", n % 3));
            let key = format!("ticket:{ticket}");
            let scan_id = format!("s{}", n % 20);
            let prefetch = Prefetch {
                scans: vec![id("e")],
                codes: vec![code(&ticket)],
                devices: vec![id("d1")],
                ..Prefetch::default()
            };
            let scope = Scope { prefetch, ..scope("o", "e") };
            async move {
                write(&*store, scope, move |tx| {
                    let stamp = tx.stamp(&id("e"))?;
                    let known = tx.stored_ids(&id("e"), &[id(&scan_id)])?;
                    if known.is_empty() {
                        tx.insert_scans(&[new_scan(scan("e", &scan_id, &ticket), stamp.serial)])?;
                    }
                    let before = tx.states(&id("e"), std::slice::from_ref(&key))?.pop();
                    assert_eq!(tx.resolve_codes(&id("e"), &[code(&ticket)])?[0].scanned, before.is_some());
                    let mut next = before.clone().unwrap_or_else(|| states::state(&key, 0));
                    next.serial = stamp.serial;
                    next.state.within += u32::from(before.is_some());
                    let verdicts = vec![states::verdict(&scan_id, &ticket)];
                    match before {
                        Some(_) => tx.put_states(&id("e"), &[(next, verdicts)])?,
                        None => tx.insert_states(&id("e"), &[(next, verdicts)])?,
                    }
                    tx.add_occupancy(&id("e"), &Occupancy { entered: 1, ..Occupancy::default() }, stamp.serial)?;
                    let counted = if n % 7 == 0 { Some(tx.occupancy(&id("e"))?.entered) } else { None };
                    Ok((stamp.serial, known.is_empty(), counted))
                })
                .await
                .unwrap()
            }
        });
        let mut told = futures_util::future::join_all(writes).await;
        told.sort_unstable();
        let places: Vec<u64> = told.iter().map(|(serial, ..)| *serial).collect();
        assert_eq!(places, (1..=40).collect::<Vec<u64>>());
        assert_eq!(told.iter().filter(|(_, first, _)| *first).count(), 20, "each id was new to one of two");
        assert!(told.iter().all(|(serial, _, counted)| counted.is_none_or(|counted| counted as u64 == *serial)));
        let states = look(&store, states::all_states).await;
        assert_eq!(states.iter().map(|state| state.state.within).collect::<Vec<_>>(), [14, 13, 13]);
        assert_eq!(look(&store, |tx| tx.occupancy(&id("e"))).await.entered, 40);
        let changed = look(&store, |tx| tx.changed_tickets(&id("e"), (0, None), 1_000, 10)).await;
        assert_eq!(changed.len(), 3, "each ticket is told of");
    });
}

/// The store looks up the keys of all waiting reads together. Each read gets only the answers for its own keys.
#[test]
fn each_of_many_reads_is_told_of_its_own() {
    let store = open(&shared().database());
    drive(async {
        with_event(&store).await;
        for n in 0..5 {
            let device = device(&format!("d{n}"), n);
            on_event(&store, move |tx| tx.insert_device(&device)).await.unwrap();
        }
        let reads = (0..60).map(|n| {
            let (store, name) = (store.clone(), format!("d{}", n % 6));
            async move {
                let prefetch = Prefetch { devices: vec![id(&name)], ..Prefetch::default() };
                let organization_id = id("o");
                let found = admit_app::ports::read_prefetching(&*store, &organization_id, prefetch, {
                    let device_id = id(&name);
                    move |tx| if n % 10 == 9 { Err(Error::not_found("it")) } else { tx.device(&device_id) }
                });
                (n, name, found.await)
            }
        });
        for (n, name, found) in futures_util::future::join_all(reads).await {
            match found {
                Err(error) => assert_eq!((n % 10, error), (9, Error::not_found("it"))),
                Ok(device) => assert_eq!(device.map(|device| device.device_id), (n % 6 < 5).then(|| id(&name))),
            }
        }
        let secrets = futures_util::future::join_all((0..40).map(|n| store.credential([n; 32]))).await;
        assert!(secrets.into_iter().all(|found| found == Ok(None)));
    });
}

#[test]
fn a_long_answer_nobody_waited_for_does_not_stop_the_connection() {
    let address = shared().database();
    let (done, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut driver = connect::connect(&connect::address(&address).unwrap()).unwrap();
        // The answer comes in more pieces than the connection keeps for an answer that nobody takes.
        driver.send_text("LONG", "SELECT repeat('x', 1000) FROM generate_series(1, 1000)".to_owned());
        let _ = done.send(driver.show("SELECT 'after'::text"));
    });
    let told = told.recv_timeout(std::time::Duration::from_secs(30));
    assert_eq!(told.expect("the connection stands still"), Ok("after".to_owned()));
}

/// The commands of docs/operations.md "Backup" and "Restore", word for word.
#[test]
fn a_dump_by_the_backup_role_brings_back_every_row_and_every_guard() {
    let server = shared();
    let address = server.database();
    let name = address.rsplit('=').next().unwrap().to_owned();
    server.admin("CREATE ROLE admit_backup LOGIN BYPASSRLS");
    server.admin("GRANT pg_read_all_data TO admit_backup");
    let dump = server.folder().join("..").join(format!("admit-dump-{}", std::process::id()));
    let taken = |user: &str| {
        let by = address.replace("user=admit", &format!("user={user}"));
        server.tool("pg_dump").args(["--format=custom", "--file"]).arg(&dump).arg(by).output().unwrap()
    };
    let store = open(&address);
    drive(async {
        with_event(&store).await;
        with_scans(&store, vec![scan("e", "kept", "t1")]).await;
    });
    let refused = taken("admit");
    assert!(!refused.status.success(), "Admit's own role sees one organisation at a time: its dump would be empty");
    assert!(taken("admit_backup").status.success());
    drive(async { with_scans(&store, vec![scan("e", "lost", "t1")]).await });
    drop(store);
    let restored = server
        .tool("pg_restore")
        .args(["--clean", "--if-exists", "--single-transaction", "--exit-on-error", "--no-owner", "--dbname", &address])
        .arg(&dump)
        .output()
        .unwrap();
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    std::fs::remove_file(&dump).unwrap();
    let store = open(&address);
    drive(async {
        let listed = look(&store, |tx| tx.scans(&id("e"), &Default::default(), &page(9))).await.items;
        assert_eq!(listed.iter().map(|one| one.fact.scan.scan_id.as_str()).collect::<Vec<_>>(), ["kept"]);
        with_scans(&store, vec![scan("e", "after", "t1")]).await;
    });
    let guarded = "SELECT set_config('app.organization_id', 'o', false); DELETE FROM scan_blocks";
    assert!(run_sql(&address, guarded).is_err(), "facts are insert-only as before");
    let apart = "SELECT set_config('app.organization_id', 'p', false);
        DO $$ BEGIN ASSERT (SELECT COUNT(*) FROM scan_blocks) = 0; END $$";
    run_sql(&address, apart).unwrap_or_else(|error| panic!("{name}: organisations are apart as before: {error}"));
}

/// S2 §9 "Connection pool: never exhausted". All writes wait in one bounded queue. If the queue is full, a new write is
/// told at once to retry, and all waiting writes are executed.
#[test]
fn ten_thousand_writes_wait_and_the_next_is_told_to_come_again() {
    let address = shared().database();
    let store = open(&address);
    drive(async {
        with_event(&store).await;
        let (begins, begun) = std::sync::mpsc::channel();
        let (lets_go, held) = std::sync::mpsc::channel::<()>();
        let (begins, held) = (std::sync::Mutex::new(begins), std::sync::Mutex::new(held));
        let mut first = Box::pin(on_event(&store, move |_| {
            begins.lock().unwrap().send(()).unwrap();
            held.lock().unwrap().recv().unwrap();
            Ok(0)
        }));
        assert!((&mut first).now_or_never().is_none());
        begun.recv().unwrap();
        let mut waiting: Vec<_> =
            (0..lanes::QUEUE).map(|n| Box::pin(on_event(&store, move |_| Ok(n as u64)))).collect();
        assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
        let refused = on_event(&store, |_| Ok(0)).await;
        assert!(matches!(refused, Err(Error::Later { code: "store_busy", .. })), "{refused:?}");
        lets_go.send(()).unwrap();
        assert_eq!(first.await, Ok(0));
        for (n, one) in waiting.into_iter().enumerate() {
            assert_eq!(one.await, Ok(n as u64));
        }
        assert_eq!(on_event(&store, |_| Ok(7)).await, Ok(7), "there is room again");
    });
}

/// S2 §6 "Database timeout". A write that waits too long for a lock of another program is told to retry and stores
/// nothing, and its next try succeeds. The test takes the ten seconds of the lock timeout.
#[test]
fn s2_6_a_lock_that_is_held_too_long_is_told_as_busy_and_the_next_try_goes_through() {
    let address = shared().database();
    let store = open(&address);
    let gate = || {
        drive(on_event(&store, |tx| {
            tx.stamp(&id("e"))?;
            tx.insert_gate(&id("e"), &id("north"), at(1)).map(|()| 0)
        }))
    };
    drive(with_event(&store));
    // No code of ours holds a lock so long. The test plays another program with an unfinished transaction.
    let mut stranger = connect::connect(&connect::address(&address).unwrap()).unwrap();
    stranger.batch("BEGIN; LOCK TABLE event_heads IN EXCLUSIVE MODE").unwrap();
    let refused = gate();
    assert!(matches!(refused, Err(Error::Later { code: "store_busy", .. })), "{refused:?}");
    assert_eq!(drive(look(&store, |tx| tx.gate_ids(&id("e")))), []);
    stranger.batch("ROLLBACK").unwrap();
    assert_eq!(gate(), Ok(0));
    assert_eq!(drive(look(&store, |tx| tx.gate_ids(&id("e")))), [id("north")]);
}

/// A step that is being stored locks the row of its run. A renewal of several leases at that moment must skip this row.
/// Otherwise the renewal would wait for this row while it holds locks on other rows.
#[test]
fn a_renewal_waits_for_no_step_that_is_being_stored() {
    let address = shared().database();
    let store = open(&address);
    drive(async {
        admit_app::store_suite::jobs::with_runs(&store, &["r1", "r2"]).await;
        assert_eq!(store.take_runs("node".into(), 0, 2).await.unwrap().len(), 2);
    });
    let mut step = connect::connect(&connect::address(&address).unwrap()).unwrap();
    step.batch("BEGIN; SELECT 1 FROM job_queue WHERE run_id = 'r1' FOR UPDATE; SET LOCAL lock_timeout = 0").unwrap();
    drive(async {
        let renewal = store.renew_runs("node".into(), vec!["r1".into(), "r2".into()], 60_000);
        let in_time = tokio::time::timeout(std::time::Duration::from_secs(5), renewal).await;
        assert_eq!(in_time.ok(), Some(Ok(())), "it waited for the step");
    });
    step.batch("ROLLBACK").unwrap();
    let due = drive(store.take_runs("other".into(), 0, 2)).unwrap();
    assert_eq!(due.iter().map(|run| run.run_id.as_str()).collect::<Vec<_>>(), ["r1"], "r2 was renewed");
}
