//! A server is put back to an old copy. Devices find out and upload what it lost, with the restore command and without
//! it (spec §3 "Epoch and witness", trust §5, fault 25).

mod serving;
#[path = "../../server/tests/it/signed.rs"]
mod signed;

use std::path::Path;

use admit_core::scan::Outcome;
use admit_core::time::Timestamp;
use admit_core::wire::scanning::{HeartbeatAnswer, LogStatusAnswer, SyncAnswer, WITNESS_HEADER};
use reqwest::{Client, Method};
use serde_json::{Value, json};

use serving::{Folder, Server, admit, said};
use signed::Log;

/// A phone with its log, its scans and its newest witness.
struct Phone {
    client: Client,
    log: Log,
    scans: Vec<Value>,
    witness: String,
    barcodes: Vec<String>,
}

impl Phone {
    async fn paired(server: &Server) -> Self {
        let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
        let (paired, barcodes) = server.pair(&client, "phone").await;
        Self { client, log: Log::new(paired, "phone"), scans: vec![], witness: String::new(), barcodes }
    }

    /// Scans this many tickets and uploads the scans.
    async fn let_in(&mut self, server: &Server, persons: usize) {
        let from = self.scans.len();
        for n in from..from + persons {
            let at = Timestamp::clamped(serving::now_ms() - 3_600_000 + 1_000 * n as i64);
            let scan = self.log.scan(&self.barcodes[n], Outcome::Valid, at);
            self.scans.push(scan);
        }
        let scans = self.scans[from..].to_vec();
        self.upload(server, scans).await;
    }

    async fn upload(&mut self, server: &Server, scans: Vec<Value>) {
        let (count, body) = (scans.len(), self.log.batch(scans));
        let answer: SyncAnswer = self.post(server, "/api/scanning/sync", &body).await;
        assert_eq!(answer.processed.len(), count);
    }

    /// The server's epoch, and the ranges of the log that the server lacks: first a heartbeat, then a request for the
    /// log's status.
    async fn asks(&mut self, server: &Server) -> (admit_core::rule::Epoch, Vec<(u64, u64)>) {
        let event = self.log.paired.event_id.clone();
        let beat = json!({ "log_id": self.log.log_id, "head": self.log.seq, "pending": 0, "manifest_version": 0 });
        let path = format!("/api/scanning/events/{event}/heartbeat");
        let beat: HeartbeatAnswer = self.post(server, &path, &beat).await;
        let body = json!({ "log_id": self.log.log_id, "head": self.log.seq });
        let status: LogStatusAnswer = self.post(server, "/api/scanning/log-status", &body).await;
        (beat.cursor.epoch, status.missing)
    }

    async fn post<T: serde::de::DeserializeOwned>(&mut self, server: &Server, path: &str, body: &Value) -> T {
        let request = self.client.post(format!("{}{path}", server.url())).bearer_auth(&self.log.paired.api_key);
        let request = if self.witness.is_empty() { request } else { request.header(WITNESS_HEADER, &self.witness) };
        let answer = request.json(body).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        self.witness = answer.headers()[WITNESS_HEADER].to_str().unwrap().to_owned();
        answer.json().await.unwrap()
    }
}

/// Ten scans are in the copy, ten came after it. However the server was put back, a phone sees another epoch, learns
/// which scans are missing, and sends them. So nothing is lost.
async fn nothing_is_lost(name: &str, go_back: fn(&Path, &Path)) {
    let (folder, copy) = (Folder::new(name), Folder::new(&format!("{name}-copy")));
    let server = Server::start(&folder.0).await;
    let mut phone = Phone::paired(&server).await;
    phone.let_in(&server, 10).await;
    let (before, missing) = phone.asks(&server).await;
    assert_eq!(missing, []);
    // The backup runs while the server serves.
    said(&["backup", "--to", copy.0.to_str().unwrap()], &folder.0);
    phone.let_in(&server, 10).await;
    server.kill().await;
    go_back(&copy.0, &folder.0);
    let server = Server::start(&folder.0).await;
    let (now, missing) = phone.asks(&server).await;
    assert!(now > before, "a new epoch");
    assert_eq!(missing, [(11, 20)]);
    let lost = phone.scans[10..].to_vec();
    phone.upload(&server, lost).await;
    assert_eq!(phone.asks(&server).await, (now, vec![]));
    server.kill().await;
    serving::in_order(&folder.0);
}

#[tokio::test]
async fn after_a_restore_devices_hand_over_what_was_lost() {
    nothing_is_lost("restore", |copy, folder| {
        let told = said(&["restore", "--from", copy.to_str().unwrap()], folder);
        assert!(told.contains("admit.db.before-restore-1") && told.contains("a new epoch"), "{told}");
        assert!(folder.join("admit.db.before-restore-1/admit.db").exists(), "nothing is deleted");
    })
    .await;
}

/// Between its two moves a restore leaves no database. A server that starts then must not begin with an empty one.
#[tokio::test]
async fn a_restore_that_was_cut_off_is_told_and_run_again() {
    nothing_is_lost("cut-off", |copy, folder| {
        let (aside, arriving) = (folder.join("admit.db.before-restore-1"), folder.join("admit.db.arriving-1"));
        for made in [&aside, &arriving] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::copy(copy.join("admit.db"), arriving.join("admit.db")).unwrap();
        std::fs::rename(folder.join("admit.db"), aside.join("admit.db")).unwrap();
        // The state after half of a move: files of one database must not be read with another.
        std::fs::write(folder.join("admit.db-wal"), b"of another database").unwrap();
        let output = admit(&["rebuild", "--check"], folder);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains("was cut off"), "{told}");
        assert!(!folder.join("admit.db").exists(), "nothing was begun anew");
        said(&["restore", "--from", copy.to_str().unwrap()], folder);
        assert!(folder.join("admit.db.before-restore-2/admit.db-wal").exists(), "set aside");
    })
    .await;
}

/// Whether a file of a data folder or of a backup has these bytes.
fn holds(folder: &Path, text: &str) -> bool {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files
        .map(|path| std::fs::read(path).unwrap())
        .any(|bytes| bytes.windows(text.len()).any(|at| at == text.as_bytes()))
}

/// docs/guides/data-protection.md, "Backups".
#[tokio::test]
async fn an_erased_guest_is_in_the_backup_from_before_and_not_in_the_one_from_after() {
    let (folder, before, after) = (Folder::new("erased"), Folder::new("erased-before"), Folder::new("erased-after"));
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let call = async |server: &Server, method: Method, path: &str, body: Value| -> Value {
        let key = server.told["api_token"].as_str().unwrap();
        let request = client.request(method, format!("{}{path}", server.url())).bearer_auth(key);
        let request = if body.is_null() { request } else { request.json(&body) };
        let answer = request.send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    };
    let server = Server::start(&folder.0).await;
    let event = server.told["event_id"].as_str().unwrap();
    let guest = json!({ "name": "Zenobia Quill", "email": "zenobia@quill.example" });
    let guest = call(&server, Method::POST, &format!("/api/events/{event}/guests"), guest).await;
    let path = format!("/api/guests/{}", guest["id"].as_str().unwrap());
    said(&["backup", "--to", before.0.to_str().unwrap()], &folder.0);
    call(&server, Method::POST, &format!("{path}/erase"), Value::Null).await;
    said(&["backup", "--to", after.0.to_str().unwrap()], &folder.0);
    server.kill().await;
    for text in ["Zenobia", "zenobia@quill.example"] {
        assert!(holds(&before.0, text) && !holds(&after.0, text), "{text}");
    }
    said(&["restore", "--from", before.0.to_str().unwrap()], &folder.0);
    let server = Server::start(&folder.0).await;
    assert_eq!(call(&server, Method::GET, &path, Value::Null).await["name"], "Zenobia Quill", "the guest is back");
    let erased = call(&server, Method::POST, &format!("{path}/erase"), Value::Null).await;
    assert!(erased["name"] == "" && erased["email"].is_null() && erased["erased_at"].is_string(), "{erased}");
    server.kill().await;
    serving::in_order(&folder.0);
}

#[tokio::test]
async fn a_database_copied_back_without_the_command_is_found_out() {
    nothing_is_lost("copied-back", |copy, folder| {
        for beside in ["admit.db-wal", "admit.db-shm"] {
            let _ = std::fs::remove_file(folder.join(beside));
        }
        std::fs::copy(copy.join("admit.db"), folder.join("admit.db")).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_restore_that_cannot_work_changes_nothing() {
    let (folder, copy) = (Folder::new("refused"), Folder::new("refused-copy"));
    let server = Server::start(&folder.0).await;
    let copy_name = copy.0.to_str().unwrap();
    said(&["backup", "--to", copy_name], &folder.0);
    let complaint = |arguments: &[&str]| {
        let run = admit(arguments, &folder.0);
        assert!(!run.status.success(), "{arguments:?}");
        String::from_utf8(run.stderr).unwrap()
    };
    let under_way = complaint(&["restore", "--from", copy_name]);
    assert!(under_way.contains("another process serves"), "{under_way}");
    let twice = complaint(&["backup", "--to", copy_name]);
    assert!(twice.contains("exists already"), "{twice}");
    server.kill().await;
    // Opening the database first copies back the journal that the kill left.
    serving::in_order(&folder.0);
    let before = std::fs::read(folder.0.join("admit.db")).unwrap();
    let elsewhere = complaint(&["restore", "--from", folder.0.join("nothing").to_str().unwrap()]);
    assert!(elsewhere.contains("holds no admit.db"), "{elsewhere}");
    // A copy that was sealed with another secret would lock every device out.
    std::fs::write(folder.0.join("secret"), "f".repeat(64)).unwrap();
    let sealed = complaint(&["restore", "--from", copy_name]);
    assert!(sealed.contains("the secret in the data folder is not the one"), "{sealed}");
    std::fs::write(copy.0.join("admit.db"), "not a database at all").unwrap();
    let damaged = complaint(&["restore", "--from", copy_name]);
    assert!(damaged.contains("not a database"), "{damaged}");
    assert!(std::fs::read(folder.0.join("admit.db")).unwrap() == before, "the database is another one");
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("arriving")), "{left:?}");
}

#[test]
fn settings_come_from_a_file_and_a_mistake_in_it_is_told() {
    let folder = Folder::new("config");
    let secret = "0".repeat(40);
    let organisation = ["--organization", "Old Harbour", "--email", "ana@harbour.example", "--secret", &secret];
    said(&[&["user", "add"], &organisation[..]].concat(), &folder.0);
    let file = folder.0.join("admit.conf");
    let run = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let out = admit(&["rebuild", "--check", "--config", file.to_str().unwrap()], &folder.0);
        (out.status.success(), String::from_utf8(out.stderr).unwrap())
    };
    let (done, told) = run("# a venue's box\nADMIT_SECRET=short\n");
    assert!(!done && told.contains("at least 32 characters"), "{told}");
    let (done, told) = run("ADMIT_SECRETS=x\n");
    assert!(
        !done && told.contains("ADMIT_SECRETS is no setting, perhaps ADMIT_SECRET is meant; there are ADMIT_CONFIG"),
        "{told}"
    );
    let (done, told) = run("ADMIT_LOG=debug\n");
    assert!(!done && told.contains("it is json or text"), "{told}");
    let (done, told) = run(&format!("ADMIT_SECRET={secret}\nADMIT_LOG=json\n"));
    assert!(done, "{told}");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_refused_without_a_panic() {
    let argument = std::os::unix::ffi::OsStrExt::from_bytes(&b"--\xff"[..]);
    let argument: &std::ffi::OsStr = argument;
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_admit")).arg(argument).output().unwrap();
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(2) && !told.contains("panicked"), "{told}");
}
