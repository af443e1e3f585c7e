//! Shows a mail to a made-up guest, before its templates are saved.

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

/// The mail to preview.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The parts that differ from the saved templates.
    pub patch: MailTemplatePatch,
    /// Whether to show the mail about a change instead of the first mail.
    pub changed: bool,
}

/// Writes a sample mail of the organisation. Fails with the same field errors as saving if a part could not be saved.
pub async fn preview(app: &App, caller: &UserCaller, kind: MailKind, draft: Draft) -> Result<RenderedMail> {
    caller.must(Action::ManageEvents)?;
    // 1. Read the saved templates and the letterhead.
    let (organization, letterhead, saved) = read(&*app.store, &caller.organization_id, move |tx| {
        Ok((tx.organization()?, tx.letterhead()?, tx.mail_template(kind)?))
    })
    .await?;
    // 2. Apply the draft to the saved templates, and check the result.
    let own = draft.patch.tidied(kind).over(&saved);
    let mut checks = Checks::default();
    check_all(&mut checks, kind, &own);
    checks.finish()?;
    // 3. Write the mail. The HTML contains the picture itself, since a preview has no attachments.
    let mut values = MailValues::sample(&organization.name, &letterhead, draft.changed);
    values.picture = format!("data:image/png;base64,{}", STANDARD.encode(picture::png(&values.pass_url)?));
    render_mail(kind, &own, &values)
}
