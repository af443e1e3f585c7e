//! Builds the server's state from the store and the secret that a [`Place`] names, and from the settings.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use admit_app::error::Error;
use admit_app::ports::{App, Store};
use admit_app::secret::Secret;
use admit_server::{AppState, Settings};
use admit_store_postgres::Postgres;
use admit_store_sqlite::{Options, Sqlite};
use anyhow::{Context, bail};
use tokio_util::sync::CancellationToken;

use crate::say::say;
use crate::settings::{ARRIVING, ASIDE, DATABASE_FILE, Place, give_to_folders_owner, make_folder};

/// The name of the setting that holds the probe: a known text, sealed with the secret. A secret that opens it is the
/// right one.
pub const PROBE: &str = "secret_probe";
const PROBE_TEXT: &[u8] = b"admit.secret.probe.v1";
/// The time limit of an orderly end after the store stopped itself.
const ENDING: Duration = Duration::from_secs(5);

/// The time limit of reads in commands without a server. `rebuild --check` reads a whole event.
const COMMANDS_READ: Duration = Duration::from_secs(3_600);

/// Whether the store stopped itself. The process then ends with the exit code of a failure, even after an orderly stop.
static STORE_FAILED: AtomicBool = AtomicBool::new(false);

/// Whether the store stopped itself.
pub fn store_failed() -> bool {
    STORE_FAILED.load(Ordering::Relaxed)
}

/// Opens store and secret. Fails, with what to do, if the secret is not the one that the database was sealed with.
pub async fn open(place: &Place, settings: Settings) -> anyhow::Result<AppState> {
    open_for(place, settings, Options::default().reader_limit).await
}

async fn open_for(place: &Place, settings: Settings, reader_limit: Duration) -> anyhow::Result<AppState> {
    let secret = place.secret()?;
    let ending = Arc::new(OnceLock::new());
    let store = store(place, Arc::clone(&ending), reader_limit).await?;
    let state = AppState::new(store, secret, settings);
    let _ = ending.set(state.shutdown.clone());
    if place.database_url.is_none() {
        give_to_folders_owner(&place.data_dir);
    }
    check_secret(&state.app, place.secret_named()).await?;
    // If a server ended while an epoch began, the rest of that work is done here.
    admit_app::epochs::judge_anew(&state.app).await?;
    Ok(state)
}

/// Opens existing data for a command that serves nothing.
pub async fn open_app(place: &Place) -> anyhow::Result<App> {
    must_hold_database(place)?;
    begin_app(place).await
}

/// Opens data for a command that serves nothing, and creates them if they are missing.
pub async fn begin_app(place: &Place) -> anyhow::Result<App> {
    Ok(open_for(place, Settings::default(), COMMANDS_READ).await?.app)
}

/// The server's state with an empty store in memory, for commands that only need the routes.
pub async fn blank() -> anyhow::Result<AppState> {
    let store = Sqlite::memory(Options::inline())?;
    Ok(AppState::new(Arc::new(store), Secret::new(&"0".repeat(64))?, Settings::default()))
}

/// Opens the store. `ending` stops the server if the store stops; `None` without a server.
async fn store(
    place: &Place,
    ending: Arc<OnceLock<CancellationToken>>,
    reader_limit: Duration,
) -> anyhow::Result<Arc<dyn Store>> {
    if let Some(url) = place.database_url.clone() {
        let opened =
            tokio::task::spawn_blocking(move || Postgres::open(&url, admit_store_postgres::Options::default()));
        return Ok(Arc::new(opened.await?.context("opening the database of DATABASE_URL")?));
    }
    make_folder(&place.data_dir)?;
    let path = place.data_dir.join(DATABASE_FILE);
    refuse_cut_off(place)?;
    let on_stop = Arc::new(move |why: &str| end(why, ending.get()));
    let options = Options { reader_limit, on_stop: Some(on_stop), ..Options::default() };
    let store = Sqlite::open(&path, options).with_context(|| format!("opening {}", path.display()))?;
    Ok(Arc::new(store))
}

/// Ends the process after the store stopped itself. Nobody knows which writes were committed until a new start reads
/// the database (trust §2). Clients that wait get an error first.
fn end(why: &str, ending: Option<&CancellationToken>) {
    STORE_FAILED.store(true, Ordering::Relaxed);
    tracing::error!(why, "the store stopped itself; ending the process");
    say(format_args!("the store stopped itself: {why}"));
    let Some(shutdown) = ending else { std::process::exit(1) };
    shutdown.cancel();
    // The failed store must not delay the end.
    let late = std::thread::Builder::new().spawn(|| {
        std::thread::sleep(ENDING);
        std::process::exit(1);
    });
    if late.is_err() {
        std::process::exit(1);
    }
}

/// Fails if the embedded database does not exist. A maintenance command must not create an empty one in the wrong
/// folder and report success.
pub fn must_hold_database(place: &Place) -> anyhow::Result<()> {
    refuse_cut_off(place)?;
    let database = place.data_dir.join(DATABASE_FILE);
    if place.database_url.is_none() && !database.exists() {
        bail!("there is no {}: say where the data are, with --data-dir, --config or DATABASE_URL", database.display());
    }
    Ok(())
}

/// Fails if a restore was interrupted.
fn refuse_cut_off(place: &Place) -> anyhow::Result<()> {
    if place.database_url.is_some() || !place.data_dir.exists() {
        return Ok(());
    }
    if let Some(left) = restore_cut_off(&place.data_dir)? {
        bail!(
            "a restore into {} was cut off between two moves: the database is in {}. Run the restore again; to begin \
             with an empty database instead, move that folder away",
            place.data_dir.display(),
            left.display()
        );
    }
    Ok(())
}

/// The path that an interrupted restore left, if no database is in place now; else `None`. A server must not go on,
/// because it would begin with an empty database.
fn restore_cut_off(data_dir: &Path) -> anyhow::Result<Option<PathBuf>> {
    if data_dir.join(DATABASE_FILE).exists() {
        return Ok(None);
    }
    for entry in std::fs::read_dir(data_dir).with_context(|| format!("reading {}", data_dir.display()))? {
        let folder = entry?.path();
        let name = folder.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(DATABASE_FILE));
        let left = name.is_some_and(|name| [ASIDE, ARRIVING].iter().any(|what| name.starts_with(&format!(".{what}-"))));
        if left && folder.join(DATABASE_FILE).exists() {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// The error that the given secret is not the one that the database was sealed with. The text names where the secret
/// came from.
#[derive(Debug)]
pub struct WrongSecret(String);

impl std::fmt::Display for WrongSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} is not the one this database was sealed with: devices' keys would not open. Start with the right one, given \
             as ADMIT_SECRET or lying in the data folder as `secret`",
            self.0
        )
    }
}
impl std::error::Error for WrongSecret {}

/// Checks that the probe, which the first start sealed, opens with this secret (spec D4).
async fn check_secret(app: &App, named: &str) -> anyhow::Result<()> {
    let sealed = app.secret.seal(app.ids.random(), PROBE, PROBE_TEXT)?;
    let hex: String = sealed.iter().map(|byte| format!("{byte:02x}")).collect();
    let kept = app.store.settle(PROBE.into(), hex).await?;
    opens(&app.secret, &kept, named)
}

/// Checks that the file of an embedded database was sealed with this secret. A database that no server has opened yet
/// has no probe and passes.
pub fn check_secret_of(database: &Path, secret: &Secret, named: &str) -> anyhow::Result<()> {
    check_secret_of_probe(Sqlite::setting_of(database, PROBE)?.as_deref(), secret, named)
}

/// Checks the secret against the value of the setting [`PROBE`]; `None` if the database has none.
pub fn check_secret_of_probe(kept: Option<&str>, secret: &Secret, named: &str) -> anyhow::Result<()> {
    kept.map_or(Ok(()), |kept| opens(secret, kept, named))
}

fn opens(secret: &Secret, kept: &str, named: &str) -> anyhow::Result<()> {
    let bytes =
        (0..kept.len() / 2).map(|at| kept.get(2 * at..2 * at + 2).and_then(|two| u8::from_str_radix(two, 16).ok()));
    let bytes: Vec<u8> = bytes.collect::<Option<_>>().context("the database's secret probe is not readable")?;
    match secret.open(PROBE, &bytes) {
        Ok(text) if text == PROBE_TEXT => Ok(()),
        Ok(_) | Err(Error::Bug(_)) => Err(WrongSecret(named.to_owned()).into()),
        Err(error) => Err(error.into()),
    }
}
