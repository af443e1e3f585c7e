//! PostgreSQL is killed and stopped under load, while the server goes on. PostgreSQL ends by `kill -9` of all its
//! processes, by an immediate stop, or by a stop that does not wait for clients. The variable `ADMIT_KILLS` says how
//! often; 3 without it.

use admit_store_postgres::testing;
use tokio::task::block_in_place;
use tokio::time::Instant;

use crate::cut;
use crate::database::{self, in_order, nothing_lost, ready};
use crate::hammer::{Hammer, hammer, life};
use crate::run;
use crate::serving::Folder;

const DEVICES: usize = 4;
/// The longest time between the database's first answer and its next end, in milliseconds.
const LIFE_MS: u64 = 1_000;

/// Ends the database's processes in one of the three ways, chosen by `n`.
fn end(server: &testing::Server, n: u64) {
    let all = server.processes();
    match n % 3 {
        // The first process starts others, so it is stopped while they are counted.
        0 => {
            cut::freeze(&all[..1]);
            cut::kill(&server.processes());
        }
        // Like `pg_ctl stop -m immediate`: every process ends at once, and nothing is written.
        1 => run("kill", &["-QUIT", &all[0].to_string()]),
        // Like `pg_ctl stop -m fast`, and like an upgrade of the machine.
        _ => run("kill", &["-INT", &all[0].to_string()]),
    }
    server.stop();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_scan_is_missing_however_often_postgresql_is_killed() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (kills, seed) = (number("ADMIT_KILLS").unwrap_or(3), number("ADMIT_SEED"));
    let seed = seed.unwrap_or(u64::from(std::process::id()));
    println!("{kills} kills, ADMIT_SEED={seed}");
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let folder = Folder::new("killed-postgres");
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let (postgres, address) = block_in_place(|| {
        let postgres = testing::Server::start(true);
        let address = postgres.database();
        (postgres, address)
    });
    let mut server = database::serve(&client, &address, None, &folder.0).await;
    let mut devices = Vec::new();
    for n in 0..DEVICES {
        devices.push(Hammer::pair(&client, &server, n).await);
    }
    let mut cut_off = 0;
    for kill in 0..kills {
        let (url, life) = (server.url(), life(&mut random, LIFE_MS));
        let (back, ()) = tokio::join!(hammer(&client, &url, devices, Instant::now() + 2 * life), async {
            // tidy-allow: the random moment of the kill is what is tested
            tokio::time::sleep(life).await;
            block_in_place(|| end(&postgres, kill));
        });
        devices = back;
        cut_off += devices.iter().filter(|device| device.open.is_some()).count();
        block_in_place(|| postgres.start_again());
        ready(&client, &server).await;
        nothing_lost(&client, &server, &devices, &format!("ADMIT_SEED={seed}, kill {}", kill + 1)).await;
    }
    let mut total = 0;
    for device in &mut devices {
        device.hand_over(&client, &server.url()).await;
        total += device.acknowledged.len();
    }
    println!("{total} scans acknowledged, {cut_off} batches cut off by a kill");
    assert!(total > 0 && cut_off > 0, "the kills hit nothing: nothing was proven");
    assert!(server.child.try_wait().unwrap().is_none(), "the server lived on");
    server.kill().await;
    block_in_place(|| in_order(&address, &folder.0));
    block_in_place(|| drop(postgres));
}
