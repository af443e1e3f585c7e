//! The contracts about tickets, codes and guests.

use std::collections::BTreeSet;

use admit_core::barcode::BarcodeHash;
use admit_core::ids::GuestListId;
use admit_core::limits::{ID_CHARS, NAME_CHARS};
use admit_core::short_code::ShortCode;
use admit_core::ticket::TicketStatus;
use serde_json::Value;

use super::fixture::{
    TestStore, at, code, conflict, event, guest, id, look, make_event, on_event, page, scope, ticket, with_event,
    with_organization, with_tickets,
};
use crate::checks::EMAIL_CHARS;
use crate::ports::{GuestFilter, GuestSort, Sought, TicketFilter, read, write};
use crate::records::{GuestListRecord, GuestRecord, Page, TicketCounts, TicketRecord};
use crate::tickets::keys;

/// `ticket` and `tickets_by_id` return every field as `insert_tickets` and `update_tickets` stored it, and nothing for
/// an unknown id or another event. `count_tickets` returns the number of tickets, and of persons whom the active ones
/// admit. `insert_tickets` fails with `ticket_exists` for an id that exists.
pub async fn tickets_come_back_as_they_were_made(store: TestStore) {
    with_event(&store).await;
    let bare = TicketRecord {
        barcode: None,
        drawn: true,
        import_key: None,
        order_id: None,
        guest_id: Some(id("g")),
        barcode_hashes: vec![code("x"), code("y")],
        ..ticket("e", "bare")
    };
    let both = vec![ticket("e", "full"), bare.clone()];
    let stored = both.clone();
    on_event(&store, move |tx| tx.insert_tickets(&stored)).await.unwrap();
    assert_eq!(look(&store, |tx| tx.ticket(&id("full"))).await, Some(both[0].clone()));
    assert_eq!(look(&store, |tx| tx.ticket(&id("none"))).await, None);
    let found = look(&store, |tx| tx.tickets_by_id(&id("e"), &[id("full"), id("none"), id("bare"), id("full")])).await;
    assert_eq!(found, [bare.clone(), both[0].clone()]);
    assert_eq!(look(&store, |tx| tx.tickets_by_id(&id("other"), &[id("full")])).await, []);
    assert_eq!(look(&store, |tx| tx.count_tickets(&id("e"))).await, (2, 4));
    let mut changed = bare;
    changed.rules.status = TicketStatus::Voided;
    changed.rules.entry_limit = 5;
    changed.rules_serial = 9;
    changed.order_id = Some("Sale-2".into());
    let stored = changed.clone();
    on_event(&store, move |tx| tx.update_tickets(std::slice::from_ref(&stored))).await.unwrap();
    assert_eq!(look(&store, |tx| tx.ticket(&id("bare"))).await, Some(changed));
    assert_eq!(look(&store, |tx| tx.count_tickets(&id("e"))).await, (2, 2), "a voided ticket admits nobody");
    let twin = TicketRecord { barcode_hashes: vec![], import_key: None, ..ticket("e", "full") };
    let result = on_event(&store, move |tx| tx.insert_tickets(std::slice::from_ref(&twin))).await;
    assert_eq!(conflict(result), "ticket_exists");
}

/// `insert_tickets` and `update_tickets` fail with `barcode_taken` for a code that another ticket of the event ever
/// had. Another event may use the code.
pub async fn a_code_is_never_given_to_another_ticket(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    with_tickets(&store, &["t1", "t2"]).await;
    let thief = TicketRecord { barcode_hashes: vec![code("t1")], ..ticket("e", "t3") };
    let inserted = thief.clone();
    let result = on_event(&store, move |tx| tx.insert_tickets(std::slice::from_ref(&inserted))).await;
    assert_eq!(conflict(result), "barcode_taken");
    assert_eq!(look(&store, |tx| tx.ticket(&id("t3"))).await, None);
    let changed = TicketRecord { barcode_hashes: vec![code("t2"), code("t1")], ..ticket("e", "t2") };
    let result = on_event(&store, move |tx| tx.update_tickets(std::slice::from_ref(&changed))).await;
    assert_eq!(conflict(result), "barcode_taken");
    let elsewhere = TicketRecord { event_id: id("f"), ..thief };
    let insert = move |tx: &mut dyn crate::ports::Tx| tx.insert_tickets(std::slice::from_ref(&elsewhere));
    write(&*store, scope("o", "f"), insert).await.unwrap();
    assert_eq!(look(&store, |tx| tx.find_codes(&id("f"), &[code("t1")])).await, [(code("t1"), id("t3"))]);
}

/// `find_codes` finds a ticket by its new code and by every former one. It returns nothing for an unknown code.
pub async fn a_ticket_keeps_every_code_it_held(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1"]).await;
    let new = TicketRecord { barcode_hashes: vec![code("t1"), code("new")], ..ticket("e", "t1") };
    let stored = new.clone();
    on_event(&store, move |tx| tx.update_tickets(std::slice::from_ref(&stored))).await.unwrap();
    assert_eq!(look(&store, |tx| tx.ticket(&id("t1"))).await, Some(new));
    let mut expected = vec![(code("t1"), id("t1")), (code("new"), id("t1"))];
    expected.sort();
    let asked = [code("new"), code("t1"), code("unknown")];
    assert_eq!(look(&store, move |tx| tx.find_codes(&id("e"), &asked)).await, expected);
}

/// `tickets` filters by text, by status, and by whether somebody entered. The text may be a part of the guest's name,
/// the beginning of an id, code or order, a whole code or a short code. `%` and `_` in it match only themselves.
/// `count_found_tickets` counts the tickets that the text finds. Each item has its guest and its state, if there are
/// any.
pub async fn tickets_are_found_by_text_status_and_entry(store: TestStore) {
    with_event(&store).await;
    let mut tickets: Vec<TicketRecord> = ["t1", "t2", "x3"].iter().map(|name| ticket("e", name)).collect();
    tickets[0].guest_id = Some(id("guest-t1"));
    tickets[1].rules.status = TicketStatus::Refunded;
    tickets[2].barcode_hashes.push(BarcodeHash::of("Given-Later"));
    let named = guest("e", "t1", "Zoë 100% O'Brien_");
    let stored = named.clone();
    on_event(&store, move |tx| {
        tx.insert_tickets(&tickets)?;
        tx.insert_guests(std::slice::from_ref(&stored))?;
        let mut state = super::states::state("ticket:x3", 1);
        state.state.within = 1;
        let verdict = super::states::verdict("s1", "x3");
        tx.put_states(&id("e"), &[(state, vec![verdict])])
    })
    .await
    .unwrap();
    let find = |filter: TicketFilter| {
        let store = store.clone();
        async move {
            let listed = look(&store, move |tx| tx.tickets(&id("e"), &filter, &page(10))).await;
            listed.items.iter().map(|(ticket, _, _)| ticket.ticket_id.to_string()).collect::<Vec<_>>()
        }
    };
    let text = |text: &str| TicketFilter { text: Some(text.into()), ..TicketFilter::default() };
    for (asked, found) in [
        ("zoë", vec!["t1"]),
        ("o'brien", vec!["t1"]),
        ("100%", vec!["t1"]),
        ("obrien 100", vec!["t1"]),
        ("brien_", vec!["t1"]),
        ("00%", vec![]),
        ("%", vec![]),
        ("o_r", vec![]),
        ("code-t", vec!["t2", "t1"]),
        ("x", vec!["x3"]),
        ("Given-Later", vec!["x3"]),
        ("Given-", vec![]),
        ("order-t1", vec!["t1"]),
        ("SALE-T", vec!["t2", "t1"]),
        ("ale-t", vec![]),
        ("3", vec![]),
    ] {
        assert_eq!(find(text(asked)).await, found, "{asked}");
    }
    let short = ShortCode::of(&BarcodeHash::of("Given-Later")).to_string();
    assert_eq!(find(text(&short)).await, ["x3"], "by its short code");
    let refunded = TicketFilter { status: Some(TicketStatus::Refunded), ..TicketFilter::default() };
    assert_eq!(find(refunded).await, ["t2"]);
    let entered = |entered| TicketFilter { entered: Some(entered), ..TicketFilter::default() };
    assert_eq!(find(entered(true)).await, ["x3"]);
    assert_eq!(find(entered(false)).await, ["t2", "t1"]);
    let count = |text: Option<&'static str>| {
        let store = store.clone();
        async move { look(&store, move |tx| tx.count_found_tickets(&id("e"), text.map(Sought::from).as_ref())).await }
    };
    let whole = TicketCounts { all: 3, to_come: 1, came: 1, voided: 0, refunded: 1 };
    assert_eq!(count(None).await, whole);
    assert_eq!(count(Some("code-t")).await, TicketCounts { all: 2, came: 0, ..whole });
    assert_eq!(count(Some("%")).await, TicketCounts::default());
    let all = look(&store, |tx| tx.tickets(&id("e"), &TicketFilter::default(), &page(10))).await;
    let parts: Vec<(bool, bool)> =
        all.items.iter().map(|(_, guest, state)| (guest.is_some(), state.is_some())).collect();
    assert_eq!(parts, [(false, true), (false, false), (true, false)]);
    assert_eq!(all.items[2].1, Some(named));
}

/// `tickets` returns pages that follow each other without a gap, even if many tickets were created at the same time.
pub async fn tickets_are_paged_without_a_gap(store: TestStore) {
    with_event(&store).await;
    let names: Vec<String> = (0..23).map(|n| format!("t{n:02}")).collect();
    let refs: Vec<&str> = names.iter().map(String::as_str).collect();
    with_tickets(&store, &refs).await;
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let asked = Page { limit: 5, cursor };
        let listed = look(&store, move |tx| tx.tickets(&id("e"), &TicketFilter::default(), &asked)).await;
        seen.extend(listed.items.iter().map(|(ticket, _, _)| ticket.ticket_id.to_string()));
        let Some(next) = listed.next_cursor else { break };
        cursor = Some(next);
    }
    let mut expected = names;
    expected.reverse();
    assert_eq!(seen, expected);
}

/// `tickets_by_import_key` finds tickets by their import keys. `insert_tickets` fails with `ticket_exists` for an
/// import key that the event has. Tickets without one don't clash.
pub async fn an_import_key_is_unique(store: TestStore) {
    with_event(&store).await;
    with_tickets(&store, &["t1", "t2"]).await;
    let asked = ["key-t2".to_owned(), "key-none".to_owned(), "key-t1".to_owned()];
    let found = look(&store, move |tx| tx.tickets_by_import_key(&id("e"), &asked)).await;
    assert_eq!(found, [ticket("e", "t1"), ticket("e", "t2")]);
    let twin = TicketRecord { import_key: Some("key-t1".into()), ..ticket("e", "t3") };
    let result = on_event(&store, move |tx| tx.insert_tickets(std::slice::from_ref(&twin))).await;
    assert_eq!(conflict(result), "ticket_exists");
    let keyless: Vec<TicketRecord> =
        ["t4", "t5"].iter().map(|name| TicketRecord { import_key: None, ..ticket("e", name) }).collect();
    on_event(&store, move |tx| tx.insert_tickets(&keyless)).await.unwrap();
}

/// `insert_tickets` stores and `tickets_by_import_key` finds the longest keys that an import makes: no database refuses
/// them as too long for its index. The characters of these test keys differ, so that the database cannot compress them.
pub async fn the_longest_import_keys_are_stored(store: TestStore) {
    let chars = |from: u32, count: usize| -> String {
        (from..).filter_map(char::from_u32).filter(|c| c.len_utf8() == 4).step_by(37).take(count).collect()
    };
    let long = |letter: &str| letter.repeat(ID_CHARS);
    let (event_id, list) = (long("e"), id::<GuestListId>(&long("l")));
    let organization = "o".repeat(ID_CHARS - "-owner".len());
    with_organization(&store, &organization).await;
    make_event(&store, &organization, event(&event_id, 1)).await;
    let email = chars(0x2_0000, EMAIL_CHARS);
    let by_name = keys::of_name(Some(&list), &chars(0x3_0000, NAME_CHARS), &email);
    let squares: String = ('\u{3300}'..='\u{3357}').cycle().take(NAME_CHARS).collect();
    let by_squares = keys::of_name(Some(&list), &squares, &email);
    let by_order = format!("order:{}/{}", chars(0x2_0000, ID_CHARS), chars(0x2_1000, ID_CHARS));
    let by_id = keys::of_external_id(&chars(0x2_0000, ID_CHARS));
    for (n, key) in [by_name, by_squares, by_order, by_id].into_iter().enumerate() {
        let key = keys::KeyScope::List(list.clone()).key(&key);
        let new = TicketRecord { import_key: Some(key.clone()), ..ticket(&event_id, &format!("t{n}")) };
        let stored = new.clone();
        write(&*store, scope(&organization, &event_id), move |tx| tx.insert_tickets(std::slice::from_ref(&stored)))
            .await
            .unwrap();
        let of = id(&event_id);
        let found =
            read(&*store, &id(&organization), move |tx| tx.tickets_by_import_key(&of, std::slice::from_ref(&key)))
                .await;
        assert_eq!(found.unwrap(), [new]);
    }
}

/// `guests_by_id` and `guests` return guests as `insert_guests` and `update_guests` stored them. `guests` returns each
/// with the state of the ticket, and filters by text and guest list.
pub async fn guests_are_found_and_changed(store: TestStore) {
    with_event(&store).await;
    let guests = vec![guest("e", "t1", "Ada Lovelace"), guest("e", "t2", "Grace Hopper")];
    let stored = guests.clone();
    on_event(&store, move |tx| tx.insert_guests(&stored)).await.unwrap();
    let found = look(&store, |tx| tx.guests_by_id(&[id("guest-t2"), id("guest-none"), id("guest-t1")])).await;
    assert_eq!(found, guests);
    let renamed = GuestRecord { name: "Coûntess".into(), email: None, updated_at: at(7_000), ..guests[0].clone() };
    let stored = renamed.clone();
    on_event(&store, move |tx| tx.update_guests(std::slice::from_ref(&stored))).await.unwrap();
    on_event(&store, |tx| {
        let state = super::states::state("ticket:t1", 1);
        tx.put_states(&id("e"), &[(state, vec![super::states::verdict("s1", "t1")])])
    })
    .await
    .unwrap();
    let listed = look(&store, |tx| tx.guests(&id("e"), &GuestFilter::default(), GuestSort::Added, &page(10))).await;
    let states: Vec<bool> = listed.items.iter().map(|(_, state)| state.is_some()).collect();
    assert_eq!(listed.items.iter().map(|(guest, _)| guest.clone()).collect::<Vec<_>>(), [guests[1].clone(), renamed]);
    assert_eq!(states, [false, true]);
    for (text, count) in
        [("COUNT", 1), ("cóüñt", 1), ("lovelace", 0), ("t2@", 1), ("T2@Example", 1), ("order-", 2), ("Order-T1", 1)]
    {
        let listed = read(&*store, &id("o"), move |tx| {
            let filter = GuestFilter { text: Some(text.into()), ..GuestFilter::default() };
            tx.guests(&id("e"), &filter, GuestSort::Name, &page(10))
        })
        .await
        .unwrap();
        assert_eq!(listed.items.len(), count, "{text}");
    }
    let count = async |filter: GuestFilter| {
        look(&store, move |tx| tx.guests(&id("e"), &filter, GuestSort::Last, &page(10))).await.items.len()
    };
    let list = guests[0].guest_list_id.clone();
    let on_list = guests.iter().filter(|guest| guest.guest_list_id == list).count();
    assert_eq!(
        count(GuestFilter { guest_list_id: list.clone(), ..GuestFilter::default() }).await,
        if list.is_some() { on_list } else { 2 }
    );
    assert_eq!(count(GuestFilter { guest_list_id: Some(id("nowhere")), ..GuestFilter::default() }).await, 0);
}

/// `guests` and `tickets` find a name by the same rules as a scanner: in every case of `vectors/names.json`.
pub async fn names_are_found_as_at_the_door(store: TestStore) {
    with_event(&store).await;
    let file: Value = serde_json::from_str(include_str!("../../../../vectors/names.json")).unwrap();
    let cases: Vec<&Value> =
        file["cases"].as_array().unwrap().iter().filter(|case| case["what"] == "find_name").collect();
    assert!(cases.len() > 20);
    let names: BTreeSet<&str> = cases.iter().filter_map(|case| case["in"]["name"].as_str()).collect();
    let codes: Vec<String> = (0..names.len()).map(|n| format!("n{n}")).collect();
    let guests: Vec<GuestRecord> = codes.iter().zip(&names).map(|(code, name)| guest("e", code, name)).collect();
    let hold = |(code, one): (&String, &GuestRecord)| TicketRecord {
        guest_id: Some(one.guest_id.clone()),
        ..ticket("e", code)
    };
    let tickets: Vec<TicketRecord> = codes.iter().zip(&guests).map(hold).collect();
    on_event(&store, move |tx| {
        tx.insert_tickets(&tickets)?;
        tx.insert_guests(&guests)
    })
    .await
    .unwrap();
    for case in cases {
        let (name, typed) = (case["in"]["name"].as_str().unwrap(), case["in"]["typed"].as_str().unwrap());
        let text = Some(Sought::from(typed));
        let guests = GuestFilter { text: text.clone(), ..GuestFilter::default() };
        let guests = look(&store, move |tx| tx.guests(&id("e"), &guests, GuestSort::Name, &page(99))).await.items;
        let tickets = TicketFilter { text, ..TicketFilter::default() };
        let tickets = look(&store, move |tx| tx.tickets(&id("e"), &tickets, &page(99))).await.items;
        let found = case["out"] != "not_found";
        assert_eq!(guests.iter().any(|(guest, _)| guest.name == name), found, "{case}");
        assert_eq!(tickets.iter().any(|(_, guest, _)| guest.as_ref().is_some_and(|g| g.name == name)), found, "{case}");
    }
}

/// With a promoter, `guests` returns only guests of that promoter's lists. Other guests don't affect where the next
/// page begins.
pub async fn a_promoters_guests_are_paged_as_if_there_were_no_others(store: TestStore) {
    with_event(&store).await;
    let list = |name: &str, promoter: Option<&str>| GuestListRecord {
        guest_list_id: id(name),
        event_id: id("e"),
        name: name.into(),
        promoter_id: promoter.map(id),
        created_at: at(1),
    };
    let lists = [list("own", Some("pat")), list("second", Some("pat")), list("house", None), list("kim", Some("kim"))];
    let on = [("a", Some("own")), ("b", Some("house")), ("c", Some("second")), ("d", Some("kim")), ("e", None)];
    let guests: Vec<GuestRecord> = (1..)
        .zip(on)
        .map(|(place, (name, list))| GuestRecord {
            guest_id: id(name),
            ticket_id: None,
            guest_list_id: list.map(id),
            created_at: at(place),
            ..guest("e", "t1", name)
        })
        .collect();
    on_event(&store, move |tx| {
        lists.iter().try_for_each(|list| tx.insert_guest_list(list))?;
        tx.insert_guests(&guests)
    })
    .await
    .unwrap();
    let of = async |promoter: &'static str, page: Page| {
        let filter = GuestFilter { promoter_id: Some(id(promoter)), ..GuestFilter::default() };
        let listed = look(&store, move |tx| tx.guests(&id("e"), &filter, GuestSort::Added, &page)).await;
        let ids: Vec<String> = listed.items.into_iter().map(|(guest, _)| guest.guest_id.to_string()).collect();
        (ids, listed.next_cursor)
    };
    let (first, cursor) = of("pat", page(1)).await;
    assert_eq!((first, cursor.as_deref()), (vec!["c".to_owned()], Some(format!("{}.c", at(3).ms()).as_str())));
    assert_eq!(of("pat", Page { limit: 1, cursor }).await, (vec!["a".to_owned()], None));
    assert_eq!(of("nobody", page(1)).await, (Vec::new(), None));
}

/// `manifest_rows` returns every code of the event with its ticket, in order of the code's hash. `manifest_rows_since`
/// returns those of tickets whose rules changed after a version.
pub async fn a_manifest_is_in_order_of_hash(store: TestStore) {
    with_event(&store).await;
    let mut tickets: Vec<TicketRecord> = ["t1", "t2", "t3"].iter().map(|name| ticket("e", name)).collect();
    tickets[1].barcode_hashes.push(code("t2-new"));
    tickets[1].rules_serial = 5;
    let stored = tickets.clone();
    on_event(&store, move |tx| tx.insert_tickets(&stored)).await.unwrap();
    let rows = look(&store, |tx| tx.manifest_rows(&id("e"))).await;
    let mut expected: Vec<(BarcodeHash, TicketRecord)> =
        tickets.iter().flat_map(|ticket| ticket.barcode_hashes.iter().map(|hash| (*hash, ticket.clone()))).collect();
    expected.sort_by_key(|(hash, _)| *hash);
    assert_eq!(rows, expected);
    let since = look(&store, |tx| tx.manifest_rows_since(&id("e"), 1)).await;
    expected.retain(|(_, ticket)| ticket.rules_serial == 5);
    assert_eq!(since, expected);
    assert_eq!(look(&store, |tx| tx.manifest_rows_since(&id("e"), 5)).await, []);
}

/// `names_since` returns the guests who hold a ticket now and whose row changed after a serial, in order of ticket.
/// `names_serial` returns the serial of the newest such change, and 0 without any.
pub async fn names_are_told_by_their_last_change(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    let serial = |store: &TestStore| {
        let store = store.clone();
        async move { look(&store, |tx| tx.names_serial(&id("e"))).await }
    };
    assert_eq!(serial(&store).await, 0, "nobody yet");
    let held = |name: &str| TicketRecord { guest_id: Some(id(&format!("guest-{name}"))), ..ticket("e", name) };
    let tickets = [held("t1"), held("t2"), ticket("e", "t3")];
    on_event(&store, move |tx| tx.insert_tickets(&tickets)).await.unwrap();
    let ticketless = GuestRecord { ticket_id: None, ..guest("e", "t4", "No Ticket") };
    let guests =
        vec![guest("e", "t2", "Grace Hopper"), guest("e", "t1", "Ada"), guest("e", "t3", "Held it once"), ticketless];
    let stored = guests.clone();
    on_event(&store, move |tx| tx.insert_guests(&stored)).await.unwrap();
    let first = serial(&store).await;
    let all = look(&store, |tx| tx.names_since(&id("e"), 0)).await;
    assert_eq!(all, [guests[1].clone(), guests[0].clone()], "in order of ticket");
    assert_eq!(look(&store, move |tx| tx.names_since(&id("e"), first)).await, []);
    let renamed = GuestRecord { name: "Countess".into(), ..guests[1].clone() };
    let stored = renamed.clone();
    on_event(&store, move |tx| tx.update_guests(std::slice::from_ref(&stored))).await.unwrap();
    assert!(serial(&store).await > first);
    assert_eq!(look(&store, move |tx| tx.names_since(&id("e"), first)).await, [renamed]);
    assert_eq!(look(&store, |tx| tx.names_since(&id("f"), 0)).await, [], "of that event alone");
}
