//! The connection to the database is cut between a commit and its answer. Nobody knows the result, so nothing is
//! acknowledged. The device sends again and finds its scans stored.

use admit_store_postgres::testing;
use futures_util::future::join_all;
use tokio::task::block_in_place;

use crate::between::Between;
use crate::database::{self, in_order};
use crate::hammer::Hammer;
use crate::serving::Folder;

const DEVICES: usize = 3;
const ROUNDS: usize = 10;

/// Checks that so many scans are stored. Each was acknowledged, so none of them is stored twice.
fn stored_once(address: &str, scans: u64) {
    let look = format!(
        // tidy-allow: what is in the database is looked at behind the store's back
        "DO $$ DECLARE found TEXT; BEGIN
            SELECT COALESCE(SUM(get_byte(block, 1)), 0) INTO found FROM scan_blocks; -- tidy-allow: the second byte counts
            ASSERT found = '{scans}', found; END $$"
    );
    block_in_place(|| testing::run_sql(address, &look).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_whose_commit_was_never_answered_is_not_acknowledged_and_its_repeat_is_stored_once() {
    let folder = Folder::new("cut-off");
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let (postgres, address) = block_in_place(|| {
        let postgres = testing::Server::start(true);
        let address = postgres.database();
        (postgres, address)
    });
    let superuser = postgres.as_superuser(&address);
    let between = Between::open(postgres.folder()).await;
    let server = database::serve(&client, &address, Some(&between.address(&address)), &folder.0).await;
    let url = server.url();
    let mut devices = Vec::new();
    for n in 0..DEVICES {
        devices.push(Hammer::pair(&client, &server, n).await);
    }
    for round in 0..ROUNDS {
        let kept_back = between.kept_back();
        between.cut(true);
        let answers = join_all(devices.iter_mut().map(|device| device.offer(&client, &url))).await;
        between.cut(false);
        for answer in answers {
            let (status, body) = answer.expect("whoever waits is told");
            assert_eq!((status, body["code"].as_str()), (503, Some("store_unavailable")), "round {round}: {body}");
        }
        assert!(between.kept_back() > kept_back, "no answer was kept back");
        // All scans are stored nevertheless.
        stored_once(&superuser, devices.iter().map(|device| device.log.seq).sum());
        for device in &mut devices {
            assert!((device.acknowledged.len() as u64) < device.log.seq, "nobody was told");
            let batch = device.open.clone();
            let (status, first) = device.offer(&client, &url).await.expect("an answer");
            assert_eq!(status, 200, "round {round}: {first}");
            assert_eq!(device.acknowledged.len() as u64, device.log.seq);
            device.open = batch;
            let (_, again) = device.offer(&client, &url).await.expect("an answer");
            assert_eq!(again, first, "a repeat has the same answer");
        }
        stored_once(&superuser, devices.iter().map(|device| device.log.seq).sum());
    }
    println!("{ROUNDS} rounds of {DEVICES} batches, {} answers kept back", between.kept_back());
    for device in &mut devices {
        device.hand_over(&client, &url).await;
    }
    server.kill().await;
    block_in_place(|| in_order(&address, &folder.0));
    block_in_place(|| drop(postgres));
}
