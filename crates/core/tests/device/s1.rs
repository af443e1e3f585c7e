//! S1's demands on a device, sentence by sentence, as far as no other file tests them (`docs/conformance.md`).

use std::collections::BTreeSet;

use admit_core::ids::ScanId;
use admit_core::reduce::ConflictReason;
use admit_core::wire::engine::Input;

use super::phone::Phone;
use super::server::{Reply, Server};

const SYNC: &str = "/api/scanning/sync";

/// S1 §1.1 invariant 3, §3.2: the phone draws each `scan_id` itself, as a UUID v4.
#[test]
fn s1_1_1_a_scan_id_is_a_uuid_of_version_4_made_on_the_phone() {
    let mut server = Server::new();
    let (mut one, mut two) = (Phone::ready(1, &mut server), Phone::ready(2, &mut server));
    one.offline();
    two.offline();
    let mut seen = BTreeSet::new();
    for phone in [&mut one, &mut two] {
        for n in 1..=20 {
            phone.scan(&format!("A-{n}"));
            phone.scan("unknown");
        }
        // After a restart the phone draws no id a second time.
        phone.start();
        phone.scan("unknown");
        let ids: Vec<ScanId> = phone.scans().into_iter().map(|scan| scan.scan_id).collect();
        assert_eq!(ids.len(), 41);
        for id in ids {
            let text = id.as_str();
            let groups: Vec<usize> = text.split('-').map(str::len).collect();
            assert_eq!(groups, [8, 4, 4, 4, 12], "{text}");
            assert!(text.bytes().all(|b| b == b'-' || b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{text}");
            assert_eq!(text.as_bytes()[14], b'4', "version: {text}");
            assert!(b"89ab".contains(&text.as_bytes()[19]), "variant: {text}");
            assert!(seen.insert(id), "an id is drawn once");
        }
    }
}

/// S1 §1.1 invariant 5: "If mismatch: REJECT and log security alert."
#[test]
fn s1_1_1_a_list_whose_signature_does_not_match_is_refused_and_said_aloud() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let version = phone.view().list.as_ref().unwrap().version;
    server.add_ticket("LATE-1", super::server::ticket(1));
    let sent = loop {
        if let Some(at) = phone.requests.iter().position(|sent| sent.path.contains("/manifest")) {
            break phone.requests.remove(at);
        }
        let waiting = std::mem::take(&mut phone.requests);
        for sent in waiting {
            match server.answer(&sent, phone.at_ms) {
                Some(reply) => phone.answer(&sent, &reply),
                None => phone.requests.push(sent),
            }
        }
        phone.pass(500);
    };
    assert_eq!(phone.view().message, None);
    let key = sent.headers["authorization"].strip_prefix("Bearer ").unwrap().to_owned();
    let good = server.manifest(&key, phone.at_ms);
    let mut forged = String::from_utf8(good.body.clone()).unwrap();
    let at = forged.find("sha256:").unwrap() + "sha256:".len();
    forged.replace_range(at..at + 4, "0000");
    phone.answer(&sent, &Reply { body: forged.into_bytes(), ..good });
    let message = phone.view().message.clone().unwrap_or_default();
    assert!(message.contains("refused") && message.contains("signature"), "{message:?}");
    assert_eq!(phone.view().list.as_ref().unwrap().version, version, "the old one stays");
}

/// S1 §1.1 invariants 2 and 4: clocks are off by up to a minute, and still who scanned first is first.
#[test]
fn s1_1_1_of_two_phones_whose_clocks_are_a_minute_off_the_one_that_scanned_first_is_first() {
    for (first_off_ms, second_off_ms) in [(60_000, -60_000), (-60_000, 60_000), (15_000, 0), (0, -15_000)] {
        let mut server = Server::new();
        let mut phones = [Phone::new(1), Phone::new(2)];
        for (phone, off) in phones.iter_mut().zip([first_off_ms, second_off_ms]) {
            phone.wall_off_ms = off;
            phone.pair(&mut server);
            phone.pass_offline(500);
        }
        let [first, second] = &mut phones;
        first.at_ms = second.at_ms.max(first.at_ms);
        assert!(first.scan("A-1").opened);
        second.at_ms = first.at_ms;
        second.pass_offline(5_000);
        assert!(second.scan("A-1").opened, "neither has a network: both let in");
        // The server hears of the later scan first.
        second.pass_online(&mut server, 61_000);
        first.pass_online(&mut server, 61_000);
        let reduced = server.reduced_code("A-1");
        let of = |phone: &Phone| {
            let id = phone.scans()[0].scan_id.clone();
            reduced.verdicts.iter().find(|verdict| verdict.scan_id == id).unwrap().clone()
        };
        assert_eq!((of(first).within, of(first).conflict_reason), (1, None), "{first_off_ms}, {second_off_ms}");
        assert_eq!((of(second).over, of(second).conflict_reason), (1, Some(ConflictReason::DoubleEntry)));
    }
}

/// S1 §13.3: "Exponential backoff prevents thundering herd."
#[test]
fn s1_13_3_fifty_phones_that_lost_the_server_together_do_not_come_back_together() {
    let mut server = Server::new();
    let mut back = Vec::new();
    for seed in 1..=50 {
        let mut phone = Phone::ready(seed, &mut server);
        phone.requests.clear();
        phone.scan("unknown");
        // Five attempts fail at the same moments. After that each phone waits up to half a minute.
        for _ in 0..5 {
            let sent = phone.take(SYNC);
            phone.lose(&sent);
            phone.requests.clear();
            while !phone.asks(SYNC) {
                phone.requests.clear();
                phone.pass(50);
            }
        }
        let sent = phone.take(SYNC);
        phone.lose(&sent);
        let lost = phone.mono_ms;
        while !phone.asks(SYNC) {
            phone.requests.clear();
            phone.pass(50);
        }
        back.push(phone.mono_ms - lost);
    }
    let (soonest, latest) = (back.iter().min().unwrap(), back.iter().max().unwrap());
    assert!(*latest <= 30_050, "at most 30 s: {back:?}");
    assert!(latest - soonest >= 4_000, "spread over seconds: {back:?}");
    let most = (0..30).map(|second| back.iter().filter(|ms| **ms / 1_000 == second).count()).max().unwrap();
    assert!(most <= 15, "no second brings a third of them: {back:?}");
}

/// S1 §4.4: "Never lose data: Failed scans remain … until synced". This includes scans whose upload arrived in part.
#[test]
fn s1_4_4_what_a_cut_upload_left_unanswered_is_sent_again_until_each_scan_has_its_receipt() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.requests.clear();
    for n in 1..=12 {
        phone.scan(&format!("A-{n}"));
    }
    // The server stores each batch, and every second answer is lost.
    for turn in 0..60 {
        while let Some(at) = phone.requests.iter().position(|sent| sent.is(SYNC)) {
            let sent = phone.requests.remove(at);
            let reply = server.answer(&sent, phone.at_ms).unwrap();
            if turn % 2 == 0 { phone.lose(&sent) } else { phone.answer(&sent, &reply) }
        }
        phone.requests.clear();
        phone.pass(3_000);
    }
    assert_eq!((server.ids().len(), phone.view().unsent), (12, 0));
    assert_eq!(phone.scans().len(), 12, "and the journal has them all");
    phone.input(Input::SyncNow);
    assert!(!phone.asks(SYNC), "nothing is sent twice once it has its receipt");
}
