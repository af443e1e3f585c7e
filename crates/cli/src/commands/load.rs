//! `admit load`: virtual phones with real keys and real signatures use a real server over HTTP. It measures what that
//! costs.
//!
//! 1. It makes an event with as many tickets as there will be scans, and pairs the phones with it.
//! 2. The phones scan and upload, and wait as long as the server tells them.
//! 3. It verifies every scan at the server: each phone asks about its log, and the organiser asks for the number of
//!    persons let in.

mod cost;
mod link;
pub mod office;
mod report;
pub mod phone;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;

use crate::progress::Progress;

use self::cost::Cost;
use self::office::{GATE, Office, ZONE};
use self::phone::Phone;
use self::report::{Mode, Report, Uploads};

/// `admit load`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  admit load --server http://127.0.0.1:8080 --token TOKEN --phones 50 --scans 100")]
pub struct Load {
    /// Address of the server, such as http://127.0.0.1:8080.
    #[arg(long)]
    server: String,
    /// API token that may manage events and devices. `admit demo` prints one.
    #[arg(long)]
    token: String,
    /// The pattern in which the phones scan and upload.
    #[arg(long, value_enum, default_value_t = Mode::Steady)]
    mode: Mode,
    /// Number of phones.
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u32).range(1..=500))]
    phones: u32,
    /// Number of scans per phone.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    scans: u32,
    /// Duration in which the phones scan everybody, in seconds. The mode `storm` ignores it.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Process id of a server on this machine. The report then includes its processor time and memory.
    #[arg(long)]
    pid: Option<u32>,
    /// Also write the report to this file, as JSON.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// The time within which all phones of a storm come back.
const STORM: Duration = Duration::from_secs(1);

impl Load {
    /// Runs the load, verifies it and prints a report. Fails if a scan is missing or counted twice.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let office = Office::new(&self.server, &self.token)?;
        let (phones, scans) = (self.phones as usize, self.scans as usize);
        eprintln!("making an event of {} tickets and pairing {phones} phones", phones * scans);
        let event_id = office.event(phones * scans).await?;
        let paired = office.pair(&event_id, GATE, "Load", phones).await?;
        let tickets = office.tickets(paired.first().context("there is no phone")?, ZONE).await?;
        anyhow::ensure!(tickets.len() == phones * scans, "the list has {} tickets", tickets.len());
        let foreign = self.way(&office).await?;
        let mut crowd = paired
            .into_iter()
            .zip(tickets.chunks(scans))
            .map(|(paired, tickets)| Phone::new(&foreign, paired, tickets.to_vec()))
            .collect::<anyhow::Result<Vec<_>>>()?;
        if self.mode == Mode::Storm {
            crowd.iter_mut().try_for_each(Phone::scan_offline)?;
        }
        let before = self.pid.map(Cost::from_now).transpose()?;
        let started = Instant::now();
        if self.mode == Mode::Resync {
            let third = Duration::from_secs(u64::from(self.seconds)) / 3;
            crowd.iter_mut().for_each(|phone| phone.cut_off(started + third, started + 2 * third));
        }
        let progress = Progress::spinner("phones scan and upload", false);
        let (crowd, uploads) = self.let_in(crowd, started).await?;
        drop(progress);
        let took = started.elapsed();
        let cost = self.pid.map(Cost::of).transpose()?.zip(before).map(|(after, before)| after.since(before));
        let mut missing = 0;
        for phone in &crowd {
            missing += phone.missing().await?;
        }
        let counted = office.let_in(&event_id).await?;
        let sent = (phones * scans) as u64;
        let caught_up = crowd.iter().filter_map(Phone::caught_up).max();
        let report = Report { mode: self.mode, phones, sent, took, uploads, missing, counted, caught_up, cost };
        print!("{report}");
        if let Some(file) = &self.json {
            std::fs::write(file, format!("{:#}\n", report.json()))
                .with_context(|| format!("writing {}", file.display()))?;
        }
        Ok(if report.whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The address by which the phones reach the server: the server itself, or a slow proxy.
    async fn way(&self, office: &Office) -> anyhow::Result<Office> {
        match self.mode {
            Mode::Slow => Ok(office.by_way_of(link::slow(&office.server).await?)),
            _ => Ok(office.clone()),
        }
    }

    /// Runs all phones at the same time.
    async fn let_in(&self, crowd: Vec<Phone>, started: Instant) -> anyhow::Result<(Vec<Phone>, Uploads)> {
        let many = crowd.len() as u32;
        let over = Duration::from_secs(u64::from(self.seconds));
        let gap = over / self.scans;
        let tasks: Vec<_> = (0_u32..)
            .zip(crowd)
            .map(|(place, mut phone)| {
                let mode = self.mode;
                tokio::spawn(async move {
                    let uploads = match mode {
                        Mode::Steady | Mode::Resync | Mode::Slow => {
                            phone.steady(started + gap * place / many, gap).await
                        }
                        Mode::Storm => phone.storm(started + STORM * place / many).await,
                    };
                    uploads.map(|uploads| (phone, uploads))
                })
            })
            .collect();
        let (mut crowd, mut all) = (Vec::new(), Uploads::default());
        for task in tasks {
            let (phone, uploads) = task.await??;
            crowd.push(phone);
            all.add(uploads);
        }
        Ok((crowd, all))
    }
}
