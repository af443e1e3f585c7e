//! The contracts about lists of guests: their orders, filters and counts.

use std::collections::BTreeMap;

use admit_core::barcode::BarcodeHash;
use admit_core::job::RunState;
use admit_core::short_code::ShortCode;
use admit_core::ticket::TicketStatus;

use super::fixture::{TestStore, at, event, guest, id, look, make_event, on_event, ticket, with_event};
use super::states::{state, verdict};
use crate::passes::KIND;
use crate::ports::{GuestFilter, GuestSort, PassMail, Sought, Standing};
use crate::records::{GuestCount, GuestListRecord, GuestRecord, Page, RunRecord};

/// A run about a guest, in this state.
fn run(guest: &str, place: i64, state: RunState, problem: Option<&str>) -> RunRecord {
    RunRecord {
        run_id: format!("run-{guest}-{place}"),
        kind: KIND.into(),
        event_id: id("e"),
        subject: format!("guest-{guest}"),
        input: "{}".into(),
        state,
        tries: 0,
        step: None,
        problem: problem.map(str::to_owned),
        next_at: None,
        created_at: at(place),
        updated_at: at(place),
    }
}

/// Six guests: Zoë and Ana came, and Ana left again. Bo's ticket is void, Cy's was refunded after an entry. Di and Ed
/// are to come. Another event has a guest of Ana's name, whom no query of this event may give.
async fn six(store: &TestStore) {
    with_event(store).await;
    make_event(store, "o", event("f", 1)).await;
    let named = [("z", "Zoë"), ("a", "ana"), ("b", "Bo"), ("c", "Cy"), ("d", "Di"), ("e", "Éd")];
    let statuses = BTreeMap::from([("b", TicketStatus::Voided), ("c", TicketStatus::Refunded)]);
    let (mut tickets, mut guests) = (Vec::new(), Vec::new());
    for (place, (name, full)) in (1..).zip(named) {
        let mut held = ticket("e", name);
        held.rules.status = statuses.get(name).copied().unwrap_or(TicketStatus::Active);
        tickets.push(held);
        let list = matches!(name, "z" | "a" | "b").then(|| id("crew"));
        let entry_type = (name != "e").then(|| id("vip"));
        let made = GuestRecord {
            guest_list_id: list,
            entry_type_id: entry_type,
            created_at: at(place),
            ..guest("e", name, full)
        };
        guests.push(GuestRecord { external_id: None, email: Some(format!("{name}@example.org")), ..made });
    }
    on_event(store, move |tx| {
        tx.insert_tickets(&tickets)?;
        tx.insert_guests(&guests)?;
        let came = |name: &str, ms: i64, inside: u32| {
            let mut state = state(&format!("ticket:{name}"), 1);
            state.state.entries[0].at = at(ms);
            state.state.inside_within = inside;
            (state, vec![verdict(&format!("s-{name}"), name)])
        };
        tx.put_states(&id("e"), &[came("z", 10, 1), came("a", 30, 0), came("c", 20, 1)])
    })
    .await
    .unwrap();
    let other = crate::ports::Scope::event(&id("o"), &id("f"));
    let elsewhere = GuestRecord { guest_id: id("guest-other"), ticket_id: None, ..guest("f", "x", "Ana") };
    crate::ports::write(&**store, other, move |tx| tx.insert_guests(std::slice::from_ref(&elsewhere))).await.unwrap();
}

async fn found(store: &TestStore, filter: GuestFilter, sort: GuestSort) -> Vec<String> {
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let (filter, asked) = (filter.clone(), Page { limit: 2, cursor });
        let listed = look(store, move |tx| tx.guests(&id("e"), &filter, sort, &asked)).await;
        seen.extend(listed.items.iter().map(|(guest, _)| guest.guest_id.as_str().replace("guest-", "")));
        let Some(next) = listed.next_cursor else { return seen };
        cursor = Some(next);
    }
}

/// `guests` returns pages that follow each other without a gap, by name, by time of creation, and by newest entry.
/// Guests who are equal in that order are ordered by id. `guests` fails for a cursor of another order, and for one that
/// it did not return.
pub async fn guests_are_paged_in_each_order(store: TestStore) {
    six(&store).await;
    let all = GuestFilter::default;
    assert_eq!(found(&store, all(), GuestSort::Name).await, ["a", "b", "c", "d", "e", "z"]);
    assert_eq!(found(&store, all(), GuestSort::Added).await, ["e", "d", "c", "b", "a", "z"]);
    assert_eq!(found(&store, all(), GuestSort::Last).await, ["a", "c", "z", "e", "d", "b"]);
    let twins = vec![guest("e", "t1", "Same. Name"), guest("e", "t2", "Same. Name"), guest("e", "t3", "Same. Name")];
    on_event(&store, move |tx| tx.insert_guests(&twins)).await.unwrap();
    let same = GuestFilter { text: Some("same. n".into()), ..GuestFilter::default() };
    for (sort, order) in [(GuestSort::Name, ["t1", "t2", "t3"]), (GuestSort::Last, ["t3", "t2", "t1"])] {
        assert_eq!(found(&store, same.clone(), sort).await, order, "{sort:?}");
    }
    let wrong = |cursor: &str, sort: GuestSort| {
        let (asked, store) = (Page { limit: 2, cursor: Some(cursor.to_owned()) }, store.clone());
        async move { crate::ports::read(&*store, &id("o"), move |tx| tx.guests(&id("e"), &all(), sort, &asked)).await }
    };
    for (cursor, sort) in [
        ("5.guest-a", GuestSort::Name),
        ("t9.x", GuestSort::Name),
        ("t1.a416e61", GuestSort::Added),
        ("t1.a4", GuestSort::Name),
        ("t1.a+1", GuestSort::Name),
    ] {
        assert!(wrong(cursor, sort).await.is_err(), "{cursor} {sort:?}");
    }
}

/// `guests` filters by the state of the guest, by text, by entry type, and by the newest run about the guest's pass.
/// The text may be a part of the name, the beginning of an e-mail, id or order, a whole code or a short code.
pub async fn guests_are_filtered_by_what_is_known_of_them(store: TestStore) {
    six(&store).await;
    let by = |standing| GuestFilter { standing: Some(standing), ..GuestFilter::default() };
    for (standing, names) in [
        (Standing::Inside, vec!["c", "z"]),
        (Standing::Came, vec!["a", "c", "z"]),
        (Standing::NotCome, vec!["d", "e"]),
        (Standing::Voided, vec!["b", "c"]),
    ] {
        assert_eq!(found(&store, by(standing), GuestSort::Name).await, names, "{standing:?}");
    }
    let text = |text: &str| GuestFilter { text: Some(text.into()), ..GuestFilter::default() };
    for (asked, names) in
        [("sale-Z", vec!["z"]), ("code-b", vec!["b"]), ("code-", vec![]), ("C@EXAMPLE", vec!["c"]), ("ED", vec!["e"])]
    {
        assert_eq!(found(&store, text(asked), GuestSort::Name).await, names, "{asked}");
    }
    let short = ShortCode::of(&BarcodeHash::of("code-b")).to_string();
    assert_eq!(found(&store, text(&short), GuestSort::Name).await, ["b"], "by the short code");
    let typed =
        GuestFilter { entry_type_id: Some(id("vip")), standing: Some(Standing::NotCome), ..GuestFilter::default() };
    assert_eq!(found(&store, typed, GuestSort::Added).await, ["d"]);
    let runs = [
        run("a", 1, RunState::GaveUp, Some("no such mailbox")),
        run("a", 2, RunState::Done, None),
        run("b", 1, RunState::Open, Some("later")),
        run("c", 3, RunState::GaveUp, Some("no such mailbox")),
        run("d", 1, RunState::Done, Some("no e-mail address")),
        RunRecord { run_id: "run-other".into(), kind: "other".into(), ..run("e", 1, RunState::GaveUp, None) },
    ];
    on_event(&store, move |tx| tx.insert_runs(&runs)).await.unwrap();
    let mail = |mail| GuestFilter { mail: Some(mail), ..GuestFilter::default() };
    for (where_it_is, names) in
        [(PassMail::Refused, vec!["c"]), (PassMail::Waiting, vec!["b"]), (PassMail::Sent, vec!["a"])]
    {
        assert_eq!(found(&store, mail(where_it_is), GuestSort::Name).await, names, "{where_it_is:?}");
    }
}

/// `count_guests` counts the same guests as `guests` lists, by guest list and entry type. `count_unsent_passes` and
/// `count_sent_passes` count guests by the newest run about their pass. `count_guests` and `count_unsent_passes` can be
/// limited by a text and a promoter, as `guests` can.
pub async fn guests_are_counted_as_they_are_listed(store: TestStore) {
    six(&store).await;
    let counts = look(&store, |tx| tx.count_guests(&id("e"), None, None)).await;
    let (list, kind) = (Some(id("crew")), Some(id("vip")));
    let crew = GuestCount {
        guest_list_id: list,
        entry_type_id: kind.clone(),
        guests: 3,
        persons: 6,
        expected: 4,
        inside: 1,
        came: 2,
        not_come: 0,
        voided: 1,
    };
    let vip = GuestCount {
        guest_list_id: None,
        entry_type_id: kind,
        guests: 2,
        persons: 4,
        expected: 2,
        inside: 1,
        came: 1,
        not_come: 1,
        voided: 1,
    };
    let rest = GuestCount { guests: 1, persons: 2, expected: 2, not_come: 1, ..GuestCount::default() };
    assert_eq!(counts, [rest, vip, crew]);
    let counted = async |text: &'static str| {
        let counts = look(&store, move |tx| tx.count_guests(&id("e"), Some(&text.into()), None)).await;
        counts.iter().map(|one| one.guests).sum::<u64>()
    };
    for (text, count) in [("bo", 1), ("sale-Z", 1), ("code-b", 1), ("C@EXAMPLE", 1), ("zzz", 0)] {
        assert_eq!(counted(text).await, count, "{text}");
    }
    assert_eq!(look(&store, |tx| tx.count_guests(&id("none"), None, None)).await, []);
    let runs = [
        run("a", 1, RunState::GaveUp, None),
        run("a", 2, RunState::Done, None),
        run("b", 1, RunState::Open, None),
        run("c", 1, RunState::Done, None),
        run("c", 2, RunState::GaveUp, None),
        run("d", 1, RunState::Done, Some("no e-mail address")),
        RunRecord { run_id: "run-other".into(), kind: "other".into(), ..run("e", 1, RunState::GaveUp, None) },
    ];
    let house = GuestListRecord {
        guest_list_id: id("crew"),
        event_id: id("e"),
        name: "Crew".into(),
        promoter_id: Some(id("pat")),
        created_at: at(1),
    };
    on_event(&store, move |tx| {
        tx.insert_guest_list(&house)?;
        tx.insert_runs(&runs)
    })
    .await
    .unwrap();
    let unsent = async |text: Option<&'static str>, promoter: Option<&'static str>| {
        let promoter = promoter.map(id);
        let counts = look(&store, move |tx| {
            tx.count_unsent_passes(&id("e"), text.map(Sought::from).as_ref(), promoter.as_ref())
        })
        .await;
        (counts.refused, counts.waiting)
    };
    assert_eq!(unsent(None, None).await, (1, 1));
    assert_eq!(unsent(Some("bo"), None).await, (0, 1));
    assert_eq!(unsent(None, Some("pat")).await, (0, 1), "Cy is on no list");
    assert_eq!(unsent(None, Some("kim")).await, (0, 0));
    assert_eq!(look(&store, |tx| tx.count_sent_passes(&id("e"))).await, 1);
    let pats = look(&store, |tx| tx.count_guests(&id("e"), None, Some(&id("pat")))).await;
    assert_eq!(pats.iter().map(|one| one.guests).sum::<u64>(), 3);
}
