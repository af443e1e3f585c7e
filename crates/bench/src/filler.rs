//! Fills a database with scans that no phone uploads: copies, under other ids, of the scans that phones uploaded first.
//! It writes the copies straight into the tables. Ids and codes are spread over the whole range of each key. So later
//! scans meet blocks and index trees as large as if phones had uploaded every scan.

use std::time::Instant;

use admit_core::barcode::BarcodeHash;
use admit_core::block::{self, CHECK_BYTES, Kept};
use admit_core::sign::content_digest;
use admit_store_queries::state_codec::{self, Entry};
use anyhow::{Context, Result, anyhow, ensure};
use rusqlite::{Connection, params};
use tokio_postgres::NoTls;

use crate::ground::postgres;
use crate::row::number;
use crate::run::Store;
use crate::server::Data;

/// The most blocks that one write can store. A block's position is the serial of its write times this number, plus the
/// block's number in the write.
const PARTS: i64 = 1 << 14;

/// The same for blocks of states.
const STATE_PARTS: i64 = 1 << 20;

/// A block of the scans that phones uploaded first, with the columns of its row that a copy repeats.
struct First {
    organization_id: String,
    event_id: String,
    device_id: String,
    carrier: Option<String>,
    seqs: (Option<i64>, Option<i64>),
    kept: Vec<Kept>,
}

/// A row of `scan_blocks`.
struct Copied<'f> {
    first: &'f First,
    position: i64,
    log_id: Option<String>,
    checksum: i64,
    block: Vec<u8>,
}

impl First {
    /// Copies the block and gives every id and hash in it another beginning: its first four hexadecimal digits become
    /// `mark`.
    fn copy(&self, mark: u16, serial: i64) -> Result<Copied<'_>> {
        let mut kept = self.kept.clone();
        let marked = |id: &str| format!("{mark:04x}{}", id.get(4..).unwrap_or_default());
        for one in &mut kept {
            let scan = &mut one.fact.scan;
            scan.scan_id = marked(scan.scan_id.as_str()).parse()?;
            scan.log_id = scan.log_id.as_ref().map(|log_id| marked(log_id.as_str()).parse()).transpose()?;
            if let Some(BarcodeHash(hash)) = &mut scan.barcode_hash {
                hash[..2].copy_from_slice(&mark.to_be_bytes());
            }
            one.fact.digest = content_digest(scan);
        }
        let block = block::write(&kept)?;
        Ok(Copied {
            first: self,
            position: serial * PARTS,
            log_id: kept[0].fact.scan.log_id.as_ref().map(ToString::to_string),
            checksum: check(&block)?,
            block,
        })
    }
}

/// A block of the states that the first scans left.
struct FirstStates {
    organization_id: String,
    event_id: String,
    entries: Vec<Entry>,
}

/// A row of `state_blocks`.
struct CopiedStates<'f> {
    first: &'f FirstStates,
    position: i64,
    checksum: i64,
    block: Vec<u8>,
}

impl FirstStates {
    /// The block with the mark as the first digits of each ticket's id.
    fn copy(&self, mark: u16, serial: i64) -> Result<CopiedStates<'_>> {
        let mut entries = self.entries.clone();
        for entry in &mut entries {
            let id = entry.subject.strip_prefix("ticket:").context("a first scan is of a ticket")?;
            entry.subject = format!("ticket:{mark:04x}{}", id.get(4..).unwrap_or_default());
        }
        let block = state_codec::write(&entries).map_err(|error| anyhow!("{error}"))?;
        Ok(CopiedStates { first: self, position: serial * STATE_PARTS, checksum: check(&block)?, block })
    }
}

/// Fills a database with copies of the first scans.
pub struct Filler {
    store: Store,
    /// The number of scans that each copy has.
    pub base: usize,
    blocks: Vec<First>,
    states: Vec<FirstStates>,
    /// The serial of the newest write.
    serial: i64,
}

// The columns that a copy repeats. tidy-allow: rows are copied as they are
const FIRST: &str = "SELECT organization_id, event_id, device_id, carrier, first_seq, last_seq, block FROM scan_blocks ORDER BY position";
// tidy-allow: rows are copied as they are
const SERIAL: &str = "SELECT MAX(serial) FROM event_heads";
// tidy-allow: rows are copied as they are
const FIRST_STATES: &str = "SELECT organization_id, event_id, block FROM state_blocks ORDER BY position";

impl Filler {
    /// Reads the first `base` scans and their states.
    pub fn of(store: Store, data: &Data, base: usize) -> Result<Filler> {
        let (blocks, states) = match store {
            Store::Sqlite => {
                let conn = open(data)?;
                (sqlite_blocks(&conn)?, sqlite_states(&conn)?)
            }
            Store::Postgres => {
                on_postgres(data, async |client| Ok((postgres_blocks(client).await?, postgres_states(client).await?)))?
            }
        };
        let found: usize = blocks.iter().map(|block: &First| block.kept.len()).sum();
        let stated: usize = states.iter().map(|block: &FirstStates| block.entries.len()).sum();
        ensure!(found == base && stated == base, "{found} scans and {stated} states of {base} are stored");
        Ok(Filler { store, base, blocks, states, serial: 0 })
    }

    /// Fills the database up to `point` scans, or until `deadline`. Gives the number of scans then stored.
    pub fn fill(&mut self, data: &Data, stored: usize, point: usize, deadline: Instant) -> Result<usize> {
        eprintln!("   filling {} to {} scans", self.store, number(point as f64));
        let sqlite = (self.store == Store::Sqlite).then(|| open(data)).transpose()?;
        // The server has written since the last fill.
        self.serial = match &sqlite {
            Some(conn) => conn.query_row(SERIAL, [], |row| row.get(0))?,
            None => on_postgres(data, async |client| Ok(client.query_one(SERIAL, &[]).await?.get(0)))?,
        };
        let mut stored = stored;
        while stored < point && Instant::now() < deadline {
            // The number is multiplied, so that copies lie apart in the key.
            let mark = ((stored / self.base) * 40_503 % 65_536) as u16;
            let serials = self.serial + 1..;
            let copies: Vec<Copied<'_>> = self
                .blocks
                .iter()
                .zip(serials)
                .map(|(block, serial)| block.copy(mark, serial))
                .collect::<Result<_>>()?;
            let states = self.states.iter().zip(self.serial + 1..);
            let states: Vec<CopiedStates<'_>> =
                states.map(|(block, serial)| block.copy(mark, serial)).collect::<Result<_>>()?;
            let newest = self.serial + copies.len().max(states.len()) as i64;
            // tidy-allow: rows are copied as they are
            let rest = format!("UPDATE event_heads SET serial = {newest}");
            match &sqlite {
                Some(conn) => into_sqlite(conn, &copies, &states, &rest)?,
                None => on_postgres(data, async |client| into_postgres(client, &copies, &states, &rest).await)?,
            }
            self.serial = newest;
            stored += self.base;
        }
        match sqlite {
            Some(conn) => conn.close().map_err(|(_, error)| error).context("closing the filled database")?,
            None => postgres().admin("CHECKPOINT"),
        }
        Ok(stored)
    }
}

/// The checksum in a copied block's row: the last bytes of the block. The server computes its own checksums also from
/// the block before.
fn check(block: &[u8]) -> Result<i64> {
    let check: [u8; CHECK_BYTES] = block.last_chunk().copied().context("a block ends in its check")?;
    Ok(i64::from_be_bytes(check))
}

fn read_states(block: &[u8]) -> Result<Vec<Entry>> {
    state_codec::read(block).map_err(|error| anyhow!("reading a block of the first states: {error}"))
}
fn read_blocks(block: &[u8]) -> Result<Vec<Kept>> {
    block::read(block).context("reading a block of the first scans")
}

/// Opens the database file without durability, to fill it fast. A crash would only lose this measurement.
fn open(data: &Data) -> Result<Connection> {
    let conn = Connection::open(data.folder.join("admit.db"))?;
    conn.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; PRAGMA temp_store = MEMORY")?;
    Ok(conn)
}

fn sqlite_blocks(conn: &Connection) -> Result<Vec<First>> {
    let mut asked = conn.prepare(FIRST)?;
    let mut rows = asked.query([])?;
    let mut blocks = Vec::new();
    while let Some(row) = rows.next()? {
        blocks.push(First {
            organization_id: row.get(0)?,
            event_id: row.get(1)?,
            device_id: row.get(2)?,
            carrier: row.get(3)?,
            seqs: (row.get(4)?, row.get(5)?),
            kept: read_blocks(&row.get::<_, Vec<u8>>(6)?)?,
        });
    }
    Ok(blocks)
}

fn sqlite_states(conn: &Connection) -> Result<Vec<FirstStates>> {
    let mut asked = conn.prepare(FIRST_STATES)?;
    let mut rows = asked.query([])?;
    let mut blocks = Vec::new();
    while let Some(row) = rows.next()? {
        let entries = read_states(&row.get::<_, Vec<u8>>(2)?)?;
        blocks.push(FirstStates { organization_id: row.get(0)?, event_id: row.get(1)?, entries });
    }
    Ok(blocks)
}

fn into_sqlite(conn: &Connection, copies: &[Copied<'_>], states: &[CopiedStates<'_>], rest: &str) -> Result<()> {
    conn.execute_batch("BEGIN")?;
    let mut insert = conn.prepare_cached(
        // tidy-allow: rows are copied as they are
        "INSERT INTO scan_blocks (organization_id, event_id, position, device_id, log_id, first_seq, last_seq, withheld, carrier, checksum, block)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?10)",
    )?;
    for Copied { first, position, log_id, checksum, block } in copies {
        let First { organization_id, event_id, device_id, carrier, seqs, .. } = first;
        insert.execute(params![
            organization_id,
            event_id,
            position,
            device_id,
            log_id,
            seqs.0,
            seqs.1,
            carrier,
            checksum,
            block
        ])?;
    }
    let mut insert = conn.prepare_cached(
        // tidy-allow: rows are copied as they are
        "INSERT INTO state_blocks (organization_id, event_id, position, checksum, block) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for CopiedStates { first, position, checksum, block } in states {
        insert.execute(params![first.organization_id, first.event_id, position, checksum, block])?;
    }
    Ok(conn.execute_batch(&format!("{rest}; COMMIT"))?)
}

/// Runs `work` on a connection of a superuser. The product's own role sees only one organisation at a time.
fn on_postgres<T>(data: &Data, work: impl AsyncFnOnce(&tokio_postgres::Client) -> Result<T>) -> Result<T> {
    let address = postgres().as_superuser(data.database_url.as_ref().context("a database of its own")?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&address, NoTls).await?;
        tokio::spawn(connection);
        work(&client).await.context("filling PostgreSQL")
    })
}

async fn postgres_blocks(client: &tokio_postgres::Client) -> Result<Vec<First>> {
    let rows = client.query(FIRST, &[]).await?;
    let first = |row: &tokio_postgres::Row| {
        Ok(First {
            organization_id: row.get(0),
            event_id: row.get(1),
            device_id: row.get(2),
            carrier: row.get(3),
            seqs: (row.get(4), row.get(5)),
            kept: read_blocks(row.get(6))?,
        })
    };
    rows.iter().map(first).collect()
}

async fn postgres_states(client: &tokio_postgres::Client) -> Result<Vec<FirstStates>> {
    let rows = client.query(FIRST_STATES, &[]).await?;
    let first = |row: &tokio_postgres::Row| {
        Ok(FirstStates { organization_id: row.get(0), event_id: row.get(1), entries: read_states(row.get(2))? })
    };
    rows.iter().map(first).collect()
}

async fn into_postgres(
    client: &tokio_postgres::Client,
    copies: &[Copied<'_>],
    states: &[CopiedStates<'_>],
    rest: &str,
) -> Result<()> {
    client.batch_execute("SET synchronous_commit = off; BEGIN").await?;
    let texts = |of: fn(&First) -> &str| copies.iter().map(|copy| of(copy.first)).collect::<Vec<&str>>();
    let numbers = |of: fn(&Copied<'_>) -> Option<i64>| copies.iter().map(of).collect::<Vec<Option<i64>>>();
    // tidy-allow: rows are copied as they are
    let insert = "INSERT INTO scan_blocks (organization_id, event_id, device_id, carrier, position, first_seq, last_seq, checksum, log_id, block, withheld) SELECT *, 0 FROM UNNEST($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::bytea[])";
    let logs: Vec<Option<&str>> = copies.iter().map(|copy| copy.log_id.as_deref()).collect();
    let blocks: Vec<&[u8]> = copies.iter().map(|copy| copy.block.as_slice()).collect();
    client
        .execute(
            insert,
            &[
                &texts(|first| &first.organization_id),
                &texts(|first| &first.event_id),
                &texts(|first| &first.device_id),
                &copies.iter().map(|copy| copy.first.carrier.as_deref()).collect::<Vec<Option<&str>>>(),
                &numbers(|copy| Some(copy.position)),
                &numbers(|copy| copy.first.seqs.0),
                &numbers(|copy| copy.first.seqs.1),
                &numbers(|copy| Some(copy.checksum)),
                &logs,
                &blocks,
            ],
        )
        .await?;
    // tidy-allow: rows are copied as they are
    let insert = "INSERT INTO state_blocks (organization_id, event_id, position, checksum, block) SELECT * FROM UNNEST($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bytea[])";
    client
        .execute(
            insert,
            &[
                &states.iter().map(|copy| copy.first.organization_id.as_str()).collect::<Vec<&str>>(),
                &states.iter().map(|copy| copy.first.event_id.as_str()).collect::<Vec<&str>>(),
                &states.iter().map(|copy| copy.position).collect::<Vec<i64>>(),
                &states.iter().map(|copy| copy.checksum).collect::<Vec<i64>>(),
                &states.iter().map(|copy| copy.block.as_slice()).collect::<Vec<&[u8]>>(),
            ],
        )
        .await?;
    Ok(client.batch_execute(&format!("{rest}; COMMIT")).await?)
}
