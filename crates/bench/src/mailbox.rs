//! A mail server to measure with: Postfix's `smtp-sink`, which accepts every letter and counts it. The mail server
//! stops when this value is dropped, and also when this process ends in any way.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A running mail server.
pub struct Mailbox {
    address: SocketAddr,
    folder: PathBuf,
    process: Option<Child>,
    /// The number of letters so far, and the time of the last one.
    came: Arc<Mutex<(usize, Instant)>>,
}

impl Mailbox {
    /// Starts a mail server that keeps each letter as a file in this folder. It is too slow to measure with.
    pub fn keeping(folder: PathBuf) -> Result<Mailbox> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
        let came = Arc::new(Mutex::new((0, Instant::now())));
        let mut mailbox = Mailbox { address, folder, process: None, came };
        mailbox.start("-d letter.")?;
        Ok(mailbox)
    }
    /// Restarts it, so that it keeps no letters and counts from zero.
    pub fn only_count(&mut self) -> Result<()> {
        self.stop();
        self.came = Arc::new(Mutex::new((0, Instant::now())));
        self.start("-c")
    }
    fn start(&mut self, how: &str) -> Result<()> {
        let is_root = Command::new("id").arg("-u").output()?.stdout == b"0\n";
        let user = if is_root { "-u nobody" } else { "" };
        // The shell waits for the end of its input. That comes when `stop` closes it, and when this process dies.
        let line = format!(
            "PATH=$PATH:/usr/sbin; smtp-sink {user} {how} {} 256 & pid=$!; cat >/dev/null; kill -9 $pid; wait $pid",
            self.address
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(&self.folder).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("starting smtp-sink")?;
        let said = child.stdout.take().context("its output was piped")?;
        self.process = Some(child);
        let came = Arc::clone(&self.came);
        std::thread::spawn(move || count(said, &came));
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(self.address).is_err() {
            ensure!(Instant::now() < until, "smtp-sink is needed for this measurement (Debian: postfix)");
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }
    fn stop(&mut self) {
        if let Some(mut child) = self.process.take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
    /// The value of the server's setting `SMTP_URL` for this mail server.
    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }
    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// The number of letters since [`Self::only_count`], and the time of the last one.
    pub fn came(&self) -> (usize, Instant) {
        *self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Waits for the first kept letter and gives it as it was sent.
    pub fn letter(&self) -> Result<Vec<u8>> {
        let until = Instant::now() + PATIENCE;
        loop {
            let files = std::fs::read_dir(&self.folder)?.collect::<std::io::Result<Vec<_>>>()?;
            for file in files {
                let bytes = std::fs::read(file.path())?;
                // The file begins with lines about the delivery, and a complete one ends with an empty line.
                if let Some(at) = find(&bytes, b"\nMessage-ID:")
                    && bytes.ends_with(b"\n\n")
                {
                    return Ok(String::from_utf8(bytes[at + 1..].to_vec())?.replace('\n', "\r\n").into_bytes());
                }
            }
            if Instant::now() > until {
                bail!("no letter came");
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads the counters of `smtp-sink`: it prints `sess=3 quit=3 mesg=3` and a carriage return after each change.
fn count(mut said: impl Read, came: &Mutex<(usize, Instant)>) {
    let (mut block, mut line) = ([0; 4_096], Vec::new());
    while let Ok(read @ 1..) = said.read(&mut block) {
        for byte in &block[..read] {
            if *byte != b'\r' {
                line.push(*byte);
                continue;
            }
            let letters =
                String::from_utf8_lossy(&line).rsplit_once("mesg=").and_then(|(_, count)| count.trim().parse().ok());
            line.clear();
            let mut came = came.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(letters) = letters
                && letters > came.0
            {
                *came = (letters, Instant::now());
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Sends a letter as the product does, on a new connection.
pub fn send(to: SocketAddr, letter: &[u8]) -> Result<()> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    answered(&mut stream, b"220")?;
    for (said, answer) in [
        ("EHLO bench.example", "250"),
        ("MAIL FROM:<a@bench.example>", "250"),
        ("RCPT TO:<b@bench.example>", "250"),
        ("DATA", "354"),
    ] {
        stream.write_all(format!("{said}\r\n").as_bytes())?;
        answered(&mut stream, answer.as_bytes())?;
    }
    stream.write_all(letter)?;
    stream.write_all(b"\r\n.\r\n")?;
    answered(&mut stream, b"250")?;
    stream.write_all(b"QUIT\r\n")?;
    Ok(())
}

/// Reads an answer up to its last line, which has a space after its number.
fn answered(stream: &mut TcpStream, wanted: &[u8]) -> Result<()> {
    let (mut block, mut said) = ([0; 1_024], Vec::new());
    loop {
        let read = stream.read(&mut block)?;
        ensure!(read > 0, "the mail server closed the connection");
        said.extend_from_slice(&block[..read]);
        let mut lines = said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let last = lines.next_back().unwrap_or_default();
        if said.ends_with(b"\n") && last.get(3) == Some(&b' ') {
            ensure!(last.starts_with(wanted), "the mail server said {}", String::from_utf8_lossy(last).trim());
            return Ok(());
        }
    }
}

/// Writes an object as the product does: it writes and syncs a draft file, renames it, and syncs the folder.
pub fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (draft, path) = (folder.join(format!("{name}#1")), folder.join(name));
    let mut file = std::fs::File::create(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&draft, &path)?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}
