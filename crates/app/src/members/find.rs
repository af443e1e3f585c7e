//! Finds a member, and makes sure that an organisation keeps an owner.

use admit_core::ids::UserId;

use crate::error::{Error, Result};
use crate::ports::Tx;
use crate::records::{MemberRecord, Role};

/// One member. Fails with `NotFound` if there is none.
pub(super) fn require(tx: &mut dyn Tx, user_id: &UserId) -> Result<MemberRecord> {
    tx.member(user_id)?.ok_or_else(|| Error::not_found("member"))
}

/// Fails with `last_owner` if the organisation would have no owner without `leaving`. The caller holds the
/// organisation's lock.
pub(super) fn keep_an_owner(tx: &mut dyn Tx, leaving: &UserId) -> Result<()> {
    if tx.members()?.iter().any(|one| one.role == Role::Owner && one.user_id != *leaving) {
        Ok(())
    } else {
        Err(Error::conflict("last_owner", "an organisation keeps at least one owner: make another member owner first"))
    }
}
