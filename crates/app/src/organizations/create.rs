//! Creates an organisation with its first owner.

use admit_core::ids::{OrganizationId, UserId};
use admit_core::time::Timestamp;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::{Error, Result};
use crate::password;
use crate::ports::{App, Scope, write};
use crate::records::{OrganizationRecord, Role, UserRecord};

/// The organisation to create.
#[derive(Debug, Clone)]
pub struct NewOrganization {
    /// The organisation's name.
    pub name: String,
    /// The owner's e-mail for signing in.
    pub email: String,
    /// The owner's name.
    pub owner_name: String,
    /// The owner's password.
    pub password: String,
}

/// Creates an organisation and its owner. Returns the owner as a caller. Fails with `email_taken`. Hashing the password
/// takes tens of milliseconds of a core.
pub async fn create(app: &App, new: NewOrganization) -> Result<UserCaller> {
    let now = app.clock.now();
    let mut seeded = app.seeded_ids();
    // 1. Check.
    let mut checks = Checks::default();
    let name = checks.name("name", &new.name);
    let email = checks.email("email", &new.email);
    let owner_name = checks.name("owner_name", &new.owner_name);
    checks.password("password", &new.password, &[&new.email, &new.owner_name, &new.name]);
    checks.finish()?;
    // 2. Create both at once, so that an organisation is never without an owner.
    let organization =
        OrganizationRecord { organization_id: new_organization_id(seeded.row_id(now))?, name, created_at: now };
    let owner = new_user(seeded.row_id(now), email, owner_name, password::hash(&new.password, seeded.bytes())?, now)?;
    app.store.create_organization(organization.clone(), owner.clone()).await?;
    // 3. Write the first line of its ledger.
    let caller = UserCaller {
        organization_id: organization.organization_id.clone(),
        user_id: owner.user_id.clone(),
        role: Role::Owner,
        token_ends_at: None,
    };
    let by = caller.clone();
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        let id = organization.organization_id.as_str();
        let said = json!({ "name": organization.name, "owner": owner.user_id.as_str() });
        tx.append_audit(line::of(&by, None, "organization_created", ("Organization", id), said))
    })
    .await?;
    Ok(caller)
}

fn new_organization_id(text: String) -> Result<OrganizationId> {
    OrganizationId::new(text).map_err(|error| Error::Bug(error.to_string()))
}

/// The row of a new user.
pub(crate) fn new_user(
    id: String,
    email: String,
    name: String,
    password_hash: String,
    now: Timestamp,
) -> Result<UserRecord> {
    let user_id = UserId::new(id).map_err(|error| Error::Bug(error.to_string()))?;
    Ok(UserRecord { user_id, email, name, password_hash, created_at: now })
}
