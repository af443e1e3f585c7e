//! Tests of the journal file of a terminal scanner.

use admit_core::wire::engine::Row;
use admit_store_sqlite::journal::{AppendError, DeviceJournal};
use rusqlite::Connection;

fn row(n: u64, text: &str) -> Row {
    Row { n, text: text.to_owned() }
}

#[test]
fn what_was_appended_is_there_after_a_start_and_rows_never_leave_a_hole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("door.journal");
    let (mut journal, found) = DeviceJournal::open(&path).unwrap();
    assert!(found.rows.is_empty() && found.bodies.is_empty());
    journal.append(&[row(1, "a"), row(2, "b")]).unwrap();
    assert_eq!(journal.append(&[row(4, "d")]), Err(AppendError::OutOfStep));
    assert_eq!(journal.append(&[row(3, "c"), row(5, "e")]), Err(AppendError::OutOfStep));
    journal.append(&[row(3, "c")]).unwrap();
    journal.save("list", b"one").unwrap();
    journal.save("list", b"two").unwrap();
    journal.set("server", "https://tickets.example.org").unwrap();
    drop(journal);
    let (mut journal, found) = DeviceJournal::open(&path).unwrap();
    assert_eq!(found.rows, [row(1, "a"), row(2, "b"), row(3, "c")]);
    assert_eq!(found.bodies, [("list".to_owned(), b"two".to_vec())]);
    assert_eq!(journal.setting("server").unwrap().as_deref(), Some("https://tickets.example.org"));
    // A purge replaces all rows before it by one row, and the numbers continue.
    assert!(journal.purge(&row(9, "sum")).is_err());
    journal.purge(&row(2, "sum")).unwrap();
    journal.append(&[row(4, "d")]).unwrap();
    journal.wipe().unwrap();
    drop(journal);
    let (_, found) = DeviceJournal::open(&path).unwrap();
    assert_eq!(found.rows, [row(2, "sum"), row(3, "c"), row(4, "d")]);
    assert!(found.bodies.is_empty());
}

#[cfg(unix)]
#[test]
fn only_its_owner_may_read_it_and_another_database_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("door.journal");
    let (mut journal, _) = DeviceJournal::open(&path).unwrap();
    journal.append(&[row(1, "a")]).unwrap();
    for file in [path.clone(), folder.path().join("door.journal-wal")] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let other = folder.path().join("admit.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE scans (id)").unwrap();
    let said = DeviceJournal::open(&other).unwrap_err().to_string();
    assert!(said.contains("something else"), "{said}");
}
