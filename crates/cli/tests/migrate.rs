//! `admit migrate-store`: all content of a server moves from SQLite to PostgreSQL and back, or nothing of it.

mod serving;
#[path = "../../server/tests/it/signed.rs"]
mod signed;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use admit_core::scan::{Outcome, ScanKind};
use admit_core::time::Timestamp;
use admit_core::wire::scanning::SyncAnswer;
use admit_store_postgres::moving::PgSide;
use admit_store_postgres::testing;
use admit_store_queries::moving::{Side as _, plan};
use admit_store_sqlite::moving::SqliteSide;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use serving::{Folder, Server, in_order, said};
use signed::Log;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const ORGANISATION: [&str; 8] =
    ["user", "add", "--organization", "Old Harbour", "--email", "ana@harbour.example", "--secret", SECRET];

fn client() -> Client {
    admit_server::adapters::http_client::builder().no_proxy().build().unwrap()
}
/// The binary without any setting of this machine.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
    for name in ["ADMIT_DATA_DIR", "ADMIT_SECRET", "DATABASE_URL", "PUBLIC_URL", "ADMIT_LISTEN", "ADMIT_CONFIG"] {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}
fn migrate(from: &str, to: &str) -> Output {
    command(&["migrate-store", "--from", from, "--to", to, "--json"]).output().unwrap()
}
/// Runs a move, which must succeed, and gives its report.
fn moved(from: &str, to: &str) -> Value {
    let run = migrate(from, to);
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success() && err.is_empty(), "{out}{err}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert!(report["moved"] == true && report["checks"].as_array().unwrap().iter().all(|one| one["ok"] == true));
    report
}
/// Runs a move, which must be refused, and gives its error message.
fn complaint(from: &str, to: &str) -> String {
    let run = migrate(from, to);
    assert!(!run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
    String::from_utf8(run.stderr).unwrap()
}
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
/// Rows and digest of each table.
fn digests(report: &Value) -> Vec<(String, u64, String)> {
    let one = |one: &Value| {
        assert_eq!(one["equal"], true, "{one}");
        (one["table"].as_str().unwrap().into(), one["rows"].as_u64().unwrap(), one["digest"].as_str().unwrap().into())
    };
    report["tables"].as_array().unwrap().iter().map(one).collect()
}
/// The PostgreSQL of this test process. It runs with fsync, as a server requires.
fn postgres() -> &'static testing::Server {
    static SERVER: OnceLock<testing::Server> = OnceLock::new();
    SERVER.get_or_init(|| testing::Server::start(true))
}
/// A new database on the PostgreSQL of this test process.
async fn database() -> String {
    tokio::task::spawn_blocking(|| postgres().database()).await.unwrap()
}
/// The rows of organisations in a PostgreSQL; each begins with its table's name.
fn rows(address: &str) -> Vec<String> {
    let server = postgres();
    let rows = testing::rows(&server.as_superuser(address));
    let of_the_server = ["epochs ", "settings ", "refinery_schema_history "];
    rows.into_iter().filter(|row| !of_the_server.iter().any(|table| row.starts_with(table))).collect()
}

/// An organiser's session at one server.
struct Office<'a> {
    client: &'a Client,
    url: String,
    told: &'a Value,
}

impl Office<'_> {
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let path = path.replace("EVENT", self.told["event_id"].as_str().unwrap());
        let request = self.client.request(method, format!("{}{path}", self.url));
        let request = request.bearer_auth(self.told["api_token"].as_str().unwrap());
        let answer = match body {
            Some(body) => request.json(&body).send().await.unwrap(),
            None => request.send().await.unwrap(),
        };
        let (status, said) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {said}");
        serde_json::from_str(&said).unwrap_or_default()
    }
    async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await
    }
    /// The event's state, from the API.
    async fn state(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for path in ["occupancy", "scans?limit=500", "incidents?limit=500", "guests?limit=50", "gates", "devices"] {
            all.push(self.get(&format!("/api/events/EVENT/{path}")).await);
        }
        all.push(self.get("/api/audit?event_id=EVENT&limit=100").await);
        // A server continues with passes by itself, so their state may have changed meanwhile.
        all.iter_mut().for_each(|value| forget(value, &["mail"]));
        all
    }
}

/// Removes these members at any depth.
fn forget(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !names.contains(&name.as_str()));
            members.values_mut().for_each(|value| forget(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| forget(value, names)),
        _ => {}
    }
}

/// Fails, with the place, if two states differ.
fn same(before: &[Value], after: &[Value]) {
    fn differ(at: &str, before: &Value, after: &Value) {
        match (before, after) {
            (Value::Object(one), Value::Object(other)) if one.len() == other.len() => {
                one.iter().for_each(|(name, value)| differ(&format!("{at}.{name}"), value, &after[name]));
            }
            (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
                one.iter()
                    .zip(other)
                    .enumerate()
                    .for_each(|(n, (one, other))| differ(&format!("{at}[{n}]"), one, other));
            }
            _ => assert_eq!(before, after, "{at}"),
        }
    }
    before.iter().zip(after).enumerate().for_each(|(n, (one, other))| differ(&n.to_string(), one, other));
}

async fn upload(client: &Client, url: &str, log: &mut Log, scans: Vec<Value>) {
    let (count, body) = (scans.len(), log.batch(scans));
    let request = client.post(format!("{url}/api/scanning/sync")).bearer_auth(&log.paired.api_key).json(&body);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
    let answer: SyncAnswer = answer.json().await.unwrap();
    assert_eq!(answer.processed.len(), count, "{answer:?}");
}

/// `admit serve` on a PostgreSQL. It is stopped when the value is dropped.
struct Node {
    child: Child,
    url: String,
}
impl Node {
    async fn start(client: &Client, address: &str, secret: &str) -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = command(&["serve", "--metrics-listen", "off", "--listen", &free.to_string()]);
        let settings = [("DATABASE_URL", address), ("ADMIT_SECRET", secret), ("RUST_LOG", "error")];
        let child = command.envs(settings).stdout(Stdio::null()).spawn().unwrap();
        let node = Self { child, url: format!("http://{free}") };
        let until = Instant::now() + Duration::from_secs(60);
        while client.get(format!("{}/readyz", node.url)).send().await.is_err() {
            assert!(Instant::now() < until, "the server does not start on the moved database");
            tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
        }
        node
    }
}
impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the scans of an evening: entries, exits, a second entry, an unknown code, an unproven scan that a person
/// accepts, a voided ticket, a guest picked by hand. Gives the log of each phone, with an unused code.
async fn night(office: &Office<'_>, server: &Server) -> Vec<(Log, String)> {
    let client = office.client;
    let mut phones = Vec::new();
    for name in ["phone-a", "phone-b"] {
        let (paired, barcodes) = server.pair(client, name).await;
        let from = phones.len() * 20;
        let mut log = Log::new(paired, name);
        let at = |n: i64| Timestamp::clamped(serving::now_ms() - 3_600_000 + 1_000 * n);
        let mut scans: Vec<Value> =
            (0..10).map(|n| log.scan(&barcodes[from + n], Outcome::Valid, at(n as i64))).collect();
        scans.push(log.scan(&barcodes[from], Outcome::Invalid, at(20)));
        scans.push(log.scan("no-such-code", Outcome::Invalid, at(21)));
        scans.push(log.scan_as(&barcodes[from + 1], Outcome::Valid, at(22), |scan| scan.kind = ScanKind::Exit));
        upload(client, &office.url, &mut log, scans).await;
        // A signature of another scan proves nothing.
        let mut unproven = log.scan(&barcodes[from + 11], Outcome::Valid, at(30));
        unproven["signature"] = log.scan(&barcodes[from + 12], Outcome::Valid, at(31))["signature"].clone();
        upload(client, &office.url, &mut log, vec![unproven]).await;
        phones.push((log, barcodes[from + 13].clone()));
    }
    let tickets = office.get("/api/events/EVENT/tickets?limit=50").await;
    let ticket = format!("/api/tickets/{}", tickets["items"][45]["id"].as_str().unwrap());
    office.call(Method::PATCH, &ticket, Some(json!({ "status": "voided" }))).await;
    let guest = json!({ "name": "=Ada", "email": "ada@example.org" });
    office.call(Method::POST, "/api/events/EVENT/guests", Some(guest)).await;
    let incidents = office.get("/api/events/EVENT/incidents?limit=500").await;
    let unproven = incidents["items"].as_array().unwrap().iter().find(|one| one["kind"] == "unverified_scan");
    let unproven = unproven.unwrap_or_else(|| panic!("{incidents}"));
    let scan = &unproven["scans"][0];
    let accept =
        json!({ "decision": "accept", "scans": [{ "device_id": scan["device_id"], "scan_id": scan["scan_id"] }] });
    let path = format!("/api/incidents/{}/resolve", unproven["id"].as_str().unwrap());
    office.call(Method::POST, &path, Some(accept)).await;
    let endpoint = json!({ "name": "list", "event_id": office.told["event_id"], "columns": { "name": "name" } });
    office.call(Method::POST, "/api/webhook-endpoints", Some(endpoint)).await;
    phones
}

#[tokio::test(flavor = "multi_thread")]
async fn a_night_goes_to_postgresql_and_back_and_every_phone_goes_on() {
    let (folder, back, client) = (Folder::new("migrate"), Folder::new("migrate-back"), client());
    let server = Server::start(&folder.0).await;
    let told = server.told.clone();
    let office = Office { client: &client, url: server.url(), told: &told };
    let mut phones = night(&office, &server).await;
    let before = office.state().await;
    server.kill().await;
    let secret = std::fs::read_to_string(folder.0.join("secret")).unwrap();

    let address = database().await;
    let there = moved(text(&folder.0), &address);
    let again = moved(&address, text(&back.0));
    let (there, again) = (digests(&there), digests(&again));
    assert_eq!(there, again);
    for table in ["scan_blocks", "tickets", "reviews", "incidents", "device_keys", "audit", "runs", "webhook_endpoints"]
    {
        assert!(there.iter().any(|(name, rows, _)| name == table && *rows > 0), "{table} has no rows: {there:?}");
    }

    // On PostgreSQL the states are the same, and a phone that was paired before goes on.
    let check = |arguments: &[&str]| {
        let run = command(arguments).envs([("DATABASE_URL", &*address), ("ADMIT_SECRET", &*secret)]).output().unwrap();
        assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stdout));
    };
    check(&["rebuild", "--check"]);
    check(&["audit", "verify"]);
    let node = Node::start(&client, &address, secret.trim()).await;
    let (mut log, code) = phones.remove(0);
    let moved_office = Office { client: &client, url: node.url.clone(), told: &told };
    same(&before, &moved_office.state().await);
    let scan = log.scan(&code, Outcome::Valid, Timestamp::clamped(serving::now_ms() - 60_000));
    upload(&client, &node.url, &mut log, vec![scan]).await;
    // The server is running, so the database cannot be moved now.
    let used = tokio::task::spawn_blocking({
        let (address, to) = (address.clone(), text(&back.0).to_owned() + "-2");
        move || complaint(&address, &to)
    });
    let used = used.await.unwrap();
    assert!(used.contains("is connected to the source: stop it"), "{used}");
    drop(node);
    check(&["rebuild", "--check"]);

    // The data move back to SQLite.
    std::fs::copy(folder.0.join("secret"), back.0.join("secret")).unwrap();
    in_order(&back.0);
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_admit"));
    command.args(["serve", "--metrics-listen", "off", "--data-dir"]).arg(&back.0);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    command.args(["--listen", &free.to_string()]).env("RUST_LOG", "error").stdout(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let url = format!("http://{free}");
    let until = Instant::now() + Duration::from_secs(60);
    while client.get(format!("{url}/readyz")).send().await.is_err() {
        assert!(Instant::now() < until, "the server does not start on the moved database");
        tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
    }
    let office = Office { client: &client, url: url.clone(), told: &told };
    same(&before, &office.state().await);
    let (mut log, code) = phones.remove(0);
    let scan = log.scan(&code, Outcome::Valid, Timestamp::clamped(serving::now_ms() - 60_000));
    upload(&client, &url, &mut log, vec![scan]).await;
    child.kill().await.unwrap();
    in_order(&back.0);
}

/// The rows of a CSV file, each as its cells.
fn table(bytes: &[u8]) -> Vec<Vec<String>> {
    let text = std::str::from_utf8(bytes).unwrap().trim_start_matches('\u{feff}');
    text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_night_is_exported_as_a_table_and_as_lines_of_json() {
    let (folder, client) = (Folder::new("export"), client());
    let server = Server::start(&folder.0).await;
    let told = server.told.clone();
    let event = told["event_id"].as_str().unwrap();
    let office = Office { client: &client, url: server.url(), told: &told };
    night(&office, &server).await;
    let shown = office.get("/api/events/EVENT/scans?limit=500").await;
    let ledger = office.get("/api/audit?event_id=EVENT&limit=500").await;
    let export = |what: &str, format: &str| {
        said(&["export", what, "--event", event, "--format", format], &folder.0).into_bytes()
    };
    let lines = |bytes: &[u8]| -> Vec<Value> {
        std::str::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };

    let scans = lines(&export("scans", "jsonl"));
    let of_api = shown["items"].as_array().unwrap();
    assert_eq!(scans.len(), of_api.len());
    for (exported, shown) in scans.iter().zip(of_api) {
        // The file has every member of the API, and also the ticket's data.
        for (name, value) in shown.as_object().unwrap() {
            assert_eq!(&exported[name], value, "{name}");
        }
        assert!(exported["offline"] == true && exported["at"].as_str().unwrap().ends_with('Z'));
    }
    assert!(scans.iter().any(|one| one["barcode"].is_string() && one["guest"]["name"].is_string()), "{}", scans[0]);
    assert!(scans.iter().any(|one| one["counts"] == false) && scans.iter().any(|one| one["counts"] == true));

    // The command writes a file that only its owner may read, and leaves no other file.
    let file = folder.0.join("scans.csv");
    said(&["export", "scans", "--event", event, "--out", text(&file)], &folder.0);
    let rows = table(&std::fs::read(&file).unwrap());
    assert_eq!(rows.len(), scans.len() + 1);
    let place = |name: &str| rows[0].iter().position(|one| one == name).unwrap_or_else(|| panic!("{name}"));
    for (row, scan) in rows[1..].iter().zip(&scans) {
        assert_eq!(row[place("scan_id")], scan["scan_id"].as_str().unwrap());
        assert_eq!(row[place("verdict.outcome")], scan["verdict"]["outcome"].as_str().unwrap_or_default());
    }
    let rights = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(rights & 0o777, 0o600);
    assert!(!std::fs::read_dir(&folder.0).unwrap().any(|one| text(&one.unwrap().path()).contains(".part-")));

    let audit = lines(&export("audit", "jsonl"));
    assert_eq!(&Value::from(audit.clone()), &ledger["items"]);
    assert_eq!(export("audit", "csv").iter().filter(|byte| **byte == b'\r').count(), audit.len() + 1);

    let guests = export("guests", "jsonl");
    let ada = lines(&guests).into_iter().find(|one| one["email"] == "ada@example.org").unwrap();
    assert!(ada["name"] == "=Ada" && ada["party_size"] == 1, "{ada}");
    let csv = String::from_utf8(export("guests", "csv")).unwrap();
    assert!(csv.contains(",'=Ada,"), "a spreadsheet must not take a name for a formula");

    let wrong = serving::admit(&["export", "scans", "--event", "nosuch"], &folder.0);
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(!wrong.status.success() && told.contains("there is no event nosuch; there are ") && told.contains(event));
    server.kill().await;
}

// tidy-allow: whether a move waits for the table
const WAITS: &str = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'members'::regclass";
// tidy-allow: whether the table is held
const HOLDS: &str = "SELECT 1 FROM pg_locks WHERE mode = 'ExclusiveLock' AND relation = 'members'::regclass";

/// Waits until this query returns a row.
fn until(there: &str) -> String {
    format!("DO $$ BEGIN WHILE NOT EXISTS ({there}) LOOP PERFORM pg_sleep(0.02); END LOOP; END $$")
}

/// The move waits at a table that another transaction locked. Then it is killed.
#[test]
fn a_move_that_is_killed_leaves_an_empty_target() {
    let folder = Folder::new("migrate-killed");
    said(&ORGANISATION, &folder.0);
    let server = postgres();
    let address = server.database();
    drop(PgSide::target(&address).unwrap());
    let held = server.as_superuser(&address);
    let hold = format!("BEGIN; LOCK TABLE members IN EXCLUSIVE MODE; {}; SELECT pg_sleep(2); ROLLBACK", until(WAITS));
    let mut child = std::thread::scope(|scope| {
        let holder = scope.spawn(|| testing::run_sql(&held, &hold));
        testing::run_sql(&held, &until(HOLDS)).unwrap();
        let mut arguments = command(&["migrate-store", "--from", text(&folder.0), "--to", &address]);
        let mut child = arguments.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        testing::run_sql(&held, &until(WAITS)).unwrap();
        child.kill().unwrap();
        holder.join().unwrap().unwrap();
        child
    });
    assert!(!child.wait().unwrap().success());
    assert_eq!(rows(&address), Vec::<String>::new());
    // Afterwards the database can be moved.
    moved(text(&folder.0), &address);
    assert!(rows(&address).iter().any(|row| row.starts_with("members ")));
}

#[test]
fn a_move_that_would_mix_lose_or_hide_something_is_refused() {
    let (folder, other) = (Folder::new("migrate-from"), Folder::new("migrate-to"));
    said(&ORGANISATION, &folder.0);
    said(&ORGANISATION, &other.0);
    let (from, to) = (text(&folder.0), text(&other.0));
    let server = postgres();

    let told = complaint("/nowhere/at/all", to);
    assert!(told.contains("there is no "), "{told}");
    let told = complaint(from, to);
    assert!(told.contains("is not empty: it holds 1 organisations"), "{told}");
    for same in [from.to_owned(), format!("sqlite:{from}/admit.db"), format!("{from}/.")] {
        let told = complaint(from, &same);
        assert!(told.contains("are the same"), "{told}");
    }
    let told = complaint(from, "mysql://h/d");
    assert!(told.contains("must be a data folder"), "{told}");

    let address = server.database();
    moved(from, &address);
    let told = complaint(&address, &address);
    assert!(told.contains("are the same"), "{told}");
    // The same database under another address.
    let told = complaint(&address, &format!("{address} connect_timeout=9"));
    assert!(told.contains("in use by a move"), "{told}");
    let told = complaint(from, &address);
    assert!(told.contains("is not empty: it holds 1 organisations"), "{told}");

    // A folder that a server uses.
    let lock = std::fs::File::options().write(true).open(folder.0.join("serving.lock")).unwrap();
    lock.lock().unwrap();
    let fresh = server.database();
    let told = complaint(from, &fresh);
    assert!(told.contains("another process serves"), "{told}");
    drop(lock);

    // The target's folder has another secret.
    let sealed = Folder::new("migrate-sealed");
    std::fs::create_dir_all(&sealed.0).unwrap();
    std::fs::write(sealed.0.join("secret"), "f".repeat(64)).unwrap();
    let told = complaint(from, text(&sealed.0));
    assert!(told.contains("is not the one this database was sealed with"), "{told}");

    // A table that only one side has.
    testing::run_sql(&fresh, "CREATE TABLE of_another_program (id BIGINT)").unwrap(); // tidy-allow: a stranger's table
    let told = complaint(from, &fresh);
    assert!(told.contains("of_another_program is at the target only"), "{told}");

    // A source that an older version made.
    let database = rusqlite::Connection::open(folder.0.join("admit.db")).unwrap();
    // tidy-allow: as another version would have left it
    database.execute_batch("UPDATE refinery_schema_history SET version = 0").unwrap();
    let told = complaint(from, &server.database());
    assert!(told.contains("schema version 0"), "{told}");
}

/// A copy may equal its source and still be wrong. Derived rows that contradict the facts are not moved.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_does_not_verify_is_taken_back() {
    let folder = Folder::new("migrate-wrong");
    let server = Server::start(&folder.0).await;
    let (client, told) = (client(), server.told.clone());
    night(&Office { client: &client, url: server.url(), told: &told }, &server).await;
    server.kill().await;
    let file = rusqlite::Connection::open(folder.0.join("admit.db")).unwrap();
    // tidy-allow: a counter that somebody changed by hand
    assert!(file.execute("UPDATE occupancy SET inside = inside + 1", []).unwrap() > 0);
    drop(file);
    let (address, to) = (database().await, Folder::new("migrate-wrong-to"));
    for target in [&*address, text(&to.0)] {
        let run = migrate(text(&folder.0), target);
        assert_eq!(run.status.code(), Some(1));
        let report: Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(report["moved"], false);
        let failed = report["checks"].as_array().unwrap().iter().filter(|one| one["ok"] == false);
        assert_eq!(failed.map(|one| one["name"].clone()).collect::<Vec<_>>(), ["derived rows"], "{report}");
    }
    let left = tokio::task::spawn_blocking(move || rows(&address)).await.unwrap();
    assert_eq!(left, Vec::<String>::new());
    said(&["rebuild"], &folder.0);
    kill_while_it_writes(&folder.0, &to.0);
    moved(text(&folder.0), text(&to.0));
    std::fs::copy(folder.0.join("secret"), to.0.join("secret")).unwrap();
    in_order(&to.0);
}

/// Starts a move into a folder, and kills it once the write-ahead log holds rows that are not committed.
fn kill_while_it_writes(from: &Path, to: &Path) {
    let size = || std::fs::metadata(to.join("admit.db-wal")).map_or(0, |file| file.len());
    let mut child =
        command(&["migrate-store", "--from", text(from), "--to", text(to)]).stdout(Stdio::null()).spawn().unwrap();
    while size() < 1 << 20 {
        assert!(child.try_wait().unwrap().is_none(), "the move ended before it wrote");
        std::thread::sleep(Duration::from_millis(1)); // tidy-allow: the pause of a poll loop
    }
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    let database = rusqlite::Connection::open(to.join("admit.db")).unwrap();
    for table in ["organizations", "tickets", "scan_blocks", "users"] {
        // tidy-allow: what a kill left
        let rows: i64 = database.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}

/// Finds a table or a column that a migration adds to only one schema, before somebody moves a venue's data.
#[test]
fn both_schemas_have_the_same_tables_and_columns() {
    let folder = Folder::new("migrate-catalogs");
    std::fs::create_dir_all(&folder.0).unwrap();
    let sqlite = SqliteSide::target(&folder.0.join("admit.db")).unwrap().catalog().unwrap();
    let postgres = PgSide::target(&postgres().database()).unwrap().catalog().unwrap();
    let there = plan(&sqlite, &postgres).unwrap();
    let back = plan(&postgres, &sqlite).unwrap();
    assert!(there.len() == back.len() && there.len() > 30, "{}", there.len());
    // The tables that a move replaces exist at the target, and row level security does not guard them.
    for name in ["settings", "epochs"] {
        assert!(postgres.tables.iter().any(|table| table.name == name && !table.owned), "{name}");
    }
    let columns: usize = there.iter().map(|one| one.target.columns.len()).sum();
    println!("{} tables, {columns} columns", there.len());
}
