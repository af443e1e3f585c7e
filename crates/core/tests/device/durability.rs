//! No verdict is shown before its row is durable. The state after a restart is the sum of the durable rows (trust I1,
//! promises 1 and 2).

use admit_core::decide::Screen;
use admit_core::wire::engine::{Effect, Input, ListView, Phase, Row};

use super::phone::Phone;
use super::server::Server;

fn ready() -> (Phone, Server) {
    let mut server = Server::new();
    (Phone::ready(1, &mut server), server)
}
fn code(phone: &mut Phone, text: &str) {
    phone.input(Input::code(text));
}

#[test]
fn a_verdict_is_shown_only_after_its_append_is_durable() {
    let (mut phone, _) = ready();
    phone.flushes = false;
    code(&mut phone, "A-1");
    assert!(phone.shown.is_empty(), "nothing is shown while the append is under way");
    assert_eq!(phone.view().own_admitted, 0);
    phone.pass(1_000);
    assert!(phone.shown.is_empty());
    phone.flush_one();
    assert_eq!(phone.last_shown().screen, Screen::Admit);
    assert_eq!(phone.view().own_admitted, 1);
}

#[test]
fn only_its_own_success_makes_an_append_durable() {
    let (mut phone, _) = ready();
    phone.flushes = false;
    code(&mut phone, "A-1");
    let (first, _) = phone.appends[0].clone();
    phone.flush_one();
    code(&mut phone, "A-2");
    phone.input(Input::Appended { append: first });
    assert_eq!((phone.shown.len(), phone.view().own_admitted), (1, 1), "that was said of the one before");
    phone.flush_one();
    assert_eq!((phone.shown.len(), phone.view().own_admitted), (2, 2));
}

#[test]
fn a_scan_that_storage_refuses_is_no_failure_of_a_pairing_under_way() {
    let (mut phone, _) = ready();
    phone.input(Input::AskPairing { name: "North 1".into() });
    assert!(phone.asks("/api/scanning/pairing-requests"));
    phone.flushes = false;
    code(&mut phone, "A-1");
    phone.fail_one("quota");
    phone.pass(4_000);
    let asked = phone.requests.iter().filter(|sent| sent.is("/api/scanning/pairing-requests")).count();
    assert_eq!(asked, 1, "it waits for the answer it waited for");
}

#[test]
fn a_failed_append_shows_no_verdict_blocks_and_leaves_no_trace() {
    let (mut phone, mut server) = ready();
    phone.flushes = false;
    code(&mut phone, "A-1");
    phone.fail_one("quota");
    assert!(phone.shown.is_empty());
    assert_eq!((phone.view().phase, phone.refused()), (Phase::Blocked, Some("storage_blocked")));
    assert_eq!(phone.view().message.as_deref(), Some("quota"));
    code(&mut phone, "A-2");
    assert!(phone.appends.is_empty() && phone.shown.is_empty(), "while blocked nothing is admitted");
    // The phone tries its storage again by itself. The next scan takes the number of the scan that was not stored.
    phone.pass(5_000);
    phone.flush_one();
    assert_eq!(phone.view().phase, Phase::Ready);
    phone.flushes = true;
    assert_eq!(phone.screen("A-1"), Screen::Admit);
    assert_eq!(phone.scans()[0].seq, Some(1));
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.ids().len(), 1);
}

#[test]
fn a_tab_that_lost_the_lock_never_writes_or_uploads_again() {
    let (mut phone, _) = ready();
    phone.scan("A-1");
    phone.requests.clear();
    phone.flushes = false;
    code(&mut phone, "A-2");
    phone.fail_one("lost_lock");
    let sent = phone.log.len();
    phone.pass(600_000);
    code(&mut phone, "A-3");
    assert!(phone.appends.is_empty());
    assert_eq!(phone.log.len(), sent, "one uploader");
    assert_eq!(phone.view().phase, Phase::Blocked);
}

#[test]
fn two_codes_in_quick_succession_are_both_decided_the_second_on_what_the_first_left() {
    let (mut phone, _) = ready();
    phone.flushes = false;
    code(&mut phone, "A-1");
    code(&mut phone, "A-1");
    code(&mut phone, "A-2");
    assert_eq!(phone.appends.len(), 1, "one append at a time");
    phone.flushes = true;
    phone.flush_one();
    let screens: Vec<Screen> = phone.shown.iter().map(|shown| shown.screen).collect();
    assert_eq!(screens, [Screen::Admit, Screen::SameTicket, Screen::Admit]);
    let seqs: Vec<_> = phone.scans().iter().map(|scan| scan.seq).collect();
    assert_eq!(seqs, [Some(1), Some(2)]);
}

#[test]
fn when_too_many_inputs_wait_staff_are_told() {
    let (mut phone, _) = ready();
    phone.flushes = false;
    for n in 0..40 {
        code(&mut phone, &format!("A-{n}"));
    }
    let told = phone.effects.iter().filter(|it| matches!(it, Effect::Refused { code, .. } if code == "busy")).count();
    phone.flushes = true;
    phone.flush_one();
    assert_eq!(phone.shown.len() + told, 40, "every code is decided or refused aloud");
    assert!(told > 0);
}

/// Kills a phone after the n-th input of an evening, with the append under way flushed or not. Checks what must hold at
/// every such moment.
fn killed_after(n: usize, flushed: bool) -> bool {
    let (mut phone, mut server) = ready();
    phone.flushes = false;
    let codes = ["A-1", "V-1", "P-4", "A-2", "unknown", "A-1"];
    let mut steps = 0;
    let mut ran_out = true;
    'evening: for text in codes {
        code(&mut phone, text);
        for _ in 0..3 {
            steps += 1;
            if steps > n {
                ran_out = false;
                break 'evening;
            }
            if !phone.appends.is_empty() {
                phone.flush_one();
            } else if let Some(sent) = phone.requests.iter().position(|sent| sent.is("/api/scanning/sync")) {
                let sent = phone.requests.remove(sent);
                let reply = server.answer(&sent, phone.at_ms).unwrap();
                phone.answer(&sent, &reply);
            }
            phone.pass(700);
        }
    }
    let shown: Vec<_> = phone.shown.iter().filter_map(|shown| shown.scan_id.clone()).collect();
    if flushed && let Some((_, rows)) = phone.appends.first().cloned() {
        phone.rows.extend(rows); // Durable, and the phone died before it heard so.
    }
    phone.flushes = true;
    phone.start();
    let durable: Vec<_> = phone.scans().into_iter().map(|scan| scan.scan_id).collect();
    assert!(shown.iter().all(|id| durable.contains(id)), "kill after {n}: a verdict was shown and is not durable");
    let unsent = phone.view().unsent as usize;
    phone.pass_online(&mut server, 30_000);
    let mut expected: Vec<String> = durable.iter().map(|id| id.to_string()).collect();
    expected.sort();
    expected.dedup();
    let ids = server.ids();
    assert!(expected.iter().all(|id| ids.contains(id)), "kill after {n}: a durable scan is missing ({unsent} unsent)");
    assert_eq!(phone.view().unsent, 0);
    let seqs: Vec<u64> = phone.scans().iter().filter_map(|scan| scan.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    ran_out
}

#[test]
fn killed_at_any_effect_the_phone_knows_exactly_what_was_durable() {
    for flushed in [false, true] {
        let reached_the_end = (0..30).any(|n| killed_after(n, flushed));
        assert!(reached_the_end, "the whole evening was covered");
    }
}

#[test]
fn the_state_after_a_restart_is_the_state_before_it() {
    let (mut phone, mut server) = ready();
    let id = phone.id_of("P-4");
    phone.input(Input::Count { scan_id: id, count: 3 });
    phone.scan("A-1");
    phone.pass_online(&mut server, 7_000);
    phone.pass_offline(500);
    phone.scan("A-2");
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    phone.input(Input::Operator { name: "Ana".into() });
    let before = phone.view().clone();
    phone.start();
    let after = phone.view().clone();
    assert_eq!(
        (after.unsent, after.own_admitted, after.operator),
        (before.unsent, before.own_admitted, before.operator)
    );
    // The journal has no row for the time at which the server confirmed the list as the newest. After a restart the
    // phone does not know it until the server says it again.
    let list = before.list.map(|list| ListView { checked_at: list.generated_at, ..list });
    assert_eq!((after.history, after.list, after.phase), (before.history, list, before.phase));
    assert_eq!(phone.scan("P-4").already_in, 3, "what the server told is in the cache");
    assert_eq!(phone.screen("A-1"), Screen::SameTicket);
}

#[test]
fn a_last_scan_younger_than_five_minutes_is_shown_again_with_undo() {
    let (mut phone, _) = ready();
    let admitted = phone.scan("A-1");
    phone.at_ms += 240_000;
    phone.start();
    let shown = phone.last_shown();
    assert_eq!((shown.screen, &shown.scan_id, shown.can_undo), (Screen::Admit, &admitted.scan_id, true));
    phone.at_ms += 90_000;
    phone.start();
    assert!(phone.shown.is_empty(), "after five minutes it is history");
    assert_eq!(phone.view().history.len(), 1);
}

#[test]
fn what_is_shown_again_is_what_was_shown_for_five_minutes_to_the_millisecond() {
    for (elapsed_ms, again) in [(299_999, true), (300_000, false)] {
        let (mut phone, _) = ready();
        phone.scan("A-1");
        phone.pass(61_000);
        let before = phone.scan("A-1");
        assert_eq!(before.screen, Screen::AlreadyIn);
        phone.at_ms += elapsed_ms;
        phone.start();
        assert_eq!(
            phone.shown.last().map(|shown| (shown.screen, shown.last_entry.clone())),
            again.then_some((before.screen, before.last_entry))
        );
    }
}

#[test]
fn after_an_undo_or_a_text_that_was_no_code_and_without_a_list_nothing_is_shown_again() {
    let (mut phone, _) = ready();
    phone.scan("A-1");
    phone.input(Input::Undo { scan_id: None, keep: 0 });
    phone.start();
    assert!(phone.shown.is_empty(), "what was undone is no news, and the undo is no verdict");
    phone.scan("   ");
    phone.start();
    assert!(phone.shown.is_empty());
    phone.scan("A-2");
    phone.caches.clear();
    phone.start();
    assert!(phone.shown.is_empty());
}

#[test]
fn rows_of_a_newer_version_are_kept_and_passed_over() {
    let (mut phone, mut server) = ready();
    phone.scan("A-1");
    let n = phone.rows.len() as u64 + 1;
    phone.rows.push(Row { n, text: r#"{"t":"hologram","shape":[1,2]}"#.into() });
    phone.start();
    assert_eq!(phone.view().phase, Phase::Ready);
    assert_eq!(phone.screen("A-2"), Screen::Admit);
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.ids().len(), 2);
}

#[test]
fn a_log_with_an_unreadable_scan_takes_no_more_scans_and_is_still_handed_over() {
    let (mut phone, mut server) = ready();
    phone.scan("A-1");
    let n = phone.rows.len() as u64 + 1;
    phone.rows.push(Row { n, text: r#"{"t":"scan","scan":{"colour":"red"}}"#.into() });
    phone.start();
    assert_eq!(phone.view().phase, Phase::Blocked);
    code(&mut phone, "A-2");
    assert_eq!(phone.refused(), Some("storage_blocked"));
    phone.pass_online(&mut server, 7_000);
    assert_eq!(server.ids().len(), 1);
}

#[test]
fn the_same_inputs_give_the_same_effects() {
    let run = || {
        let (mut phone, mut server) = ready();
        for text in ["A-1", "P-4", "V-1"] {
            code(&mut phone, text);
        }
        phone.pass_online(&mut server, 20_000);
        (phone.effects, phone.rows)
    };
    assert_eq!(run(), run());
}

#[test]
fn receipts_that_storage_refuses_are_kept_in_mind_and_written_when_it_takes_rows_again() {
    let (mut phone, mut server) = ready();
    phone.scan("A-1");
    phone.flushes = false;
    let sent = phone.take("/api/scanning/sync");
    let reply = server.answer(&sent, phone.at_ms).unwrap();
    phone.answer(&sent, &reply);
    phone.fail_one("quota");
    phone.pass(3_000);
    assert!(!phone.asks("/api/scanning/sync"), "what the server has is not sent again and again");
    phone.flushes = true;
    phone.pass(6_000);
    assert_eq!((phone.view().phase, phone.view().unsent), (Phase::Ready, 0));
}
