//! `admit backup` copies all data, and `admit restore` puts such a copy back (spec §8, §3 "Epoch and witness").

use std::fs;
use std::path::{Path, PathBuf};

use admit_app::epochs;
use admit_app::secret::Secret;
use admit_core::rule::Epoch;
use admit_store_sqlite::{Options, Sqlite};
use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;

use crate::outcome::Outcome;
use crate::parts;
use crate::progress::Progress;
use crate::settings::{
    ARRIVING, ASIDE, DATABASE_FILE, Place, SECRET_FILE, copy_private, database_beside, give_to_folders_owner,
    make_folder, write_private,
};

/// `admit backup`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  admit backup --data-dir ./data --to /backups/2026-06-07")]
pub struct Backup {
    #[command(flatten)]
    place: Place,
    /// Folder to make and fill; it must not exist yet. It becomes a complete data folder: keep it as safe as the
    /// original.
    #[arg(long)]
    to: PathBuf,
    /// Do not copy the secret, so that it can be kept apart from the data. A server cannot use the copy without the
    /// secret.
    #[arg(long)]
    without_secret: bool,
    #[command(flatten)]
    outcome: Outcome,
}

impl Backup {
    /// Runs the command. A server on the same folder may go on serving meanwhile.
    pub async fn run(self) -> anyhow::Result<()> {
        if self.place.database_url.is_some() {
            bail!(
                "a PostgreSQL database is copied with its own tools, by a role that sees every organisation's rows: \
                 docs/operations.md \"Backup\" has the lines. After pg_restore run: admit restore --in-place"
            );
        }
        parts::must_hold_database(&self.place)?;
        let database = self.place.data_dir.join(DATABASE_FILE);
        if self.to.exists() {
            bail!("{} exists already: name a folder that doesn't, with --to", self.to.display());
        }
        // The copy is made under another name first. So a folder with the right name is a complete copy.
        let draft = beside(&self.to, "part")?;
        make_folder(&draft)?;
        let progress = Progress::spinner("copying the database", self.outcome.json);
        let made = self.fill(&database, draft.clone()).await;
        drop(progress);
        if made.is_err() {
            let _ = fs::remove_dir_all(&draft);
        }
        made?;
        fs::rename(&draft, &self.to).with_context(|| format!("making {}", self.to.display()))?;
        sync_folder(self.to.parent())?;
        let (from, to) = (self.place.data_dir.display(), self.to.display());
        self.outcome.print(
            format_args!("copied {from} to {to}"),
            &json!({ "from": from.to_string(), "to": to.to_string(), "with_secret": !self.without_secret }),
        );
        Ok(())
    }

    async fn fill(&self, database: &Path, draft: PathBuf) -> anyhow::Result<()> {
        let (database, copy) = (database.to_owned(), draft.join(DATABASE_FILE));
        tokio::task::spawn_blocking(move || Sqlite::backup_of(&database, &copy)).await??;
        if !self.without_secret {
            let text = self.place.secret_there_is()?;
            let text =
                text.context("there is no secret to copy: give ADMIT_SECRET, or leave it out by --without-secret")?;
            // Without this check, a secret that does not open the copy would be noticed only at the restore.
            parts::check_secret_of(&draft.join(DATABASE_FILE), &Secret::new(&text)?, self.place.secret_named())?;
            let path = draft.join(SECRET_FILE);
            write_private(&path, &text).with_context(|| format!("writing {}", path.display()))?;
        }
        sync_folder(Some(&draft))
    }
}

/// `admit restore`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit restore --data-dir ./data --from /backups/2026-06-07
  admit restore --in-place     after pg_restore, with DATABASE_URL set")]
pub struct Restore {
    #[command(flatten)]
    place: Place,
    /// Folder of a backup that `admit backup` made. The present content of the data folder is moved aside, not deleted.
    #[arg(long, required_unless_present = "in_place", conflicts_with = "in_place")]
    from: Option<PathBuf>,
    /// Only begin a new epoch, because the database was restored by other means, such as pg_restore or a disk snapshot.
    /// Every device then sends again what was lost.
    #[arg(long)]
    in_place: bool,
    #[command(flatten)]
    outcome: Outcome,
}

impl Restore {
    /// Puts the copy back and begins a new epoch.
    pub async fn run(self) -> anyhow::Result<()> {
        let aside = match (&self.from, &self.place.database_url) {
            (Some(_), Some(_)) => {
                bail!("--from is a copy of an embedded database: use pg_restore, then admit restore --in-place")
            }
            (Some(from), None) => {
                let _lock = self.place.lock()?;
                self.put_back(from).await?
            }
            (None, _) => {
                parts::must_hold_database(&self.place)?;
                let _lock = self.place.lock_unless_elsewhere()?;
                begin_epoch(&self.place, None).await?;
                None
            }
        };
        let aside = aside.map(|aside| aside.display().to_string());
        aside.iter().for_each(|aside| self.outcome.line(format_args!("what was there is in {aside}")));
        self.outcome.print(
            "a new epoch has begun: devices hand over again what this copy doesn't hold, as soon as they reach it",
            &json!({ "restored": true, "aside": aside }),
        );
        Ok(())
    }

    /// Prepares the copy in a folder of its own, and then lets it replace the present database. Before that nothing of
    /// the present one is changed, so a copy that is damaged or sealed with another secret does no harm. Returns the
    /// folder with the former database; `None` if there was none.
    async fn put_back(&self, from: &Path) -> anyhow::Result<Option<PathBuf>> {
        let data_dir = &self.place.data_dir;
        let copy = from.join(DATABASE_FILE);
        if !copy.is_file() {
            bail!("{} is no copy of admit backup: it holds no {DATABASE_FILE}", from.display());
        }
        make_folder(data_dir)?;
        let database = data_dir.join(DATABASE_FILE);
        let arriving = beside(&database, ARRIVING)?;
        fs::create_dir(&arriving).with_context(|| format!("making {}", arriving.display()))?;
        let ready = self.make_ready(from, &arriving, &database).await;
        if let Err(error) = ready {
            let _ = fs::remove_dir_all(&arriving);
            return Err(error);
        }
        let mut kept = None;
        // This also moves what an interrupted restore left. A journal file must never lie beside a database that it
        // does not belong to.
        if parts_of(data_dir).iter().any(|part| part.exists()) {
            let aside = beside(&database, ASIDE)?;
            fs::create_dir(&aside).with_context(|| format!("making {}", aside.display()))?;
            move_database(data_dir, &aside)?;
            kept = Some(aside);
        }
        if !data_dir.join(SECRET_FILE).exists() && arriving.join(SECRET_FILE).exists() {
            copy_private(&arriving.join(SECRET_FILE), &data_dir.join(SECRET_FILE))?;
        }
        move_database(&arriving, data_dir)?;
        give_to_folders_owner(data_dir);
        fs::remove_dir_all(&arriving).with_context(|| format!("removing {}", arriving.display()))?;
        Ok(kept)
    }

    /// Checks the copy with the secret that it will be served with, migrates it, and begins a new epoch in it.
    async fn make_ready(&self, from: &Path, arriving: &Path, present: &Path) -> anyhow::Result<()> {
        let arrived = arriving.join(DATABASE_FILE);
        copy_private(&from.join(DATABASE_FILE), &arrived)?;
        let damage = tokio::task::spawn_blocking(move || Sqlite::damage_of(&arrived)).await??;
        if !damage.is_empty() {
            bail!("the copy in {} is damaged: {}", from.display(), damage.join("; "));
        }
        let (ours, foreign) = (self.place.data_dir.join(SECRET_FILE), from.join(SECRET_FILE));
        let secret = if ours.exists() { &ours } else { &foreign };
        if secret.exists() {
            copy_private(secret, &arriving.join(SECRET_FILE))?;
        } else if self.place.secret.is_none() {
            bail!("neither the copy nor the data folder holds the secret: give it as ADMIT_SECRET");
        }
        let place = Place { data_dir: arriving.to_owned(), ..self.place.clone() };
        let begun = begin_epoch(&place, epoch_of(present).await).await;
        let two = secret == &ours
            && fs::read(&foreign).is_ok_and(|foreign| fs::read(&ours).is_ok_and(|ours| ours != foreign));
        if self.place.secret.is_some() || !two {
            return begun;
        }
        begun.with_context(|| {
            let (ours, foreign) = (ours.display(), foreign.display());
            format!("the copy has a secret of its own, {foreign}; if that is the right one, move {ours} away")
        })
    }
}

/// Begins an epoch in a restored database. The new epoch is later than `given_up`, the epoch of the database that is
/// replaced.
async fn begin_epoch(place: &Place, given_up: Option<Epoch>) -> anyhow::Result<()> {
    let app = parts::open_app(place).await?;
    if app.store.organizations().await?.is_empty() {
        bail!("the database holds no organisation: there is nothing to go on with. Is it the right one?");
    }
    let held = app.store.epoch().await?;
    epochs::begin_later(&app, held, given_up.unwrap_or(held)).await?;
    Ok(())
}

/// The files of a database, with the database file last.
fn parts_of(folder: &Path) -> Vec<PathBuf> {
    database_beside().into_iter().chain([DATABASE_FILE.to_owned()]).map(|name| folder.join(name)).collect()
}

/// Moves a database's files, with the database file last, because that file makes the folder a data folder.
fn move_database(from: &Path, to: &Path) -> anyhow::Result<()> {
    for (held, place) in parts_of(from).into_iter().zip(parts_of(to)) {
        if held.exists() {
            fs::rename(&held, place).with_context(|| format!("moving {}", held.display()))?;
        }
    }
    sync_folder(Some(from))?;
    sync_folder(Some(to))
}

/// The epoch of the database that will be replaced; `None` if it cannot be read. The new epoch must be later than this
/// one.
async fn epoch_of(database: &Path) -> Option<Epoch> {
    if !database.exists() {
        return None;
    }
    let store = Sqlite::open(database, Options::default()).ok()?;
    admit_app::ports::Store::epoch(&store).await.ok()
}

/// A free name beside a path, such as `data.part-1` for `data`.
fn beside(path: &Path, what: &str) -> anyhow::Result<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).context("the path has no name")?;
    let mut free = (1..).map(|n: u32| path.with_file_name(format!("{name}.{what}-{n}"))).filter(|path| !path.exists());
    free.next().context("no name is free")
}

fn sync_folder(folder: Option<&Path>) -> anyhow::Result<()> {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder).and_then(|folder| folder.sync_all()).with_context(|| format!("syncing {}", folder.display()))
}
