//! A server that was rolled back: nothing a device ever had acknowledged is lost (spec §3; trust fault 25, I11, I26).

use admit_core::decide::Screen;
use admit_core::rule::Epoch;
use admit_core::wire::journal::Entry;
use admit_core::wire::scanning::{WITNESS_HEADER, Witness};

use super::phone::Phone;
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
    phone.input(admit_core::wire::engine::Input::Online);
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
