//! `admit migrate-store`: moves all data of one database into another, of the same or the other kind.
//!
//! 1. It opens both databases, and makes sure that nobody else uses them.
//! 2. It compares their schemas.
//! 3. It checks that the target has no organisation.
//! 4. It copies every table in one transaction of the target.
//! 5. Inside that transaction it verifies the copy: rows and digests, the ledgers' chains, derived rows against the
//!    facts.
//! 6. Only then does it commit.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use admit_app::audits;
use admit_app::ports::App;
use admit_app::scans::rebuild;
use admit_app::secret::Secret;
use admit_core::ids::{EventId, OrganizationId};
use admit_server::{AppState, Settings};
use admit_store_postgres::moving::{PgSide, shown};
use admit_store_queries::Uncommitted;
use admit_store_queries::moving::{Moved, Planned, Side, copy, occupied, plan};
use admit_store_sqlite::moving::SqliteSide;
use anyhow::{Context, bail};
use clap::Args;
use futures_util::FutureExt as _;
use serde_json::{Value, json};

use crate::parts;
use crate::progress::Progress;
use crate::settings::{DATABASE_FILE, Place, SECRET_FILE, give_to_folders_owner};

/// `admit migrate-store`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit migrate-store --from ./data --to postgres://admit@db.example.org/admit
  admit migrate-store --from postgres://admit@db.example.org/admit --to ./data-new

Stop every server of both databases first. The target is empty, or holds no organisation yet. Either everything is
moved and verified, or the target stays as it was.

These move with it, by hand: ADMIT_SECRET, which stays the same (the file `secret` of a data folder); the pictures of
passes (OBJECTS_URL, or the folder `objects` of a data folder), which can be made again; the local certificate authority
of a data folder (tls), which phones trust.

Exit codes: 0 moved, 1 not moved.")]
pub struct MigrateStore {
    /// Database to copy from: a data folder, or the address of a PostgreSQL.
    #[arg(long, env = "MIGRATE_FROM", hide_env_values = true)]
    from: Database,
    /// Database to copy to: a data folder, which is made if it is missing, or the address of a PostgreSQL.
    #[arg(long, env = "MIGRATE_TO", hide_env_values = true)]
    to: Database,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// One end of a move: the source or the target.
#[derive(Clone, PartialEq, Eq)]
enum Database {
    /// The embedded database of a data folder.
    Folder(PathBuf),
    /// The address of a PostgreSQL database.
    Postgres(String),
}

impl std::str::FromStr for Database {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let is_postgres = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        let has_words =
            ["host=", "dbname="].iter().any(|word| text.split_whitespace().any(|one| one.starts_with(word)));
        if is_postgres || has_words {
            return Ok(Self::Postgres(text.to_owned()));
        }
        let path = ["sqlite://", "sqlite:"].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
        if path.is_empty() || path.contains("://") {
            return Err(
                "must be a data folder, such as ./data, or an address such as postgres://admit@host/admit".into()
            );
        }
        let path = PathBuf::from(path);
        let is_file = path.file_name().is_some_and(|name| name == DATABASE_FILE);
        let folder = if is_file { path.parent().unwrap_or(Path::new("")).to_owned() } else { path };
        Ok(Self::Folder(if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }))
    }
}

/// The text for messages. It never contains the password of an address.
impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Postgres(url) => f.write_str(&shown(url).unwrap_or_else(|_| "postgres://…".to_owned())),
        }
    }
}
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Database {
    fn place(&self) -> Option<Place> {
        let Self::Folder(folder) = self else { return None };
        Some(Place { data_dir: folder.clone(), database_url: None, secret: None })
    }
    /// Takes the lock that a server of this folder would hold; `None` for PostgreSQL.
    fn lock(&self) -> anyhow::Result<Option<File>> {
        self.place().map(|place| place.lock()).transpose()
    }
    fn source(&self) -> anyhow::Result<Box<dyn Side>> {
        let side: Box<dyn Side> = match self {
            Self::Folder(folder) => Box::new(SqliteSide::source(&folder.join(DATABASE_FILE))?),
            Self::Postgres(url) => Box::new(PgSide::source(url)?),
        };
        Ok(side)
    }
    fn target(&self) -> anyhow::Result<Box<dyn Side>> {
        let side: Box<dyn Side> = match self {
            Self::Folder(folder) => Box::new(SqliteSide::target(&folder.join(DATABASE_FILE))?),
            Self::Postgres(url) => Box::new(PgSide::target(url)?),
        };
        Ok(side)
    }
}

/// A check in addition to the tables, with its result.
struct Check {
    name: &'static str,
    is_good: bool,
    says: String,
}

/// The report of a move.
struct Report {
    tables: Vec<Moved>,
    checks: Vec<Check>,
}

impl Report {
    fn is_good(&self) -> bool {
        self.tables.iter().all(Moved::is_equal) && self.checks.iter().all(|check| check.is_good)
    }
}

impl MigrateStore {
    /// Runs the command. The exit code is 1 if the copy differs from the source; the target is then unchanged.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        // The stores drive databases from plain threads, and so does this command.
        let moved = tokio::task::spawn_blocking(move || self.carry_out().map(|report| (self, report)));
        let (command, report) = moved.await??;
        let is_good = report.is_good();
        if command.json {
            println!("{}", serde_json::to_string_pretty(&command.as_json(&report))?);
        } else {
            command.tell(&report);
        }
        Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn carry_out(&self) -> anyhow::Result<Report> {
        self.refuse_itself()?;
        if let Some(place) = self.from.place() {
            parts::must_hold_database(&place)?;
        }
        let _source_lock = self.from.lock()?;
        let mut source = self.from.source().with_context(|| format!("opening the source, {}", self.from))?;
        let foreign = source.catalog()?;
        self.check_secret(&mut *source)?;
        let _target_lock = self.to.lock()?;
        let mut target = self.to.target().with_context(|| format!("opening the target, {}", self.to))?;
        let plan = plan(&foreign, &target.catalog()?)?;
        if let Some((table, rows)) = occupied(&mut *target, &plan)? {
            let held = if table == "organizations" { "organisations".to_owned() } else { format!("rows of {table}") };
            bail!("the target, {}, is not empty: it holds {rows} {held}. Choose another, or empty it first", self.to);
        }
        let moved = self.move_all(&mut *source, target, &plan)?;
        if let Database::Folder(folder) = &self.to {
            give_to_folders_owner(folder);
        }
        Ok(moved)
    }

    /// Fails if source and target are the same folder or the same address. If two addresses mean one PostgreSQL, the
    /// lock in the database detects that.
    fn refuse_itself(&self) -> anyhow::Result<()> {
        let same = match (&self.from, &self.to) {
            (Database::Folder(from), Database::Folder(to)) => {
                from == to || from.canonicalize().ok().is_some_and(|from| to.canonicalize().is_ok_and(|to| to == from))
            }
            (from, to) => from == to,
        };
        if same {
            bail!("the source and the target are the same, {}: name another target with --to", self.from);
        }
        Ok(())
    }

    /// Fails if the target's folder holds a secret other than the one that the source was sealed with.
    fn check_secret(&self, source: &mut dyn Side) -> anyhow::Result<()> {
        let Some(place) = self.to.place() else { return Ok(()) };
        let Some(text) = place.secret_there_is()? else { return Ok(()) };
        let named = place.data_dir.join(SECRET_FILE).display().to_string();
        parts::check_secret_of_probe(source.setting(parts::PROBE)?.as_deref(), &Secret::new(&text)?, &named)
    }

    fn move_all(&self, source: &mut dyn Side, target: Box<dyn Side>, plan: &[Planned]) -> anyhow::Result<Report> {
        let counted: u64 = plan.iter().map(|one| source.count(&one.source)).sum::<Result<u64, _>>()?;
        // Each row is copied and then read back, so it counts twice.
        let progress = Progress::bar(2 * counted, "copying", self.json);
        let target = Arc::new(Uncommitted::new(target));
        let mut last = String::new();
        let tables = copy(source, &mut **target.side(), plan, &mut |table, rows| {
            if last != table {
                table.clone_into(&mut last);
                progress.say(table);
            }
            progress.add(rows);
        })?;
        let read: u64 = tables.iter().map(|table| table.rows).sum();
        let all = Check {
            name: "rows read",
            is_good: read == counted,
            says: format!("{read} of the {counted} rows that the source holds"),
        };
        let mut checks = vec![all, heads(&tables)];
        progress.say("checking ledgers");
        let app = AppState::new(target.clone(), Secret::new(&"0".repeat(64))?, Settings::default()).app;
        checks.push(ledgers(&app)?);
        progress.say("checking derived rows");
        checks.push(derived(&app)?);
        checks.push(still_alone(source)?);
        drop((app, progress));
        let report = Report { tables, checks };
        let mut side = target.side();
        if report.is_good() {
            side.commit().context("committing at the target")?
        } else {
            side.roll_back()
        }
        drop(side);
        Ok(report)
    }

    fn as_json(&self, report: &Report) -> Value {
        let tables = report.tables.iter().map(|one| {
            json!({
                "table": one.table, "rows": one.rows, "digest": one.digest,
                "target_rows": one.target_rows, "target_digest": one.target_digest, "equal": one.is_equal(),
            })
        });
        let checks = report.checks.iter().map(|one| json!({ "name": one.name, "ok": one.is_good, "says": one.says }));
        json!({
            "from": self.from.to_string(), "to": self.to.to_string(), "moved": report.is_good(),
            "tables": tables.collect::<Vec<_>>(), "checks": checks.collect::<Vec<_>>(),
        })
    }

    fn tell(&self, report: &Report) {
        println!("{:<20} {:>10} {:>10}  digest", "table", "source", "target");
        for one in &report.tables {
            let digest = if one.is_equal() { one.digest.get(..16).unwrap_or_default() } else { "DIFFERS" };
            println!("{:<20} {:>10} {:>10}  {digest}", one.table, one.rows, one.target_rows);
        }
        for check in &report.checks {
            println!("{:<20} {}: {}", check.name, if check.is_good { "ok" } else { "FAILED" }, check.says);
        }
        if !report.is_good() {
            println!("nothing was moved: {} is as it was", self.to);
            return;
        }
        println!("moved {} to {}", self.from, self.to);
        let start = match &self.to {
            Database::Folder(folder) => format!("the server with --data-dir {}", folder.display()),
            Database::Postgres(_) => "the server with DATABASE_URL".to_owned(),
        };
        println!("next: start {start} and the same ADMIT_SECRET; keep the source until it is well");
        if let Database::Folder(folder) = &self.from {
            let (secret, objects, tls) = (folder.join(SECRET_FILE), folder.join("objects"), folder.join("tls"));
            for left in [secret, objects, tls].into_iter().filter(|path| path.exists()) {
                println!("not moved: {}", left.display());
            }
        }
    }
}

/// Checks the head of every event: its serial, and the end of its ledger. All heads are rows of one table, so the
/// comparison of that table's digest covers them.
fn heads(tables: &[Moved]) -> Check {
    let heads = tables.iter().find(|table| table.table == "event_heads");
    let is_good = heads.is_some_and(Moved::is_equal);
    let says = heads.map_or_else(|| "missing".to_owned(), |heads| format!("{} events", heads.target_rows));
    Check { name: "event heads", is_good, says }
}

/// The result of a use case on a store whose futures are ready at once.
fn at_once<T>(asked: impl Future<Output = admit_app::error::Result<T>>) -> anyhow::Result<T> {
    let answer = asked.now_or_never().context("the copy did not answer at once: this is a fault of Admit")?;
    Ok(answer?)
}

fn ledgers(app: &App) -> anyhow::Result<Check> {
    let events: Vec<(OrganizationId, EventId)> = at_once(app.store.all_events())?;
    let (mut ledgers, mut lines, mut broken) = (0, 0, 0);
    for organization_id in at_once(app.store.organizations())? {
        let of_it = events.iter().filter(|(owner, _)| *owner == organization_id).map(|(_, event_id)| event_id.clone());
        let verified = at_once(audits::verify(app, &organization_id, &of_it.collect::<Vec<_>>()))?;
        ledgers += verified.ledgers;
        lines += verified.lines;
        broken += verified.broken.len();
    }
    let mut says = format!("{ledgers} ledgers, {lines} lines, {broken} broken");
    if broken > 0 {
        says.push_str("; `admit audit verify` on the source says which");
    }
    Ok(Check { name: "audit chain", is_good: broken == 0, says })
}

fn derived(app: &App) -> anyhow::Result<Check> {
    let (mut events, mut subjects, mut differences) = (0, 0, 0);
    for (organization_id, event_id) in at_once(app.store.all_events())? {
        let found = at_once(rebuild::check(app, &organization_id, &event_id))?;
        events += 1;
        subjects += found.subjects;
        differences += found.lines.len();
    }
    let mut says = format!("{events} events, {subjects} tickets and unknown codes, {differences} differ");
    if differences > 0 {
        says.push_str("; run `admit rebuild` on the source first");
    }
    Ok(Check { name: "derived rows", is_good: differences == 0, says })
}

/// The check that no server was started on the source meanwhile.
fn still_alone(source: &mut dyn Side) -> anyhow::Result<Check> {
    let others = source.others()?;
    let says = if others == 0 { "nobody else used it" } else { "a server was started on it meanwhile: stop it" };
    Ok(Check { name: "source", is_good: others == 0, says: says.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_a_folder_or_an_address() {
        let of = |text: &str| text.parse::<Database>();
        let folder = |path: &str| Ok(Database::Folder(PathBuf::from(path)));
        assert_eq!(of("./data"), folder("./data"));
        assert_eq!(of("sqlite:/var/lib/admit"), folder("/var/lib/admit"));
        assert_eq!(of("sqlite:///var/lib/admit/admit.db"), folder("/var/lib/admit"));
        assert_eq!(of("admit.db"), folder("."));
        for address in ["postgres://a:b@h/d", "postgresql://h/d", "host=/run user=a dbname=d"] {
            assert_eq!(of(address), Ok(Database::Postgres(address.to_owned())));
        }
        for wrong in ["mysql://h/d", "", "sqlite:"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_password_is_shown() {
        let database: Database = "postgres://ana:geheim@db.example.org:5433/admit".parse().unwrap();
        assert_eq!(format!("{database} {database:?}"), ["postgres://db.example.org:5433/admit"; 2].join(" "));
    }
}
