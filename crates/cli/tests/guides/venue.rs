//! `docs/guides/without-internet.md`, `hardware-readers.md` and `watching.md`.

use reqwest::Method;
use serde_json::json;

use crate::desk::Desk;
use crate::reader::{Guide, Office, Shell, until, with};

const VENUE: &str = include_str!("../../../../docs/guides/without-internet.md");
const READERS: &str = include_str!("../../../../docs/guides/hardware-readers.md");
const WATCHING: &str = include_str!("../../../../docs/guides/watching.md");

/// An address on which nobody listened just now.
fn free() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Checks that the server speaks TLS, whatever its certificate.
async fn speaks_tls(shell: &Shell, listen: &str) {
    let ask = format!("command curl -sk -o /dev/null -w '%{{http_code}}' https://{listen}/readyz || true");
    until("the server speaks TLS", || async { shell.run(&ask).await.trim() == "200" }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_an_internet_speaks_tls() {
    let (mut guide, office) = (Guide::open(VENUE), Office::new());
    let folder = tempfile::Builder::new().prefix("admit-venue-").tempdir().unwrap();
    let shell = Shell::at(folder.path());
    assert_eq!(guide.take("sh", "--lan"), "admit demo --lan\n");
    assert!(shell.run("admit demo --help").await.contains("--lan"));
    shell.run(&guide.take("sh", "admit user add")).await;
    let listen = office.listen.as_str();
    let public = format!("https://{listen}");

    let serve = guide.take("sh", "--tls-self-signed");
    let mut server = shell.start(&with(&serve, &[("0.0.0.0:8443", listen), ("https://192.168.1.20:8443", &public)]));
    speaks_tls(&shell, listen).await;
    assert!(shell.run(&format!("curl http://{listen}/trust")).await.contains("Trust this Admit server"));
    server.kill().await.unwrap();

    let certificate = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                       -subj /CN=tickets.example.org -keyout key.pem -out chain.pem 2>/dev/null";
    shell.run(certificate).await;
    let serve = guide.take("sh", "--tls-cert");
    let ours = [("0.0.0.0:8443", listen), ("https://tickets.example.org:8443", &public)];
    let mut server = shell.start(&with(&serve, &ours));
    speaks_tls(&shell, listen).await;
    server.kill().await.unwrap();

    let doctor = shell.run(&with(&guide.take("sh", "admit doctor"), &[("0.0.0.0:8443", listen)])).await;
    assert!(doctor.lines().any(|line| line.starts_with("ok ") && line.contains(" tls ")), "{doctor}");
    guide.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_at_a_terminal_admits() {
    let (mut guide, mut desk) = (Guide::open(READERS), Desk::open().await);
    let gate = json!({ "id": "north", "name": "North", "zones": ["general"] });
    desk.office.call(Method::POST, &format!("/api/events/{}/gates", desk.event), Some(gate)).await;
    desk.write("tickets.csv", "barcode,zone\nTICKET-1,general\n");
    desk.shell.run("admit import tickets.csv --data-dir ./data --event $EVENT").await;
    let link = desk.link("north").await;
    desk.shell.set("LINK", &link);
    desk.run(&mut guide, "--pair").await;
    let verdict = desk.shell.answer(&guide.take("sh", "--once")).await;
    assert_eq!((&verdict["verdict"], &verdict["gate"]), (&json!("admit"), &json!("North")));
    guide.ends();
}

#[tokio::test(flavor = "multi_thread")]
async fn prometheus_reads_the_metrics() {
    let (mut guide, office) = (Guide::open(WATCHING), Office::new());
    let folder = tempfile::Builder::new().prefix("admit-watching-").tempdir().unwrap();
    let mut shell = Shell::at(folder.path());
    let (metrics, prometheus) = (free(), free());
    shell.set("ADMIT_LISTEN", &office.listen);
    shell.set("ADMIT_METRICS_LISTEN", &metrics);
    shell.run("admit user add --data-dir ./data --organization 'Old Harbour' --email you@example.org").await;
    let mut server = shell.start("admit serve --data-dir ./data");
    office.serves().await;
    let said = shell.run(&with(&guide.take("sh", "/metrics"), &[("127.0.0.1:9464", &metrics)])).await;
    assert!(said.contains("admit_build_info"), "{said}");
    let ops = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ops/prometheus");
    shell.run(&format!("cp {ops}/prometheus.yml {ops}/admit.rules.yml .")).await;
    shell.run(&guide.take("sh", "promtool")).await;
    let start = guide.take("sh", "prometheus --config.file");
    let start = format!("exec {} --storage.tsdb.path=./tsdb --web.listen-address={prometheus}", start.trim());
    let mut watching = shell.start(&start);
    let alerts = format!("command curl -s http://{prometheus}/api/v1/rules || true");
    until("Prometheus has the rules", || async { shell.run(&alerts).await.contains("AdmitStoreDown") }).await;
    watching.kill().await.unwrap();
    let doctor = guide.take("sh", "admit doctor");
    shell.run(&with(&doctor, &[("127.0.0.1:8080", &office.listen)])).await;
    guide.ends();
    server.kill().await.unwrap();
}
