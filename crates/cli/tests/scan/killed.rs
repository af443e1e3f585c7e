//! `kill -9` of a scanner at random moments while codes are read. Every printed verdict has its scan: in the journal,
//! and in the end at the server. `ADMIT_KILLS` says how often; 6 without it.

use std::collections::BTreeSet;
use std::time::Duration;

use admit_core::wire::journal::{self, Entry};
use admit_store_sqlite::journal::DeviceJournal;

use crate::gate::Gate;
use crate::office::{Office, scan};

/// The longest life of a scanner, in milliseconds.
const LIFE_MS: u64 = 500;
/// More tickets than a scanner reads in one life.
const TICKETS_A_LIFE: u64 = 400;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Reads codes until the scanner is killed, some time after its start or after its first verdict. Gives the next code
/// without a verdict, and the number of verdicts.
async fn live(mut gate: Gate, from_start: bool, life: Duration, mut next: usize, told: &mut Told) -> (usize, u64) {
    let mut verdicts = 0;
    if !from_start {
        note(&gate.scan(&format!("TICKET-{next}")).await, told);
        (next, verdicts) = (next + 1, verdicts + 1);
    }
    let kill_at = tokio::time::Instant::now() + life;
    loop {
        let step = async {
            gate.offer(&format!("TICKET-{next}")).await.ok()?;
            gate.verdict().await
        };
        let Ok(Some(verdict)) = tokio::time::timeout_at(kill_at, step).await else { break };
        note(&verdict, told);
        (next, verdicts) = (next + 1, verdicts + 1);
    }
    gate.kill().await;
    // Verdicts that were printed before the kill count.
    while let Some(verdict) = gate.verdict().await {
        note(&verdict, told);
        (next, verdicts) = (next + 1, verdicts + 1);
    }
    (next, verdicts)
}

/// The verdicts that were printed.
#[derive(Default)]
struct Told {
    /// The scans that admitted a person.
    admitted: BTreeSet<String>,
    /// Persons whom the server counted as inside, although nobody went in. It had answered a claim, and the scanner
    /// died before it got the answer. The final, which says that nobody went in, had not arrived.
    turned_away: u64,
}

fn note(verdict: &serde_json::Value, told: &mut Told) {
    match verdict["verdict"].as_str() {
        Some("admit") => assert!(told.admitted.insert(verdict["scan_id"].as_str().unwrap().to_owned()), "{verdict}"),
        Some("refuse") if verdict["screen"] == "already_in" && verdict["decided_by"] == "server" => {
            println!("turned away: {verdict}");
            told.turned_away += 1;
        }
        // The scanner admitted this person in its former life, and died before it could print the verdict.
        Some("same") => {}
        _ => panic!("{verdict}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_verdict_is_told_without_its_scan_however_often_the_scanner_is_killed() {
    let kills = number("ADMIT_KILLS").unwrap_or(6);
    let seed = number("ADMIT_SEED").unwrap_or(u64::from(std::process::id()));
    println!("{kills} kills, ADMIT_SEED={seed}");
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut sheet = "barcode,zone\n".to_owned();
    (0..kills * TICKETS_A_LIFE).for_each(|n| sheet.push_str(&format!("TICKET-{n},general\n")));
    let mut office = Office::start("killed", &sheet).await;
    let journal = office.journal();
    let link = office.link().await;
    assert_eq!(Gate::start(scan(&journal, &["--pair", &link])).end().await.0, Some(0));
    let (mut told, mut next, mut verdicts, mut cut_off) = (Told::default(), 0, 0, 0);
    for kill in 0..kills {
        let mut command = scan(&journal, &[]);
        if kill % 2 == 1 {
            // No server answers there, so every second life is without a network.
            command.env("HTTP_PROXY", "http://127.0.0.1:1");
        }
        let life = Duration::from_millis(random(&mut state) % LIFE_MS);
        // A quarter of the kills happen while the scanner starts.
        let (after, came) = live(Gate::start(command), kill % 4 == 3, life, next, &mut told).await;
        cut_off += u64::from(came > 0);
        (next, verdicts) = (after, verdicts + came);
    }
    let gate = Gate::start(scan(&journal, &["--last-sync", "60"]));
    assert_eq!(gate.end().await, (Some(0), "admit: every scan is with the server".to_owned()), "ADMIT_SEED={seed}");
    let there: BTreeSet<(String, String)> = office.scans().await.into_keys().collect();
    let (_, found) = DeviceJournal::open(&journal).unwrap();
    let rows = found.rows.iter().filter_map(|row| match journal::read(&row.text) {
        Some(Entry::Scan(scanned)) => Some((scanned.scan.scan_id.to_string(), scanned.scan.stage.to_string())),
        _ => None,
    });
    let rows: BTreeSet<(String, String)> = rows.collect();
    let lacks = |those: &BTreeSet<(String, String)>| -> Vec<String> {
        let is_lost = |id: &&String| !those.contains(&((*id).clone(), "final".to_owned()));
        told.admitted.iter().filter(is_lost).cloned().collect()
    };
    let lost = lacks(&there);
    println!(
        "{verdicts} verdicts told in {cut_off} of {kills} lives, {} scans in the journal, {} at the server, {} lost, {} turned away",
        rows.len(),
        there.len(),
        lost.len(),
        told.turned_away
    );
    assert!(lost.is_empty(), "ADMIT_SEED={seed}: told and lost: {lost:?}");
    assert_eq!(rows, there, "ADMIT_SEED={seed}");
    assert_eq!(lacks(&rows), Vec::<String>::new(), "ADMIT_SEED={seed}");
    // Each ticket admitted its one person once, in spite of the kills.
    let (entered, over) = office.let_in().await;
    let (least, most) = (next as u64 - told.turned_away, next as u64 + 1);
    assert!(over == 0 && (least..=most).contains(&entered), "{entered} of {least} to {most}, {over} over");
    assert!(verdicts > 0 && cut_off > 0, "the kills hit nothing: nothing was proven");
    office.in_order().await;
}
