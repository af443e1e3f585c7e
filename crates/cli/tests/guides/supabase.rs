//! Follows the guide `docs/guides/supabase.md`.

use admit_core::time::Timestamp;
use admit_core::webhook::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, WebhookSecret, seconds};
use admit_store_postgres::testing::{self, run_sql};
use reqwest::Method;
use serde_json::{Value, json};
use std::path::Path;

use crate::reader::{Guide, Office, Shell, until, with};

const GUIDE: &str = include_str!("../../../../docs/guides/supabase.md");
const GUESTS: &str = include_str!("../../../../integrations/postgres/tests/guests.sql");
const CHECKS: &str = include_str!("../../../../integrations/postgres/tests/outbox.sql");
const STUB: &str = include_str!("../../../../integrations/postgres/tests/pg_net.sql");
/// The address of an endpoint in the guide.
const ENDPOINT: &str = "https://tickets.example.org/api/webhooks/guests/…";
const SECRET: &str = "whsec_…";

/// The organiser's PostgreSQL. It is reached over TCP with TLS, because the guide checks its certificate.
struct Foreign {
    server: testing::Server,
    address: String,
}

impl Foreign {
    async fn start() -> Self {
        let work = || {
            let server = testing::Server::start_with_tls();
            // A role that may create roles exists at every provider.
            server.admin("ALTER ROLE admit CREATEROLE");
            let address = server.database();
            Self { server, address }
        };
        tokio::task::spawn_blocking(work).await.unwrap()
    }
    /// The part of the relay's address after the password.
    fn by_network(&self) -> String {
        let by_network = self.server.by_network(&self.address);
        let part = |name: &str| by_network.split(' ').find_map(|part| part.strip_prefix(name)).unwrap();
        format!("localhost:{}/{}", part("port="), part("dbname="))
    }
    fn try_act(&self, statements: &str) -> Result<(), String> {
        tokio::task::block_in_place(|| run_sql(&self.address, statements).map_err(|error| format!("{error:?}")))
    }
    fn act(&self, statements: &str) {
        self.try_act(statements).unwrap();
    }
    /// The requests that the stub of pg_net recorded, in order.
    fn calls(&self) -> Vec<Value> {
        let rows = tokio::task::block_in_place(|| testing::rows(&self.server.as_superuser(&self.address)));
        let lines = rows.iter().filter_map(|row| row.strip_prefix("calls "));
        let mut calls: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        calls.sort_by_key(|call| call["id"].as_i64());
        calls
    }
}

/// A running server, a shell at the root of the repository, and an endpoint made as the guide says.
struct Reader {
    guide: Guide,
    shell: Shell,
    office: Office,
    event: String,
    create: String,
    endpoint: Value,
    _folder: tempfile::TempDir,
    _server: tokio::process::Child,
}

impl Reader {
    async fn begin() -> Self {
        let folder = tempfile::Builder::new().prefix("admit-guide-").tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (mut shell, mut office) = (Shell::at(&root), Office::new());
        shell.set("DATA", &folder.path().display().to_string());
        shell.run("admit user add --data-dir \"$DATA\" --organization Harbour --email you@example.org").await;
        let token = shell.run("admit token create --data-dir \"$DATA\" --email you@example.org").await;
        office.acts_with(&token);
        let server = shell.start(&format!("admit serve --data-dir \"$DATA\" --listen {}", office.listen));
        office.serves().await;
        let event = office.event().await;
        for (name, value) in [("ADMIT", office.url.as_str()), ("TOKEN", token.trim()), ("EVENT", &event)] {
            shell.set(name, value);
        }
        let mut guide = Guide::open(GUIDE);
        let create = guide.take("sh", "/api/webhook-endpoints");
        let endpoint = shell.answer(&create).await;
        Self { guide, shell, office, event, create, endpoint, _folder: folder, _server: server }
    }
    fn text<'a>(endpoint: &'a Value, name: &str) -> &'a str {
        endpoint[name].as_str().unwrap()
    }
    async fn are(&self, names: &[&str]) {
        until(&format!("the guests are {names:?}"), || async { self.office.guests(&self.event).await == names }).await;
    }
    /// Sends a message of one's own program, signed as the guide says, and gives the answer.
    async fn send(&self, endpoint: &Value, id: &str, body: &str) -> Value {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let now = Timestamp::clamped(i64::try_from(since.as_millis()).unwrap());
        let secret = WebhookSecret::parse(Self::text(endpoint, "secret")).unwrap();
        let (at, signature) = (seconds(now), secret.sign(id, now, body.as_bytes()));
        let headers = [(ID_HEADER, id.to_owned()), (TIMESTAMP_HEADER, at), (SIGNATURE_HEADER, signature)];
        let mut headers = headers.map(|(name, value)| (name.to_string(), value)).to_vec();
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        self.office.message(Self::text(endpoint, "url"), headers, body.to_owned()).await["status"].clone()
    }
    async fn patch(&self, endpoint: &Value, body: Value) -> Value {
        let path = format!("/api/webhook-endpoints/{}", Self::text(endpoint, "id"));
        self.office.call(Method::PATCH, &path, Some(body)).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_row_to_a_guest_in_each_of_the_three_ways() {
    let (mut reader, foreign) = (Reader::begin().await, Foreign::start().await);
    reader.shell.set("YOUR_DATABASE", &foreign.address);
    let columns = columns(&mut reader).await;
    assert_eq!(columns, "created");
    outbox_and_relay(&mut reader, &foreign).await;
    let project = Foreign::start().await;
    from_the_trigger(&mut reader, &project).await;
    let least = reader.guide.take("json", "record");
    assert_eq!(reader.send(&reader.endpoint, "least", &least).await, "created");
    take_away(&mut reader, &foreign, &project).await;
    reader.guide.ends();
}

/// Removes the triggers, and then everything. Rows are stored as before, and no message is written.
async fn take_away(reader: &mut Reader, foreign: &Foreign, project: &Foreign) {
    let (all, triggers) = (reader.guide.take("sql", "DROP SCHEMA"), reader.guide.take("sql", "DROP TRIGGER"));
    reader.shell.sql(&foreign.address, &triggers).await;
    foreign.act("SELECT add_guest(5, 'Untold', 1)");
    foreign.act("SELECT must_be_empty()");
    let calls = project.calls().len();
    reader.shell.sql(&project.address, &all).await;
    project.act("SELECT add_guest(6, 'Untold too', 1)");
    assert_eq!(project.calls().len(), calls);
}

/// Sends one row of a table whose columns have other names.
async fn columns(reader: &mut Reader) -> Value {
    let other = reader.shell.answer(&reader.create).await;
    let columns: Value = serde_json::from_str(&reader.guide.take("json", "columns")).unwrap();
    let set = reader.patch(&other, columns.clone()).await;
    assert_eq!(set["columns"], columns["columns"]);
    let row = json!({ "id": "a", "full_name": "Ada", "email": "ada@example.org", "phone": "not read", "list_name": "Friends" });
    let status = reader.send(&other, "columns", &json!({ "record": row }).to_string()).await;
    reader.are(&["Ada"]).await;
    status
}

async fn outbox_and_relay(reader: &mut Reader, foreign: &Foreign) {
    foreign.act(GUESTS);
    foreign.act("SELECT add_guest(1, 'Before', 1)");
    let install = reader.guide.take("sh", "psql");
    reader.shell.run(&install).await;
    foreign.act(CHECKS);
    let role = reader.guide.take("sql", "CREATE ROLE");
    reader.shell.sql(&foreign.address, &role).await;
    let start = with(
        &reader.guide.take("sh", "admit relay"),
        &[
            ("…@db.example.org/yours", &format!("choose%20one@{}", foreign.by_network())),
            (ENDPOINT, Reader::text(&reader.endpoint, "url")),
            (SECRET, Reader::text(&reader.endpoint, "secret")),
        ],
    );
    let mut shell = reader.shell.clone();
    shell.set("SSL_CERT_FILE", &foreign.server.certificate().display().to_string());
    let mut relay = shell.start(&start);
    foreign.act("SELECT add_guest(2, 'After', 1)");
    reader.are(&["Ada", "After"]).await;
    foreign.act(reader.guide.inline("email = email"));
    reader.are(&["Ada", "After", "Before"]).await;

    // A refused line has a reason, and is accepted once the row or the endpoint is corrected.
    let (refused, again) =
        (reader.guide.take("sql", "done_at IS NOT NULL"), reader.guide.take("sql", "done_at = NULL"));
    foreign.act("SELECT add_guest(3, 'Third', 1)");
    reader.are(&["Ada", "After", "Before", "Third"]).await;
    foreign.act("SELECT spoil_guest(3)");
    let lines = async || reader.shell.sql(&foreign.address, &refused).await;
    until("a line is refused", || async { lines().await.contains("record.email") }).await;
    let without = json!({ "columns": { "email": null } });
    reader.patch(&reader.endpoint, without).await;
    reader.shell.sql(&foreign.address, &again).await;
    until("the line is taken in", || async { foreign.try_act("SELECT must_be_empty()").is_ok() }).await;
    assert_eq!(lines().await, "");
    let put_off = reader.guide.take("sql", "next_at");
    assert_eq!(reader.shell.sql(&foreign.address, &put_off).await, "");
    relay.kill().await.unwrap();
}

async fn from_the_trigger(reader: &mut Reader, project: &Foreign) {
    tokio::task::block_in_place(|| run_sql(&project.server.as_superuser(&project.address), STUB).unwrap());
    project.act(GUESTS);
    let install = format!("psql \"$PROJECT\" -v ON_ERROR_STOP=1 -f {}", reader.guide.inline("admit-supabase.sql"));
    reader.shell.set("PROJECT", &project.address);
    reader.shell.run(&install).await;
    let (url, secret) = (Reader::text(&reader.endpoint, "url"), Reader::text(&reader.endpoint, "secret"));
    let set = with(&reader.guide.take("sql", "only_one"), &[(ENDPOINT, url), (SECRET, secret)]);
    reader.shell.sql(&project.address, &set).await;
    reader.patch(&reader.endpoint, json!({ "columns": null })).await;
    project.act("SELECT add_guest(4, 'Zoë', 2)");
    project.act("SELECT change_guest(4, 3)");
    let mut statuses = Vec::new();
    for call in project.calls() {
        let headers = call["headers"].as_object().unwrap().iter();
        let headers = headers.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
        let body = call["body"].as_str().unwrap().to_owned();
        let url = call["url"].as_str().unwrap();
        statuses.push(reader.office.message(url, headers, body).await["status"].clone());
    }
    assert_eq!(json!(statuses), json!(["created", "updated"]));
    reader.are(&["Ada", "After", "Before", "Third", "Zoë"]).await;
}
