//! The contracts about scans as facts: a store keeps every field of a scan, finds its subject when it reads the scan,
//! and merges the deliveries of one content.

use admit_core::incident::Subject;
use admit_core::reduce::Resolved;
use admit_core::review::{Decision, Review};
use admit_core::scan::{Fact, Form, Judged, Method, Outcome, Scan, SignatureState};

use super::fixture::{
    TestStore, at, code, conflict, fact, id, look, manual, new_scan, on_event, page, scan, with_event, with_scans,
    with_tickets,
};
use crate::error::{Error, Result};
use crate::ports::ScanFilter;
use crate::records::{Listed, NewDelivery, Page, ScanRow};

fn unknown(name: &str) -> String {
    Subject::Unknown(code(name)).key()
}
fn ticket_key(name: &str) -> String {
    format!("ticket:{name}")
}
async fn facts_of(store: &TestStore, subjects: &[String]) -> Vec<Resolved> {
    let asked = subjects.to_vec();
    look(store, move |tx| tx.facts(&id("e"), &asked)).await
}
/// Subject and scan id of each fact.
fn names(facts: &[Resolved]) -> Vec<(String, String)> {
    let mut names: Vec<_> =
        facts.iter().map(|(subject, fact)| (subject.key(), fact.scan.scan_id.to_string())).collect();
    names.sort();
    names
}

/// `facts` returns every field of a scan as `insert_scans` stored it, also the fields about its arrival, such as the
/// signature's state.
pub async fn a_scan_comes_back_as_it_was_sent(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1"]).await;
    let mut new = new_scan(scan("e", "s1", "t1"), 1);
    new.fact.signature = SignatureState::Bearer;
    new.fact.withheld = true;
    new.fact.offset_seconds = -3;
    new.fact.judged = Some(Judged { serial: 8, outcome: Outcome::Expired });
    let stored = new.clone();
    on_event(&store, move |tx| tx.insert_scans(std::slice::from_ref(&stored))).await.unwrap();
    assert_eq!(facts_of(&store, &[ticket_key("t1")]).await, [(Subject::Ticket(id("t1")), new.fact)]);
}

/// `facts` returns a scan for the ticket that ever held its code. Without such a ticket it is returned for the ticket
/// that a person picked, else for the code itself. `subjects_with_scans` and `subjects_of_device` return the same
/// subjects, in order.
pub async fn a_scan_resolves_to_whoever_held_its_code(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1", "t2"]).await;
    let by_code_and_pick = Scan { method: Method::Manual, ticket_id: Some(id("t2")), ..scan("e", "both", "t1") };
    let pick_with_unknown_code =
        Scan { method: Method::Manual, ticket_id: Some(id("t2")), ..scan("e", "pick", "nobody") };
    let named_only = Scan { ticket_id: Some(id("t2")), ..scan("e", "named", "nobody") };
    with_scans(
        &store,
        vec![
            scan("e", "code", "t1"),
            by_code_and_pick,
            pick_with_unknown_code,
            manual("e", "manual", "t2"),
            manual("e", "missing", "t9"),
            named_only,
        ],
    )
    .await;
    let subjects = [ticket_key("t1"), ticket_key("t2"), ticket_key("t9"), unknown("nobody")];
    let own = |key: &str, scan: &str| (key.to_owned(), scan.to_owned());
    for (subject, scans) in [
        (&subjects[0], vec!["both", "code"]),
        (&subjects[1], vec!["manual", "pick"]),
        (&subjects[2], vec!["missing"]),
        (&subjects[3], vec!["named"]),
    ] {
        let expected: Vec<_> = scans.into_iter().map(|scan| own(subject, scan)).collect();
        assert_eq!(names(&facts_of(&store, std::slice::from_ref(subject)).await), expected);
    }
    assert_eq!(facts_of(&store, &subjects).await.len(), 6);
    let mut all = subjects.to_vec();
    all.sort();
    assert_eq!(look(&store, |tx| tx.subjects_with_scans(&id("e"))).await, all);
    assert_eq!(look(&store, |tx| tx.subjects_of_device(&id("e"), &id("d1"))).await, all);
    assert_eq!(look(&store, |tx| tx.subjects_of_device(&id("e"), &id("d2"))).await, Vec::<String>::new());
}

/// If a ticket is created after scans of its code, `facts` returns them for the ticket. For the unknown code it returns
/// none any more. `known_scans` names the ticket as their subject too.
pub async fn a_ticket_made_late_finds_its_scans(store: TestStore) {
    with_event(&store).await;
    with_scans(&store, vec![scan("e", "s1", "late"), scan("e", "s2", "late")]).await;
    assert_eq!(facts_of(&store, &[unknown("late")]).await.len(), 2);
    assert_eq!(facts_of(&store, &[ticket_key("late")]).await, []);
    with_tickets(&store, &["late"]).await;
    assert_eq!(facts_of(&store, &[unknown("late")]).await, []);
    assert_eq!(facts_of(&store, &[ticket_key("late")]).await.len(), 2);
    let stored = look(&store, |tx| tx.stored_ids(&id("e"), &[id("s1")])).await;
    assert_eq!(stored[0].known.subject_key, ticket_key("late"));
}

/// `facts` also returns every other content under the same device and scan id, whatever its subject. A content of
/// another device under that scan id is not returned.
pub async fn variants_come_along_wherever_they_resolve(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1", "t2"]).await;
    let other_device = Scan { device_id: id("d2"), ..scan("e", "s1", "t2") };
    with_scans(&store, vec![scan("e", "s1", "t1"), scan("e", "s1", "t2"), other_device, scan("e", "s9", "t2")]).await;
    let facts = facts_of(&store, &[ticket_key("t1")]).await;
    let pair = |subject: &str| (ticket_key(subject), "s1".to_owned());
    assert_eq!(names(&facts), [pair("t1"), pair("t2")]);
    assert!(facts.iter().all(|(_, fact)| fact.scan.device_id.as_str() == "d1"));
    assert_eq!(facts_of(&store, &[ticket_key("t2")]).await.len(), 4);
}

/// `facts`, `proven`, `stored_ids` and `scans` merge what the deliveries of one content prove: the best signature, the
/// better clock offset, the first receipt. A delivery that proves the author also ends the withholding.
pub async fn deliveries_are_merged(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1"]).await;
    let content = Scan { form: Form::V1, ..scan("e", "s1", "t1") };
    let mut first = new_scan(content.clone(), 1);
    first.fact.signature = SignatureState::Unverified;
    first.fact.offset_seconds = 9;
    first.fact.withheld = true;
    let (mut second, mut third) = (fact(content.clone()), fact(content.clone()));
    second.signature = SignatureState::Verified;
    second.offset_seconds = -9;
    second.received_at = at(1_600_000_000);
    third.signature = SignatureState::Unverified;
    third.offset_seconds = 20;
    third.received_at = at(1_600_000_001);
    third.judged = Some(Judged { serial: 3, outcome: Outcome::Valid });
    let later = [second.clone(), third.clone()];
    on_event(&store, move |tx| {
        tx.insert_scans(std::slice::from_ref(&first))?;
        let delivery = |fact: &Fact| NewDelivery { fact: fact.clone(), serial: 2, carrier: id("d7") };
        tx.insert_deliveries(&later.iter().map(delivery).collect::<Vec<_>>())
    })
    .await
    .unwrap();
    let merged = Fact {
        signature: SignatureState::Verified,
        offset_seconds: -9,
        withheld: false,
        judged: third.judged,
        ..fact(content.clone())
    };
    assert_eq!(facts_of(&store, &[ticket_key("t1")]).await, [(Subject::Ticket(id("t1")), merged.clone())]);
    let stored = look(&store, |tx| tx.stored_ids(&id("e"), &[id("s1"), id("s2")])).await;
    let best: Vec<_> = stored.iter().map(|one| (one.known.digest, one.signature, one.offset_seconds)).collect();
    assert_eq!(best, [(merged.digest, SignatureState::Verified, -9)]);
    let listed = look(&store, |tx| tx.scans(&id("e"), &ScanFilter::default(), &page(5))).await;
    assert_eq!(listed.items[0].fact, merged);
}

/// `known_scans` returns the stored contents of one device under the given scan ids, with their subjects. `stored_ids`
/// returns those of all devices. The same scan id of another device is another scan.
pub async fn ids_are_known_by_device(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1"]).await;
    let other = Scan { device_id: id("d2"), ..scan("e", "s1", "t1") };
    let variant = Scan { count: 2, ..scan("e", "s1", "t1") };
    with_scans(&store, vec![scan("e", "s1", "t1"), variant.clone(), other, scan("e", "s2", "gone")]).await;
    let asked = [id("s2"), id("s3"), id("s1"), id("s1")];
    let stored = look(&store, move |tx| tx.stored_ids(&id("e"), &asked)).await;
    let found: Vec<(&str, &str, &str)> = stored
        .iter()
        .map(|one| (one.known.scan_id.as_str(), one.known.device_id.as_str(), one.known.subject_key.as_str()))
        .collect();
    let gone = unknown("gone");
    let of_s1 = [("s1", "d1", "ticket:t1"), ("s1", "d1", "ticket:t1"), ("s1", "d2", "ticket:t1")];
    assert_eq!(found, [&of_s1[..], &[("s2", "d1", gone.as_str())]].concat());
    let mut digests = [fact(variant).digest, fact(scan("e", "s1", "t1")).digest];
    digests.sort();
    assert_eq!([stored[0].known.digest, stored[1].known.digest], digests);
}

/// `reviews` returns the reviews of the scans of a subject, in order of their serials. If a ticket gets a scan later,
/// it gets the scan's reviews too. `decisions` returns the same with subject, user, note and time.
pub async fn reviews_follow_their_scans(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1"]).await;
    with_scans(&store, vec![scan("e", "s1", "t1"), scan("e", "s2", "late"), manual("e", "s3", "t1")]).await;
    assert_eq!(look(&store, |tx| tx.reviews(&id("e"), &[ticket_key("t1")])).await, []);
    let review = |serial: u64, content: Scan, decision: Decision| Review {
        serial,
        device_id: content.device_id.clone(),
        scan_id: content.scan_id.clone(),
        digest: fact(content).digest,
        decision,
    };
    let reviews = vec![
        review(2, scan("e", "s1", "t1"), Decision::Exclude),
        review(2, scan("e", "s2", "late"), Decision::Accept),
        review(3, scan("e", "s1", "t1"), Decision::Restore),
        review(3, manual("e", "s3", "t1"), Decision::Exclude),
    ];
    let stored = reviews.clone();
    on_event(&store, move |tx| tx.insert_reviews(&id("e"), &id("o-owner"), "seen", at(9), &stored)).await.unwrap();
    let of = |subject: String| {
        let store = store.clone();
        async move { look(&store, move |tx| tx.reviews(&id("e"), &[subject])).await }
    };
    let of_t1 = [reviews[0].clone(), reviews[2].clone(), reviews[3].clone()];
    assert_eq!(of(ticket_key("t1")).await, of_t1);
    assert_eq!(of(unknown("late")).await, [reviews[1].clone()]);
    let keys = [ticket_key("t1"), unknown("late")];
    let told = look(&store, move |tx| tx.decisions(&id("e"), &keys)).await;
    let told: Vec<_> = told.iter().map(|one| (one.subject_key.clone(), one.review.clone())).collect();
    let about = |n: usize, key: String| (key, reviews[n].clone());
    let expected = [about(0, ticket_key("t1")), about(1, unknown("late")), about(2, ticket_key("t1"))];
    assert_eq!(
        told,
        [&expected[..], &[about(3, ticket_key("t1"))]].concat(),
        "in the event's order, each by its subject"
    );
    let one = look(&store, |tx| tx.decisions(&id("e"), &[ticket_key("t1")])).await.remove(0);
    assert_eq!((one.user_id, one.note.as_str(), one.at), (id("o-owner"), "seen", at(9)));
    with_tickets(&store, &["late"]).await;
    assert_eq!(of(ticket_key("late")).await, [reviews[1].clone()]);
}

/// `scans` returns the scans of an event newest first by arrival, page by page, with their verdicts. It filters by
/// ticket, device, outcome and conflict.
pub async fn scans_are_listed_newest_first(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1", "t2"]).await;
    let other = Scan { device_id: id("d2"), ..scan("e", "s3", "t2") };
    with_scans(&store, vec![scan("e", "s1", "t1"), scan("e", "s2", "t2")]).await;
    with_scans(&store, vec![other, manual("e", "s4", "t1")]).await;
    on_event(&store, |tx| {
        let mut verdict = super::states::verdict("s1", "t1");
        verdict.digest = Some(fact(scan("e", "s1", "t1")).digest);
        verdict.conflict = true;
        verdict.outcome = Outcome::Duplicate;
        tx.put_states(&id("e"), &[(super::states::state("ticket:t1", 2), vec![verdict])])
    })
    .await
    .unwrap();
    let list = |filter: ScanFilter, limit: usize, cursor: Option<String>| {
        let store = store.clone();
        async move { look(&store, move |tx| tx.scans(&id("e"), &filter, &Page { limit, cursor })).await }
    };
    let ids =
        |listed: &Listed<ScanRow>| listed.items.iter().map(|row| row.fact.scan.scan_id.to_string()).collect::<Vec<_>>();
    let first = list(ScanFilter::default(), 3, None).await;
    assert_eq!(ids(&first), ["s4", "s3", "s2"]);
    assert_eq!((first.items[0].serial, first.items[2].serial), (2, 1));
    let rest = list(ScanFilter::default(), 3, first.next_cursor).await;
    assert_eq!((ids(&rest), rest.next_cursor), (vec!["s1".to_owned()], None));
    assert!(rest.items[0].verdict.is_some());
    let by_ticket = ScanFilter { ticket_id: Some(id("t1")), ..ScanFilter::default() };
    let by_device = ScanFilter { device_id: Some(id("d2")), ..ScanFilter::default() };
    let by_outcome = ScanFilter { outcome: Some(Outcome::Duplicate), ..ScanFilter::default() };
    let quiet = ScanFilter { conflict: Some(false), ..ScanFilter::default() };
    for (filter, found) in [
        (by_ticket, vec!["s4", "s1"]),
        (by_device, vec!["s3"]),
        (by_outcome, vec!["s1"]),
        (quiet, vec!["s4", "s3", "s2"]),
    ] {
        assert_eq!(ids(&list(filter.clone(), 9, None).await), found, "{filter:?}");
    }
}

/// `scans` filters by each scan's own verdict, not by those of the ticket's other scans. It also finds scans that lie
/// many pages back.
pub async fn scans_are_filtered_by_their_own_verdicts(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1"]).await;
    let names: Vec<String> = (0..9).map(|n| format!("s{n}")).collect();
    let mut scans: Vec<Scan> = names.iter().map(|name| scan("e", name, "t1")).collect();
    scans.push(scan("e", "s9", "nobodys"));
    with_scans(&store, scans.clone()).await;
    let judged = |one: &Scan, twice: bool| {
        let mut verdict = super::states::verdict(one.scan_id.as_str(), "t1");
        verdict.digest = Some(fact(one.clone()).digest);
        (verdict.conflict, verdict.outcome) = (twice, if twice { Outcome::Duplicate } else { Outcome::Valid });
        verdict
    };
    let of_ticket = scans[..9].iter().zip([true, false, false, false, true, false, false, false, false]);
    let of_ticket: Vec<_> = of_ticket.map(|(one, twice)| judged(one, twice)).collect();
    let unknown_key = unknown("nobodys");
    let of_code = vec![judged(&scans[9], true)];
    on_event(&store, move |tx| {
        let unknown = super::states::state(&unknown_key, 2);
        tx.put_states(
            &id("e"),
            &[(super::states::state("ticket:t1", 2), of_ticket.clone()), (unknown, of_code.clone())],
        )
    })
    .await
    .unwrap();
    let conflicts = ScanFilter { conflict: Some(true), ..ScanFilter::default() };
    let both = ScanFilter { outcome: Some(Outcome::Duplicate), ..conflicts.clone() };
    let of_t1 = ScanFilter { ticket_id: Some(id("t1")), ..conflicts.clone() };
    let neither = ScanFilter { conflict: Some(false), ..both.clone() };
    for (filter, found) in [
        (conflicts, vec!["s9", "s4", "s0"]),
        (both, vec!["s9", "s4", "s0"]),
        (of_t1, vec!["s4", "s0"]),
        (neither, vec![]),
    ] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let (wanted, page) = (filter.clone(), Page { limit: 1, cursor });
            let listed = look(&store, move |tx| tx.scans(&id("e"), &wanted, &page)).await;
            seen.extend(listed.items.iter().map(|row| row.fact.scan.scan_id.to_string()));
            cursor = listed.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, found, "{filter:?}");
    }
}

/// `insert_scans` fails with `scan_exists` for a content that is stored. It fails with `Bug` for a scan that has
/// neither a code nor a picked ticket.
pub async fn a_scan_stored_twice_is_a_conflict(store: TestStore) {
    with_event(&store).await;
    with_scans(&store, vec![scan("e", "s1", "t1")]).await;
    let again = on_event(&store, |tx| tx.insert_scans(&[new_scan(scan("e", "s1", "t1"), 2)])).await;
    assert_eq!(conflict(again), "scan_exists");
    let twice = [new_scan(scan("e", "s2", "t1"), 2), new_scan(scan("e", "s2", "t1"), 2)];
    assert_eq!(conflict(on_event(&store, move |tx| tx.insert_scans(&twice)).await), "scan_exists");
    for raw_hash in [None, Some(code("raw"))] {
        let about_nothing = Scan { barcode_hash: None, raw_hash, ticket_id: None, ..scan("e", "s2", "t1") };
        let result = on_event(&store, move |tx| tx.insert_scans(&[new_scan(about_nothing.clone(), 3)])).await;
        assert!(matches!(result, Err(crate::error::Error::Bug(_))), "{result:?}");
    }
}

/// `facts` returns a scan for the ticket that a person picked, whatever code was read too. A code that belonged to
/// nobody then may be another guest's by now.
pub async fn a_pick_stands_whatever_code_was_read_beside_it(store: TestStore) {
    with_event(&store).await;
    let picked = Scan { raw_hash: Some(code("t2")), ..manual("e", "s1", "t1") };
    with_scans(&store, vec![picked]).await;
    assert_eq!(facts_of(&store, &[ticket_key("t1")]).await.len(), 1);
    assert_eq!(facts_of(&store, &[ticket_key("t2"), unknown("t2")]).await, []);
}

/// A write that fails after it stored and read scans leaves no scan behind. It hides no scan of the next write, which
/// takes the same serial.
pub async fn scans_of_a_failed_write_are_not_found(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1", "t2"]).await;
    with_scans(&store, vec![scan("e", "s0", "t1")]).await;
    for round in 0..3 {
        let failed: Result<()> = on_event(&store, move |tx| {
            let stamp = tx.stamp(&id("e"))?;
            tx.insert_scans(&[new_scan(scan("e", "lost", "t1"), stamp.serial)])?;
            assert_eq!(tx.facts(&id("e"), &[ticket_key("t1")])?.len(), 2 + round);
            Err(Error::not_found("the end"))
        })
        .await;
        assert!(failed.is_err());
        let kept = format!("s{}", round + 1);
        let new = scan("e", &kept, "t1");
        let seen = on_event(&store, move |tx| {
            let stamp = tx.stamp(&id("e"))?;
            tx.insert_scans(&[new_scan(new.clone(), stamp.serial)])?;
            tx.facts(&id("e"), &[ticket_key("t1")])
        });
        assert_eq!(seen.await.unwrap().len(), 2 + round);
        let names: Vec<String> = facts_of(&store, &[ticket_key("t1")])
            .await
            .into_iter()
            .map(|(_, fact)| fact.scan.scan_id.to_string())
            .collect();
        let expected: Vec<String> = (0..=round + 1).map(|n| format!("s{n}")).collect();
        assert_eq!(names, expected);
        assert_eq!(look(&store, |tx| tx.stored_ids(&id("e"), &[id("lost")])).await, []);
    }
}

/// A write stores more scans than a block holds, of several authors and logs. All are found, in the order of arrival.
pub async fn scans_of_many_blocks_are_found_in_order(store: TestStore) {
    with_event(&store).await;
    let names: Vec<String> = (0..300).map(|n| format!("t{n:03}")).collect();
    with_tickets(&store, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let author = |n: usize| if n % 70 == 69 { "d2" } else { "d1" };
    let of = |(n, name): (usize, &String)| Scan { device_id: id(author(n)), ..scan("e", &format!("s{n:03}"), name) };
    with_scans(&store, names.iter().enumerate().map(of).collect()).await;
    let subjects: Vec<String> = names.iter().map(|name| ticket_key(name)).collect();
    assert_eq!(facts_of(&store, &subjects).await.len(), 300);
    assert_eq!(look(&store, |tx| tx.subjects_with_scans(&id("e"))).await, subjects);
    let (mut cursor, mut found) = (None, Vec::new());
    loop {
        let page = Page { limit: 77, cursor };
        let listed = look(&store, move |tx| tx.scans(&id("e"), &ScanFilter::default(), &page)).await;
        found.extend(listed.items.into_iter().map(|row| row.fact.scan.scan_id.to_string()));
        cursor = listed.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let newest_first: Vec<String> = (0..300).rev().map(|n| format!("s{n:03}")).collect();
    assert_eq!(found, newest_first);
    let of_d2 = ScanFilter { device_id: Some(id("d2")), ..ScanFilter::default() };
    let listed = look(&store, move |tx| tx.scans(&id("e"), &of_d2, &page(9))).await;
    assert_eq!(
        listed.items.iter().map(|row| row.fact.scan.scan_id.as_str()).collect::<Vec<_>>(),
        ["s279", "s209", "s139", "s069"]
    );
}
