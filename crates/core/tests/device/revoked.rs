//! A revoked device: guest data goes at once, the log is uploaded, and then the key goes (spec D10; trust fault 17,
//! I18).

use admit_core::wire::engine::{Effect, Input, Phase};
use admit_core::wire::journal::Entry;
use admit_core::wire::scanning::SyncRequest;

use super::phone::Phone;
use super::server::{Reply, Server};

const SYNC: &str = "/api/scanning/sync";

fn revoked_with(scans: usize) -> (Phone, Server) {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.requests.clear();
    for n in 0..scans {
        phone.scan(&format!("unknown {n}"));
    }
    server.revoked = true;
    (phone, server)
}

fn hand_over(phone: &mut Phone, server: &mut Server, ms: i64) {
    let end = phone.at_ms + ms;
    while phone.at_ms < end {
        while let Some(at) = phone.requests.iter().position(|sent| sent.is(SYNC)) {
            let sent = phone.requests.remove(at);
            let reply = server.answer(&sent, phone.at_ms).unwrap();
            phone.answer(&sent, &reply);
        }
        phone.pass(500);
    }
}

#[test]
fn guest_data_goes_at_once_the_log_is_handed_over_and_then_the_key_goes() {
    let (mut phone, mut server) = revoked_with(2_300);
    hand_over(&mut phone, &mut server, 500);
    assert_eq!(phone.view().phase, Phase::Revoked);
    assert!(phone.caches.is_empty() && phone.view().list.is_none());
    hand_over(&mut phone, &mut server, 60_000);
    assert_eq!((server.ids().len(), phone.view().unsent), (2_300, 0), "the whole log");
    assert!(phone.view().history.iter().all(|row| row.sync == "held"));
    assert!(matches!(phone.entries().last(), Some(Entry::KeyErased { .. })));
    let sent = phone.log.len();
    phone.pass(600_000);
    assert_eq!(phone.log.len(), sent, "and the phone is silent");
    phone.input(Input::code("A-1"));
    assert_eq!(phone.refused(), Some("no_list"));
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert_eq!(phone.refused(), Some("not_paired"), "what it let in others judge now");
    phone.input(Input::Export);
    let lines = phone.effects.iter().rev().find_map(|it| match it {
        Effect::Export { text, .. } => Some(text.lines().count()),
        _ => None,
    });
    assert_eq!(lines, Some(2_300), "the log itself stays, and can be saved");
}

#[test]
fn a_revoked_phone_that_restarts_wipes_again_and_goes_on_handing_over() {
    let (mut phone, mut server) = revoked_with(3);
    let sent = phone.take(SYNC);
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &reply);
    assert_eq!(phone.view().unsent, 2);
    phone.caches.insert("manifest:event".into(), b"left over".to_vec());
    phone.start();
    assert!(phone.caches.is_empty());
    assert_eq!(phone.view().phase, Phase::Revoked);
    hand_over(&mut phone, &mut server, 20_000);
    assert_eq!((server.ids().len(), phone.view().unsent), (3, 0));
}

/// spec D10, §3 "Log": an item that is refused finally counts as handed over. It goes to the problem list, and the
/// phone erases its key afterwards.
#[test]
fn d10_an_item_refused_for_good_does_not_keep_the_key_alive() {
    let (mut phone, _) = revoked_with(3);
    let mut refused = Vec::new();
    for _ in 0..3 {
        phone.pass(10_000);
        let Some(at) = phone.requests.iter().position(|sent| sent.is(SYNC)) else { break };
        let sent = phone.requests.remove(at);
        let request: SyncRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
        let ids: Vec<String> = request.scans.iter().map(|item| scan_id(item.get())).collect();
        // The server keeps all but the last of each upload, which it cannot read.
        let (last, kept) = ids.split_last().unwrap();
        refused.push(last.clone());
        let item =
            serde_json::json!({ "scan_id": last, "index": kept.len(), "reason": "count: must be 1", "kept": true });
        let told = serde_json::json!({ "kept": kept, "rejected": [item], "quota_left": 19_000 });
        phone.answer(&sent, &Reply::problem_with(403, "device_revoked", told));
    }
    let view = phone.view();
    assert_eq!(view.unsent, 0, "{:?}", view.history);
    let mut problems: Vec<String> = view.problems.iter().map(|one| one.scan_id.to_string()).collect();
    problems.sort();
    refused.sort();
    assert_eq!(problems, refused);
    assert!(matches!(phone.entries().last(), Some(Entry::KeyErased { .. })));
}

/// spec D10: if a proxy before the server refuses whole batches, the phone sets their scans apart. A revoked phone
/// keeps its key until it has handed over such scans too, because it could not hand them over without the key.
#[test]
fn d10_scans_set_apart_keep_the_key_until_they_are_handed_over() {
    let (mut phone, mut server) = revoked_with(3);
    let apart = [1, 2].map(|n| phone.scans()[n].scan_id.clone());
    let end = phone.at_ms + 120_000;
    while phone.at_ms < end {
        while let Some(at) = phone.requests.iter().position(|sent| sent.is(SYNC)) {
            let sent = phone.requests.remove(at);
            let is_disliked = apart.iter().any(|id| sent.body.as_ref().unwrap().contains(id.as_str()));
            let reply =
                if is_disliked { Reply::problem(400, "malformed") } else { server.answer(&sent, phone.at_ms).unwrap() };
            phone.answer(&sent, &reply);
        }
        phone.pass(1_000);
    }
    assert_eq!((phone.view().phase, server.ids().len(), phone.view().unsent), (Phase::Revoked, 1, 2));
    assert!(!phone.entries().iter().any(|entry| matches!(entry, Entry::KeyErased { .. })));
    hand_over(&mut phone, &mut server, 3_600_000);
    assert_eq!(
        (server.ids().len(), phone.view().unsent),
        (3, 0),
        "offered again after an hour, each as soon as the one before was taken"
    );
    assert!(matches!(phone.entries().last(), Some(Entry::KeyErased { .. })), "and then the key goes");
}

fn scan_id(item: &str) -> String {
    serde_json::from_str::<serde_json::Value>(item).unwrap()["scan_id"].as_str().unwrap().to_owned()
}

#[test]
fn when_the_quota_ends_the_key_goes_and_the_rest_stays_in_the_log() {
    let (mut phone, _) = revoked_with(3);
    let sent = phone.take(SYNC);
    let more = serde_json::json!({ "kept": [], "quota_left": 0 });
    phone.answer(&sent, &Reply::problem_with(403, "device_revoked", more));
    assert!(matches!(phone.entries().last(), Some(Entry::KeyErased { .. })));
    assert_eq!(phone.view().unsent, 3, "never the unsent journal");
    let log = phone.log.len();
    phone.pass(100_000);
    assert_eq!(phone.log.len(), log);
}

#[test]
fn a_device_learns_it_from_any_answer() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.pass(30_000);
    let beat = phone.take("/api/scanning/events/event/heartbeat");
    phone.answer(&beat, &Reply::problem(403, "device_revoked"));
    assert_eq!(phone.view().phase, Phase::Revoked);
    assert!(matches!(phone.entries().last(), Some(Entry::KeyErased { .. })), "nothing was left to hand over");
}

#[test]
fn a_portal_page_with_403_revokes_nothing() {
    let (mut phone, _) = revoked_with(1);
    let sent = phone.take(SYNC);
    phone.answer(&sent, &Reply::html(403));
    assert_eq!((phone.view().phase, phone.view().unsent), (Phase::Ready, 1));
    assert!(!phone.caches.is_empty());
}

/// An answer that left the server before the revocation and arrives after it restores nothing.
#[test]
fn a_list_on_its_way_does_not_come_back_onto_a_revoked_phone() {
    for scans in [0, 3] {
        let (mut phone, mut server) = revoked_with(scans);
        server.revoked = false;
        server.add_ticket("NEW-1", super::server::ticket(1));
        let mut late = Vec::new();
        while late.len() < 2 {
            phone.pass(1_000);
            for sent in std::mem::take(&mut phone.requests) {
                let reply = server.answer(&sent, phone.at_ms);
                let data = sent.path.contains("/manifest") || sent.path.contains("/changes");
                match reply {
                    Some(reply) if data => late.push((sent, reply)),
                    Some(reply) if sent.path.contains("/heartbeat") => phone.answer(&sent, &reply),
                    _ => phone.requests.push(sent),
                }
            }
        }
        server.revoked = true;
        while phone.view().phase != Phase::Revoked {
            phone.pass(1_000);
            for sent in std::mem::take(&mut phone.requests) {
                let refusal = serde_json::json!({ "kept": [], "quota_left": 20_000 });
                phone.answer(&sent, &Reply::problem_with(403, "device_revoked", refusal));
            }
        }
        for (sent, reply) in late {
            phone.answer(&sent, &reply);
        }
        assert!(phone.caches.is_empty(), "{:?}", phone.caches.keys());
        assert!(phone.view().list.is_none());
    }
}
