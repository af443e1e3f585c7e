//! Renders templates, within limits of work and size. Values are escaped in HTML, and no template can turn that off.

use admit_core::limits::{MAIL_BODY_BYTES, MAIL_SUBJECT_CHARS, MAIL_TEMPLATE_FUEL};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, ErrorKind, Output, State, UndefinedBehavior, filters};

use super::values::{MailValues, default_template};
use crate::error::{Error, Result};
use crate::records::{MailKind, MailPart, MailTemplateRecord};
use crate::words::{escaped, plain, without_markup};

/// Why the text that a template gives must not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line of the template, from 1. Absent if the problem is not about one line.
    pub line: Option<usize>,
    /// A fixed word for the log. It contains nothing from a template or a guest.
    pub reason: &'static str,
    /// The message for the user, without its subject, the name of the mail's part: "has an error in line 3: …".
    pub message: String,
}

impl Problem {
    pub(super) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { line: None, reason, message: message.into() }
    }
    fn of(error: &minijinja::Error) -> Self {
        let reason = match error.kind() {
            ErrorKind::SyntaxError | ErrorKind::BadEscape => "syntax",
            ErrorKind::OutOfFuel => return Self::too_much(),
            ErrorKind::UndefinedError => "undefined",
            _ => "failed",
        };
        let place = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
        let detail = error.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let message = format!("has an error{place}: {}{detail}", error.kind());
        Self { line: error.line(), reason, message }
    }
    fn too_much() -> Self {
        Self::new("too_much_work", "must be simpler: it takes too much work, or its text becomes too long")
    }
}

/// A mail's three texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedMail {
    /// The subject, in one line.
    pub subject: String,
    /// The body as text.
    pub text: String,
    /// The body as HTML.
    pub html: String,
    /// The organisation's templates that failed. The default templates took their place.
    pub problems: Vec<(MailPart, Problem)>,
}

/// Writes a mail by the organisation's own templates. The default template takes the place of a template that is
/// missing or fails.
pub(crate) fn render_mail(kind: MailKind, own: &MailTemplateRecord, values: &MailValues) -> Result<RenderedMail> {
    let mut problems = Vec::new();
    let mut part = |part: MailPart| {
        match own.part(part).map(|template| render(part, template, values)) {
            Some(Ok(text)) => return Ok(text),
            Some(Err(problem)) => problems.push((part, problem)),
            None => {}
        }
        let default = render(part, default_template(kind, part), values);
        default.map_err(|problem| Error::Bug(format!("default {} of a mail: {}", part.as_str(), problem.message)))
    };
    let (subject, text, html) = (part(MailPart::Subject)?, part(MailPart::Text)?, part(MailPart::Html)?);
    Ok(RenderedMail { subject, text, html, problems })
}

/// Statements that templates of mails may not use. The template engine would accept them: cargo builds it once for the
/// workspace, with the features that the templates of `xtask` need.
const NOT_OFFERED: [&str; 7] = ["macro", "call", "include", "import", "from", "extends", "block"];

/// The problem of the first statement that templates of mails may not use.
fn statement_not_offered(template: &str) -> Option<Problem> {
    template.match_indices("{%").find_map(|(at, open)| {
        let rest = template[at + open.len()..].trim_start_matches(['-', '+']).trim_start();
        let word = NOT_OFFERED.iter().find(|word| rest.split(|c: char| !c.is_alphanumeric()).next() == Some(**word))?;
        let line = template[..at].matches('\n').count() + 1;
        let message = format!("has an error in line {line}: `{word}` is not offered in mails");
        Some(Problem { line: Some(line), reason: "syntax", message })
    })
}

/// The text of one part.
pub(super) fn render(part: MailPart, template: &str, values: &MailValues) -> std::result::Result<String, Problem> {
    if let Some(problem) = statement_not_offered(template) {
        return Err(problem);
    }
    let engine = engine(part);
    let made = engine.template_from_str(template).and_then(|template| template.render(values.context()));
    let made = made.map_err(|error| Problem::of(&error))?;
    let link = match part {
        MailPart::Subject => {
            // The subject is made one line, so that no template and no value can begin another header.
            let line = plain(&made);
            return match line.chars().count() {
                0 => Err(Problem::new("empty", "must not be empty")),
                1..=MAIL_SUBJECT_CHARS => Ok(line),
                _ => Err(Problem::new("too_long", format!("must make at most {MAIL_SUBJECT_CHARS} characters"))),
            };
        }
        MailPart::Text => values.pass_url.clone(),
        MailPart::Html => escaped(&values.pass_url),
    };
    if made.len() > MAIL_BODY_BYTES {
        return Err(Problem::new("too_long", format!("must make at most {MAIL_BODY_BYTES} bytes, not {}", made.len())));
    }
    if !made.contains(&link) {
        let message = "must show {{ pass_url }} in every mail: a guest without the link has no pass";
        return Err(Problem::new("no_link", message));
    }
    Ok(made)
}

/// The template engine for one part of a mail. It can read no file and has no functions. Its only filters are `upper`,
/// `lower` and `default`.
pub(super) fn engine<'source>(part: MailPart) -> Environment<'source> {
    let mut engine = Environment::empty();
    engine.set_fuel(Some(MAIL_TEMPLATE_FUEL));
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    // A line that contains only a tag leaves no empty line in the text.
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    if let Ok(syntax) = syntax {
        engine.set_syntax(syntax);
    }
    engine.add_filter("upper", filters::upper);
    engine.add_filter("lower", filters::lower);
    engine.add_filter("default", filters::default);
    if part == MailPart::Html {
        engine.set_auto_escape_callback(|_| AutoEscape::Html);
        engine.set_formatter(escape);
    }
    engine
}

/// Writes a value into HTML, escaped. It does so even if the template turns escaping off, so `{% autoescape false %}`
/// has no effect. It does not escape a `{% set %}` block again, since the block's values went through this function
/// before.
fn escape(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> std::result::Result<(), minijinja::Error> {
    if value.is_undefined() {
        return Err(minijinja::Error::from(ErrorKind::UndefinedError));
    }
    let text = value.to_string();
    let written = if value.is_safe() { out.write_str(&text) } else { out.write_str(&without_markup(&text)) };
    written.map_err(minijinja::Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::LetterheadRecord;

    const NASTY: &str = "<img src=x onerror=\"a('1')\">";

    fn values(guest: &str) -> MailValues {
        let sample = MailValues::sample("Club", &LetterheadRecord::default(), false);
        MailValues { guest: guest.to_owned(), ..sample }
    }
    fn html(template: &str) -> std::result::Result<String, Problem> {
        render(MailPart::Html, &format!("{template}<a href=\"{{{{ pass_url }}}}\">"), &values(NASTY))
    }

    #[test]
    fn a_value_is_text_in_html_whatever_the_template_does() {
        let templates = [
            "{{ guest }}",
            "{% autoescape false %}{{ guest }}{% endautoescape %}",
            "{% set x = guest %}{{ x }}",
            "{% set x %}{{ guest }}{% endset %}{{ x }}",
            "{% autoescape false %}{% set x %}{{ guest }}{% endset %}{{ x }}{% endautoescape %}",
            "{% for x in [guest] %}{{ x }}{% endfor %}",
            "{{ [guest] }}",
            "{{ {'a': guest} }}",
            "{{ '<b>' ~ guest }}",
            "{{ guest|upper }}",
            "{{ nothing|default(guest) }}",
        ];
        for template in templates {
            let made = html(template).unwrap();
            let lower = made.to_lowercase();
            assert!(lower.contains("&lt;img src=x") || lower.contains("&amp;lt;img src=x"), "{template}: {made}");
            assert!(!lower.contains("<img") && !lower.contains("<b>") && !lower.contains("\"a("), "{template}: {made}");
        }
        let text = render(MailPart::Text, "{{ guest }} {{ pass_url }}", &values(NASTY)).unwrap();
        assert!(text.starts_with(NASTY), "text has no markup to escape: {text}");
    }

    #[test]
    fn what_could_read_files_or_turn_escaping_off_is_not_there() {
        for template in [
            "{{ guest|safe }}",
            "{{ guest|escape }}",
            "{{ range(3) }}",
            "{% include 'x' %}",
            "{% import 'x' as y %}",
            "{% macro a() %}{% endmacro %}",
            "{%-macro a() %}{% endmacro %}",
            "{% block a %}{% endblock %}",
            "{{ debug() }}",
            "{{ guest.name }}",
            "{{ nothing }}",
        ] {
            assert!(html(template).is_err(), "{template}");
        }
    }

    #[test]
    fn no_template_loops_for_long_or_grows_without_end() {
        let ten = "[0,1,2,3,4,5,6,7,8,9]";
        let loops = format!("{}{}", format!("{{% for a in {ten} %}}").repeat(8), "{% endfor %}".repeat(8));
        let doubled = format!("{{% set x = 'xxxxxxxxxx' %}}{}{{{{ x }}}}", "{% set x = x ~ x %}".repeat(40));
        let captured = format!("{{% set x = 'x' %}}{}", "{% set x %}{{ x }}{{ x }}{% endset %}".repeat(40));
        let many = "{{ 'x' * 1000000000 }}".to_owned();
        let power = "{{ 10 ** 10 ** 10 }}".to_owned();
        let nested = format!("{{{{ {}1{} }}}}", "(".repeat(5_000), ")".repeat(5_000));
        for template in [loops, doubled, captured, many, power, nested] {
            assert!(html(&template).is_err(), "{}", &template[..60.min(template.len())]);
        }
        let long = html(&"x".repeat(MAIL_BODY_BYTES)).unwrap_err();
        assert_eq!(long.reason, "too_long");
    }

    #[test]
    fn a_subject_is_one_line_whatever_stands_in_it() {
        let subject = |template: &str| render(MailPart::Subject, template, &values("Ana"));
        assert_eq!(subject("Hi\r\nBcc: all@x.example\u{202E}").unwrap(), "Hi  Bcc: all@x.example");
        assert_eq!(subject("{{ 'a\\nb' }} & {{ guest }}").unwrap(), "a b & Ana", "no markup in a subject");
        assert_eq!(subject(" {# nothing #} ").unwrap_err().reason, "empty");
        assert_eq!(subject(&"x".repeat(501)).unwrap_err().reason, "too_long");
    }

    #[test]
    fn an_own_template_that_fails_is_replaced_by_the_default_alone() {
        let own = MailTemplateRecord {
            subject: Some("See you, {{ guest }}".into()),
            text: Some("{% if party > 1 %}{{ pass_url }}{% endif %}".into()),
            html: Some("{{ guest.name }}{{ pass_url }}".into()),
        };
        let alone = MailValues { party: 1, ..values("Ana") };
        let made = render_mail(MailKind::Pass, &own, &alone).unwrap();
        assert_eq!(made.subject, "See you, Ana");
        let reasons: Vec<_> = made.problems.iter().map(|(part, problem)| (part.as_str(), problem.reason)).collect();
        assert_eq!(reasons, [("text", "no_link"), ("html", "undefined")]);
        assert!(made.text.contains("Party of 1") && made.html.contains("Party of 1"));
        let two = render_mail(MailKind::Pass, &own, &values("Ana")).unwrap();
        assert_eq!(two.text, values("").pass_url);
    }

    /// The mail uses the colours of the web apps, in the light and in the dark scheme.
    #[test]
    fn the_default_colours_are_those_of_the_web_apps() {
        let tokens = include_str!("../../../../web/shared/ui/tokens.css");
        let html = render_mail(MailKind::Pass, &MailTemplateRecord::default(), &values("Ana")).unwrap().html;
        let is_color =
            |at: usize| html.get(at + 1..at + 7).is_some_and(|six| six.bytes().all(|b| b.is_ascii_hexdigit()));
        let colours: Vec<&str> =
            html.match_indices('#').filter(|(at, _)| is_color(*at)).map(|(at, _)| &html[at..at + 7]).collect();
        assert!(colours.len() > 10, "{colours:?}");
        for colour in colours {
            assert!(tokens.contains(colour), "{colour} is no colour of tokens.css");
        }
    }

    #[test]
    fn the_default_texts_hold_for_the_longest_values() {
        let long = "👩‍👩‍👧<&\"".repeat(30);
        for (changed, place) in [(false, ""), (false, &*long), (true, ""), (true, &*long)] {
            let mut values = values(&long);
            (values.changed, values.place, values.event) = (changed, place.to_owned(), long.clone());
            let made = render_mail(MailKind::Pass, &MailTemplateRecord::default(), &values).unwrap();
            assert_eq!(made.text.contains("your code is the same"), changed);
            assert_eq!(made.html.contains("your code is the same"), changed);
            assert!(made.html.contains("<!doctype html>") && !made.html.contains("{#"));
        }
    }
}
