//! As whom a command acts. Whoever may run the binary on the data folder may do anything there; the ledger still wants a
//! name, so commands act as an owner of the organisation.

use admit_app::caller::UserCaller;
use admit_app::ports::{App, read};
use admit_app::records::Role;
use admit_core::ids::{EventId, OrganizationId};
use anyhow::{Context, bail};

/// An owner of the organisation that has this event.
pub async fn owner_of_event(app: &App, event_id: &EventId) -> anyhow::Result<UserCaller> {
    let all = app.store.all_events().await?;
    let mut with = all.into_iter().filter(|(_, one)| one == event_id).map(|(organization_id, _)| organization_id);
    let organization_id = with.next().with_context(|| format!("there is no event {event_id}"))?;
    if with.next().is_some() {
        bail!("several organisations have an event {event_id}: use the HTTP API with a token of the right one");
    }
    owner(app, &organization_id).await
}

/// The first owner of an organisation.
pub async fn owner(app: &App, organization_id: &OrganizationId) -> anyhow::Result<UserCaller> {
    if !app.store.organizations().await?.contains(organization_id) {
        bail!("there is no organisation {organization_id}");
    }
    let members = read(&*app.store, organization_id, |tx| tx.members()).await?;
    let owner = members.into_iter().find(|member| member.role == Role::Owner);
    let owner = owner.with_context(|| format!("organisation {organization_id} has no owner"))?;
    Ok(UserCaller { organization_id: organization_id.clone(), user_id: owner.user_id, role: Role::Owner })
}

/// Somebody by e-mail, in the organisation named or the one they joined first.
pub async fn by_email(app: &App, email: &str, organization: Option<&str>) -> anyhow::Result<UserCaller> {
    let found = app.store.sign_in(email.trim().to_lowercase()).await?;
    let (user, organizations) = found.with_context(|| format!("nobody signs in as {email}"))?;
    let mut fitting = organizations.into_iter().filter(|one| organization.is_none_or(|wanted| wanted == one.as_str()));
    let organization_id = fitting.next().with_context(|| format!("{email} is not a member there"))?;
    let user_id = user.user_id.clone();
    let member = read(&*app.store, &organization_id, move |tx| tx.member(&user_id)).await?;
    let member = member.with_context(|| format!("{email} is not a member there"))?;
    Ok(UserCaller { organization_id, user_id: member.user_id, role: member.role })
}
