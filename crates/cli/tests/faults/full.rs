//! The server's disk is full.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::disk::Disk;
use crate::hammer::Hammer;
use crate::serving::{Folder, Server, in_order};

const MEGABYTES: u32 = 192;

/// Fills all free space with a file.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).unwrap();
    for piece in [64 * 1024, 4 * 1024] {
        while file.write_all(&vec![1; piece]).is_ok() {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_whole_batches_are_refused_reads_work_and_it_goes_on_by_itself_once_there_is_room() {
    let folder = Folder::new("full");
    let Some(disk) = Disk::of_memory(folder.0.clone(), MEGABYTES) else { return };
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let server = Server::start(&disk.at.join("data")).await;
    let url = server.url();
    let mut device = Hammer::pair(&client, &server, 0).await;
    assert!(device.send(&client, &url).await);
    let filler = disk.at.join("filler");
    fill(&filler);
    // Batches are accepted as long as the journal has room.
    let mut taken = 0;
    let refused = loop {
        let (status, body) = device.offer(&client, &url).await.expect("a full disk is no reason to go");
        if status != 200 {
            break (status, body["code"].as_str().unwrap_or_default().to_owned());
        }
        taken += 1;
        assert!(taken < 20_000, "the disk is not full");
    };
    assert!([503, 507].contains(&refused.0) && refused.1 == "storage_full", "{refused:?}");
    let (event, key) = (server.told["event_id"].as_str().unwrap(), server.told["api_token"].as_str().unwrap());
    let asked = client.get(format!("{url}/api/events/{event}/occupancy")).bearer_auth(key).send().await.unwrap();
    assert_eq!(asked.status(), 200, "reads work");
    let (status, _) = device.offer(&client, &url).await.expect("an answer");
    assert!([503, 507].contains(&status), "still full, and still there");
    std::fs::remove_file(&filler).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    let missing = loop {
        if let Some(missing) = device.told_missing(&client, &url).await {
            break missing;
        }
        assert!(Instant::now() < end, "there is room again, and nothing can be written");
        tokio::time::sleep(Duration::from_millis(50)).await; // tidy-allow: the pause of a poll loop
    };
    let whole = (*device.acknowledged.last().unwrap() + 1, device.log.seq);
    assert_eq!(missing, [whole], "nothing of the refused batch is there");
    device.hand_over(&client, &url).await;
    server.kill().await;
    in_order(&disk.at.join("data"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_disk_without_one_byte_the_doctor_names_the_disk_and_says_to_make_room() {
    let folder = Folder::new("doctor-full");
    let Some(disk) = Disk::of_memory(folder.0.clone(), MEGABYTES) else { return };
    let data = disk.at.join("data");
    Server::start(&data).await.kill().await;
    fill(&disk.at.join("filler"));
    let run = Command::new(env!("CARGO_BIN_EXE_admit"))
        .args(["doctor", "--json", "--listen", "127.0.0.1:9", "--data-dir"])
        .arg(&data)
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let failed: Vec<_> = told["checks"].as_array().unwrap().iter().filter(|one| one["condition"] == "failed").collect();
    assert!(!run.status.success() && failed[0]["name"] == "disk", "the disk comes first: {told}");
    assert!(failed[0]["fix"].as_str().unwrap().contains("free some space"), "{told}");
    for after in &failed[1..] {
        assert!(after["fix"].as_str().unwrap().contains("make room"), "no other fix leads astray: {told}");
    }
}
