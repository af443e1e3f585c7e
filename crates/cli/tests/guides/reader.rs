//! The tools of a person who follows a guide: its blocks in order, a shell, a server, and the values that replace the
//! guide's examples.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::time::Instant;

/// The time limit of every wait.
const PATIENCE: Duration = Duration::from_secs(90);
/// Precedes each script. A failed request ends the script, and the last command replaces the shell.
const PRELUDE: &str = "curl() { command curl --fail-with-body --silent --show-error \"$@\"; }\n";
const RUNNING: &str = "admit() { exec admit \"$@\"; }\n";

/// A guide. Its blocks must be taken in order, so that none is missed.
pub struct Guide {
    text: &'static str,
    blocks: VecDeque<(String, String)>,
}

impl Guide {
    pub fn open(text: &'static str) -> Self {
        let (mut blocks, mut open) = (VecDeque::new(), None::<(String, String)>);
        for line in text.lines() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(kind), None) => open = Some((kind.trim().to_owned(), String::new())),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some((_, block))) => {
                    block.push_str(line);
                    block.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "a block is not closed");
        Self { text, blocks }
    }
    /// The next block, which must be of this kind and contain this text.
    pub fn take(&mut self, kind: &str, mark: &str) -> String {
        let (found, block) = self.blocks.pop_front().unwrap_or_else(|| panic!("no block is left, least with {mark}"));
        assert!(
            found == kind && block.contains(mark),
            "not {kind} with {mark} but a block that nobody follows:\n{block}"
        );
        block
    }
    /// A piece of inline code that contains this text.
    pub fn inline(&self, mark: &str) -> &'static str {
        let mut pieces = self.text.split('`').skip(1).step_by(2);
        pieces.find(|piece| piece.contains(mark)).unwrap_or_else(|| panic!("nothing with {mark} stands there"))
    }
    /// Checks that every block was taken.
    pub fn ends(self) {
        assert!(self.blocks.is_empty(), "blocks that nobody follows: {:#?}", self.blocks);
    }
}

/// Replaces the guide's examples by a test's values. Each must occur, so an outdated table is noticed.
pub fn with(text: &str, table: &[(&str, &str)]) -> String {
    table.iter().fold(text.to_owned(), |text, (foreign, ours)| {
        assert!(text.contains(foreign), "{foreign} does not stand in\n{text}");
        text.replace(foreign, ours)
    })
}

/// A shell in a folder, with its own variables. `admit` is the tested binary.
#[derive(Clone)]
pub struct Shell {
    folder: PathBuf,
    variables: Vec<(String, String)>,
}

impl Shell {
    pub fn at(folder: &Path) -> Self {
        let binary = Path::new(env!("CARGO_BIN_EXE_admit")).parent().unwrap().display();
        let path = format!("{binary}:{}", std::env::var("PATH").unwrap());
        let variables = [("PATH", path.as_str()), ("RUST_LOG", "error"), ("NO_PROXY", "*")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Self { folder: folder.to_owned(), variables }
    }
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }
    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-euc", script]).current_dir(&self.folder).kill_on_drop(true).stdin(Stdio::null());
        for name in ["ADMIT_DATA_DIR", "ADMIT_SECRET", "DATABASE_URL", "PUBLIC_URL", "ADMIT_LISTEN", "ADMIT_CONFIG"] {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
    /// Runs a script, which must succeed, and gives its output.
    pub async fn run(&self, script: &str) -> String {
        let run = self.command(&format!("{PRELUDE}{script}")).output().await.unwrap();
        let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        assert!(run.status.success(), "{script}\n{out}{err}");
        out.into_owned()
    }
    /// Runs a script, which must succeed, and parses its output as JSON.
    pub async fn answer(&self, script: &str) -> Value {
        let said = self.run(script).await;
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{script}\n{said}\n{error}"))
    }
    /// Runs SQL statements with `psql`, and gives the result with one row per line. Variables are the shell's.
    pub async fn sql(&self, database: &str, statements: &str) -> String {
        let mut shell = self.clone();
        shell.set("STATEMENTS", statements);
        shell.set("AT", database);
        shell.run("printf '%s' \"$STATEMENTS\" | psql -X -q -A -t -v ON_ERROR_STOP=1 \"$AT\"").await.trim().to_owned()
    }
    /// Starts a script whose last command keeps running. It ends when the returned process is dropped.
    pub fn start(&self, script: &str) -> Child {
        self.command(&format!("{PRELUDE}{RUNNING}{script}")).stdout(Stdio::null()).spawn().unwrap()
    }
}

pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(50)).await; // tidy-allow: the pause of a poll loop
    }
}

/// A server's address, with an organiser's credentials.
pub struct Office {
    pub url: String,
    pub listen: String,
    client: Client,
    token: String,
}

impl Office {
    /// An office on a port that was free just now.
    pub fn new() -> Self {
        let listen = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
        Self { url: format!("http://{listen}"), listen, client, token: String::new() }
    }
    pub fn acts_with(&mut self, token: &str) {
        self.token = token.trim().to_owned();
    }
    pub async fn serves(&self) {
        let url = format!("{}/readyz", self.url);
        until("the server serves", || async { self.client.get(&url).send().await.is_ok() }).await;
    }
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let mut request = self.client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.text().await.unwrap());
        answer.json().await.unwrap()
    }
    pub async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await
    }
    /// Sends a message with these headers, which must be accepted, and gives the answer.
    pub async fn message(&self, url: &str, headers: Vec<(String, String)>, body: String) -> Value {
        let request = headers.into_iter().fold(self.client.post(url), |to, (name, value)| to.header(name, value));
        let answer = request.body(body).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.json().await.unwrap()
    }
    /// Makes a live event, and gives its id.
    pub async fn event(&self) -> String {
        let new = serde_json::json!({ "name": "Night", "venue": "Harbour", "time_zone": "UTC", "status": "live",
            "starts_at": "2026-01-01T18:00:00Z", "ends_at": "2099-01-01T18:00:00Z" });
        self.call(Method::POST, "/api/events", Some(new)).await["id"].as_str().unwrap().to_owned()
    }
    /// The names of an event's guests, sorted.
    pub async fn guests(&self, event: &str) -> Vec<String> {
        let page = self.get(&format!("/api/events/{event}/guests?limit=500")).await;
        let mut names: Vec<String> =
            page["items"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}
