//! `admit doctor`: looks at everything a server depends on, and says what to do about what is wrong.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use admit_server::checkup::{self, Condition, Finding};
use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::parts;
use crate::settings::{DATABASE_FILE, Listen, Outside, Place};

const SECRET_FIX: &str = "give ADMIT_SECRET as it was when the database was made, or put the file `secret` back";

/// `admit doctor`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit doctor --config /etc/admit/admit.conf     everything, with the settings that the server has
  admit doctor --url http://127.0.0.1:8080        a running server, from anywhere: for health checks

A mail server, a Redis or an object store that is set up and does not answer is a failure here. A running server stays
ready without it (`--url`).

Exit codes: 0 nothing failed, 1 something failed.")]
pub struct Doctor {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    listen: Listen,
    #[command(flatten)]
    outside: Outside,
    /// Ask this running server only, and check nothing else.
    #[arg(long)]
    url: Option<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

impl Doctor {
    /// Runs all checks and prints them. The exit code is 1 if one failed.
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        let findings = match &self.url {
            Some(url) => ask(url).await?,
            None => self.look().await.iter().map(as_json).collect(),
        };
        let failed = findings.iter().any(|one| one["condition"] == "failed");
        if self.json {
            println!("{}", serde_json::to_string_pretty(&json!({ "ok": !failed, "checks": findings }))?);
        } else {
            findings.iter().for_each(tell);
        }
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    async fn look(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let settings = self.listen.settings().and_then(|settings| self.outside.add_to(settings, &self.place.data_dir));
        let settings = match settings {
            Ok(settings) => settings,
            Err(error) => {
                return vec![Finding::failed("settings", format!("{error:#}"), "correct the setting it names")];
            }
        };
        findings.push(Finding::ok("settings", "every setting can be read"));
        match self.listen.tls.look(&self.place.data_dir, settings.public_url.as_deref()) {
            Ok(Some(says)) => findings.push(Finding::ok("tls", says)),
            Ok(None) => findings.push(https(settings.public_url.as_deref())),
            Err(error) => findings.push(Finding::failed(
                "tls",
                format!("{error:#}"),
                "correct ADMIT_TLS_CERT and ADMIT_TLS_KEY, or the rights of those files",
            )),
        }
        // The disk comes before the database, which cannot be opened on a full one.
        let disk = self.place.data_dir.exists().then(|| checkup::disk(&self.place.data_dir));
        let full = disk.as_ref().is_some_and(|one| one.condition == Condition::Failed);
        findings.extend(disk);
        if self.place.database_url.is_none() && !self.place.data_dir.join(DATABASE_FILE).exists() {
            let says = format!("there is no database in {} yet", self.place.data_dir.display());
            findings.push(Finding::warning("database", says, "start the server once, or correct ADMIT_DATA_DIR"));
            return findings;
        }
        if let Err(error) = self.place.secret() {
            findings.push(Finding::failed("secret", format!("{error:#}"), SECRET_FIX));
            return findings;
        }
        match parts::open(&self.place, settings).await {
            Ok(state) => {
                findings.push(Finding::ok("secret", "the secret is the one that the database was sealed with"));
                findings.extend(checkup::examine(&state).await.into_iter().map(strict));
                findings.push(owner(&state).await);
                state.shutdown.cancel();
            }
            Err(error) => findings.push(self.not_opened(&error, full)),
        }
        findings.push(serving(self.listen.listen, self.listen.tls.by() != admit_server::config::TlsBy::Nobody).await);
        findings
    }

    /// The finding that the database could not be opened. It names the secret if the secret is wrong, otherwise the
    /// database. Where the disk is full, the fix is to make room.
    fn not_opened(&self, error: &anyhow::Error, full: bool) -> Finding {
        let says = format!("{error:#}");
        if error.is::<parts::WrongSecret>() {
            return Finding::failed("secret", says, SECRET_FIX);
        }
        let fix = if self.place.database_url.is_some() {
            "start PostgreSQL, or correct DATABASE_URL: postgres://user:password@host:5432/database"
        } else if full {
            "make room on the disk first, as the finding on the disk says; nothing that was stored is lost"
        } else {
            "make the folder of ADMIT_DATA_DIR readable and writable for the user that runs Admit; `admit rebuild --check` looks for damage"
        };
        Finding::failed("database", says, fix)
    }
}

/// The finding as the doctor judges it. The operator asks before the doors open: a service that is set up and does not
/// answer is then a failure, although a running server goes on without it.
fn strict(finding: Finding) -> Finding {
    let is_away = finding.condition == Condition::Warning && matches!(finding.name, "redis" | "mail" | "objects");
    if is_away { Finding { condition: Condition::Failed, ..finding } } else { finding }
}

/// A finding whether browsers will give a page the camera.
fn https(public_url: Option<&str>) -> Finding {
    const FIX: &str = "put a TLS proxy in front and say so with PUBLIC_URL=https://…, or use --tls-self-signed in a venue's own network";
    match public_url {
        Some(url) if url.starts_with("https://") => Finding::ok("tls", "a proxy in front speaks https"),
        _ => Finding::warning("tls", "nobody speaks https: phones will not open their cameras", FIX),
    }
}

async fn owner(state: &admit_server::AppState) -> Finding {
    match state.app.store.organizations().await {
        Ok(all) if all.is_empty() => Finding::warning(
            "organisation",
            "nobody can sign in yet",
            "make one: admit user add --organization NAME --email YOU@EXAMPLE.ORG",
        ),
        Ok(all) => Finding::ok("organisation", format!("{} of them", all.len())),
        Err(error) => Finding::failed("organisation", error.to_string(), "see what is said of the database"),
    }
}

/// A finding whether a server answers at the address of the settings.
async fn serving(listen: SocketAddr, tls: bool) -> Finding {
    let mut near = listen;
    if near.ip().is_unspecified() {
        near.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let says = match tokio::time::timeout(Duration::from_secs(2), tokio::net::TcpStream::connect(near)).await {
        Ok(Ok(_)) if tls => return Finding::ok("server", format!("something listens on {near}")),
        Ok(Ok(_)) => match ask(&format!("http://{near}")).await {
            Ok(_) => return Finding::ok("server", format!("a server answers on http://{near}")),
            Err(error) => format!("what listens on {near} is not ready: {error:#}"),
        },
        _ => return Finding::off("server", format!("no server listens on {near}")),
    };
    Finding::warning("server", says, "look into its log, or choose another address with ADMIT_LISTEN")
}

/// The findings that a running server reports about itself.
async fn ask(url: &str) -> anyhow::Result<Vec<Value>> {
    let url = format!("{}/readyz", url.trim_end_matches('/'));
    let client = admit_server::adapters::http_client::builder().timeout(Duration::from_secs(10)).build()?;
    let answer = client.get(&url).send().await.with_context(|| format!("asking {url}"))?;
    let ready = answer.status().is_success();
    let body: Value = answer.json().await.with_context(|| format!("{url} is no Admit server"))?;
    match body["checks"].as_array() {
        Some(checks) if ready => Ok(checks.clone()),
        _ => bail!("{url} says: {}", body["detail"].as_str().unwrap_or("not ready")),
    }
}

fn as_json(finding: &Finding) -> Value {
    serde_json::to_value(finding).unwrap_or_default()
}

fn tell(finding: &Value) {
    let word = |name: &str| finding[name].as_str().unwrap_or_default();
    let mark = match word("condition") {
        "ok" => "ok    ",
        "off" => "off   ",
        "warning" => "look  ",
        _ => "FAILED",
    };
    println!("{mark}  {:<13} {}", word("name"), word("says"));
    if !word("fix").is_empty() {
        println!("        {:<13} → {}", "", word("fix"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_https_the_cameras_are_the_warning() {
        assert_eq!(https(Some("https://a.example")).condition, Condition::Ok);
        let told = https(Some("http://10.0.0.7:8080"));
        assert!(told.condition == Condition::Warning && told.says.contains("cameras"), "{told:?}");
    }
}
