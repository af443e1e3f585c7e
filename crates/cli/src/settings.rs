//! Settings from arguments and the environment (spec §8), and the server's secret (spec D4).

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use admit_app::secret::Secret;
use admit_server::config::{ObjectsPlace, TrustedProxies};
use admit_server::otlp::Traces;
use anyhow::{Context, bail};
use clap::Args;
use tokio::net::TcpListener;

use crate::tls::TlsArgs;

/// The default address of `/metrics`, with the port that OpenTelemetry gives to Prometheus exporters.
const METRICS_AT: &str = "127.0.0.1:9464";

/// The place of the data.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// Folder of the database and the secret.
    ///
    /// Only one server may use a folder; a second one is refused. Leave 500 MB of disk space for the database's
    /// journal, admit.db-wal.
    #[arg(long, env = "ADMIT_DATA_DIR", default_value = "./data")]
    pub data_dir: PathBuf,
    /// Address of a PostgreSQL to use instead of the embedded database.
    ///
    /// Several servers may share it.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// Secret that seals the devices' keys, at least 32 characters. When absent, the first start makes one in the data
    /// folder. Required with DATABASE_URL.
    ///
    /// Every command needs the same secret, `backup` too. Keep it as safe as the data. Without it the server can verify
    /// no scan and answer no phone.
    #[arg(long, env = "ADMIT_SECRET", hide_env_values = true)]
    pub secret: Option<String>,
}

/// How the server is reached.
#[derive(Debug, Clone, Args)]
pub struct Listen {
    /// Address and port to listen on. 127.0.0.1 accepts this machine only; 0.0.0.0 accepts every network of the
    /// machine.
    #[arg(long, env = "ADMIT_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// Address at which browsers and phones reach the server, such as https://tickets.example.org.
    #[arg(long, env = "PUBLIC_URL")]
    pub public_url: Option<String>,
    /// Address of a Redis that several nodes share, such as redis://10.0.0.7:6379, or rediss:// for TLS.
    ///
    /// It makes live pages faster: it carries news between nodes. If it fails, no data is lost.
    #[arg(long, env = "REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<String>,
    /// Name of this node, different from those of other nodes on the same DATABASE_URL.
    ///
    /// After a crash, a node with a name continues its work at once. Without a name it waits for 30 s.
    #[arg(long, env = "ADMIT_NODE")]
    pub node: Option<String>,
    #[command(flatten)]
    pub metrics: MetricsAt,
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Proxies whose statement about a client's address is trusted, as addresses and networks separated by commas. When
    /// absent, no proxy is trusted.
    #[arg(long, env = "ADMIT_TRUSTED_PROXIES")]
    pub trusted_proxies: Option<String>,
    /// Most syncs that one device may make in 60 s.
    #[arg(long, env = "ADMIT_SYNCS_PER_MINUTE", default_value_t = admit_core::limits::SYNCS_PER_MINUTE,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub syncs_per_minute: u32,
}

impl Listen {
    /// The server's settings from these arguments.
    pub fn settings(&self) -> anyhow::Result<admit_server::Settings> {
        let settings = admit_server::Settings {
            syncs_per_minute: self.syncs_per_minute,
            node: self.node.clone(),
            tls: self.tls.by(),
            trusted_proxies: TrustedProxies::read(self.trusted_proxies.as_deref().unwrap_or_default())?,
            ..admit_server::Settings::default()
        };
        let settings = match &self.redis_url {
            Some(url) => settings.with_redis_url(url)?,
            None => settings,
        };
        match &self.public_url {
            Some(url) => Ok(settings.with_public_url(url)?),
            None => Ok(settings),
        }
    }
}

/// The address at which Prometheus reads `/metrics`.
#[derive(Debug, Clone, Args)]
pub struct MetricsAt {
    /// Address and port of /metrics, which the public address does not serve, or `off`. When absent, 127.0.0.1:9464, or
    /// none if another program uses that port.
    #[arg(long, env = "ADMIT_METRICS_LISTEN")]
    pub metrics_listen: Option<String>,
}

impl MetricsAt {
    /// Opens the listener. `None`: metrics are off, or another program uses the default address.
    pub async fn bind(&self) -> anyhow::Result<Option<TcpListener>> {
        let Some(text) = self.metrics_listen.as_deref().filter(|text| !text.is_empty()) else {
            let taken = TcpListener::bind(METRICS_AT).await;
            return Ok(taken
                .inspect_err(|error| {
                    tracing::warn!(target: "admit", address = METRICS_AT, %error, "no metrics: ADMIT_METRICS_LISTEN chooses another address");
                })
                .ok());
        };
        if text == "off" {
            return Ok(None);
        }
        let address: SocketAddr = text.parse().with_context(|| {
            format!("ADMIT_METRICS_LISTEN is {text:?}: write an address and a port such as {METRICS_AT}, or off")
        })?;
        let listener = TcpListener::bind(address).await;
        listener
            .map(Some)
            .with_context(|| format!("listening on {address} for metrics (choose another with --metrics-listen)"))
    }
}

/// The services that passes need: a mail server, and a store for their pictures.
#[derive(Debug, Clone, Args)]
pub struct Outside {
    /// Address of the mail server for passes, such as smtps://user:password@mail.example.org.
    ///
    /// Without one no mail is sent. Passes are still made, and their mails wait.
    #[arg(long, env = "SMTP_URL", hide_env_values = true)]
    pub smtp_url: Option<String>,
    /// Sender address of the mails.
    #[arg(long, env = "SMTP_FROM")]
    pub smtp_from: Option<String>,
    /// Store for the pictures of passes: file:/a/folder, or s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…. When
    /// absent, a folder inside the data folder.
    ///
    /// A backup does not need the pictures, because the server can make them again.
    #[arg(long, env = "OBJECTS_URL", hide_env_values = true)]
    pub objects_url: Option<String>,
    /// Address at which everybody can load these pictures. When absent, this server.
    #[arg(long, env = "OBJECTS_PUBLIC_URL")]
    pub objects_public_url: Option<String>,
}

impl Outside {
    /// Adds these services to the server's settings.
    pub fn add_to(&self, settings: admit_server::Settings, data_dir: &Path) -> anyhow::Result<admit_server::Settings> {
        let objects = ObjectsPlace::Folder(data_dir.join(OBJECTS_FOLDER));
        let settings = admit_server::Settings { objects, data_dir: Some(data_dir.to_owned()), ..settings };
        let settings = match &self.objects_url {
            Some(url) => settings.with_objects(url)?,
            None => settings,
        };
        let settings = match &self.objects_public_url {
            Some(url) => settings.with_objects_public_url(url)?,
            None => settings,
        };
        match &self.smtp_url {
            Some(url) => Ok(settings.with_mail(url, self.smtp_from.as_deref())?),
            None => Ok(settings),
        }
    }
}

/// The destination of traces.
#[derive(Debug, Clone, Args)]
pub struct Tracing {
    /// Collector to which traces are sent by OTLP over HTTP, such as http://127.0.0.1:4318. Without one nothing is
    /// traced.
    ///
    /// docs/operations.md "Traces" lists the contents of a trace.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,
    /// Share of traces that are sent, from 0 (none) to 1 (all).
    #[arg(long, env = "ADMIT_TRACE_RATIO", default_value = "1")]
    pub trace_ratio: String,
}

impl Tracing {
    /// The settings of the export; `None` if nothing is exported.
    pub fn traces(&self) -> anyhow::Result<Option<Traces>> {
        Ok(Traces::read(self.otlp_endpoint.as_deref(), &self.trace_ratio)?)
    }
}

/// The folder of the pictures inside the data folder.
const OBJECTS_FOLDER: &str = "objects";
/// The file of the secret inside the data folder.
pub const SECRET_FILE: &str = "secret";
/// The file of the embedded database inside the data folder.
pub const DATABASE_FILE: &str = "admit.db";
/// The files that SQLite keeps next to the database: its journal and the journal's index.
pub fn database_beside() -> [String; 2] {
    ["-wal", "-shm"].map(|tail| format!("{DATABASE_FILE}{tail}"))
}
/// The part of the name of files that a restore sets aside, as in `admit.db.before-restore-1`.
pub const ASIDE: &str = "before-restore";
/// The part of the name of files that a restore prepares, as in `admit.db.arriving-1`.
pub const ARRIVING: &str = "arriving";
/// The file whose lock shows that a process serves this folder.
const LOCK_FILE: &str = "serving.lock";

impl Place {
    /// The server's secret: the given one, or that of the data folder, which the first start creates.
    pub fn secret(&self) -> anyhow::Result<Secret> {
        let text = match &self.secret {
            Some(text) => text.clone(),
            None if self.database_url.is_some() => {
                bail!(
                    "ADMIT_SECRET must be given with DATABASE_URL: every node needs the same one, and it must outlive this machine"
                )
            }
            None => secret_of(&self.data_dir)?,
        };
        Ok(Secret::new(&text)?)
    }

    /// The source of the secret, for messages.
    pub fn secret_named(&self) -> &'static str {
        if self.secret.is_some() { "ADMIT_SECRET" } else { "the secret in the data folder" }
    }

    /// The secret of this place without creating one; `None` if there is none.
    pub fn secret_there_is(&self) -> anyhow::Result<Option<String>> {
        if let Some(text) = &self.secret {
            return Ok(Some(text.clone()));
        }
        read_secret(&self.data_dir.join(SECRET_FILE))
    }
}

impl Place {
    /// Makes sure that only this process serves the data folder, until the returned file is dropped. Two servers on
    /// one folder would not learn of each other's changes, and a restore must not run while a server does.
    pub fn lock(&self) -> anyhow::Result<fs::File> {
        make_folder(&self.data_dir)?;
        let path = self.data_dir.join(LOCK_FILE);
        let file = fs::File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.with_context(|| format!("opening {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => bail!(
                "another process serves {}: stop it first, or choose another folder with --data-dir",
                self.data_dir.display()
            ),
            Err(fs::TryLockError::Error(error)) => Err(error).with_context(|| format!("locking {}", path.display())),
        }
    }

    /// Takes the lock of [`Place::lock`] if the database is in the data folder. `None` for PostgreSQL, which any
    /// number of nodes may serve.
    pub fn lock_unless_elsewhere(&self) -> anyhow::Result<Option<fs::File>> {
        if self.database_url.is_some() { Ok(None) } else { self.lock().map(Some) }
    }
}

/// Creates a folder, if it is missing, that only its owner may enter, because guests' names and addresses are in it.
pub fn make_folder(folder: &Path) -> anyhow::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("making {}", folder.display()))
}

/// Gives files that root created in a person's data folder to the folder's owner, because a server that runs as this
/// owner could not open them otherwise. Files of other users are not changed, nor are files in a folder of root, and
/// links are not followed.
#[cfg(unix)]
pub fn give_to_folders_owner(folder: &Path) {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(owner) = fs::metadata(folder) else { return };
    let beside = database_beside();
    let ours = [LOCK_FILE, SECRET_FILE, DATABASE_FILE].into_iter().chain(beside.iter().map(String::as_str));
    for path in ours.map(|name| folder.join(name)) {
        let roots = fs::symlink_metadata(&path).is_ok_and(|file| file.is_file() && file.uid() == 0);
        if roots && owner.uid() != 0 {
            let _ = std::os::unix::fs::lchown(&path, Some(owner.uid()), Some(owner.gid()));
        }
    }
}
#[cfg(not(unix))]
pub fn give_to_folders_owner(_: &Path) {}

/// Copies a file so that only its owner may read the copy. The copy is on the disk when the call returns.
pub fn copy_private(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copied = (|| {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut target = options.open(to)?;
        std::io::copy(&mut fs::File::open(from)?, &mut target)?;
        target.sync_all()
    })();
    copied.with_context(|| format!("copying {} to {}", from.display(), to.display()))
}

fn read_secret(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
    }
}

fn secret_of(folder: &Path) -> anyhow::Result<String> {
    let path = folder.join(SECRET_FILE);
    let shown = path.display();
    // The database is looked for first, because a process that creates both creates the secret first.
    let sealed = folder.join(DATABASE_FILE).exists();
    if let Some(text) = read_secret(&path)? {
        return Ok(text);
    }
    if sealed {
        bail!(
            "{} is sealed with a secret that is not beside it: give it as ADMIT_SECRET, or put it back as {shown}",
            folder.join(DATABASE_FILE).display()
        );
    }
    make_folder(folder)?;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("the system gives no randomness: {error}"))?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // The file is written under another name first, because a half-written secret would lock every device out.
    let draft = folder.join(format!("{SECRET_FILE}.{}", std::process::id()));
    let written = write_private(&draft, &text).and_then(|()| match fs::hard_link(&draft, &path) {
        Ok(()) => fs::File::open(folder)?.sync_all(),
        // Another process created it meanwhile, and its secret is used.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    });
    let _ = fs::remove_file(&draft);
    written.with_context(|| format!("making {shown}"))?;
    let text = fs::read_to_string(&path).with_context(|| format!("reading {shown}"))?;
    Ok(text.trim().to_owned())
}

/// Writes a file that only its owner may read. It is on the disk when the call returns.
pub fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("admit-settings-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn a_secret_is_made_once_and_only_its_owner_reads_it() {
        let folder = folder("made");
        let first = secret_of(&folder).unwrap();
        assert_eq!(first.len(), 64);
        assert_eq!(secret_of(&folder).unwrap(), first);
        #[cfg(unix)]
        {
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&fs::metadata(folder.join(SECRET_FILE)).unwrap().permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn none_is_made_for_a_database_that_was_sealed_with_another() {
        let folder = folder("sealed");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(DATABASE_FILE), "").unwrap();
        let told = secret_of(&folder).unwrap_err().to_string();
        assert!(told.contains("give it as ADMIT_SECRET"), "{told}");
        assert!(!folder.join(SECRET_FILE).exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn with_a_database_elsewhere_the_secret_must_be_given() {
        let folder = folder("given");
        let place = Place { data_dir: folder.clone(), database_url: Some("postgres://x".into()), secret: None };
        assert!(place.secret().unwrap_err().to_string().contains("ADMIT_SECRET"));
        assert!(Place { secret: Some("0".repeat(32)), ..place }.secret().is_ok());
        assert!(!folder.exists());
    }
}
