//! The whole content of a database as text, for tests that prove that nothing changed.

#![allow(clippy::expect_used, reason = "a test that cannot read what is stored fails, loudly")]

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// Every row of every table in a file, as committed now: the table's name, a space, the row's values. The lines are
/// sorted. Panics if the file cannot be read.
pub fn rows(path: &Path) -> Vec<String> {
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the database opens");
    let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    let mut names = conn.prepare(names).expect("the tables are listed");
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).and_then(Iterator::collect).expect("the tables are listed");
    let mut all = Vec::new();
    for name in names {
        let mut statement = conn.prepare(&format!("SELECT * FROM \"{name}\"")).expect("the table is read");
        let columns = statement.column_count();
        let line = |row: &rusqlite::Row<'_>| {
            let values =
                (0..columns).map(|at| row.get_ref(at).map(|value| text(&value))).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("{name} {}", values.join(" | ")))
        };
        let lines = statement.query_map([], line).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        all.extend(lines.expect("the table is read"));
    }
    all.sort();
    all
}

fn text(value: &rusqlite::types::ValueRef<'_>) -> String {
    match value {
        rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        rusqlite::types::ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        other => format!("{other:?}"),
    }
}
