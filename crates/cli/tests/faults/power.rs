//! The power fails under load, and data that were not flushed to the disk are lost. The server's disk is an image. The
//! test stops the server and copies the image; data that the system has only in memory are not in the copy.
//! `ADMIT_CUTS` says how often; 2 without it. A control database that does not flush must lose rows, or the test
//! proves nothing.

use std::path::Path;

use rusqlite::Connection;
use tokio::time::Instant;

use crate::cut::{self, Plan};
use crate::disk::Disk;
use crate::hammer::{Hammer, hammer, life};
use crate::serving::{Folder, Server, in_order};

const DEVICES: usize = 3;
/// The longest time between the server's first answer and the next cut, in milliseconds.
const LIFE_MS: u64 = 1_200;
/// The number of rows written to the database that does not flush.
const ROWS: i64 = 100;

/// A database whose commits are not flushed: `synchronous = NORMAL` in write-ahead mode.
fn careless(path: &Path) -> Connection {
    let database = Connection::open(path).unwrap();
    // tidy-allow: a database of this test's own
    database.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (n INTEGER); PRAGMA synchronous = FULL").unwrap();
    // tidy-allow: a database of this test's own
    database.execute_batch("INSERT INTO t VALUES (0); PRAGMA synchronous = NORMAL").unwrap();
    database
}

/// The number of rows that a database without flushing still has.
fn kept(path: &Path) -> i64 {
    let database = Connection::open(path).unwrap();
    // tidy-allow: a database of this test's own
    database.query_row("SELECT COUNT(*) FROM t WHERE n > 0", [], |row| row.get(0)).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_scan_is_missing_after_the_power_went_out() {
    let Plan { cuts, seed, mut random } = Plan::told();
    let folder = Folder::new("power");
    std::fs::create_dir_all(&folder.0).unwrap();
    let image = |n: u64| folder.0.join(format!("disk-{n}.img"));
    cut::new_image(&image(0), 512);
    let Some(mut disk) = Disk::of_image(folder.0.join("mounted-0"), &image(0)) else { return };
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let mut server = Server::start(&disk.at.join("data")).await;
    let mut devices = Vec::new();
    for n in 0..DEVICES {
        devices.push(Hammer::pair(&client, &server, n).await);
    }
    let (mut forgotten, mut cut_off) = (0, 0);
    for cut in 1..=cuts {
        let control = careless(&disk.at.join("careless.db"));
        let (url, life) = (server.url(), life(&mut random, LIFE_MS));
        let (back, ()) = tokio::join!(hammer(&client, &url, devices, Instant::now() + 2 * life), async {
            // tidy-allow: the random moment of the cut is what is tested
            tokio::time::sleep(life).await;
            let pid = server.child.id().unwrap();
            tokio::task::block_in_place(|| {
                cut::freeze(&[pid]);
                for n in 1..=ROWS {
                    // tidy-allow: a database of this test's own
                    control.execute("INSERT INTO t VALUES (?1)", [n]).unwrap();
                }
                cut::copy(&image(cut - 1), &image(cut));
            });
            server.kill().await;
        });
        devices = back;
        cut_off += devices.iter().filter(|device| device.open.is_some()).count();
        drop(control);
        drop(disk);
        std::fs::remove_file(image(cut - 1)).unwrap();
        disk = Disk::of_image(folder.0.join(format!("mounted-{cut}")), &image(cut)).expect("the copy");
        forgotten += ROWS - kept(&disk.at.join("careless.db"));
        std::fs::remove_file(disk.at.join("careless.db")).unwrap();
        server = Server::start(&disk.at.join("data")).await;
        for device in &devices {
            let lost = device.lost(&client, &server.url()).await;
            assert!(lost.is_empty(), "ADMIT_SEED={seed}: acknowledged and lost in cut {cut}: {lost:?}");
        }
    }
    let mut total = 0;
    for device in &mut devices {
        device.hand_over(&client, &server.url()).await;
        total += device.acknowledged.len();
    }
    println!("{total} scans acknowledged, {cut_off} batches cut off, {forgotten} careless rows lost");
    assert!(forgotten > 0, "what was not flushed survived: these were no power cuts");
    assert!(total > 0, "nothing was acknowledged: nothing was shown");
    server.kill().await;
    in_order(&disk.at.join("data"));
}
