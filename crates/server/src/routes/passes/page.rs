//! The HTML of the page of a pass. All text of organisers and guests is escaped.

use admit_app::passes::{Pass, escaped, when};
use admit_app::records::LetterheadRecord;
use admit_core::pass::PassStanding;

const STYLE: &str = include_str!("pass.css");
/// The part of the web apps' typefaces that the page needs; see fonts/README.md.
const FONTS: &str = concat!(
    "@font-face{font-family:\"Admit Words\";font-weight:400 700;src:url(data:font/woff2;base64,",
    include_str!("fonts/words.woff2.b64"),
    ") format(\"woff2\")}@font-face{font-family:\"Admit Figures\";font-weight:400 700;unicode-range:U+30-39;\
     src:url(data:font/woff2;base64,",
    include_str!("fonts/figures.woff2.b64"),
    ") format(\"woff2\")}"
);

/// The page of a pass. `side` and `path` are the size of the QR code's square and its drawing.
pub fn pass(pass: &Pass, (side, path): &(usize, String), token: &str, nonce: &str) -> String {
    let color = pass.letterhead.color.as_deref().unwrap_or(LetterheadRecord::COLOR);
    let event = escaped(&pass.event.name);
    let (class, head, words) = standing(pass);
    let guest = pass.guest.as_ref().map(|guest| escaped(&guest.name)).unwrap_or_default();
    let guest = if guest.is_empty() { guest } else { format!("<h2><bdi>{guest}</bdi></h2>") };
    let party = match pass.ticket.rules.entry_limit {
        1 => "1 person".to_owned(),
        persons => format!("{persons} persons"),
    };
    let short = pass.ticket.short_code().unwrap_or_default();
    // A code that admits nobody is not shown as a valid one.
    let code = match pass.standing {
        PassStanding::Cancelled | PassStanding::Used | PassStanding::Expired => String::new(),
        _ => format!(
            "<figure><svg class=\"code\" viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"QR code of this pass\" \
             shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>\
             <path stroke=\"#000\" d=\"{path}\"/></svg><figcaption>If it can't be read, say \
             <b>{short}</b></figcaption></figure>"
        ),
    };
    // A guest who cannot come in any more needs no calendar entry.
    let calendar = match pass.standing {
        PassStanding::Valid | PassStanding::PartlyUsed | PassStanding::NotYetValid => {
            format!("<p><a href=\"passes.ics?token={}\" download=\"pass.ics\">Add to calendar</a></p>", escaped(token))
        }
        _ => String::new(),
    };
    let fact = |name: &str, value: &str| match value {
        "" => String::new(),
        value => format!("<div><dt>{name}</dt><dd><bdi>{value}</bdi></dd></div>"),
    };
    let facts = [
        fact("Admits", &party),
        fact("Begins", &escaped(&when(pass.event.starts_at, &pass.event.time_zone))),
        fact("Ends", &escaped(&when(pass.event.ends_at, &pass.event.time_zone))),
        fact("Place", &escaped(&pass.event.venue)),
    ];
    let body = format!(
        "<div><h1><bdi>{event}</bdi></h1><p class=\"quiet\"><bdi>{}</bdi></p></div><section class=\"card\">\
         <svg class=\"band\" viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect width=\"1\" height=\"1\" fill=\"{}\"/></svg>\
         <p class=\"standing {class}\"><strong>{head}</strong> <span>{words}</span></p>{code}{guest}<dl>{}</dl>{calendar}\
         <p class=\"quiet small\">Whoever has this page has your place: do not pass it on.</p></section>",
        escaped(&pass.organization.name),
        escaped(color),
        facts.concat(),
    );
    page(&event, &body, nonce)
}

/// The standing of a pass: a class for the style sheet, a word or two, and a sentence.
fn standing(pass: &Pass) -> (&'static str, &'static str, String) {
    let limit = pass.ticket.rules.entry_limit;
    match pass.standing {
        PassStanding::Valid => ("good", "Valid", "Show this code at the door.".to_owned()),
        PassStanding::PartlyUsed => {
            let left = limit.saturating_sub(pass.persons);
            ("good", "Partly used", format!("{} of {limit} are in; {left} may still come in.", pass.persons))
        }
        PassStanding::Used => ("over", "Used", "Everybody on this pass is in.".to_owned()),
        PassStanding::Cancelled => {
            ("bad", "Cancelled", "This pass is not good any more. Ask the organiser.".to_owned())
        }
        PassStanding::NotYetValid => {
            let from = pass.ticket.rules.valid_from.unwrap_or(pass.event.starts_at);
            ("soon", "Not yet valid", format!("Good from {}.", escaped(&when(from, &pass.event.time_zone))))
        }
        PassStanding::Expired => ("over", "Over", "The time of this pass is over.".to_owned()),
    }
}

/// The page for every wrong token.
pub fn unknown(nonce: &str) -> String {
    let body = "<section class=\"card\"><h1>No such pass</h1>\
                <p>Check that the address is whole, or ask whoever sent it to you.</p></section>";
    page("No such pass", body, nonce)
}

/// The page for a client that tried too many tokens.
pub fn too_many(nonce: &str) -> String {
    page(
        "Please wait",
        "<section class=\"card\"><h1>Please wait</h1>\
         <p>Too many wrong addresses were tried from here. Try again in a minute.</p></section>",
        nonce,
    )
}

fn page(title: &str, body: &str, nonce: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"robots\" content=\"noindex,nofollow,noarchive\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta name=\"color-scheme\" content=\"light dark\"><style nonce=\"{nonce}\">{FONTS}{STYLE}</style></head>\
         <body><main>{body}<footer><svg viewBox=\"0 0 24 24\" aria-hidden=\"true\">\
         <path d=\"M5 21V6.5A2.5 2.5 0 0 1 7.5 4h9A2.5 2.5 0 0 1 19 6.5V21\"/><path d=\"M9 13.2l2.3 2.3L15.5 11\"/></svg>\
         Admit</footer></main></body></html>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page uses the colours of the web apps, in the light and the dark theme.
    #[test]
    fn the_colours_are_those_of_the_web_apps() {
        let tokens = include_str!("../../../../../web/shared/ui/tokens.css");
        let screen = STYLE.split("@media print").next().unwrap();
        let colours: Vec<&str> =
            screen.match_indices("#").map(|(at, _)| &screen[at..at + 7]).filter(|one| one.len() == 7).collect();
        assert!(colours.len() > 20, "{colours:?}");
        for colour in colours.iter().chain([&LetterheadRecord::COLOR]) {
            assert!(tokens.contains(*colour), "{colour} is no colour of tokens.css");
        }
    }
}
