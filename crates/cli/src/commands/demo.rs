//! `admit demo`: a live event to try everything on (spec §8).

mod crowd;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use admit_app::caller::UserCaller;
use admit_app::demo::{Seeded, is_of_others, seed};
use admit_app::pairing_tokens;
use admit_core::limits::SYNCS_PER_MINUTE;
use admit_server::{AppState, Settings};
use anyhow::bail;
use clap::Args;
use fast_qr::qr::QRBuilder;
use serde_json::json;

use crate::say::say;
use crate::settings::{Listen, MetricsAt, Outside, Place, Tracing};
use crate::tls::TlsArgs;
use crate::{acting, parts, serve};

/// `admit demo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit demo --crowd
  admit demo --lan     for phones in the same network")]
pub struct Demo {
    /// Port to listen on. 0 takes any free port.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Address to listen on. 127.0.0.1 accepts this machine only; 0.0.0.0 also accepts phones in the same network.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// Accept phones in the same network: listen on every address, by https with a certificate that each phone must
    /// trust once. It cannot be combined with --crowd.
    #[arg(long, conflicts_with_all = ["listen", "crowd"])]
    lan: bool,
    /// The demo has its own database. It refuses to start if this names another one.
    #[arg(long, env = "DATABASE_URL", hide = true, hide_env_values = true)]
    database_url: Option<String>,
    /// Folder of the demo's data. The next start uses it again.
    #[arg(long, env = "ADMIT_DATA_DIR", default_value = "./data/demo")]
    data_dir: PathBuf,
    /// Address at which browsers and phones reach the server.
    #[arg(long, env = "PUBLIC_URL")]
    public_url: Option<String>,
    /// Most syncs that one device may make in 60 s.
    #[arg(long, env = "ADMIT_SYNCS_PER_MINUTE", default_value_t = SYNCS_PER_MINUTE,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    syncs_per_minute: u32,
    /// Simulate arriving guests, about two per second, so that the live page has something to show.
    #[arg(long, env = "ADMIT_DEMO_CROWD")]
    crowd: bool,
    #[command(flatten)]
    metrics: MetricsAt,
    #[command(flatten)]
    outside: Outside,
    /// The destination of traces.
    #[command(flatten)]
    pub tracing: Tracing,
    /// Print one line of JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Demo {
    /// Makes the demo's event, prints how to reach it, and serves until it is stopped.
    pub async fn run(self) -> anyhow::Result<()> {
        if self.database_url.is_some() {
            bail!(
                "DATABASE_URL is set, and a demo keeps its data in a folder: unset it for the demo, or run `admit serve` on \
                 that database"
            );
        }
        let place = Place { data_dir: self.data_dir.clone(), database_url: None, secret: None };
        let listen = Listen {
            listen: SocketAddr::new(self.address(), self.port),
            public_url: self.public_url.clone(),
            redis_url: None,
            node: None,
            metrics: self.metrics.clone(),
            tls: self.tls(),
            trusted_proxies: None,
            syncs_per_minute: self.syncs_per_minute,
        };
        let settings = self.outside.add_to(listen.settings()?, &place.data_dir)?;
        // The port is taken first, so that a taken port is reported before the event is made.
        let listener = serve::bind(listen.listen).await?;
        let metrics = self.metrics.bind().await?;
        let tls = listen.tls.open(&place.data_dir, self.public_url.as_deref())?;
        let here = reached_at(listener.local_addr().unwrap_or(listen.listen), tls.is_some());
        let url = settings.public_url.clone().unwrap_or_else(|| here.clone());
        let settings = Settings { passes_at: Some(url.clone()), ..settings };
        let _lock = place.lock()?;
        let state = parts::open(&place, settings).await?;
        if is_of_others(&state.app).await? {
            bail!(
                "{} holds somebody's organisation, not the demo's: choose another folder with --data-dir",
                self.data_dir.display()
            );
        }
        serve::watch_signals(&state)?;
        let seeded = seed(&state.app).await?;
        if self.json {
            println!("{}", line(&seeded, &url, metrics.as_ref().and_then(serve::metrics_url).as_deref()));
        } else {
            self.tell(&state, &seeded, &url).await?;
        }
        if self.crowd {
            tokio::spawn(async move {
                if let Err(error) = crowd::come(&here, &seeded).await {
                    say(format_args!("the crowd went home: {error:#}"));
                }
            });
        }
        serve::until_stopped(state, listener, tls, metrics).await;
        Ok(())
    }

    fn address(&self) -> IpAddr {
        if self.lan { Ipv4Addr::UNSPECIFIED.into() } else { self.listen }
    }
    fn tls(&self) -> TlsArgs {
        TlsArgs { tls_self_signed: self.lan, ..TlsArgs::default() }
    }

    async fn tell(&self, state: &AppState, seeded: &Seeded, url: &str) -> anyhow::Result<()> {
        let Seeded { email, password, api_token, event_id, staff_pin, .. } = seeded;
        println!("\nAdmit's demo is open: 20,000 tickets, and the doors opened two hours ago.\n");
        println!("  Organiser   {url}/");
        println!("  E-mail      {email}");
        println!("  Password    {password}");
        println!("  Event       {event_id}");
        println!("  API token   {api_token}");
        println!("  Staff PIN   {staff_pin}\n");
        if self.lan {
            let trust = format!("{}/trust", url.replacen("https://", "http://", 1));
            println!("First, on each phone: open this, and trust the server's certificate (a minute, once):\n");
            if let Ok(code) = QRBuilder::new(trust.as_str()).build() {
                println!("{}", code.to_str());
            }
            println!("  {trust}\n");
        }
        let owner: UserCaller = acting::owner(&state.app, &seeded.organization_id).await?;
        if let Some(gate_id) = seeded.gates.first() {
            let token =
                pairing_tokens::create(&state.app, &owner, event_id.clone(), gate_id.clone(), Some(PAIRED_DEVICES))
                    .await?;
            let link = format!("{url}/scan/#pair={}", token.pairing_token);
            println!("Scan this with a phone, or open it in a browser, to make it a scanner of gate \"{gate_id}\"");
            println!("(good for five minutes; the organiser's page makes more):\n");
            if let Ok(code) = QRBuilder::new(link.as_str()).build() {
                println!("{}", code.to_str());
            }
            println!("  {link}\n");
        }
        if let Some(code) = seeded.sample_barcodes.first() {
            println!("A code that lets one person in: {code}\n");
        }
        if !self.lan && self.listen.is_loopback() && self.public_url.is_none() {
            println!("Only this machine reaches it. For phones in the same network: admit demo --lan\n");
        }
        println!("Stop with Ctrl-C; the data stay in {}.", self.data_dir.display());
        Ok(())
    }
}

/// The number of devices that the printed code may pair.
const PAIRED_DEVICES: u32 = 5;

/// The object that `--json` prints (spec §8).
fn line(seeded: &Seeded, url: &str, metrics_url: Option<&str>) -> serde_json::Value {
    json!({
        "url": url,
        "metrics_url": metrics_url,
        "email": seeded.email,
        "password": seeded.password,
        "api_token": seeded.api_token,
        "organization_id": seeded.organization_id,
        "event_id": seeded.event_id,
        "gates": seeded.gates,
        "sample_barcodes": seeded.sample_barcodes,
    })
}

/// The address to print. If the server listens on every network, it is an address that phones can reach.
fn reached_at(address: SocketAddr, tls: bool) -> String {
    let scheme = if tls { "https" } else { "http" };
    if !address.ip().is_unspecified() {
        return format!("{scheme}://{address}");
    }
    // No packet is sent: connecting a UDP socket only chooses the address it would go out from.
    let outgoing = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|socket| {
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9))?;
        socket.local_addr()
    });
    let ip = outgoing.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |one| one.ip());
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_print_leads_somewhere() {
        assert_eq!(reached_at(([127, 0, 0, 1], 8080).into(), false), "http://127.0.0.1:8080");
        let any = reached_at(([0, 0, 0, 0], 8080).into(), true);
        assert!(!any.contains("0.0.0.0") && any.starts_with("https://") && any.ends_with(":8080"), "{any}");
    }
}
