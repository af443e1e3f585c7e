//! A Redis for this test process, on a free port and without files. It ends with the process, however that ends. The
//! tests of the binary include this file too.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A Redis that a test can stop, empty, delay and start again.
pub struct Redis {
    port: u16,
    process: Mutex<Option<Child>>,
}

/// The Redis that is shared by tests which do not disturb it.
pub fn shared() -> &'static Redis {
    static REDIS: OnceLock<Redis> = OnceLock::new();
    REDIS.get_or_init(Redis::start)
}

impl Redis {
    /// Starts one.
    pub fn start() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let redis = Self { port: free, process: Mutex::new(None) };
        redis.start_again();
        redis
    }
    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
    /// Starts it again after [`Redis::stop`], without content.
    pub fn start_again(&self) {
        // The shell waits for the end of its input, which comes when we stop it and when this process dies without
        // running destructors. So the shell creates the folder (`mktemp` fills in the XXXXXX) and removes it.
        let line = format!(
            "dir=$(mktemp -d -t admit-redis-XXXXXX); \
             redis-server --port {} --bind 127.0.0.1 --save '' --appendonly no --dir \"$dir\" >/dev/null & pid=$!; \
             cat >/dev/null; kill -CONT $pid; kill -9 $pid; wait $pid; rm -r \"$dir\"",
            self.port,
        );
        let child = Command::new("sh").args(["-c", &line]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        *self.lock() = Some(child);
        let until = Instant::now() + Duration::from_secs(10);
        while self.try_say("PING").as_deref() != Some("+PONG") {
            assert!(Instant::now() < until, "redis-server is needed for these tests (Debian: redis-server)");
            std::thread::sleep(Duration::from_millis(10)); // tidy-allow: the pause of a poll loop
        }
    }
    /// Kills it. Its content is lost.
    pub fn stop(&self) {
        if let Some(mut child) = self.lock().take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
    /// Delays every command by this time.
    pub fn hold_up(&self, time: Duration) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("CLIENT PAUSE {} ALL\r\n", time.as_millis()).as_bytes()).unwrap();
        let mut said = [0; 5];
        stream.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"+OK\r\n");
    }
    /// Runs a command of plain words, and gives the first line of its answer.
    pub fn say(&self, words: &str) -> String {
        self.try_say(words).unwrap_or_else(|| panic!("Redis does not answer {words}"))
    }
    fn try_say(&self, words: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(format!("{words}\r\nQUIT\r\n").as_bytes()).ok()?;
        let mut said = String::new();
        stream.read_to_string(&mut said).ok()?;
        Some(said.strip_suffix("+OK\r\n")?.trim_end().to_owned())
    }
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}
