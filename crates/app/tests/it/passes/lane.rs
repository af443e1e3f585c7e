//! The mail lane: if the mail server refuses the account, the lane stops once and all letters wait.

use admit_app::ports::{NO_MAIL_SERVER, NoMail};

use super::*;

/// A mail server that refuses as often as prepared, and counts how often it was asked.
struct Refusing {
    then: Arc<Outside>,
    asked: Mutex<usize>,
    answers: Mutex<VecDeque<Unsent>>,
    /// Letters to this address are always refused, with an error that seems to concern the account.
    dislikes: &'static str,
}

impl Mail for Refusing {
    fn sender(&self) -> Option<Mailbox> {
        self.then.sender()
    }
    fn send(&self, letter: Letter) -> BoxFuture<'_, Result<(), Unsent>> {
        *self.asked.lock().unwrap() += 1;
        if letter.to.email == self.dislikes {
            return async { Err(Unsent::Stopped("554 5.7.1 policy".into())) }.boxed();
        }
        match self.answers.lock().unwrap().pop_front() {
            Some(unsent) => async { Err(unsent) }.boxed(),
            None => self.then.send(letter),
        }
    }
}

struct Lane {
    office: Office,
    mail: Arc<Refusing>,
}

impl Lane {
    fn of(dislikes: &'static str) -> Self {
        let mut office = Office::new();
        let then = office.outside.clone();
        let mail = Arc::new(Refusing { then, asked: Mutex::default(), answers: Mutex::default(), dislikes });
        let set_up = SetUp {
            mail: mail.clone(),
            objects: office.outside.clone(),
            public_url: Some("https://t.example".into()),
            objects_public_url: None,
        };
        office.workflows = Workflows::default().with(Delivery(set_up));
        let (app, owner, event) = (&office.world.app, &office.world.owner, office.world.event.clone());
        let for_weeks = EventPatch { ends_at: Some(at(1_000 * HOUR)), ..EventPatch::default() };
        now(events::update(app, owner, event, for_weeks)).unwrap();
        Self { office, mail }
    }
    fn guests(&self, names: &[&str]) {
        for name in names {
            let email = Some(format!("{name}@x.example"));
            self.office.guest(NewGuest { name: (*name).to_owned(), email, ..NewGuest::default() });
        }
    }
    fn answers(&self, answers: impl IntoIterator<Item = Unsent>) {
        self.mail.answers.lock().unwrap().extend(answers);
    }
    /// How often the mail server was asked since the last call of this function.
    fn asked(&self) -> usize {
        std::mem::take(&mut self.mail.asked.lock().unwrap())
    }
    fn problem(&self) -> Option<MailLaneRecord> {
        now(passes::mail_health(&self.office.world.app, &self.office.world.owner)).unwrap()
    }
    /// Simulates another process, which knows nothing of the state of the mail lane.
    fn restart(&mut self) {
        self.office.world.app.mail_lane = Arc::default();
    }
}

fn quota() -> Unsent {
    Unsent::Stopped("550 5.4.5 daily quota".into())
}

#[test]
fn an_answer_about_the_account_is_said_once_and_one_letter_at_a_time_finds_out_whether_it_is_over() {
    let lane = Lane::of("");
    lane.guests(&["ana", "bo", "cy"]);
    lane.answers([quota()]);
    assert_eq!(lane.office.work(), [Ended::Parked, Ended::Parked, Ended::Parked]);
    assert_eq!(lane.asked(), 1, "the others are not tried");
    for run in lane.office.runs() {
        assert_eq!((run.state, run.tries, run.step.as_deref()), (RunState::Open, 0, Some("send-email")));
        assert_eq!((run.problem, run.next_at), (None, None), "the lane says why");
    }
    let first = lane.problem().unwrap();
    assert!(first.reason.contains("daily quota"), "{first:?}");
    // The mail server refuses for days. No try is spent, so the run does not give up.
    let mut waits = Vec::new();
    for _ in 0..2 * JOB_TRIES {
        let wait = now(lane.office.world.app.store.next_run_in()).unwrap().unwrap();
        waits.push(wait / 1_000);
        lane.office.world.pass(wait);
        lane.answers([quota()]);
        assert_eq!((lane.office.work(), lane.asked()), (vec![Ended::Parked], 1), "one probe");
        assert_eq!(lane.office.work(), []);
    }
    assert!(waits[..3] == [1, 2, 4] && *waits.last().unwrap() >= 600, "{waits:?}");
    assert_eq!(lane.problem().unwrap().since, first.since);
    lane.office.world.pass(HOUR);
    assert_eq!(lane.office.work(), [Ended::Done], "the probe is taken");
    assert_eq!(lane.problem(), None);
    assert_eq!(lane.office.work(), [Ended::Done, Ended::Done]);
    assert_eq!(lane.office.letters().len(), 3);
    let (app, owner) = (&lane.office.world.app, &lane.office.world.owner);
    for run in lane.office.runs() {
        let steps = now(jobs::show(app, owner, run.event_id, run.run_id)).unwrap().1;
        assert!(steps.iter().all(|step| step.tries == 1), "{steps:?}");
    }
    lane.office.world.is_consistent();
}

#[test]
fn an_answer_about_one_address_ends_its_run_alone_and_the_next_is_the_probe() {
    let lane = Lane::of("");
    lane.guests(&["ana", "bo", "cy"]);
    lane.answers([quota()]);
    lane.office.work();
    lane.office.world.pass(HOUR);
    lane.answers([Unsent::Never("550 5.1.1 no such user".into())]);
    assert_eq!(lane.office.work(), [Ended::GaveUp]);
    assert_eq!(lane.office.work(), [Ended::Done], "without another pause");
    assert_eq!(lane.office.work(), [Ended::Done]);
    assert_eq!(lane.problem(), None);
}

#[test]
fn a_process_that_starts_again_finds_the_lane_stopped() {
    let mut lane = Lane::of("");
    lane.guests(&["ana"]);
    lane.answers([quota()]);
    lane.office.work();
    lane.restart();
    lane.guests(&["bo"]);
    assert_eq!(lane.office.work(), [Ended::Parked]);
    assert_eq!(lane.asked(), 1, "of the first letter alone");
    lane.restart();
    lane.office.world.pass(HOUR);
    assert_eq!(lane.office.work(), [Ended::Done]);
    lane.restart();
    assert_eq!(lane.office.work(), [Ended::Done]);
}

#[test]
fn whoever_tries_by_hand_finds_out_at_once() {
    let lane = Lane::of("");
    lane.guests(&["ana", "bo"]);
    lane.answers([quota(), quota(), quota()]);
    lane.office.work();
    for _ in 0..2 {
        lane.office.world.pass(HOUR);
        lane.office.work();
    }
    let run = lane.office.runs().remove(0);
    now(jobs::retry(&lane.office.world.app, &lane.office.world.owner, run.event_id, run.run_id)).unwrap();
    let mut ended = lane.office.work();
    ended.extend(lane.office.work());
    assert_eq!(ended.iter().filter(|ended| **ended == Ended::Done).count(), 2, "{ended:?}");
    assert_eq!(lane.problem(), None);
}

#[test]
fn one_letter_that_the_server_dislikes_stops_no_others_for_ever() {
    let lane = Lane::of("spam@x.example");
    lane.guests(&["spam"]);
    for round in 0..10 {
        lane.guests(&[["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][round]]);
        for _ in 0..3 {
            lane.office.work();
            lane.office.world.pass(60_000);
        }
    }
    assert_eq!(lane.office.letters().len(), 10);
    let disliked = lane.office.runs().pop().unwrap();
    assert!(disliked.tries > 0 && disliked.problem.unwrap().contains("policy"), "it is this letter's own");
    assert_eq!(lane.problem(), None);
}

#[test]
fn without_a_mail_server_the_lane_says_so_and_nobody_waits_beyond_the_event() {
    let mut lane = Lane::of("");
    let set_up = SetUp {
        mail: Arc::new(NoMail),
        objects: lane.office.outside.clone(),
        public_url: Some("https://t.example".into()),
        objects_public_url: None,
    };
    lane.office.workflows = Workflows::default().with(Delivery(set_up));
    lane.guests(&["ana", "bo"]);
    lane.office.guest(NewGuest { name: "Cy".into(), phone: Some("555".into()), ..NewGuest::default() });
    let ended = lane.office.work();
    let parked = ended.iter().filter(|ended| **ended == Ended::Parked).count();
    assert_eq!((ended.len(), parked), (3, 2), "who has no address needs no mail server");
    assert_eq!(lane.problem().unwrap().reason, NO_MAIL_SERVER);
    assert!(lane.office.runs().iter().all(|run| run.tries == 0 && run.state != RunState::GaveUp));
    lane.office.world.pass(1_000 * HOUR);
    let mut ended = lane.office.work();
    ended.extend(lane.office.work());
    assert_eq!(ended, [Ended::Done, Ended::Done]);
    assert!(lane.office.runs().iter().all(|run| run.state == RunState::Done));
}

#[test]
fn only_whoever_may_see_the_runs_is_told_what_the_mail_server_says() {
    let lane = Lane::of("");
    let app = &lane.office.world.app;
    for (role, may) in [(Role::Manager, true), (Role::Promoter, false), (Role::Door, false)] {
        let member = lane.office.world.member(role);
        assert_eq!(now(passes::mail_health(app, &member)).is_ok(), may, "{role:?}");
    }
}
