//! The names part (spec §5) says who holds which ticket, for devices at gates that allow names. It is signed like the
//! list and separate from it. So a phone at a gate without names never holds a name.

use std::collections::BTreeMap;

use super::build::{Large, sign_behind};
use super::verify::{Expected, ManifestError, check_signatures};
use crate::ids::{EventId, OrganizationId, TicketId};
use crate::rule::Epoch;
use crate::sign::Encoder;
use crate::time::Timestamp;
use crate::wire::manifest::{ContentHash, GuestName, NamesHead, NamesTail};
use crate::wire::problem::{self, FieldError};
use crate::wire::stored::to_text;

/// The input that a names part is built from.
#[derive(Debug, Clone, Copy)]
pub struct NamesInput<'a> {
    /// The organisation that the names belong to.
    pub organization_id: &'a OrganizationId,
    /// The event of the names.
    pub event_id: &'a EventId,
    /// Serial of the last change of a guest, or of the choice of guest fields that verdicts show.
    pub version: u64,
    /// Labels of the guest fields that verdicts show.
    pub labels: &'a [String],
}

/// Builds the large part of a body with all names. This part is the same for every device. The names may come in any
/// order.
pub fn names_part(input: NamesInput<'_>, names: Vec<GuestName>) -> Large {
    let names = sorted(names);
    let content_hash = content_hash(input.labels, &names);
    build(NamesHead { names: Some(names), since: None, upserts: None, ..head(input, content_hash) })
}

/// Builds the large part of a body with the names that changed since a version. `content_hash` is that of all names
/// after the change. Names are replaced and never removed, so there are no tombstones. If the labels changed, the
/// caller sends everybody's names instead.
pub fn names_delta_part(input: NamesInput<'_>, since: u64, upserts: Vec<GuestName>, content_hash: [u8; 32]) -> Large {
    build(NamesHead { since: Some(since), upserts: Some(sorted(upserts)), ..head(input, content_hash) })
}

/// Makes the part of the body that follows `large`. It belongs to one device and ends in the signature. Also gives the
/// value of `X-Signature` for the whole body.
pub fn names_tail(large: &[u8], tail: &NamesTail, api_key: &str) -> (Vec<u8>, String) {
    sign_behind(large, &to_text(tail), api_key)
}

fn head(input: NamesInput<'_>, content_hash: [u8; 32]) -> NamesHead {
    NamesHead {
        event_id: input.event_id.clone(),
        organization_id: input.organization_id.clone(),
        names_version: input.version,
        content_hash: ContentHash(content_hash),
        labels: input.labels.to_vec(),
        names: None,
        since: None,
        upserts: None,
    }
}

fn build(head: NamesHead) -> Large {
    let mut bytes = to_text(&head).into_bytes();
    bytes.pop();
    Large { bytes, content_hash: head.content_hash.0 }
}

fn sorted(mut names: Vec<GuestName>) -> Vec<GuestName> {
    names.sort_by(|a, b| a.ticket_id.cmp(&b.ticket_id));
    names
}

/// The content hash of names: a hash over the labels and then all fields of the names, in order of ticket id.
/// [`crate::sign`] encodes them.
fn content_hash<'a>(labels: &[String], names: impl IntoIterator<Item = &'a GuestName>) -> [u8; 32] {
    let mut to = Encoder::with("admit.names.v1");
    let put = |to: &mut Encoder, texts: &[String]| {
        to.unsigned(texts.len() as u64);
        texts.iter().for_each(|text| to.text(text));
    };
    put(&mut to, labels);
    for GuestName { ticket_id, name, party_size, note, flag, fields } in names {
        to.text(ticket_id.as_str());
        to.text(name);
        to.unsigned(u64::from(*party_size));
        to.option(note.as_deref(), Encoder::text);
        to.option(flag.as_deref(), Encoder::text);
        put(&mut to, fields);
    }
    to.sha256()
}

/// A names part whose signatures were verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Serial of the last change of a guest.
    pub version: u64,
    /// The server's epoch. Names are ordered by (epoch, version), as lists are.
    pub epoch: Epoch,
    /// When the server handed the names out.
    pub generated_at: Timestamp,
    /// The event's head serial when the server handed the names out.
    pub serial: u64,
    /// Whether all names came, not only changes.
    pub whole: bool,
    /// Labels of the guest fields that verdicts show.
    pub labels: Vec<String>,
    /// The names by ticket id.
    pub by_ticket: BTreeMap<TicketId, GuestName>,
}

impl Names {
    /// The guest's fields that a verdict shows, as pairs of label and value in their order. Fields that the guest lacks
    /// are left out.
    pub fn fields<'a>(&'a self, guest: &'a GuestName) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all = self.labels.iter().zip(&guest.fields).filter(|(_, value)| !value.is_empty());
        all.map(|(label, value)| (label.as_str(), value.as_str()))
    }
}

/// Verifies and reads the names part. `body` must be exactly the bytes received, after content decoding. `header` is
/// the value of `X-Signature`; `None` for a body from the cache. If the part holds changes, they are applied to
/// `active`, which the caller has verified before.
pub fn read_names(
    body: &[u8],
    header: Option<&str>,
    api_key: &str,
    expected: Expected<'_>,
    active: Option<&Names>,
) -> Result<Names, ManifestError> {
    check_signatures(body, header, api_key)?;
    let head: NamesHead = problem::read(body).map_err(ManifestError::Malformed)?;
    let tail: NamesTail = problem::read(body).map_err(ManifestError::Malformed)?;
    if head.organization_id != *expected.organization_id {
        return Err(ManifestError::WrongOrganization);
    }
    if head.event_id != *expected.event_id {
        return Err(ManifestError::WrongEvent(head.event_id));
    }
    let whole = head.names.is_some();
    let (mut by_ticket, new) = match (head.names, head.since, head.upserts) {
        (Some(names), None, None) => (BTreeMap::new(), names),
        (None, Some(since), Some(upserts)) => {
            let base = active.filter(|active| (active.epoch, active.version) == (tail.epoch, since));
            let have = active.map_or(0, |active| active.version);
            (base.ok_or(ManifestError::WrongBase { since, have })?.by_ticket.clone(), upserts)
        }
        _ => {
            let message = "is required, or else since and upserts together";
            return Err(ManifestError::Malformed(FieldError::new("names", message)));
        }
    };
    by_ticket.extend(new.into_iter().map(|name| (name.ticket_id.clone(), name)));
    if content_hash(&head.labels, by_ticket.values()) != head.content_hash.0 {
        return Err(ManifestError::ContentHash);
    }
    let (version, epoch) = (head.names_version, tail.epoch);
    if let Some(active) = active
        && (epoch, version) < (active.epoch, active.version)
    {
        return Err(ManifestError::Older { incoming: version, active: active.version });
    }
    let (generated_at, serial, labels) = (tail.generated_at, tail.serial, head.labels);
    Ok(Names { version, epoch, generated_at, serial, whole, labels, by_ticket })
}
