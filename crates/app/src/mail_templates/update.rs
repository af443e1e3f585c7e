//! Replaces the templates of a mail, or restores the default ones.

use admit_core::access::Action;
use serde_json::json;

use super::check::check_all;
use super::list::MailTemplate;
use super::values::default_template;
use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::ports::{App, Scope, write};
use crate::records::{MailKind, MailPart, MailTemplateRecord};

/// The parts to change. `None` leaves a part unchanged, and `Some(None)` restores the default.
#[derive(Debug, Clone, Default)]
pub struct MailTemplatePatch {
    /// The template of the subject.
    pub subject: Option<Option<String>>,
    /// The template of the body as text.
    pub text: Option<Option<String>>,
    /// The template of the body as HTML.
    pub html: Option<Option<String>>,
}

impl MailTemplatePatch {
    /// The patch in one form: lines end with `\n`, and a text that equals the default restores the default.
    pub(super) fn tidied(self, kind: MailKind) -> Self {
        let tidy = |part: MailPart, template: Option<Option<String>>| {
            let tidy = |template: String| {
                let template = template.replace("\r\n", "\n");
                if part == MailPart::Subject { template.trim().to_owned() } else { template }
            };
            template.map(|one| one.map(tidy).filter(|own| own != default_template(kind, part)))
        };
        Self {
            subject: tidy(MailPart::Subject, self.subject),
            text: tidy(MailPart::Text, self.text),
            html: tidy(MailPart::Html, self.html),
        }
    }
    /// The templates `before`, with this patch applied.
    pub(super) fn over(&self, before: &MailTemplateRecord) -> MailTemplateRecord {
        let part =
            |patch: &Option<Option<String>>, before: &Option<String>| patch.clone().unwrap_or_else(|| before.clone());
        MailTemplateRecord {
            subject: part(&self.subject, &before.subject),
            text: part(&self.text, &before.text),
            html: part(&self.html, &before.html),
        }
    }
}

/// Changes the templates of a kind of mail. A patch that changes nothing writes nothing.
pub async fn update(app: &App, caller: &UserCaller, kind: MailKind, patch: MailTemplatePatch) -> Result<MailTemplate> {
    caller.must(Action::ManageEvents)?;
    let by = caller.clone();
    // 1. Check the new parts outside the transaction, since the check renders every sample.
    let patch = patch.tidied(kind);
    let mut checks = Checks::default();
    check_all(&mut checks, kind, &patch.over(&MailTemplateRecord::default()));
    checks.finish()?;
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        // 2. Store the new templates and one ledger line. The line says which parts are the organisation's own, and not
        //    their text.
        let before = tx.mail_template(kind)?;
        let after = patch.over(&before);
        if after != before {
            tx.put_mail_template(kind, &after)?;
            let own = |part: MailPart| after.part(part).is_some();
            let said = json!({
                "kind": kind.as_str(), "own_subject": own(MailPart::Subject), "own_text": own(MailPart::Text),
                "own_html": own(MailPart::Html),
            });
            let id = by.organization_id.to_string();
            tx.append_audit(line::of(&by, None, "mail_template_updated", ("Organization", &id), said))?;
        }
        Ok(MailTemplate::new(kind, after))
    })
    .await
}
