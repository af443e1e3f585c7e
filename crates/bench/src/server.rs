//! The real binary as a process of its own, with its own folder and port.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::http::{Connection, request};
use crate::run::Run;

/// The longest time until a server is ready. The first start of the demo makes 20,000 tickets.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The account of the organisation's owner.
#[derive(Debug, Clone, Deserialize)]
pub struct Account {
    /// The e-mail address.
    pub email: String,
    /// The password in plain text.
    pub password: String,
}

/// The data that a server works on.
#[derive(Debug, Clone)]
pub struct Data {
    /// The data folder.
    pub folder: PathBuf,
    /// The address of the PostgreSQL database. `None` if the SQLite database in the folder is used.
    pub database_url: Option<String>,
}

/// The line that `admit demo --json` prints (spec §8).
#[derive(Debug, Clone, Deserialize)]
pub struct Demo {
    /// The account of the demo's owner.
    #[serde(flatten)]
    pub account: Account,
    /// The id of the demo's event.
    pub event_id: String,
    /// The ids of the event's gates.
    pub gates: Vec<String>,
}

/// A running server. It ends when this value is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// The address on which it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts `admit demo --json` on a folder. Gives the server and the printed line.
    pub fn demo(run: &Run, folder: &Path) -> Result<(Server, Demo)> {
        let address = free_address()?;
        let port = address.port().to_string();
        let mut command = command(run, folder)?;
        command.args(["demo", "--json", "--port", &port, "--data-dir"]).arg(folder).stdout(Stdio::piped());
        let mut child = command.spawn().context("starting the demo")?;
        let stdout = child.stdout.take().context("the demo's output was piped")?;
        let mut server = Server { child, address };
        let mut said = None;
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            if line.starts_with('{') && line.contains("\"api_token\"") {
                said = Some(serde_json::from_str(&line).context("the demo's line")?);
                break;
            }
        }
        let Some(demo) = said else { bail!("the demo printed no line about itself; see {}", log_of(folder).display()) };
        server.wait_ready(folder)?;
        Ok((server, demo))
    }

    /// Starts `admit serve` on a folder, with SQLite.
    pub fn serve(run: &Run, folder: &Path) -> Result<Server> {
        Server::serve_on(run, &Data { folder: folder.to_owned(), database_url: None })
    }

    /// Starts `admit serve` on a folder and its database.
    pub fn serve_on(run: &Run, data: &Data) -> Result<Server> {
        Server::serve_with(run, data, &[])
    }

    /// Starts `admit serve` with further settings, given as (environment variable, value).
    pub fn serve_with(run: &Run, data: &Data, settings: &[(&str, String)]) -> Result<Server> {
        let address = free_address()?;
        let mut command = command(run, &data.folder)?;
        command.envs(settings.iter().map(|(name, value)| (name, value)));
        on(&mut command, data).arg("serve").stdout(Stdio::null()).env("ADMIT_LISTEN", address.to_string());
        let child = command.spawn().context("starting the server")?;
        let mut server = Server { child, address };
        server.wait_ready(&data.folder)?;
        Ok(server)
    }

    /// Makes an organisation with an owner by `admit user add`. Gives the owner's account.
    pub fn found(run: &Run, data: &Data) -> Result<Account> {
        let account = Account { email: "owner@bench.test".to_owned(), password: "a long enough password".to_owned() };
        let mut command = command(run, &data.folder)?;
        on(&mut command, data).args(["user", "add", "--organization", "Bench", "--password-stdin"]);
        command.args(["--email", &account.email]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().context("making an organisation")?;
        child.stdin.take().context("its input was piped")?.write_all(format!("{}\n", account.password).as_bytes())?;
        let status = child.wait()?;
        ensure!(status.success(), "no organisation was made; see {}", log_of(&data.folder).display());
        Ok(account)
    }

    fn wait_ready(&mut self, folder: &Path) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let ask = request("GET", "/readyz", &[], b"");
        loop {
            let answer = Connection::open(self.address).and_then(|mut connection| connection.send(&ask));
            if answer.is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status}; see {}", log_of(folder).display());
            }
            if Instant::now() > deadline {
                bail!("the server was not ready after {} s; see {}", PATIENCE.as_secs(), log_of(folder).display());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Opens a new connection to this server.
    pub fn connect(&self) -> Result<Connection> {
        Connection::open(self.address)
    }

    /// The resident memory now and its peak so far, both in MB.
    pub fn memory_mb(&self) -> Result<(f64, f64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let field = |name: &str| -> Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
            Ok(kilobytes.with_context(|| format!("{name} is not told here"))? * 1024.0 / 1e6)
        };
        Ok((field("VmRSS:")?, field("VmHWM:")?))
    }

    /// Resets the peak of the resident memory. By proc(5), "5 resets the peak resident set size".
    pub fn forget_peak(&self) -> Result<()> {
        let file = format!("/proc/{}/clear_refs", self.child.id());
        std::fs::write(&file, "5").with_context(|| format!("writing {file}"))
    }

    /// The processor time that all its threads have used so far, in seconds.
    pub fn processor_s(&self) -> Result<f64> {
        /// Clock ticks per second in `/proc/{pid}/stat`, which are 100 on every Linux.
        const TICKS_A_SECOND: f64 = 100.0;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name is in brackets and may contain anything. User and kernel time are the 12th and 13th field after it.
        let (_, after) = stat.rsplit_once(')').context("a process without a name")?;
        let times: Vec<f64> = after.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
        Ok(times.iter().sum::<f64>() / TICKS_A_SECOND)
    }

    /// Sends SIGTERM and waits until the process has ended.
    pub fn stop(mut self) -> Result<()> {
        let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status()?;
        if asked.success() {
            self.child.wait()?;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `stop` the process is already gone. After an error this ends it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command of the binary without the settings of this shell. Its errors go to a log file next to the folder.
fn command(run: &Run, folder: &Path) -> Result<Command> {
    let mut command = Command::new(run.binary()?);
    let data = ["DATABASE_URL", "REDIS_URL", "PUBLIC_URL", "ADMIT_SECRET", "ADMIT_DATA_DIR", "ADMIT_LISTEN"];
    for name in data.into_iter().chain(["SMTP_URL", "SMTP_FROM", "OBJECTS_URL", "OBJECTS_PUBLIC_URL", "ADMIT_NODE"]) {
        command.env_remove(name);
    }
    let log = log_of(folder);
    let log = File::create(&log).with_context(|| format!("making {}", log.display()))?;
    command.env("ADMIT_SYNCS_PER_MINUTE", "1000000").stdin(Stdio::null()).stderr(log);
    // As in the unit of the package and in the container's image (decision 021).
    command.env("MIMALLOC_PURGE_DELAY", "10");
    Ok(command)
}

/// Sets the folder and the database of a command.
fn on<'c>(command: &'c mut Command, data: &Data) -> &'c mut Command {
    command.env("ADMIT_DATA_DIR", &data.folder);
    if let Some(url) = &data.database_url {
        command.env("DATABASE_URL", url).env("ADMIT_SECRET", "the secret of servers that are measured");
    }
    command
}

fn log_of(folder: &Path) -> PathBuf {
    folder.with_extension("log")
}

/// An address whose port was free a moment ago.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
