//! Shows and changes how an organisation's mails look: colour, subject, address for answers.

use admit_core::access::Action;
use admit_core::limits::NAME_CHARS;
use serde_json::json;

use crate::audits::line;
use crate::caller::UserCaller;
use crate::checks::Checks;
use crate::error::Result;
use crate::ports::{App, Scope, read, write};
use crate::records::LetterheadRecord;

/// The fields to change. `None` leaves a field unchanged, and `Some(None)` restores the server's default.
#[derive(Debug, Clone, Default)]
pub struct LetterheadPatch {
    /// The colour of the mail's head, as `#rrggbb`.
    pub color: Option<Option<String>>,
    /// The subject of a first mail. `{event}` stands for the event's name.
    pub subject: Option<Option<String>>,
    /// The address for answers.
    pub reply_to: Option<Option<String>>,
}

/// How the organisation's mails look.
pub async fn letterhead(app: &App, caller: &UserCaller) -> Result<LetterheadRecord> {
    caller.must(Action::ReadEvents)?;
    read(&*app.store, &caller.organization_id, |tx| tx.letterhead()).await
}

/// Changes how the organisation's mails look. A patch that changes nothing writes nothing.
pub async fn update_letterhead(app: &App, caller: &UserCaller, patch: LetterheadPatch) -> Result<LetterheadRecord> {
    caller.must(Action::ManageEvents)?;
    let by = caller.clone();
    // 1. Check.
    let mut checks = Checks::default();
    let patch = checked(&mut checks, patch);
    checks.finish()?;
    write(&*app.store, Scope::organization(&caller.organization_id), move |tx| {
        // 2. Store the new values and one line.
        let before = tx.letterhead()?;
        let patch = patch.clone();
        let after = LetterheadRecord {
            color: patch.color.unwrap_or_else(|| before.color.clone()),
            subject: patch.subject.unwrap_or_else(|| before.subject.clone()),
            reply_to: patch.reply_to.unwrap_or_else(|| before.reply_to.clone()),
        };
        if after != before {
            tx.put_letterhead(&after)?;
            let said = json!({ "color": after.color, "subject": after.subject, "reply_to": after.reply_to });
            let id = by.organization_id.to_string();
            tx.append_audit(line::of(&by, None, "letterhead_updated", ("Organization", &id), said))?;
        }
        Ok(after)
    })
    .await
}

fn checked(checks: &mut Checks, patch: LetterheadPatch) -> LetterheadPatch {
    let color = |checks: &mut Checks, text: String| {
        let text = text.trim().to_ascii_lowercase();
        let digits = text.strip_prefix('#').unwrap_or_default();
        if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            checks.fail("color", "must be a colour such as #0f5c4a");
        }
        text
    };
    LetterheadPatch {
        color: patch.color.map(|one| one.map(|text| color(checks, text))),
        subject: patch.subject.map(|one| one.map(|text| checks.line("subject", &text, 1, NAME_CHARS))),
        reply_to: patch.reply_to.map(|one| one.map(|text| checks.email("reply_to", &text))),
    }
}
