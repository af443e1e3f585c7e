//! The same batch is sent to two nodes at once.

use std::collections::BTreeSet;

use admit_app::ports::read;
use admit_core::scan::Outcome;
use admit_server::Settings;
use futures_util::future::join_all;

use crate::device::Phone;
use crate::pair::Pair;
use crate::private_redis;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_batch_sent_to_two_nodes_at_once_is_processed_once() {
    let settings = Settings {
        redis_url: Some(private_redis::shared().url()),
        several_nodes: true,
        syncs_per_minute: 10_000,
        ..Settings::default()
    };
    let nodes = Pair::start(settings).await;
    let mut phone = Phone::pair(&nodes.first, &nodes.first.home, "a").await;
    let now = nodes.second.app.clock.now().plus_ms(-60_000);
    const ROUNDS: usize = 25;
    for round in 0..ROUNDS {
        let at = now.plus_ms(round as i64 * 10);
        let scans = (0..3).map(|i| phone.scan(&nodes.first.home.barcodes[i], Outcome::Valid, at.plus_ms(i as i64)));
        let scans = scans.collect();
        let batch = phone.batch(scans);
        let answers = join_all((0..4).map(|n| nodes.sync(n % 2, &phone, &batch))).await;
        let mut bodies = BTreeSet::new();
        for answer in answers {
            assert_eq!(answer.status(), 200);
            bodies.insert(answer.text().await.unwrap());
        }
        assert_eq!(bodies.len(), 1, "every repeat gets the same bytes: {bodies:?}");
    }
    let event_id = nodes.first.home.event_id.clone();
    let organization_id = &nodes.first.home.owner.organization_id;
    let (lines, inside, entered) = read(&*nodes.second.app.store, organization_id, move |tx| {
        let page = admit_app::records::Page { limit: 500, cursor: None };
        let lines = tx.audit(Some(&event_id), None, &page)?.items;
        let done = lines.iter().filter(|line| line.line.action == "batch_sync_completed").count();
        let counters = tx.occupancy(&event_id)?;
        Ok((done, counters.inside, counters.entered + counters.over))
    })
    .await
    .unwrap();
    assert_eq!(lines, ROUNDS, "a line of the ledger for each batch");
    assert_eq!((inside, entered), (3, 3 * ROUNDS as i64), "each scan counts once");
}
