//! `admit serve`: listens until SIGTERM or SIGINT, then lets open requests finish.

use std::net::SocketAddr;

use admit_server::config::TlsBy;
use admit_server::tls::Tls;
use admit_server::{AppState, Settings, background_tasks, listen, metrics_router, router};
use anyhow::Context;
use tokio::net::TcpListener;

use crate::parts;
use crate::say::say;
use crate::settings::{Listen, Outside, Place};

/// Runs the server.
pub async fn run(place: Place, wanted: Listen, outside: Outside) -> anyhow::Result<()> {
    let _lock = place.lock_unless_elsewhere()?;
    let settings = Settings { several_nodes: place.database_url.is_some(), ..wanted.settings()? };
    let settings = outside.add_to(settings, &place.data_dir)?;
    let state = parts::open(&place, settings).await?;
    let tls = wanted.tls.open(&place.data_dir, state.settings.public_url.as_deref())?;
    let listener = bind(wanted.listen).await?;
    let metrics = wanted.metrics.bind().await?;
    let address = listener.local_addr()?;
    watch_signals(&state)?;
    tracing::info!(target: "admit", %address, data_dir = %place.data_dir.display(), "serving");
    if let Some(url) = metrics.as_ref().and_then(metrics_url) {
        say(format_args!("metrics on {url}"));
    }
    let scheme = if tls.is_some() { "https" } else { "http" };
    say(format_args!("serving on {scheme}://{address}"));
    if wanted.tls.by() == TlsBy::LocalAuthority {
        say(format_args!("phones trust this server once: open http://{address}/trust on each"));
    }
    if state.app.store.organizations().await?.is_empty() {
        say("nobody can sign in yet. Make an organisation and its owner:");
        say("  admit user add --organization NAME --email YOU@EXAMPLE.ORG");
    }
    until_stopped(state, listener, tls, metrics).await;
    Ok(())
}

/// Opens a listener. If the address is taken, the error says how to choose another.
pub async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("listening on {address} (choose another with --listen)"))
}

/// Handles signals from now on: the first SIGTERM or SIGINT begins an orderly stop, a second one ends the process at
/// once. It is called before the server prints anything, because a program that reads the output may send a signal
/// right away.
pub fn watch_signals(state: &AppState) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let shutdown = state.shutdown.clone();
    tokio::spawn(async move {
        signals.received().await;
        say("stopping");
        shutdown.cancel();
        signals.received().await;
        std::process::exit(130);
    });
    Ok(())
}

/// The URL of `/metrics` on a listener; `None` if its address is unknown.
pub fn metrics_url(listener: &TcpListener) -> Option<String> {
    Some(format!("http://{}/metrics", listener.local_addr().ok()?))
}

/// Serves and carries out runs until it is stopped. Then it lets open requests and steps under way finish.
pub async fn until_stopped(state: AppState, listener: TcpListener, tls: Option<Tls>, metrics: Option<TcpListener>) {
    let shutdown = state.shutdown.clone();
    tokio::spawn(background_tasks::run(state.app.clone(), state.metrics.clone(), shutdown.clone()));
    if let Some(metrics) = metrics {
        tokio::spawn(listen::serve(metrics, metrics_router(state.clone()), shutdown.clone()));
    }
    let runs = state.clone();
    let runs = tokio::task::spawn_blocking(move || carry_out_runs_apart(runs));
    match tls {
        Some(tls) => {
            tokio::spawn(tls.clone().reload(shutdown.clone()));
            listen::serve_tls(listener, tls, router(state), shutdown).await;
        }
        None => listen::serve(listener, router(state), shutdown).await,
    }
    let ended = runs.await.map_err(anyhow::Error::from).and_then(|ended| ended);
    if let Err(error) = ended {
        tracing::error!(%error, "what carries out runs failed");
    }
}

/// Carries out runs on separate threads. Pictures and letters keep a core busy, and no scan's answer should wait for
/// them.
fn carry_out_runs_apart(state: AppState) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    let threads = threads
        .worker_threads((cores / 2).max(1))
        .thread_name("admit-runs")
        .on_thread_start(give_way)
        .enable_all()
        .build()?;
    threads.block_on(state.carry_out_runs());
    Ok(())
}

/// The nice value of the threads that make passes: they give way to those that answer scans.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Lowers the priority of this thread.
fn give_way() {
    // Only Linux sets this for one thread; elsewhere it would be the whole process. The value is absolute, because one
    // thread starts another.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::warn!(%error, "passes are made with the same priority as answers");
    }
}

/// SIGTERM and SIGINT; elsewhere Ctrl-C.
#[cfg(unix)]
#[derive(Debug)]
pub struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Installs the handlers. From now on these signals do not end the process by themselves.
    pub fn new() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }
    /// Waits until a signal comes.
    pub async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The signal that ends the server on systems that are not Unix: Ctrl-C.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Installs the handler. From now on Ctrl-C does not end the process by itself.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self)
    }
    /// Waits until Ctrl-C comes.
    pub async fn received(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
