//! A server that was rolled back: no scan that a device had acknowledged is lost (spec §3; trust fault 25, I11, I26).

use admit_core::decide::Screen;
use admit_core::ids::{EventId, ScanId};
use admit_core::rule::{Epoch, TicketChange};
use admit_core::ticket::TicketStatus;
use admit_core::wire::engine::{Input, Phase};
use admit_core::wire::journal::Entry;
use admit_core::wire::scanning::{Rejected, SyncAnswer, WITNESS_HEADER, Witness};

use super::phone::{Phone, Sent};
use super::server::{Reply, Server};

fn with_scans(server: &mut Server, scans: usize) -> Phone {
    let mut phone = Phone::ready(1, server);
    for n in 1..=scans {
        phone.scan(&format!("A-{n}"));
    }
    phone.pass_online(server, 13_000);
    assert_eq!(phone.view().unsent, 0);
    phone
}

#[test]
fn every_request_carries_the_newest_witness_of_the_event() {
    let mut server = Server::new();
    let mut phone = with_scans(&mut server, 3);
    phone.pass_online(&mut server, 31_000);
    let last = phone.log.last().unwrap();
    let witness: Witness = last.headers[WITNESS_HEADER].parse().unwrap();
    assert_eq!(witness, server.witness());
    phone.start();
    phone.input(Input::Online);
    let first = phone.requests.first().unwrap();
    let kept: Witness = first.headers[WITNESS_HEADER].parse().unwrap();
    assert!(kept.serial > 0, "and keeps it over a restart: {kept:?}");
}

#[test]
fn a_new_epoch_un_acknowledges_the_log_and_what_the_server_lacks_is_sent_again() {
    let mut server = Server::new();
    let mut phone = with_scans(&mut server, 3);
    phone.scan("A-4");
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.ids().len(), 4);
    let before = server.stored.iter().map(|it| it.serial).min().unwrap();
    server.roll_back(before);
    assert_eq!(server.ids().len(), 1, "three acknowledged scans are gone");
    let uploads = phone.log.iter().filter(|sent| sent.is("/api/scanning/sync")).count();
    phone.pass_online(&mut server, 40_000);
    assert_eq!(server.ids().len(), 4, "as if never lost");
    assert_eq!(phone.view().unsent, 0);
    assert!(phone.entries().iter().any(|row| matches!(row, Entry::Epoch { .. })));
    let resent: usize = phone
        .log
        .iter()
        .filter(|sent| sent.is("/api/scanning/sync"))
        .skip(uploads)
        .map(|sent| {
            serde_json::from_str::<serde_json::Value>(sent.body.as_ref().unwrap()).unwrap()["scans"]
                .as_array()
                .unwrap()
                .len()
        })
        .sum();
    assert_eq!(resent, 3, "only what is lacking");
    assert_eq!(phone.screen("A-1"), Screen::AlreadyIn);
}

#[test]
fn a_restart_between_the_new_epoch_and_the_servers_word_asks_again() {
    let mut server = Server::new();
    let mut phone = with_scans(&mut server, 3);
    server.roll_back(0);
    let beat = loop {
        phone.pass(500);
        if phone.asks("/api/scanning/events/event/heartbeat") {
            break phone.take("/api/scanning/events/event/heartbeat");
        }
    };
    let reply = server.answer(&beat, phone.at_ms).unwrap();
    phone.answer(&beat, &reply);
    assert_eq!(phone.view().unsent, 3);
    phone.start();
    assert_eq!(phone.view().unsent, 3);
    phone.pass_online(&mut server, 13_000);
    assert_eq!((server.ids().len(), phone.view().unsent), (3, 0));
}

#[test]
fn while_the_new_epoch_is_learned_nobody_is_admitted_twice() {
    let mut server = Server::new();
    let mut other = Phone::ready(2, &mut server);
    other.scan("A-9");
    other.pass_online(&mut server, 1_000);
    let mut phone = with_scans(&mut server, 2);
    server.roll_back(0);
    for _ in 0..80 {
        phone.pass(500);
        if let Some(sent) = phone.requests.first().cloned() {
            phone.requests.remove(0);
            match server.answer(&sent, phone.at_ms) {
                Some(reply) => phone.answer(&sent, &reply),
                None => phone.requests.push(sent),
            }
        }
        let own = phone.scan("A-1").screen;
        assert!(matches!(own, Screen::SameTicket | Screen::AlreadyIn), "{own:?}");
    }
    assert_eq!(phone.view().own_admitted, 2);
}

#[test]
fn an_answer_out_of_a_past_epoch_is_no_receipt() {
    let mut server = Server::new();
    let mut phone = with_scans(&mut server, 1);
    phone.scan("A-2");
    phone.pass(6_000);
    let sent = phone.take("/api/scanning/sync");
    let good = server.answer(&sent, phone.at_ms).unwrap();
    let old = Epoch { restored_at_ms: 0, random: 1 };
    let witness = Witness { epoch: old, ..server.witness() };
    let reply = Reply { headers: Vec::new(), ..good }.with(WITNESS_HEADER, witness);
    phone.answer(&sent, &reply);
    assert_eq!(phone.view().unsent, 1);
}

#[test]
fn an_epoch_is_never_believed_without_its_witness_also_over_a_restart() {
    let carried = |phone: &Phone| -> Witness { phone.requests[0].headers[WITNESS_HEADER].parse().unwrap() };
    let mut server = Server::new();
    let mut phone = Phone::new(1);
    phone.input(Input::Pair { code: server.pairing_link(), name: "North".into() });
    let sent = phone.take("/api/scanning/pair");
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &reply);
    phone.start();
    assert_eq!(carried(&phone), server.witness(), "the one that came with the pairing");
    phone.pass_online(&mut server, 1_000);
    server.roll_back(0);
    phone.pass(31_000);
    let beat = phone.take("/api/scanning/events/event/heartbeat");
    let reply = server.answer(&beat, phone.at_ms).unwrap();
    phone.answer(&beat, &reply);
    phone.start();
    assert_eq!(carried(&phone), server.witness(), "the one that told of the new epoch");
}

#[test]
fn what_the_server_says_it_still_has_is_kept_with_the_witness_of_it() {
    let mut server = Server::new();
    let mut phone = with_scans(&mut server, 3);
    server.roll_back(server.serial);
    for (path, waits) in [("/api/scanning/events/event/heartbeat", 3), ("/api/scanning/log-status", 0)] {
        phone.pass(31_000);
        server.serial += 5;
        let sent = phone.take(path);
        let reply = server.answer(&sent, phone.at_ms).unwrap();
        phone.answer(&sent, &reply);
        assert_eq!(phone.view().unsent, waits);
    }
    phone.start();
    let kept: Witness = phone.requests[0].headers[WITNESS_HEADER].parse().unwrap();
    assert_eq!(kept, server.witness());
}

#[test]
fn a_stored_answer_of_a_former_epoch_is_no_receipt_and_its_scans_are_wrapped_anew() {
    let mut server = Server::new();
    let mut phone = with_scans(&mut server, 1);
    phone.scan("A-2");
    phone.pass(6_000);
    let sent = phone.take("/api/scanning/sync");
    server.answer(&sent, phone.at_ms); // Stored; the answer is lost.
    phone.lose(&sent);
    // The backup that the server goes back to holds the batch and its answer.
    let answers = server.answers.clone();
    server.roll_back(server.serial);
    server.answers = answers;
    let before = phone.log.len();
    phone.pass_online(&mut server, 40_000);
    assert_eq!(phone.view().unsent, 0);
    let batches: Vec<&str> = phone.log[before..]
        .iter()
        .filter(|it| it.is("/api/scanning/sync"))
        .filter_map(|it| it.body.as_deref())
        .collect();
    assert_eq!(batches.len(), 2, "the same once more, and then another: {batches:?}");
    assert_eq!(Some(batches[0]), sent.body.as_deref());
    assert_ne!(batches[0], batches[1]);
}

#[test]
fn a_newer_witness_is_no_reason_to_give_up_one_the_server_was_not_asked_about() {
    let carried = |sent: &Sent| -> Witness { sent.headers[WITNESS_HEADER].parse().unwrap() };
    for overtaken in [false, true] {
        let mut server = Server::new();
        let mut phone = with_scans(&mut server, 1);
        phone.pass(2_000);
        let poll = phone.take("/api/scanning/events/event/changes");
        phone.scan("A-2");
        phone.pass(6_000);
        let sent = phone.take("/api/scanning/sync");
        let receipt = server.answer(&sent, phone.at_ms).unwrap();
        let proof = server.witness();
        assert!(carried(&poll).serial < proof.serial);
        // Now the server is restored to a state before A-2, and no device knows. By the time it answers the poll, it
        // has written more lines than the phone's witness counts.
        let other = Witness::new(b"secret", server.epoch, &server.event_id, proof.serial + 3, [2; 32]);
        let later = Reply::problem(503, "later").with(WITNESS_HEADER, other.clone());
        if overtaken {
            phone.answer(&poll, &later);
            phone.answer(&sent, &receipt);
        } else {
            phone.answer(&sent, &receipt);
            phone.answer(&poll, &later);
        }
        assert_eq!(phone.view().unsent, 0);
        let mut restarted = phone.rows.clone();
        let mut seen = Vec::new();
        while phone.mono_ms < 120_000 && !seen.contains(&other) {
            phone.pass(1_000);
            for sent in std::mem::take(&mut phone.requests) {
                seen.push(carried(&sent));
                phone.answer(&sent, &later);
            }
        }
        let places: Vec<_> = [&proof, &other].map(|it| seen.iter().position(|held| held == it)).to_vec();
        assert!(places[0].is_some() && places[0] < places[1], "first the proof that A-2 was acknowledged: {places:?}");
        // A restarted phone shows that witness too, because it kept the witness beside the receipt.
        std::mem::swap(&mut phone.rows, &mut restarted);
        phone.start();
        assert!(phone.requests.iter().any(|sent| carried(sent) == proof));
    }
}

/// A person chooses the server by pairing. A phone that was tried out with a database of a later epoch at the same
/// address works with the older one that is meant. It keeps its unsent scans.
#[test]
fn a_phone_that_knew_a_younger_epoch_works_where_it_is_paired_next() {
    let mut trial = Server::new();
    trial.epoch = Epoch { restored_at_ms: trial.epoch.restored_at_ms + 1_000, random: 9 };
    trial.epochs = vec![(trial.epoch, 0)];
    trial.event_id = EventId::new("trial").unwrap();
    let mut phone = Phone::ready(1, &mut trial);
    let before = phone.id_of("A-1");
    let mut real = Server::new();
    phone.pair(&mut real);
    assert_eq!(phone.view().phase, Phase::Ready);
    let here = phone.id_of("A-1");
    phone.pass_online(&mut real, 40_000);
    let row = |phone: &Phone, id: &ScanId| phone.view().history.iter().find(|row| row.scan_id == *id).cloned().unwrap();
    assert_eq!(row(&phone, &here).sync, "sent");
    assert!(phone.scans().iter().any(|scan| scan.scan_id == before), "what was scanned there is kept");
    phone.start();
    phone.pass_online(&mut real, 40_000);
    assert_eq!((phone.view().phase, row(&phone, &here).sync.as_str()), (Phase::Ready, "sent"));
}

/// The server refused a scan for good. If the restored server still has that scan, it stays on the list of problems. If
/// not, the phone sends it again (trust §2).
#[test]
fn after_a_new_epoch_a_refused_scan_is_sent_again_only_if_the_server_lost_it() {
    for lacking in [false, true] {
        let mut server = Server::new();
        let mut phone = Phone::ready(1, &mut server);
        phone.scan("A-1");
        let sent = phone.take("/api/scanning/sync");
        let reply = server.answer(&sent, phone.at_ms).unwrap();
        let mut answer: SyncAnswer = serde_json::from_slice(&reply.body).unwrap();
        let id = answer.processed.remove(0);
        answer.rejected.push(Rejected { scan_id: Some(id.to_string()), index: 0, reason: "no".into(), kept: true });
        let told = Reply::json(200, &answer).with(WITNESS_HEADER, server.witness());
        phone.answer(&sent, &told);
        assert_eq!(phone.view().problems.len(), 1);
        let serial = if lacking { server.stored[0].serial - 1 } else { server.serial };
        server.roll_back(serial);
        phone.pass_online(&mut server, 40_000);
        assert!(phone.entries().iter().any(|row| matches!(row, Entry::Epoch { .. })));
        // The test's server takes the scan when it is offered the second time.
        assert_eq!(phone.view().problems.len(), usize::from(!lacking), "lacking: {lacking}");
        assert_eq!(server.ids().len(), 1);
    }
}

const LIST: &str = "/api/scanning/events/event/manifest";
const CHANGES: &str = "/api/scanning/events/event/changes";

/// Lets `seconds` pass with the server reachable. Requests for the paths in `slow` stay unanswered.
fn pass_but(slow: &[&str], phone: &mut Phone, server: &mut Server, seconds: usize) {
    for _ in 0..seconds {
        phone.pass(1_000);
        for sent in std::mem::take(&mut phone.requests) {
            match server.answer(&sent, phone.at_ms).filter(|_| !slow.iter().any(|path| sent.is(path))) {
                Some(reply) => phone.answer(&sent, &reply),
                None => phone.requests.push(sent),
            }
        }
    }
}

/// Found by the simulator, level 1, seed 9110168. The server leaves rules out of the changes if the phone's list has
/// them already. A new epoch gives version numbers of the lost part again. So a ticket that was voided since was
/// neither in the list nor in the changes, and its guest went in.
#[test]
fn what_is_voided_after_a_restore_is_not_missed_by_who_has_a_list_of_before() {
    for pages_lost in [false, true] {
        let mut server = Server::new();
        let mut phone = Phone::ready(1, &mut server);
        let backup = server.serial;
        server.change_ticket("A-9", TicketChange::EntryLimit(3), phone.at_ms);
        phone.pass_online(&mut server, 40_000);
        assert_eq!(phone.view().list.as_ref().unwrap().version, backup + 1);
        if pages_lost {
            // The phone has the list and no changes: it asks for changes from the start, before it knows the epoch.
            phone.caches.retain(|key, _| !key.contains("changes"));
            phone.start();
            phone.input(Input::Online);
        }
        server.forget_rules(backup);
        server.roll_back(backup);
        pass_but(if pages_lost { &[LIST, CHANGES] } else { &[LIST] }, &mut phone, &mut server, 40);
        let asked = phone.take(LIST);
        let list = server.answer(&asked, phone.at_ms).unwrap();
        server.change_ticket("A-1", TicketChange::Status(TicketStatus::Voided), phone.at_ms);
        assert_eq!(server.serial, backup + 1);
        pass_but(&[LIST], &mut phone, &mut server, 10);
        let of_epoch = format!("cursor={}.", server.epoch);
        let asked_for = |sent: &&Sent| sent.is(CHANGES) && sent.path.contains(&of_epoch);
        assert_eq!(phone.log.iter().filter(asked_for).count(), 0, "what would not be taken is not asked for");
        phone.answer(&asked, &list);
        pass_but(&[LIST], &mut phone, &mut server, 2);
        assert_eq!(phone.view().list.as_ref().unwrap().version, backup);
        assert_eq!(phone.screen("A-1"), Screen::Refuse, "pages lost: {pages_lost}");
        let scan = phone.scans().last().cloned().unwrap();
        assert_eq!((scan.manifest_version, scan.cursor), (backup, backup + 1), "by what changes told");
    }
}
