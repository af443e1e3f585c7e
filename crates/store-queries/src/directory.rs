//! Queries that run before the organisation of a request is known, or that are about the whole server. They are part of
//! the closed list of unscoped statements (law 6). Each function runs inside a transaction that the backend began.

use admit_app::error::Result;
use admit_app::records::{CredentialRecord, OrganizationRecord, UserRecord};
use admit_core::access::Role;
use admit_core::audit::GENESIS;
use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;

use crate::accounts::{self, CREDENTIAL, INSERT_MEMBER, INSERT_ORGANIZATION, INSERT_USER, MEMBERSHIPS, USER_BY_EMAIL};
use crate::driver::{Asked, Driver, RunFor, statements};
use crate::events::EVENT_IDS;
use crate::heads::{self, INSERT_ORGANIZATION_HEAD};
use crate::value::{Row, Value};

statements! {
    /// The ids of all organisations of the server.
    ORGANIZATION_IDS = "SELECT organization_id FROM organizations ORDER BY organization_id";
    /// The value of one setting of the server, by name.
    SETTING = "SELECT value FROM settings WHERE name = $1";
    /// Stores a setting if it has no value yet.
    SETTLE = "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    /// Locks the table of epochs, so that only one transaction at a time begins an epoch.
    LOCK_EPOCHS = "SELECT restored_at_ms FROM epochs ORDER BY restored_at_ms, random",
        postgres = "SELECT restored_at_ms FROM epochs ORDER BY restored_at_ms, random FOR UPDATE";
}

fn first<T>(rows: Vec<Row>, read: impl FnOnce(&mut Row) -> Result<T>) -> Result<Option<T>> {
    rows.into_iter().next().map(|mut row| read(&mut row)).transpose()
}

/// The credential whose secret has this SHA-256, in any organisation. `None`: there is no such credential.
pub fn credential<D: Driver>(driver: &mut D, token_hash: &[u8; 32]) -> Result<Option<CredentialRecord>> {
    first(driver.query_each(&CREDENTIAL, &[], &[token_hash.into()])?, accounts::read_credential)
}

/// Prefetches together the credentials that these hashes of secrets name. The caller next calls [`credential`] for each
/// hash.
pub fn prefetch_credentials<D: Driver>(driver: &mut D, token_hashes: &[[u8; 32]]) {
    let list: Vec<Value<'_>> = token_hashes.iter().map(Value::from).collect();
    driver.prefetch(&[Asked { stmt: &CREDENTIAL, params: &[], list: Some(&list) }]);
}

/// The user with this sign-in address and the organisations they belong to, oldest membership first.
pub fn sign_in<D: Driver>(driver: &mut D, email: &str) -> Result<Option<(UserRecord, Vec<OrganizationId>)>> {
    let Some(user) = first(driver.query(&USER_BY_EMAIL, &[email.into()])?, accounts::read_user)? else {
        return Ok(None);
    };
    driver.run_for(RunFor::User(&user.user_id))?;
    let rows = driver.query(&MEMBERSHIPS, &[(&user.user_id).into()])?;
    let organizations = rows.into_iter().map(|mut row| row.parsed()).collect::<Result<_>>()?;
    Ok(Some((user, organizations)))
}

/// The ids of all organisations, sorted.
pub fn organizations<D: Driver>(driver: &mut D) -> Result<Vec<OrganizationId>> {
    driver.run_for(RunFor::EveryOrganization)?;
    let rows = driver.query(&ORGANIZATION_IDS, &[])?;
    rows.into_iter().map(|mut row| row.parsed()).collect()
}

/// The events of one organisation, sorted by id. From this call on, the driver runs its statements for that
/// organisation.
fn events_of<D: Driver>(driver: &mut D, organization_id: &OrganizationId) -> Result<Vec<EventId>> {
    driver.run_for(RunFor::Organization(organization_id))?;
    let rows = driver.query(&EVENT_IDS, &[organization_id.into()])?;
    rows.into_iter().map(|mut row| row.parsed()).collect()
}

/// Every event of the server with its organisation.
pub fn all_events<D: Driver>(driver: &mut D) -> Result<Vec<(OrganizationId, EventId)>> {
    let mut all = Vec::new();
    for organization_id in organizations(driver)? {
        for event_id in events_of(driver, &organization_id)? {
            all.push((organization_id.clone(), event_id));
        }
    }
    Ok(all)
}

/// Makes an organisation with its first owner, both new.
pub fn create_organization<D: Driver>(
    driver: &mut D,
    organization: &OrganizationRecord,
    owner: &UserRecord,
) -> Result<()> {
    let id = &organization.organization_id;
    driver.run_for(RunFor::Organization(id))?;
    let values = [id.into(), (&organization.name).into(), organization.created_at.into()];
    driver.execute(&INSERT_ORGANIZATION, &values)?;
    driver.execute(&INSERT_ORGANIZATION_HEAD, &[id.into(), Value::from(&GENESIS)])?;
    driver.execute(&INSERT_USER, &accounts::user_values(owner))?;
    let values = [id.into(), (&owner.user_id).into(), Role::Owner.as_str().into(), owner.created_at.into()];
    driver.execute(&INSERT_MEMBER, &values).map(|_| ())
}

/// The newest epoch of the server. `None`: no epoch has begun in this database yet.
pub fn epoch<D: Driver>(driver: &mut D) -> Result<Option<Epoch>> {
    heads::present_epoch(driver)
}

/// Begins the first epoch of a new database. `told` is the epoch to begin. If it is `None`, the database gives the time
/// and the random part of the epoch. Does nothing on a database that has an epoch.
pub fn begin_first_epoch<D: Driver>(driver: &mut D, told: Option<Epoch>) -> Result<()> {
    if heads::present_epoch(driver)?.is_some() {
        return Ok(());
    }
    let epoch = match told {
        Some(epoch) => epoch,
        None => Epoch { restored_at_ms: driver.now()?.ms(), random: driver.random()? },
    };
    heads::insert_epoch(driver, epoch)
}

/// Begins the epoch `next`. Does nothing if another process has begun an epoch since the caller read `seen`, the newest
/// epoch at that time.
pub fn begin_epoch<D: Driver>(driver: &mut D, seen: Epoch, next: Epoch) -> Result<()> {
    driver.query(&LOCK_EPOCHS, &[])?;
    let Some(present) = heads::present_epoch(driver)? else { return Ok(()) };
    if present != seen {
        return Ok(());
    }
    // Epochs are ordered by their beginning. An epoch begun within the same millisecond as its predecessor is moved
    // after it.
    let next = Epoch { restored_at_ms: next.restored_at_ms.max(present.restored_at_ms.saturating_add(1)), ..next };
    heads::insert_epoch(driver, next)?;
    for organization_id in organizations(driver)? {
        let events = events_of(driver, &organization_id)?;
        let heads = heads::lock(driver, &organization_id, &events)?;
        for (event_id, head) in heads {
            heads::insert_event_epoch(driver, &organization_id, &event_id, next, head.serial)?;
        }
    }
    Ok(())
}

/// The value of a setting. `None`: it is not set.
pub fn setting<D: Driver>(driver: &mut D, name: &str) -> Result<Option<String>> {
    first(driver.query(&SETTING, &[name.into()])?, Row::text)
}

/// Stores a setting if it is not set. Returns the value that is stored afterwards.
pub fn settle<D: Driver>(driver: &mut D, name: &str, value: &str) -> Result<String> {
    driver.execute(&SETTLE, &[name.into(), value.into()])?;
    Ok(setting(driver, name)?.unwrap_or_else(|| value.to_owned()))
}
