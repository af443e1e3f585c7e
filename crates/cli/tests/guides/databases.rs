//! `docs/guides/postgres-redis.md`, `several-nodes.md` and `backups.md`.

use admit_store_postgres::testing::Server;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::private_redis::Redis;
use crate::reader::{Guide, Office, Shell, with};

const ONE: &str = include_str!("../../../../docs/guides/postgres-redis.md");
const SEVERAL: &str = include_str!("../../../../docs/guides/several-nodes.md");
const BACKUPS: &str = include_str!("../../../../docs/guides/backups.md");
/// The address of Redis in the guides.
const REDIS: &str = "redis://10.0.0.7:6379";

/// Starts a PostgreSQL that flushes, as the guides require, and a Redis.
async fn services() -> (Server, Redis) {
    tokio::task::spawn_blocking(|| (Server::start(true), Redis::start())).await.unwrap()
}

fn shell(folder: &tempfile::TempDir, database: &str, redis: &Redis) -> Shell {
    let mut shell = Shell::at(folder.path());
    for (name, value) in [("DATABASE_URL", database), ("REDIS_URL", &redis.url()), ("ADMIT_SECRET_FILE", "./secret")] {
        shell.set(name, value);
    }
    shell
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_starts_on_postgresql_and_redis() {
    let (mut guide, (server, redis), office) = (Guide::open(ONE), services().await, Office::new());
    let folder = tempfile::Builder::new().prefix("admit-postgres-").tempdir().unwrap();
    let some = tokio::task::block_in_place(|| server.database());
    // The guide's names of role and database exist on the tests' server already, so other names replace them.
    let sql = guide.take("sql", "CREATE ROLE");
    let sql = with(&sql, &[("ROLE admit ", "ROLE admit_guide "), ("admit OWNER admit", "guide OWNER admit_guide")]);
    tokio::task::block_in_place(|| {
        sql.split(';').filter(|one| !one.trim().is_empty()).for_each(|one| server.admin(one))
    });
    let (place, _) = some.split_once(" user=").unwrap();
    let database = format!("{place} user=admit_guide dbname=guide");
    let shell = shell(&folder, &database, &redis);
    shell.run(&guide.take("sh", "openssl rand")).await;
    let table = [
        ("postgres://admit:choose%20one@db.example.org/admit?sslmode=verify-full", database.as_str()),
        (REDIS, &redis.url()),
        ("127.0.0.1:8080", &office.listen),
        ("https://tickets.example.org", &office.url),
    ];
    let mut node = shell.start(&with(&guide.take("sh", "admit serve"), &table));
    office.serves().await;
    let made = shell.run(&guide.take("sh", "admit user add")).await;
    assert!(made.contains("password: "), "{made}");
    let doctor = shell.run(&guide.take("sh", "admit doctor")).await;
    for part in ["database", "redis"] {
        let line = doctor.lines().find(|line| line.contains(&format!(" {part} "))).unwrap();
        assert!(line.starts_with("ok "), "{line}");
    }
    guide.ends();
    node.kill().await.unwrap();
    tokio::task::block_in_place(|| drop((server, redis)));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_serve_the_same() {
    let (mut guide, (server, redis)) = (Guide::open(SEVERAL), services().await);
    let (one, mut two) = (Office::new(), Office::new());
    let folder = tempfile::Builder::new().prefix("admit-nodes-").tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), "0123456789abcdef0123456789abcdef\n").unwrap();
    let database = tokio::task::block_in_place(|| server.database());
    let shell = shell(&folder, &database, &redis);
    let mut nodes = Vec::new();
    for (office, address, metrics) in
        [(&one, "127.0.0.1:8081", "127.0.0.1:9465"), (&two, "127.0.0.1:8082", "127.0.0.1:9466")]
    {
        let theirs = "postgres://admit@db.example.org/admit";
        let table = [(theirs, database.as_str()), (REDIS, &redis.url()), (address, &office.listen), (metrics, "off")];
        // Variables before a command do not reach a shell function, so they are exported as well.
        let script = with(&guide.take("sh", "ADMIT_NODE="), &table).replace("ADMIT_NODE=", "export ADMIT_NODE=");
        nodes.push(shell.start(&script.replace(" admit serve", "; admit serve")));
        office.serves().await;
    }
    assert!(guide.take("", "reverse_proxy").contains("health_uri /readyz"));
    for (office, address) in [(&one, "127.0.0.1:8081"), (&two, "127.0.0.1:8082")] {
        let ready = shell.answer(&with(&guide.take("sh", "/readyz"), &[(address, &office.listen)])).await;
        assert_eq!(ready["ready"], true);
    }
    shell.run("admit user add --organization 'Old Harbour' --email you@example.org").await;
    two.acts_with(&shell.run("admit token create --email you@example.org").await);
    assert_eq!(two.get("/api/events").await["items"], json!([]));
    guide.ends();
    for mut node in nodes {
        node.kill().await.unwrap();
    }
    tokio::task::block_in_place(|| drop((server, redis)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_taken_rehearsed_and_put_back() {
    let (mut guide, mut desk) = (Guide::open(BACKUPS), Desk::open().await);
    desk.run(&mut guide, "admit backup").await;
    assert!(guide.take("", "admit backup --config").contains("+\\%F"));
    let rebuilt = desk.run(&mut guide, "admit rebuild --check").await;
    assert!(rebuilt.contains("0 differ"), "{rebuilt}");
    let ledgers = desk.run(&mut guide, "admit audit verify").await;
    assert!(ledgers.contains("0 broken"), "{ledgers}");
    let lost = desk.office.event().await;
    assert_ne!(lost, desk.event);
    desk.stop().await;
    desk.run(&mut guide, "admit restore").await;
    assert!(desk.folder.path().join("data/admit.db.before-restore-1").exists());
    desk.start_again().await;
    let events = desk.office.get("/api/events").await;
    let ids: Vec<&Value> = events["items"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(desk.event)], "what was made after the backup is gone");
    guide.ends();
}
