//! Lists the kinds of mail, each with the templates that the organisation wrote itself.

use admit_core::access::Action;

use super::values::{Variable, variables};
use crate::caller::UserCaller;
use crate::error::Result;
use crate::ports::{App, read};
use crate::records::{MailKind, MailTemplateRecord};

/// The templates of one kind of mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailTemplate {
    /// The kind.
    pub kind: MailKind,
    /// The parts that the organisation wrote itself.
    pub own: MailTemplateRecord,
    /// The names that templates of this kind may use.
    pub variables: Vec<Variable>,
}

impl MailTemplate {
    pub(super) fn new(kind: MailKind, own: MailTemplateRecord) -> Self {
        Self { kind, own, variables: variables(kind) }
    }
}

/// The templates of every kind of mail.
pub async fn list(app: &App, caller: &UserCaller) -> Result<Vec<MailTemplate>> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, |tx| {
        MailKind::ALL.into_iter().map(|kind| Ok(MailTemplate::new(kind, tx.mail_template(kind)?))).collect()
    })
    .await
}
