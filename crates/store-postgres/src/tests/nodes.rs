//! Tests of two nodes on one database.

use super::*;

/// Each of two nodes keeps in memory an index of the stored scans. Before a node looks anything up, it reads the blocks
/// that the other stored meanwhile.
#[test]
fn a_node_finds_what_the_other_stored_meanwhile() {
    let address = shared().database();
    let nodes = [open(&address), open(&address)];
    drive(async {
        with_event(&nodes[0]).await;
        with_tickets(&nodes[0], &["t1"]).await;
        for n in 0..6 {
            let (writer, other) = (&nodes[n % 2], &nodes[(n + 1) % 2]);
            let name = format!("s{n}");
            with_scans(writer, vec![scan("e", &name, "t1")]).await;
            let again = name.clone();
            let known = look(other, move |tx| tx.stored_ids(&id("e"), &[id(&name)])).await;
            assert_eq!(known.len(), 1, "{n}");
            let twice = on_event(other, move |tx| {
                let stamp = tx.stamp(&id("e"))?;
                tx.insert_scans(&[new_scan(scan("e", &again, "t1"), stamp.serial)])
            });
            assert_eq!(conflict(twice.await), "scan_exists", "{n}");
            let facts = on_event(other, |tx| tx.facts(&id("e"), &["ticket:t1".to_owned()])).await.unwrap();
            assert_eq!(facts.len(), n + 1);
        }
    });
}

/// Each of two nodes knows in memory where the states stand. Before a node looks for the newest state of a subject, it
/// reads the blocks that the other stored meanwhile.
#[test]
fn a_node_finds_the_state_that_the_other_stored_meanwhile() {
    let address = shared().database();
    let nodes = [open(&address), open(&address)];
    drive(async {
        with_event(&nodes[0]).await;
        for n in 1..7 {
            let (writer, other) = (&nodes[n % 2], &nodes[(n + 1) % 2]);
            let new = vec![(states::state("ticket:t1", n as u64), vec![states::verdict("s1", "t1"); n])];
            let stored = new.clone();
            on_event(writer, move |tx| tx.put_states(&id("e"), &stored)).await.unwrap();
            let asked = ["ticket:t1".to_owned()];
            assert_eq!(look(other, move |tx| tx.judged_states(&id("e"), &asked)).await, new, "{n}");
        }
    });
}
