//! Tests of the parts that every request and every answer has in addition to its content (spec §3 "Epoch and witness",
//! D10).

use admit_core::manifest::compact;
use admit_core::wire::engine::{Input, Phase};
use admit_core::wire::journal::Entry;
use admit_core::wire::scanning::HeartbeatRequest;

use super::phone::{Phone, Sent};
use super::server::{Reply, Server};

const BEAT: &str = "/api/scanning/events/event/heartbeat";
const SYNC: &str = "/api/scanning/sync";
const TIME: &str = "/api/scanning/time";

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}
fn told(phone: &mut Phone, server: &mut Server, sent: &Sent) {
    let reply = server.answer(sent, phone.at_ms).expect("an answer");
    phone.answer(sent, &reply);
}

#[test]
fn a_list_alone_may_come_in_the_compact_form() {
    let (phone, _) = ready();
    for sent in &phone.log {
        assert_eq!(
            sent.headers["accept"].contains(compact::MEDIA_TYPE),
            sent.path.contains("/manifest"),
            "{}",
            sent.path
        );
        assert!(sent.headers["accept"].contains("application/json"), "{}", sent.path);
    }
}

/// The newest request that had left before the key was found unknown proves nothing either: the server may have been
/// restored since it answered.
#[test]
fn only_an_answer_to_a_later_request_makes_an_unknown_key_known() {
    let (mut phone, mut server) = ready();
    phone.pass(31_000);
    let beat = phone.take(BEAT);
    phone.scan("A-1");
    let newest = phone.take(SYNC);
    assert!(newest.request > beat.request && phone.requests.iter().all(|sent| sent.request < newest.request));
    phone.answer(&beat, &Reply::problem(401, "unknown_key"));
    told(&mut phone, &mut server, &newest);
    assert_eq!(phone.view().phase, Phase::KeyUnknown);
    phone.pass(7_000);
    phone.scan("A-2");
    let later = phone.take(SYNC);
    told(&mut phone, &mut server, &later);
    assert_eq!(phone.view().phase, Phase::Ready);
}

/// The server tells the time to everybody, so such an answer says nothing about the key. Simulator, level 2, seed
/// 7001095: the phone said "ready" and hurried its refused uploads.
#[test]
fn the_servers_time_does_not_make_an_unknown_key_known() {
    let (mut phone, mut server) = ready();
    phone.pass(31_000);
    let beat = phone.take(BEAT);
    phone.answer(&beat, &Reply::problem(401, "unknown_key"));
    phone.pass(600_000);
    let before = phone.requests.len();
    while let Some(place) = phone.requests.iter().position(|sent| sent.is(TIME)) {
        let time = phone.requests.remove(place);
        told(&mut phone, &mut server, &time);
    }
    assert!(phone.requests.len() < before, "it was asked for");
    assert_eq!(phone.view().phase, Phase::KeyUnknown);
}

#[test]
fn a_key_that_is_known_again_hurries_what_failed_and_nothing_else() {
    let (mut phone, mut server) = ready();
    phone.pass_online(&mut server, 5_000);
    let clocks = |phone: &Phone| phone.log.iter().filter(|sent| sent.is(TIME) && !sent.is_ping()).count();
    let before = clocks(&phone);
    phone.pass(26_000);
    let beat = phone.take(BEAT);
    phone.answer(&beat, &Reply::problem(401, "unknown_key"));
    phone.scan("A-1");
    let sent = phone.take(SYNC);
    told(&mut phone, &mut server, &sent);
    assert_eq!((phone.asks(BEAT), clocks(&phone)), (true, before), "the clock keeps its ten minutes");
}

/// Each answer brings a new witness. A journal row for each would wear out the disk. Without a row for a long time
/// there would be no proof.
#[test]
fn while_it_changes_a_witness_is_written_down_every_ten_minutes() {
    let (mut phone, mut server) = ready();
    let kept = |phone: &Phone| phone.entries().iter().filter(|row| matches!(row, Entry::Witness { .. })).count();
    let epochs = |phone: &Phone| phone.entries().iter().filter(|row| matches!(row, Entry::Epoch { .. })).count();
    let (before, mut minutes) = (kept(&phone), Vec::new());
    for minute in 1..=60 {
        for _ in 0..2 {
            phone.pass(30_000);
            for sent in std::mem::take(&mut phone.requests) {
                server.serial += 1;
                match server.answer(&sent, phone.at_ms) {
                    Some(reply) => phone.answer(&sent, &reply),
                    None => phone.requests.push(sent),
                }
            }
        }
        if kept(&phone) > before + minutes.len() {
            minutes.push(minute);
        }
    }
    assert!((5..=6).contains(&minutes.len()) && kept(&phone) == before + minutes.len(), "{minutes:?}");
    assert!(minutes.windows(2).all(|pair| (10..=11).contains(&(pair[1] - pair[0]))), "{minutes:?}");
    assert_eq!(epochs(&phone), 0, "the epoch is the one it was paired under, whoever names it");
}

#[test]
fn a_page_of_somebody_elses_is_a_portals_unless_it_is_an_error() {
    for (status, captive) in [(200, true), (302, true), (399, true), (400, false), (502, false)] {
        let (mut phone, _) = ready();
        phone.pass(31_000);
        let beat = phone.take(BEAT);
        phone.answer(&beat, &Reply::html(status));
        assert_eq!((phone.view().captive, phone.view().online), (captive, false), "{status}");
    }
}

/// A person who pairs twenty phones looks at the devices page to see whether each has the list.
#[test]
fn the_list_a_phone_has_is_told_as_soon_as_it_has_it() {
    let told = |phone: &Phone| -> Vec<u64> {
        let version =
            |sent: &Sent| Some(serde_json::from_str::<HeartbeatRequest>(sent.body.as_deref()?).ok()?.manifest_version);
        phone.log.iter().filter(|sent| sent.is(BEAT)).filter_map(version).collect()
    };
    for beat_is_slow in [false, true] {
        let mut server = Server::new();
        let mut phone = Phone::new(1);
        phone.input(Input::Pair { code: server.pairing_link(), name: "North 1".into() });
        for _ in 0..5 {
            phone.pass(100);
            for sent in std::mem::take(&mut phone.requests) {
                match server.answer(&sent, phone.at_ms).filter(|_| !(beat_is_slow && sent.is(BEAT))) {
                    Some(reply) => phone.answer(&sent, &reply),
                    None => phone.requests.push(sent),
                }
            }
        }
        assert_eq!((phone.view().phase, told(&phone)[0]), (Phase::Ready, 0));
        phone.pass_online(&mut server, 5_000);
        assert_eq!(told(&phone), [0, server.version], "{beat_is_slow}");
    }
}
