//! The surroundings of a person who follows a guide: a data folder, a running server, a live event, a shell.

use serde_json::Value;
use tokio::process::Child;

use crate::reader::{Guide, Office, Shell, with};

/// The server's address in the guides.
pub const SERVER: &str = "https://tickets.example.org";

pub struct Desk {
    pub server: Child,
    pub shell: Shell,
    pub office: Office,
    pub event: String,
    pub folder: tempfile::TempDir,
}

impl Desk {
    pub async fn open() -> Self {
        let folder = tempfile::Builder::new().prefix("admit-desk-").tempdir().unwrap();
        let (mut shell, mut office) = (Shell::at(folder.path()), Office::new());
        shell.set("ADMIT_LISTEN", &office.listen);
        shell.run("admit user add --data-dir ./data --organization 'Old Harbour' --email you@example.org").await;
        let server = shell.start("admit serve --data-dir ./data");
        office.serves().await;
        let key = shell.run("admit token create --data-dir ./data --email you@example.org").await.trim().to_owned();
        office.acts_with(&key);
        let event = office.event().await;
        shell.set("TOKEN", &key);
        shell.set("EVENT", &event);
        Self { server, shell, office, event, folder }
    }
    /// Follows the next block of a guide, which sends an HTTP request.
    pub async fn ask(&self, guide: &mut Guide, mark: &str) -> Value {
        self.shell.answer(&with(&guide.take("sh", mark), &[(SERVER, &self.office.url)])).await
    }
    /// Follows the next block of a guide, which is a command.
    pub async fn run(&self, guide: &mut Guide, mark: &str) -> String {
        self.shell.run(&guide.take("sh", mark)).await
    }
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }
    /// A link that pairs a scanner for a gate.
    pub async fn link(&self, gate: &str) -> String {
        let path = format!("/api/events/{}/pairing-tokens", self.event);
        let token = self.office.call(reqwest::Method::POST, &path, Some(serde_json::json!({ "gate_id": gate }))).await;
        format!("{}/scan/#pair={}", self.office.url, token["pairing_token"].as_str().unwrap())
    }
    /// Kills the server with SIGKILL; `start_again` starts it at the same address.
    pub async fn stop(&mut self) {
        self.server.kill().await.unwrap();
    }
    pub async fn start_again(&mut self) {
        self.server = self.shell.start("admit serve --data-dir ./data");
        self.office.serves().await;
    }
}
