//! Replacing the texts of a mail, or going back to the default ones.

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

/// The parts to change; `None` leaves one as it is, `Some(None)` gives back the default.
#[derive(Debug, Clone, Default)]
pub struct MailTemplatePatch {
    /// Template of the subject.
    pub subject: Option<Option<String>>,
    /// Template of the body as text.
    pub text: Option<Option<String>>,
    /// Template of the body as HTML.
    pub html: Option<Option<String>>,
}

impl MailTemplatePatch {
    /// The parts that it names, in one form: lines end as in a file, and the default's own text is the default.
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
    /// The templates that it makes of those before.
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

/// Changes the templates of a kind of mail. A patch that changes nothing leaves no trace.
pub async fn update(app: &App, caller: &UserCaller, kind: MailKind, patch: MailTemplatePatch) -> Result<MailTemplate> {
    caller.must(Action::ManageEvents)?;
    let by = caller.clone();
    // 1. Check what is new, outside the transaction: it renders every sample.
    let patch = patch.tidied(kind);
    let mut checks = Checks::default();
    check_all(&mut checks, kind, &patch.over(&MailTemplateRecord::default()));
    checks.finish()?;
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        // 2. The new templates, one line. It says which parts are the organisation's own, not their text.
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
