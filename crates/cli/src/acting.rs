//! The user as whom a command acts. A person who may run the binary on the data folder may do anything there. The
//! ledger needs an author all the same, so commands act as an owner of the organisation.

use admit_app::caller::UserCaller;
use admit_app::ports::{App, read};
use admit_app::records::Role;
use admit_core::ids::{EventId, OrganizationId};
use anyhow::{Context, bail};

/// An owner of the organisation that has this event.
pub async fn owner_of_event(app: &App, event_id: &EventId) -> anyhow::Result<UserCaller> {
    let all = app.store.all_events().await?;
    let mut with = all.into_iter().filter(|(_, one)| one == event_id).map(|(organization_id, _)| organization_id);
    let Some(organization_id) = with.next() else { bail!(no_such(app, event_id).await?) };
    if with.next().is_some() {
        bail!("several organisations have an event {event_id}: use the HTTP API with a token of the right one");
    }
    owner(app, &organization_id).await
}

/// The most events that an error message lists.
const NAMED: usize = 20;

/// The message that an event does not exist, with a list of those that do.
async fn no_such(app: &App, event_id: &EventId) -> anyhow::Result<String> {
    let all = app.store.all_events().await?;
    let more = all.len().saturating_sub(NAMED);
    let mut named = Vec::new();
    for (organization_id, event_id) in all.into_iter().take(NAMED) {
        let shown = event_id.clone();
        let event = read(&*app.store, &organization_id, move |tx| tx.event(&event_id)).await?;
        named.push(format!("{shown} ({})", event.map(|event| event.name).unwrap_or_default()));
    }
    let there_are = match named.is_empty() {
        true => "there are none yet".to_owned(),
        false if more > 0 => format!("there are {} and {more} more", named.join(", ")),
        false => format!("there are {}", named.join(", ")),
    };
    Ok(format!("there is no event {event_id}; {there_are}"))
}

/// The first owner of an organisation.
pub async fn owner(app: &App, organization_id: &OrganizationId) -> anyhow::Result<UserCaller> {
    if !app.store.organizations().await?.contains(organization_id) {
        bail!("there is no organisation {organization_id}");
    }
    let members = read(&*app.store, organization_id, |tx| tx.members()).await?;
    let owner = members.into_iter().find(|member| member.role == Role::Owner);
    let owner = owner.with_context(|| format!("organisation {organization_id} has no owner"))?;
    Ok(UserCaller {
        organization_id: organization_id.clone(),
        user_id: owner.user_id,
        role: Role::Owner,
        token_ends_at: None,
    })
}

/// A user by e-mail address, as a member of the given organisation, or of the one they joined first.
pub async fn by_email(app: &App, email: &str, organization: Option<&str>) -> anyhow::Result<UserCaller> {
    let found = app.store.sign_in(email.trim().to_lowercase()).await?;
    let (user, organizations) = found.with_context(|| format!("nobody signs in as {email}"))?;
    let mut fitting = organizations.into_iter().filter(|one| organization.is_none_or(|wanted| wanted == one.as_str()));
    let organization_id = fitting.next().with_context(|| format!("{email} is not a member there"))?;
    let user_id = user.user_id.clone();
    let member = read(&*app.store, &organization_id, move |tx| tx.member(&user_id)).await?;
    let member = member.with_context(|| format!("{email} is not a member there"))?;
    Ok(UserCaller { organization_id, user_id: member.user_id, role: member.role, token_ends_at: None })
}
