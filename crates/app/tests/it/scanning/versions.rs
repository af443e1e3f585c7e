//! Versions of a list: each change makes one, and none is stored (spec §5 "same version, same content, for ever").

use admit_app::guests::update::{GuestPatch, update};
use admit_app::manifests::{self, FetchCommand, FetchedManifest};
use admit_app::tickets::{self, NewGuest, NewTicket};
use admit_core::manifest::verify::{Expected, Manifest, read as read_list};
use admit_core::manifest::{Found, Index, content_hash};
use admit_core::rule::{Change, TicketBook, When};
use admit_core::ticket::TicketRules;

use super::*;

const GUESTS: usize = 10_000;
/// The numbers of edits after which the test looks at the list.
const LOOKS: [usize; 4] = [1, 2_500, 7_777, GUESTS];

fn list(world: &World, phone: &Phone<'_>, since: Option<u64>, compact: bool) -> Manifest {
    let command = FetchCommand { since, compact, ..FetchCommand::default() };
    let made = now(manifests::fetch(&world.app, &phone.caller, &world.event, command)).unwrap();
    let FetchedManifest::Body { large, tail, signature, .. } = made else { panic!("a list") };
    let body = [large.bytes.as_slice(), &tail].concat();
    let expected = Expected { organization_id: &world.owner.organization_id, event_id: &world.event };
    read_list(&body, Some(&signature), &phone.caller.api_key, expected).unwrap()
}

/// The codes and rules of every ticket, derived from the stored rules alone.
struct Told {
    codes: Vec<(BarcodeHash, TicketId)>,
    books: std::collections::BTreeMap<TicketId, TicketBook>,
}

impl Told {
    fn of(world: &World, ids: &[TicketId]) -> Self {
        let (event, ids) = (world.event.clone(), ids.to_vec());
        let told = read(&*world.app.store, &world.owner.organization_id, move |tx| {
            let codes = tx.tickets_by_id(&event, &ids)?;
            let codes = codes.into_iter().map(|ticket| (ticket.barcode_hashes[0], ticket.ticket_id)).collect();
            let mut books = std::collections::BTreeMap::<TicketId, TicketBook>::new();
            for rule in tx.load_rules(&event, &ids)?.tickets {
                if let Change::Ticket(ticket_id, change) = &rule.change {
                    books.entry(ticket_id.clone()).or_default().add(&rule, change);
                }
            }
            Ok(Self { codes, books })
        });
        let mut told = now(told).unwrap();
        told.codes.sort();
        told
    }
    /// The codes that were known at a version, with their tickets' rules.
    fn at(&self, version: u64) -> Vec<([u8; 16], &str, TicketRules)> {
        let known = |(hash, id): &'_ (BarcodeHash, TicketId)| {
            self.books[id].get(When::Known(version)).map(|rules| (hash.prefix(), rules))
        };
        let mut out = Vec::new();
        for code in &self.codes {
            out.extend(known(code).map(|(prefix, rules)| (prefix, code.1.as_str(), rules)));
        }
        out
    }
}

fn by_ref<'a>(codes: &'a [([u8; 16], &'a str, TicketRules)]) -> impl Iterator<Item = Found<'a>> {
    codes.iter().map(|(prefix, id, rules)| Found { prefix: *prefix, ticket_id: id, rules, group: None })
}

/// spec §5: 10,000 single-guest edits are 10,000 versions. For each the server stores its rule and its ledger line, and
/// no list. An old version can be derived from the rules with the hash it had, and a delta `since` it leads to the
/// newest.
#[test]
fn ten_thousand_edits_are_ten_thousand_versions_and_no_list_is_stored() {
    let world = World::new();
    let phone = world.phone("p", "main");
    let named = |n: usize| NewTicket {
        barcode: Some(format!("code-{n}")),
        guest: Some(NewGuest { name: format!("Guest {n}"), ..NewGuest::default() }),
        ..NewTicket::default()
    };
    let made = tickets::create(&world.app, &world.owner, world.event.clone(), (0..GUESTS).map(named).collect());
    let made = now(made).unwrap();
    let ids: Vec<TicketId> = made.iter().map(|(ticket, _)| ticket.ticket_id.clone()).collect();
    let before = (world.store.size(), head(&world));
    let mut seen = vec![list(&world, &phone, None, false)];
    for (n, (_, guest)) in made.iter().enumerate() {
        let patch = GuestPatch { party_size: Some(2 + n as u32 % 7), ..GuestPatch::default() };
        let guest_id = guest.as_ref().unwrap().guest_id.clone();
        now(update(&world.app, &world.owner, guest_id, patch)).unwrap();
        if LOOKS.contains(&(n + 1)) {
            seen.push(list(&world, &phone, None, n % 2 == 0));
        }
    }
    // Each edit is one version. A list that a phone fetches meanwhile is not stored either.
    assert_eq!(head(&world) - before.1, GUESTS as u64);
    let versions: Vec<u64> = seen.iter().map(|list| list.version - seen[0].version).collect();
    assert_eq!(versions[1..], LOOKS.map(|edits| edits as u64));
    let told = Told::of(&world, &ids);
    let rules = told.books.len();
    assert_eq!(rules, GUESTS);
    let an_edit = (world.store.size() - before.0) / GUESTS;
    assert!(an_edit < 2_000, "{an_edit} characters an edit; a list is {} thousand", GUESTS * 250 / 1_000);
    // The same version always has the same content.
    let newest = seen.last().unwrap().content_hash;
    for old in &seen {
        let codes = told.at(old.version);
        assert_eq!(content_hash(by_ref(&codes)), old.content_hash, "version {}", old.version);
        let base = Index::from_records(by_ref(&codes)).unwrap();
        for compact in [false, true] {
            let delta = list(&world, &phone, Some(old.version), compact);
            // Reading the delta checks that it leads to the hash it names.
            let index = delta.into_index(Some((&base, old.version))).unwrap();
            assert_eq!((index.len(), index.content_hash()), (GUESTS, newest), "since {}", old.version);
        }
    }
}
