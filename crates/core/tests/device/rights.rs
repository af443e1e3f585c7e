//! A phone's right to talk to the server. It shows its own code for an organiser to approve (spec D11 way (b)). It
//! changes its key with a full queue (§5 `rotate-key`). It meets a server that holds its scans without counting them
//! (D19).

use admit_core::sign::{ApiKey, verify_v2};
use admit_core::time::Timestamp;
use admit_core::wire::engine::{Input, Phase};
use admit_core::wire::journal::Entry;
use admit_core::wire::scanning::{PairAnswer, PairRequest, PairingAsk, PairingTicket, ScanV2, SyncRequest};

use super::phone::{EVENING, Phone};
use super::server::{Reply, Server};

const ASK: &str = "/api/scanning/pairing-requests";
const PAIR: &str = "/api/scanning/pair";
const SYNC: &str = "/api/scanning/sync";

fn ticket() -> Reply {
    Reply::json(
        201,
        &PairingTicket {
            pairing_token: "admit_pt_own".into(),
            claim_secret: "admit_pc_secret".into(),
            expires_at: Timestamp::clamped(EVENING + 300_000),
        },
    )
}

fn waiting() -> Reply {
    Reply::json(202, &serde_json::json!({ "status": "waiting" }))
}

/// Lets the phone ask to be paired and show its code.
fn asking(phone: &mut Phone) {
    phone.input(Input::AskPairing { name: "Side door".into() });
    let sent = phone.take(ASK);
    let ask: PairingAsk = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
    assert_eq!(ask.name.as_deref(), Some("Side door"));
    phone.answer(&sent, &ticket());
    assert_eq!((phone.view().phase, phone.view().pairing_code.as_deref()), (Phase::Pairing, Some("admit_pt_own")));
}

fn claim(phone: &mut Phone) -> (super::phone::Sent, PairRequest) {
    let sent = phone.take(PAIR);
    let request = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
    (sent, request)
}

/// spec D11 (b): the phone's QR code shows only the token. `/pair` with token and claim secret answers 202 until the
/// organiser approves, and 200 once.
#[test]
fn d11_b_a_phone_shows_its_code_waits_and_is_paired() {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    asking(&mut phone);
    for _ in 0..3 {
        phone.pass(2_000);
        let (sent, request) = claim(&mut phone);
        assert_eq!(
            (request.pairing_token.as_str(), request.claim_secret.as_deref()),
            ("admit_pt_own", Some("admit_pc_secret"))
        );
        phone.answer(&sent, &waiting());
        assert!(phone.view().pairing_code.is_some() && phone.refused().is_none());
    }
    phone.pass(2_000);
    phone.settle(&mut server);
    assert_eq!((phone.view().phase, phone.view().pairing_code.as_deref()), (Phase::Ready, None));
    assert_eq!(phone.view().device_name, "Side door");
}

/// spec D11 (b): no journal row and no view contains the claim secret.
#[test]
fn d11_b_the_claim_secret_stays_in_memory() {
    let mut phone = Phone::new(1);
    asking(&mut phone);
    let kept: Vec<&str> = phone.rows.iter().map(|row| row.text.as_str()).collect();
    let view = serde_json::to_string(phone.view()).unwrap();
    assert!(!kept.concat().contains("admit_pc_") && !view.contains("admit_pc_"));
    phone.start();
    assert_eq!((phone.view().phase, phone.view().pairing_code.as_deref()), (Phase::Unpaired, None), "it asks anew");
}

/// spec D11 (b): a network that comes and goes does not end the wait. An expired code ends it, with a message.
#[test]
fn d11_b_a_wait_outlives_a_bad_network_and_ends_with_its_code() {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    asking(&mut phone);
    phone.pass_offline(240_000);
    assert!(phone.view().pairing_code.is_some(), "five minutes are five minutes");
    phone.pass_online(&mut server, 40_000);
    assert_eq!(phone.view().phase, Phase::Ready);
    let mut phone = Phone::new(2);
    asking(&mut phone);
    phone.pass(2_000);
    let (sent, _) = claim(&mut phone);
    phone.answer(&sent, &Reply::problem(410, "pairing_token_expired"));
    assert_eq!((phone.refused(), phone.view().phase), (Some("pairing_failed"), Phase::Unpaired));
    let mut phone = Phone::new(3);
    asking(&mut phone);
    phone.pass_offline(400_000);
    assert_eq!((phone.refused(), phone.view().pairing_code.as_deref()), (Some("pairing_failed"), None));
}

/// spec D11 (b): the phone waits to the last millisecond of the code's validity, and no longer.
#[test]
fn d11_b_while_the_code_is_good_no_lost_answer_ends_the_wait() {
    for (left_ms, phase) in [(1, Phase::Pairing), (0, Phase::Unpaired)] {
        let mut phone = Phone::new(1);
        asking(&mut phone);
        let until = phone.mono_ms + 300_000;
        phone.pass_offline(270_000);
        while !phone.asks(PAIR) {
            phone.pass(500);
        }
        let (sent, _) = claim(&mut phone);
        phone.mono_ms = until - left_ms;
        phone.lose(&sent);
        assert_eq!(phone.view().phase, phase, "{left_ms} ms left");
    }
}

/// spec D11 (b): a captive portal's page counts neither as a code nor as an approval.
#[test]
fn d11_b_a_portals_page_is_no_code_and_no_approval() {
    let mut phone = Phone::new(1);
    phone.input(Input::AskPairing { name: String::new() });
    let sent = phone.take(ASK);
    phone.answer(&sent, &Reply::html(201));
    assert_eq!(phone.view().pairing_code, None);
    phone.pass(5_000);
    let sent = phone.take(ASK);
    phone.answer(&sent, &ticket());
    phone.pass(2_000);
    let (sent, _) = claim(&mut phone);
    phone.answer(&sent, &Reply::html(202));
    assert!(phone.view().captive || !phone.view().online);
    assert!(phone.view().pairing_code.is_some());
}

/// spec D11: staff may cancel the wait. A pairing link scanned meanwhile replaces it.
#[test]
fn d11_b_staff_may_give_the_code_up() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    asking(&mut phone);
    phone.input(Input::CancelPairing);
    assert_eq!((phone.view().phase, phone.view().pairing_code.as_deref()), (Phase::Ready, None));
    phone.pass(10_000);
    assert!(!phone.asks(PAIR), "nobody waits any more");
    asking(&mut phone);
    phone.pair(&mut server);
    assert_eq!(phone.view().phase, Phase::Ready);
}

/// spec D11, §3 "Log": a phone whose pairing answer was lost hears `device_id_taken` on any new token. With its own
/// code it pairs again as the same device.
#[test]
fn d11_b_a_phone_that_is_taken_asks_as_the_same_device() {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.input(Input::Pair { code: "pairing-token-1".into(), name: "North 1".into() });
    let (lost, first) = claim(&mut phone);
    phone.lose(&lost);
    phone.offline();
    phone.input(Input::Pair { code: "pairing-token-2".into(), name: "North 1".into() });
    let (sent, _) = claim(&mut phone);
    phone.answer(&sent, &Reply::problem(409, "device_id_taken"));
    assert_eq!((phone.refused(), phone.view().phase), (Some("pairing_failed"), Phase::Unpaired));
    asking(&mut phone);
    phone.pass(2_000);
    let (sent, again) = claim(&mut phone);
    assert_eq!(again.device_id, first.device_id);
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &reply);
    phone.settle(&mut server);
    assert_eq!(phone.view().phase, Phase::Ready);
}

/// spec D11, D10: a revoked phone that is approved again keeps its log. `seq` goes on, and no scan is offered under
/// another device id.
#[test]
fn d11_b_a_revoked_phone_that_is_let_in_again_goes_on_with_its_log() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.scan("A-1");
    phone.pass_online(&mut server, 10_000);
    phone.pass(30_000);
    let beat = phone.take("/api/scanning/events/event/heartbeat");
    phone.answer(&beat, &Reply::problem(403, "device_revoked"));
    assert_eq!(phone.view().phase, Phase::Revoked);
    asking(&mut phone);
    phone.pass(2_000);
    phone.settle(&mut server);
    assert_eq!(phone.view().phase, Phase::Ready);
    phone.scan("A-2");
    let scans = phone.scans();
    assert_eq!(scans.iter().map(|scan| scan.seq).collect::<Vec<_>>(), [Some(1), Some(2)]);
    assert_eq!((&scans[0].device_id, &scans[0].log_id), (&scans[1].device_id, &scans[1].log_id));
    assert_ne!(scans[0].key_id, scans[1].key_id);
    phone.pass_online(&mut server, 20_000);
    assert_eq!((server.ids().len(), phone.view().unsent), (2, 0));
}

/// spec §5 `rotate-key` with a full queue: scans signed under the old key are sent as they were signed, with the new
/// bearer token. New scans are signed under the new key.
#[test]
fn rotate_key_a_full_queue_goes_out_as_it_was_signed() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    for n in 1..=12 {
        phone.scan(&format!("A-{n}"));
    }
    phone.offline();
    let old: Vec<String> = server.keys.keys().cloned().collect();
    phone.input(Input::Pair {
        code: "https://tickets.example/scan/#pair=rotation-token".into(),
        name: "North 1".into(),
    });
    let (sent, request) = claim(&mut phone);
    assert_eq!(sent.headers["authorization"], format!("Bearer {}", old[0]), "it proves itself with its old key");
    assert_eq!(request.claim_secret, None);
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    let paired: PairAnswer = serde_json::from_slice(&reply.body).unwrap();
    phone.answer(&sent, &reply);
    phone.scan("A-13");
    phone.pass_online(&mut server, 30_000);
    assert_eq!((server.ids().len(), phone.view().unsent), (13, 0));
    let uploads: Vec<_> = phone.log.iter().filter(|sent| sent.is(SYNC)).collect();
    let items = |sent: &&super::phone::Sent| -> Vec<(admit_core::scan::Scan, String)> {
        let request: SyncRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
        request.scans.iter().map(|raw| ScanV2::read(raw.get()).unwrap()).collect()
    };
    let bearer = format!("Bearer {}", paired.api_key);
    let after: Vec<_> = uploads.iter().filter(|sent| sent.headers["authorization"] == bearer).flat_map(items).collect();
    assert_eq!(after.len(), 13, "all of it after the rotation, under the new bearer");
    for (scan, signature) in after {
        let text = if scan.seq == Some(13) { &paired.api_key } else { &old[0] };
        assert!(verify_v2(&ApiKey::parse(text).unwrap().scan_key(), &scan, &signature), "seq {:?}", scan.seq);
    }
}

/// spec D19: what the server keeps of a suspended device's upload is a receipt. The phone shows the scan as held and
/// does not offer it again.
#[test]
fn d19_what_the_server_holds_of_a_suspended_phone_is_not_offered_again() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let id = phone.id_of("A-1");
    let sent = phone.take(SYNC);
    phone.answer(
        &sent,
        &Reply::problem_with(403, "device_suspended", serde_json::json!({ "kept": [id], "rejected": [] })),
    );
    assert!(phone.view().suspended);
    assert_eq!((phone.view().phase, phone.view().unsent), (Phase::Ready, 0), "it wipes nothing, and goes on");
    assert_eq!(phone.view().history[0].sync, "held");
    assert!(matches!(
        phone.entries().iter().rev().find(|row| matches!(row, Entry::Received { .. })),
        Some(Entry::Received { held: true, .. })
    ));
    phone.requests.clear();
    phone.pass(300_000);
    assert!(!phone.asks(SYNC), "nothing to offer");
    // The next scan is sent at the normal pace, without a penalty.
    phone.scan("A-2");
    assert!(phone.asks(SYNC));
    phone.start();
    assert_eq!(phone.view().history[1].sync, "held", "also after a restart");
}

/// spec D19: a restored server says which scans it has, not which of them it holds. The phone does not call a held scan
/// sent for that.
#[test]
fn d19_what_was_held_before_a_restore_is_held_after_it() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let id = phone.id_of("A-1");
    let sent = phone.take(SYNC);
    // The test's server stores the scan. The answer that reaches the phone says that it is held.
    server.answer(&sent, phone.at_ms).unwrap();
    let held = serde_json::json!({ "kept": [id], "rejected": [] });
    phone.answer(&sent, &Reply::problem_with(403, "device_suspended", held));
    phone.scan("A-2");
    phone.pass_online(&mut server, 70_000);
    server.roll_back(server.serial);
    phone.pass_online(&mut server, 40_000);
    assert!(phone.entries().iter().any(|row| matches!(row, Entry::Epoch { .. })));
    let stands = |phone: &Phone| phone.view().history.iter().map(|row| row.sync.clone()).collect::<Vec<_>>();
    let before = stands(&phone);
    phone.start();
    assert_eq!((before, stands(&phone)), (vec!["sent".into(), "held".into()], vec!["sent".into(), "held".into()]));
}

/// spec D19: the same answer names the items that are refused finally. The phone offers the items it does not name
/// again later.
#[test]
fn d19_a_suspended_phones_answer_may_refuse_an_item_and_leave_another() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.requests.clear();
    let ids = ["A-1", "A-2", "A-3"].map(|code| phone.id_of(code));
    phone.pass(10_000);
    for _ in 0..3 {
        let Some(at) = phone.requests.iter().position(|sent| sent.is(SYNC)) else { break };
        let sent = phone.requests.remove(at);
        let request: SyncRequest = serde_json::from_str(sent.body.as_ref().unwrap()).unwrap();
        if request.scans.len() < 2 {
            let kept = serde_json::json!({ "kept": [ids[0]] });
            phone.answer(&sent, &Reply::problem_with(403, "device_suspended", kept));
            phone.pass(10_000);
            continue;
        }
        let told = serde_json::json!({
            "kept": [ids[1]],
            "rejected": [{ "scan_id": ids[2], "index": request.scans.len() - 1, "reason": "count: must be 1", "kept": true }],
        });
        phone.answer(&sent, &Reply::problem_with(403, "device_suspended", told));
    }
    let view = phone.view();
    assert_eq!((view.unsent, view.problems.len()), (0, 1), "{:?}", view.history);
    assert_eq!(view.problems[0].scan_id, ids[2]);
}

/// spec D19: an answer that names no item is no receipt. The phone keeps the batch and offers it again in a minute.
#[test]
fn d19_an_answer_that_names_nothing_is_no_receipt() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    phone.answer(&sent, &Reply::problem(403, "device_suspended"));
    assert_eq!((phone.view().suspended, phone.view().unsent), (true, 1));
    phone.pass(59_000);
    assert!(!phone.asks(SYNC));
    phone.pass(2_000);
    assert!(phone.asks(SYNC));
}

/// spec D19: the heartbeat's answer says whether the device is suspended. So the notice goes when the organiser lifted
/// it.
#[test]
fn d19_the_heartbeat_lifts_the_notice_when_the_organiser_counted() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    server.suspended = true;
    phone.pass_online(&mut server, 31_000);
    assert!(phone.view().suspended);
    server.suspended = false;
    phone.pass_online(&mut server, 31_000);
    assert!(!phone.view().suspended);
}
