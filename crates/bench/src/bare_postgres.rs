//! The raw limit of PostgreSQL: each transaction inserts and updates one batch, passed column by column.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use tokio_postgres::{Client, NoTls, Statement};

use crate::bare::{STATE, ids};
use crate::ground::postgres;
use crate::list::Random;
use crate::organiser::Listed;

// The columns and the key of the real table, without its indices, triggers and checks.
const SCHEMA: &str = "
  -- tidy-allow: the bare limit is no store of ours
  CREATE TABLE scans (
    organization_id TEXT NOT NULL, scan_id TEXT NOT NULL, device_id TEXT NOT NULL, digest BYTEA NOT NULL,
    event_id TEXT NOT NULL, barcode_hash BYTEA, serial BIGINT NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (organization_id, scan_id, device_id, digest)
  );
  -- tidy-allow: the bare limit is no store of ours
  CREATE TABLE tickets (
    organization_id TEXT NOT NULL, ticket_id TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (organization_id, ticket_id)
  );";
// tidy-allow: the bare limit is no store of ours
const FILL: &str = "INSERT INTO tickets SELECT $1, ticket_id, '' FROM UNNEST($2::text[]) ticket_id";
// tidy-allow: the bare limit is no store of ours
const INSERT: &str = "INSERT INTO scans SELECT $1, scan_id, $2, digest, $3, digest, $4, content
  FROM UNNEST($5::text[], $6::bytea[], $7::text[]) found (scan_id, digest, content)";
// tidy-allow: the bare limit is no store of ours
const UPDATE: &str = "UPDATE tickets SET state = $2 WHERE organization_id = $1 AND ticket_id = ANY($3)";

/// One batch, column by column.
struct Columns<'a> {
    scan_ids: Vec<&'a str>,
    digests: Vec<&'a [u8]>,
    contents: Vec<&'a str>,
    ticket_ids: Vec<&'a str>,
}

/// Measures bare PostgreSQL in scans per second, with `phones` connections at once and `per_transaction` scans per
/// transaction.
pub fn rate(tickets: &[Listed], items: &[String], per_transaction: usize, phones: usize) -> Result<f64> {
    ensure!(tickets.len() >= items.len(), "each scan has a ticket of its own");
    let address = postgres().database();
    let rows = ids(items);
    let all: Vec<_> = tickets.iter().zip(items).zip(&rows).map(|((ticket, item), row)| (ticket, item, row)).collect();
    let batches: Vec<Columns<'_>> = all
        .chunks(per_transaction)
        .map(|chunk| Columns {
            scan_ids: chunk.iter().map(|(_, _, (scan_id, _))| scan_id.as_str()).collect(),
            digests: chunk.iter().map(|(_, _, (_, digest))| digest.as_slice()).collect(),
            contents: chunk.iter().map(|(_, item, _)| item.as_str()).collect(),
            ticket_ids: chunk.iter().map(|(ticket, _, _)| ticket.ticket_id.as_str()).collect(),
        })
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let seconds = runtime.block_on(run(&address, tickets, &batches, phones))?;
    drop(runtime);
    let database = address.rsplit_once("dbname=").context("an address without a database")?.1;
    postgres().admin(&format!("DROP DATABASE {database} WITH (FORCE)"));
    Ok(items.len() as f64 / seconds)
}

/// Opens a new connection to the database at this address.
pub async fn connect(address: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

async fn run(address: &str, tickets: &[Listed], batches: &[Columns<'_>], phones: usize) -> Result<f64> {
    let mut random = Random(3);
    let (organization_id, device_id, event_id) = (random.uuid(), random.uuid(), random.uuid());
    let first = connect(address).await?;
    first.batch_execute(SCHEMA).await?;
    let ticket_ids: Vec<&str> = tickets.iter().map(|ticket| ticket.ticket_id.as_str()).collect();
    first.execute(FILL, &[&organization_id, &ticket_ids]).await?;
    first.batch_execute("ANALYZE").await?;
    let mut clients: Vec<(Client, Statement, Statement)> = Vec::new();
    for _ in 0..phones {
        let client = connect(address).await?;
        let (insert, update) = (client.prepare(INSERT).await?, client.prepare(UPDATE).await?);
        clients.push((client, insert, update));
    }
    let ids = [organization_id, device_id, event_id];
    let start = Instant::now();
    let senders = clients.iter_mut().enumerate().map(|(phone, (client, insert, update))| {
        let ids = &ids;
        async move {
            for (serial, batch) in batches.iter().enumerate().skip(phone).step_by(phones) {
                store(client, insert, update, ids, serial as i64, batch).await?;
            }
            Ok::<(), anyhow::Error>(())
        }
    });
    try_join_all(senders).await?;
    Ok(start.elapsed().as_secs_f64())
}

async fn store(
    client: &mut Client,
    insert: &Statement,
    update: &Statement,
    [organization_id, device_id, event_id]: &[String; 3],
    serial: i64,
    batch: &Columns<'_>,
) -> Result<()> {
    let work = client.transaction().await?;
    let Columns { scan_ids, digests, contents, ticket_ids } = batch;
    work.execute(insert, &[organization_id, device_id, event_id, &serial, scan_ids, digests, contents]).await?;
    work.execute(update, &[organization_id, &STATE, ticket_ids]).await?;
    Ok(work.commit().await?)
}
