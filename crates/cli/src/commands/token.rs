//! `admit token create`: an API token that acts as a user.

use admit_app::api_tokens;
use clap::{Args, Subcommand};

use crate::settings::Place;
use crate::{acting, parts};

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token and print it, this once.
    Create(Create),
}

#[derive(Debug, Args)]
pub struct Create {
    #[command(flatten)]
    place: Place,
    /// Sign-in e-mail of the user it acts as.
    #[arg(long)]
    email: String,
    /// Organisation, for users of several; the one they joined first when absent.
    #[arg(long)]
    organization_id: Option<String>,
    /// What the token is for.
    #[arg(long, default_value = "command line")]
    name: String,
}

impl Token {
    /// Does it.
    pub async fn run(self) -> anyhow::Result<()> {
        let Self::Create(create) = self;
        let app = parts::open_app(&create.place).await?;
        let caller = acting::by_email(&app, &create.email, create.organization_id.as_deref()).await?;
        println!("{}", api_tokens::create(&app, &caller, &create.name).await?.token);
        Ok(())
    }
}
