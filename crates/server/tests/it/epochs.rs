//! The effect of an epoch's end on scans that claim knowledge which the server lost (spec §3 "Epoch and witness"), on
//! both stores.

use admit_app::epochs;
use admit_app::ports::read;
use admit_app::scans::rebuild;
use admit_core::rule::Epoch;
use admit_core::scan::{Basis, Outcome};
use admit_core::sign::witness_mac;
use admit_core::ticket::TicketStatus;
use admit_core::wire::scanning::Witness;

use crate::device::Phone;
use crate::server::{TestServer, json};

async fn differences(server: &TestServer) -> Vec<String> {
    let (org, event_id) = (&server.home.owner.organization_id, &server.home.event_id);
    rebuild::check(&server.state.app, org, event_id).await.unwrap().lines
}

/// A phone that decided by a rule which the server then lost. It claims to know the serial `lost`. Before the server
/// knows of the loss, the phone's answer contradicts that claim; afterwards nobody can repeat the decision.
async fn decided_by_a_lost_future(server: &TestServer) -> (Phone, u64) {
    let mut phone = Phone::pair(server, &server.home, "a").await;
    let path = format!("/api/scanning/events/{}/manifest", phone.event_id());
    let list = json(phone.bearer(server.get(&path)).send().await.unwrap(), 200).await;
    let (version, serial) = (list["manifest_version"].as_u64().unwrap(), list["serial"].as_u64().unwrap());
    let (epoch, lost) = (phone.log.paired.epoch, serial + 100);
    let now = server.state.app.clock.now();
    // The lost rules voided the first ticket. The scan of the second ticket claims nothing that was lost.
    let refused = phone.log.scan_as(&server.home.barcodes[0], Outcome::Invalid, now, |scan| {
        (scan.epoch, scan.manifest_version, scan.cursor) = (Some(epoch), version, lost);
        scan.basis =
            Some(Basis { within: 0, inside: 0, spent: 0, last_entry_at: None, status: Some(TicketStatus::Voided) });
    });
    let plain = phone.scan(&server.home.barcodes[1], Outcome::Valid, now.plus_ms(1));
    let batch = phone.batch(vec![refused, plain]);
    json(phone.sync(server, &batch).await, 200).await;
    assert_eq!(differences(server).await, [""; 0]);
    (phone, lost)
}

async fn head(server: &TestServer) -> u64 {
    let (org, event_id) = (&server.home.owner.organization_id, server.home.event_id.clone());
    read(&*server.state.app.store, org, move |tx| tx.head(&event_id)).await.unwrap().serial
}

#[tokio::test]
async fn scans_that_claim_a_lost_future_are_judged_anew_when_it_is_known_to_be_lost() {
    let server = TestServer::start().await;
    let (phone, lost) = decided_by_a_lost_future(&server).await;
    let (epoch, event_id, audit_head) = (phone.log.paired.epoch, phone.event_id().clone(), [9; 32]);
    let mac = witness_mac(server.state.app.secret.witness_key(), epoch, &event_id, lost, &audit_head);
    let witness = Witness { epoch, event_id, serial: lost, audit_head, mac }.to_string();
    let path = format!("/api/scanning/events/{}/changes", phone.event_id());
    let show = || phone.bearer(server.get(&path)).header("x-admit-witness", &witness).send();
    let before = head(&server).await;
    assert_eq!(show().await.unwrap().status(), 200);
    assert!(server.state.app.store.epoch().await.unwrap() > epoch);
    assert_eq!(differences(&server).await, [""; 0], "every derived row is what the facts say by now");
    assert_eq!(head(&server).await, before + 1, "which has its place in the event's order");
    assert_eq!(show().await.unwrap().status(), 200);
    assert_eq!(head(&server).await, before + 1, "once is enough");
}

/// If the server ended after an epoch began and before all scans were judged, its next start judges the rest.
#[tokio::test]
async fn what_an_epoch_left_to_judge_is_judged_at_the_next_start() {
    let server = TestServer::start().await;
    let (phone, _) = decided_by_a_lost_future(&server).await;
    let (store, seen) = (&server.state.app.store, phone.log.paired.epoch);
    let next = Epoch { restored_at_ms: seen.restored_at_ms + 1, random: 7 };
    store.begin_epoch(seen, next).await.unwrap();
    assert_eq!(differences(&server).await.len(), 1, "the ticket whose scan claims what is known to be lost now");
    epochs::judge_anew(&server.state.app).await.unwrap();
    assert_eq!(differences(&server).await, [""; 0]);
    let place = head(&server).await;
    epochs::judge_anew(&server.state.app).await.unwrap();
    assert_eq!(head(&server).await, place, "once is enough");
}
