//! A store over one open transaction. `admit migrate-store` reads the moved rows through it and checks them before the
//! commit. It only reads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use admit_app::error::{Error, Result};
use admit_app::ports::{ReadOp, Scope, Store, WriteOp};
use admit_app::records::{
    CredentialRecord, MailLaneRecord, OrganizationRecord, PairingRequestRecord, TakenRun, UserRecord,
};
use admit_core::ids::{EventId, OrganizationId};
use admit_core::rule::Epoch;
use admit_core::time::Timestamp;
use futures_util::future::{BoxFuture, FutureExt, ready};

use crate::moving::Side;

/// The store. Its futures are always ready, because every read runs in place.
pub struct Uncommitted(Mutex<Box<dyn Side>>);

impl Uncommitted {
    /// A store over one side of a move.
    pub fn new(side: Box<dyn Side>) -> Self {
        Self(Mutex::new(side))
    }
    /// The side of the move that this store reads.
    pub fn side(&self) -> MutexGuard<'_, Box<dyn Side>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn done<T: Send + 'static>(result: Result<T>) -> BoxFuture<'static, Result<T>> {
    ready(result).boxed()
}
fn refused<T: Send + 'static>() -> BoxFuture<'static, Result<T>> {
    done(Err(Error::Bug("a store that is being looked at was asked for something else".into())))
}

impl Store for Uncommitted {
    fn write_op(&self, _: Scope, _: WriteOp) -> BoxFuture<'static, Result<()>> {
        refused()
    }
    fn read_op(&self, organization_id: OrganizationId, op: ReadOp) -> BoxFuture<'static, Result<()>> {
        done(self.side().read(&organization_id, op))
    }
    fn credential(&self, _: [u8; 32]) -> BoxFuture<'static, Result<Option<CredentialRecord>>> {
        refused()
    }
    fn sign_in(&self, _: String) -> BoxFuture<'static, Result<Option<(UserRecord, Vec<OrganizationId>)>>> {
        refused()
    }
    fn all_events(&self) -> BoxFuture<'static, Result<Vec<(OrganizationId, EventId)>>> {
        done(self.side().all_events())
    }
    fn organizations(&self) -> BoxFuture<'static, Result<Vec<OrganizationId>>> {
        done(self.side().organizations())
    }
    fn insert_pairing_request(
        &self,
        _: PairingRequestRecord,
        _: Timestamp,
        _: u64,
    ) -> BoxFuture<'static, Result<bool>> {
        refused()
    }
    fn pairing_request(&self, _: [u8; 32]) -> BoxFuture<'static, Result<Option<PairingRequestRecord>>> {
        refused()
    }
    fn create_organization(&self, _: OrganizationRecord, _: UserRecord) -> BoxFuture<'static, Result<()>> {
        refused()
    }
    fn epoch(&self) -> BoxFuture<'static, Result<Epoch>> {
        refused()
    }
    fn begin_epoch(&self, _: Epoch, _: Epoch) -> BoxFuture<'static, Result<()>> {
        refused()
    }
    fn setting(&self, name: String) -> BoxFuture<'static, Result<Option<String>>> {
        done(self.side().setting(&name))
    }
    fn settle(&self, _: String, _: String) -> BoxFuture<'static, Result<String>> {
        refused()
    }
    fn take_runs(&self, _: String, _: i64, _: usize) -> BoxFuture<'static, Result<Vec<TakenRun>>> {
        refused()
    }
    fn renew_runs(&self, _: String, _: Vec<String>, _: i64) -> BoxFuture<'static, Result<()>> {
        refused()
    }
    fn free_runs(&self, _: String) -> BoxFuture<'static, Result<u64>> {
        refused()
    }
    fn next_run_in(&self) -> BoxFuture<'static, Result<Option<i64>>> {
        refused()
    }
    fn mail_lane(&self) -> BoxFuture<'static, Result<Option<MailLaneRecord>>> {
        refused()
    }
    fn stop_mail(&self, _: String, _: String, _: u8) -> BoxFuture<'static, Result<()>> {
        refused()
    }
    fn resume_mail(&self) -> BoxFuture<'static, Result<()>> {
        refused()
    }
    fn hurry_mail(&self) -> BoxFuture<'static, Result<()>> {
        refused()
    }
    fn now(&self) -> BoxFuture<'static, Result<Timestamp>> {
        refused()
    }
}
