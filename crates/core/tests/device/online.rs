//! Asking the server before the door opens: claim, answer, final (S2 §2 "online first", spec §5 `POST /api/scans`).

use admit_core::barcode::BarcodeHash;
use admit_core::decide::Screen;
use admit_core::ids::TicketId;
use admit_core::limits;
use admit_core::rule::TicketChange;
use admit_core::scan::{Outcome, Scan, Stage};
use admit_core::sign::{content_digest, prev_of};
use admit_core::ticket::TicketStatus;
use admit_core::wire::engine::{DecidedBy, Input, Phase};
use admit_core::wire::scanning::SyncRequest;

use super::phone::{Phone, Sent};
use super::server::{Reply, Server, ticket};

const ASK: &str = "/api/scans";
const SYNC: &str = "/api/scanning/sync";

/// A phone that knows its round trip to be quick. It gets no answers but those that a test gives.
fn quick() -> (Phone, Server) {
    let mut server = Server::new();
    let phone = another(1, &mut server);
    (phone, server)
}
fn another(seed: u64, server: &mut Server) -> Phone {
    let mut phone = Phone::new(seed);
    phone.quick = true;
    phone.pair(server);
    phone
}
fn code(phone: &mut Phone, text: &str) {
    phone.input(Input::code(text));
}
/// Shows a code to the phone, and returns the question that the phone asks the server. The screen shows nothing yet.
fn asked(phone: &mut Phone, text: &str) -> Sent {
    let before = phone.shown.len();
    code(phone, text);
    assert_eq!(phone.shown.len(), before, "no verdict while the server is asked");
    phone.take(ASK)
}
fn told(phone: &mut Phone, server: &mut Server, sent: &Sent) {
    let reply = server.answer(sent, phone.at_ms).unwrap();
    phone.answer(sent, &reply);
}
fn confirmed(phone: &mut Phone, server: &mut Server, text: &str) -> Screen {
    let sent = asked(phone, text);
    told(phone, server, &sent);
    assert_eq!(phone.last_shown().decided_by, DecidedBy::Server);
    phone.last_shown().screen
}
fn stages(phone: &Phone) -> Vec<Stage> {
    phone.scans().iter().map(|scan| scan.stage).collect()
}
fn within(server: &Server, text: &str) -> (u32, u32) {
    let state = server.reduced_code(text).state;
    (state.within, state.over)
}

#[test]
fn the_claim_is_durable_before_the_question_and_the_final_before_the_verdict() {
    let (mut phone, mut server) = quick();
    phone.flushes = false;
    code(&mut phone, "A-1");
    assert!(!phone.asks(ASK), "nothing leaves before the claim is durable");
    phone.flush_one();
    let sent = phone.take(ASK);
    assert!(sent.urgent && phone.shown.is_empty());
    told(&mut phone, &mut server, &sent);
    assert!(phone.shown.is_empty(), "the server's word alone opens no door");
    phone.flush_one();
    let shown = phone.last_shown();
    assert_eq!((shown.screen, shown.opened, shown.decided_by), (Screen::Admit, true, DecidedBy::Server));
    let scans = phone.scans();
    let (claim, last) = (&scans[0], &scans[1]);
    assert_eq!((claim.stage, claim.opened, claim.seq), (Stage::Claim, false, Some(1)));
    assert_eq!((last.stage, last.opened, last.seq), (Stage::Final, true, Some(2)));
    assert_eq!((&last.scan_id, last.prev), (&claim.scan_id, Some(prev_of(&content_digest(claim)))));
    assert!(last.at > claim.at, "time rises along the log");
    assert_eq!(last.cursor, server.serial, "it acted on everything up to the server's word");
    assert_eq!(phone.view().own_admitted, 1);
    assert_eq!(phone.view().history.len(), 1, "one scan, one row");
}

#[test]
fn claim_and_final_go_up_together_and_are_one_scan_that_was_asked_about() {
    let (mut phone, mut server) = quick();
    let sent = asked(&mut phone, "A-1");
    assert!(!phone.asks(SYNC), "the claim waits for its final");
    told(&mut phone, &mut server, &sent);
    let upload = phone.take(SYNC);
    let batch: SyncRequest = serde_json::from_str(upload.body.as_ref().unwrap()).unwrap();
    assert_eq!((batch.scans.len(), phone.view().unsent), (2, 1), "two records of one scan");
    // The question is delivered twice, too, as its answer was believed lost.
    assert_eq!(server.judge(&sent, &batch.device_id, phone.at_ms).body, server.judged.values().next().unwrap().body);
    told(&mut phone, &mut server, &upload);
    assert_eq!((server.stored.len(), server.ids().len(), within(&server, "A-1")), (2, 1, (1, 0)));
    assert!(server.reduced_code("A-1").causes.is_empty());
    assert_eq!(phone.view().unsent, 0);
}

#[test]
fn online_the_servers_word_stands_over_the_phones() {
    let (mut phone, mut server) = quick();
    // The ticket was voided a moment ago, and the phone does not know.
    server.change_ticket("A-1", TicketChange::Status(TicketStatus::Voided), phone.at_ms);
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Refuse);
    let last = phone.scans().pop().unwrap();
    assert_eq!((last.outcome, last.opened), (Outcome::Invalid, false));
    // The ticket was sold a moment ago.
    let id = TicketId::new("t-late").unwrap();
    server.codes.insert(BarcodeHash::of("LATE-1"), id.clone());
    server.first(admit_core::rule::Change::Ticket(id.clone(), TicketChange::First(ticket(1))));
    assert_eq!(confirmed(&mut phone, &mut server, "LATE-1"), Screen::Admit);
    assert_eq!(phone.scans().pop().unwrap().ticket_id, Some(id));
    // The guest was let in at another gate a moment ago.
    let mut south = another(2, &mut server);
    assert_eq!(confirmed(&mut south, &mut server, "A-2"), Screen::Admit);
    assert_eq!(confirmed(&mut phone, &mut server, "A-2"), Screen::AlreadyIn);
    let entry = phone.last_shown().last_entry.clone().unwrap();
    assert_eq!((entry.gate.as_str(), entry.device_id, entry.own), ("Gate north", None, false));
    phone.pass_online(&mut server, 7_000);
    south.pass_online(&mut server, 7_000);
    // Later the changes have told the phone of that entry, and on which device it was.
    phone.pass_online(&mut server, 7_000);
    assert_eq!(confirmed(&mut phone, &mut server, "A-2"), Screen::AlreadyIn);
    let entry = phone.last_shown().last_entry.clone().unwrap();
    assert_eq!((entry.device_id, entry.own), (Some(south.scans()[0].device_id.clone()), false));
    for text in ["A-1", "A-2", "LATE-1"] {
        let causes = server.reduced_code(text).causes;
        assert!(!causes.iter().any(|cause| cause.kind.queued()), "{text}: nobody was mistaken: {causes:?}");
    }
}

#[test]
fn without_an_answer_in_200_ms_the_phone_decides_alone_and_a_late_answer_changes_nothing() {
    let (mut phone, mut server) = quick();
    server.change_ticket("A-1", TicketChange::Status(TicketStatus::Voided), phone.at_ms);
    let sent = asked(&mut phone, "A-1");
    phone.pass(limits::ASK_WAIT_MS - 1);
    assert!(phone.shown.is_empty());
    phone.pass(1);
    let shown = phone.last_shown().clone();
    assert_eq!((shown.screen, shown.opened, shown.decided_by), (Screen::Admit, true, DecidedBy::Device));
    told(&mut phone, &mut server, &sent);
    assert_eq!((phone.shown.len(), stages(&phone)), (1, vec![Stage::Claim, Stage::Final]));
    // The upload reports what happened at the door. The server finds that it was a mistake.
    phone.pass_online(&mut server, 7_000);
    let reduced = server.reduced_code("A-1");
    assert_eq!((reduced.state.persons(), reduced.verdicts[0].admitted_in_error), (1, true));
}

#[test]
fn an_answer_too_late_that_let_somebody_in_gives_way_to_the_final_that_did_not() {
    let (mut phone, mut server) = quick();
    // The ticket is valid again, and only the server knows.
    server.change_ticket("V-1", TicketChange::Status(TicketStatus::Active), phone.at_ms);
    let sent = asked(&mut phone, "V-1");
    phone.pass(limits::ASK_WAIT_MS);
    assert_eq!(phone.last_shown().screen, Screen::Refuse);
    told(&mut phone, &mut server, &sent);
    assert_eq!(within(&server, "V-1"), (1, 0), "the claim alone stands for its answer");
    // Before its own upload is answered, the phone learns two things from the changes: the ticket is active, and one
    // person is in with it. It decides by these.
    let upload = phone.take(SYNC);
    phone.pass(limits::CHANGES_PAUSE_MS - limits::ASK_WAIT_MS);
    phone.settle(&mut server);
    assert_eq!(phone.screen("V-1"), Screen::Admit);
    phone.lose(&upload);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(within(&server, "V-1"), (1, 0), "one person went in, once");
}

#[test]
fn a_phone_that_knows_no_quick_way_decides_at_once() {
    // Slow: the last round trip took 150 ms.
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    assert_eq!(phone.scan("A-1").decided_by, DecidedBy::Device);
    // Old: the last round trip was more than ten seconds ago.
    let (mut phone, _) = quick();
    phone.pass(limits::ASK_FRESH_MS);
    assert_eq!(phone.scan("A-1").decided_by, DecidedBy::Device);
    // Not online: another request was not answered.
    let (mut phone, mut server) = quick();
    phone.pass_online(&mut server, 30_000);
    phone.offline();
    assert_eq!(phone.scan("A-1").decided_by, DecidedBy::Device);
    // The phone slept: it cannot know how long ago the last round trip was.
    let (mut phone, _) = quick();
    phone.sleep(3_600_000);
    assert_eq!(phone.scan("A-1").decided_by, DecidedBy::Device);
    assert!(!phone.log.iter().any(|sent| sent.is(ASK)));
}

#[test]
fn while_it_is_used_a_phone_measures_the_way_and_then_lets_it_be() {
    let (mut phone, mut server) = quick();
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Admit);
    phone.pass_online(&mut server, 60_000);
    assert_eq!(confirmed(&mut phone, &mut server, "A-2"), Screen::Admit, "a guest a minute is a guest confirmed");
    phone.pass_online(&mut server, limits::IN_USE_MS + limits::PING_EVERY_MS);
    let pings = |phone: &Phone| phone.log.iter().filter(|sent| sent.is_ping()).count();
    let before = pings(&phone);
    assert!(before > 40, "{before}");
    phone.pass_online(&mut server, 600_000);
    assert_eq!(pings(&phone), before, "nobody scans: nothing is measured");
}

#[test]
fn a_bad_network_costs_the_queue_two_waits_and_no_more() {
    let (mut phone, mut server) = quick();
    let mut waits = Vec::new();
    for n in 0..60 {
        let text = format!("unknown {n}");
        let (shown, start) = (phone.shown.len(), phone.mono_ms);
        code(&mut phone, &text);
        // The worst case: every request is answered at once, and only the questions are lost.
        while phone.shown.len() == shown {
            phone.pass(50);
        }
        waits.push(phone.mono_ms - start);
        phone.requests.retain(|sent| !sent.is(ASK));
        phone.pass_online(&mut server, 1_000);
    }
    let waited: Vec<usize> = (0..waits.len()).filter(|n| waits[*n] > 0).collect();
    assert!(waits.iter().all(|wait| *wait <= limits::ASK_WAIT_MS), "{waits:?}");
    assert!(waited.len() <= 4, "of sixty guests in a minute few wait: {waited:?}");
    // The network is good again: the phone asks again and forgets the lost questions.
    phone.pass_online(&mut server, limits::ASK_PAUSE_MAX_MS);
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Admit);
    let sent = asked(&mut phone, "A-2");
    phone.lose(&sent);
    phone.pass_online(&mut server, 2_000);
    assert_eq!(confirmed(&mut phone, &mut server, "A-3"), Screen::Admit, "one lost question is no bad network");
}

#[test]
fn any_answer_but_the_servers_word_lets_the_phone_decide_at_once() {
    let other = |phone: &mut Phone, server: &mut Server| {
        let sent = asked(&mut another(7, &mut Server::new()), "A-9");
        let mut reply = server.answer(&asked(phone, "A-8"), phone.at_ms).unwrap();
        reply.body = String::from_utf8(reply.body).unwrap().replace("scan_id\":\"", "scan_id\":\"x").into_bytes();
        drop(sent);
        reply
    };
    let replies: Vec<(&str, Reply)> = vec![
        ("unknown key", Reply::problem(401, "unknown_key")),
        ("suspended", Reply::problem(403, "device_suspended")),
        ("no such event", Reply::problem(404, "not_found")),
        ("conflict", Reply::problem(409, "conflict")),
        ("not live", Reply::problem(422, "event_not_live")),
        ("too many", Reply::problem(429, "rate_limited").with("retry-after", 3)),
        ("a fault", Reply::problem(500, "internal")),
        ("later", Reply::problem(503, "later").with("retry-after", 3)),
        ("a portal", Reply::html(200)),
        ("a proxy", Reply::html(502)),
        ("cut short", Reply { status: 200, headers: vec![], body: b"{\"scan_id\":".to_vec() }),
        ("of another scan", other(&mut quick().0, &mut quick().1)),
    ];
    for (what, reply) in replies {
        let (mut phone, mut server) = quick();
        let sent = asked(&mut phone, "A-1");
        phone.answer(&sent, &reply);
        let shown = phone.last_shown().clone();
        assert_eq!((shown.screen, shown.opened), (Screen::Admit, true), "{what}");
        assert_eq!(shown.decided_by, DecidedBy::Device, "{what}");
        assert_eq!(phone.scan("A-2").decided_by, DecidedBy::Device, "{what}: not asked again at once");
        phone.pass_online(&mut server, 60_000);
        assert_eq!((within(&server, "A-1"), within(&server, "A-2")), ((1, 0), (1, 0)), "{what}: nothing is lost");
    }
}

#[test]
fn the_servers_retry_after_is_kept() {
    let (mut phone, mut server) = quick();
    let sent = asked(&mut phone, "A-1");
    phone.answer(&sent, &Reply::problem(429, "rate_limited").with("retry-after", 40));
    phone.pass_online(&mut server, 38_000);
    phone.input(Input::Online);
    assert_eq!(phone.scan("A-2").decided_by, DecidedBy::Device);
    phone.pass_online(&mut server, 3_000);
    assert_eq!(confirmed(&mut phone, &mut server, "A-3"), Screen::Admit);
}

#[test]
fn a_device_that_is_revoked_while_it_asks_admits_nobody() {
    let (mut phone, mut server) = quick();
    let sent = asked(&mut phone, "A-1");
    server.revoked = true;
    told(&mut phone, &mut server, &sent);
    assert!(phone.shown.is_empty());
    assert_eq!((phone.refused(), phone.view().phase), (Some("no_list"), Phase::Revoked));
    phone.pass_online(&mut server, 7_000);
    assert_eq!(
        (phone.view().unsent, within(&server, "A-1")),
        (0, (0, 0)),
        "the claim is handed over and counts nothing"
    );
}

#[test]
fn codes_that_come_while_the_server_is_asked_are_decided_after_it_in_their_order() {
    let (mut phone, mut server) = quick();
    let first = asked(&mut phone, "A-1");
    code(&mut phone, "A-1");
    code(&mut phone, "A-2");
    code(&mut phone, "P-4");
    assert!(!phone.asks(ASK), "one question at a time");
    told(&mut phone, &mut server, &first);
    let screens: Vec<Screen> = phone.shown.iter().map(|shown| shown.screen).collect();
    assert_eq!(screens, [Screen::Admit, Screen::SameTicket], "the second on what the first left");
    let second = phone.take(ASK);
    phone.pass(limits::ASK_WAIT_MS);
    assert_eq!(phone.shown.len(), 4, "the third waits for nobody: the way is no longer known to be quick");
    drop(second);
    let seqs: Vec<_> = phone.scans().iter().map(|scan| (scan.seq.unwrap(), scan.stage)).collect();
    let (claim, last) = (Stage::Claim, Stage::Final);
    assert_eq!(seqs, [(1, claim), (2, last), (3, claim), (4, last), (5, claim)]);
}

#[test]
fn an_undo_that_comes_while_the_server_is_asked_undoes_what_that_leaves() {
    let (mut phone, mut server) = quick();
    let sent = asked(&mut phone, "A-1");
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    told(&mut phone, &mut server, &sent);
    assert_eq!(phone.view().own_admitted, 0);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(within(&server, "A-1"), (0, 0));
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Admit, "the ticket is good again");
}

#[test]
fn a_party_is_counted_by_staff_and_not_asked_about() {
    let (mut phone, mut server) = quick();
    assert_eq!(phone.screen("P-4"), Screen::AdmitParty, "a claim answered and never counted would count a person");
    phone.pass_online(&mut server, 7_000);
    assert_eq!(within(&server, "P-4"), (0, 0));
}

/// A party of three that no list has yet.
fn late_party(server: &mut Server) {
    let id = TicketId::new("t-late").unwrap();
    server.codes.insert(BarcodeHash::of("LATE-P"), id.clone());
    server.first(admit_core::rule::Change::Ticket(id, TicketChange::First(ticket(3))));
}
/// Lets the phone learn by `changes` what the server has. Nothing else is answered.
fn hears(phone: &mut Phone, server: &mut Server) {
    phone.pass(1_000);
    let sent = phone.take("/api/scanning/events/event/changes");
    told(phone, server, &sent);
}

/// Staff count as many persons as the server allowed, or fewer.
#[test]
fn a_party_that_only_the_server_knows_is_counted_after_its_word() {
    for count in [2, 3] {
        let (mut phone, mut server) = quick();
        late_party(&mut server);
        assert_eq!(confirmed(&mut phone, &mut server, "LATE-P"), Screen::AdmitParty);
        let shown = phone.last_shown().clone();
        assert_eq!((shown.may_admit, shown.entry_limit, shown.opened), (3, 3, false));
        phone.input(Input::Count { scan_id: shown.scan_id.clone().unwrap(), count: 4 });
        assert_eq!(phone.refused(), Some("bad_count"));
        phone.input(Input::Count { scan_id: shown.scan_id.unwrap(), count });
        let shown = phone.last_shown();
        assert_eq!((shown.screen, shown.opened, shown.count), (Screen::Admit, true, count));
        phone.pass_online(&mut server, 7_000);
        assert_eq!(within(&server, "LATE-P"), (count, 0));
    }
}

/// The server counts an answered claim as one person until it has the final. The phone itself counted two, and goes by
/// its own count.
#[test]
fn a_party_counted_here_is_not_the_one_person_of_its_claim() {
    let (mut phone, mut server) = quick();
    late_party(&mut server);
    assert_eq!(confirmed(&mut phone, &mut server, "LATE-P"), Screen::AdmitParty);
    let scan_id = phone.last_shown().scan_id.clone().unwrap();
    hears(&mut phone, &mut server);
    phone.input(Input::Count { scan_id, count: 2 });
    assert_eq!((phone.last_shown().opened, phone.last_shown().count), (true, 2));
    phone.pass(61_000);
    code(&mut phone, "LATE-P");
    let shown = phone.last_shown();
    assert_eq!((shown.decided_by, shown.may_admit), (DecidedBy::Device, 1), "two of three are in");
}

/// The same code is shown again while staff count. The phone asks the server about both showings, and the server counts
/// one person for each. So fewer persons are left for the count of the first showing.
#[test]
fn a_party_is_counted_without_whom_the_server_let_in_since() {
    for told in [false, true] {
        let (mut phone, mut server) = quick();
        late_party(&mut server);
        assert_eq!(confirmed(&mut phone, &mut server, "LATE-P"), Screen::AdmitParty);
        let first = phone.last_shown().scan_id.clone().unwrap();
        assert_eq!(confirmed(&mut phone, &mut server, "LATE-P"), Screen::AdmitParty, "of three two are left");
        let second = phone.last_shown().scan_id.clone().unwrap();
        phone.input(Input::Count { scan_id: second, count: 1 });
        assert!(phone.last_shown().opened);
        if told {
            let sent = phone.take(SYNC);
            let reply = server.answer(&sent, phone.at_ms).unwrap();
            phone.answer(&sent, &reply);
            assert_eq!(phone.view().unsent, 1, "the first one's claim alone");
        }
        phone.input(Input::Count { scan_id: first.clone(), count: 3 });
        assert_eq!(phone.refused(), Some("bad_count"), "one of three is in");
        phone.input(Input::Count { scan_id: first, count: 2 });
        assert!(phone.last_shown().opened);
        phone.pass_online(&mut server, 7_000);
        assert_eq!(within(&server, "LATE-P"), (3, 0), "and nobody over");
    }
}

/// While staff count, others may come in elsewhere. The server's answer is then older than what the phone has heard
/// since.
#[test]
fn a_party_is_counted_by_what_is_known_when_it_is() {
    let (mut phone, mut server) = quick();
    late_party(&mut server);
    assert_eq!(confirmed(&mut phone, &mut server, "LATE-P"), Screen::AdmitParty);
    let scan_id = phone.last_shown().scan_id.clone().unwrap();
    let mut second = another(2, &mut server);
    second.at_ms = phone.at_ms;
    code(&mut second, "LATE-P");
    second.settle(&mut server);
    let there = second.last_shown().scan_id.clone().unwrap();
    second.input(Input::Count { scan_id: there, count: 2 });
    second.pass_online(&mut server, 7_000);
    hears(&mut phone, &mut server);
    phone.input(Input::Count { scan_id: scan_id.clone(), count: 3 });
    assert_eq!(phone.refused(), Some("bad_count"), "two of three are in");
    phone.input(Input::Count { scan_id, count: 1 });
    assert!(phone.last_shown().opened);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(within(&server, "LATE-P"), (3, 0));
}

#[test]
fn after_a_restart_between_claim_and_final_the_door_is_on_record_as_shut() {
    for heard in [false, true] {
        let (mut phone, mut server) = quick();
        let sent = asked(&mut phone, "A-1");
        if heard {
            server.answer(&sent, phone.at_ms).unwrap();
            assert_eq!(within(&server, "A-1"), (1, 0), "until the final says otherwise the answer stands for the deed");
        }
        phone.start();
        assert!(phone.shown.is_empty(), "nobody saw a verdict, and nobody sees one now");
        let scans = phone.scans();
        assert_eq!((scans[1].stage, scans[1].opened, &scans[1].scan_id), (Stage::Final, false, &scans[0].scan_id));
        phone.pass_online(&mut server, 7_000);
        assert_eq!((phone.view().own_admitted, within(&server, "A-1")), (0, (0, 0)));
        assert!(server.reduced_code("A-1").causes.is_empty());
        assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Admit, "the guest shows the code again");
    }
}

#[test]
fn a_final_that_storage_refuses_is_shown_to_nobody_and_put_on_record_later() {
    let (mut phone, mut server) = quick();
    phone.flushes = false;
    code(&mut phone, "A-1");
    phone.flush_one();
    let sent = phone.take(ASK);
    told(&mut phone, &mut server, &sent);
    phone.fail_one("quota");
    assert!(phone.shown.is_empty());
    assert_eq!((phone.refused(), phone.view().phase), (Some("storage_blocked"), Phase::Blocked));
    phone.flushes = true;
    phone.pass(limits::STORAGE_PROBE_MS);
    let last = phone.scans().pop().unwrap();
    assert_eq!((last.stage, last.opened), (Stage::Final, false));
    phone.pass_online(&mut server, 7_000);
    assert_eq!(within(&server, "A-1"), (0, 0));
}

#[test]
fn storage_that_refuses_while_the_server_is_asked_shows_nothing() {
    let (mut phone, mut server) = quick();
    let sent = asked(&mut phone, "A-1");
    phone.flushes = false;
    phone.sleep(60_000);
    phone.pass(10); // The jump of the wall clock is noted, and that row refused.
    phone.fail_one("quota");
    assert_eq!(phone.refused(), Some("storage_blocked"));
    told(&mut phone, &mut server, &sent);
    assert!(phone.shown.is_empty() && phone.appends.is_empty());
}

#[test]
fn a_clock_that_is_set_between_claim_and_final_leaves_time_rising_along_the_log() {
    let (mut phone, mut server) = quick();
    let sent = asked(&mut phone, "A-1");
    phone.wall_off_ms -= 7_200_000;
    told(&mut phone, &mut server, &sent);
    let scans = phone.scans();
    assert!(scans[1].at > scans[0].at);
    let true_ms = phone.at_ms;
    let holds = |scan: &Scan| scan.at.ms().abs_diff(true_ms) <= scan.uncertainty_ms;
    assert!(scans.iter().all(holds), "{scans:?}");
}

#[test]
fn a_word_of_an_epoch_whose_list_is_not_here_is_not_acted_on() {
    let (mut phone, mut server) = quick();
    let sent = asked(&mut phone, "A-1");
    server.roll_back(0);
    told(&mut phone, &mut server, &sent);
    assert_eq!(phone.last_shown().decided_by, DecidedBy::Device);
    assert_eq!(phone.scans()[1].epoch, phone.scans()[0].epoch);
    phone.pass_online(&mut server, 40_000);
    assert_eq!((phone.view().unsent, within(&server, "A-1")), (0, (1, 0)));
}

#[test]
fn a_server_that_lost_its_answer_gets_claim_and_final_again() {
    let (mut phone, mut server) = quick();
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Admit);
    phone.pass_online(&mut server, 7_000);
    server.roll_back(0);
    phone.pass_online(&mut server, 40_000);
    assert_eq!((server.stored.len(), within(&server, "A-1")), (2, (1, 0)));
    assert!(!server.reduced_code("A-1").verdicts[0].basis_mismatch);
}

/// Cuts an evening of codes off after the n-th step. Whatever was shown as let in is on record and counts once.
fn cut_off_after(n: usize) -> bool {
    let (mut phone, mut server) = quick();
    phone.flushes = false;
    let (mut steps, mut ran_out) = (0, true);
    let mut let_in = Vec::new();
    'evening: for text in ["A-1", "V-1", "A-2", "A-1", "P-4", "A-3"] {
        code(&mut phone, text);
        for _ in 0..6 {
            let_in.extend(phone.shown.drain(..).filter(|shown| shown.opened).filter_map(|shown| shown.scan_id));
            steps += 1;
            if steps > n {
                ran_out = false;
                break 'evening;
            }
            if !phone.appends.is_empty() {
                phone.flush_one();
            } else if phone.asks(ASK) {
                let sent = phone.take(ASK);
                let reply = server.answer(&sent, phone.at_ms).unwrap();
                match steps % 3 {
                    0 => phone.answer(&sent, &reply), // In time.
                    1 => phone.pass(limits::ASK_WAIT_MS),
                    _ => {
                        phone.lose(&sent);
                        phone.quick = true;
                    }
                }
            } else {
                phone.settle(&mut server);
            }
        }
    }
    phone.flushes = true;
    phone.start();
    phone.pass_online(&mut server, 40_000);
    let scans = phone.scans();
    let opened: Vec<_> = scans.iter().filter(|scan| scan.opened).map(|scan| scan.scan_id.clone()).collect();
    for scan_id in &let_in {
        assert!(opened.contains(scan_id), "cut off after {n}: {scan_id} was shown and is not on record");
    }
    for text in ["A-1", "A-2", "A-3"] {
        let hash = Some(BarcodeHash::of(text));
        let here = scans.iter().filter(|scan| scan.opened && scan.barcode_hash == hash).count() as u32;
        let state = server.reduced_code(text).state;
        assert_eq!((state.within, state.over), (here.min(1), 0), "cut off after {n}: {text}");
    }
    assert_eq!(phone.view().unsent, 0, "cut off after {n}");
    ran_out
}

#[test]
fn cut_off_anywhere_between_claim_and_final_what_was_shown_is_what_counts() {
    assert!((0..200).any(cut_off_after), "the evening ends");
}

/// The server does not have the undo yet, so its answer would call a guest whose entry was undone a duplicate.
#[test]
fn a_ticket_whose_undo_is_not_at_the_server_yet_is_decided_here() {
    let (mut phone, mut server) = quick();
    assert_eq!(confirmed(&mut phone, &mut server, "A-1"), Screen::Admit);
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    code(&mut phone, "A-1");
    assert!(!phone.asks(ASK), "not asked");
    let shown = phone.last_shown();
    assert_eq!((shown.screen, shown.decided_by), (Screen::Admit, DecidedBy::Device), "and let in again");
    phone.pass_online(&mut server, 20_000);
    assert_eq!(within(&server, "A-1"), (1, 0));
}
