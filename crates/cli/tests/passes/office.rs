//! An `admit serve` whose store and port outlive it, with a mail server. The store can also be read without a server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use admit_store_postgres::testing;
use reqwest::Client;
use rusqlite::OpenFlags;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::sink::Sink;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const EMAIL: &str = "owner@passes.example";

/// Reads each open run: its id, its guest, the number of finished steps, and whether a process holds it.
// tidy-allow: what a dead server left is looked at behind the store's back
const OPEN_RUNS: &str = "SELECT r.run_id, r.subject, CAST(COUNT(s.name) AS TEXT), CAST(COUNT(q.holder) AS TEXT)
    FROM runs r JOIN job_queue q USING (organization_id, run_id) LEFT JOIN steps s USING (organization_id, run_id)
    WHERE r.state = 'open' GROUP BY r.run_id, r.subject";
/// Reads each guest: e-mail, id, token, and the number of credentials for the token.
// tidy-allow: the same
const PASSES: &str = "SELECT g.email, g.guest_id, t.barcode, CAST(COUNT(c.token_hash) AS TEXT)
    FROM guests g JOIN tickets t USING (organization_id, ticket_id) LEFT JOIN credentials c
    ON c.organization_id = g.organization_id AND c.kind = 'pass' AND c.holder = g.ticket_id
    GROUP BY g.email, g.guest_id, t.barcode";

/// The store of the server.
pub enum Kept {
    /// The embedded database, with a connection that reads it.
    Folder(Mutex<Option<rusqlite::Connection>>),
    /// A private PostgreSQL that is never killed, with every commit flushed to disk.
    Postgres { server: Box<testing::Server>, address: String },
}

impl Kept {
    pub fn in_a_folder() -> Self {
        Self::Folder(Mutex::default())
    }
    /// Makes a store on PostgreSQL. Don't call it from inside an async runtime.
    pub fn in_postgresql() -> Self {
        let server = Box::new(testing::Server::start(true));
        let address = server.database();
        Self::Postgres { server, address }
    }
}

/// A run that has not ended.
#[derive(Debug, Clone)]
pub struct Run {
    pub run_id: String,
    pub guest_id: String,
    /// The number of stored steps.
    pub done: usize,
    /// Whether a server holds it, or held it when it was killed.
    pub is_taken: bool,
}

/// A guest's pass.
#[derive(Debug)]
pub struct Pass {
    pub email: String,
    pub guest_id: String,
    pub token: String,
    pub pages: usize,
}

pub struct Office {
    kept: Kept,
    folder: PathBuf,
    port: u16,
    client: Client,
    key: String,
    event: String,
    pub sink: Sink,
    child: Mutex<Option<Child>>,
    /// When the server was last started.
    pub started: Instant,
    superuser: Option<tokio_postgres::Client>,
}

impl Office {
    /// Makes an organisation with a live event, and serves it.
    pub async fn open(kept: Kept, name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("admit-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let superuser = match &kept {
            Kept::Folder(_) => None,
            Kept::Postgres { server, address } => {
                let (client, connection) = tokio_postgres::connect(&server.as_superuser(address), NoTls).await.unwrap();
                tokio::spawn(connection);
                Some(client)
            }
        };
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
        let (child, started) = (Mutex::new(None), Instant::now());
        let (key, event, sink) = (String::new(), String::new(), Sink::start(&[]));
        let mut office = Self { kept, folder, port, client, key, event, sink, child, started, superuser };
        office.said(&["user", "add", "--email", EMAIL, "--organization", "Passes"]);
        office.key = office.said(&["token", "create", "--email", EMAIL]).trim().to_owned();
        office.start().await;
        let event = json!({ "name": "Night", "venue": "Harbour", "time_zone": "UTC", "status": "live",
            "starts_at": "2026-01-01T18:00:00Z", "ends_at": "2099-01-01T18:00:00Z" });
        let request = office.client.post(office.url("/api/events")).bearer_auth(&office.key);
        let answer = request.json(&event).send().await.unwrap();
        assert_eq!(answer.status(), 201);
        office.event = answer.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
        office
    }
    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
    fn admit(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
        for name in ["DATABASE_URL", "ADMIT_CONFIG", "OBJECTS_URL", "OBJECTS_PUBLIC_URL", "REDIS_URL"] {
            command.env_remove(name);
        }
        if let Kept::Postgres { address, .. } = &self.kept {
            // A node with a name takes its former runs back at once after a crash.
            command.env("DATABASE_URL", address).env("ADMIT_NODE", "one");
        }
        command.args(arguments).env("ADMIT_DATA_DIR", &self.folder).env("ADMIT_SECRET", SECRET);
        command.env("PUBLIC_URL", self.url("")).env("ADMIT_LISTEN", format!("127.0.0.1:{}", self.port));
        command.env("SMTP_URL", self.sink.url()).env("SMTP_FROM", "passes@club.example").env("RUST_LOG", "error");
        command
    }
    fn said(&self, arguments: &[&str]) -> String {
        let run = self.admit(arguments).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success(), "{arguments:?}: {out}{err}");
        out.into_owned()
    }
    fn child(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Starts the server's process.
    pub fn spawn(&mut self) {
        if let Kept::Folder(connection) = &self.kept {
            // The reading connection is closed, so that the server finds the file as a crash leaves it.
            connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        let mut command = tokio::process::Command::from(self.admit(&["serve"]));
        command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        self.started = Instant::now();
        *self.child() = Some(command.spawn().unwrap());
    }
    /// Starts the server, and waits until it serves.
    pub async fn start(&mut self) {
        self.spawn();
        while self.client.get(self.url("/readyz")).send().await.is_err() {
            assert!(self.started.elapsed() < Duration::from_secs(60), "the server does not serve");
            tokio::time::sleep(Duration::from_millis(2)).await; // tidy-allow: the pause of a poll loop
        }
    }
    /// Kills the server with SIGKILL.
    pub fn kill(&self) {
        self.child().as_mut().unwrap().start_kill().unwrap();
    }
    /// Waits until the killed process has ended.
    pub async fn gone(&self) {
        let child = self.child().take();
        child.unwrap().wait().await.unwrap();
    }
    /// Imports guests. `false`: the server was gone before it answered.
    pub async fn import(&self, emails: &[String]) -> bool {
        let mut file = "name,email\n".to_owned();
        for email in emails {
            file.push_str(&format!("Guest {email},{email}\n"));
        }
        let request = self.client.post(self.url(&format!("/api/events/{}/tickets/import?mail_passes=1", self.event)));
        let request = request.bearer_auth(&self.key).header("content-type", "text/csv").body(file);
        let Ok(answer) = request.send().await else { return false };
        let status = answer.status();
        let Ok(report) = answer.json::<Value>().await else { return false };
        assert!(status.is_success(), "{status}: {report}");
        assert_eq!(report["created"], emails.len(), "{report}");
        true
    }

    async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        match (&self.kept, &self.superuser) {
            (Kept::Folder(connection), _) => {
                let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                // Read-only, because the next server must copy back the journal of the former one.
                let database = connection.get_or_insert_with(|| read_only(&self.folder.join("admit.db")));
                let mut statement = database.prepare_cached(sql).unwrap();
                let width = statement.column_count();
                let rows = statement.query_map([], |row| (0..width).map(|at| row.get(at)).collect());
                rows.unwrap().collect::<Result<_, _>>().unwrap()
            }
            (Kept::Postgres { .. }, Some(client)) => {
                let answers = client.simple_query(sql).await.unwrap().into_iter();
                let rows = answers.filter_map(|answer| match answer {
                    SimpleQueryMessage::Row(row) => Some(row),
                    _ => None,
                });
                rows.map(|row| (0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect()).collect()
            }
            (Kept::Postgres { .. }, None) => unreachable!("connected when it was opened"),
        }
    }
    /// The runs that have not ended, with or without a running server.
    pub async fn open_runs(&self) -> Vec<Run> {
        let rows = self.rows(OPEN_RUNS).await.into_iter();
        rows.map(|row| Run {
            run_id: row[0].clone(),
            guest_id: row[1].clone(),
            done: row[2].parse().unwrap(),
            is_taken: row[3] != "0",
        })
        .collect()
    }
    /// Every guest's pass.
    pub async fn passes(&self) -> Vec<Pass> {
        let rows = self.rows(PASSES).await.into_iter();
        rows.map(|row| Pass {
            email: row[0].clone(),
            guest_id: row[1].clone(),
            token: row[2].clone(),
            pages: row[3].parse().unwrap(),
        })
        .collect()
    }
    /// For each token, the time when its object got its name. A half-written file of a crash has another name and is
    /// not counted.
    pub fn objects(&self) -> BTreeMap<String, SystemTime> {
        let files = std::fs::read_dir(self.folder.join("objects/qr-codes")).unwrap().map(|file| file.unwrap());
        let named = files.filter_map(|file| {
            let name = file.file_name().into_string().unwrap();
            Some((name.strip_suffix(".png")?.to_owned(), changed(&file.metadata().unwrap())))
        });
        named.collect()
    }
    /// Checks that the database is whole, derived rows equal the facts, and ledgers are chained.
    pub fn in_order(&self) {
        if let Kept::Folder(connection) = &self.kept {
            connection.lock().unwrap_or_else(PoisonError::into_inner).take();
            let database = read_only(&self.folder.join("admit.db"));
            let result: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(result, "ok");
        }
        self.said(&["rebuild", "--check"]);
        self.said(&["audit", "verify"]);
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        drop(self.child().take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn read_only(path: &Path) -> rusqlite::Connection {
    let database = rusqlite::Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    database.busy_timeout(Duration::from_secs(10)).unwrap();
    database
}

/// The time of the file's last change, which is its renaming.
fn changed(file: &std::fs::Metadata) -> SystemTime {
    use std::os::unix::fs::MetadataExt as _;
    let (seconds, nanoseconds) = (file.ctime().unsigned_abs(), file.ctime_nsec().unsigned_abs());
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}
