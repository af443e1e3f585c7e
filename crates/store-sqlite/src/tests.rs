//! Tests of SQLite alone: its settings, its schema, its faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use admit_app::error::{Error, Result};
use admit_app::ports::{read, write};
use admit_app::store_suite::fixture::*;
use admit_store_queries::block_index::BlockIndex;
use admit_store_queries::{bulks, statements};
use futures_util::FutureExt as _;

use super::*;

fn drive<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
}
fn later(code: &'static str, result: Result<u64>) {
    assert!(matches!(&result, Err(Error::Later { code: found, .. }) if *found == code), "{result:?}");
}
async fn stamp(store: &TestStore) -> Result<u64> {
    on_event(store, |tx| tx.stamp(&id("e")).map(|stamp| stamp.serial)).await
}

#[test]
fn every_statement_fits_the_schema() {
    let conn = connect::writer(None, &Options::inline()).unwrap();
    for stmt in statements() {
        let prepared = conn.prepare(stmt.sqlite());
        let prepared = prepared.unwrap_or_else(|error| panic!("{}: {error}", stmt.name));
        let numbers = (1..=prepared.parameter_count()).map(|n| format!("${n}"));
        assert!(numbers.into_iter().all(|n| stmt.sql.contains(&n)), "{}: a parameter number is left out", stmt.name);
    }
    for bulk in bulks() {
        conn.prepare(bulk.sqlite()).unwrap_or_else(|error| panic!("{}: {error}", bulk.name));
    }
}

/// Statements that may read all rows of an event or an organisation: lists, rebuilds, the manifest.
const WIDE: &[&str] = &[
    "UNERASED",
    "PAST_RETENTION",
    "ERASED_SERIAL",
    "KEPT_IMPORTS",
    "PRESENT_EPOCH",
    "LOCK_EPOCHS",
    "ORGANIZATION_IDS",
    "MEMBERS",
    "API_TOKENS",
    "DELETE_USER_CREDENTIALS",
    "EVENTS",
    "EVENTS_EXPECTED",
    "EVENTS_OPEN",
    "EVENT_IDS",
    "EVENT_EPOCHS",
    "GATE_IDS",
    "COUNT_TICKETS_OF_GATE",
    "GATE_HAS_FLOW",
    "ENTRY_TYPES",
    "GUEST_LISTS",
    "ALL_WAITING",
    "CLEAR_WAITING",
    "DELETE_FLOW",
    "MANIFEST_ROWS",
    "COUNT_TICKETS",
    "COUNT_PAIRING_REQUESTS",
    "TICKETS",
    "FOUND_TICKETS",
    "GUESTS_BY_NAME",
    "GUESTS_NEWEST",
    "FOUND_GUESTS",
    "COUNTED_GUESTS",
    "VOID_TICKETS",
    "COUNT_UNSENT",
    "COUNT_SENT",
    "NAMES_SERIAL",
    // Reads one entry at the end of the key.
    "NEWEST_BLOCK",
    "NEWEST_STATES",
    // A rebuild's.
    "DELETE_LONG_JUDGEMENTS",
    "INCIDENTS",
    "ALL_INCIDENTS",
    "DEVICES",
    "LOGS",
    "AUDIT",
    "AUDIT_FROM",
    // Once per hour this reads the organisation's own ledger backwards from its end, through the lines of the last
    // hour.
    "NEWEST_AUDIT",
    "COUNT_OPEN",
    "COUNT_DECIDED",
    "COUNT_QUARANTINED",
    "REVOKE_USER_API_TOKENS",
    "ANY_REVIEW",
    "OCCUPANCY_GATES",
    "DELETE_OCCUPANCY_GATES",
    // People make a recount only a few times per night.
    "RECOUNTS",
    "CLEAR_RECOUNTS",
    "KEYS",
    "IMPORTS",
];

#[test]
fn no_statement_of_a_write_reads_all_of_an_event() {
    let conn = connect::writer(None, &Options::inline()).unwrap();
    for stmt in statements().filter(|stmt| !WIDE.contains(&stmt.name)) {
        let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {}", stmt.sqlite())).unwrap();
        let mut rows = plan.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get("detail").unwrap();
            let scans_table = step.starts_with("SCAN") && !step.contains("CONSTANT ROW") && !step.contains("found");
            let by_event = step.ends_with("(organization_id=? AND event_id=?)");
            let one_row = ["events", "event_heads", "occupancy"]
                .iter()
                .any(|table| step.starts_with(&format!("SEARCH {table} ")));
            assert!(!scans_table && (!by_event || one_row), "{}: {step}", stmt.name);
        }
    }
}

#[test]
fn what_a_letter_asks_of_earlier_ones_is_found_by_its_guest() {
    let conn = connect::writer(None, &Options::inline()).unwrap();
    let stmt = statements().find(|stmt| stmt.name == "RUNS_OF_SUBJECT").unwrap();
    let plan: String = conn
        .query_row(&format!("EXPLAIN QUERY PLAN {}", stmt.sqlite()), rusqlite::params![1, 2, 3, 4, 5, 6, 7], |row| {
            row.get("detail")
        })
        .unwrap();
    assert!(plan.contains("INDEX runs_of_subject (organization_id=? AND subject=? AND "), "{plan}");
}

#[test]
fn decided_incidents_are_read_in_their_order() {
    let conn = connect::writer(None, &Options::inline()).unwrap();
    let stmt = statements().find(|stmt| stmt.name == "DECIDED_INCIDENTS").unwrap();
    let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {}", stmt.sqlite())).unwrap();
    let steps =
        plan.query_map(rusqlite::params![1, 2, 3, 4, 5, 6, 7, 8], |row| row.get::<_, String>("detail")).unwrap();
    let steps: Vec<String> = steps.map(|step| step.unwrap()).collect();
    assert!(steps.len() == 1 && steps[0].contains("INDEX incidents_decided"), "one page, no sorting: {steps:?}");
}

#[test]
fn facts_can_be_neither_changed_nor_removed() {
    let store: TestStore = Arc::new(Sqlite::memory(Options::inline()).unwrap());
    drive(async {
        with_event(&store).await;
        with_scans(&store, vec![scan("e", "s1", "t1")]).await;
    });
    let conn = connect::writer(None, &Options::inline()).unwrap();
    conn.execute_batch("INSERT INTO rejected VALUES ('o', 'e', 'd', NULL, NULL, NULL, 'r', 'b', 1)").unwrap();
    for change in ["UPDATE rejected SET reason = 'x'", "DELETE FROM rejected"] {
        let error = conn.execute_batch(change).unwrap_err().to_string();
        assert!(error.contains("facts are insert-only"), "{error}");
    }
    for table in ["rules", "audit", "batches", "rejected", "scan_blocks", "deliveries", "reviews"] {
        let query = "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1";
        let triggers: i64 = conn.query_row(query, [table], |row| row.get(0)).unwrap();
        assert_eq!(triggers, 2, "{table}");
    }
}

#[test]
fn what_was_acknowledged_is_there_after_opening_again_and_in_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("admit.db"), folder.path().join("copy.db"));
    {
        let sqlite = Sqlite::open(&path, Options::default()).unwrap();
        let store: TestStore = Arc::new(sqlite.clone());
        drive(async {
            with_event(&store).await;
            assert_eq!(stamp(&store).await, Ok(1));
        });
        sqlite.backup(&copy).unwrap();
        assert!(sqlite.backup(&copy).is_err(), "a backup never overwrites");
        assert_eq!(drive(stamp(&store)), Ok(2));
    }
    for (path, serial) in [(path, 2), (copy, 1)] {
        let store: TestStore = Arc::new(Sqlite::open(path, Options::default()).unwrap());
        assert_eq!(drive(look(&store, |tx| tx.head(&id("e")))).serial, serial);
    }
}

#[test]
fn a_database_that_cannot_keep_its_journal_is_refused() {
    let error = Sqlite::open("/nowhere/at/all/admit.db", Options::default()).err().unwrap();
    assert!(!matches!(error, Error::Conflict { .. }), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("not-a-database.db");
    std::fs::write(&path, vec![7_u8; 8_192]).unwrap();
    assert!(Sqlite::open(&path, Options::default()).is_err());
}

#[test]
fn a_lost_commit_leaves_nothing_and_a_lost_answer_leaves_everything() {
    let fault = Arc::new(std::sync::Mutex::new(CommitFault::Proceed));
    let asked = Arc::clone(&fault);
    let options = Options { before_commit: Some(Arc::new(move || *asked.lock().unwrap())), ..Options::inline() };
    let sqlite = Sqlite::memory(options).unwrap();
    let store: TestStore = Arc::new(sqlite.clone());
    drive(async {
        with_event(&store).await;
        *fault.lock().unwrap() = CommitFault::Lose;
        later("store_unavailable", stamp(&store).await);
        *fault.lock().unwrap() = CommitFault::Proceed;
        assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 0);
        *fault.lock().unwrap() = CommitFault::LostAck;
        later("store_unavailable", stamp(&store).await);
        *fault.lock().unwrap() = CommitFault::Proceed;
        assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 1);
        sqlite.crash().unwrap();
        assert_eq!(stamp(&store).await, Ok(2));
    });
}

#[test]
fn a_crash_between_any_two_statements_leaves_nothing() {
    let left = Arc::new(AtomicUsize::new(usize::MAX));
    let countdown = Arc::clone(&left);
    let hook = move |_: &'static str| {
        let now = countdown.load(Ordering::Relaxed);
        countdown.store(now.saturating_sub(1), Ordering::Relaxed);
        if now == 0 { StatementFault::Crash } else { StatementFault::Proceed }
    };
    let options = Options { before_statement: Some(Arc::new(hook)), ..Options::inline() };
    let sqlite = Sqlite::memory(options).unwrap();
    let store: TestStore = Arc::new(sqlite.clone());
    drive(async {
        with_event(&store).await;
        let write = || {
            on_event(&store, |tx| {
                let stamp = tx.stamp(&id("e"))?;
                tx.insert_tickets(&[ticket("e", "t1")])?;
                tx.insert_scans(&[new_scan(scan("e", "s1", "t1"), stamp.serial)])?;
                Ok(stamp.serial)
            })
        };
        let mut crashes = 0;
        loop {
            left.store(crashes, Ordering::Relaxed);
            let result = write().await;
            left.store(usize::MAX, Ordering::Relaxed);
            if result == Ok(1) {
                break;
            }
            later("store_unavailable", result);
            sqlite.crash().unwrap();
            assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 0, "crash {crashes}");
            assert_eq!(look(&store, |tx| tx.ticket(&id("t1"))).await, None);
            crashes += 1;
        }
        assert_eq!(crashes, 5, "heads, tickets, codes, scans, head");
    });
}

#[test]
fn an_older_image_is_put_back_whole() {
    let sqlite = Sqlite::memory(Options::inline()).unwrap();
    let store: TestStore = Arc::new(sqlite.clone());
    drive(async {
        with_event(&store).await;
        assert_eq!(stamp(&store).await, Ok(1));
        let image = sqlite.snapshot().unwrap();
        let epoch = store.epoch().await.unwrap();
        assert_eq!(stamp(&store).await, Ok(2));
        sqlite.restore(&image).unwrap();
        assert_eq!(look(&store, |tx| tx.head(&id("e"))).await.serial, 1);
        assert_eq!(store.epoch().await.unwrap(), epoch);
        assert_eq!(stamp(&store).await, Ok(2));
        let later = sqlite.snapshot().unwrap();
        sqlite.restore(&later).unwrap();
        assert_eq!(stamp(&store).await, Ok(3));
    });
}

/// Each seed of the simulator reuses the store of the seed before. Preparing every statement again would take a fourth
/// of a small seed's time.
#[test]
fn an_image_put_in_place_leaves_statements_prepared() {
    let full = Sqlite::memory(Options::inline()).unwrap();
    let store: TestStore = Arc::new(full.clone());
    drive(with_event(&store));
    let (full, empty) = (full.snapshot().unwrap(), Sqlite::memory(Options::inline()).unwrap().snapshot().unwrap());
    let mut memory = Memory::empty().unwrap();
    memory.put(&full).unwrap();
    let conn = memory.connect().unwrap();
    let mut events = conn.prepare("SELECT count(*) FROM events").unwrap();
    let mut count = || events.query_row([], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count(), 1);
    memory.put(&empty).unwrap();
    assert_eq!(count(), 0);
    memory.put(&full).unwrap();
    assert_eq!(count(), 1);
    assert_eq!(events.get_status(rusqlite::StatementStatus::RePrepare), 0);
}

#[test]
fn the_clock_of_the_simulator_orders_rules() {
    let options = Options { clock: Some(Arc::new(|| 5_000)), ..Options::inline() };
    let store: TestStore = Arc::new(Sqlite::memory(options).unwrap());
    drive(async {
        with_event(&store).await;
        let stamps = |store: TestStore| async move { on_event(&store, |tx| tx.stamp(&id("e"))).await.unwrap() };
        assert_eq!(stamps(store.clone()).await.effective_at, at(5_000));
        assert_eq!(stamps(store.clone()).await.effective_at, at(5_001));
        assert_eq!(store.now().await, Ok(at(5_000)));
        assert_eq!(store.epoch().await.unwrap().restored_at_ms, 5_000);
    });
}

#[test]
fn a_full_database_answers_so_and_works_again_by_itself() {
    let sqlite = Sqlite::memory(Options::inline()).unwrap();
    let store: TestStore = Arc::new(sqlite.clone());
    drive(async {
        with_event(&store).await;
        let pages = |limit: i64| {
            let writer = sqlite.inline().unwrap();
            writer.conn.query_row(&format!("PRAGMA max_page_count = {limit}"), [], |row| row.get::<_, i64>(0)).unwrap()
        };
        let used = pages(1);
        let fill = |n: usize| {
            let store = store.clone();
            async move {
                let many = (0..500).map(|i| scan("e", &format!("s{n}-{i}"), "t1"));
                let scans: Vec<_> = many.map(|scan| new_scan(scan, 1)).collect();
                on_event(&store, move |tx| tx.insert_scans(&scans).map(|()| 0)).await
            }
        };
        later("storage_full", fill(1).await);
        assert_eq!(look(&store, |tx| tx.scans(&id("e"), &Default::default(), &page(5))).await.items, []);
        assert!(pages(used + 100_000) > used);
        assert_eq!(fill(1).await, Ok(0));
    });
}

#[test]
fn of_a_group_that_sqlite_rolled_back_nobody_is_acknowledged() {
    let conn = connect::writer(None, &Options::default()).unwrap();
    let mut writer = Writer {
        conn,
        memory: None,
        options: Options::default(),
        stopped: false,
        books: Books::default(),
        index: BlockIndex::default(),
    };
    let ran = Arc::new(AtomicUsize::new(0));
    let job = |kills: bool| {
        let (reply, answer) = oneshot::channel();
        let ran = Arc::clone(&ran);
        let op: ServerOp = Box::new(move |driver| {
            directory::settle(driver, &format!("n{}", ran.fetch_add(1, Ordering::Relaxed)), "x")?;
            if kills {
                driver.roll_back_for_test();
                return Err(Error::Later { code: "storage_full", retry_after_ms: 1 });
            }
            Ok(())
        });
        (Job { work: Work::Server(op), spans: Default::default(), reply }, answer)
    };
    let (jobs, answers): (Vec<_>, Vec<_>) = [false, true, false].map(job).into_iter().unzip();
    let mut jobs = jobs.into_iter().peekable();
    while jobs.peek().is_some() {
        writer.run(&mut jobs);
    }
    let answers: Vec<Result<()>> = answers.into_iter().map(|mut answer| answer.try_recv().unwrap()).collect();
    assert!(answers[0].is_err() && answers[1].is_err(), "{answers:?}");
    assert_eq!(answers[2], Ok(()), "whoever had not begun gets a transaction of its own");
    let kept: i64 = writer.conn.query_row("SELECT COUNT(*) FROM settings", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
}

#[test]
fn a_store_that_stopped_answers_nothing_more_and_says_why_once() {
    let told = Arc::new(AtomicUsize::new(0));
    let teller = Arc::clone(&told);
    let on_stop: StopHook = Arc::new(move |_| {
        teller.fetch_add(1, Ordering::Relaxed);
    });
    let options = Options { on_stop: Some(on_stop), ..Options::inline() };
    let sqlite = Sqlite::memory(options).unwrap();
    let store: TestStore = Arc::new(sqlite.clone());
    drive(async {
        with_event(&store).await;
        // A commit inside the operation makes the group's own COMMIT fail with an error that is neither full nor busy.
        let broken = sqlite.server(true, |driver| {
            driver.commit_for_test();
            Ok(0_u64)
        });
        later("store_unavailable", broken.await);
        later("store_unavailable", stamp(&store).await);
        assert!(read(&*store, &id("o"), |tx| tx.members()).await.is_err());
        assert_eq!(told.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_reader_that_is_too_old_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { reader_limit: Duration::from_millis(50), readers: 1, ..Options::default() };
    let store: TestStore = Arc::new(Sqlite::open(folder.path().join("admit.db"), options).unwrap());
    drive(async {
        with_event(&store).await;
        let slow = read(&*store, &id("o"), |tx| {
            tx.members()?;
            std::thread::sleep(Duration::from_millis(120));
            tx.members()
        })
        .await;
        assert!(matches!(slow, Err(Error::Later { code: "read_too_long", .. })), "{slow:?}");
        assert_eq!(look(&store, |tx| tx.members()).await.len(), 1);
    });
}

#[test]
fn a_caller_that_leaves_cancels_nothing() {
    let store: TestStore = Arc::new(Sqlite::memory(Options::default()).unwrap());
    drive(async {
        with_event(&store).await;
        let begun = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&begun);
        let left = store.write_op(
            scope("o", "e"),
            Box::new(move |tx| {
                seen.store(true, Ordering::Relaxed);
                tx.stamp(&id("e")).map(|_| ())
            }),
        );
        drop(left);
        assert_eq!(stamp(&store).await, Ok(2));
        assert!(begun.load(Ordering::Relaxed));
    });
}

#[test]
fn text_with_a_nul_character_is_refused_as_the_other_store_must() {
    let store: TestStore = Arc::new(Sqlite::memory(Options::inline()).unwrap());
    drive(async {
        with_event(&store).await;
        let result = write(&*store, scope("o", "e"), |tx| tx.insert_guests(&[guest("e", "t1", "a\0b")]));
        assert!(matches!(result.await, Err(Error::Invalid { .. })));
    });
}

/// S2 §9 "Connection pool: never exhausted". All writes wait in one bounded queue. If the queue is full, a new write is
/// told at once to retry, and all waiting writes are executed.
#[test]
fn ten_thousand_writes_wait_and_the_next_is_told_to_come_again() {
    let folder = tempfile::tempdir().unwrap();
    let store: TestStore = Arc::new(Sqlite::open(folder.path().join("admit.db"), Options::default()).unwrap());
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
            (0..queue::QUEUE).map(|n| Box::pin(on_event(&store, move |_| Ok(n as u64)))).collect();
        assert!(waiting.iter_mut().all(|one| one.now_or_never().is_none()));
        let refused = on_event(&store, |_| Ok(0)).await;
        assert!(matches!(refused, Err(Error::Later { code: "store_unavailable", .. })), "{refused:?}");
        lets_go.send(()).unwrap();
        assert_eq!(first.await, Ok(0));
        for (n, one) in waiting.into_iter().enumerate() {
            assert_eq!(one.await, Ok(n as u64));
        }
        assert_eq!(on_event(&store, |_| Ok(7)).await, Ok(7), "there is room again");
    });
}

/// How often the journal was started again. SQLite counts it in the header.
fn begun_anew(journal: &std::path::Path) -> u32 {
    let mut header = [0; 16];
    std::io::Read::read_exact(&mut std::fs::File::open(journal).unwrap(), &mut header).unwrap();
    u32::from_be_bytes([header[12], header[13], header[14], header[15]])
}

/// If SQLite never started the journal at its beginning again, the journal would grow by tens of megabytes per second.
/// At last one commit would copy all of it back while all other writes wait.
#[test]
fn the_journal_is_begun_anew_while_writes_never_pause() {
    let folder = tempfile::tempdir().unwrap();
    let (path, journal) = (folder.path().join("admit.db"), folder.path().join("admit.db-wal"));
    let options = Options { journal_pages: 100, ..Options::default() };
    let store: TestStore = Arc::new(Sqlite::open(path, options).unwrap());
    drive(async {
        with_event(&store).await;
        let (first, writes) = (begun_anew(&journal), AtomicUsize::new(0));
        let callers = (0..8).map(|_| async {
            while begun_anew(&journal) == first && writes.fetch_add(1, Ordering::Relaxed) < 100_000 {
                stamp(&store).await.unwrap();
            }
        });
        futures_util::future::join_all(callers).await;
        assert!(begun_anew(&journal) > first, "after {writes:?} writes it is still the same");
    });
}

/// If the journal of a crashed process stayed in the folder, a server that crashes again and again would fill the disk
/// with it.
#[test]
fn a_journal_that_a_crash_left_is_folded_back_before_it_grows() {
    let (before, after) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let running: TestStore = Arc::new(Sqlite::open(before.path().join("admit.db"), Options::default()).unwrap());
    drive(with_event(&running));
    for name in ["admit.db", "admit.db-wal"] {
        std::fs::copy(before.path().join(name), after.path().join(name)).unwrap();
    }
    let journal = after.path().join("admit.db-wal");
    let left = begun_anew(&journal);
    let store: TestStore = Arc::new(Sqlite::open(after.path().join("admit.db"), Options::default()).unwrap());
    assert_eq!(drive(stamp(&store)), Ok(1));
    assert!(begun_anew(&journal) > left);
}
