//! `admit relay` between a real PostgreSQL and the real server, each a separate process. An inserted row becomes a
//! guest, whatever is stopped or killed in between.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use admit_store_postgres::testing::{self, run_sql};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::Instant;

const FILE: &str = include_str!("../../../integrations/postgres/admit.sql");
const GUESTS: &str = include_str!("../../../integrations/postgres/tests/guests.sql");
const CHECKS: &str = include_str!("../../../integrations/postgres/tests/outbox.sql");
const EMAIL: &str = "owner@relay.example";
/// The time limit of every wait.
const PATIENCE: Duration = Duration::from_secs(90);

fn admit(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
    for name in ["ADMIT_DATA_DIR", "ADMIT_SECRET", "DATABASE_URL", "PUBLIC_URL", "ADMIT_LISTEN", "ADMIT_CONFIG"] {
        command.env_remove(name);
    }
    command.args(arguments).env("RUST_LOG", "error").kill_on_drop(true);
    command
}

/// An Admit whose folder and port outlive it, with one event and one endpoint.
struct Admit {
    folder: PathBuf,
    port: u16,
    client: Client,
    token: String,
    event: String,
    endpoint: Value,
    child: Option<Child>,
}

impl Admit {
    async fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("admit-relay-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let data = folder.display().to_string();
        let add = ["user", "add", "--data-dir", &data, "--email", EMAIL, "--organization", "Relay"];
        said(&add).await;
        let token = said(&["token", "create", "--data-dir", &data, "--email", EMAIL]).await;
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
        let (event, endpoint) = (String::new(), Value::Null);
        let mut admit = Self { folder, port, client, token: token.trim().to_owned(), event, endpoint, child: None };
        admit.up().await;
        let new = json!({ "name": "Night", "venue": "Harbour", "time_zone": "UTC", "status": "live",
            "starts_at": "2026-01-01T18:00:00Z", "ends_at": "2099-01-01T18:00:00Z" });
        admit.event = admit.post("/api/events", new).await["id"].as_str().unwrap().to_owned();
        let new = json!({ "event_id": admit.event, "name": "our database" });
        admit.endpoint = admit.post("/api/webhook-endpoints", new).await;
        admit
    }
    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
    async fn up(&mut self) {
        let (data, listen) = (self.folder.display().to_string(), format!("127.0.0.1:{}", self.port));
        let mut command = admit(&["serve", "--data-dir", &data, "--listen", &listen]);
        self.child = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let (client, url) = (self.client.clone(), self.url("/readyz"));
        until("the server serves", || async { client.get(&url).send().await.is_ok() }).await;
    }
    /// Kills the server with SIGKILL.
    async fn down(&mut self) {
        self.child.take().unwrap().kill().await.unwrap();
    }
    async fn post(&self, path: &str, body: Value) -> Value {
        let answer = self.client.post(self.url(path)).bearer_auth(&self.token).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), 201, "{path}");
        answer.json().await.unwrap()
    }
    /// Name and party size of every guest, by name.
    async fn guests(&self) -> Vec<(String, u64)> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let url = self.url(&format!("/api/events/{}/guests?limit=500{cursor}", self.event));
            let page: Value = self.client.get(url).bearer_auth(&self.token).send().await.unwrap().json().await.unwrap();
            let one =
                |guest: &Value| (guest["name"].as_str().unwrap().to_owned(), guest["party_size"].as_u64().unwrap());
            found.extend(page["items"].as_array().unwrap().iter().map(one));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        found.sort();
        found
    }
    /// The number of accepted messages, and the number of those that came out of order.
    fn messages(&self) -> (i64, i64) {
        let database = rusqlite::Connection::open(self.folder.join("admit.db")).unwrap();
        // tidy-allow: a look into the server's own database, which no route gives
        let counts = "SELECT count(*), count(*) FILTER (WHERE answer LIKE '%ignored%') FROM webhook_messages";
        database.query_row(counts, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }
}

impl Drop for Admit {
    fn drop(&mut self) {
        drop(self.child.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

async fn said(arguments: &[&str]) -> String {
    let run = admit(arguments).output().await.unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(50)).await; // tidy-allow: the pause of a poll loop
    }
}

/// The organiser's own PostgreSQL, with a table of guests and the outbox.
struct Foreign {
    server: testing::Server,
    address: String,
}

impl Foreign {
    async fn start() -> Self {
        let (server, address) = blocking(|| {
            let server = testing::Server::start(false);
            let address = server.database();
            (server, address)
        })
        .await;
        let foreign = Self { server, address };
        for file in [GUESTS, FILE, CHECKS] {
            foreign.run(file).await.unwrap();
        }
        foreign.run(FILE).await.expect("running it again changes nothing");
        foreign
    }
    async fn run(&self, sql: &str) -> Result<(), String> {
        let (address, sql) = (self.address.clone(), sql.to_owned());
        blocking(move || run_sql(&address, &sql).map_err(|error| format!("{error:?}"))).await
    }
    async fn act(&self, act: &str) {
        self.run(&format!("SELECT {act}")).await.unwrap();
    }
    async fn must(&self, what: &str) {
        until(what, || async { self.run(&format!("SELECT {what}")).await.is_ok() }).await;
    }
    fn relay(&self, admit_: &Admit) -> Child {
        relay(&self.address, admit_, &[]).spawn().unwrap()
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

fn relay(database: &str, to: &Admit, more: &[&str]) -> Command {
    let mut command = admit(&["relay"]);
    command.args(more).env("RELAY_DATABASE_URL", database).stdout(Stdio::null());
    command.env("RELAY_ENDPOINT", to.endpoint["url"].as_str().unwrap());
    command.env("RELAY_SECRET", to.endpoint["secret"].as_str().unwrap());
    command
}

/// A proxy that an administrator put before the server. It answers each message that contains all of these words with
/// a page of its own.
struct Guard {
    port: u16,
    is_open: Arc<AtomicBool>,
}

impl Guard {
    async fn start(server: u16, words: &'static [&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let guard = Self { port: listener.local_addr().unwrap().port(), is_open: Arc::default() };
        let is_open = guard.is_open.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // The client may disconnect at any time.
                tokio::spawn(Self::carry(stream, server, words, is_open.clone()));
            }
        });
        guard
    }
    async fn carry(
        mut stream: TcpStream,
        server: u16,
        words: &[&str],
        is_open: Arc<AtomicBool>,
    ) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        let (head, body) = loop {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0_usize) {
                break (head.to_owned(), body.to_owned());
            }
        };
        if !is_open.load(Ordering::Relaxed) && words.iter().all(|word| body.contains(word)) {
            let page = "<html>This request was blocked.</html>";
            let head = "HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length:";
            return stream.write_all(format!("{head} {}\r\n\r\n{page}", page.len()).as_bytes()).await;
        }
        let mut onward = TcpStream::connect(("127.0.0.1", server)).await?;
        onward.write_all(format!("{head}\r\nconnection: close\r\n\r\n{body}").as_bytes()).await?;
        copy(&mut onward, &mut stream).await.map(drop)
    }
    fn relay(&self, database: &str, to: &Admit) -> Child {
        let through =
            to.endpoint["url"].as_str().unwrap().replace(&to.url("/"), &format!("http://127.0.0.1:{}/", self.port));
        relay(database, to, &[]).env("RELAY_ENDPOINT", through).spawn().unwrap()
    }
}

fn named(from: usize, to: usize, persons: u64) -> Vec<(String, u64)> {
    let mut all: Vec<_> = (from..=to).map(|n| (format!("Guest {n}"), persons)).collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_becomes_a_guest_and_follows_it() {
    let (admit, foreign) = (Admit::start("follows").await, Foreign::start().await);
    let _relay = foreign.relay(&admit);
    foreign.act("add_guest(1, 'Ana', 3)").await;
    until("the guest is there", || async { admit.guests().await == [("Ana".to_owned(), 3)] }).await;
    foreign.act("change_guest(1, 5)").await;
    until("the party grew", || async { admit.guests().await == [("Ana".to_owned(), 5)] }).await;
    foreign.act("add_phone(2)").await;
    foreign.act("add_nobody(3)").await;
    foreign.act("drop_guest(2)").await;
    foreign.must("must_be_empty()").await;
    foreign.act("must_have_lines(4)").await;
    let both = [("Ana".to_owned(), 5), ("By phone".to_owned(), 1)];
    assert_eq!(admit.guests().await, both, "who has neither mail nor phone is not told of; nobody is un-invited");
    // A refused line does not delay others, has a reason, and is accepted once it is corrected.
    foreign.act("spoil_guest(1)").await;
    foreign.act("add_guest(4, 'Bo', 1)").await;
    foreign.must("must_be_empty()").await;
    foreign.act("must_be_refused(1)").await;
    assert_eq!(admit.guests().await.len(), 3);
    foreign.act("mend_guest(1)").await;
    foreign.must("must_be_empty()").await;
    assert_eq!(admit.messages(), (6, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_killed_every_row_arrives_once_and_in_order() {
    let (mut admit, foreign) = (Admit::start("killed").await, Foreign::start().await);
    let mut relay = foreign.relay(&admit);
    for round in 0..6_u64 {
        let (first, last) = (round * 50 + 1, round * 50 + 50);
        foreign.act(&format!("add_guests({first}, {last})")).await;
        for persons in 2..=4 {
            foreign.act(&format!("change_guests(1, {last}, {persons})")).await;
        }
        // A different process is killed each time, at a different moment of the work.
        until("some of it arrived", || async { admit.guests().await.len() as u64 > first }).await;
        relay.kill().await.unwrap();
        if round % 3 == 1 {
            admit.down().await;
        }
        if round % 3 == 2 {
            // Ends every connection, also the relay's.
            blocking_stop(&foreign).await;
        }
        relay = foreign.relay(&admit);
        if round % 3 == 1 {
            admit.up().await;
        }
        if round % 3 == 2 {
            blocking_start(&foreign).await;
            let _ = relay.kill().await;
            relay = foreign.relay(&admit);
        }
    }
    foreign.must("must_be_empty()").await;
    assert_eq!(admit.guests().await, named(1, 300, 4));
    let lines = 300 + 3 * (50 + 100 + 150 + 200 + 250 + 300);
    foreign.act(&format!("must_have_lines({lines})")).await;
    relay.kill().await.unwrap();
    admit.down().await;
    assert_eq!(admit.messages(), (lines, 0), "each line once, none overtook another of its guest");
}

async fn blocking_stop(foreign: &Foreign) {
    tokio::task::block_in_place(|| foreign.server.stop());
}
async fn blocking_start(foreign: &Foreign) {
    tokio::task::block_in_place(|| foreign.server.start_again());
}

#[tokio::test(flavor = "multi_thread")]
async fn either_side_may_be_away_for_a_while() {
    let (mut admit, foreign) = (Admit::start("away").await, Foreign::start().await);
    let mut relay = foreign.relay(&admit);
    foreign.act("add_guests(1, 3)").await;
    until("they are there", || async { admit.guests().await.len() == 3 }).await;
    // The endpoint is stopped and started.
    admit.down().await;
    foreign.act("add_guests(4, 6)").await;
    foreign.act("change_guests(1, 6, 2)").await;
    until("the relay noticed", || async { foreign.run("SELECT must_be_empty()").await.is_err() }).await;
    admit.up().await;
    until("all of it arrived", || async { admit.guests().await == named(1, 6, 2) }).await;
    // The database is stopped and started; the same relay connects again.
    blocking_stop(&foreign).await;
    blocking_start(&foreign).await;
    foreign.act("add_guests(7, 7)").await;
    foreign.act("change_guests(1, 7, 3)").await;
    until("the rest arrived", || async { admit.guests().await == named(1, 7, 3) }).await;
    assert!(relay.try_wait().unwrap().is_none(), "it is the one that was started");
    // A second relay waits for the first.
    let _second = foreign.relay(&admit);
    foreign.act("change_guests(1, 7, 4)").await;
    until("it arrived", || async { admit.guests().await == named(1, 7, 4) }).await;
    foreign.must("must_be_one_connection()").await;
    relay.kill().await.unwrap();
    foreign.act("change_guests(1, 7, 5)").await;
    until("the second took over", || async { admit.guests().await == named(1, 7, 5) }).await;
    foreign.must("must_be_empty()").await;
    assert_eq!(admit.messages().1, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_turned_away_on_the_way_waits_alone_and_says_why() {
    let (admit, foreign) = (Admit::start("guard").await, Foreign::start().await);
    let guard = Guard::start(admit.port, &["INSERT", "Forbidden"]).await;
    let mut relay = guard.relay(&foreign.address, &admit);
    foreign.act("add_guest(99, 'Forbidden', 1)").await;
    foreign.act("add_guests(1, 30)").await;
    foreign.act("change_guest(99, 2)").await;
    // All other lines are marked as delivered. The next line of the same guest waits behind the refused one.
    foreign.must("must_be_left(2)").await;
    assert_eq!(admit.guests().await, named(1, 30, 1));
    foreign.must("must_be_put_off(99, '%403%')").await;
    // The relay now knows that only this line is refused. So no other line waits, even if it is the only one that is
    // due.
    foreign.act("add_guests(31, 40)").await;
    foreign.must("must_be_left(2)").await;
    guard.is_open.store(true, Ordering::Relaxed);
    foreign.must("must_be_empty()").await;
    let mut all = named(1, 40, 1);
    all.insert(0, ("Forbidden".to_owned(), 2));
    assert_eq!(admit.guests().await, all);
    assert_eq!(admit.messages(), (42, 0));
    assert!(relay.try_wait().unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_work_is_told_at_once() {
    let (admit_, foreign) = (Admit::start("wrong").await, Foreign::start().await);
    foreign.act("add_guests(1, 3)").await;
    let done = relay(&foreign.address, &admit_, &["--once"]).output().await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(admit_.guests().await, named(1, 3, 1), "once, and over");
    let complaint = async |mut command: Command| {
        let run = command.output().await.unwrap();
        assert!(!run.status.success());
        String::from_utf8(run.stderr).unwrap()
    };
    let said = complaint(relay("nonsense", &admit_, &[])).await;
    assert!(said.contains("--database-url"), "{said}");
    let mut command = relay(&foreign.address, &admit_, &[]);
    command.env("RELAY_SECRET", "my password");
    let said = complaint(command).await;
    assert!(said.contains("--secret must be whsec_"), "{said}");
    let empty = blocking_database(&foreign);
    let said = complaint(relay(&empty, &admit_, &[])).await;
    assert!(said.contains("admit.sql"), "{said}");
    // A column that does not exist would stop every row from being written.
    let wrong = FILE.replace("('id')", "('no_such_column')");
    let said = foreign.run(&wrong).await.unwrap_err();
    assert!(said.contains("no_such_column"), "{said}");
}

fn blocking_database(foreign: &Foreign) -> String {
    tokio::task::block_in_place(|| foreign.server.database())
}
