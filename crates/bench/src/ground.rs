//! The database that the measurements start from. It has one event so large that no measurement scans a ticket twice,
//! on each store. A run makes it once and copies it for every measurement.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use admit_core::barcode::BarcodeHash;
use admit_store_postgres::testing;
use anyhow::{Context, Result, ensure};

use crate::list::Random;
use crate::organiser::{Listed, Organiser, Place, listed};
use crate::run::{Run, Store};
use crate::seed::copy_folder;
use crate::server::{Account, Data, Server};

/// Tickets: 32 phones upload 10,000 each, after their first batches.
const TICKETS: usize = 330_000;

/// A database as it is before the doors open, with the ids and codes that it holds.
#[derive(Debug)]
pub struct Ground {
    store: Store,
    data: Data,
    /// The owner's account.
    pub account: Account,
    /// The event and its only gate.
    pub place: Place,
    /// The event's tickets, with their codes.
    pub tickets: Vec<Listed>,
}

/// The PostgreSQL server of this run. It ends with this process.
pub fn postgres() -> &'static testing::Server {
    static SERVER: OnceLock<testing::Server> = OnceLock::new();
    SERVER.get_or_init(|| testing::Server::start(true))
}

impl Ground {
    /// Gives this process's database for a store. The first call makes it.
    pub fn of(run: &Run, store: Store) -> Result<&'static Ground> {
        static MADE: [OnceLock<Ground>; 2] = [OnceLock::new(), OnceLock::new()];
        let held = &MADE[store as usize];
        if held.get().is_none() {
            let made = Ground::make(run, store)?;
            return Ok(held.get_or_init(|| made));
        }
        held.get().context("made a moment ago")
    }

    fn make(run: &Run, store: Store) -> Result<Ground> {
        eprintln!("   making the event to scan at, {store}");
        let folder = run.fresh_folder(&format!("ground-{store}"))?;
        let database_url = (store == Store::Postgres).then(|| postgres().database());
        let data = Data { folder, database_url };
        let account = Server::found(run, &data)?;
        let server = Server::serve_on(run, &data)?;
        let mut organiser = Organiser::sign_in(&server, &account)?;
        let place = organiser.event("A large event")?;
        let codes = organiser.import(&place, run.scaled(TICKETS, 30_000))?;
        let phone = organiser.pair(&place, 1)?.remove(0);
        let mut tickets = listed(&server, &phone)?;
        server.stop()?;
        let by_hash: BTreeMap<String, String> =
            codes.into_iter().map(|code| (BarcodeHash::of(&code).to_string(), code)).collect();
        for ticket in &mut tickets {
            ticket.code = by_hash.get(&ticket.barcode_hash).cloned();
        }
        // The list is in order of the codes' hashes, and guests do not come in that order.
        let mut random = Random(5);
        for place in (1..tickets.len()).rev() {
            tickets.swap(place, random.below(place + 1));
        }
        ensure!(tickets.iter().all(|ticket| ticket.code.is_some()), "the list names codes that nobody imported");
        Ok(Ground { store, data, account, place, tickets })
    }

    /// Copies the database for one measurement, which may change the copy. Replaces an earlier copy of the same name.
    pub fn copy(&self, run: &Run, name: &str) -> Result<Data> {
        let name = format!("{name}-{}", self.store);
        let folder: PathBuf = run.fresh_folder(&name)?;
        let Some(url) = &self.data.database_url else {
            copy_folder(&self.data.folder, &folder)?;
            return Ok(Data { folder, database_url: None });
        };
        let template = url.rsplit_once("dbname=").context("an address without a database")?.1;
        let copy = format!("{}_copy", name.to_lowercase().replace('-', "_"));
        postgres().admin(&format!("DROP DATABASE IF EXISTS {copy} WITH (FORCE)"));
        postgres().admin(&format!("CREATE DATABASE {copy} TEMPLATE {template} OWNER admit STRATEGY FILE_COPY"));
        Ok(Data { folder, database_url: Some(url.replace(template, &copy)) })
    }

    /// Deletes a copy, because it may be large.
    pub fn drop_copy(&self, data: &Data) -> Result<()> {
        if let Some((_, database)) = data.database_url.as_ref().and_then(|url| url.rsplit_once("dbname=")) {
            postgres().admin(&format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)"));
        }
        std::fs::remove_dir_all(&data.folder).with_context(|| format!("removing {}", data.folder.display()))
    }
}
