//! `admit user`: makes a new organisation with its first owner, adds a member to an organisation, or gives a user a new
//! password.

use std::io::BufRead;

use admit_app::members::{self, NewMember};
use admit_app::organizations::{self, NewOrganization};
use admit_core::access::Role;
use admit_core::ids::OrganizationId;
use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::outcome::Outcome;
use crate::settings::Place;
use crate::{acting, parts};

/// The subcommands of `admit user`.
#[derive(Debug, Subcommand)]
pub enum User {
    /// Add a user: the owner of a new organisation, or a member of an existing one.
    Add(Add),
    /// Give a user a new password and end all their sessions. Use it if the password is forgotten or others know it.
    Password(Password),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  admit user add --organization 'Old Harbour' --email ana@example.org
  admit user add --organization-id ORGANISATION --email jo@example.org --role door")]
pub struct Add {
    #[command(flatten)]
    place: Place,
    /// Sign-in e-mail.
    #[arg(long)]
    email: String,
    /// Name of the user. When absent, the e-mail.
    #[arg(long)]
    name: Option<String>,
    /// Name of a new organisation, which the user will own.
    #[arg(long, conflicts_with = "organization_id", required_unless_present = "organization_id")]
    organization: Option<String>,
    /// Id of the organisation to which the user is added.
    #[arg(long)]
    organization_id: Option<String>,
    /// Role in an existing organisation: owner, manager, promoter, door or viewer.
    #[arg(long, default_value = "manager", conflicts_with = "organization")]
    role: Role,
    /// Read the password from standard input, one line. Without it a random one is made and printed.
    #[arg(long)]
    password_stdin: bool,
    #[command(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  admit user password --email ana@example.org")]
pub struct Password {
    #[command(flatten)]
    place: Place,
    /// Sign-in e-mail.
    #[arg(long)]
    email: String,
    /// Read the password from standard input, one line. Without it a random one is made and printed.
    #[arg(long)]
    password_stdin: bool,
    #[command(flatten)]
    outcome: Outcome,
}

impl User {
    /// Runs the command.
    pub async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Add(add) => add.run().await,
            Self::Password(password) => password.run().await,
        }
    }
}

impl Password {
    async fn run(self) -> anyhow::Result<()> {
        let app = parts::open_app(&self.place).await?;
        let caller = acting::by_email(&app, &self.email, None).await?;
        let (password, made) = given_or_made(self.password_stdin)?;
        members::set_password(&app, &caller, &password).await?;
        let made = made.then_some(password);
        self.outcome.line(format_args!("email: {}", self.email));
        made.iter().for_each(|password| self.outcome.line(format_args!("password: {password}")));
        self.outcome.object(&json!({ "email": self.email, "password": made }));
        Ok(())
    }
}

impl Add {
    async fn run(self) -> anyhow::Result<()> {
        let add = self;
        // A new organisation may be the first content of a database, so this may create one.
        let app = match &add.organization {
            Some(_) => parts::begin_app(&add.place).await?,
            None => parts::open_app(&add.place).await?,
        };
        let (password, made) = given_or_made(add.password_stdin)?;
        let name = add.name.unwrap_or_else(|| add.email.clone());
        let organization_id = match (add.organization, add.organization_id) {
            (Some(organization), _) => {
                let new = NewOrganization {
                    name: organization,
                    email: add.email.clone(),
                    owner_name: name,
                    password: password.clone(),
                };
                organizations::create(&app, new).await?.organization_id
            }
            (None, id) => {
                let id = OrganizationId::new(id.unwrap_or_default()).context("--organization-id")?;
                let owner = acting::owner(&app, &id).await?;
                let new = NewMember { email: add.email.clone(), name, password: password.clone(), role: add.role };
                members::create(&app, &owner, new).await?;
                id
            }
        };
        let made = made.then_some(password);
        add.outcome.line(format_args!("organization_id: {organization_id}\nemail: {}", add.email));
        made.iter().for_each(|password| add.outcome.line(format_args!("password: {password}")));
        add.outcome.object(&json!({ "organization_id": organization_id, "email": add.email, "password": made }));
        Ok(())
    }
}

/// The password from standard input, or a random one; and whether it is random.
fn given_or_made(stdin: bool) -> anyhow::Result<(String, bool)> {
    if stdin { Ok((read_line()?, false)) } else { Ok((random()?, true)) }
}

fn read_line() -> anyhow::Result<String> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("reading the password")?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A password with 100 random bits, in letters and digits that are hard to confuse.
fn random() -> anyhow::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = [0; 20];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("the system gives no randomness: {error}"))?;
    let letters: Vec<char> = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
    Ok(letters.chunks(5).map(|chunk| chunk.iter().collect::<String>()).collect::<Vec<_>>().join("-"))
}
