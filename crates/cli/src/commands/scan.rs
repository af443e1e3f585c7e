//! `admit scan`: a scanner for a terminal, a Raspberry Pi with a USB reader, or a turnstile. It runs the phone's
//! engine (`crates/core/src/device/engine.rs`) and carries out the engine's effects.

mod clean;
mod lines;
#[cfg(target_os = "linux")]
mod keys;
mod words;
mod told;
mod screen;
mod hook;
mod http;
#[cfg(target_os = "linux")]
mod device;
mod input;
mod scanner;
mod door;

use std::fs;
use std::io::{IsTerminal as _, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use admit_core::wire::engine::{Input, Phase};
use anyhow::{Context as _, bail};
use clap::Args;
use reqwest::Url;

use self::door::{Answers, Door, End, Party, Plan, Tells, Unasked};
use self::hook::Hooks;
use self::input::Source;
use self::scanner::Scanner;
use self::screen::Look;
use crate::say::say;

/// `admit scan`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit scan --journal door.journal --pair 'https://tickets.example.org/scan/#pair=TOKEN'
  admit scan --journal door.journal
  admit scan --journal door.journal --input evdev:/dev/input/event3 --party one --on-admit '/usr/local/bin/relay open'
  admit scan --journal door.journal --input serial:/dev/ttyUSB0@9600 --json
  echo TICKET-1 | admit scan --journal door.journal --once --json

Hooks:
  The command is split at blanks and started without a shell, after the scan is flushed to the disk. It gets the verdict as
  one line of JSON on standard input, and as ADMIT_VERDICT (admit or refuse), ADMIT_SCREEN, ADMIT_REASON, ADMIT_QUESTION,
  ADMIT_COUNT, ADMIT_KIND (entry or exit), ADMIT_SCAN_ID, ADMIT_TICKET_ID, ADMIT_NAME, ADMIT_ZONE, ADMIT_GATE,
  ADMIT_PRACTICE and ADMIT_ONLINE in its environment. It is ended after 10 seconds. Scanning never waits for it. The same
  ticket again within a minute and the sample code start no hook.

Exit codes:
  0  it was stopped, or the input ended; with --once: somebody was let in or out
  1  with --once: nobody was
  2  an error: not paired, no list, the journal is in use or cannot be written")]
pub struct Scan {
    /// File with this scanner's key, scans and ticket list. It is made if it is missing. Keep it, because it holds the
    /// scans that were not sent.
    #[arg(long, value_name = "FILE")]
    journal: PathBuf,
    /// Pair first, with the link from the organiser's app, or with its token and --server.
    #[arg(long, value_name = "LINK", conflicts_with = "ask")]
    pair: Option<String>,
    /// Ask the server to be paired, and print the code with which an organiser approves this device. The first time it
    /// needs --server.
    #[arg(long)]
    ask: bool,
    /// Address of the server. Needed if no pairing link contains it.
    #[arg(long, value_name = "URL")]
    server: Option<Url>,
    /// Name that staff use for this scanner. Without it the server names it after its gate.
    #[arg(long, default_value = "", hide_default_value = true)]
    name: String,
    /// Reader of the codes: stdin, evdev:/dev/input/eventN or serial:/dev/ttyUSB0@9600.
    #[arg(long, default_value = "stdin")]
    input: Source,
    /// How many persons of a party go in. Without it a terminal asks, and any other input lets one in.
    #[arg(long, value_enum)]
    party: Option<Party>,
    /// Behaviour if the area behind the gate is full.
    #[arg(long, value_enum, default_value_t = Unasked::Refuse)]
    full: Unasked,
    /// What to do with a guest whose flag asks staff to look at the guest first.
    #[arg(long, value_enum, default_value_t = Unasked::Refuse)]
    check: Unasked,
    /// Print each verdict as one line of JSON.
    #[arg(long)]
    json: bool,
    /// Read one code. The exit code tells whether somebody goes in: 0 for yes, 1 for no, 2 for an error.
    #[arg(long)]
    once: bool,
    /// Command to run when somebody is let in or out.
    #[arg(long, value_name = "COMMAND")]
    on_admit: Option<String>,
    /// Command to run when nobody is let in or out.
    #[arg(long, value_name = "COMMAND")]
    on_refuse: Option<String>,
    /// Store guests' names in the journal file, where its owner can read them. Without it they are in memory only, and
    /// a start without a network shows none.
    #[arg(long)]
    keep_names: bool,
    /// Most time that the last upload may take when the command stops, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    last_sync: u64,
}

/// The exit code of an error. The code 1 means that nobody goes in.
const FAILED: u8 = 2;
/// The age from which a code of a hardware reader gets no verdict, because another guest may stand there by now.
const LATE: Duration = Duration::from_millis(1_500);
/// The width of a terminal, in characters, if it is not known.
const WIDTH: usize = 80;

impl Scan {
    /// Scans until it is stopped.
    pub async fn run(self) -> ExitCode {
        match self.scan().await {
            Ok(End::Done) => ExitCode::SUCCESS,
            Ok(End::Refused) => ExitCode::FAILURE,
            Ok(End::Failed) => ExitCode::from(FAILED),
            Err(error) => {
                say(format_args!("{error:#}"));
                ExitCode::from(FAILED)
            }
        }
    }

    async fn scan(self) -> anyhow::Result<End> {
        let plan = self.plan()?;
        let server = self.server.as_ref().map(origin).transpose()?;
        let pairing = self.pairing(server.as_deref())?;
        let _lock = lock(&self.journal)?;
        let scanner = Scanner::start(&self.journal, server, self.keep_names)?;
        if pairing.is_none() && scanner.0.view().is_none_or(|view| view.phase == Phase::Unpaired) {
            bail!(
                "{} is not paired yet. Pair it: admit scan --journal {} --pair LINK",
                self.journal.display(),
                self.journal.display()
            );
        }
        let hooks = Hooks::new(self.on_admit.as_deref(), self.on_refuse.as_deref());
        let mut door = Door::new(scanner, input::open(&self.input)?, hooks, plan)?;
        if let Some(pairing) = pairing {
            door.pair(pairing)?;
        }
        door.run().await
    }

    fn plan(&self) -> anyhow::Result<Plan> {
        let typed = self.input == Source::Stdin;
        let terminal = typed && stdin().is_terminal() && stdout().is_terminal();
        let asks = terminal && !self.json && !self.once;
        let party = self.party.unwrap_or(if asks { Party::Ask } else { Party::One });
        if party == Party::Ask && (!typed || self.once) {
            bail!("--party ask needs somebody who types: use it with --input stdin and without --once");
        }
        let colour = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let look = Look { colour, width: width() };
        Ok(Plan {
            answers: Answers { party, full: self.full, check: self.check },
            tells: if self.json { Tells::Json } else { Tells::Screen(look) },
            once: self.once,
            late: (!typed).then_some(LATE),
            last_sync: Duration::from_secs(self.last_sync),
        })
    }

    fn pairing(&self, server: Option<&str>) -> anyhow::Result<Option<Input>> {
        let name = self.name.clone();
        match (&self.pair, server) {
            (Some(link), _) if link.contains("://") => Ok(Some(Input::Pair { code: link.clone(), name })),
            (Some(token), Some(server)) => Ok(Some(Input::Pair { code: format!("{server}/scan/#pair={token}"), name })),
            (Some(_), None) => bail!("a token alone names no server: give --server, or the whole link"),
            (None, _) if self.ask => Ok(Some(Input::AskPairing { name })),
            (None, _) => Ok(None),
        }
    }
}

/// Scheme, host and port of the server's address.
fn origin(url: &Url) -> anyhow::Result<String> {
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        bail!("--server must be an address that begins with https:// or http://");
    }
    Ok(url.origin().ascii_serialization())
}

/// Makes sure that only this process scans with the journal, until the returned file is dropped. Two processes would
/// give the same place in the log to two scans.
fn lock(journal: &Path) -> anyhow::Result<fs::File> {
    let mut name = journal.as_os_str().to_owned();
    name.push(".lock");
    let path = PathBuf::from(name);
    let mut options = fs::File::options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).with_context(|| format!("opening {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => bail!(
            "another process scans with {}: stop it first, or choose another file with --journal",
            journal.display()
        ),
        Err(fs::TryLockError::Error(error)) => Err(error).with_context(|| format!("locking {}", path.display())),
    }
}

/// The width of the terminal, in characters.
fn width() -> usize {
    #[cfg(target_os = "linux")]
    if let Ok(size) = rustix::termios::tcgetwinsize(stdout())
        && size.ws_col > 0
    {
        return usize::from(size.ws_col);
    }
    WIDTH
}
