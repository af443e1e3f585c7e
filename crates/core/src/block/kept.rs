//! The fields that a server keeps of a scan in addition to its content.

use super::columns::{BlockError, Reader, Writer};
use super::scan::{Taken, at, flag, need, place, word};
use crate::barcode::{hex, unhex};
use crate::scan::{Digest, Fact, Judged, Outcome, Scan, SignatureState};
use crate::sign::{V1_PREFIX, V2_PREFIX, content_digest};

/// A scan as the server first received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The content, and what this delivery proved. The digest is [`content_digest`] of the scan.
    pub fact: Fact,
    /// The signature that came with the scan. Absent if none did.
    pub signature: Option<String>,
    /// The scan as sent. Absent unless it holds a field that this version does not know.
    pub sent: Option<String>,
}

/// The prefixes of signatures that end in 64 hexadecimal digits. Such a signature is written as the prefix's index and
/// 32 bytes, any other as its text.
const PREFIXES: [&str; 2] = [V1_PREFIX, V2_PREFIX];

fn parts(signature: &str) -> Option<(i64, [u8; 32])> {
    let of = |(n, prefix): (usize, &&str)| Some((n as i64, signature.strip_prefix(*prefix).and_then(unhex)?));
    PREFIXES.iter().enumerate().find_map(of)
}

pub(super) fn put(to: &mut Writer, kept: &[Kept]) {
    let signatures: Vec<Option<(i64, [u8; 32])>> = kept.iter().map(|one| parts(one.signature.as_deref()?)).collect();
    let all = || kept.iter();
    to.some_numbers(signatures.iter().map(|one| one.map(|(prefix, _)| prefix)));
    to.some_bytes(signatures.iter().map(|one| one.as_ref().map(|(_, bytes)| bytes)));
    to.some_texts(all().zip(&signatures).map(|(one, parts)| one.signature.as_deref().filter(|_| parts.is_none())));
    to.some_texts(all().map(|one| one.sent.as_deref()));
    to.numbers(all().map(|one| place(SignatureState::ALL, one.fact.signature)));
    to.numbers(all().map(|one| i64::from(one.fact.withheld)));
    to.numbers(all().map(|one| one.fact.offset_seconds));
    to.numbers(all().map(|one| one.fact.received_at.ms()));
    to.some_numbers(all().map(|one| one.fact.judged.map(|judged| judged.serial as i64)));
    to.some_numbers(all().map(|one| one.fact.judged.map(|judged| place(Outcome::ALL, judged.outcome))));
}

/// Reads what is kept of the wanted scans, each with its index.
pub(super) fn take(
    from: &mut Reader<'_>,
    taken: Taken,
    wanted: impl Fn(usize) -> bool,
) -> Result<Vec<(usize, Kept)>, BlockError> {
    let what = "signature";
    let (mut prefix, mut bytes, mut text) = (from.numbers(what)?, from.bytes::<32>(what)?, from.texts(what)?);
    let mut sent = from.texts("sent")?;
    let (mut state, mut withheld) = (from.numbers("signature_state")?, from.numbers("withheld")?);
    let (mut offset, mut received) = (from.numbers("offset_seconds")?, from.numbers("received_at")?);
    let (mut serial, mut outcome) = (from.numbers("judged")?, from.numbers("judged")?);
    let one = |(index, (scan, digest)): (usize, (Scan, Option<Digest>))| {
        let signature = match (prefix.next().flatten(), bytes.next().flatten(), text.next().flatten()) {
            (None, None, text) => text,
            (prefix, Some(bytes), None) => Some(format!("{}{}", word(&PREFIXES, prefix, what)?, hex(&bytes))),
            _ => return Err(BlockError::Damaged(what)),
        };
        let judged = match (serial.next().flatten(), outcome.next().flatten()) {
            (None, None) => None,
            (Some(serial), outcome) => {
                Some(Judged { serial: serial as u64, outcome: word(Outcome::ALL, outcome, "judged")? })
            }
            _ => return Err(BlockError::Damaged("judged")),
        };
        let known = if wanted(index) { digest.unwrap_or_else(|| content_digest(&scan)) } else { Digest([0; 32]) };
        let fact = Fact {
            scan,
            digest: known,
            signature: word(SignatureState::ALL, state.next().flatten(), "signature_state")?,
            withheld: flag(withheld.next().flatten(), "withheld")?,
            offset_seconds: need(offset.next().flatten(), "offset_seconds")?,
            received_at: at(need(received.next().flatten(), "received_at")?, "received_at")?,
            judged,
        };
        Ok((index, Kept { fact, signature, sent: sent.next().flatten() }))
    };
    let all = taken.scans.into_iter().zip(taken.digests).enumerate().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(all.into_iter().filter(|(index, _)| wanted(*index)).collect())
}
