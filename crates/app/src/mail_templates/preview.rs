//! A mail as it would arrive, with a made-up guest, before its templates are saved.

use admit_core::access::Action;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::check::check_all;
use super::render::{RenderedMail, render_mail};
use super::update::MailTemplatePatch;
use super::values::MailValues;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::picture;
use crate::ports::{App, read};
use crate::records::MailKind;

/// The form of the preview.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// Parts that differ from the saved ones.
    pub patch: MailTemplatePatch,
    /// Whether it is the mail about a change.
    pub changed: bool,
}

/// Writes a sample mail of the organisation. A part that could not be saved is refused as it would be there.
pub async fn preview(app: &App, caller: &UserCaller, kind: MailKind, draft: Draft) -> Result<RenderedMail> {
    caller.must(Action::ManageEvents)?;
    // 1. The templates and the letterhead as they are saved.
    let (organization, letterhead, saved) = read(&*app.store, &caller.organization_id, move |tx| {
        Ok((tx.organization()?, tx.letterhead()?, tx.mail_template(kind)?))
    })
    .await?;
    // 2. The draft over them, checked.
    let own = draft.patch.tidied(kind).over(&saved);
    let mut checks = Checks::default();
    check_all(&mut checks, kind, &own);
    checks.finish()?;
    // 3. The mail. Its picture stands in the HTML itself: a preview has no attachments.
    let mut values = MailValues::sample(&organization.name, &letterhead, draft.changed);
    values.picture = format!("data:image/png;base64,{}", STANDARD.encode(picture::png(&values.pass_url)?));
    render_mail(kind, &own, &values)
}
