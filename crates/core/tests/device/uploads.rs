//! Uploads: their timing, their bytes, and what counts as a receipt (spec D1, D2, D13, §5; trust faults 2, 4, 5, 14).

use admit_core::ids::ScanId;
use admit_core::wire::engine::{Input, Phase};
use admit_core::wire::scanning::{Rejected, SyncAnswer, SyncRequest};

use super::phone::{Phone, Sent};
use super::server::{Reply, Server};

const SYNC: &str = "/api/scanning/sync";

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}
/// A phone whose requests the test answers by hand.
fn alone() -> (Phone, Server) {
    let (mut phone, server) = ready();
    phone.requests.clear();
    (phone, server)
}
fn request(sent: &Sent) -> SyncRequest {
    serde_json::from_str(sent.body.as_ref().unwrap()).unwrap()
}
fn scans_of(sent: &Sent) -> usize {
    request(sent).scans.len()
}
fn syncs(phone: &Phone) -> Vec<&Sent> {
    phone.log.iter().filter(|sent| sent.is(SYNC)).collect()
}
fn backlog(phone: &mut Phone, scans: usize) {
    for n in 0..scans {
        phone.scan(&format!("unknown {n}"));
        phone.offline();
    }
}

#[test]
fn the_first_scan_leaves_at_once_and_then_one_upload_in_six_seconds() {
    let (mut phone, mut server) = ready();
    let start = phone.mono_ms;
    for n in 1..=12 {
        phone.scan(&format!("A-{n}"));
        phone.pass_online(&mut server, 1_000);
    }
    phone.pass_online(&mut server, 6_000);
    let at: Vec<i64> = syncs(&phone).iter().map(|sent| sent.sent_mono_ms - start).collect();
    assert_eq!(at[0], 0, "the first at once");
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 6_000), "{at:?}");
    assert_eq!(server.ids().len(), 12);
    assert_eq!(phone.view().unsent, 0);
    assert!(phone.view().history.iter().all(|row| row.sync == "sent"));
}

#[test]
fn full_chunks_of_a_backlog_follow_at_once_nine_in_a_minute() {
    let (mut phone, mut server) = ready();
    phone.pass_offline(1_000);
    backlog(&mut phone, 2_500);
    phone.pass_offline(61_000);
    phone.input(Input::Online);
    phone.settle(&mut server);
    let sizes: Vec<usize> = syncs(&phone).iter().map(|sent| scans_of(sent)).filter(|size| *size > 1).collect();
    assert_eq!(sizes, [1_000, 1_000], "two full ones at once; the rest keeps the rhythm");
    phone.pass_online(&mut server, 7_000);
    assert_eq!(phone.view().unsent, 0);
}

#[test]
fn never_more_than_nine_uploads_leave_in_a_minute() {
    let (mut phone, mut server) = ready();
    backlog(&mut phone, 12);
    for _ in 0..300 {
        phone.input(Input::SyncNow);
        phone.settle(&mut server);
        phone.scan("unknown");
        phone.pass(500);
    }
    let at: Vec<i64> = syncs(&phone).iter().map(|sent| sent.sent_mono_ms).collect();
    assert!(at.len() > 18);
    assert!(at.windows(10).all(|ten| ten[9] - ten[0] >= 60_000), "{at:?}");
}

#[test]
fn a_batch_is_repeated_with_the_same_bytes_until_it_is_answered() {
    let (mut phone, mut server) = alone();
    phone.scan("A-1");
    let first = phone.take(SYNC);
    server.answer(&first, phone.at_ms); // Stored; the answer is lost.
    phone.lose(&first);
    phone.scan("A-2");
    phone.pass(2_000);
    let second = phone.take(SYNC);
    assert_eq!(second.body, first.body, "to the byte, though another scan waits by now");
    let reply = server.answer(&second, phone.at_ms).unwrap();
    phone.answer(&second, &reply);
    phone.pass(7_000);
    assert_eq!(scans_of(&phone.take(SYNC)), 1);
    assert_eq!(phone.view().unsent, 1);
}

#[test]
fn retries_wait_1_2_4_8_16_and_then_30_seconds_for_ever() {
    let (mut phone, _) = alone();
    phone.scan("A-1");
    let mut waits = Vec::new();
    let mut last = phone.mono_ms;
    while waits.len() < 9 {
        if phone.asks(SYNC) {
            waits.push(phone.mono_ms - last);
            last = phone.mono_ms;
            let sent = phone.take(SYNC);
            phone.lose(&sent);
            assert!(phone.view().retry_in_ms.is_some_and(|wait| wait <= 30_000));
        }
        phone.requests.clear();
        phone.pass(50);
    }
    for (wait, longest) in waits[1..].iter().zip([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]) {
        assert!((longest * 3 / 4..=longest + 50).contains(wait), "{waits:?}");
    }
    assert!(!phone.view().online);
}

#[test]
fn online_and_sync_now_cut_a_wait_short() {
    for hurry in [Input::Online, Input::SyncNow] {
        let (mut phone, _) = alone();
        phone.scan("A-1");
        for _ in 0..4 {
            let sent = phone.take(SYNC);
            phone.lose(&sent);
            phone.pass(20_000);
        }
        let sent = phone.take(SYNC);
        phone.lose(&sent);
        phone.pass(100);
        assert!(!phone.asks(SYNC));
        phone.input(hurry);
        assert!(phone.asks(SYNC));
    }
}

#[test]
fn retry_after_is_honoured_whatever_staff_press() {
    let (mut phone, _) = alone();
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    phone.answer(&sent, &Reply::problem(429, "rate_limited").with("retry-after", 20));
    phone.pass(15_000);
    phone.input(Input::SyncNow);
    assert!(!phone.asks(SYNC));
    phone.pass(6_000);
    assert!(phone.asks(SYNC));
}

#[test]
fn whatever_is_not_a_well_formed_receipt_is_not_delivered() {
    let change = |reply: &Reply, change: fn(&mut SyncAnswer)| {
        let mut answer: SyncAnswer = serde_json::from_slice(&reply.body).unwrap();
        change(&mut answer);
        Reply::json(200, &answer)
    };
    let cases = |good: &Reply| {
        [
            (Reply::html(200), true),
            (Reply { body: Vec::new(), ..Reply::html(302) }, true),
            (Reply::json(200, &serde_json::json!({"ok": true})), true),
            (Reply { body: good.body[..40].to_vec(), status: 200, headers: Vec::new() }, true),
            (change(good, |answer| answer.batch_id = "other".parse().unwrap()), true),
            (change(good, |answer| answer.processed.clear()), false),
            (change(good, |answer| answer.processed = vec!["another".parse().unwrap()]), false),
            (change(good, |answer| answer.cursor.epoch.restored_at_ms = 0), false),
            (Reply::html(404), false),
            (Reply::problem(404, "not_found"), false),
            (Reply::html(500), false),
            (Reply::html(511), true),
            (Reply::problem(503, "later"), false),
            (Reply::html(401), false),
            (Reply { status: 500, ..good.clone() }, false),
        ]
    };
    let mut case = 0;
    loop {
        let (mut phone, mut server) = alone();
        phone.scan("A-1");
        let sent = phone.take(SYNC);
        let good = server.answer(&sent, phone.at_ms).unwrap();
        let Some((reply, captive)) = cases(&good).into_iter().nth(case) else { break };
        phone.answer(&sent, &reply);
        let view = phone.view();
        assert_eq!((view.unsent, view.captive, view.phase), (1, captive, Phase::Ready), "{reply:?}");
        phone.pass(1_000);
        phone.pass(6_000);
        let again = phone.take(SYNC);
        let good = server.answer(&again, phone.at_ms).unwrap();
        phone.answer(&again, &good);
        assert_eq!((phone.view().unsent, phone.view().captive), (0, false), "{reply:?}");
        assert_eq!(server.ids().len(), 1);
        case += 1;
    }
    assert_eq!(case, 15);
}

/// trust promise 2: a rented phone uploads a scan of an event that this server does not know.
#[test]
fn scans_of_an_event_the_server_does_not_have_stop_none_of_its_own_event() {
    let (mut phone, mut first) = alone();
    phone.scan("A-1");
    phone.offline();
    let mut second = Server::new();
    second.event_id = "another".parse().unwrap();
    second.one_event = true;
    phone.pair(&mut second);
    phone.scan("A-2");
    phone.pass_online(&mut second, 60_000);
    assert_eq!((second.ids().len(), phone.view().unsent), (1, 1), "its own event's is there, the other one is kept");
    let sent = syncs(&phone).len();
    phone.pass_online(&mut second, 600_000);
    assert_eq!(syncs(&phone).len(), sent, "not asked again and again");
    phone.pass_online(&mut second, 3_600_000);
    assert_eq!((syncs(&phone).len(), phone.view().unsent), (sent + 1, 1), "but now and then");
    phone.pair(&mut first);
    phone.pass_online(&mut first, 10_000);
    assert_eq!((first.ids().len(), phone.view().unsent), (1, 0), "and at once where it belongs");
}

/// Runs the phone for `ms` milliseconds. An upload that holds the scan `poison` is refused as a whole; the refusal
/// names the field `path`, if given. `#` in it stands for the scan's index.
fn settle_with_poison(phone: &mut Phone, server: &mut Server, poison: &str, path: Option<&str>, ms: i64) {
    let end = phone.at_ms + ms;
    while phone.at_ms < end {
        while let Some(at) = phone.requests.iter().position(|sent| sent.is(SYNC)) {
            let sent = phone.requests.remove(at);
            if let Some(index) = request(&sent).scans.iter().position(|scan| scan.get().contains(poison)) {
                let field = path.map(|path| path.replace('#', &index.to_string()));
                let errors: Vec<_> =
                    field.iter().map(|path| serde_json::json!({"path": path, "message": "must not be so"})).collect();
                let more = serde_json::json!({ "errors": errors });
                phone.answer(&sent, &Reply::problem_with(400, "malformed", more));
            } else {
                let reply = server.answer(&sent, phone.at_ms).unwrap();
                phone.answer(&sent, &reply);
            }
        }
        phone.pass(1_000);
        phone.requests.retain(|sent| sent.is(SYNC));
    }
}

#[test]
fn a_poison_scan_is_isolated_listed_and_kept_and_the_rest_drains() {
    for path in [None, Some("scans[#].count")] {
        let (mut phone, mut server) = alone();
        for n in 1..=20 {
            phone.scan(&format!("A-{n}"));
        }
        let poison = phone.scans()[12].scan_id.clone();
        settle_with_poison(&mut phone, &mut server, poison.as_str(), path, 240_000);
        assert_eq!(server.ids().len(), 19, "the rest drains");
        assert_eq!(phone.view().unsent, 1, "and the one is not deleted");
        let problems = &phone.view().problems;
        assert_eq!((problems.len(), &problems[0].scan_id, problems[0].kept), (1, &poison, false));
        let refusals =
            syncs(&phone).iter().filter(|sent| sent.body.as_ref().unwrap().contains(poison.as_str())).count();
        assert!(refusals <= 8, "by halves: {refusals}");
        phone.scan("A-21");
        settle_with_poison(&mut phone, &mut server, poison.as_str(), path, 60_000);
        let offered = syncs(&phone).iter().filter(|sent| sent.body.as_ref().unwrap().contains(poison.as_str())).count();
        assert_eq!((server.ids().len(), offered), (20, refusals), "that another was taken says nothing of it");
        // The phone offers the unreadable scan again at long intervals, also after a restart. The scan is delivered
        // once the server can read it.
        phone.start();
        phone.settle(&mut server);
        assert_eq!((server.ids().len(), phone.view().unsent, phone.view().problems.len()), (21, 0, 0));
    }
}

#[test]
fn a_batch_id_that_stands_for_something_else_or_is_too_old_is_wrapped_anew() {
    for (status, code) in [(409, "batch_id_reused"), (400, "batch_too_old")] {
        let (mut phone, mut server) = alone();
        phone.scan("A-1");
        let first = phone.take(SYNC);
        phone.answer(&first, &Reply::problem(status, code));
        phone.pass(1_000);
        let second = phone.take(SYNC);
        assert_ne!(request(&first).sync_batch_id, request(&second).sync_batch_id);
        assert_eq!(request(&first).scans[0].get(), request(&second).scans[0].get());
        let reply = server.answer(&second, phone.at_ms).unwrap();
        phone.answer(&second, &reply);
        assert_eq!(phone.view().unsent, 0);
    }
}

#[test]
fn a_rejected_scan_leaves_the_outbox_for_the_problem_list_and_never_the_journal() {
    let (mut phone, mut server) = alone();
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    let mut answer: SyncAnswer = serde_json::from_slice(&reply.body).unwrap();
    let id = answer.processed.remove(0);
    answer.rejected.push(Rejected { scan_id: Some(id.to_string()), index: 0, reason: "no".into(), kept: true });
    phone.answer(&sent, &Reply::json(200, &answer));
    assert_eq!(phone.view().unsent, 0);
    assert_eq!(phone.view().problems[0].scan_id, id);
    assert_eq!(phone.view().history[0].sync, "refused");
    phone.pass(600_000);
    assert!(!phone.asks(SYNC));
    let (rows, nobodys) = (phone.rows.len(), ScanId::new("nobodys").unwrap());
    phone.input(Input::HideProblem { scan_id: nobodys });
    assert_eq!((phone.refused(), phone.rows.len()), (Some("unknown_scan"), rows));
    phone.input(Input::HideProblem { scan_id: id.clone() });
    assert!(phone.view().problems.is_empty());
    phone.start();
    assert!(phone.view().problems.is_empty());
    assert_eq!(phone.scans()[0].scan_id, id, "it stays in the journal");
}

#[test]
fn a_suspended_device_goes_on_scanning_and_its_uploads_wait() {
    let (mut phone, mut server) = alone();
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    phone.answer(&sent, &Reply::problem(403, "device_suspended"));
    assert_eq!((phone.view().phase, phone.view().suspended, phone.view().unsent), (Phase::Ready, true, 1));
    phone.scan("A-2");
    phone.pass(30_000);
    assert!(!phone.asks(SYNC));
    phone.pass(31_000);
    phone.pass_online(&mut server, 7_000);
    assert_eq!((phone.view().suspended, phone.view().unsent), (false, 0));
}

#[test]
fn an_unknown_key_erases_nothing() {
    let (mut phone, mut server) = alone();
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    phone.answer(&sent, &Reply::problem(401, "unknown_key"));
    assert_eq!((phone.view().phase, phone.view().unsent), (Phase::KeyUnknown, 1));
    let shown = phone.scan("A-2");
    assert!(shown.opened, "scanning goes on");
    assert!(!phone.caches.is_empty());
    phone.requests.clear();
    phone.pair(&mut server);
    phone.pass_online(&mut server, 7_000);
    assert_eq!((phone.view().phase, server.ids().len()), (Phase::Ready, 2), "paired again, the same log goes on");
    assert_eq!(phone.scan("A-3").scan_id, phone.scans().last().map(|scan| scan.scan_id.clone()));
    assert_eq!(phone.scans().last().unwrap().seq, Some(3));
}

#[test]
fn an_answer_that_was_on_its_way_before_does_not_make_an_unknown_key_known() {
    let (mut phone, mut server) = ready();
    phone.pass(31_000);
    let beat = phone.take("/api/scanning/events/event/heartbeat");
    let late = server.answer(&beat, phone.at_ms).unwrap();
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    phone.answer(&sent, &Reply::problem(401, "unknown_key"));
    phone.answer(&beat, &late);
    assert_eq!(phone.view().phase, Phase::KeyUnknown);
}

#[test]
fn with_a_key_that_is_known_again_nothing_waits_any_longer() {
    const BEAT: &str = "/api/scanning/events/event/heartbeat";
    let (mut phone, mut server) = ready();
    phone.pass(31_000);
    let beat = phone.take(BEAT);
    phone.answer(&beat, &Reply::problem(401, "unknown_key"));
    phone.pass(61_000);
    assert!(!phone.asks(BEAT), "it waits for a pairing");
    // The server was restored once more, to a state that has the key.
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &reply);
    assert_eq!(phone.view().phase, Phase::Ready);
    assert!(phone.asks(BEAT));
}

#[test]
fn an_export_holds_the_unsent_scans_signed_as_they_would_be_sent() {
    let (mut phone, _) = alone();
    phone.scan("A-1");
    phone.scan("A-2");
    phone.input(Input::Export);
    let text = phone.effects.iter().rev().find_map(|it| match it {
        admit_core::wire::engine::Effect::Export { text, .. } => Some(text.clone()),
        _ => None,
    });
    let text = text.unwrap();
    let ids: Vec<_> =
        text.lines().map(|line| admit_core::wire::scanning::ScanV2::read(line).unwrap().0.scan_id).collect();
    assert_eq!(ids, phone.scans().iter().map(|scan| scan.scan_id.clone()).collect::<Vec<_>>());
}

#[test]
fn after_a_pairing_with_another_event_the_log_goes_on_and_each_batch_holds_one_event() {
    let (mut phone, mut server) = ready();
    phone.pass_offline(1_000);
    for n in 1..=3 {
        phone.scan(&format!("A-{n}"));
        phone.offline();
    }
    server.event_id = admit_core::ids::EventId::new("second").unwrap();
    phone.pair(&mut server);
    assert_eq!(phone.view().event_id, Some(server.event_id.clone()));
    assert!(phone.caches.keys().all(|key| key.contains("second")), "the former event's list is gone");
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    assert_eq!(phone.refused(), Some("nothing_to_undo"), "of this event nobody was let in yet");
    // Staff can undo a scan of the former event by its id. The revert belongs to the former event, and states nothing
    // that the phone knows of the present one.
    let former = phone.scans()[2].clone();
    phone.input(Input::Undo { scan_id: Some(former.scan_id), keep: 0 });
    let revert = phone.scans().pop().unwrap();
    assert_eq!((&revert.event_id, &revert.gate_id), (&former.event_id, &former.gate_id));
    assert_eq!((revert.epoch, revert.manifest_version, revert.cursor), (None, 0, 0));
    phone.scan("A-1");
    phone.pass_online(&mut server, 61_000);
    let events: Vec<_> = server.stored.iter().map(|stored| stored.fact.scan.event_id.to_string()).collect();
    assert_eq!(events, ["event", "event", "event", "event", "second"]);
    let seqs: Vec<_> = phone.scans().iter().filter_map(|scan| scan.seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5]);
    assert_eq!((phone.view().unsent, phone.view().own_admitted), (0, 1));
}
