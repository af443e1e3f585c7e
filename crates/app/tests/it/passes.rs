//! Passes: which changes mail one, which mail none, and what a crash leaves.

mod draft;
mod lane;
mod resend;
mod standing;

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use admit_app::events::{self, EventPatch};
use admit_app::guest_lists::{self, NewGuestList};
use admit_app::guests::{self, GuestPatch, GuestState, Resent, Wanted, Whom};
use admit_app::jobs::{self, Ended, Workflows, carry_out};
use admit_app::passes::{self, Delivery, SetUp};
use admit_app::ports::{Letter, Mail, Mailbox, Objects, RunFilter, Unable, Unsent, read};
use admit_app::records::*;
use admit_app::tickets::{self, HowToImport, NewGuest, NewTicket, TicketPatch};
use admit_core::event::EventStatus;
use admit_core::ids::GuestId;
use admit_core::job::RunState;
use admit_core::limits::{JOB_LEASE_MS, JOB_TRIES};
use admit_core::pass::{PassStanding, is_token};
use admit_core::ticket::TicketStatus;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::world::{HOUR, World, at, code, new_event, now, whole_page, wrong_field};

const NODE: &str = "node";

/// A fake mail server and a fake object store that remember everything.
#[derive(Default)]
struct Outside {
    letters: Mutex<Vec<Letter>>,
    pictures: Mutex<BTreeMap<String, Vec<u8>>>,
    puts: Mutex<u32>,
    /// The answers to the next calls of either fake. If it is empty, each call succeeds.
    answers: Mutex<VecDeque<Unable>>,
}

impl Outside {
    fn answer(&self) -> Result<(), Unable> {
        self.answers.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }
}

impl Mail for Outside {
    fn sender(&self) -> Option<Mailbox> {
        Some(Mailbox { name: String::new(), email: "passes@club.example".into() })
    }
    fn send(&self, letter: Letter) -> BoxFuture<'_, Result<(), Unsent>> {
        async move {
            self.answer()?;
            let key = passes_key(&letter);
            assert!(self.pictures.lock().unwrap().contains_key(&key), "no mail before its object");
            self.letters.lock().unwrap().push(letter);
            Ok(())
        }
        .boxed()
    }
}

fn passes_key(letter: &Letter) -> String {
    let token = letter.text.split("token=").nth(1).unwrap().lines().next().unwrap();
    assert!(is_token(token));
    format!("qr-codes/{token}.png")
}

impl Objects for Outside {
    fn has(&self, key: String) -> BoxFuture<'_, Result<bool, Unable>> {
        async move {
            self.answer()?;
            Ok(self.pictures.lock().unwrap().contains_key(&key))
        }
        .boxed()
    }
    fn put(&self, key: String, bytes: Vec<u8>) -> BoxFuture<'_, Result<(), Unable>> {
        async move {
            self.pictures.lock().unwrap().insert(key, bytes);
            *self.puts.lock().unwrap() += 1;
            Ok(())
        }
        .boxed()
    }
}

struct Office {
    world: World,
    outside: Arc<Outside>,
    workflows: Workflows,
}

impl Office {
    fn new() -> Self {
        Self::with_url(Some("https://t.example"))
    }
    fn with_url(public_url: Option<&str>) -> Self {
        let (world, outside) = (World::new(), Arc::<Outside>::default());
        let set_up = SetUp {
            mail: outside.clone(),
            objects: outside.clone(),
            public_url: public_url.map(str::to_owned),
            objects_public_url: None,
        };
        Self { world, outside, workflows: Workflows::default().with(Delivery(set_up)) }
    }
    fn guest(&self, new: NewGuest) -> (GuestRecord, TicketRecord) {
        now(guests::create(&self.world.app, &self.world.owner, self.world.event.clone(), new, None, None)).unwrap()
    }
    fn change(&self, guest: &GuestRecord, patch: GuestPatch) {
        now(guests::update(&self.world.app, &self.world.owner, guest.guest_id.clone(), patch)).unwrap();
    }
    fn import(&self, file: &str) -> tickets::ImportReport {
        let (app, owner, event) = (&self.world.app, &self.world.owner, self.world.event.clone());
        let how = HowToImport { mail_passes: true, ..HowToImport::default() };
        now(tickets::import(app, owner, event, file.as_bytes(), how)).unwrap()
    }
    fn take(&self) -> Vec<TakenRun> {
        now(self.world.app.store.take_runs(NODE.into(), JOB_LEASE_MS, 100)).unwrap()
    }
    /// Carries out all runs that are due.
    fn work(&self) -> Vec<Ended> {
        let run = |taken| now(carry_out(&self.world.app, &self.workflows, taken)).unwrap();
        self.take().into_iter().map(run).collect()
    }
    fn runs(&self) -> Vec<RunRecord> {
        now(jobs::list(&self.world.app, &self.world.owner, RunFilter::default(), whole_page())).unwrap().items
    }
    fn letters(&self) -> Vec<Letter> {
        std::mem::take(&mut *self.outside.letters.lock().unwrap())
    }
    fn subjects(&self) -> Vec<String> {
        self.letters().into_iter().map(|letter| format!("{}: {}", letter.to.email, letter.subject)).collect()
    }
    fn pass(&self, token: &str) -> Result<passes::Pass, admit_app::error::Error> {
        now(passes::show(&self.world.app, token))
    }
}

fn ana() -> NewGuest {
    let (email, party_size) = (Some("ana@x.example".into()), Some(2));
    NewGuest { name: "Ana".into(), email, party_size, ..NewGuest::default() }
}

#[test]
fn a_guest_with_an_address_gets_one_pass_by_mail() {
    let office = Office::new();
    let (_, ticket) = office.guest(ana());
    assert_eq!(office.world.app.job_wakeup.woken().now_or_never(), Some(()), "at once");
    assert_eq!(office.work(), [Ended::Done]);
    let letters = office.letters();
    assert_eq!(letters.len(), 1);
    let token = ticket.barcode.unwrap();
    assert!(letters[0].html.contains(&format!("https://t.example/passes?token={token}")));
    assert_eq!(letters[0].message_id, format!("{}.send-email@club.example", office.runs()[0].run_id));
    assert_eq!(letters[0].picture.1.bytes, passes::png(&format!("https://t.example/passes?token={token}")).unwrap());
    let pictures = office.outside.pictures.lock().unwrap();
    assert_eq!(pictures.keys().collect::<Vec<_>>(), [&format!("qr-codes/{token}.png")]);
    assert_eq!(pictures.values().next(), Some(&letters[0].picture.1.bytes));
    let run = &office.runs()[0];
    let steps = now(jobs::show(&office.world.app, &office.world.owner, run.event_id.clone(), run.run_id.clone()));
    let steps: Vec<String> = steps.unwrap().1.into_iter().map(|step| step.name).collect();
    assert_eq!(steps, ["insert-qr-code", "generate-qr-png", "upload", "send-email"]);
    assert_eq!((run.state, run.problem.as_deref()), (RunState::Done, None));
    office.world.is_consistent();
}

#[test]
fn a_guest_without_e_mail_has_a_pass_and_the_run_says_that_nothing_was_mailed() {
    let office = Office::new();
    let (_, ticket) = office.guest(NewGuest { name: "Bo".into(), phone: Some("555".into()), ..NewGuest::default() });
    let nobody = office.guest(NewGuest { name: "Cy".into(), ..NewGuest::default() }).1;
    assert_eq!(office.work(), [Ended::Done]);
    assert_eq!(office.letters(), []);
    let note = office.runs()[0].problem.clone().unwrap();
    assert!(note.starts_with("no e-mail address"), "{note}");
    assert_eq!(office.pass(&ticket.barcode.unwrap()).unwrap().standing, PassStanding::Valid);
    assert_eq!(code(office.pass(&nobody.barcode.unwrap())), "no pass", "without either nothing was made");
}

#[test]
fn a_guests_pass_is_shown_to_the_organiser_once_its_page_opens() {
    let office = Office::new();
    let world = &office.world;
    let pass = |guest: &GuestRecord| {
        let ticket_id = guest.ticket_id.clone().unwrap();
        now(guests::show_code(&world.app, &world.owner, ticket_id)).unwrap().pass
    };
    let (ana, ticket) = office.guest(ana());
    let (nobody, _) = office.guest(NewGuest { name: "Cy".into(), ..NewGuest::default() });
    let shop = NewTicket {
        barcode: Some("SHOP-1".into()),
        guest: Some(NewGuest { name: "Bo".into(), email: Some("b@x.example".into()), ..NewGuest::default() }),
        ..NewTicket::default()
    };
    let made = now(tickets::create(&world.app, &world.owner, world.event.clone(), vec![shop])).unwrap();
    assert_eq!(pass(&ana), None, "it is on its way");
    office.work();
    assert_eq!(pass(&ana), ticket.barcode);
    assert_eq!((pass(&nobody), pass(made[0].1.as_ref().unwrap())), (None, None));
}

#[test]
fn what_changes_a_guest_sends_what_it_should() {
    let office = Office::new();
    let (guest, ticket) = office.guest(ana());
    office.work();
    assert_eq!(office.subjects(), ["ana@x.example: Your pass for Festival"]);
    let sends = |patch: GuestPatch, expected: &[&str]| {
        office.world.pass(1_000);
        office.change(&guest, patch);
        office.work();
        assert_eq!(office.subjects(), expected);
    };
    sends(GuestPatch { note: Some(Some("late".into())), ..GuestPatch::default() }, &[]);
    sends(GuestPatch { phone: Some(Some("555".into())), ..GuestPatch::default() }, &[]);
    sends(
        GuestPatch { name: Some("Anna".into()), ..GuestPatch::default() },
        &["ana@x.example: Changed: your pass for Festival"],
    );
    sends(
        GuestPatch { party_size: Some(3), ..GuestPatch::default() },
        &["ana@x.example: Changed: your pass for Festival"],
    );
    sends(
        GuestPatch { email: Some(Some("b@x.example".into())), ..GuestPatch::default() },
        &["b@x.example: Your pass for Festival"],
    );
    // The ticket's entry limit is the size of the party, whoever changes it.
    office.world.pass(1_000);
    let patch = TicketPatch { entry_limit: Some(5), ..TicketPatch::default() };
    now(tickets::update(&office.world.app, &office.world.owner, ticket.ticket_id.clone(), patch)).unwrap();
    office.work();
    let letters = office.letters();
    assert_eq!(letters.len(), 1);
    assert!(letters[0].text.contains("Party of 5"));
    // The token and the stored picture are made once, whatever was mailed.
    assert_eq!((office.outside.pictures.lock().unwrap().len(), *office.outside.puts.lock().unwrap()), (1, 1));
    office.world.is_consistent();
}

/// The clocks of nodes differ, and a write may wait. Of two changes, the one that was stored later is mailed.
#[test]
fn the_later_change_is_mailed_whatever_the_clocks_say() {
    let office = Office::new();
    let (guest, _) = office.guest(ana());
    office.work();
    office.letters();
    office.world.pass(60_000);
    office.change(&guest, GuestPatch { email: Some(Some("first@x.example".into())), ..GuestPatch::default() });
    office.work();
    assert_eq!(office.subjects(), ["first@x.example: Your pass for Festival"]);
    office.world.pass(-30_000);
    office.change(&guest, GuestPatch { email: Some(Some("last@x.example".into())), ..GuestPatch::default() });
    office.world.pass(30_000);
    office.work();
    assert_eq!(office.subjects(), ["last@x.example: Your pass for Festival"]);
}

/// A file may bring along a code from another of this server's events. The code opens that event's page, so no pass is
/// mailed for it.
#[test]
fn a_code_that_was_made_for_another_event_is_mailed_by_nobody_here() {
    let office = Office::new();
    let (_, ticket) = office.guest(ana());
    office.work();
    office.letters();
    let (app, owner) = (&office.world.app, &office.world.owner);
    let second = now(events::create(app, owner, new_event("Second"))).unwrap();
    let file = format!("barcode,name,email\n{},Ana,ana@x.example\n", ticket.barcode.unwrap());
    now(tickets::import(app, owner, second.event_id.clone(), file.as_bytes(), HowToImport::default())).unwrap();
    let filter = Wanted::default();
    let guest = now(guests::list(app, owner, second.event_id, filter, whole_page())).unwrap().items.remove(0).guest;
    assert_eq!(code(now(guests::resend(app, owner, guest.guest_id))), "code_of_another");
    assert_eq!((office.work(), office.letters().len()), (vec![], 0));
}

#[test]
fn everybody_with_a_pass_hears_of_another_place_or_time_until_it_begins() {
    let office = Office::new();
    let (app, owner, event) = (&office.world.app, &office.world.owner, office.world.event.clone());
    let change = |patch| {
        office.world.pass(1_000);
        now(events::update(app, owner, event.clone(), patch)).unwrap();
        office.work();
        office.subjects()
    };
    let later = EventPatch { starts_at: Some(at(2 * HOUR)), ..EventPatch::default() };
    assert_eq!(change(later), [""; 0], "nobody has a pass");
    office.guest(ana());
    office.guest(NewGuest { name: "Bo".into(), ..NewGuest::default() });
    now(tickets::create(app, owner, event.clone(), vec![with_code("Cy", "CODE-1")])).unwrap();
    office.work();
    office.letters();
    let place = EventPatch { venue: Some("The other quay".into()), ..EventPatch::default() };
    assert_eq!(change(place), ["ana@x.example: Changed: your pass for Festival"]);
    let pin = EventPatch { staff_pin: Some(Some("1234".into())), capacity: Some(Some(9)), ..EventPatch::default() };
    assert_eq!(change(pin), [""; 0]);
    office.world.pass(3 * HOUR);
    let longer = EventPatch { ends_at: Some(at(11 * HOUR)), ..EventPatch::default() };
    assert_eq!(change(longer), [""; 0], "it has begun: whoever is inside is not written to");
}

fn with_code(name: &str, code: &str) -> NewTicket {
    let guest = NewGuest { name: name.into(), email: Some("c@x.example".into()), ..NewGuest::default() };
    NewTicket { barcode: Some(code.into()), guest: Some(guest), ..NewTicket::default() }
}

#[test]
fn whoever_comes_with_a_code_of_their_own_is_not_mailed_another() {
    let office = Office::new();
    let (app, owner, event) = (&office.world.app, &office.world.owner, office.world.event.clone());
    let made = now(tickets::create(app, owner, event, vec![with_code("Cy", "CODE-1")])).unwrap();
    office.import("barcode,name,email\nCODE-2,Di,d@x.example\n");
    let guest = made[0].1.clone().unwrap();
    office.change(&guest, GuestPatch { email: Some(Some("new@x.example".into())), ..GuestPatch::default() });
    assert_eq!(office.runs(), []);
    assert_eq!(code(now(guests::resend(app, owner, guest.guest_id))), "code_of_another");
    assert_eq!(code(office.pass("CODE-1")), "no pass");
}

/// Some shops' codes look like Admit's own.
#[test]
fn a_code_that_looks_as_if_it_was_drawn_here_is_not_mailed_either() {
    let office = Office::new();
    let foreign = "7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f";
    assert!(is_token(foreign));
    office.import(&format!("barcode,name\n{foreign},Di\n"));
    for address in ["d@x.example", "new@x.example"] {
        office.import(&format!("barcode,name,email\n{foreign},Di,{address}\n"));
        assert_eq!(office.runs(), []);
    }
    let (app, owner, event) = (&office.world.app, &office.world.owner, office.world.event.clone());
    let other = "8e7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f";
    let made = now(tickets::create(app, owner, event, vec![with_code("Cy", other)])).unwrap();
    let guest = made[0].1.clone().unwrap();
    office.change(&guest, GuestPatch { email: Some(Some("new@x.example".into())), ..GuestPatch::default() });
    assert_eq!(office.runs(), []);
    assert_eq!(code(now(guests::resend(app, owner, guest.guest_id))), "code_of_another");
}

#[test]
fn an_import_sends_each_guest_one_pass_and_again_none() {
    let office = Office::new();
    let file = "name,email,phone\nAna,a@x.example,\nBo,b@x.example,\nCy,,555\nDi,,\n";
    assert_eq!(office.import(file).created, 4);
    assert_eq!(office.work(), [Ended::Done, Ended::Done, Ended::Done]);
    let mut sent = office.subjects();
    sent.sort();
    assert_eq!(sent, ["a@x.example: Your pass for Festival", "b@x.example: Your pass for Festival"]);
    assert_eq!(office.import(file).unchanged, 4);
    assert_eq!((office.work(), office.runs().len()), (vec![], 3));
    // The party grows, by a file with the same row.
    office.world.pass(1_000);
    office.import("name,email,party_size\nAna,a@x.example,4\n");
    office.work();
    assert_eq!(office.subjects(), ["a@x.example: Changed: your pass for Festival"]);
    office.world.is_consistent();
}

#[test]
fn nothing_is_mailed_of_what_is_over_or_withdrawn() {
    let office = Office::new();
    let (_, ticket) = office.guest(ana());
    let voided = TicketPatch { status: Some(TicketStatus::Voided), ..TicketPatch::default() };
    now(tickets::update(&office.world.app, &office.world.owner, ticket.ticket_id, voided)).unwrap();
    assert_eq!(office.work(), [Ended::Done]);
    let (guest, _) = office.guest(NewGuest { email: Some("b@x.example".into()), ..ana() });
    let ended = EventPatch { status: Some(EventStatus::Ended), ..EventPatch::default() };
    now(events::update(&office.world.app, &office.world.owner, office.world.event.clone(), ended)).unwrap();
    assert_eq!(office.work(), [Ended::Done]);
    office.guest(NewGuest { email: Some("c@x.example".into()), ..ana() });
    assert_eq!(office.work(), [], "of an event that is over nothing begins");
    assert_eq!(code(now(guests::resend(&office.world.app, &office.world.owner, guest.guest_id))), "event_over");
    assert_eq!(office.letters(), []);
    let mut notes: Vec<String> = office.runs().into_iter().map(|run| run.problem.unwrap()).collect();
    notes.sort();
    assert!(notes[0].starts_with("the event is over") && notes[1].starts_with("the ticket is withdrawn"), "{notes:?}");
}

/// A guest gets the held-back pass once the ticket is good: it was unpaid or withdrawn when the pass was due. A guest
/// who has the pass gets no second mail.
#[test]
fn a_pass_that_was_held_back_goes_out_once_the_ticket_is_good() {
    let office = Office::new();
    let sends = |expected: &[&str]| {
        office.work();
        let mut sent = office.subjects();
        sent.sort();
        assert_eq!(sent, expected);
        office.world.pass(1_000);
    };
    let of = |status: &str| {
        let row = |name: &str| format!("{name},{name}@x.example,{status}\n");
        format!("name,email,status\n{}{}{}", row("ana"), row("bo"), row("cy"))
    };
    for status in ["paid", "unpaid"] {
        office.import(&of(status));
        office.import(&format!("barcode,name,email,status\nTHEIRS,di,di@x.example,{status}\n"));
    }
    sends(&[]);
    // A person changes the status by hand, of the guest or of the ticket.
    let listed = guests::list(
        &office.world.app,
        &office.world.owner,
        office.world.event.clone(),
        Wanted::default(),
        whole_page(),
    );
    let listed = now(listed).unwrap().items;
    let guest = |name: &str| listed.iter().find(|one| one.guest.name == name).unwrap().guest.clone();
    let status = |name: &str, status| {
        office.change(&guest(name), GuestPatch { ticket_status: Some(status), ..GuestPatch::default() });
    };
    status("ana", TicketStatus::Active);
    sends(&["ana@x.example: Your pass for Festival"]);
    let ticket = |name: &str, status| {
        let patch = TicketPatch { status: Some(status), ..TicketPatch::default() };
        let ticket_id = guest(name).ticket_id.unwrap();
        now(tickets::update(&office.world.app, &office.world.owner, ticket_id, patch)).unwrap();
    };
    ticket("bo", TicketStatus::Active);
    sends(&["bo@x.example: Your pass for Festival"]);
    // A file changes the status. A guest who has a pass, or a code from elsewhere, is sent none.
    office.import(&of("paid"));
    office.import("barcode,name,email,status\nTHEIRS,di,di@x.example,paid\n");
    sends(&["cy@x.example: Your pass for Festival"]);
    for name in ["ana", "di"] {
        status(name, TicketStatus::Voided);
        status(name, TicketStatus::Active);
    }
    ticket("bo", TicketStatus::Refunded);
    ticket("bo", TicketStatus::Active);
    sends(&[]);
    // A change made while the ticket is void is mailed once, when the ticket is good again.
    status("ana", TicketStatus::Voided);
    office.change(&guest("ana"), GuestPatch { party_size: Some(2), ..GuestPatch::default() });
    sends(&[]);
    status("ana", TicketStatus::Active);
    sends(&["ana@x.example: Changed: your pass for Festival"]);
    // A mail that waits meanwhile is sent once.
    let (eva, _) = office.guest(NewGuest { email: Some("eva@x.example".into()), ..ana() });
    for status in [TicketStatus::Voided, TicketStatus::Active] {
        office.change(&eva, GuestPatch { ticket_status: Some(status), ..GuestPatch::default() });
    }
    sends(&["eva@x.example: Your pass for Festival"]);
    office.world.is_consistent();
}

#[test]
fn a_later_change_overtakes_a_mail_that_waits() {
    let office = Office::new();
    let (guest, _) = office.guest(ana());
    office.outside.answers.lock().unwrap().push_back(Unable::Later("no room".into()));
    assert!(matches!(office.work()[..], [Ended::Waits(_)]));
    assert_eq!(office.runs()[0].problem.as_deref(), Some("no room"));
    assert_eq!(office.runs()[0].step.as_deref(), Some("upload"));
    office.world.pass(10);
    office.change(&guest, GuestPatch { email: Some(Some("b@x.example".into())), ..GuestPatch::default() });
    office.world.pass(60_000);
    assert_eq!(office.work(), [Ended::Done, Ended::Done]);
    assert_eq!(office.subjects(), ["b@x.example: Your pass for Festival"], "the old address hears nothing");
}

#[test]
fn what_is_asked_for_again_is_sent_again_by_whoever_may() {
    let office = Office::new();
    let (app, owner) = (&office.world.app, &office.world.owner);
    let (guest, ticket) = office.guest(NewGuest { name: "Cy".into(), ..NewGuest::default() });
    assert_eq!(office.work(), []);
    for role in [Role::Door, Role::Viewer] {
        let member = office.world.member(role);
        assert_eq!(code(now(guests::resend(app, &member, guest.guest_id.clone()))), "forbidden");
    }
    let promoter = office.world.member(Role::Promoter);
    assert_eq!(code(now(guests::resend(app, &promoter, guest.guest_id.clone()))), "no guest");
    let other = office.world.other().0;
    assert_eq!(code(now(guests::resend(app, &other, guest.guest_id.clone()))), "no guest");
    now(guests::resend(app, owner, guest.guest_id.clone())).unwrap();
    assert_eq!(office.work(), [Ended::Done]);
    assert!(office.pass(&ticket.barcode.unwrap()).is_ok(), "a pass, though nobody can be mailed");
    office.change(&guest, GuestPatch { email: Some(Some("c@x.example".into())), ..GuestPatch::default() });
    office.work();
    office.world.pass(1_000);
    now(guests::resend(app, owner, guest.guest_id)).unwrap();
    office.work();
    assert_eq!(office.subjects(), ["c@x.example: Your pass for Festival"; 2]);
    assert_eq!(office.world.ledger().iter().filter(|action| *action == "pass_resent").count(), 2);
    office.world.is_consistent();
}

#[test]
fn a_refusal_for_good_waits_for_a_person() {
    let office = Office::new();
    let (guest, _) = office.guest(ana());
    office.outside.pictures.lock().unwrap().clear();
    office.outside.answers.lock().unwrap().extend([Unable::Later("away".into())]);
    assert!(matches!(office.work()[..], [Ended::Waits(_)]));
    office.world.pass(HOUR);
    // The object store's `has` answers, and then the mail server refuses.
    let refuse = Arc::new(RefuseMail(office.outside.clone()));
    let set_up = SetUp {
        mail: refuse,
        objects: office.outside.clone(),
        public_url: Some("https://t.example".into()),
        objects_public_url: Some("https://pictures.example".into()),
    };
    let workflows = Workflows::default().with(Delivery(set_up));
    let taken = office.take().pop().unwrap();
    assert_eq!(now(carry_out(&office.world.app, &workflows, taken)), Ok(Ended::GaveUp));
    let run = office.runs().pop().unwrap();
    assert_eq!((run.state, run.step.as_deref()), (RunState::GaveUp, Some("send-email")));
    assert_eq!(run.problem.as_deref(), Some("no such mailbox"));
    now(jobs::retry(&office.world.app, &office.world.owner, run.event_id.clone(), run.run_id.clone())).unwrap();
    assert_eq!(office.work(), [Ended::Done]);
    let letter = office.letters().pop().unwrap();
    assert!(letter.text.contains("https://pictures.example/qr-codes/"), "what upload gave stays as it was");
    assert_eq!(letter.to.email, guest.email.unwrap());
}

struct RefuseMail(Arc<Outside>);

impl Mail for RefuseMail {
    fn sender(&self) -> Option<Mailbox> {
        self.0.sender()
    }
    fn send(&self, _: Letter) -> BoxFuture<'_, Result<(), Unsent>> {
        async { Err(Unsent::Never("no such mailbox".into())) }.boxed()
    }
}

#[test]
fn without_the_servers_address_a_pass_waits_and_says_why() {
    let office = Office::with_url(None);
    let (app, owner, event) = (&office.world.app, &office.world.owner, office.world.event.clone());
    let days = EventPatch { ends_at: Some(at(1_000 * HOUR)), ..EventPatch::default() };
    now(events::update(app, owner, event, days)).unwrap();
    office.guest(ana());
    // The server's own address is not set for days. No try is spent, so the run does not give up.
    for _ in 0..=JOB_TRIES {
        assert!(matches!(office.work()[..], [Ended::Waits(_)]));
        office.world.pass(HOUR);
    }
    let run = office.runs().pop().unwrap();
    assert_eq!((run.state, run.tries), (RunState::Open, 0));
    assert_eq!(run.step.as_deref(), Some("generate-qr-png"));
    assert!(run.problem.unwrap().contains("PUBLIC_URL"));
    // After the event the run stops waiting.
    office.world.pass(1_000 * HOUR);
    assert_eq!(office.work(), [Ended::Done]);
    assert_eq!(office.runs().pop().unwrap().problem.as_deref(), Some("the event is over: nothing was mailed"));
}

#[test]
fn a_crash_before_any_statement_leaves_one_token_one_object_and_at_most_one_mail_more() {
    let mut crashes = 0;
    for statement in 0.. {
        let office = Office::new();
        let (guest, ticket) = office.guest(ana());
        let taken = office.take().pop().unwrap();
        office.world.dies_in.store(statement, Ordering::SeqCst);
        let ended = now(carry_out(&office.world.app, &office.workflows, taken));
        office.world.dies_in.store(-1, Ordering::SeqCst);
        let crashed = ended != Ok(Ended::Done);
        if crashed {
            crashes += 1;
            office.world.store.crash();
            now(office.world.app.store.free_runs(NODE.into())).unwrap();
            assert_eq!(office.work(), [Ended::Done], "crash before statement {statement}");
        }
        let letters = office.letters();
        assert!((1..=2).contains(&letters.len()), "{} mails, crash before statement {statement}", letters.len());
        assert!(letters.iter().all(|letter| letter.message_id == letters[0].message_id), "one Message-ID");
        assert_eq!(office.outside.pictures.lock().unwrap().len(), 1);
        assert_eq!(*office.outside.puts.lock().unwrap(), 1, "an object that is there is not stored again");
        let hashes = {
            let id = ticket.ticket_id.clone();
            let stored = read(&*office.world.app.store, &office.world.owner.organization_id, move |tx| tx.ticket(&id));
            now(stored).unwrap().unwrap().barcode_hashes
        };
        assert_eq!(hashes.len(), 1, "one token");
        assert_eq!(office.pass(&ticket.barcode.unwrap()).unwrap().guest.map(|one| one.guest_id), Some(guest.guest_id));
        if !crashed {
            break;
        }
    }
    assert!(crashes >= 12, "{crashes} places to crash at are too few to be all");
}
