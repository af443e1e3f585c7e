//! `kill -9` at random moments under load. Required: no acknowledged scan is missing, `integrity_check` is ok,
//! `rebuild --check` finds no difference, and the server restarts without help. `ADMIT_KILLS` says how often; 10
//! without it.

mod serving;
#[path = "../../server/tests/it/signed.rs"]
mod signed;
mod hammer;

use tokio::time::Instant;

use hammer::{Hammer, hammer, life};
use serving::{Folder, Server};

const DEVICES: usize = 4;
/// The longest time between the server's first answer and the next kill, in milliseconds.
const LIFE_MS: u64 = 1_500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_scan_is_missing_however_often_the_server_is_killed() {
    let kills: u64 = std::env::var("ADMIT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let seed =
        std::env::var("ADMIT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(u64::from(std::process::id()));
    println!("{kills} kills, ADMIT_SEED={seed}");
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let folder = Folder::new("kill");
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let mut server = Server::start(&folder.0).await;
    let mut devices = Vec::new();
    for n in 0..DEVICES {
        devices.push(Hammer::pair(&client, &server, n).await);
    }
    let event = server.told["event_id"].clone();
    let mut cut_off = 0;
    for _ in 0..kills {
        let life = life(&mut random, LIFE_MS);
        let url = server.url();
        // Senders continue past the kill, so that requests are under way when it happens.
        let (back, ()) = tokio::join!(hammer(&client, &url, devices, Instant::now() + 2 * life), async {
            // tidy-allow: the random moment of the kill is what is tested
            tokio::time::sleep(life).await;
            server.kill().await;
        });
        devices = back;
        cut_off += devices.iter().filter(|device| device.open.is_some()).count();
        server = Server::start(&folder.0).await;
        assert_eq!(server.told["event_id"], event);
        for device in &devices {
            let lost = device.lost(&client, &server.url()).await;
            assert!(
                lost.is_empty(),
                "ADMIT_SEED={seed}: {} acknowledged and lost: {lost:?}",
                device.log.paired.device_id
            );
        }
    }
    // Interrupted batches are sent again, and then nothing is missing.
    let mut total = 0;
    for device in &mut devices {
        device.hand_over(&client, &server.url()).await;
        total += device.acknowledged.len();
    }
    println!("{total} scans acknowledged, {cut_off} batches cut off by a kill");
    assert!(total > 0 && cut_off > 0, "the kills hit nothing: nothing was proven");
    server.kill().await;
    serving::in_order(&folder.0);
}
