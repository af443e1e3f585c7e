//! A Redis for this test process, on a free port and without files. It ends with the process, however that ends. The
//! tests of the binary include this file too.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// A Redis that a test can stop, empty, delay and start again.
pub struct Redis {
    port: u16,
    tls: Option<Tls>,
    process: Mutex<Option<Child>>,
}

/// The second port of a Redis, which speaks TLS.
struct Tls {
    port: u16,
    /// Holds `ca.pem`, `cert.pem` and `key.pem`.
    folder: tempfile::TempDir,
}

/// The Redis that is shared by tests which do not disturb it.
pub fn shared() -> &'static Redis {
    static REDIS: OnceLock<Redis> = OnceLock::new();
    REDIS.get_or_init(Redis::start)
}

impl Redis {
    /// Starts one.
    pub fn start() -> Self {
        Self::start_with(None)
    }
    /// Starts one that speaks TLS too. An authority that no machine knows signed its certificate.
    pub fn start_with_tls() -> Self {
        Self::start_with(Some(Tls::new()))
    }
    fn start_with(tls: Option<Tls>) -> Self {
        let redis = Self { port: free_port(), tls, process: Mutex::new(None) };
        redis.start_again();
        redis
    }
    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
    /// Its address by TLS.
    pub fn tls_url(&self) -> String {
        format!("rediss://127.0.0.1:{}", self.tls().port)
    }
    /// The file (PEM) of the authority that signed its certificate.
    pub fn authority(&self) -> PathBuf {
        self.tls().folder.path().join("ca.pem")
    }
    fn tls(&self) -> &Tls {
        self.tls.as_ref().expect("start_with_tls")
    }
    /// Starts it again after [`Redis::stop`], without content.
    pub fn start_again(&self) {
        // The shell waits for the end of its input, which comes when we stop it and when this process dies without
        // running destructors. So the shell creates the folder (`mktemp` fills in the XXXXXX) and removes it.
        let line = format!(
            "dir=$(mktemp -d -t admit-redis-XXXXXX); \
             redis-server --port {} {} --bind 127.0.0.1 --save '' --appendonly no --dir \"$dir\" >/dev/null & pid=$!; \
             cat >/dev/null; kill -CONT $pid; kill -9 $pid; wait $pid; rm -r \"$dir\"",
            self.port,
            self.tls.as_ref().map(Tls::arguments).unwrap_or_default(),
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

impl Tls {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("admit-redis-tls-").tempdir().unwrap();
        let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut ca = CertificateParams::default();
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let cert = params.signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
        for (name, pem) in [("ca.pem", ca_pem), ("cert.pem", cert.pem()), ("key.pem", key.serialize_pem())] {
            std::fs::write(folder.path().join(name), pem).unwrap();
        }
        Self { port: free_port(), folder }
    }
    /// The arguments of `redis-server` for this port.
    fn arguments(&self) -> String {
        let folder = self.folder.path().display();
        format!(
            "--tls-port {} --tls-auth-clients no --tls-cert-file '{folder}/cert.pem' --tls-key-file '{folder}/key.pem' \
             --tls-ca-cert-file '{folder}/ca.pem'",
            self.port
        )
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
