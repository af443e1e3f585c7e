//! A private PostgreSQL server for tests, with its own data folder and socket. It is removed when the test process
//! ends.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot have its server fails, loudly")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use admit_store_queries::contents::{Contents, HISTORY};
use tokio_postgres::{Client, NoTls};

use crate::driver::read_row;
use crate::scratch;

/// A running server. It stops when it is dropped, and when the process that started it ends in any way.
pub struct Server {
    folder: PathBuf,
    /// The data folder of the server: in `folder`, or in a folder that the test chose.
    data: PathBuf,
    /// Additional settings in the form of command line arguments.
    settings: String,
    bin: PathBuf,
    user: Option<String>,
    fsync: bool,
    /// The TCP port with TLS; `None`: the server listens on its socket only.
    port: Option<u16>,
    process: Mutex<Option<Child>>,
    databases: AtomicU32,
}

/// The OpenSSL configuration for the self-signed certificate of a server with TLS.
const CERTIFICATE: &str = "[req]\ndistinguished_name=name\nx509_extensions=more\nprompt=no\n[name]\nCN=localhost\n\
                           [more]\nsubjectAltName=DNS:localhost\nbasicConstraints=critical,CA:FALSE\n";

/// The server that all tests of this process share. It runs without fsync.
pub fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(false))
}

fn bin() -> PathBuf {
    let in_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = debian.map(|entry| entry.path().join("bin")).collect();
    debian.sort();
    let mut folders = debian.into_iter().rev().chain(in_path.into_iter().flatten());
    let found = folders.find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists());
    found.expect("PostgreSQL's initdb and postgres are needed for these tests (Debian: postgresql)")
}

/// The user that runs the server when this process is root, because PostgreSQL refuses root; else `None`.
fn other_user() -> Option<(String, u32)> {
    let id = |args: &[&str]| -> Option<u32> {
        let output = Command::new("id").args(args).stderr(Stdio::null()).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    if id(&["-u"]) != Some(0) {
        return None;
    }
    let user = ["postgres", "nobody"].into_iter().find_map(|name| Some((name.to_owned(), id(&["-u", name])?)));
    Some(user.expect("as root, a user named postgres or nobody is needed to run PostgreSQL"))
}

impl Server {
    /// Makes a data folder and starts a server on it.
    pub fn start(fsync: bool) -> Self {
        Self::make(fsync, None, None, "")
    }
    /// Starts a server with fsync whose data is in a new folder `data`, with more settings in the form of command line
    /// arguments.
    pub fn start_at(data: PathBuf, settings: &str) -> Self {
        Self::make(true, None, Some(data), settings)
    }
    /// Starts a server without fsync, with TLS on a free port. It needs `openssl`, as Debian's PostgreSQL does.
    pub fn start_with_tls() -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        Self::make(false, Some(free.expect("a free port").port()), None, "")
    }
    fn make(fsync: bool, port: Option<u16>, data: Option<PathBuf>, settings: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("admit-pg-").tempdir().expect("a folder").keep();
        let user = other_user();
        let data = data.unwrap_or_else(|| folder.join("data"));
        std::fs::create_dir_all(&data).expect("a folder");
        if let Some((_, uid)) = &user {
            for given in [&folder, &data] {
                std::os::unix::fs::chown(given, Some(*uid), None).expect("giving the folder away");
            }
        }
        let server = Self {
            bin: bin(),
            user: user.map(|(name, _)| name),
            fsync,
            port,
            process: Mutex::new(None),
            databases: AtomicU32::new(0),
            settings: settings.to_owned(),
            data,
            folder,
        };
        // If fsync matters, the files of the new data folder must be on the disk too.
        let flushed = if fsync { "" } else { "--no-sync" };
        let init = server
            .command(&format!(
                "{} -D {} -U admin -A trust -E UTF8 --locale=C.UTF-8 {flushed}",
                server.bin.join("initdb").display(),
                server.data.display()
            ))
            .stdout(Stdio::null())
            .status()
            .expect("running initdb");
        assert!(init.success(), "initdb failed");
        if server.port.is_some() {
            std::fs::write(server.folder.join("certificate.cnf"), CERTIFICATE).expect("a file");
            let made = server
                .command(
                    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                     -config certificate.cnf -keyout key.pem -out certificate.pem 2>/dev/null && chmod 600 key.pem",
                )
                .status();
            assert!(made.expect("running openssl").success(), "openssl made no certificate");
        }
        server.run();
        server.admin("CREATE ROLE admit LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE");
        server
    }
    fn command(&self, line: &str) -> Command {
        let mut command = match &self.user {
            Some(user) => {
                let mut command = Command::new("runuser");
                command.args(["-u", user, "--", "sh", "-c", line]);
                command
            }
            None => {
                let mut command = Command::new("sh");
                command.args(["-c", line]);
                command
            }
        };
        command.current_dir(&self.folder);
        command
    }
    fn run(&self) {
        let fsync = if self.fsync { "on" } else { "off" };
        // The shell waits for the end of its input. The input ends when we stop the server (the data then stays), and
        // when this process dies.
        let folder = self.folder.display();
        let network = match self.port {
            Some(port) => format!(
                "-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on -c ssl_cert_file={folder}/certificate.pem \
                 -c ssl_key_file={folder}/key.pem"
            ),
            None => "-c listen_addresses=''".to_owned(),
        };
        let line = format!(
            "{} -D {} -k {} {network} -c fsync={fsync} -c full_page_writes={fsync} -c max_connections=300 \
             -c shared_buffers=128MB {} >>{}/log 2>&1 & pid=$!; said=$(cat); kill -INT $pid 2>&-; wait $pid; \
             [ \"$said\" = keep ] || rm -rf {}",
            self.bin.join("postgres").display(),
            self.data.display(),
            self.folder.display(),
            self.settings,
            self.folder.display(),
            self.folder.display()
        );
        let child = self.command(&line).stdin(Stdio::piped()).spawn().expect("starting PostgreSQL");
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let until = Instant::now() + Duration::from_secs(20);
        while self.try_admin("SELECT 1").is_err() {
            if Instant::now() > until {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                panic!("PostgreSQL does not start:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    /// Stops the server, ending every connection.
    pub fn stop(&self) {
        let child = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut child) = child {
            if let Some(mut input) = child.stdin.take() {
                let _ = input.write_all(b"keep");
            }
            let _ = child.wait();
        }
    }
    /// The ids of the server's processes, the main process first.
    pub fn processes(&self) -> Vec<u32> {
        let lines = std::fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
        let Some(first) = lines.lines().next().and_then(|line| line.parse().ok()) else { return Vec::new() };
        let is_child = |pid: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
            parent == Some(first)
        };
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        [first].into_iter().chain(all.filter(is_child)).collect()
    }
    /// Starts it again after [`Server::stop`].
    pub fn start_again(&self) {
        self.run();
    }
    fn address(&self, user: &str, database: &str) -> String {
        let port = self.port.map_or_else(String::new, |port| format!(" port={port}"));
        format!("host={}{port} user={user} dbname={database}", self.folder.display())
    }
    /// The address of the same database over TCP instead of the socket.
    pub fn by_network(&self, address: &str) -> String {
        address.replace(&format!("host={}", self.folder.display()), "host=localhost")
    }
    /// The file of the self-signed certificate of a server with TLS.
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("certificate.pem")
    }
    /// Runs SQL as the superuser, in the database `postgres`.
    pub fn admin(&self, sql: &str) {
        self.try_admin(sql).expect("SQL as the superuser");
    }
    fn try_admin(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        run_sql(&self.address("admin", "postgres"), sql)
    }
    /// Makes an empty database owned by a plain role, and gives its address.
    pub fn database(&self) -> String {
        let name = format!("admit_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.admin(&format!("CREATE DATABASE {name} OWNER admit"));
        self.address("admit", &name)
    }
    /// Copies the content of a database's tables under a name, and replaces an earlier copy of that name.
    pub fn keep(&self, address: &str, name: &str) {
        run_sql(&self.as_superuser(address), &scratch::keep(name)).expect("copying every table");
    }
    /// Replaces the content of a database's tables by the copy that [`Self::keep`] made, without triggers and row level
    /// security.
    pub fn put_back(&self, address: &str, name: &str) {
        run_sql(&self.as_superuser(address), &scratch::put_back(name)).expect("copying every table");
    }
    /// Every row of every table of a database.
    pub fn contents(&self, address: &str) -> Contents {
        let read = self.whole(&self.as_superuser(address));
        read.expect("reading a whole database")
    }
    fn whole(&self, address: &str) -> Result<Contents, tokio_postgres::Error> {
        with_client(address, async |client| {
            let mut out = Contents::default();
            let tables = "SELECT relname::text FROM pg_class WHERE relkind = 'r'
                AND relnamespace = 'public'::regnamespace AND relname <> $1";
            for table in client.query(tables, &[&HISTORY]).await? {
                let table: String = table.get(0);
                let mut rows = Vec::new();
                for row in client.query(&format!("SELECT * FROM {table}"), &[]).await? {
                    let names = row.columns().iter().map(|column| column.name().to_owned());
                    rows.push(names.zip(read_row(&row)?.into_values()).collect());
                }
                out.table(&table, rows);
            }
            Ok(out)
        })
    }
    /// The address of the same database for the superuser, a role that the store refuses.
    pub fn as_superuser(&self, address: &str) -> String {
        address.replace("user=admit", "user=admin")
    }
    /// One of PostgreSQL's own programs, such as `pg_dump`.
    pub fn tool(&self, name: &str) -> Command {
        Command::new(bin().join(name))
    }
    /// The folder of the server with its data, its socket and its log.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Runs SQL on a new connection. Don't call it from inside an async runtime.
pub fn run_sql(address: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
    with_client(address, async |client| client.batch_execute(sql).await)
}

fn with_client<T: Send>(
    address: &str,
    work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error> + Send,
) -> Result<T, tokio_postgres::Error> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
            let driving = tokio::spawn(connection);
            let result = work(&client).await;
            drop(client);
            let _ = driving.await;
            result
        })
    };
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap_or_else(|_| panic!("running SQL panicked"))
}

/// Every row of every table of a database, as committed now: the table's name, a space, the row as JSON. The lines are
/// sorted. It reads as the superuser, from whom no row is hidden. Don't call it from an async runtime's only thread.
pub fn rows(address: &str) -> Vec<String> {
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(address, NoTls).await?;
            let driving = tokio::spawn(connection);
            let names =
                "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace";
            let mut all = Vec::new();
            for name in client.query(names, &[]).await? {
                let name: String = name.get(0);
                let lines = client.query(&format!("SELECT row_to_json(one)::text FROM \"{name}\" AS one"), &[]).await?;
                all.extend(lines.iter().map(|line| format!("{name} {}", line.get::<_, String>(0))));
            }
            drop(client);
            let _ = driving.await;
            all.sort();
            Ok::<_, tokio_postgres::Error>(all)
        })
    };
    let read = std::thread::scope(|scope| scope.spawn(work).join());
    read.unwrap_or_else(|_| panic!("reading the rows panicked")).expect("the rows are read")
}

impl Drop for Server {
    fn drop(&mut self) {
        // A failed test may leave the processes suspended, and a suspended process cannot be stopped.
        for pid in self.processes() {
            let _ = Command::new("kill").args(["-CONT", &pid.to_string()]).output();
        }
        self.stop();
        // If this process is root, another user owns the folder; root may remove it all the same.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
