//! `kill -9` at random moments while passes are on their way, on both stores. Every guest has one token, one object
//! and one mail, and no mail is sent before its object is stored. Each kill during the sending may cause at most one
//! more mail, with the same Message-ID.
//!
//! `ADMIT_KILLS` says how often each store's server is killed; 8 without it. The test reads the store after each kill,
//! and reports how many kills hit a run at each of its steps. With many kills, each step must have been hit.

mod office;
#[allow(dead_code, reason = "each target uses its part of the harness")]
#[path = "../../../server/tests/it/passes/sink.rs"]
mod sink;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use office::{Kept, Office, Run};

/// The steps of a run, in order.
const STEPS: [&str; 4] = ["insert-qr-code", "generate-qr-png", "upload", "send-email"];
/// The guests of an import. There are fewer than the runs under way at a time, so every taken run is begun.
const GUESTS: usize = 24;
/// The longest time from the beginning of an import to an unaimed kill, in milliseconds.
const LIFE_MS: u64 = 400;
/// The longest wait of an aimed kill for a run at its step, in milliseconds.
const AIM_MS: u64 = 10_000;
/// The longest delay between that moment and the kill, in milliseconds.
const LATER_MS: u64 = 4;
/// The number of kills from which each step must have been hit.
const REACH: usize = 40;
/// The time limit for finishing interrupted work.
const PATIENCE: Duration = Duration::from_secs(60);

/// A random generator with a seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Counts what the kills interrupted.
#[derive(Default)]
struct Reach {
    /// The number of kills that hit a run at each step.
    at_step: [usize; STEPS.len()],
    /// For each guest, the number of kills during the sending of their mail.
    sending: BTreeMap<String, usize>,
    /// The number of kills that hit any run.
    any: usize,
    /// The times from a start until the first interrupted step was done, and (`finished`) until the last was.
    went_on: Vec<Duration>,
    finished: Vec<Duration>,
}

impl Reach {
    /// Records which runs a kill hit.
    fn note(&mut self, open: &[Run]) {
        let mut hit = [false; STEPS.len()];
        for run in open.iter().filter(|run| run.is_taken && run.done < STEPS.len()) {
            hit[run.done] = true;
            if STEPS[run.done] == "send-email" {
                *self.sending.entry(run.guest_id.clone()).or_default() += 1;
            }
        }
        for (count, hit) in self.at_step.iter_mut().zip(hit) {
            *count += usize::from(hit);
        }
        self.any += usize::from(hit.contains(&true));
    }
}

/// Waits for this kill's moment. Half of the kills come at any time, the others shortly after a run reached the step
/// in `aim`.
async fn moment(office: &Office, dice: &mut Dice, aim: Option<usize>) {
    let Some(aim) = aim else {
        // tidy-allow: the random moment of the kill is what is tested
        return tokio::time::sleep(Duration::from_millis(dice.below(LIFE_MS))).await;
    };
    let until = Instant::now() + Duration::from_millis(AIM_MS);
    let mut seen = false;
    while Instant::now() < until {
        let open = office.open_runs().await;
        if open.iter().any(|run| run.is_taken && run.done == aim) || seen && open.is_empty() {
            break;
        }
        seen |= !open.is_empty();
        tokio::time::sleep(Duration::from_micros(500)).await; // tidy-allow: the pause of a poll loop
    }
    // tidy-allow: the random moment of the kill is what is tested
    tokio::time::sleep(Duration::from_micros(dice.below(LATER_MS * 1_000))).await;
}

/// Waits until all interrupted work is done. The server continues it by itself.
async fn goes_on(office: &Office, cut_off: &[Run], reach: &mut Reach) {
    if cut_off.is_empty() {
        return;
    }
    let before: BTreeMap<&str, usize> = cut_off.iter().map(|run| (run.run_id.as_str(), run.done)).collect();
    let mut went_on = None;
    loop {
        let open = office.open_runs().await;
        let same = open.iter().filter(|run| before.get(run.run_id.as_str()) == Some(&run.done)).count();
        if went_on.is_none() && same < cut_off.len() {
            went_on = Some(office.started.elapsed());
        }
        if open.is_empty() {
            break;
        }
        assert!(office.started.elapsed() < PATIENCE, "cut off and left: {open:#?}");
        tokio::time::sleep(Duration::from_millis(1)).await; // tidy-allow: the pause of a poll loop
    }
    reach.went_on.extend(went_on);
    reach.finished.push(office.started.elapsed());
}

/// Waits until no run is open, also of an import whose answer was lost in a kill.
async fn all_done(office: &Office) {
    let begun = Instant::now();
    loop {
        let open = office.open_runs().await;
        if open.is_empty() {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "left open: {open:#?}");
        tokio::time::sleep(Duration::from_millis(5)).await; // tidy-allow: the pause of a poll loop
    }
}

async fn killed_again_and_again(kept: Kept, name: &str) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = number("ADMIT_KILLS").unwrap_or(8) as usize;
    let seed = number("ADMIT_SEED").unwrap_or(u64::from(std::process::id()));
    println!("{name}: {kills} kills, ADMIT_SEED={seed}");
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut office = Office::open(kept, name).await;
    let (mut reach, mut imported, mut answered) = (Reach::default(), 0, BTreeSet::new());
    for kill in 0..kills {
        // Kills alternate between any moment and each of the steps.
        let aim = (kill % 2 == 1).then_some(kill / 2 % STEPS.len());
        let emails: Vec<String> = (imported..imported + GUESTS).map(|n| format!("g{n}@guests.example")).collect();
        imported += GUESTS;
        let import = office.import(&emails);
        let (is_in, ()) = tokio::join!(import, async {
            moment(&office, &mut dice, aim).await;
            office.kill();
        });
        if is_in {
            answered.extend(emails);
        }
        office.gone().await;
        let mut cut_off = office.open_runs().await;
        reach.note(&cut_off);
        // One server in four is killed again while it starts, or soon after.
        if dice.below(4) == 0 {
            office.spawn();
            moment(&office, &mut dice, None).await;
            office.kill();
            office.gone().await;
            cut_off = office.open_runs().await;
            reach.note(&cut_off);
        }
        office.start().await;
        goes_on(&office, &cut_off, &mut reach).await;
    }
    all_done(&office).await;
    office.kill();
    office.gone().await;
    tell(name, &mut reach, answered.len());
    each_has_one(&office, &reach, &answered).await;
    office.in_order();
    assert!(reach.any > 0, "the kills hit nothing: nothing was proven");
    let missed: Vec<&str> = (0..STEPS.len()).filter(|at| reach.at_step[*at] == 0).map(|at| STEPS[at]).collect();
    assert!(kills < REACH || missed.is_empty(), "ADMIT_SEED={seed}: no kill fell on {missed:?}");
}

fn tell(name: &str, reach: &mut Reach, guests: usize) {
    let hits: Vec<String> = STEPS.iter().zip(reach.at_step).map(|(step, hits)| format!("{step} {hits}")).collect();
    println!("{name}: {guests} guests; kills that fell on a run: {}, at {}", reach.any, hits.join(", "));
    for (what, times) in [("first step done", &mut reach.went_on), ("all done", &mut reach.finished)] {
        times.sort_unstable();
        if let (Some(middle), Some(longest)) = (times.get(times.len() / 2), times.last()) {
            println!("{name}: from the server's start to the {what}: median {middle:.1?}, longest {longest:.1?}");
        }
    }
}

/// Checks that each guest has one token, each token one object, and each guest one mail. Each kill during the sending
/// may have caused at most one more mail with the same Message-ID. No mail comes before its object.
async fn each_has_one(office: &Office, reach: &Reach, answered: &BTreeSet<String>) {
    let passes = office.passes().await;
    let guests: BTreeMap<&str, &office::Pass> = passes.iter().map(|pass| (pass.email.as_str(), pass)).collect();
    assert_eq!(guests.len(), passes.len(), "one guest has two tokens");
    assert!(answered.iter().all(|email| guests.contains_key(email.as_str())), "who was imported is lost");
    let tokens: BTreeSet<&str> = passes.iter().map(|pass| pass.token.as_str()).collect();
    assert_eq!(tokens.len(), passes.len(), "two guests have one token");
    assert!(passes.iter().all(|pass| pass.pages == 1), "a token opens one page: {passes:#?}");
    let objects = office.objects();
    assert_eq!(objects.keys().map(String::as_str).collect::<BTreeSet<_>>(), tokens);
    let (mut by_guest, mut first): (BTreeMap<String, Vec<String>>, Option<Duration>) = (BTreeMap::new(), None);
    for mail in office.sink.mails().into_iter().filter(|mail| mail.is_well_formed()) {
        let email = mail.header("To").trim_matches(['<', '>']).rsplit('<').next().unwrap().to_owned();
        let pass = guests.get(email.as_str()).unwrap_or_else(|| panic!("a mail to nobody: {email}"));
        assert!(mail.text("text/plain").contains(&format!("token={}", pass.token)), "somebody else's token");
        let before = mail.came.duration_since(objects[&pass.token]);
        let before = before.unwrap_or_else(|_| panic!("a mail to {email} came before its object"));
        first = Some(first.map_or(before, |first| first.min(before)));
        by_guest.entry(email).or_default().push(mail.header("Message-ID").to_owned());
    }
    assert_eq!(by_guest.len(), guests.len(), "every guest has a mail");
    let mut repeats = 0;
    for (email, ids) in &by_guest {
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let crashes = reach.sending.get(&guests[email.as_str()].guest_id).copied().unwrap_or_default();
        assert!(ids.len() <= 1 + crashes, "{email}: {crashes} kills while it was sent, {ids:?}");
        repeats += ids.len() - 1;
    }
    println!(
        "{} mails, {repeats} of them repeats; at the least {:.0?} after the object",
        guests.len() + repeats,
        first.unwrap_or_default()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_often_the_server_is_killed_a_guest_gets_one_pass() {
    killed_again_and_again(Kept::in_a_folder(), "passes-sqlite").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_often_a_node_on_postgresql_is_killed_a_guest_gets_one_pass() {
    let kept = tokio::task::spawn_blocking(Kept::in_postgresql).await.unwrap();
    killed_again_and_again(kept, "passes-postgresql").await;
}
