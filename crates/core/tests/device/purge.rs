//! Received scans leave the journal 30 days after their event (spec §3 "Log"). Nothing else leaves it.

use admit_core::decide::Screen;
use admit_core::device::journal::Journal;
use admit_core::ids::{DeviceId, EventId, LogId};
use admit_core::limits;
use admit_core::rule::{Epoch, EventChange};
use admit_core::scan::Scan;
use admit_core::sign::{content_digest, prev_of};
use admit_core::time::Timestamp;
use admit_core::wire::engine::{Effect, Input, Phase, Row};
use admit_core::wire::journal::{self as rows, Entry, RejectedScan, Summary};
use admit_core::wire::scanning::SyncRequest;

use super::phone::{EVENING, Phone};
use super::server::Server;
use super::unsent::{row, scan};

const HOUR: i64 = 3_600_000;
/// The time from which the scans of the evening may be purged.
const OVER: i64 = EVENING + 6 * HOUR + limits::JOURNAL_KEEP_MS;

/// A phone after its evening: eight rows of scans, all received, the last a question that nobody answered.
fn evening() -> (Phone, Server) {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    phone.input(Input::Operator { name: "Ana".into() });
    for code in ["A-1", "V-1", "A-2", "unknown", "A-3", "nobody", "OLD-1", "P-4"] {
        phone.scan(code);
    }
    phone.pass_online(&mut server, 20_000);
    assert_eq!((phone.view().unsent, phone.scans().len()), (0, 8));
    (phone, server)
}
/// Starts the app at a time, with a network for a while.
fn started_at(phone: &mut Phone, server: &mut Server, at_ms: i64) {
    phone.at_ms = at_ms;
    phone.effects.clear();
    phone.start();
    phone.pass_online(server, 90_000);
}
fn purges(phone: &Phone) -> usize {
    phone.effects.iter().filter(|effect| matches!(effect, Effect::Purge { .. })).count()
}
fn summary(phone: &Phone) -> Option<Summary> {
    match rows::read(&phone.rows.first()?.text)? {
        Entry::Summary(summary) => Some(*summary),
        _ => None,
    }
}
fn seqs(phone: &Phone) -> Vec<u64> {
    phone.scans().iter().filter_map(|scan| scan.seq).collect()
}
fn log_ids(phone: &Phone) -> Vec<LogId> {
    phone.scans().into_iter().filter_map(|scan| scan.log_id).collect()
}

#[test]
fn received_scans_leave_the_journal_thirty_days_after_their_events_end() {
    let (mut phone, mut server) = evening();
    started_at(&mut phone, &mut server, OVER - 120_000);
    assert_eq!((purges(&phone), phone.scans().len()), (0, 8), "a moment before");
    started_at(&mut phone, &mut server, OVER + 1_000);
    assert_eq!((purges(&phone), phone.scans().len()), (1, 0));
    assert_eq!(summary(&phone).map(|summary| summary.seq), Some(8));
    let numbers: Vec<u64> = phone.rows.iter().map(|row| row.n).collect();
    assert_eq!(numbers, (numbers[0]..numbers[0] + numbers.len() as u64).collect::<Vec<_>>(), "no hole");
    started_at(&mut phone, &mut server, OVER + HOUR);
    assert_eq!(purges(&phone), 0, "there is nothing left to purge");
}

#[test]
fn the_log_goes_on_where_it_was_under_its_name_after_a_purge() {
    let (mut phone, mut server) = evening();
    let (last, log) = (phone.scans().pop().expect("a scan"), log_ids(&phone).remove(0));
    let before = phone.view().clone();
    started_at(&mut phone, &mut server, OVER + 1_000);
    phone.start();
    let after = phone.view().clone();
    assert_eq!((after.phase, after.unsent, after.operator.as_str()), (Phase::Ready, 0, "Ana"));
    assert_eq!((after.device_id, after.event_id), (before.device_id, before.event_id));
    assert_eq!((after.own_admitted, after.last_sync_at), (before.own_admitted, before.last_sync_at));
    assert!(after.history.is_empty());
    phone.scan("A-4");
    let next = phone.scans().pop().expect("a scan");
    assert_eq!((next.seq, next.prev, next.log_id), (Some(9), Some(prev_of(&content_digest(&last))), Some(log)));
    assert!(next.at > last.at);
    phone.pass_online(&mut server, 20_000);
    let told = phone.log.iter().rev().find(|sent| sent.is("/api/scanning/sync")).expect("an upload");
    let told: SyncRequest = serde_json::from_str(told.body.as_ref().unwrap()).unwrap();
    assert_eq!((told.head, told.scans.len(), phone.view().unsent), (Some(9), 1, 0));
    assert!(phone.entries().iter().all(|entry| !matches!(entry, Entry::Log { .. })), "no second log is begun");
}

#[test]
fn a_new_epoch_asks_for_nothing_of_what_was_purged_and_the_proof_of_the_old_one_stays() {
    let (mut phone, mut server) = evening();
    started_at(&mut phone, &mut server, OVER + 1_000);
    phone.scan("A-4");
    phone.pass_online(&mut server, 20_000);
    phone.start();
    phone.pass(10);
    let witness = phone.log.last().and_then(|sent| sent.headers.get("x-admit-witness").cloned());
    assert!(witness.is_some(), "headers: {:?}", phone.log.last().map(|sent| &sent.headers));
    server.roll_back(5);
    assert_eq!(server.ids().len(), 0);
    phone.pass_online(&mut server, 60_000);
    assert_eq!((server.ids().len(), phone.view().unsent, phone.view().phase), (1, 0, Phase::Ready));
}

/// Which scans may go at the time `OVER`. The log has three scans. The first is received; the table says what becomes
/// of the other two.
#[test]
fn a_scan_without_a_receipt_stays_whatever_its_age_and_all_after_it() {
    let epoch = Some(Epoch { restored_at_ms: 1, random: 1 });
    let received = |from, to| Entry::Received { epoch, serial: 9, seqs: vec![(from, to)], held: false, at_ms: 1 };
    let rejected = |seq, kept| {
        let items = vec![RejectedScan { seq, reason: "no".into(), kept }];
        Entry::Rejected { epoch, items }
    };
    let held = Entry::Received { epoch, serial: u64::MAX, seqs: vec![(2, 3)], held: true, at_ms: 1 };
    let later = Epoch { restored_at_ms: 2, random: 2 };
    let table: [(&str, Vec<Entry>, Option<u64>); 12] = [
        ("all received", vec![received(2, 3)], Some(3)),
        ("held until somebody counts them", vec![held], Some(3)),
        ("refused, but kept", vec![rejected(2, true), received(3, 3)], Some(3)),
        ("refused, and kept by nobody", vec![rejected(2, false), received(3, 3)], Some(1)),
        ("never answered", vec![received(3, 3)], Some(1)),
        ("set apart", vec![Entry::Poison { seq: 3, reason: "no".into() }, received(2, 2)], Some(2)),
        ("nothing but what came first", vec![], Some(1)),
        ("a new epoch has not said what it has", vec![received(2, 3), Entry::Epoch { epoch: later }], None),
        (
            "refused by a new epoch, kept by the old",
            {
                let again = Entry::Received {
                    epoch: Some(later),
                    serial: 9,
                    seqs: vec![(1, 1), (3, 3)],
                    held: false,
                    at_ms: 1,
                };
                let refused = RejectedScan { seq: 2, reason: "no".into(), kept: false };
                let refused = Entry::Rejected { epoch: Some(later), items: vec![refused] };
                vec![received(2, 3), Entry::Epoch { epoch: later }, again, refused]
            },
            Some(1),
        ),
        ("the log of a revoked device stays", vec![received(2, 3), Entry::Revoked { at_ms: 1 }], None),
        ("a damaged log stays", vec![received(2, 3), row(scan(7, 7, false))], None),
        ("a row of a newer version stays", vec![received(2, 3), Entry::Unknown], Some(3)),
    ];
    for (said, rest, expected) in table {
        let mut journal = log(epoch, Some(EVENING));
        journal.apply(received(1, 1));
        rest.into_iter().for_each(|entry| journal.apply(entry));
        assert_eq!(journal.removable(OVER).map(|(_, seq)| seq), expected, "{said}");
    }
}
/// A journal of three scans, of an event whose end is known or is not.
fn log(epoch: Option<Epoch>, ends_at_ms: Option<i64>) -> Journal {
    let mut journal = Journal::default();
    let event_id = EventId::new("event").unwrap();
    let content_hash = "hash".to_owned();
    for entry in [
        Entry::Log { device_id: DeviceId::new("device").unwrap(), log_id: LogId::new("log").unwrap() },
        Entry::Epoch { epoch: epoch.unwrap() },
        Entry::List { event_id, epoch: epoch.unwrap(), version: 1, content_hash, ends_at_ms },
    ] {
        journal.apply(entry);
    }
    (1..=3).for_each(|n| journal.apply(row(scan(n, n as u8, false))));
    journal
}

#[test]
fn rows_go_up_to_the_first_scan_that_stays_or_the_first_that_this_version_cannot_read() {
    let epoch = Some(Epoch { restored_at_ms: 1, random: 1 });
    let received = |to| Entry::Received { epoch, serial: 9, seqs: vec![(1, to)], held: false, at_ms: 1 };
    let mut journal = log(epoch, Some(EVENING));
    journal.apply(received(2));
    assert_eq!(journal.removable(OVER), Some((5, 2)), "the third scan is row 6");
    journal.apply(Entry::Unknown);
    journal.apply(received(3));
    assert_eq!(journal.removable(OVER), Some((7, 3)), "row 8 is of a newer version");
    assert_eq!(log(epoch, Some(EVENING)).removable(OVER), None, "nothing is received");
}

#[test]
fn thirty_days_count_from_the_newest_end_that_a_list_told_and_from_the_scan_and_an_unknown_end_never_comes() {
    let epoch = Some(Epoch { restored_at_ms: 1, random: 1 });
    let received = Entry::Received { epoch, serial: 9, seqs: vec![(1, 3)], held: false, at_ms: 1 };
    let keep = limits::JOURNAL_KEEP_MS;
    for (ends_at_ms, at_ms, goes) in [
        (Some(EVENING), EVENING + keep, false),
        (Some(EVENING), EVENING + keep + 1, true),
        // The scans were signed 1, 2 and 3 ms after the beginning of 1970. The organiser entered the year 1 as the
        // event's end by mistake.
        (Some(-62_135_596_800_000), keep + 3, false),
        (Some(-62_135_596_800_000), keep + 4, true),
        (None, i64::MAX, false),
    ] {
        let mut journal = log(epoch, ends_at_ms);
        journal.apply(received.clone());
        assert_eq!(journal.removable(at_ms).is_some_and(|(_, seq)| seq == 3), goes, "{ends_at_ms:?} at {at_ms}");
    }
    let (mut phone, mut server) = evening();
    let later = Timestamp::clamped(EVENING + 80 * HOUR);
    server.change_event(EventChange::EndsAt(later), phone.at_ms);
    phone.pass_online(&mut server, 60_000);
    started_at(&mut phone, &mut server, OVER + HOUR);
    assert_eq!(purges(&phone), 0, "the event was made longer");
    started_at(&mut phone, &mut server, OVER + 75 * HOUR);
    assert_eq!(purges(&phone), 1);
}

#[test]
fn a_wall_clock_that_was_set_forward_purges_nothing() {
    // The clock is set while the app is closed. Without a network nobody tells the phone the time; with one the server
    // does.
    let (mut phone, mut server) = evening();
    phone.wall_off_ms = 40 * 24 * HOUR;
    phone.effects.clear();
    phone.start();
    phone.pass_offline(90_000);
    assert_eq!(purges(&phone), 0);
    phone.pass_online(&mut server, 90_000);
    assert_eq!((purges(&phone), phone.scans().len()), (0, 8));
    // The clock is set while the app runs: first in steps that may be sleep, then by a thousand hours at once. The
    // server tells the time at the beginning and then not again.
    phone.wall_off_ms = 80 * 24 * HOUR;
    phone.start();
    phone.pass_online(&mut server, 10_000);
    for hours in std::iter::repeat_n(11, 80).chain([1_000]) {
        phone.wall_off_ms += hours * HOUR;
        pass_untimed(&mut phone, &mut server, 31_000);
    }
    assert_eq!((purges(&phone), phone.scans().len()), (0, 8));
}
/// Lets time pass while everything is answered but questions for the time.
fn pass_untimed(phone: &mut Phone, server: &mut Server, ms: i64) {
    for _ in 0..ms / 500 {
        for sent in std::mem::take(&mut phone.requests) {
            match server.answer(&sent, phone.at_ms) {
                Some(_) if sent.is("/api/scanning/time") => phone.lose(&sent),
                Some(reply) => phone.answer(&sent, &reply),
                None => phone.requests.push(sent),
            }
        }
        phone.pass(500);
    }
}

#[test]
fn without_an_exchange_since_its_start_a_phone_purges_nothing_however_late_it_is() {
    let (mut phone, mut server) = evening();
    phone.at_ms = OVER + HOUR;
    phone.effects.clear();
    phone.start();
    phone.pass_offline(120_000);
    pass_untimed(&mut phone, &mut server, 120_000);
    assert_eq!(purges(&phone), 0);
    phone.pass_online(&mut server, 90_000);
    assert_eq!(purges(&phone), 1, "now it knows");
}

#[test]
fn nothing_is_purged_while_the_door_is_in_use_or_something_is_being_written() {
    let (mut phone, mut server) = evening();
    phone.at_ms = OVER + HOUR;
    phone.effects.clear();
    phone.start();
    phone.scan("A-4");
    phone.pass_online(&mut server, 4 * 60_000);
    assert_eq!(purges(&phone), 0, "a code was read a moment ago");
    phone.pass_online(&mut server, 2 * 60_000);
    assert_eq!((purges(&phone), seqs(&phone)), (1, vec![9]));
    let (mut phone, mut server) = evening();
    phone.at_ms = OVER + HOUR;
    phone.effects.clear();
    phone.start();
    phone.flushes = false;
    phone.pass_online(&mut server, 90_000);
    assert!(!phone.appends.is_empty());
    assert_eq!(purges(&phone), 0);
}

#[test]
fn a_phone_back_at_its_event_still_refuses_who_was_let_in_and_at_another_event_decides_alike() {
    let (mut phone, mut server) = evening();
    let mut kept = (phone.rows.clone(), phone.caches.clone());
    started_at(&mut phone, &mut server, OVER + 1_000);
    assert_eq!(phone.scans().len(), 0);
    let screens = |phone: &mut Phone, server: &mut Server| {
        phone.start();
        phone.pass_online(server, 1_000);
        ["A-1", "A-2", "A-9", "V-1"].map(|code| phone.screen(code))
    };
    let mut whole = Phone::new(2);
    whole.purges = false;
    (whole.at_ms, whole.rows, whole.caches) = (phone.at_ms, std::mem::take(&mut kept.0), std::mem::take(&mut kept.1));
    let expected = screens(&mut whole, &mut server);
    assert_eq!(screens(&mut phone, &mut server), expected);
    assert_eq!(expected[..2], [Screen::AlreadyIn; 2]);
}

/// The rows of an evening with every kind of row that a journal has, except an undo of a purged scan.
fn eventful() -> Vec<Row> {
    let mut server = Server::new();
    let mut phone = Phone::ready(9, &mut server);
    phone.scan("A-1");
    let refused = phone.scan("V-1").scan_id.expect("a scan");
    for pin in ["0000", "4711", "0000"] {
        let (by, reason) = ("Ada".to_owned(), "on the list".to_owned());
        phone.input(Input::Override { scan_id: refused.clone(), pin: pin.into(), by, reason, count: 1 });
    }
    phone.pass_online(&mut server, 30_000);
    phone.input(Input::Operator { name: "Ada".into() });
    server.roll_back(server.serial - 1);
    phone.pass_online(&mut server, 60_000);
    phone.input(Input::code("P-4"));
    server.event_id = EventId::new("second").unwrap();
    phone.pass_online(&mut server, 60_000);
    phone.pair(&mut server);
    phone.scan("A-5");
    phone.pass_online(&mut server, 60_000);
    assert_eq!(phone.view().unsent, 0);
    phone.rows
}

#[test]
fn a_summary_and_the_rows_after_it_add_up_to_what_all_rows_do_wherever_it_is_made() {
    let all = eventful();
    let mut whole = Journal::default();
    all.iter().for_each(|row| whole.read(row));
    let mut before = Journal::default();
    for (place, row) in all.iter().enumerate() {
        before.read(row);
        let text = rows::write(&Entry::Summary(Box::new(before.summary().expect("a summary"))));
        let mut resumed = Journal::default();
        resumed.read(&Row { n: row.n, text });
        assert_eq!(resumed.summary(), before.summary(), "row {}", row.n);
        all[place + 1..].iter().for_each(|row| resumed.read(row));
        assert_eq!(resumed.summary(), whole.summary(), "row {}", row.n);
        let said = |journal: &Journal| {
            (
                journal.rows,
                journal.damaged,
                journal.head_seq(),
                journal.prev(),
                journal.unsent(),
                journal.waiting.clone(),
            )
        };
        assert_eq!(said(&resumed), said(&whole), "row {}", row.n);
    }
}

#[test]
fn a_summary_anywhere_but_at_the_beginning_blocks_the_log() {
    let (phone, _) = evening();
    let mut journal = Journal::default();
    phone.rows.iter().for_each(|row| journal.read(row));
    let text = rows::write(&Entry::Summary(Box::new(journal.summary().expect("a summary"))));
    journal.read(&Row { n: journal.rows + 1, text });
    assert!(journal.damaged);
    let mut journal = Journal::default();
    phone.rows[1..].iter().for_each(|row| journal.read(row));
    assert!(journal.damaged, "rows that are gone without a summary");
}

#[test]
fn killed_before_or_after_any_step_of_a_long_purge_the_log_goes_on_and_the_rest_goes_later() {
    let mut server = Server::new();
    let mut phone = Phone::ready(1, &mut server);
    for n in 0..2_400 {
        phone.input(Input::code(format!("nobody-{n}")));
    }
    phone.pass_online(&mut server, 60_000);
    let last: Scan = phone.scans().pop().expect("a scan");
    assert_eq!((phone.view().unsent, last.seq), (0, Some(2_400)));
    let disk = (phone.rows.clone(), phone.caches.clone());
    for carried_out in 0..=3 {
        (phone.rows, phone.caches) = disk.clone();
        (phone.at_ms, phone.purges) = (OVER + HOUR, true);
        phone.effects.clear();
        phone.start();
        while purges(&phone) < carried_out {
            phone.pass_online(&mut server, 500);
        }
        let left = phone.scans().len();
        assert!(
            left.abs_diff(2_400_usize.saturating_sub(carried_out * limits::PURGE_ROWS)) < 20,
            "{left}: step by step"
        );
        phone.purges = false;
        phone.pass_online(&mut server, 31_000);
        phone.start();
        assert_eq!((phone.view().phase, phone.view().unsent, phone.scans().len()), (Phase::Ready, 0, left));
        phone.scan("A-1");
        let next: Scan = phone.scans().pop().expect("a scan");
        assert_eq!((next.seq, next.prev), (Some(2_401), Some(prev_of(&content_digest(&last)))));
        phone.purges = true;
        phone.pass_online(&mut server, 20_000);
        phone.start();
        phone.pass_online(&mut server, 180_000);
        assert_eq!(seqs(&phone), [2_401], "after {carried_out} steps");
    }
}

#[test]
fn of_two_events_the_older_goes_while_the_phone_works_at_the_newer() {
    let (mut phone, mut server) = evening();
    let later = Timestamp::clamped(OVER + 12 * HOUR);
    server.event_id = EventId::new("second").unwrap();
    server.change_event(EventChange::EndsAt(later), phone.at_ms);
    phone.pass_online(&mut server, 60_000);
    phone.scan("A-9");
    phone.pass_online(&mut server, 60_000);
    assert_eq!(phone.view().event_id, Some(server.event_id.clone()));
    started_at(&mut phone, &mut server, OVER + HOUR);
    assert_eq!((seqs(&phone), phone.view().unsent), (vec![9], 0));
    phone.start();
    assert_eq!((phone.view().own_admitted, phone.view().history.len()), (1, 1));
    assert_eq!(phone.screen("A-9"), Screen::AlreadyIn);
    assert_eq!(seqs(&phone), [9, 10]);
}
