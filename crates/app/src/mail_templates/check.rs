//! Checks a template before it is saved, by rendering every sample mail.

use admit_core::limits::{MAIL_SUBJECT_CHARS, MAIL_TEMPLATE_BYTES};

use super::render::{Problem, engine, render};
use super::values::{MailValues, variables};
use crate::checks::Checks;
use crate::records::{LetterheadRecord, MailKind, MailPart, MailTemplateRecord};

/// How similar a known name must be to an unknown name in a template, from 0 to 1, so that the error suggests it. For
/// `evnt` it suggests `event`; for `name` it does not suggest `date`.
const ALIKE: f64 = 0.6;

/// Checks each part that the organisation wrote itself.
pub(super) fn check_all(checks: &mut Checks, kind: MailKind, own: &MailTemplateRecord) {
    for part in MailPart::ALL {
        if let Some(Err(problem)) = own.part(part).map(|template| check(kind, part, template)) {
            checks.fail(part.as_str(), problem.message);
        }
    }
}

/// Checks the template of one part.
fn check(kind: MailKind, part: MailPart, template: &str) -> Result<(), Problem> {
    if part == MailPart::Subject && (template.lines().count() > 1 || template.chars().count() > MAIL_SUBJECT_CHARS) {
        return Err(Problem::new("too_long", format!("must be one line of at most {MAIL_SUBJECT_CHARS} characters")));
    }
    if template.len() > MAIL_TEMPLATE_BYTES {
        let message = format!("must have at most {MAIL_TEMPLATE_BYTES} bytes, not {}", template.len());
        return Err(Problem::new("too_long", message));
    }
    known_names_only(kind, part, template)?;
    if part == MailPart::Html
        && let Some(line) = unquoted_value(template)
    {
        let message = format!("has an attribute without quotes in line {line}: write \"{{{{ … }}}}\"");
        return Err(Problem::new("unquoted", message));
    }
    for sample in samples(kind) {
        render(part, template, &sample)?;
    }
    Ok(())
}

/// Sample mails. Each value that may be empty is empty in some and set in others.
fn samples(kind: MailKind) -> Vec<MailValues> {
    let MailKind::Pass = kind;
    let letterhead = LetterheadRecord { subject: Some("{event}: come in".into()), ..LetterheadRecord::default() };
    let full = MailValues::sample("Club", &letterhead, false);
    let bare = MailValues { place: String::new(), subject: String::new(), party: 1, ..full.clone() };
    let changed = |one: &MailValues| MailValues { changed: true, ..one.clone() };
    vec![changed(&full), changed(&bare), full, bare]
}

/// Refuses a name that the mail does not offer, even in a branch that no sample reaches.
fn known_names_only(kind: MailKind, part: MailPart, template: &str) -> Result<(), Problem> {
    let engine = engine(part);
    // A template that cannot be parsed passes this check. Rendering then reports the error.
    let Ok(read) = engine.template_from_str(template) else { return Ok(()) };
    let known = variables(kind);
    let named = read.undeclared_variables(false);
    // If several names are unknown, every save reports the first by alphabet.
    let Some(unknown) = named.iter().filter(|name| !known.iter().any(|one| one.name == **name)).min() else {
        return Ok(());
    };
    let alike = |name: &str| strsim::normalized_damerau_levenshtein(unknown, name);
    let nearest = known.iter().map(|one| (alike(one.name), one.name)).filter(|(alike, _)| *alike >= ALIKE);
    let nearest = nearest.max_by(|(a, _), (b, _)| a.total_cmp(b));
    let instead = match nearest {
        Some((_, name)) => format!("Did you mean `{name}`?"),
        None => format!("It may use {}.", known.iter().map(|one| one.name).collect::<Vec<_>>().join(", ")),
    };
    let line = line_of_name(template, unknown);
    let place = line.map(|line| format!(" in line {line}")).unwrap_or_default();
    let message = format!("names `{unknown}`{place}, which this mail does not have. {instead}");
    Err(Problem { line, reason: "unknown_variable", message })
}

/// The first line with a tag that contains this name.
fn line_of_name(template: &str, name: &str) -> Option<usize> {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let found = template.match_indices(name).find(|(at, _)| {
        let (before, after) = (&template[..*at], &template[at + name.len()..]);
        let opened = ["{{", "{%"].iter().filter_map(|open| before.rfind(open)).max();
        let closed = ["}}", "%}"].iter().filter_map(|close| before.rfind(close)).max();
        opened > closed && !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    });
    found.map(|(at, _)| template[..at].matches('\n').count() + 1)
}

/// The first line of HTML with an attribute whose value is a `{{ }}` without quotes. A space in such a value would
/// begin another attribute.
fn unquoted_value(template: &str) -> Option<usize> {
    template.find("={{").map(|at| template[..at].matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail_templates::default_template;

    fn refusal(part: MailPart, template: &str) -> String {
        check(MailKind::Pass, part, template).unwrap_err().message
    }

    #[test]
    fn the_default_templates_pass_the_check() {
        for part in MailPart::ALL {
            assert_eq!(check(MailKind::Pass, part, default_template(MailKind::Pass, part)), Ok(()), "{part:?}");
        }
    }

    #[test]
    fn a_name_that_no_mail_has_is_told_with_its_line_and_the_nearest_one() {
        let template = "evnt\n{% if changed %}\n{{ evnt }}\n{% endif %}{{ pass_url }}";
        assert_eq!(
            refusal(MailPart::Text, template),
            "names `evnt` in line 3, which this mail does not have. Did you mean `event`?"
        );
        let hidden = "{{ pass_url }}{% if party > 100 %}{{ xyz }}{% endif %}";
        let refused = refusal(MailPart::Text, hidden);
        assert!(refused.contains("`xyz` in line 1") && refused.contains("guest, place"), "{refused}");
        // A name that the template sets itself is known.
        assert_eq!(check(MailKind::Pass, MailPart::Text, "{% set a = event %}{{ a }} {{ pass_url }}"), Ok(()));
    }

    #[test]
    fn what_can_not_be_read_is_told_with_its_line() {
        for (template, line) in [("a\n{{ event", "line 2"), ("\n\n{% if %}", "line 3"), ("{% endif %}", "line 1")] {
            let refused = refusal(MailPart::Text, template);
            assert!(refused.starts_with("has an error in ") && refused.contains(line), "{template}: {refused}");
        }
        assert!(refusal(MailPart::Html, "<p>\n{{ guest|safe }} {{ pass_url }}").contains("line 2"));
        assert!(refusal(MailPart::Html, "{{ guest.first }} {{ pass_url }}").contains("line 1"));
    }

    #[test]
    fn a_body_must_show_the_link_in_every_mail() {
        for template in ["{{ event }}", "", "{% if changed %}{{ pass_url }}{% endif %}", "{# {{ pass_url }} #}"] {
            for part in [MailPart::Text, MailPart::Html] {
                assert!(refusal(part, template).contains("{{ pass_url }}"), "{template}");
            }
        }
    }

    #[test]
    fn subjects_are_one_line_and_templates_have_a_size() {
        assert!(refusal(MailPart::Subject, "a\nBcc: x@x.example").contains("one line"));
        assert!(refusal(MailPart::Subject, "").contains("empty"));
        assert!(refusal(MailPart::Subject, "{{ place }}").contains("empty"), "not every event has a place");
        assert!(refusal(MailPart::Text, &"x".repeat(MAIL_TEMPLATE_BYTES + 1)).contains("at most 32768 bytes"));
        let unquoted = refusal(MailPart::Html, "<p>\n<a title={{ guest }} href=\"{{ pass_url }}\">");
        assert!(unquoted.contains("line 2") && unquoted.contains("quotes"), "{unquoted}");
    }
}
