//! When the phone sends its requests: at pairing, after news, after a failure (spec §5).

use admit_core::limits;
use admit_core::rule::EventChange;
use admit_core::time::Timestamp;
use admit_core::wire::engine::{Input, Phase, Row};
use admit_core::wire::scanning::{
    ChangesAnswer, Cursor, HeartbeatAnswer, HeartbeatRequest, RevokedDetails, SIGNATURE_HEADER, TimeAnswer,
};

use super::phone::{Phone, Sent};
use super::server::{Reply, Server, ticket};

const BEAT: &str = "/api/scanning/events/event/heartbeat";
const CHANGES: &str = "/api/scanning/events/event/changes";
const LIST: &str = "/api/scanning/events/event/manifest";
const SYNC: &str = "/api/scanning/sync";
const TIME: &str = "/api/scanning/time";

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}
/// A phone whose pairing was answered. It has had no other answer.
fn just_paired() -> (Phone, Server) {
    let (mut phone, mut server) = (Phone::new(1), Server::new());
    phone.input(Input::Pair { code: server.pairing_link(), name: "North 1".into() });
    let sent = phone.take("/api/scanning/pair");
    told(&mut phone, &mut server, &sent);
    (phone, server)
}
fn told(phone: &mut Phone, server: &mut Server, sent: &Sent) {
    let reply = server.answer(sent, phone.at_ms).expect("an answer");
    phone.answer(sent, &reply);
}
/// Answers everything else until a request of this kind leaves.
fn until_asked(phone: &mut Phone, server: &mut Server, path: &str) -> Sent {
    for _ in 0..200 {
        if phone.asks(path) {
            return phone.take(path);
        }
        for sent in std::mem::take(&mut phone.requests) {
            match server.answer(&sent, phone.at_ms).filter(|_| !sent.is(path)) {
                Some(reply) => phone.answer(&sent, &reply),
                None => phone.requests.push(sent),
            }
        }
        phone.pass(500);
    }
    panic!("{path} is never asked for");
}
/// How long it takes, without answers, until a request of this kind leaves, in milliseconds.
fn asked_after(phone: &mut Phone, path: &str) -> i64 {
    let start = phone.mono_ms;
    while !phone.asks(path) {
        phone.pass(50);
        assert!(phone.mono_ms - start < 700_000, "{path} is never asked for");
    }
    phone.requests.iter().find(|sent| sent.is(path)).unwrap().sent_mono_ms - start
}

#[test]
fn at_pairing_the_list_waits_for_the_clock_or_for_the_news_that_it_does_not_come() {
    for fails in [false, true] {
        let (mut phone, mut server) = just_paired();
        assert!(phone.asks(TIME) && !phone.asks(LIST));
        let sent = phone.take(TIME);
        if fails {
            phone.lose(&sent);
        } else {
            told(&mut phone, &mut server, &sent);
        }
        assert!(phone.asks(LIST), "{fails}");
    }
}

/// An exchange with unusable time stamps measures nothing. The phone has no time then, so it asks again soon.
#[test]
fn the_first_exchange_is_tried_until_it_measures_and_a_later_one_that_does_not_waits_its_ten_minutes() {
    let nothing = |phone: &Phone| {
        let server_time = phone.scans().first().map_or(Timestamp::START, |scan| scan.at);
        Reply::json(200, &TimeAnswer { received_at_ms: 0, sent_at_ms: 0, server_time })
    };
    let (mut phone, mut server) = just_paired();
    let sent = phone.take(TIME);
    let reply = nothing(&phone);
    phone.answer(&sent, &reply);
    assert!((750..=1_000).contains(&asked_after(&mut phone, TIME)));
    let sent = phone.take(TIME);
    told(&mut phone, &mut server, &sent);
    assert!(asked_after(&mut phone, TIME) >= limits::CLOCK_EVERY_MS - 50);
    let sent = phone.take(TIME);
    let reply = nothing(&phone);
    phone.answer(&sent, &reply);
    assert!(asked_after(&mut phone, TIME) >= limits::CLOCK_EVERY_MS - 50);
}

#[test]
fn under_a_new_key_the_same_list_is_fetched_whole() {
    let (mut phone, mut server) = ready();
    phone.pass_online(&mut server, 31_000);
    phone.log.clear();
    phone.pair(&mut server);
    let lists: Vec<&str> = phone.log.iter().filter(|sent| sent.is(LIST)).map(|sent| sent.path.as_str()).collect();
    assert_eq!((lists, phone.view().phase), (vec![LIST], Phase::Ready));
}

#[test]
fn an_answer_that_names_an_older_list_does_not_call_the_newer_one_the_newest() {
    let (mut phone, mut server) = ready();
    phone.pass(31_000);
    let beat = phone.take(BEAT);
    let late = server.answer(&beat, phone.at_ms).unwrap();
    server.add_ticket("LATE-1", ticket(1));
    phone.pass_online(&mut server, 2_000);
    phone.pass(10_000);
    let list = |phone: &Phone| phone.view().list.clone().unwrap();
    let before = list(&phone);
    assert_eq!(before.version, server.version);
    phone.answer(&beat, &late);
    assert_eq!(list(&phone).checked_at, before.checked_at);
}

#[test]
fn what_comes_instead_of_a_list_is_a_portals_unless_it_is_of_our_making() {
    for (body, captive) in [(&b"<html>Sign in to the Wi-Fi"[..], true), (b"{}", false)] {
        let (mut phone, mut server) = ready();
        server.change_event(EventChange::Name("Summer Gala".into()), phone.at_ms);
        let sent = until_asked(&mut phone, &mut server, LIST);
        let reply =
            Reply { status: 200, headers: Vec::new(), body: body.to_vec() }.with(SIGNATURE_HEADER, "HMAC-SHA256=");
        phone.answer(&sent, &reply);
        assert_eq!((phone.view().captive, phone.view().online), (captive, !captive));
    }
}

#[test]
fn a_long_poll_may_take_what_any_request_may_and_the_wait_it_asks_for() {
    let (mut phone, mut server) = ready();
    phone.pass_online(&mut server, 2_000);
    let poll = phone.log.iter().rfind(|sent| sent.is(CHANGES)).unwrap();
    assert!(poll.path.contains("wait=25"), "{}", poll.path);
    assert_eq!(poll.timeout_ms, 20_000 + 25_000);
}

/// An answer to `changes` that holds no change.
fn nothing(server: &Server) -> ChangesAnswer {
    ChangesAnswer {
        items: Vec::new(),
        event: None,
        gates: None,
        devices: Vec::new(),
        manifest_version: server.version,
        cursor: Cursor::at(server.epoch, server.serial),
        more: false,
        resync: false,
        server_time: Timestamp::START,
    }
}

#[test]
fn where_changes_have_more_or_begin_anew_the_next_question_follows_at_once() {
    for (more, resync) in [(true, false), (false, true)] {
        let (mut phone, server) = ready();
        phone.pass(1_000);
        let sent = phone.take(CHANGES);
        phone.answer(&sent, &Reply::json(200, &ChangesAnswer { more, resync, ..nothing(&server) }));
        assert!(phone.asks(CHANGES), "more {more}, resync {resync}");
    }
}

#[test]
fn a_long_poll_that_comes_back_at_once_with_nothing_is_not_repeated_at_once() {
    // The first request for changes is not a long poll.
    let (mut phone, mut server) = just_paired();
    let time = phone.take(TIME);
    told(&mut phone, &mut server, &time);
    let list = phone.take(LIST);
    told(&mut phone, &mut server, &list);
    for (held_ms, pause_ms) in [(0, 500), (0, 5_000), (4_999, 5_000), (5_000, 500), (25_000, 500)] {
        let sent = phone.take(CHANGES);
        phone.pass(held_ms);
        phone.answer(&sent, &Reply::json(200, &nothing(&server)));
        assert_eq!(asked_after(&mut phone, CHANGES), pause_ms, "held for {held_ms} ms");
    }
}

#[test]
fn a_heartbeat_says_what_the_app_is_and_news_it_brings_are_fetched_at_once() {
    let (mut phone, mut server) = ready();
    let beat: HeartbeatRequest =
        serde_json::from_str(phone.log.iter().find(|sent| sent.is(BEAT)).unwrap().body.as_ref().unwrap()).unwrap();
    assert_eq!(beat.app_version.as_deref(), Some("1.0"));
    for news in [true, false] {
        for _ in 0..8 {
            asked_after(&mut phone, CHANGES);
            let sent = phone.take(CHANGES);
            phone.lose(&sent);
        }
        asked_after(&mut phone, BEAT);
        let sent = phone.take(BEAT);
        if phone.asks(CHANGES) {
            let sent = phone.take(CHANGES);
            phone.lose(&sent);
        }
        let answer = HeartbeatAnswer {
            server_time: Timestamp::clamped(phone.at_ms),
            event_id: server.event_id.clone(),
            gate_id: server.gate_id.clone(),
            manifest_version: server.version,
            cursor: Cursor::at(server.epoch, server.serial + u64::from(news)),
            suspended: false,
            area_inside: None,
            walk_ins: None,
            rung_at: None,
        };
        phone.answer(&sent, &Reply::json(200, &answer));
        assert_eq!(phone.asks(CHANGES), news);
        if news {
            // The new rules arrived. The next failures bring nothing new.
            server.serial += 1;
            phone.pass_online(&mut server, 61_000);
        }
    }
}

#[test]
fn the_network_is_back_hurries_the_heartbeat_and_what_failed_alone() {
    let (mut phone, mut server) = ready();
    phone.pass_online(&mut server, 5_000);
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    phone.lose(&sent);
    phone.log.clear();
    phone.input(Input::Online);
    let left: Vec<&str> = phone.log.iter().map(|sent| sent.path.as_str()).filter(|path| *path != TIME).collect();
    assert_eq!(left, [BEAT, SYNC]);
    assert!(phone.log.iter().all(|sent| sent.path != TIME || sent.is_ping()), "the clock keeps its ten minutes");
}

#[test]
fn a_lost_measure_of_the_way_is_no_news_of_its_end() {
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.quick = true;
    phone.pair(&mut server);
    // A code was read, so the phone measures its round trip for a while.
    phone.input(Input::code("A-1"));
    phone.pass_online(&mut server, 1_000);
    let ping = (0..200).find_map(|_| {
        phone.pass(500);
        let at = phone.requests.iter().position(Sent::is_ping)?;
        Some(phone.requests.remove(at))
    });
    let ping = ping.expect("the way is measured");
    assert!(phone.view().online);
    phone.lose(&ping);
    assert!(phone.view().online);
}

/// The answer to another request reports the revocation first. The upload under way is still answered, and the next
/// follows.
#[test]
fn revoked_by_another_answer_while_an_upload_is_under_way_a_phone_goes_on_handing_over() {
    let (mut phone, mut server) = ready();
    phone.pass(31_000);
    let beat = phone.take(BEAT);
    phone.scan("A-1");
    let under_way = phone.take(SYNC);
    phone.scan("A-2");
    server.revoked = true;
    let details = RevokedDetails { kept: Vec::new(), rejected: Vec::new(), quota_left: 20_000 };
    phone.answer(&beat, &Reply::problem_with(403, "device_revoked", serde_json::to_value(details).unwrap()));
    told(&mut phone, &mut server, &under_way);
    for _ in 0..60 {
        if phone.asks(SYNC) {
            let sent = phone.take(SYNC);
            told(&mut phone, &mut server, &sent);
        }
        phone.pass(1_000);
    }
    assert_eq!((server.ids().len(), phone.view().unsent), (2, 0));
}

#[test]
fn a_row_that_is_missing_in_the_log_blocks_it() {
    let (mut phone, _) = ready();
    phone.scan("A-1");
    let Row { n, .. } = phone.rows[1];
    phone.rows.retain(|row| row.n != n);
    phone.start();
    assert_eq!(phone.view().phase, Phase::Blocked);
}
