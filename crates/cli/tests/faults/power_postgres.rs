//! The power fails under PostgreSQL, under load. Its data are on a disk that is an image, and all its processes are
//! stopped before the image is copied. The server goes on, as if it was on another machine. A control PostgreSQL that
//! acknowledges before it flushes must lose rows, or the test proves nothing.

use std::path::Path;

use admit_store_postgres::testing;
use tokio::task::block_in_place;
use tokio::time::Instant;
use tokio_postgres::NoTls;

use crate::cut::{self, Plan};
use crate::database::{self, in_order, nothing_lost, ready};
use crate::disk::Disk;
use crate::hammer::{Hammer, hammer, life};
use crate::serving::Folder;

const DEVICES: usize = 3;
/// The longest time between the database's first answer and the next cut, in milliseconds.
const LIFE_MS: u64 = 1_200;
/// The number of rows that the control database acknowledges right before each cut.
const ROWS: i64 = 100;
/// Settings of both databases for a small write-ahead log, so that little is copied and checkpoints occur among the
/// cuts.
const SMALL: &str = "-c max_wal_size=64MB -c min_wal_size=32MB";
/// Settings of the control database: it acknowledges commits that a process flushes later.
const CARELESS: &str = "-c synchronous_commit=off -c wal_writer_delay=10s";

/// The two databases of a disk, with the address of the control database.
struct Databases {
    careful: testing::Server,
    careless: testing::Server,
    address: String,
    forgets: String,
}

impl Databases {
    fn make(disk: &Path) -> Self {
        let careful = testing::Server::start_at(disk.join("careful"), SMALL);
        let careless = testing::Server::start_at(disk.join("careless"), &format!("{SMALL} {CARELESS}"));
        let (address, forgets) = (careful.database(), careless.database());
        // tidy-allow: a database of this test's own
        testing::run_sql(&forgets, "CREATE TABLE t (cut BIGINT, n BIGINT)").unwrap();
        careless.admin("CHECKPOINT");
        Self { careful, careless, address, forgets }
    }
    /// Stops all processes of both databases. A process that starts others is stopped before these are listed.
    fn freeze(&self) -> Vec<u32> {
        let mut all = Vec::new();
        for server in [&self.careful, &self.careless] {
            cut::freeze(&server.processes()[..1]);
            let processes = server.processes();
            cut::freeze(&processes);
            all.extend(processes);
        }
        all
    }
    fn stop(&self) {
        self.careful.stop();
        self.careless.stop();
    }
    /// Starts both databases again; they recover by themselves.
    fn start_again(&self) {
        self.careful.start_again();
        self.careless.start_again();
    }
    /// Commits rows one by one in the control database; each is acknowledged.
    async fn forget(&self, cut: u64) {
        let (client, connection) = tokio_postgres::connect(&self.forgets, NoTls).await.unwrap();
        let driving = tokio::spawn(connection);
        for n in 1..=ROWS {
            // tidy-allow: a database of this test's own
            assert_eq!(client.execute("INSERT INTO t VALUES ($1, $2)", &[&(cut as i64), &n]).await.unwrap(), 1);
        }
        drop(client);
        driving.await.unwrap().unwrap();
    }
    /// The number of rows that the control database acknowledged before this cut, and lost.
    async fn forgotten(&self, cut: u64) -> i64 {
        let (client, connection) = tokio_postgres::connect(&self.forgets, NoTls).await.unwrap();
        tokio::spawn(connection);
        // tidy-allow: a database of this test's own
        let row = client.query_one("SELECT COUNT(*) FROM t WHERE cut = $1", &[&(cut as i64)]).await.unwrap();
        ROWS - row.get::<_, i64>(0)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_scan_is_missing_after_the_power_went_out_under_postgresql() {
    let Plan { cuts, seed, mut random } = Plan::told();
    let folder = Folder::new("power-postgres");
    std::fs::create_dir_all(&folder.0).unwrap();
    let image = |n: u64| folder.0.join(format!("disk-{n}.img"));
    cut::new_image(&image(0), 1_024);
    // The mount point is always the same, because the databases know it.
    let mounted = folder.0.join("mounted");
    let Some(mut disk) = Disk::of_image(mounted.clone(), &image(0)) else { return };
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let databases = block_in_place(|| Databases::make(&disk.at));
    let mut server = database::serve(&client, &databases.address, None, &folder.0.join("server")).await;
    let mut devices = Vec::new();
    for n in 0..DEVICES {
        devices.push(Hammer::pair(&client, &server, n).await);
    }
    let (mut cut_off, mut forgotten) = (0, Vec::new());
    for cut in 1..=cuts {
        let (url, life) = (server.url(), life(&mut random, LIFE_MS));
        let (back, ()) = tokio::join!(hammer(&client, &url, devices, Instant::now() + 2 * life), async {
            // tidy-allow: the random moment of the cut is what is tested
            tokio::time::sleep(life).await;
            databases.forget(cut).await;
            block_in_place(|| {
                let all = databases.freeze();
                cut::copy(&image(cut - 1), &image(cut));
                cut::kill(&all);
                databases.stop();
            });
        });
        devices = back;
        cut_off += devices.iter().filter(|device| device.open.is_some()).count();
        drop(disk);
        std::fs::remove_file(image(cut - 1)).unwrap();
        disk = Disk::of_image(mounted.clone(), &image(cut)).expect("the copy");
        block_in_place(|| databases.start_again());
        ready(&client, &server).await;
        nothing_lost(&client, &server, &devices, &format!("ADMIT_SEED={seed}, cut {cut}")).await;
        forgotten.push(databases.forgotten(cut).await);
    }
    let mut total = 0;
    for device in &mut devices {
        device.hand_over(&client, &server.url()).await;
        total += device.acknowledged.len();
    }
    println!(
        "{total} scans acknowledged, {cut_off} batches cut off; careless rows of {ROWS} lost in each: {forgotten:?}"
    );
    assert!(forgotten.iter().any(|rows| *rows > 0), "what was not flushed survived: these were no power cuts");
    assert!(total > 0, "nothing was acknowledged: nothing was shown");
    assert!(server.child.try_wait().unwrap().is_none(), "the server lived on");
    server.kill().await;
    block_in_place(|| in_order(&databases.address, &folder.0.join("server")));
    block_in_place(|| databases.stop());
}
