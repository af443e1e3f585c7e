//! Fuzz targets: short texts, such as scanned codes and the texts in headers, cursors and rows.

use std::fmt::Display;
use std::str::FromStr;

use admit_core::barcode::{BarcodeHash, candidates, canonical, check_barcode, is_s2_code};
use admit_core::ids::{EventId, ScanId};
use admit_core::incident::Subject;
use admit_core::limits::BARCODE_BYTES;
use admit_core::normalize::{for_identity, for_search};
use admit_core::pass::is_token;
use admit_core::rule::Epoch;
use admit_core::search::{NameQuery, SearchName};
use admit_core::sign::{ApiKey, V1Fields, check_body_signature, sign_v1, verify_v1};
use admit_core::text::clean_code;
use admit_core::time::Timestamp;
use admit_core::webhook::WebhookSecret;
use admit_core::wire::scanning::{Cursor, Witness};

use crate::list::KEY;

/// Reads a text that a camera, a hand scanner or a person gives.
pub fn code(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    name(&text);
    let _ = is_token(&text);
    let Ok(list) = candidates(&text) else {
        assert!(check_barcode(&clean_code(&text)).is_err());
        return;
    };
    assert!((1..=15).contains(&list.len()));
    for (place, one) in list.iter().enumerate() {
        assert!(!one.is_empty() && one.len() <= BARCODE_BYTES + 3 && !list[..place].contains(one));
        assert!(!one.chars().any(char::is_control));
    }
    assert_eq!(
        list[0],
        candidates(&canonical(&text)).expect("the canonical form is a code")[0],
        "however it is handed over"
    );
    if is_s2_code(&list[0]) {
        // Both spellings of a code of S2 lead to the same two candidates.
        let other = candidates(&list[1]).expect("a spelling is a code");
        assert!(other.contains(&list[0]) && other.contains(&list[1]));
    }
    let hash = BarcodeHash::of(&list[0]);
    assert_eq!(hash.to_string().parse(), Ok(hash));
}

/// Checks normalized names: normalizing again changes nothing, and every name finds itself.
fn name(text: &str) {
    for normalize in [for_search, for_identity] {
        let once = normalize(text);
        assert_eq!(normalize(&once), once, "what is normalized stays");
    }
    let (query, name) = (NameQuery::new(text), SearchName::new(text));
    assert!(query.terms().is_empty() || query.find(&name.words).is_some(), "a name finds itself");
    assert!(!name.words.contains(['%', '_', '!', '\\']), "no word is a pattern");
}

/// Well-formed codes.
pub fn code_seeds() -> Vec<Vec<u8>> {
    [
        "TOKEN-A-0001",
        " 3KQR-7F92-4M1X\r\n",
        "3KQR7F924M1X",
        "3KQR-7F92-4M1X-ab9Z",
        "https://tickets.example/passes?lang=de&token=7d7e9c4e-2b1a-4f0d-9a3c-0f1e2d3c4b5a#x",
        "https://tickets.example/scan/#pair=TOKEN",
        "Ámelie Łódź Straße ﬁ ΆΈ Ёж O’Brien Jean‑Luc",
        "ｶﾞｸ が か 김민수 田中さくら مُحَمَّد हिन्दी",
        "sha256:5df1b5bd3c5cd2e5bb2ee5eb2e1a4f0d9a3c0f1e2d3c4b5a69788796a5b4c3d2",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Checks that a text that can be read stays equal when it is written and read again.
fn stable<T: FromStr + Display + PartialEq + std::fmt::Debug>(text: &str) -> bool
where
    T::Err: std::fmt::Debug,
{
    let Ok(value) = text.parse::<T>() else { return false };
    assert_eq!(value.to_string().parse::<T>().expect("what was written reads"), value);
    true
}

/// Reads the text as each other kind of short text.
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(at) = Timestamp::parse(&text) {
        assert_eq!(Timestamp::parse(&at.to_string()), Ok(at));
        assert_eq!(Timestamp::from_ms(at.ms()), Ok(at));
    }
    if stable::<Cursor>(&text) {
        assert_eq!(text.parse::<Cursor>().expect("it read").to_string(), text, "a cursor has one spelling");
    }
    stable::<Epoch>(&text);
    stable::<ScanId>(&text);
    stable::<BarcodeHash>(&text);
    if stable::<Witness>(&text) {
        assert!(!text.parse::<Witness>().expect("it read").is_ours(b"not its secret"), "a secret nobody used");
    }
    if let Ok(key) = ApiKey::parse(&text) {
        assert_eq!(key.as_str(), text);
        let _ = key.scan_key();
    }
    if let Ok(secret) = WebhookSecret::parse(&text) {
        assert_eq!(WebhookSecret::parse(&secret.to_text()).expect("what was written reads"), secret);
    }
    if let Some(subject) = Subject::from_key(&text) {
        assert_eq!(subject.key(), text);
    }
    let epoch = Epoch { restored_at_ms: 1, random: 1 };
    let event_id = EventId::new("event").expect("an id");
    let witness = Witness::new(text.as_bytes(), epoch, &event_id, 7, [1; 32]);
    assert!(witness.is_ours(text.as_bytes()));
    signatures(&text);
}

fn signatures(text: &str) {
    let fields = V1Fields { scan_id: text, ticket_id: Some(text), barcode_hash: text, scanned_at: text, gate_id: text };
    let signed: serde_json::Value = serde_json::from_str(&fields.text()).expect("what is signed is JSON");
    assert_eq!(signed["scan_id"].as_str(), Some(text));
    let signature = sign_v1(KEY, &fields);
    assert!(verify_v1(KEY, &fields, &signature));
    assert!(!verify_v1(KEY, &fields, text) || text == signature);
    assert!(!check_body_signature(KEY, b"a body", text) || text.len() == signature.len());
}

/// Well-formed texts of each kind.
pub fn text_seeds() -> Vec<Vec<u8>> {
    let event_id = EventId::new("event-1").expect("an id");
    let witness = Witness::new(b"secret", Epoch { restored_at_ms: 1, random: 1 }, &event_id, 7, [1; 32]).to_string();
    let secret = WebhookSecret::from_bytes([7; 32]).expect("a secret").to_text();
    [
        "2025-12-07T19:30:00.25Z",
        "2025-12-07t21:30:60,5+02:00",
        "1765100000000-00000000deadbeef",
        "1765100000000-00000000deadbeef.12/742d41",
        witness.as_str(),
        KEY,
        secret.as_str(),
        "ticket:t-1",
        "HMAC-SHA256=5df1b5bd3c5cd2e5bb2ee5eb2e1a4f0d9a3c0f1e2d3c4b5a69788796a5b4c3d2",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}
