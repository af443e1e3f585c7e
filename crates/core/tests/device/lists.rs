//! The list is verified, replaced as a whole, and never replaced by an older one (spec D5, §5; trust faults 18–20,
//! I15).

use admit_core::barcode::BarcodeHash;
use admit_core::decide::Screen;
use admit_core::event::{BarcodeKind, DoorSettings, Offset, ReEntry, ZoneClock, ZoneNames};
use admit_core::ids::EventId;
use admit_core::manifest::build::{Code, Input as Build, delta_part, envelope};
use admit_core::manifest::index::{Found, content_hash};
use admit_core::rule::{EventChange, When};
use admit_core::ticket::TicketStatus;
use admit_core::time::Timestamp;
use admit_core::wire::engine::{Input, Phase};
use admit_core::wire::manifest::ManifestTail;
use admit_core::wire::scanning::SIGNATURE_HEADER;

use super::phone::{EVENING, Phone, Sent};
use super::server::{Reply, Server, ticket};

fn key(sent: &Sent) -> String {
    sent.headers["authorization"].strip_prefix("Bearer ").unwrap().to_owned()
}
fn manifest(server: &Server, sent: &Sent, phone: &Phone) -> Reply {
    server.manifest(&key(sent), phone.at_ms)
}

/// Answers everything until the phone asks for a list.
fn asks_for_list(phone: &mut Phone, server: &mut Server) -> Sent {
    for _ in 0..200 {
        if let Some(at) = phone.requests.iter().position(|sent| sent.path.contains("/manifest")) {
            return phone.requests.remove(at);
        }
        let mut held = Vec::new();
        for sent in std::mem::take(&mut phone.requests) {
            if sent.path.contains("/manifest") {
                held.push(sent);
                continue;
            }
            match server.answer(&sent, phone.at_ms) {
                Some(reply) => phone.answer(&sent, &reply),
                None => held.push(sent),
            }
        }
        phone.requests.append(&mut held);
        phone.pass(500);
    }
    panic!("the phone asks for no list");
}

#[test]
fn a_newer_list_is_fetched_when_changes_name_one_and_decided_by_at_once() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let first = phone.view().list.as_ref().unwrap().version;
    server.change_event(EventChange::Name("Summer Gala".into()), phone.at_ms);
    server.add_ticket("LATE-1", ticket(1));
    assert_eq!(phone.screen("LATE-1"), Screen::NotInList);
    phone.pass_online(&mut server, 2_000);
    assert!(phone.view().list.as_ref().unwrap().version > first);
    assert_eq!(phone.view().event_name, "Summer Gala");
    assert_eq!(phone.screen("LATE-1"), Screen::Admit);
    assert!(phone.log.iter().any(|sent| sent.path.contains(&format!("?since={first}"))));
}

#[test]
fn the_events_clock_kinds_of_codes_and_names_of_zones_come_with_the_list_and_stay_without_a_network() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    assert_eq!(phone.view().clock, None);
    let offsets = vec![Offset { from: Timestamp::clamped(EVENING), offset_s: 20_700 }];
    let clock = ZoneClock { zone: "Asia/Kathmandu".into(), offsets };
    let kinds = vec![BarcodeKind::Aztec];
    let door = DoorSettings { clock: Some(clock.clone()), barcode_kinds: kinds.clone(), ..DoorSettings::default() };
    server.change_event(EventChange::Door(door), phone.at_ms);
    let names = ZoneNames::from([("general".to_owned(), "General admission".to_owned())]);
    server.change_event(EventChange::ZoneNames(names.clone()), phone.at_ms);
    phone.pass_online(&mut server, 2_000);
    assert_eq!(phone.view().clock.as_ref(), Some(&clock));
    phone.start();
    assert_eq!((phone.view().clock.as_ref(), &phone.view().barcode_kinds), (Some(&clock), &kinds));
    assert_eq!(phone.view().zone_names, names);
}

#[test]
fn the_view_says_since_when_the_list_is_known_to_be_the_newest_and_that_a_newer_one_is_on_its_way() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let list = |phone: &Phone| phone.view().list.clone().unwrap();
    phone.pass_online(&mut server, 3_600_000);
    let current = list(&phone);
    assert!(phone.at_ms - current.checked_at.ms() <= 30_000, "an unchanged list stays young while the server is there");
    assert!(phone.at_ms - current.generated_at.ms() >= 3_600_000);
    phone.pass_offline(600_000);
    assert_eq!(list(&phone).checked_at, current.checked_at, "and grows old without it");
    // A newer list exists and does not arrive.
    server.add_ticket("LATE-1", ticket(1));
    phone.input(Input::Online);
    let held = asks_for_list(&mut phone, &mut server);
    assert_eq!((list(&phone).version, list(&phone).newer), (current.version, Some(server.version)));
    assert_eq!(list(&phone).checked_at, current.checked_at, "nobody calls the old one the newest any more");
    let reply = server.answer(&held, phone.at_ms).unwrap();
    phone.answer(&held, &reply);
    assert_eq!((list(&phone).version, list(&phone).newer), (server.version, None));
    assert_eq!(list(&phone).checked_at, list(&phone).generated_at);
}

/// The journal says that the list was used. Without the stored list, the next start would take no list at all.
#[test]
fn a_list_that_could_not_be_stored_is_fetched_whole_and_stored_a_while_later() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let stored = phone.caches.clone();
    server.add_ticket("LATE-1", ticket(1));
    phone.pass_online(&mut server, 2_000);
    let new = |(key, body): &(&String, &Vec<u8>)| key.starts_with("manifest:") && stored.get(*key) != Some(*body);
    let (lost, _) = phone.caches.iter().find(new).map(|(key, body)| (key.clone(), body.clone())).expect("a newer list");
    phone.caches = stored;
    phone.input(Input::SaveFailed { key: lost });
    assert!(phone.view().message.as_ref().is_some_and(|message| message.contains("cannot be stored")));
    let asked = |phone: &Phone| phone.log.iter().filter(|sent| sent.path.contains("/manifest")).count();
    let before = asked(&phone);
    phone.pass_online(&mut server, 55_000);
    assert_eq!(asked(&phone), before, "storage that is full stays full for some time");
    phone.pass_online(&mut server, 10_000);
    assert_eq!((asked(&phone), phone.view().message.clone()), (before + 1, None));
    server.add_ticket("LATE-2", ticket(1));
    phone.pass_online(&mut server, 2_000);
    phone.start();
    assert_eq!((phone.view().phase, phone.screen("LATE-2")), (Phase::Ready, Screen::Admit), "without a network");
    // If any other cached part cannot be stored, the next start asks for it again.
    phone.input(Input::SaveFailed { key: "changes:e:1".into() });
    phone.pass_online(&mut server, 120_000);
    assert_eq!((asked(&phone), phone.view().message.clone()), (before + 2, None));
}

/// Trust I15: a phone refuses an older list even if it lost its cache and only the journal remembers how new its list
/// was.
#[test]
fn a_list_older_than_one_ever_used_is_refused_also_by_a_phone_that_lost_its_own() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    assert_eq!(phone.view().list.as_ref().unwrap().tickets, 24, "every code of it");
    let paired_with = server.keys.keys().next().unwrap().clone();
    let older = server.manifest(&paired_with, phone.at_ms);
    server.add_ticket("LATE-1", ticket(1));
    phone.pass_online(&mut server, 2_000);
    assert_eq!(phone.view().list.as_ref().unwrap().tickets, 25);
    phone.caches.clear();
    phone.start();
    let sent = asks_for_list(&mut phone, &mut server);
    phone.answer(&sent, &older);
    assert_eq!(phone.view().phase, Phase::FirstSync);
    assert!(phone.view().message.as_ref().is_some_and(|message| message.contains("refused")));
    let sent = asks_for_list(&mut phone, &mut server);
    let newest = manifest(&server, &sent, &phone);
    phone.answer(&sent, &newest);
    assert_eq!((phone.view().phase, phone.view().message.clone()), (Phase::Ready, None));
}

#[test]
fn a_forged_cut_or_foreign_list_is_refused_and_the_old_one_stays() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let version = phone.view().list.as_ref().unwrap().version;
    server.add_ticket("LATE-1", ticket(1));
    let mut foreign = Server::new();
    foreign.event_id = EventId::new("another").unwrap();
    foreign.add_ticket("LATE-1", ticket(1));
    for case in 0..6 {
        let sent = asks_for_list(&mut phone, &mut server);
        let good = manifest(&server, &sent, &phone);
        let mut flipped = good.clone();
        let at = flipped.body.len() / 2;
        flipped.body[at] ^= 1;
        let bad = [
            flipped,
            Reply { body: good.body[..good.body.len() - 200].to_vec(), ..good.clone() },
            Reply { headers: Vec::new(), ..good.clone() },
            foreign.manifest(&key(&sent), phone.at_ms),
            server.manifest("admit_dk_another_devices_key", phone.at_ms),
            Reply::html(200),
        ];
        phone.answer(&sent, &bad[case]);
        assert_eq!(phone.view().list.as_ref().unwrap().version, version, "case {case}");
        assert_eq!(phone.screen("A-1").eq(&Screen::Admit), case == 0, "the old list goes on deciding");
    }
    let sent = asks_for_list(&mut phone, &mut server);
    let good = manifest(&server, &sent, &phone);
    phone.answer(&sent, &good);
    assert_eq!(phone.screen("LATE-1"), Screen::Admit);
    assert_eq!(phone.view().message, None);
}

#[test]
fn an_older_list_is_refused_also_after_a_restart_that_lost_the_newer() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let old_caches = phone.caches.clone();
    server.add_ticket("LATE-1", ticket(1));
    phone.pass_online(&mut server, 2_000);
    let newer = phone.view().list.as_ref().unwrap().version;
    phone.caches = old_caches;
    phone.start();
    assert_eq!(phone.view().phase, Phase::FirstSync, "a list older than one it decided by is none");
    assert!(phone.view().message.as_ref().unwrap().contains("older"));
    phone.pass_online(&mut server, 2_000);
    assert_eq!(phone.view().list.as_ref().unwrap().version, newer);
}

/// docs/faults.md, 18: somebody on the network replays an earlier good answer.
#[test]
fn an_older_list_that_is_played_again_is_refused_and_the_newer_stays() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let mut versions = Vec::new();
    let mut recorded = None;
    for code in ["LATE-1", "LATE-2"] {
        server.add_ticket(code, ticket(1));
        let sent = asks_for_list(&mut phone, &mut server);
        let reply = manifest(&server, &sent, &phone);
        phone.answer(&sent, &reply);
        versions.push(phone.view().list.as_ref().unwrap().version);
        recorded.get_or_insert(reply);
    }
    assert!(versions[0] < versions[1]);
    server.add_ticket("LATE-3", ticket(1));
    let sent = asks_for_list(&mut phone, &mut server);
    phone.answer(&sent, &recorded.unwrap());
    assert_eq!(phone.view().list.as_ref().unwrap().version, versions[1]);
    assert!(phone.view().message.as_ref().is_some_and(|said| said.contains("older")), "{:?}", phone.view().message);
    assert_eq!(phone.screen("LATE-2"), Screen::Admit);
}

#[test]
fn the_same_version_with_other_content_is_refused_aloud() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.caches.clear();
    phone.start();
    let mut liar = Server::new();
    liar.codes.remove(&BarcodeHash::of("A-1"));
    let sent = asks_for_list(&mut phone, &mut server);
    phone.answer(&sent, &manifest(&liar, &sent, &phone));
    assert_eq!(phone.view().phase, Phase::FirstSync);
    assert!(phone.view().message.as_ref().unwrap().contains("other content"));
    phone.pass_online(&mut server, 5_000);
    assert_eq!(phone.view().phase, Phase::Ready);
}

#[test]
fn a_kept_list_is_verified_again_at_every_start() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let whole = format!("manifest:{}", server.event_id);
    let good = phone.caches[&whole].clone();
    phone.caches.get_mut(&whole).unwrap()[500] ^= 1;
    phone.start();
    assert_eq!(phone.view().phase, Phase::FirstSync);
    phone.caches.insert(whole, good);
    phone.start();
    assert_eq!(phone.view().phase, Phase::Ready);
    assert_eq!(phone.screen("A-1"), Screen::Admit, "offline, at once");
}

/// A delta that says `code` has these rules now.
fn delta(server: &Server, key: &str, since: u64, code: &str, at_ms: i64) -> Reply {
    let book = server.book();
    let event = book.event(When::Newest).unwrap();
    let gates: Vec<_> = book.gate_ids().map(|id| (id.clone(), book.gate(id, When::Newest).unwrap())).collect();
    let rules: Vec<_> = server
        .codes
        .iter()
        .map(|(hash, id)| (*hash, id.clone(), server.ticket_book(id).get(When::Newest).unwrap()))
        .collect();
    let named = content_hash(rules.iter().map(|(hash, id, rules)| {
        let (ticket_id, group) = (id.as_str(), server.groups.get(id).copied());
        Found { prefix: hash.prefix(), ticket_id, rules, group }
    }));
    let changed: Vec<Code<'_>> = rules
        .iter()
        .filter(|(hash, ..)| *hash == BarcodeHash::of(code))
        .map(|(hash, id, rules)| Code { hash: *hash, ticket_id: id, rules, group: server.groups.get(id).copied() })
        .collect();
    let input = Build {
        organization_id: &server.organization_id,
        event_id: &server.event_id,
        event: &event,
        door: &book.door(),
        version: server.version,
        gates: &gates,
        codes: &changed,
    };
    let large = delta_part(&input, since, &[], named).unwrap();
    let tail = ManifestTail {
        generated_at: Timestamp::clamped(at_ms),
        expires_at: event.ends_at,
        offset_seconds: 0,
        epoch: server.epoch,
        serial: server.serial,
    };
    let (body, signature) = envelope(&large.bytes, &tail, key);
    Reply { status: 200, headers: Vec::new(), body }.with(SIGNATURE_HEADER, signature)
}

#[test]
fn a_delta_is_applied_kept_and_read_again_at_start() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    for n in 1..=3 {
        let code = format!("LATE-{n}");
        let since = server.version;
        server.add_ticket(&code, ticket(1));
        let sent = asks_for_list(&mut phone, &mut server);
        let reply = delta(&server, &key(&sent), since, &code, phone.at_ms);
        phone.answer(&sent, &reply);
        assert_eq!(phone.view().list.as_ref().unwrap().version, server.version);
    }
    phone.start();
    assert_eq!(phone.view().list.as_ref().unwrap().version, server.version);
    for n in 1..=3 {
        assert_eq!(phone.screen(&format!("LATE-{n}")), Screen::Admit);
    }
}

#[test]
fn eight_deltas_are_laid_over_a_whole_list_and_then_a_whole_one_is_asked_for() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let mut wanted = Vec::new();
    for n in 1..=10 {
        let (code, since) = (format!("LATE-{n}"), server.version);
        server.add_ticket(&code, ticket(1));
        let sent = asks_for_list(&mut phone, &mut server);
        let delta_wanted = sent.path.contains("?since=");
        let reply = match delta_wanted {
            true => delta(&server, &key(&sent), since, &code, phone.at_ms),
            false => manifest(&server, &sent, &phone),
        };
        phone.answer(&sent, &reply);
        assert_eq!(phone.view().list.as_ref().unwrap().version, server.version);
        wanted.push(delta_wanted);
    }
    assert_eq!(wanted, [true, true, true, true, true, true, true, true, false, true]);
}

#[test]
fn a_delta_that_does_not_lead_to_what_it_names_is_refused_and_the_whole_list_fetched() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let since = server.version;
    server.add_ticket("LATE-1", ticket(1));
    server.add_ticket("LATE-2", ticket(1));
    let sent = asks_for_list(&mut phone, &mut server);
    let incomplete = delta(&server, &key(&sent), since, "LATE-1", phone.at_ms);
    phone.answer(&sent, &incomplete);
    assert_eq!(phone.view().list.as_ref().unwrap().version, since);
    let sent = asks_for_list(&mut phone, &mut server);
    assert!(!sent.path.contains("since"), "{}", sent.path);
    let whole = manifest(&server, &sent, &phone);
    phone.answer(&sent, &whole);
    assert_eq!(phone.screen("LATE-2"), Screen::Admit);
}

#[test]
fn after_a_key_rotation_the_kept_list_still_opens_until_one_under_the_new_key_is_active() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    let code = server.pairing_link();
    phone.input(Input::Pair { code, name: "North 1".into() });
    let sent = phone.take("/api/scanning/pair");
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &reply);
    phone.offline();
    phone.start();
    assert_eq!(phone.view().phase, Phase::Ready, "under the key it rotated from");
    phone.pass_online(&mut server, 3_000);
    phone.start();
    assert_eq!(phone.view().phase, Phase::Ready, "under the new one");
    phone.scan("A-1");
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.ids().len(), 1);
}

#[test]
fn every_scan_is_what_decide_says_of_the_rules_it_claims_to_know() {
    // I25 holds in whatever order rule changes, pages of `changes` and lists arrive.
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    for round in 0..12_usize {
        let code = format!("A-{}", round + 1);
        let status = if round % 3 == 0 { TicketStatus::Voided } else { TicketStatus::Active };
        server.change_ticket(&code, admit_core::rule::TicketChange::Status(status), phone.at_ms);
        if round % 4 == 1 {
            server.re_entry([ReEntry::Never, ReEntry::AfterGap, ReEntry::AfterExit][round % 3]);
        }
        for sent in std::mem::take(&mut phone.requests) {
            // Either the list arrives late, or the changes do.
            let late = if round % 2 == 0 { "/manifest" } else { "/changes" };
            match server.answer(&sent, phone.at_ms) {
                Some(reply) if !sent.path.contains(late) => phone.answer(&sent, &reply),
                Some(_) => phone.lose(&sent),
                None => phone.requests.push(sent),
            }
        }
        phone.pass(700);
        for text in [code.as_str(), "A-1", "P-4", "A-13"] {
            phone.input(Input::code(text));
        }
        phone.pass(4_000);
    }
    phone.pass_online(&mut server, 60_000);
    assert_eq!(phone.view().unsent, 0);
    for id in server.codes.values() {
        let reduced = server.reduced(id, false);
        assert!(reduced.verdicts.iter().all(|verdict| !verdict.basis_mismatch), "{id}: {:?}", reduced.verdicts);
    }
}
