//! The contracts about removing gates, and about counting their uses.

use admit_core::ticket::TicketRules;

use super::fixture::{TestStore, at, event, id, look, make_event, on_event, ticket, with_event};
use crate::error::Error;
use crate::records::{MinuteFlow, TicketRecord};

/// `delete_gate` removes the gate from the given event only. A second call fails with `NotFound`.
pub async fn a_gate_is_removed(store: TestStore) {
    with_event(&store).await;
    make_event(&store, "o", event("f", 1)).await;
    on_event(&store, |tx| {
        tx.insert_gate(&id("e"), &id("north"), at(1))?;
        tx.insert_gate(&id("f"), &id("north"), at(1))?;
        tx.insert_gate(&id("e"), &id("south"), at(1))
    })
    .await
    .unwrap();
    on_event(&store, |tx| tx.delete_gate(&id("e"), &id("north"))).await.unwrap();
    assert_eq!(look(&store, |tx| tx.gate_ids(&id("e"))).await, [id("south")]);
    assert_eq!(look(&store, |tx| tx.gate_ids(&id("f"))).await, [id("north")]);
    let again = on_event(&store, |tx| tx.delete_gate(&id("e"), &id("north"))).await;
    assert_eq!(again, Err(Error::NotFound { what: "gate" }));
}

/// `count_tickets_of_gate` counts the tickets that name the gate's whole id. `north` does not match `north-2`, and `_`
/// matches only itself. `gate_has_flow` returns whether any minute of the gate is stored, also one with a refusal only.
pub async fn what_uses_a_gate_is_counted(store: TestStore) {
    with_event(&store).await;
    let limited = |name: &str, gates: &[&str]| {
        let held = ticket("e", name);
        let gate_ids = gates.iter().map(|gate| id(gate)).collect();
        TicketRecord { rules: TicketRules { gate_ids, ..held.rules.clone() }, ..held }
    };
    let tickets =
        [limited("a", &["north", "vip_1"]), limited("b", &["north-2"]), limited("c", &["north"]), limited("d", &[])];
    let flow =
        [MinuteFlow { at: at(60_000), gate_id: id("south"), entered: 0, exited: 0, refused: 1, without_ticket: 0 }];
    on_event(&store, move |tx| {
        tx.insert_tickets(&tickets)?;
        tx.add_flow(&id("e"), &flow)
    })
    .await
    .unwrap();
    for (gate, count) in [("north", 2), ("north-2", 1), ("vip_1", 1), ("vip-1", 0), ("south", 0)] {
        assert_eq!(look(&store, move |tx| tx.count_tickets_of_gate(&id("e"), &id(gate))).await, count, "{gate}");
    }
    assert!(look(&store, |tx| tx.gate_has_flow(&id("e"), &id("south"))).await);
    assert!(!look(&store, |tx| tx.gate_has_flow(&id("e"), &id("north"))).await);
}
