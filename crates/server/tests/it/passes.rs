//! Passes with real services: Postfix's SMTP sink, an S3 server, zbar as the reader of codes, Python as the reader of
//! mail.

mod delivery;
mod templates;
mod mailing;
mod outages;
mod page;
mod runs;
mod sink;
mod bucket;

use std::process::Command;
use std::time::{Duration, Instant};

use admit_server::Settings;
use reqwest::Method;
use serde_json::{Value, json};

use self::bucket::Bucket;
use self::sink::Sink;
use crate::organiser::{as_owner, get, post};
use crate::server::TestServer;

/// The address that a pass leads to in these tests.
const URL: &str = "https://tickets.example.org";

/// A server that carries out runs, with its own mail server and bucket.
struct Office {
    server: TestServer,
    sink: Sink,
    bucket: Bucket,
}

impl Office {
    async fn open() -> Self {
        let (sink, bucket) = (Sink::start(&[]), Bucket::start().await);
        let settings = Settings::default().with_public_url(URL).unwrap();
        let settings = settings.with_mail(&sink.url(), Some("passes@club.example")).unwrap();
        let settings = settings.with_objects(&bucket.url()).unwrap();
        let server = TestServer::with(settings).await;
        tokio::spawn(server.state.clone().carry_out_runs());
        Self { server, sink, bucket }
    }
    /// Makes a guest, and gives the answer with the ticket.
    async fn guest(&self, body: Value) -> Value {
        post(&self.server, "/api/events/{event}/guests", body, 201).await
    }
    async fn runs(&self) -> Vec<Value> {
        get(&self.server, "/api/events/{event}/runs").await["items"].as_array().unwrap().clone()
    }
    /// Waits until `is` holds for the newest runs, and gives them.
    async fn until(&self, is: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let runs = self.runs().await;
            if is(&runs) {
                return runs;
            }
            assert!(Instant::now() < end, "it does not come to that: {runs:#?}");
            // tidy-allow: the pause of a poll loop
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    async fn until_done(&self, runs: usize) -> Vec<Value> {
        self.until(|all| all.len() == runs && all.iter().all(|run| run["state"] == "done")).await
    }
    async fn status(&self, method: Method, path: &str) -> u16 {
        let request = as_owner(&self.server, &self.server.home, method, path);
        request.send().await.unwrap().status().as_u16()
    }
}

/// The text of a QR code's picture, read by zbar.
fn read_code(png: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("code.png");
    std::fs::write(&path, png).unwrap();
    let run = Command::new("zbarimg").args(["--raw", "--quiet"]).arg(&path).output();
    let run = run.expect("zbarimg is needed for these tests (Debian: zbar-tools)");
    assert!(run.status.success(), "zbar reads no code: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap().trim_end().to_owned()
}

fn ana() -> Value {
    json!({ "name": "Ana", "email": "ana@guests.example", "party_size": 2 })
}
