//! Durable workflows: after a crash at any moment, only the step that was under way runs again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use admit_app::error::Error;
use admit_app::jobs::{self, Ended, Setback, StepResult, Steps, Workflow, Workflows, carry_out};
use admit_app::ports::{RunFilter, Scope, read, write};
use admit_app::records::*;
use admit_core::job::RunState;
use admit_core::limits::{JOB_LEASE_MS, JOB_TRIES, RUNS_RETRIED};
use admit_store_sqlite::CommitFault;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::world::{HOUR, World, code, now, whole_page};

const NODE: &str = "node";

/// A fake of the outside world: it records each call and gives prepared answers.
#[derive(Default)]
struct Outside {
    /// The idempotency key of every call, in order.
    calls: Mutex<Vec<String>>,
    /// The answers to the next calls. If it is empty, the answer is "sent".
    answers: Mutex<VecDeque<StepResult<()>>>,
}

/// A workflow that writes a ledger line, calls outside, and calls outside again with both outputs.
struct Greet(Arc<Outside>);

impl Greet {
    async fn call(&self, key: String) -> StepResult<()> {
        self.0.calls.lock().unwrap().push(key);
        self.0.answers.lock().unwrap().pop_front().unwrap_or(Ok(()))
    }
}

impl Workflow for Greet {
    fn kind(&self) -> &'static str {
        "greet"
    }
    fn run<'a>(&'a self, steps: &'a mut Steps) -> BoxFuture<'a, StepResult<()>> {
        async move {
            let scope = Scope::organization(steps.organization_id());
            let subject = steps.run().subject.clone();
            let (name, _) = steps
                .write("write", scope, move |tx| {
                    tx.append_audit(NewAudit {
                        event_id: None,
                        user_id: None,
                        device_id: None,
                        action: "greeted",
                        entity_type: "Guest",
                        entity_id: subject.clone(),
                        changes: "{}".into(),
                        metadata: "{}".into(),
                    })?;
                    Ok((subject.clone().into_bytes(), ()))
                })
                .await?;
            let letter = steps
                .work("draw", |key| async move {
                    self.call(key).await?;
                    Ok([b"dear ".as_slice(), &name].concat())
                })
                .await?;
            steps
                .work_last("send", |key| async move {
                    self.call(key).await?;
                    Ok([letter.as_slice(), b", sent"].concat())
                })
                .await?;
            Ok(())
        }
        .boxed()
    }
}

struct Bench {
    world: World,
    outside: Arc<Outside>,
    workflows: Workflows,
    run_id: String,
}

impl Bench {
    fn new() -> Self {
        Self::on(World::new())
    }
    fn on(world: World) -> Self {
        let outside = Arc::<Outside>::default();
        let workflows = Workflows::default().with(Greet(outside.clone()));
        let mut seeded = world.app.seeded_ids();
        let run = jobs::fresh(&mut seeded, "greet", &world.event, "guest-1", "{}".into(), world.app.clock.now());
        let run_id = run.run_id.clone();
        let scope = Scope::organization(&world.owner.organization_id);
        now(write(&*world.app.store, scope, move |tx| tx.insert_runs(std::slice::from_ref(&run)))).unwrap();
        Self { world, outside, workflows, run_id }
    }
    fn take(&self) -> Option<TakenRun> {
        let taken = now(self.world.app.store.take_runs(NODE.into(), JOB_LEASE_MS, 10)).unwrap();
        assert!(taken.len() < 2);
        taken.into_iter().next()
    }
    fn carry_out(&self, taken: TakenRun) -> Result<Ended, Error> {
        now(carry_out(&self.world.app, &self.workflows, taken))
    }
    /// Does what a starting process does: carries out due runs until none is due.
    fn go_on(&self) -> Vec<Result<Ended, Error>> {
        std::iter::from_fn(|| self.take().map(|taken| self.carry_out(taken))).collect()
    }
    fn run(&self) -> RunRecord {
        let id = self.run_id.clone();
        now(read(&*self.world.app.store, &self.world.owner.organization_id, move |tx| tx.run(&id))).unwrap().unwrap()
    }
    fn steps(&self) -> Vec<StepRecord> {
        let id = self.run_id.clone();
        now(read(&*self.world.app.store, &self.world.owner.organization_id, move |tx| tx.run_steps(&id))).unwrap()
    }
    fn calls(&self, step: &str) -> usize {
        let key = format!("{}:{step}", self.run_id);
        self.outside.calls.lock().unwrap().iter().filter(|call| **call == key).count()
    }
    fn answers(&self, answers: impl IntoIterator<Item = StepResult<()>>) {
        self.outside.answers.lock().unwrap().extend(answers);
    }
    fn greetings(&self) -> usize {
        let page = now(admit_app::audits::list(&self.world.app, &self.world.owner, None, None, whole_page())).unwrap();
        page.items.iter().filter(|line| line.line.action == "greeted").count()
    }
    /// Asserts that the run is done: each step ran once with its own output, and had its effect in the database once.
    fn is_done(&self) {
        assert_eq!(self.run().state, RunState::Done);
        assert_eq!(now(self.world.app.store.next_run_in()), Ok(None), "nothing waits any more");
        let steps = self.steps();
        let given: Vec<(&str, &str)> =
            steps.iter().map(|step| (step.name.as_str(), std::str::from_utf8(&step.output).unwrap())).collect();
        assert_eq!(given, [("write", "guest-1"), ("draw", "dear guest-1"), ("send", "dear guest-1, sent")]);
        assert_eq!(self.greetings(), 1);
        let calls = self.outside.calls.lock().unwrap();
        assert_eq!(calls.len(), self.calls_of_known_keys(&calls), "every call of a step has the same key");
    }
    fn calls_of_known_keys(&self, calls: &[String]) -> usize {
        let known = [format!("{}:draw", self.run_id), format!("{}:send", self.run_id)];
        calls.iter().filter(|call| known.contains(call)).count()
    }
}

#[test]
fn a_run_goes_through_its_steps_once() {
    let bench = Bench::new();
    assert_eq!(bench.go_on(), [Ok(Ended::Done)]);
    bench.is_done();
    assert_eq!((bench.calls("draw"), bench.calls("send")), (1, 1));
    assert!(bench.steps().iter().all(|step| step.tries == 1));
}

#[test]
fn a_crash_before_any_statement_runs_only_the_unfinished_step_again() {
    let mut crashes = 0;
    for statement in 0.. {
        let bench = Bench::new();
        let taken = bench.take().unwrap();
        bench.world.dies_in.store(statement, Ordering::SeqCst);
        let ended = bench.carry_out(taken);
        bench.world.dies_in.store(-1, Ordering::SeqCst);
        if ended == Ok(Ended::Done) {
            bench.is_done();
            break;
        }
        crashes += 1;
        let before = bench.steps();
        bench.world.store.crash();
        assert_eq!(now(bench.world.app.store.free_runs(NODE.into())), Ok(1));
        assert_eq!(bench.go_on(), [Ok(Ended::Done)], "crash before statement {statement}");
        bench.is_done();
        assert_eq!(bench.steps()[..before.len()], before, "what was done stayed as it was");
        assert!(bench.calls("draw") + bench.calls("send") <= 3, "one step at most was done twice");
    }
    assert!(crashes >= 10, "{crashes} places to crash at are too few to be all");
}

#[test]
fn a_commit_that_fails_or_whose_answer_is_lost_repeats_at_most_one_step() {
    for fault in [CommitFault::Lose, CommitFault::LostAck] {
        let mut faults = 0;
        for commit in 0.. {
            let left = Arc::new(AtomicI64::new(-1));
            let counted = left.clone();
            let world = World::with_commits(move || match counted.fetch_sub(1, Ordering::SeqCst) {
                0 => fault,
                _ => CommitFault::Proceed,
            });
            let bench = Bench::on(world);
            let taken = bench.take().unwrap();
            left.store(commit, Ordering::SeqCst);
            let ended = bench.carry_out(taken);
            let hit = left.swap(-1, Ordering::SeqCst) < 0;
            if hit {
                faults += 1;
                assert_ne!(bench.run().state, RunState::GaveUp);
                bench.world.store.crash();
                bench.world.pass(HOUR);
                bench.go_on();
            }
            assert!(hit || ended == Ok(Ended::Done));
            bench.is_done();
            assert!(bench.calls("draw") + bench.calls("send") <= 3, "{fault:?} at commit {commit}");
            if !hit {
                break;
            }
        }
        assert_eq!(faults, 3, "two steps, and the last one with the end, are three commits");
    }
}

#[test]
fn a_step_that_fails_waits_longer_each_time_and_the_organiser_sees_why() {
    let bench = Bench::new();
    let no = || Err(Setback::Again("the mail server does not answer\r\nat all".into()));
    bench.answers([Ok(()), no(), no(), no()]);
    let mut waits = Vec::new();
    for tries in 1..=3 {
        let [Ok(Ended::Waits(wait))] = bench.go_on()[..] else { panic!("it should wait") };
        let run = bench.run();
        assert_eq!((run.state, run.tries, run.step.as_deref()), (RunState::Open, tries, Some("send")));
        assert_eq!(run.problem.as_deref(), Some("the mail server does not answer  at all"));
        assert_eq!(run.next_at, Some(bench.world.app.clock.now().plus_ms(wait)));
        bench.world.pass(wait - 1);
        assert_eq!(bench.take(), None, "not before its time");
        bench.world.pass(1);
        waits.push(wait / 1_000);
    }
    assert_eq!(waits, [1, 2, 4]);
    assert_eq!(bench.go_on(), [Ok(Ended::Done)]);
    bench.is_done();
    assert_eq!((bench.calls("draw"), bench.calls("send")), (1, 4), "what was drawn stays drawn");
    assert_eq!(bench.steps()[2].tries, 4);
    assert_eq!(bench.run().problem, None);
}

#[test]
fn a_run_gives_up_when_there_is_no_point_and_goes_on_when_a_person_says_so() {
    let bench = Bench::new();
    bench.answers([Ok(()), Err(Setback::GiveUp("no such mailbox".into()))]);
    assert_eq!(bench.go_on(), [Ok(Ended::GaveUp)]);
    bench.world.pass(1_000 * HOUR);
    assert_eq!(bench.take(), None, "it never starts by itself");
    let (app, owner) = (&bench.world.app, &bench.world.owner);
    let gave_up = RunFilter { state: Some(RunState::GaveUp), ..RunFilter::default() };
    let listed = now(jobs::list(app, owner, gave_up, whole_page())).unwrap();
    assert_eq!(listed.items.len(), 1);
    assert_eq!(listed.items[0].problem.as_deref(), Some("no such mailbox"));
    let viewer = bench.world.member(Role::Viewer);
    let event = || bench.world.event.clone();
    assert_eq!(code(now(jobs::retry(app, &viewer, event(), bench.run_id.clone()))), "forbidden");
    now(jobs::retry(app, owner, event(), bench.run_id.clone())).unwrap();
    assert_eq!(app.job_wakeup.woken().now_or_never(), Some(()), "it is taken up at once");
    assert_eq!(bench.go_on(), [Ok(Ended::Done)]);
    bench.is_done();
    assert_eq!(bench.calls("draw"), 1);
    assert_eq!(code(now(jobs::retry(app, owner, event(), bench.run_id.clone()))), "run_done");
    let (_, other) = (bench.world.app.clone(), bench.world.other().0);
    assert_eq!(code(now(jobs::retry(app, &other, event(), bench.run_id.clone()))), "no run");
    assert_eq!(code(now(jobs::show(app, &other, event(), bench.run_id.clone()))), "no run");
}

#[test]
fn a_step_is_tried_only_so_often() {
    let bench = Bench::new();
    bench.answers((0..JOB_TRIES).map(|_| Err(Setback::Again("down".into()))));
    let mut tries = 0;
    loop {
        tries += 1;
        match bench.go_on()[..] {
            [Ok(Ended::Waits(wait))] => bench.world.pass(wait),
            [Ok(Ended::GaveUp)] => break,
            ref other => panic!("{other:?}"),
        }
    }
    assert_eq!(tries, JOB_TRIES);
    assert_eq!(bench.run().state, RunState::GaveUp);
}

#[test]
fn what_the_server_lacks_is_waited_for_without_counting() {
    let bench = Bench::new();
    bench.answers([Ok(()), Err(Setback::Again("down".into()))]);
    assert!(matches!(bench.go_on()[..], [Ok(Ended::Waits(_))]));
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..2 * JOB_TRIES {
        bench.world.pass(HOUR / 10);
        bench.answers([Err(Setback::NotSetUp("no mail server is set up".into()))]);
        let [Ok(Ended::Waits(wait))] = bench.go_on()[..] else { panic!("it should wait: {:?}", bench.run()) };
        waits.insert(wait / 1_000);
        let run = bench.run();
        assert_eq!((run.state, run.tries, run.step.as_deref()), (RunState::Open, 1, Some("send")));
        assert_eq!(run.problem.as_deref(), Some("no mail server is set up"));
    }
    assert!(waits.first() >= Some(&60) && waits.last() <= Some(&330), "{waits:?}");
    bench.world.pass(HOUR);
    assert_eq!(bench.go_on(), [Ok(Ended::Done)]);
    bench.is_done();
    assert_eq!(bench.steps()[2].tries, 2, "what was counted before stayed so");
}

#[test]
fn all_runs_of_an_event_that_gave_up_are_tried_again_at_once() {
    let bench = Bench::new();
    let (app, owner) = (&bench.world.app, &bench.world.owner);
    let many = 2 * RUNS_RETRIED + 1;
    let mut seeded = app.seeded_ids();
    let more = (1..many).map(|n| format!("guest-{n}"));
    let at = app.clock.now();
    let more: Vec<RunRecord> =
        more.map(|guest| jobs::fresh(&mut seeded, "greet", &bench.world.event, &guest, "{}".into(), at)).collect();
    now(write(&*app.store, Scope::organization(&owner.organization_id), move |tx| tx.insert_runs(&more))).unwrap();
    let work = || {
        let take = || now(app.store.take_runs(NODE.into(), JOB_LEASE_MS, 10)).unwrap();
        let taken = std::iter::from_fn(|| Some(take()).filter(|taken| !taken.is_empty())).flatten();
        taken.map(|run| bench.carry_out(run).unwrap()).filter(|ended| *ended == Ended::Done).count()
    };
    bench.answers((0..many).map(|_| Err(Setback::GiveUp("no such mailbox".into()))));
    assert_eq!((work(), work()), (0, 0), "they never start by themselves");
    let event = || bench.world.event.clone();
    let (viewer, other) = (bench.world.member(Role::Viewer), bench.world.other());
    assert_eq!(code(now(jobs::retry_all(app, &viewer, event()))), "forbidden");
    assert_eq!(code(now(jobs::retry_all(app, &other.0, event()))), "no event");
    assert_eq!(now(jobs::retry_all(app, owner, event())), Ok(many));
    assert_eq!(app.job_wakeup.woken().now_or_never(), Some(()), "they are taken up at once");
    assert_eq!(work(), many);
    assert_eq!(now(jobs::retry_all(app, owner, event())), Ok(0), "nothing is left to try");
    let mut retried = 0;
    let mut page = whole_page();
    loop {
        let lines = now(admit_app::audits::list(app, owner, None, None, page)).unwrap();
        retried += lines.items.iter().filter(|line| line.line.action == "run_retried").count();
        let Some(cursor) = lines.next_cursor else { break };
        page = Page { limit: 500, cursor: Some(cursor) };
    }
    assert_eq!(retried, many, "each has its line");
}

#[test]
fn two_who_think_a_run_is_theirs_store_each_step_once() {
    let bench = Bench::new();
    let slow = bench.take().unwrap();
    // The process does not notice that its lease ends. Another process takes the run and finishes it.
    bench.world.pass(JOB_LEASE_MS + 1);
    assert_eq!(bench.go_on(), [Ok(Ended::Done)]);
    let steps = bench.steps();
    assert_eq!(bench.carry_out(slow.clone()), Ok(Ended::NotOurs));
    assert_eq!(bench.steps(), steps);
    bench.is_done();

    // The same happens while the other process is only half way.
    let bench = Bench::new();
    let slow = bench.take().unwrap();
    bench.world.pass(JOB_LEASE_MS + 1);
    let quick = bench.take().unwrap();
    assert_eq!(bench.carry_out(slow), Ok(Ended::NotOurs));
    assert_eq!(bench.steps(), [], "nothing of the slow one was stored");
    assert_eq!(bench.carry_out(quick), Ok(Ended::Done));
    bench.is_done();
}

#[test]
fn a_step_that_panics_is_a_step_that_failed() {
    struct Bad(AtomicUsize);
    impl Workflow for Bad {
        fn kind(&self) -> &'static str {
            "greet"
        }
        fn run<'a>(&'a self, steps: &'a mut Steps) -> BoxFuture<'a, StepResult<()>> {
            async move {
                let work = steps.work("trip", |_| async {
                    if self.0.fetch_add(1, Ordering::SeqCst) == 0 { panic!("planted") } else { Ok(vec![]) }
                });
                work.await.map(|_| ())
            }
            .boxed()
        }
    }
    let mut bench = Bench::new();
    bench.workflows = Workflows::default().with(Bad(AtomicUsize::new(0)));
    assert!(matches!(bench.go_on()[..], [Ok(Ended::Waits(_))]));
    assert_eq!(bench.run().step.as_deref(), Some("trip"));
    bench.world.pass(HOUR);
    assert_eq!(bench.go_on(), [Ok(Ended::Done)]);
}

#[test]
fn a_workflow_this_version_does_not_know_waits_for_one_that_does() {
    let mut bench = Bench::new();
    let known = std::mem::take(&mut bench.workflows);
    for _ in 0..=JOB_TRIES {
        assert!(matches!(bench.go_on()[..], [Ok(Ended::Waits(_))]));
        bench.world.pass(HOUR);
    }
    assert_eq!(bench.run().tries, 0, "that is not counted against it");
    bench.workflows = known;
    assert_eq!(bench.go_on(), [Ok(Ended::Done)]);
    bench.is_done();
}
