//! An `admit serve` on a private PostgreSQL, with the demo's event in it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use admit_app::demo::{Seeded, seed};
use admit_app::secret::Secret;
use admit_server::{AppState, Settings};
use admit_store_postgres::{Options, Postgres};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::hammer::Hammer;
use crate::serving::Server;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

/// The binary with a database and no other settings.
pub fn admit(address: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
    for name in ["PUBLIC_URL", "ADMIT_CONFIG", "REDIS_URL"] {
        command.env_remove(name);
    }
    command.envs([("DATABASE_URL", address), ("ADMIT_SECRET", SECRET), ("ADMIT_SYNCS_PER_MINUTE", "1000000")]);
    command.env("ADMIT_DATA_DIR", folder).env("RUST_LOG", "off");
    command
}

/// Makes the demo's event in an empty database, and serves it. `by`: another address of the same database, for the
/// server.
pub async fn serve(client: &Client, address: &str, by: Option<&str>, folder: &Path) -> Server {
    let store = block_in_place(|| Postgres::open(address, Options::default()).unwrap());
    let state = AppState::new(Arc::new(store), Secret::new(SECRET).unwrap(), Settings::default());
    let Seeded { event_id, api_token, gates, .. } = seed(&state.app).await.unwrap();
    block_in_place(|| drop(state));
    let told = json!({ "event_id": event_id, "api_token": api_token, "gates": gates });
    start(client, by.unwrap_or(address), folder, told).await
}

/// Serves a database with the demo's event in it. `told`: what [`serve`] told of the event.
pub async fn start(client: &Client, address: &str, folder: &Path, mut told: Value) -> Server {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = tokio::process::Command::from(admit(address, folder));
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    told["url"] = format!("http://127.0.0.1:{port}").into();
    let server = Server { child, told };
    ready(client, &server).await;
    server
}

/// Waits until the server reports that its database answers.
pub async fn ready(client: &Client, server: &Server) {
    let end = Instant::now() + Duration::from_secs(60);
    let url = format!("{}/readyz", server.url());
    while !client.get(&url).send().await.is_ok_and(|answer| answer.status() == 200) {
        assert!(Instant::now() < end, "the server does not serve");
        tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
    }
}

/// Checks that the server lacks no acknowledged scan of any device. If a batch has no answer, the server has all of its
/// scans or none.
pub async fn nothing_lost(client: &Client, server: &Server, devices: &[Hammer], when: &str) {
    for device in devices {
        let missing = device.missing(client, &server.url()).await;
        let open = (device.acknowledged.last().unwrap_or(&0) + 1, device.log.seq);
        let whole = missing.is_empty() || missing == [open];
        assert!(whole, "{when}: lost, or half a batch: {missing:?}; without an answer: {open:?}");
    }
}

/// Checks that derived rows equal the facts and that the ledgers' chains are whole.
pub fn in_order(address: &str, folder: &Path) {
    for arguments in [["rebuild", "--check"], ["audit", "verify"]] {
        let run = admit(address, folder).args(arguments).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success(), "{arguments:?}: {out}{err}");
    }
}
