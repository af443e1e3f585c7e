//! The contracts about runs of workflows: queue, leases, fences, steps.

use std::collections::BTreeSet;

use admit_core::job::RunState;
use futures_util::future::join_all;

use super::fixture::{TestStore, at, conflict, id, look, on_event, page, with_event, with_organization};
use crate::error::{Error, Result};
use crate::ports::{RunFilter, Scope, read, write};
use crate::records::{Listed, Page, RunRecord, StepRecord, TakenRun};

const A_MINUTE: i64 = 60_000;

/// A run about `guest-<name>` of event `e`.
fn run(name: &str, created_at: i64) -> RunRecord {
    RunRecord {
        run_id: name.into(),
        kind: "greet".into(),
        event_id: id("e"),
        subject: format!("guest-{name}"),
        input: r#"{"to":"you"}"#.into(),
        state: RunState::Open,
        tries: 0,
        step: None,
        problem: None,
        next_at: Some(at(created_at)),
        created_at: at(created_at),
        updated_at: at(created_at),
    }
}
fn step(run_id: &str, name: &str, place: u32) -> StepRecord {
    StepRecord {
        run_id: run_id.into(),
        name: name.into(),
        place,
        output: vec![0, 255, place as u8],
        tries: 2,
        began_at: at(7_000),
        done_at: at(8_000),
    }
}
/// Creates an event with runs of these names, due now.
pub async fn with_runs(store: &TestStore, names: &[&str]) {
    with_event(store).await;
    let runs: Vec<RunRecord> = names.iter().map(|name| run(name, 1_000)).collect();
    on_event(store, move |tx| tx.insert_runs(&runs)).await.unwrap();
}
async fn take(store: &TestStore, holder: &str, lease_ms: i64) -> Vec<(String, u64)> {
    let taken = store.take_runs(holder.into(), lease_ms, 100).await.unwrap();
    taken.into_iter().map(|taken| (taken.run_id, taken.fence)).collect()
}
async fn hold(store: &TestStore, run_id: &'static str, fence: u64) -> bool {
    let scope = Scope::organization(&id("o"));
    write(&**store, scope, move |tx| tx.hold_run(run_id, fence, A_MINUTE)).await.unwrap()
}
async fn in_o<R: Send + 'static>(
    store: &TestStore,
    op: impl FnMut(&mut dyn crate::ports::Tx) -> Result<R> + Send + 'static,
) -> Result<R> {
    write(&**store, Scope::organization(&id("o")), op).await
}

/// `insert_runs` makes a run due at once when its transaction commits. If the transaction fails, there is no run.
/// `next_run_in` returns the milliseconds until the next run is due, or `None`. `take_runs` returns the run with fence
/// 1, and `run` returns its record.
pub async fn a_run_comes_with_its_transaction_or_not_at_all(store: TestStore) {
    with_event(&store).await;
    let lost = on_event(&store, |tx| {
        tx.insert_runs(&[run("lost", 1_000)])?;
        Err::<(), _>(Error::not_found("luck"))
    })
    .await;
    assert!(lost.is_err());
    assert_eq!(store.next_run_in().await, Ok(None));
    on_event(&store, |tx| tx.insert_runs(&[run("kept", 1_000)])).await.unwrap();
    assert_eq!(store.next_run_in().await, Ok(Some(0)));
    let taken = store.take_runs("node".into(), A_MINUTE, 10).await.unwrap();
    assert_eq!(taken, [TakenRun { organization_id: id("o"), run_id: "kept".into(), fence: 1, mail_stopped: false }]);
    assert_eq!(look(&store, |tx| tx.run("kept")).await, Some(run("kept", 1_000)));
    assert_eq!(look(&store, |tx| tx.run("lost")).await, None);
}

/// `take_runs` gives a run to one worker until the lease ends. Then it gives the run again, with a fence higher by 1.
/// `next_run_in` returns the rest of the lease meanwhile.
pub async fn a_run_is_taken_by_one_until_its_lease_ends(store: TestStore) {
    with_runs(&store, &["r1", "r2"]).await;
    assert_eq!(take(&store, "first", 0).await, [("r1".into(), 1), ("r2".into(), 1)]);
    assert_eq!(take(&store, "second", A_MINUTE).await, [("r1".into(), 2), ("r2".into(), 2)], "the lease was over");
    assert_eq!(take(&store, "third", A_MINUTE).await, []);
    let wait = store.next_run_in().await.unwrap().unwrap();
    assert!((1..=A_MINUTE).contains(&wait), "{wait}");
}

/// `hold_run` returns `true` only for the newest fence of a run, and then also extends the lease. For an older fence or
/// an unknown run it returns `false`.
pub async fn only_the_newest_fence_holds(store: TestStore) {
    with_runs(&store, &["r1"]).await;
    take(&store, "first", 0).await;
    assert!(hold(&store, "r1", 1).await, "nobody took it since");
    assert_eq!(take(&store, "second", A_MINUTE).await, [], "holding made the lease longer");
    store.renew_runs("first".into(), vec!["r1".into()], 0).await.unwrap();
    assert_eq!(take(&store, "second", A_MINUTE).await, [("r1".into(), 2)]);
    assert!(!hold(&store, "r1", 1).await);
    assert!(hold(&store, "r1", 2).await);
    assert!(!hold(&store, "r9", 1).await);
}

/// Any number of workers may call `take_runs` at once. Each run goes to one of them.
pub async fn takers_at_once_take_different_runs(store: TestStore) {
    let names: Vec<String> = (0..40).map(|n| format!("r{n:02}")).collect();
    with_runs(&store, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let takers = (0..8).map(|n| store.take_runs(format!("node-{n}"), A_MINUTE, 5));
    let taken: Vec<TakenRun> = join_all(takers).await.into_iter().flat_map(Result::unwrap).collect();
    let different: BTreeSet<&str> = taken.iter().map(|taken| taken.run_id.as_str()).collect();
    assert_eq!(different.len(), taken.len(), "one run was given to two");
    assert!(taken.iter().all(|taken| taken.fence == 1));
    // A worker that found others' rows locked may have got fewer runs. No run is lost by that.
    let rest = take(&store, "last", A_MINUTE).await.len();
    assert_eq!(taken.len() + rest, 40);
}

/// `free_runs` makes due at once the runs that a holder had taken, and returns their number. The runs of other holders
/// stay taken.
pub async fn a_process_that_starts_again_frees_what_it_had(store: TestStore) {
    with_runs(&store, &["r1", "r2"]).await;
    assert_eq!(store.take_runs("crashed".into(), A_MINUTE, 1).await.unwrap().len(), 1);
    assert_eq!(store.take_runs("other".into(), A_MINUTE, 1).await.unwrap().len(), 1);
    assert_eq!(store.free_runs("crashed".into()).await, Ok(1));
    assert_eq!(take(&store, "crashed", A_MINUTE).await, [("r1".into(), 2)]);
}

/// `renew_runs` extends the lease of the given runs if the caller holds them. For a run of another holder it changes
/// nothing.
pub async fn a_lease_is_renewed_by_its_holder(store: TestStore) {
    with_runs(&store, &["r1", "r2"]).await;
    take(&store, "node", 0).await;
    store.renew_runs("node".into(), vec!["r1".into()], A_MINUTE).await.unwrap();
    store.renew_runs("stranger".into(), vec!["r2".into()], A_MINUTE).await.unwrap();
    assert_eq!(take(&store, "other", A_MINUTE).await, [("r2".into(), 2)]);
}

/// `release_run` makes a run due after the given time, or without one only when a person asks. `hold_run` then returns
/// `false`. `hurry_run` makes a released run due at once, and leaves a run alone that is under way. `dequeue_run` takes
/// a run out of the queue.
pub async fn a_run_let_go_waits(store: TestStore) {
    with_runs(&store, &["r1", "r2", "r3"]).await;
    take(&store, "node", A_MINUTE).await;
    in_o(&store, |tx| {
        tx.release_run("r1", Some(0))?;
        tx.release_run("r2", Some(A_MINUTE))?;
        tx.release_run("r3", None)
    })
    .await
    .unwrap();
    assert!(!hold(&store, "r2", 1).await, "what was let go is nobody's");
    assert_eq!(take(&store, "node", A_MINUTE).await, [("r1".into(), 2)]);
    in_o(&store, |tx| tx.hurry_run("r2").and_then(|()| tx.hurry_run("r3")).and_then(|()| tx.hurry_run("r1")))
        .await
        .unwrap();
    let hurried = take(&store, "node", A_MINUTE).await;
    assert_eq!(hurried, [("r2".into(), 2), ("r3".into(), 2)], "r1 is under way and left alone");
    in_o(&store, |tx| tx.dequeue_run("r1")).await.unwrap();
    assert!(!hold(&store, "r1", 2).await);
}

/// `insert_step` fails with `step_exists` if the run has a step of that name. `run_steps` returns the steps of a run
/// with their results, in the order of their places.
pub async fn a_step_is_stored_once(store: TestStore) {
    with_runs(&store, &["r1", "r2"]).await;
    in_o(&store, |tx| tx.insert_step(&step("r1", "write", 1))).await.unwrap();
    in_o(&store, |tx| tx.insert_step(&step("r1", "send", 2))).await.unwrap();
    in_o(&store, |tx| tx.insert_step(&step("r2", "write", 1))).await.unwrap();
    assert_eq!(conflict(in_o(&store, |tx| tx.insert_step(&step("r1", "write", 3))).await), "step_exists");
    let steps = look(&store, |tx| tx.run_steps("r1")).await;
    assert_eq!(steps, [step("r1", "write", 1), step("r1", "send", 2)]);
}

/// `runs` returns the runs newest first, page by page, by state, guest and event. Each has every field as `insert_runs`
/// and `update_run` stored it.
pub async fn runs_are_listed_newest_first(store: TestStore) {
    with_event(&store).await;
    on_event(&store, |tx| tx.insert_runs(&[run("r1", 1_000), run("r2", 2_000), run("r3", 3_000)])).await.unwrap();
    let changed = RunRecord {
        state: RunState::GaveUp,
        tries: 3,
        step: Some("send".into()),
        problem: Some("no such mailbox".into()),
        next_at: None,
        updated_at: at(9_000),
        ..run("r2", 2_000)
    };
    let stored = changed.clone();
    assert!(in_o(&store, move |tx| tx.update_run(&stored)).await.unwrap());
    let ids = |listed: Listed<RunRecord>| listed.items.into_iter().map(|run| run.run_id).collect::<Vec<_>>();
    let first = look(&store, |tx| tx.runs(&RunFilter::default(), &page(2))).await;
    let cursor = first.next_cursor.clone();
    assert_eq!(ids(first), ["r3", "r2"]);
    assert_eq!(ids(look(&store, |tx| tx.runs(&RunFilter::default(), &Page { limit: 2, cursor })).await), ["r1"]);
    let gave_up = RunFilter { state: Some(RunState::GaveUp), ..RunFilter::default() };
    assert_eq!(look(&store, move |tx| tx.runs(&gave_up, &page(9))).await.items, [changed]);
    let of_guest = RunFilter { subject: Some("guest-r1".into()), event_id: Some(id("e")), ..RunFilter::default() };
    assert_eq!(ids(look(&store, move |tx| tx.runs(&of_guest, &page(9))).await), ["r1"]);
    let of_another = RunFilter { event_id: Some(id("f")), ..RunFilter::default() };
    assert_eq!(ids(look(&store, move |tx| tx.runs(&of_another, &page(9))).await), [""; 0]);
}

/// `run_subjects` returns the ids of the guests about whom the event has a run of the given kind: each once, in
/// ascending order. If ids are given as `among`, it returns no others. `update_run` returns `false` for a run that is
/// done, and changes nothing.
pub async fn what_runs_were_about_is_told_once(store: TestStore) {
    with_runs(&store, &["r2", "r1"]).await;
    let again = RunRecord { run_id: "r3".into(), ..run("r1", 2_000) };
    let other = RunRecord { kind: "other".into(), ..run("r4", 2_000) };
    on_event(&store, move |tx| tx.insert_runs(&[again.clone(), other.clone()])).await.unwrap();
    let about =
        |event: &'static str, kind: &'static str| look(&store, move |tx| tx.run_subjects(&id(event), kind, None));
    assert_eq!(about("e", "greet").await, ["guest-r1", "guest-r2"]);
    assert_eq!(about("e", "other").await, ["guest-r4"]);
    assert_eq!(about("f", "greet").await, [""; 0]);
    let among = ["guest-r2".to_owned(), "guest-r9".to_owned()];
    assert_eq!(look(&store, move |tx| tx.run_subjects(&id("e"), "greet", Some(&among))).await, ["guest-r2"]);
    // A run that is done stays done, even if a late worker writes to it.
    let done = RunRecord { state: RunState::Done, ..run("r1", 1_000) };
    let late = run("r1", 1_000);
    assert!(in_o(&store, move |tx| tx.update_run(&done)).await.unwrap());
    assert!(!in_o(&store, move |tx| tx.update_run(&late)).await.unwrap());
    assert_eq!(look(&store, |tx| tx.run("r1")).await.unwrap().state, RunState::Done);
}

/// `newest_runs` returns the newest run of a kind about each of the given guests. Of two runs of the same moment it
/// returns the one with the higher id. Runs of another event, kind or guest don't count.
pub async fn the_newest_run_about_each_is_found(store: TestStore) {
    with_runs(&store, &["r1", "r2"]).await;
    let later = RunRecord { run_id: "r0".into(), ..run("r1", 2_000) };
    let same_moment = RunRecord { run_id: "r3".into(), ..run("r2", 1_000) };
    let other_kind = RunRecord { run_id: "r4".into(), kind: "other".into(), ..run("r1", 9_000) };
    on_event(&store, move |tx| tx.insert_runs(&[later.clone(), same_moment.clone(), other_kind.clone()]))
        .await
        .unwrap();
    let newest = |event: &'static str, kind: &'static str, about: &[&str]| {
        let about: Vec<String> = about.iter().map(|one| (*one).to_owned()).collect();
        let found = look(&store, move |tx| tx.newest_runs(&id(event), kind, &about));
        async move {
            let mut ids: Vec<String> = found.await.into_iter().map(|run| run.run_id).collect();
            ids.sort();
            ids
        }
    };
    assert_eq!(newest("e", "greet", &["guest-r1", "guest-r2", "guest-r9"]).await, ["r0", "r3"]);
    assert_eq!(newest("e", "greet", &["guest-r2"]).await, ["r3"]);
    assert_eq!(newest("e", "other", &["guest-r1", "guest-r2"]).await, ["r4"]);
    assert_eq!(newest("f", "greet", &["guest-r1"]).await, [""; 0]);
    assert_eq!(newest("e", "greet", &[]).await, [""; 0]);
}

/// Two organisations may have runs and steps with the same ids. `take_runs` takes the runs of both. `run`, `run_steps`
/// and `dequeue_run` touch only those of the own organisation.
pub async fn runs_of_two_organizations_do_not_meet(store: TestStore) {
    with_runs(&store, &["r1"]).await;
    with_organization(&store, "p").await;
    let foreign = RunRecord { subject: "theirs".into(), ..run("r1", 5_000) };
    let made = foreign.clone();
    write(&*store, Scope::organization(&id("p")), move |tx| {
        tx.insert_runs(std::slice::from_ref(&made))?;
        tx.insert_step(&step("r1", "theirs", 1))
    })
    .await
    .unwrap();
    let taken = store.take_runs("node".into(), A_MINUTE, 10).await.unwrap();
    let whose: Vec<&str> = taken.iter().map(|taken| taken.organization_id.as_str()).collect();
    assert_eq!(whose, ["o", "p"]);
    write(&*store, Scope::organization(&id("p")), |tx| tx.dequeue_run("r1")).await.unwrap();
    assert!(hold(&store, "r1", 1).await);
    assert_eq!(look(&store, |tx| tx.run_steps("r1")).await, []);
    assert_eq!(read(&*store, &id("p"), |tx| tx.run("r1")).await, Ok(Some(foreign)));
    assert_eq!(look(&store, |tx| tx.run("r1")).await, Some(run("r1", 1_000)));
}

async fn park(store: &TestStore, run_ids: &'static [&'static str], until: i64) {
    in_o(store, move |tx| run_ids.iter().try_for_each(|run_id| tx.park_run(run_id, at(until)))).await.unwrap();
}
/// A time far beyond the clock of any store.
const NEVER: i64 = 4_000_000_000_000;

/// After `stop_mail`, `take_runs` takes no run that `park_run` parked, until the pause is over or `hurry_mail` ends it.
/// Then it takes the run that waits longest, the probe, and only that one. Another `stop_mail` by the probe makes the
/// pause longer, and the next run becomes the probe. `resume_mail` opens the lane, and `take_runs` takes all parked
/// runs. `mail_lane` returns the state, or `None` while the lane is open.
pub async fn a_stopped_mail_lane_is_probed_by_one_at_a_time(store: TestStore) {
    with_runs(&store, &["r1", "r2", "r3"]).await;
    take(&store, "node", A_MINUTE).await;
    assert_eq!(store.mail_lane().await, Ok(None));
    store.stop_mail("r1".into(), "daily quota\r\nused up".into(), 0).await.unwrap();
    store.stop_mail("r2".into(), "was on its way".into(), 0).await.unwrap();
    park(&store, &["r1", "r2", "r3"], NEVER).await;
    let first = store.mail_lane().await.unwrap().unwrap();
    assert_eq!((first.reason.as_str(), first.pauses, &first.probe), ("daily quota  used up", 1, &None));
    assert!(first.next_at > first.since);
    let wait = store.next_run_in().await.unwrap().unwrap();
    assert!(wait <= 2_000, "{wait}");

    store.hurry_mail().await.unwrap();
    let probe = store.take_runs("node".into(), A_MINUTE, 10).await.unwrap();
    assert_eq!(probe, [TakenRun { organization_id: id("o"), run_id: "r1".into(), fence: 2, mail_stopped: true }]);
    assert_eq!(store.mail_lane().await.unwrap().unwrap().probe.as_deref(), Some("r1"));
    assert_eq!(take(&store, "other", A_MINUTE).await, [], "one at a time");
    // Letters that were under way when the lane stopped tell nothing about it.
    store.stop_mail("r2".into(), "late".into(), 0).await.unwrap();
    store.stop_mail("r1".into(), "still".into(), 0).await.unwrap();
    park(&store, &["r1"], NEVER).await;
    let second = store.mail_lane().await.unwrap().unwrap();
    assert_eq!((second.since, second.reason.as_str(), second.pauses), (first.since, "still", 2));
    assert_eq!(second.probe, None);

    store.hurry_mail().await.unwrap();
    assert_eq!(take(&store, "node", A_MINUTE).await, [("r2".into(), 2)], "the next in turn");
    store.resume_mail().await.unwrap();
    assert_eq!(store.mail_lane().await, Ok(None));
    assert_eq!(take(&store, "node", A_MINUTE).await, [("r1".into(), 3), ("r3".into(), 2)], "all that waited");
}

/// `take_runs` also takes a parked run when its own time has come, when the lane is open, and after `hurry_run`.
pub async fn a_parked_run_is_not_forgotten(store: TestStore) {
    with_runs(&store, &["r1", "r2"]).await;
    take(&store, "node", A_MINUTE).await;
    // The run was released at the moment when the lane was opened.
    park(&store, &["r1"], NEVER).await;
    assert_eq!(take(&store, "node", A_MINUTE).await, [("r1".into(), 2)]);
    store.stop_mail("r1".into(), "no".into(), 0).await.unwrap();
    park(&store, &["r2"], 1_000).await;
    assert_eq!(take(&store, "node", A_MINUTE).await, [("r2".into(), 2)]);
    // A person who retries by hand gets the result at once.
    park(&store, &["r1", "r2"], NEVER).await;
    in_o(&store, |tx| tx.hurry_run("r2")).await.unwrap();
    let taken = take(&store, "node", A_MINUTE).await;
    assert!(taken.contains(&("r2".into(), 3)), "{taken:?}");
}
