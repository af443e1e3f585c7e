//! Scans about which the device asked the server first (spec §5): a claim, its answer, its final. Whichever of the
//! three arrive, in any order and however often, the result tells once what happened at the door.

use admit_core::event::ReEntry;
use admit_core::incident::IncidentKind;
use admit_core::reduce::{EffectiveScan, Reduced};
use admit_core::scan::{Fact, Outcome, Stage};

use crate::case::{Case, Scanned, at, entry, kinds};
use crate::generator::Rng;

/// One question at the door, with its outcome.
#[derive(Debug, Clone)]
struct Asked {
    /// The claim, which is journalled and sent first.
    claim: Fact,
    /// The server's answer. Absent if the server never got the question.
    answer: Option<(u64, Outcome)>,
    /// The final. Absent if none was journalled.
    last: Option<Fact>,
}

const ANSWERS: [Outcome; 3] = [Outcome::Valid, Outcome::Duplicate, Outcome::Invalid];

/// Draws questions about one ticket by three devices. Some times are equal on purpose. Rules do not change.
fn asked(rng: &mut Rng) -> (Case, Vec<Asked>) {
    let case = Case::new(ReEntry::Never).ticket("t", 1 + rng.below(3) as u32);
    let mut list = Vec::new();
    for n in 0..1 + rng.below(5) {
        let device = ["a", "b", "c"][rng.below(3) as usize];
        let time = at("19:00").plus_ms(rng.below(4) as i64 * 1_000);
        let scan = || entry(device, &format!("s{n}"), time, "t").count(1);
        let answer = rng.percent(70).then(|| (case.serial, *rng.pick(&ANSWERS)));
        let claim = scan().with(|fact| fact.scan.opened = false).claim(answer).build();
        let said = *rng.pick(&ANSWERS);
        let last = rng.percent(50).then(|| match said {
            Outcome::Valid => scan().build(),
            refused => scan().shut(refused).build(),
        });
        list.push(Asked { claim, answer, last });
    }
    (case, list)
}

fn with(case: &Case, facts: impl IntoIterator<Item = Fact>) -> Reduced {
    Case { facts: facts.into_iter().collect(), ..case.clone() }.t()
}

/// The comparable part of a result: all but the digests of contents. Two contents under one id may give the same
/// result.
fn told(reduced: &Reduced) -> impl PartialEq + std::fmt::Debug + use<> {
    let deeds = reduced.verdicts.iter().map(|one| {
        (one.device_id.clone(), one.scan_id.clone(), one.opened, one.outcome, one.within, one.over, one.conflict_reason)
    });
    let listed = reduced.effective.iter().map(|one| EffectiveScan { claim: false, ..one.clone() });
    (deeds.collect::<Vec<_>>(), reduced.state.clone(), listed.collect::<Vec<_>>())
}

fn for_all(property: impl Fn(&mut Rng)) {
    let seeds: u64 = std::env::var("ADMIT_LAWS").ok().map_or(2_000, |n| n.parse().expect("a whole number"));
    for seed in 0..seeds {
        let run = std::panic::AssertUnwindSafe(|| property(&mut Rng::new(seed)));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("the property broke at seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn the_final_overrides_its_claim_whichever_comes_first_and_however_often() {
    for_all(|rng| {
        let (case, list) = asked(rng);
        let finals_alone = list.iter().map(|one| one.last.clone().unwrap_or(one.claim.clone()));
        let expected = with(&case, finals_alone.collect::<Vec<_>>());
        let mut facts: Vec<Fact> =
            list.iter().flat_map(|one| [Some(one.claim.clone()), one.last.clone()]).flatten().collect();
        for _ in 0..rng.below(4) {
            facts.push(rng.pick(&facts).clone());
        }
        rng.shuffle(&mut facts);
        let all = with(&case, facts);
        assert_eq!(told(&all), told(&expected));
        assert!(!kinds(&all).contains(&IncidentKind::ScanIdReused), "a claim and its final are one scan by design");
    });
}

#[test]
fn a_lost_final_leaves_the_server_answer_as_what_happened() {
    for_all(|rng| {
        let (case, list) = asked(rng);
        let claims = with(&case, list.iter().map(|one| one.claim.clone()));
        // A claim whose answer was valid opened the door. The persons are those of a final with that outcome in its
        // place.
        let stood_for = list.iter().map(|Asked { claim, answer, .. }| {
            let (outcome, opened) =
                answer.map_or((claim.scan.outcome, false), |(_, said)| (said, said == Outcome::Valid));
            Scanned::from(claim.clone())
                .with(|fact| {
                    fact.scan.stage = Stage::Final;
                    (fact.scan.outcome, fact.scan.opened) = (outcome, opened);
                    fact.judged = None;
                })
                .build()
        });
        assert_eq!(told(&claims), told(&with(&case, stood_for)));
        let admitted = list.iter().filter(|one| matches!(one.answer, Some((_, Outcome::Valid)))).count();
        assert_eq!(claims.state.persons(), admitted as u32);
    });
}

#[test]
fn an_answer_that_comes_with_a_later_delivery_is_the_claims_own() {
    for_all(|rng| {
        let (case, list) = asked(rng);
        let whole = with(&case, list.iter().map(|one| one.claim.clone()));
        // Each claim arrives twice: in an upload without an answer, and as a question with one.
        let mut apart: Vec<Fact> =
            list.iter().flat_map(|one| [Fact { judged: None, ..one.claim.clone() }, one.claim.clone()]).collect();
        rng.shuffle(&mut apart);
        assert_eq!(with(&case, apart), whole);
    });
}
