//! A mail server for one test: Postfix's `smtp-sink` on a free port, which stores each mail as a file. It ends with
//! the process, however that ends.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

pub struct Sink {
    port: u16,
    folder: tempfile::TempDir,
    process: Option<Child>,
}

impl Sink {
    /// Starts a server. `how` are flags of smtp-sink, such as `-r RCPT` (a temporary refusal) or `-f RCPT` (a
    /// permanent one).
    pub fn start(how: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::Builder::new().prefix("admit-mail-").tempdir().unwrap();
        // As root, smtp-sink changes to another user, who must be able to write here.
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        let mut sink = Self { port, folder, process: None };
        sink.start_again(how);
        sink
    }
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }
    /// Starts the server again after [`Sink::stop`], with these flags.
    pub fn start_again(&mut self, how: &[&str]) {
        let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
        let user = if is_root { "-u nobody" } else { "" };
        // The shell waits for the end of its input, which comes when we stop it and when this process dies.
        let line = format!(
            "PATH=$PATH:/usr/sbin; smtp-sink {user} {} -d %s. 127.0.0.1:{} 64 >/dev/null & pid=$!; cat >/dev/null; \
             kill -9 $pid; wait $pid",
            how.join(" "),
            self.port
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(self.folder.path()).stdin(Stdio::piped()).stderr(Stdio::null());
        self.process = Some(command.spawn().unwrap());
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < until, "smtp-sink is needed for these tests (Debian: postfix)");
            std::thread::sleep(Duration::from_millis(10)); // tidy-allow: the pause of a poll loop
        }
    }
    pub fn stop(&mut self) {
        if let Some(mut child) = self.process.take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
    /// The received mails, in no order. Call it when no mail is under way.
    pub fn mails(&self) -> Vec<Mail> {
        let files: Vec<PathBuf> = self.files().collect();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/python/mail.py");
        let run = Command::new("python3").arg(script).args(&files).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let read: Vec<Value> = serde_json::from_slice(&run.stdout).unwrap();
        let came = files.iter().map(|file| std::fs::metadata(file).unwrap());
        let came = came.map(|file| file.created().or_else(|_| file.modified()).unwrap());
        read.into_iter().zip(came).map(|(read, came)| Mail { read, came }).collect()
    }
    /// The number of received mails.
    pub fn count(&self) -> usize {
        self.files().count()
    }
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let files = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| std::fs::metadata(path).unwrap().len() > 0)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A mail as Python's parser reads it.
pub struct Mail {
    read: Value,
    /// The time when its sending began, if the file system records it; else the time when it ended.
    #[allow(dead_code, reason = "each target uses its part of the harness")]
    pub came: SystemTime,
}

impl Mail {
    /// The value of a header. Panics unless the mail has it exactly once.
    pub fn header(&self, name: &str) -> &str {
        let all = self.read["headers"].as_array().unwrap().iter();
        let mut found = all.filter(|one| one[0].as_str().unwrap().eq_ignore_ascii_case(name));
        let first = found.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(found.next().is_none(), "{name} twice");
        first[1].as_str().unwrap()
    }
    pub fn headers(&self) -> Vec<&str> {
        self.read["headers"].as_array().unwrap().iter().map(|one| one[0].as_str().unwrap()).collect()
    }
    /// The only part with this media type.
    pub fn part(&self, media_type: &str) -> &Value {
        let mut found = self.read["parts"].as_array().unwrap().iter().filter(|part| part["type"] == media_type);
        let part = found.next().unwrap_or_else(|| panic!("no {media_type}"));
        assert!(found.next().is_none());
        part
    }
    pub fn text(&self, media_type: &str) -> &str {
        self.part(media_type)["text"].as_str().unwrap()
    }
    pub fn bytes(&self, media_type: &str) -> Vec<u8> {
        let digits = self.part(media_type)["bytes"].as_str().unwrap();
        (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).unwrap()).collect()
    }
    pub fn is_well_formed(&self) -> bool {
        self.read["defects"] == 0 && self.read["kind"] == "multipart/mixed"
    }
}
