//! Tests of uploads that the server refuses: the fate of its scans, and the size of the next upload (spec D2, §5;
//! trust fault 4).

use admit_core::limits;
use admit_core::wire::engine::Input;
use admit_core::wire::scanning::{SyncAnswer, SyncRequest};

use super::phone::{Phone, Sent};
use super::server::{Reply, Server};

const SYNC: &str = "/api/scanning/sync";

/// A phone with this many scans and its first upload under way. The test answers the upload by hand.
fn with_scans(scans: usize) -> (Phone, Server, Sent) {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.requests.clear();
    phone.scan("A-1");
    let first = phone.take(SYNC);
    let reply = server.answer(&first, phone.at_ms).unwrap();
    phone.answer(&first, &reply);
    for n in 0..scans {
        phone.scan(&format!("unknown {n}"));
    }
    let sent = next(&mut phone);
    assert_eq!(scans_of(&sent), scans);
    (phone, server, sent)
}
fn scans_of(sent: &Sent) -> usize {
    let request: SyncRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
    request.scans.len()
}
fn next(phone: &mut Phone) -> Sent {
    for _ in 0..200 {
        if phone.asks(SYNC) {
            return phone.take(SYNC);
        }
        phone.requests.clear();
        phone.pass(500);
    }
    panic!("nothing is uploaded any more");
}

#[test]
fn what_a_proxy_finds_too_large_is_halved_until_it_passes_and_doubled_again_after() {
    let (mut phone, mut server, mut sent) = with_scans(20);
    for expected in [10, 5, 2, 1] {
        phone.answer(&sent, &Reply::html(413));
        sent = next(&mut phone);
        assert_eq!(scans_of(&sent), expected);
    }
    // A batch of one scan cannot be made smaller, so the phone offers the same batch again.
    let one = sent.body.clone();
    phone.answer(&sent, &Reply::html(413));
    sent = next(&mut phone);
    assert_eq!(sent.body, one);
    for expected in [2, 4, 8, 5] {
        let reply = server.answer(&sent, phone.at_ms).unwrap();
        phone.answer(&sent, &reply);
        sent = next(&mut phone);
        assert_eq!(scans_of(&sent), expected);
    }
    assert!(phone.view().problems.is_empty(), "nothing was said of any scan");
}

#[test]
fn a_batch_that_the_server_cannot_read_is_halved_unless_it_names_the_scan() {
    let malformed =
        |errors: serde_json::Value| Reply::problem_with(422, "malformed", serde_json::json!({ "errors": errors }));
    let (mut phone, _, sent) = with_scans(9);
    phone.answer(&sent, &malformed(serde_json::json!([])));
    assert_eq!((scans_of(&next(&mut phone)), phone.view().problems.len()), (4, 0));
    let (mut phone, _, sent) = with_scans(9);
    let named = phone.scans()[1 + 6].scan_id.clone();
    phone.answer(&sent, &malformed(serde_json::json!([{ "path": "scans[6].count", "message": "must not be so" }])));
    let problems: Vec<_> = phone.view().problems.iter().map(|problem| problem.scan_id.clone()).collect();
    assert_eq!((scans_of(&next(&mut phone)), problems), (8, vec![named]), "set apart at once");
}

#[test]
fn a_scan_that_cannot_be_read_is_offered_again_after_an_hour_and_not_before() {
    let (mut phone, _, sent) = with_scans(1);
    phone.answer(&sent, &Reply::problem(422, "malformed"));
    let once_more = next(&mut phone);
    phone.answer(&once_more, &Reply::problem(422, "malformed"));
    phone.log.clear();
    phone.pass(limits::POISON_EVERY_MS + 60_000);
    let offered = phone.log.iter().find(|sent| sent.is(SYNC)).map(|sent| sent.sent_mono_ms);
    assert_eq!(offered, Some(once_more.sent_mono_ms + limits::POISON_EVERY_MS));
}

#[test]
fn a_receipt_is_for_the_scans_it_names_and_for_none_between_them() {
    let (mut phone, mut server, sent) = with_scans(3);
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    let mut answer: SyncAnswer = serde_json::from_slice(&reply.body).unwrap();
    let unnamed = answer.processed.remove(1);
    phone.answer(&sent, &Reply::json(200, &answer));
    assert_eq!(phone.view().unsent, 1);
    phone.start();
    assert_eq!(phone.view().unsent, 1, "nor after a restart");
    let sent = next(&mut phone);
    assert_eq!(scans_of(&sent), 1);
    assert!(sent.body.unwrap().contains(unnamed.as_str()));
}

/// A 404 for the phone's own event does not settle the batch: the batch keeps its id and its bytes.
#[test]
fn only_scans_of_another_event_stand_aside_when_the_server_has_none_such() {
    let (mut phone, _, sent) = with_scans(2);
    phone.answer(&sent, &Reply::problem(404, "not_found"));
    assert_eq!(next(&mut phone).body, sent.body);
    // The scans are of another event: the phone offers them again after an hour, and nothing else wakes it then.
    let (mut phone, mut second) = (with_scans(1).0, Server::new());
    second.event_id = "another".parse().unwrap();
    second.one_event = true;
    phone.pair(&mut second);
    phone.requests.retain(|sent| sent.is(SYNC));
    let sent = next(&mut phone);
    phone.answer(&sent, &Reply::problem(404, "not_found"));
    let refused_at = phone.mono_ms;
    phone.log.clear();
    phone.input(Input::Tick);
    phone.pass(limits::POISON_EVERY_MS + 60_000);
    let offered: Vec<i64> = phone.log.iter().filter(|sent| sent.is(SYNC)).map(|sent| sent.sent_mono_ms).collect();
    assert_eq!(offered, [refused_at + limits::POISON_EVERY_MS]);
}
