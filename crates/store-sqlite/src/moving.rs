//! The embedded database as one side of a move (`admit migrate-store`): everything in one transaction.

use std::path::Path;

use admit_app::error::{Error, Result};
use admit_app::ports::ReadOp;
use admit_core::ids::{EventId, OrganizationId};
use admit_store_queries::block_index::BlockIndex;
use admit_store_queries::contents::HISTORY;
use admit_store_queries::moving::{Catalog, Column, Side, Table, quoted};
use admit_store_queries::value::{Kind, Value};
use admit_store_queries::{directory, run_read};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::connect;
use crate::driver::{Bind, SqliteDriver, meaning};
use crate::options::Options;

/// A database in a file, with one open transaction. Dropping it without a commit rolls back.
pub struct SqliteSide {
    conn: Connection,
    options: Options,
    index: BlockIndex,
}

fn failed(what: &str) -> impl Fn(rusqlite::Error) -> Error {
    move |error| meaning(what, &error).0
}

impl SqliteSide {
    /// Opens the source of a move. It is neither migrated nor changed.
    pub fn source(path: &Path) -> Result<Self> {
        let conn = connect::checkpointer(path)?;
        connect::pragma(&conn, "query_only", "ON", "1")?;
        Self::begun(conn, "BEGIN")
    }
    /// Opens the target of a move: creates it if it is missing, and migrates it.
    pub fn target(path: &Path) -> Result<Self> {
        Self::begun(connect::writer(Some(path), &Options::default())?, "BEGIN IMMEDIATE")
    }
    fn begun(conn: Connection, begin: &str) -> Result<Self> {
        // A table without a key is sorted as a whole. SQLite sorts it on disk, since it may be larger than the memory.
        connect::pragma(&conn, "temp_store", "FILE", "1")?;
        conn.execute_batch(begin).map_err(failed("begin"))?;
        Ok(Self { conn, options: Options::default(), index: BlockIndex::default() })
    }
    fn driver(&self) -> SqliteDriver<'_> {
        SqliteDriver::new(&self.conn, &self.options, &self.index, false, None)
    }
    fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let rows = self.conn.prepare(sql).and_then(|mut statement| statement.query_map(params, read)?.collect());
        rows.map_err(failed("reading the schema"))
    }
    fn texts(&self, sql: &str) -> Result<Vec<String>> {
        self.rows(sql, [], |row| row.get(0))
    }
    fn migrations(&self) -> Result<Vec<(i64, String)>> {
        let there = self.rows("SELECT name FROM sqlite_schema WHERE name = ?1", [HISTORY], |_| Ok(()))?;
        if there.is_empty() {
            return Err(Error::invalid("", "the database was not made by Admit: it has no history of migrations"));
        }
        let sql = format!("SELECT version, name FROM {HISTORY} ORDER BY version");
        self.rows(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }
    fn table(&self, name: &str) -> Result<Table> {
        let sql = "SELECT name, type, \"notnull\" = 0, pk, hidden FROM pragma_table_xinfo(?1) ORDER BY cid";
        let described = self.rows(sql, [name], |row| {
            let column: (String, String, bool, i64, i64) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
            Ok(column)
        })?;
        let (mut columns, mut key) = (Vec::new(), Vec::new());
        for (column, of, nullable, place, hidden) in described {
            let kind = match of.as_str() {
                "INTEGER" => Kind::Int,
                "TEXT" => Kind::Text,
                "BLOB" => Kind::Blob,
                _ => return Err(unknown(name, &column, &of)),
            };
            if hidden != 0 {
                return Err(unknown(name, &column, "generated"));
            }
            if place > 0 {
                key.push((place, column.clone()));
            }
            columns.push(Column { name: column, kind, nullable });
        }
        key.sort();
        let key = key.into_iter().map(|(_, name)| name).collect();
        let refers = "SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(?1)";
        let refers_to = self.rows(refers, [name], |row| row.get(0))?;
        Ok(Table { name: name.to_owned(), columns, key, owned: false, refers_to })
    }
}

fn unknown(table: &str, column: &str, what: &str) -> Error {
    Error::Bug(format!("a move does not know what to do with the column {table}.{column} ({what})"))
}

/// A stored value without any change. Text that is not UTF-8 is an error, since a repaired copy would differ.
fn value(table: &Table, value: ValueRef<'_>) -> Result<Value<'static>> {
    Ok(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Blob(bytes) => bytes.to_vec().into(),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned().into(),
            Err(_) => return Err(Error::invalid("", format!("a text in {} is no UTF-8", table.name))),
        },
        ValueRef::Real(_) => return Err(unknown(&table.name, "?", "a fraction")),
    })
}

impl Side for SqliteSide {
    fn catalog(&mut self) -> Result<Catalog> {
        let names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                     ORDER BY name";
        let names = self.texts(names)?;
        if !self.texts("SELECT name FROM sqlite_schema WHERE name = 'sqlite_sequence'")?.is_empty() {
            return Err(Error::Bug("a move does not know what to do with a sequence".into()));
        }
        let tables =
            names.iter().filter(|name| *name != HISTORY).map(|name| self.table(name)).collect::<Result<_>>()?;
        Ok(Catalog { migrations: self.migrations()?, tables })
    }
    fn count(&mut self, table: &Table) -> Result<u64> {
        let sql = format!("SELECT COUNT(*) FROM {}", quoted(&table.name));
        let count = self.conn.query_row(&sql, [], |row| row.get::<_, i64>(0));
        count.map(i64::cast_unsigned).map_err(failed("counting"))
    }
    fn each(&mut self, table: &Table, see: &mut dyn FnMut(Vec<Value<'static>>) -> Result<()>) -> Result<()> {
        let order = table.order().join(", ");
        let sql = format!("SELECT {} FROM {} ORDER BY {order}", table.names(), quoted(&table.name));
        let mut statement = self.conn.prepare(&sql).map_err(failed("reading"))?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(failed("reading"))? {
            let mut values = Vec::with_capacity(table.columns.len());
            for place in 0..table.columns.len() {
                values.push(value(table, row.get_ref(place).map_err(failed("reading"))?)?);
            }
            see(values)?;
        }
        Ok(())
    }
    fn insert(&mut self, table: &Table, rows: &[Vec<Value<'static>>]) -> Result<()> {
        let marks = vec!["?"; table.columns.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", quoted(&table.name), table.names());
        let mut statement = self.conn.prepare_cached(&sql).map_err(failed("writing"))?;
        for row in rows {
            statement.execute(rusqlite::params_from_iter(row.iter().map(Bind))).map_err(failed("writing"))?;
        }
        Ok(())
    }
    fn clear(&mut self, table: &Table) -> Result<()> {
        let sql = format!("DELETE FROM {}", quoted(&table.name));
        self.conn.execute(&sql, []).map(|_| ()).map_err(failed("clearing"))
    }
    /// The number of other Admit processes that use this database: always 0. A process that serves a data folder holds
    /// the folder's lock, so a move cannot begin beside it.
    fn others(&mut self) -> Result<u64> {
        Ok(0)
    }
    fn setting(&mut self, name: &str) -> Result<Option<String>> {
        directory::setting(&mut self.driver(), name)
    }
    fn organizations(&mut self) -> Result<Vec<OrganizationId>> {
        directory::organizations(&mut self.driver())
    }
    fn all_events(&mut self) -> Result<Vec<(OrganizationId, EventId)>> {
        directory::all_events(&mut self.driver())
    }
    fn read(&mut self, organization_id: &OrganizationId, op: ReadOp) -> Result<()> {
        run_read(&mut self.driver(), organization_id, op)
    }
    fn commit(&mut self) -> Result<()> {
        self.conn.execute_batch("COMMIT").map_err(failed("commit"))
    }
    fn roll_back(&mut self) {
        // If this fails, SQLite rolls back by itself.
        self.conn.execute_batch("ROLLBACK").unwrap_or_default();
    }
}
