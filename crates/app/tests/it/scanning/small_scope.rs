//! The small-scope proof. Its alphabet has twelve facts about one ticket. Every set of a few facts gives the same
//! state, in every order and in every split into batches.
//!
//! The property tests of `crates/core` sample large histories. This test takes every small history. It tests the whole
//! intake, from a request to the stored rows. [`World::is_consistent`] then compares the rows with what the reducer
//! says of the stored facts.

use std::collections::BTreeMap;

use admit_app::gates::{self, GatePatch};
use admit_app::incidents::{self, Resolve};
use admit_app::records::IncidentStatus;
use admit_app::rules::HoldsFrom;
use admit_app::tickets::{self, TicketPatch};
use admit_core::incident::Subject;
use admit_core::review::Decision;
use admit_core::ticket::TicketStatus;

use super::*;

/// The facts. Any of them may happen together with any others. A ticket admits one person, and doors opened long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The first phone lets the guest in.
    Enters,
    /// The second phone lets the guest in, two minutes later.
    EntersElsewhere,
    /// The first phone asks the server about a third entry.
    Claims,
    /// The first phone lets the guest in after that claim, under the same scan id.
    EntersAgain,
    /// The second phone lets the guest out.
    Leaves,
    /// The first phone takes the first entry back.
    Reverts,
    /// The second phone refuses, and staff let the guest in.
    Overrides,
    /// The first phone scans for practice.
    Practises,
    /// The second phone adds a guest who has no ticket.
    AddsGuest,
    /// An organiser voids the ticket from now on.
    Voids,
    /// An organiser lets the ticket admit two, from the start.
    Widens,
    /// An organiser accepts the practice scan, which must be stored before.
    Accepts,
}
use Step::*;

const ALPHABET: [Step; 12] = [
    Enters,
    EntersElsewhere,
    Claims,
    EntersAgain,
    Leaves,
    Reverts,
    Overrides,
    Practises,
    AddsGuest,
    Voids,
    Widens,
    Accepts,
];
/// The number of histories in one world. With more of them, checking the world's event would be slow.
const A_WORLD: usize = 400;

impl Step {
    /// Whether the step is a scan that a phone sends. The other steps are requests of an organiser.
    fn is_scan(self) -> bool {
        !matches!(self, Voids | Widens | Accepts)
    }
    fn seq(self) -> u64 {
        self as u64 + 1
    }
}

/// The steps in the order of their arrival. Each inner list is a batch of scans, or one act of an organiser.
type History = Vec<Vec<Step>>;

/// Every set of `size` steps of the alphabet.
fn sets(size: usize) -> Vec<Vec<Step>> {
    let of = |mask: u32| (0..ALPHABET.len()).filter(move |place| mask >> place & 1 == 1).map(|place| ALPHABET[place]);
    let masks = (0..1u32 << ALPHABET.len()).filter(|mask| mask.count_ones() as usize == size);
    masks.map(|mask| of(mask).collect()).collect()
}

fn orders(steps: &[Step]) -> Vec<Vec<Step>> {
    if steps.is_empty() {
        return vec![Vec::new()];
    }
    let mut out = Vec::new();
    for place in 0..steps.len() {
        let mut rest = steps.to_vec();
        let first = rest.remove(place);
        out.extend(orders(&rest).into_iter().map(|order| [vec![first], order].concat()));
    }
    out
}

/// All splits of this order into batches. An act of an organiser is never in a batch.
fn splits(order: &[Step]) -> Vec<History> {
    let cuts = order.len() - 1;
    let split = |mask: u32| {
        let mut batches = vec![vec![order[0]]];
        for (place, step) in order.iter().enumerate().skip(1) {
            if mask >> (place - 1) & 1 == 1 {
                batches.push(Vec::new());
            }
            batches.last_mut().unwrap().push(*step);
        }
        batches
    };
    let alone =
        |history: &History| history.iter().all(|batch| batch.len() == 1 || batch.iter().all(|one| one.is_scan()));
    (0..1u32 << cuts).map(split).filter(alone).collect()
}

/// The histories of a set that can happen.
fn histories(set: &[Step]) -> Vec<History> {
    let possible = |order: &Vec<Step>| {
        let place = |wanted: Step| order.iter().position(|step| *step == wanted);
        place(Accepts).is_none_or(|accepted| place(Practises).is_some_and(|practised| practised < accepted))
    };
    orders(set).iter().filter(|order| possible(order)).flat_map(|order| splits(order)).collect()
}

/// A world with two phones and tickets that nobody used.
struct Scope<'w> {
    world: &'w World,
    phones: [Phone<'w>; 2],
    keys: [KeyId; 2],
    epoch: admit_core::rule::Epoch,
    rules: u64,
    tickets: Vec<TicketId>,
}

impl<'w> Scope<'w> {
    fn new(world: &'w World) -> Self {
        let patch = GatePatch { walk_ins: Some(true), ..GatePatch::default() };
        now(gates::update(&world.app, &world.owner, world.event.clone(), gate("main"), patch)).unwrap();
        let phones = [world.phone("first", "main"), world.phone("second", "main")];
        let keys = [name_of_key(world, &phones[0]), name_of_key(world, &phones[1])];
        let codes: Vec<String> = (0..A_WORLD).map(code_of).collect();
        let tickets = world.tickets(&codes.iter().map(String::as_str).collect::<Vec<_>>());
        world.pass(HOUR);
        Self { world, phones, keys, epoch: now(world.app.store.epoch()).unwrap(), rules: head(world), tickets }
    }
    fn scan(&self, case: usize, step: Step) -> (Scan, usize) {
        let (by, minutes) = match step {
            Enters => (0, 1),
            Practises => (0, 2),
            EntersElsewhere => (1, 3),
            Reverts => (0, 4),
            Overrides => (1, 5),
            AddsGuest => (1, 6),
            // This time is later than the acts of the organiser, which happen after one hour.
            Leaves => (1, 70),
            _ => (0, 80),
        };
        let phone = &self.phones[by];
        let (when, scan_id) = (at(minutes * 60_000), format!("{case}-{step:?}"));
        let mut scan = Scan {
            log_id: Some(format!("log-{case}").parse().unwrap()),
            key_id: Some(self.keys[by].clone()),
            epoch: Some(self.epoch),
            manifest_version: self.rules,
            ..unsigned(&self.world.event, &phone.caller.device_id, &scan_id, step.seq(), &code_of(case), when)
        };
        match step {
            Claims => {
                (scan.stage, scan.opened) = (Stage::Claim, false);
                scan.scan_id = format!("{case}-{EntersAgain:?}").parse().unwrap();
            }
            Leaves => scan.kind = ScanKind::Exit,
            Reverts => {
                scan.kind = ScanKind::Revert;
                scan.target_device = Some(self.phones[0].caller.device_id.clone());
                scan.target_scan_id = Some(format!("{case}-{Enters:?}").parse().unwrap());
            }
            Overrides => {
                scan.outcome = Outcome::Duplicate;
                scan.override_ = Some(Override { by: "Ada".into(), reason: "knows the band".into() });
            }
            Practises => scan.practice = true,
            AddsGuest => {
                let name_digest = WalkIn::digest_of(&[7; 16], NAME);
                (scan.method, scan.barcode_hash, scan.basis) = (Method::Manual, None, None);
                scan.walk_in = Some(WalkIn { zone: "general".into(), party: 1, name_digest });
                scan.ticket_id = WalkIn::ticket_id(&scan.event_id, &scan.device_id, &scan.scan_id);
            }
            _ => {}
        }
        (scan, by)
    }
    /// Carries out a history on the ticket of this case. Returns what the server then knows of the ticket, in words
    /// that do not depend on the case.
    fn outcome(&self, case: usize, history: &History) -> String {
        let mut digests = BTreeMap::new();
        for (number, batch) in history.iter().enumerate() {
            match batch[..] {
                [Voids] => {
                    self.change(case, TicketPatch { status: Some(TicketStatus::Voided), ..TicketPatch::default() })
                }
                [Widens] => {
                    let effective = HoldsFrom::Start;
                    self.change(case, TicketPatch { entry_limit: Some(2), effective, ..TicketPatch::default() });
                }
                [Accepts] => self.accept(case),
                _ => {
                    let mut items = Vec::new();
                    for step in batch {
                        let (scan, by) = self.scan(case, *step);
                        digests.insert(format!("{:?}", admit_core::sign::content_digest(&scan)), format!("<{step:?}>"));
                        items.push(item(&self.phones[by], &scan));
                    }
                    // Either phone may carry a batch, since each scan names its author and has the author's signature.
                    let carrier = &self.phones[number % 2];
                    send(self.world, carrier, &format!("{case}-{number}"), &items).unwrap();
                }
            }
        }
        let added = self.scan(case, AddsGuest).0.ticket_id.unwrap();
        let known = self.known(&[self.tickets[case].clone(), added.clone()]);
        let known = known.replace(self.tickets[case].as_str(), "<ticket>").replace(added.as_str(), "<added>");
        let known = known.replace(&format!("({case}-"), "(");
        digests.into_iter().fold(known, |text, (digest, step)| text.replace(&digest, &step))
    }
    /// States, verdicts and open incidents of these tickets.
    fn known(&self, tickets: &[TicketId]) -> String {
        let (event, keys) = (self.world.event.clone(), tickets.iter().map(|id| Subject::Ticket(id.clone()).key()));
        let keys: Vec<String> = keys.collect();
        let read = read(&*self.world.app.store, &self.world.owner.organization_id, move |tx| {
            let mut out = String::new();
            let mut states = tx.judged_states(&event, &keys)?;
            states.sort_by_key(|(state, _)| keys.iter().position(|key| *key == state.subject_key));
            for (state, verdicts) in states {
                out += &format!("{:?}\n{:?}\n{verdicts:?}\n", state.state, state.effective);
            }
            let open = tx.incidents_of(&event, &keys)?.into_iter().filter(|one| one.status == IncidentStatus::Open);
            let mut kinds: Vec<String> = open.map(|one| format!("{} {}", one.subject_key, one.kind)).collect();
            kinds.sort();
            Ok(out + &kinds.join("\n"))
        });
        now(read).unwrap()
    }
    fn change(&self, case: usize, patch: TicketPatch) {
        now(tickets::update(&self.world.app, &self.world.owner, self.tickets[case].clone(), patch)).unwrap();
    }
    fn accept(&self, case: usize) {
        let (event, key) = (self.world.event.clone(), Subject::Ticket(self.tickets[case].clone()).key());
        let found = now(read(&*self.world.app.store, &self.world.owner.organization_id, move |tx| {
            tx.incidents_of(&event, &[key])
        }));
        let incident = found.unwrap().into_iter().find(|one| one.kind.as_str() == "practice_after_open").unwrap();
        let scan = self.scan(case, Practises).0;
        let scans = vec![(scan.device_id, scan.scan_id)];
        let said = Resolve { decision: Some(Decision::Accept), scans, note: String::new() };
        now(incidents::resolve(&self.world.app, &self.world.owner, incident.incident_id, said)).unwrap();
    }
}

const NAME: &str = "Gül Güneş";

fn code_of(case: usize) -> String {
    format!("CODE-{case}")
}
fn item(phone: &Phone<'_>, scan: &Scan) -> Value {
    let mut item = signed(phone, scan);
    if scan.walk_in.is_some() {
        (item["walk_in"]["name"], item["walk_in"]["salt"]) = (json!(NAME), json!("07".repeat(16)));
    }
    item
}

/// Checks that all histories of each set have the same outcome. Returns the number of histories.
fn prove(sets: &[Vec<Step>]) -> usize {
    let mut cases = sets.iter().flat_map(|set| histories(set).into_iter().map(move |history| (set, history)));
    let (mut first, mut count): (BTreeMap<&Vec<Step>, String>, usize) = (BTreeMap::new(), 0);
    loop {
        let part: Vec<_> = cases.by_ref().take(A_WORLD).collect();
        if part.is_empty() {
            return count;
        }
        let world = World::new();
        let scope = Scope::new(&world);
        for (case, (set, history)) in part.iter().enumerate() {
            let outcome = scope.outcome(case, history);
            let expected = first.entry(*set).or_insert_with(|| outcome.clone());
            assert_eq!(&outcome, expected, "{history:?}");
        }
        count += part.len();
        let found = now(scans::rebuild::check(&world.app, &world.owner.organization_id, &world.event)).unwrap();
        assert_eq!(found.lines, Vec::<String>::new());
    }
}

#[test]
fn a_few_facts_come_to_one_state_in_every_order_and_split() {
    // Sets of four take minutes, so only the long tests try them.
    let most = if std::env::var_os("ADMIT_LONG").is_some() { 4 } else { 2 };
    let mut all: Vec<Vec<Step>> = (1..=most).flat_map(sets).collect();
    if most < 4 {
        all.extend(sets(3).into_iter().step_by(7));
    }
    let (sets, histories) = (all.len(), prove(&all));
    println!("{histories} histories of {sets} sets of at most {most} facts: one state each");
}
