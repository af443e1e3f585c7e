//! Fuzz target: a message of an organiser's own system, before and after its signature is checked.

use admit_app::webhooks;
use admit_core::time::Timestamp;
use admit_core::webhook::{Refusal, Signed, WebhookSecret};
use admit_core::wire::problem;
use admit_core::wire::webhooks::{GuestMessage, WebhookColumns};

use crate::bytes::{Bytes, piece};

/// The time at which messages arrive, in milliseconds since 1970. It is the time in the standard's own example.
const AT: i64 = 1_614_265_330_000;

/// Runs the target. The bytes hold three headers and the endpoint's columns, each with its length before it
/// ([`Bytes::piece`]), and then the body.
pub fn webhook(bytes: &[u8]) {
    let mut bytes = Bytes::new(bytes);
    let (id, timestamp, signature) = (bytes.text(), bytes.text(), bytes.text());
    let columns = bytes.piece();
    let body = bytes.rest();
    let (secret, other) = (secret(7), secret(8));
    let now = Timestamp::clamped(AT);
    if let Ok(signed) = Signed::read(&id, &timestamp, &signature) {
        assert!(signed.check(&[], body, now).is_err(), "no secret, no message");
        let _ = signed.check(&[secret.clone(), other.clone()], body, now);
        honest(&id, &secret, &other, body);
    }
    let columns = problem::read::<WebhookColumns>(columns)
        .unwrap_or_else(|_| problem::read::<WebhookColumns>(b"{}").expect("every column has its usual name"));
    if let Ok(message) = problem::read::<GuestMessage>(body) {
        webhooks::try_reading(&message, &columns);
    }
}

/// Checks that a message signed as the standard says is accepted for five minutes, with its secret and with no other.
fn honest(id: &str, secret: &WebhookSecret, other: &WebhookSecret, body: &[u8]) {
    let now = Timestamp::clamped(AT);
    let header = format!("v1,notbase64 v2,xyz {}", secret.sign(id, now, body));
    let seconds = (AT / 1_000).to_string();
    let signed = Signed::read(id, &seconds, &header).expect("headers of the right form");
    assert_eq!(signed.check(&[other.clone(), secret.clone()], body, now), Ok(()));
    assert_eq!(signed.check(std::slice::from_ref(other), body, now), Err(Refusal::Wrong));
    let (late, early) = (now.plus_ms(600_000), now.plus_ms(-600_000));
    assert_eq!(signed.check(std::slice::from_ref(secret), body, late), Err(Refusal::TooOld));
    assert_eq!(signed.check(std::slice::from_ref(secret), body, early), Err(Refusal::TooNew));
    let changed = [body, b" "].concat();
    assert_eq!(signed.check(std::slice::from_ref(secret), &changed, now), Err(Refusal::Wrong));
}

fn secret(byte: u8) -> WebhookSecret {
    WebhookSecret::from_bytes([byte; 32]).expect("a secret")
}

/// Messages as senders send them.
pub fn seeds() -> Vec<Vec<u8>> {
    let message = |columns: &str, body: &str| {
        let at = Timestamp::clamped(AT);
        let signature = secret(7).sign("msg_1", at, body.as_bytes());
        let headers = [piece("msg_1"), piece("1614265330"), piece(&signature), piece(columns)].concat();
        [headers.as_slice(), body.as_bytes()].concat()
    };
    vec![
        message(
            "{}",
            r#"{"type":"INSERT","table":"guests","record":{"id":7,"name":"Ana","email":"a@b.c","phone":"+49","party_size":2,"guest_list":"Friends","entry_type":"VIP","updated_at":"2026-06-07 19:30:00.123456+02"},"sequence":4}"#,
        ),
        message(
            r#"{"external_id":"guest_id","name":"full name","phone":null}"#,
            r#"{"type":"UPDATE","record":{"guest_id":"x","full name":"Zoë"},"old_record":{"guest_id":"x","full name":"Zoe"}}"#,
        ),
        message("{}", r#"{"type":"DELETE","record":null,"old_record":{"id":7}}"#),
        message("{}", r#"{"record":{"id":"7","name":["Ana"],"party_size":true,"updated_at":"soon"}}"#),
    ]
}
