//! `admit token create`: an API token that acts as a user.

use admit_app::api_tokens::{self, API_TOKEN_DAYS, ApiTokenWish};
use admit_core::access::Role;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::outcome::Outcome;
use crate::settings::Place;
use crate::{acting, parts};

/// The subcommands of `admit token`.
#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make an API token and print it. It cannot be shown again.
    Create(Create),
}

#[derive(Debug, Args)]
#[command(after_help = "Example:
  admit token create --email ana@example.org --name 'ticket shop'")]
pub struct Create {
    #[command(flatten)]
    place: Place,
    /// Sign-in e-mail of the user as whom the token acts.
    #[arg(long)]
    email: String,
    /// Id of the organisation, for users of several. When absent, the one that the user joined first.
    #[arg(long)]
    organization_id: Option<String>,
    /// Purpose of the token, in your words.
    #[arg(long, default_value = "command line")]
    name: String,
    /// Role that limits what the token may do: owner, manager, promoter, door or viewer. When absent, the user's own
    /// role.
    #[arg(long)]
    role: Option<Role>,
    /// Days until the token expires.
    #[arg(long, default_value_t = API_TOKEN_DAYS)]
    days: i64,
    #[command(flatten)]
    outcome: Outcome,
}

impl Token {
    /// Runs the command.
    pub async fn run(self) -> anyhow::Result<()> {
        let Self::Create(create) = self;
        let app = parts::open_app(&create.place).await?;
        let caller = acting::by_email(&app, &create.email, create.organization_id.as_deref()).await?;
        let expires_at = Some(app.clock.now().plus_ms(create.days.saturating_mul(86_400_000)));
        let wish = ApiTokenWish { name: create.name, role: create.role, expires_at };
        let made = api_tokens::create(&app, &caller, wish).await?;
        create.outcome.print(
            &made.token,
            &json!({ "token": made.token, "id": made.record.api_token_id, "expires_at": expires_at }),
        );
        Ok(())
    }
}
