//! The page itself. Everything that others wrote is text in it.

use admit_app::passes::{Pass, escaped, when};
use admit_app::records::LetterheadRecord;
use admit_core::pass::PassStanding;

const STYLE: &str = include_str!("pass.css");

/// The page of a pass; `code` is the side of its QR code's square and the code's path.
pub fn pass(pass: &Pass, (side, path): &(usize, String), nonce: &str) -> String {
    let color = pass.letterhead.color.as_deref().unwrap_or(LetterheadRecord::COLOR);
    let event = escaped(&pass.event.name);
    let (class, head, words) = standing(pass);
    let line = |text: &str| if text.is_empty() { String::new() } else { format!("<p><bdi>{text}</bdi></p>") };
    let guest = pass.guest.as_ref().map(|guest| escaped(&guest.name)).unwrap_or_default();
    let party = match pass.ticket.rules.entry_limit {
        1 => "1 person".to_owned(),
        persons => format!("Party of {persons}"),
    };
    // A code that lets nobody in is not shown as if it did.
    let code = match pass.standing {
        PassStanding::Cancelled | PassStanding::Used | PassStanding::Expired => String::new(),
        _ => format!(
            "<svg class=\"code\" viewBox=\"0 0 {side} {side}\" role=\"img\" aria-label=\"QR code of this pass\" \
             shape-rendering=\"crispEdges\"><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>\
             <path stroke=\"#000\" d=\"{path}\"/></svg>"
        ),
    };
    let body = format!(
        "<svg class=\"band\" viewBox=\"0 0 1 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect width=\"1\" height=\"1\" fill=\"{}\"/></svg>\
         <h1><bdi>{event}</bdi></h1><p class=\"quiet\"><bdi>{}</bdi></p>\
         <p class=\"standing {class}\"><strong>{head}</strong><br>{words}</p>{code}\
         {}<p>{party}</p><p>{}</p>{}\
         <p class=\"quiet small\">Whoever has this page has your place: do not pass it on.</p>",
        escaped(color),
        escaped(&pass.organization.name),
        line(&guest),
        escaped(&when(pass.event.starts_at, &pass.event.time_zone)),
        line(&escaped(&pass.event.venue)),
    );
    page(&event, &body, nonce)
}

/// How it stands, for the style sheet, in a word or two, and in a sentence.
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

/// What every wrong token gets.
pub fn unknown(nonce: &str) -> String {
    let body = "<h1>No such pass</h1><p>Check that the address is whole, or ask whoever sent it to you.</p>";
    page("No such pass", body, nonce)
}

/// What whoever tries too many gets.
pub fn too_many(nonce: &str) -> String {
    page(
        "Please wait",
        "<h1>Please wait</h1><p>Too many wrong addresses were tried from here. Try again in a minute.</p>",
        nonce,
    )
}

fn page(title: &str, body: &str, nonce: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"robots\" content=\"noindex,nofollow,noarchive\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta name=\"color-scheme\" content=\"light dark\"><style nonce=\"{nonce}\">{STYLE}</style></head>\
         <body><main>{body}</main></body></html>"
    )
}
