//! The sum of a journal's rows, tested without a whole phone.

use admit_core::device::journal::Journal;
use admit_core::ids::{DeviceId, EventId, GateId, KeyId, OrganizationId};
use admit_core::rule::Epoch;
use admit_core::wire::journal::{Entry, Paired};

use super::unsent::{row, scan};

fn epoch(n: i64) -> Epoch {
    Epoch { restored_at_ms: n, random: 1 }
}
fn event(id: &str) -> EventId {
    EventId::new(id).unwrap()
}
fn add_up(rows: impl IntoIterator<Item = Entry>) -> Journal {
    let mut journal = Journal::default();
    rows.into_iter().for_each(|row| journal.apply(row));
    journal
}
/// The list by which an event's scans are decided from here on.
fn list(of: &str, began: i64, version: u64, content_hash: &str) -> Entry {
    Entry::List {
        event_id: event(of),
        epoch: epoch(began),
        version,
        content_hash: content_hash.into(),
        ends_at_ms: None,
    }
}
/// A journal row with a scan that was decided by the list `version` of the epoch that began at `began`.
fn decided_by(began: i64, version: u64) -> Entry {
    let mut scan = scan(1, 1, false);
    (scan.epoch, scan.manifest_version) = (Some(epoch(began)), version);
    row(scan)
}
fn paired(began: Option<i64>) -> Entry {
    Entry::Paired(Box::new(Paired {
        moved: false,
        server: None,
        device_id: DeviceId::new("device").unwrap(),
        name: "North".into(),
        api_key: "key".into(),
        key_id: KeyId::new("key").unwrap(),
        organization_id: OrganizationId::new("org").unwrap(),
        event_id: event("event"),
        gate_id: GateId::new("north").unwrap(),
        epoch: began.map(epoch),
    }))
}

/// Trust I15: a phone never takes a list older than one it used. So the journal remembers the newest list, whether a
/// list row or a scan row names it.
#[test]
fn the_newest_list_ever_used_is_remembered_by_its_row_or_by_a_scan_that_it_decided() {
    type Newest = Option<(i64, u64, Option<&'static str>)>;
    let table: [(Vec<Entry>, Newest); 9] = [
        (vec![decided_by(1, 5)], Some((1, 5, None))),
        (vec![decided_by(1, 0)], None),
        (vec![decided_by(1, 5), list("event", 1, 5, "five")], Some((1, 5, Some("five")))),
        (vec![list("event", 1, 5, "five"), decided_by(1, 5)], Some((1, 5, Some("five")))),
        (vec![list("event", 1, 7, "seven"), decided_by(1, 5)], Some((1, 7, Some("seven")))),
        (vec![list("event", 1, 7, "seven"), list("event", 1, 5, "five")], Some((1, 7, Some("seven")))),
        (vec![list("event", 1, 5, "five"), decided_by(1, 7)], Some((1, 7, None))),
        (vec![list("event", 1, 7, "seven"), list("event", 2, 3, "three")], Some((2, 3, Some("three")))),
        (vec![list("another", 1, 7, "seven")], None),
    ];
    for (rows, newest) in table {
        let said = format!("{rows:?}");
        let journal = add_up(rows);
        let held = journal.lists.get(&event("event"));
        let held = held.map(|mark| (mark.epoch.restored_at_ms, mark.version, mark.content_hash.as_deref()));
        assert_eq!(held, newest, "{said}");
    }
}

/// A person who pairs chooses the server. A list of a later epoch, from another database at the same address, does not
/// belong to that server.
#[test]
fn a_pairing_forgets_the_lists_of_later_epochs_than_its_own_and_keeps_the_others() {
    let rows = || [list("before", 1, 3, "a"), list("same", 2, 3, "b"), list("later", 3, 3, "c")];
    let kept = |pairing| {
        let journal = add_up(rows().into_iter().chain([pairing]));
        journal.lists.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(kept(paired(Some(2))), ["before", "same"]);
    assert_eq!(kept(paired(None)), ["before", "later", "same"], "a server that names no epoch says nothing of them");
}
