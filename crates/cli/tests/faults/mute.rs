//! The disk of the log is full. The server can log nothing, but must neither end nor hang for that reason.

use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::{Child, Command};

use crate::hammer::Hammer;
use crate::run;
use crate::serving::{Folder, Server, in_order};

/// The binary with a log that accepts nothing.
fn mute() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_admit"));
    command.stderr(Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap()));
    command
}

/// Asks the process to stop, and waits until it has.
async fn stops_in_good_order(mut child: Child) {
    run("kill", &["-TERM", &child.id().unwrap().to_string()]);
    let ended = tokio::time::timeout(Duration::from_secs(30), child.wait()).await;
    assert_eq!(ended.expect("it does not stop").unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_log_takes_nothing_serves_and_stops_in_good_order() {
    let folder = Folder::new("mute");
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let server = Server::start_by(mute(), &folder.0, &[("RUST_LOG", "debug".to_owned())]).await;
    let mut device = Hammer::pair(&client, &server, 0).await;
    assert!(device.send(&client, &server.url()).await);
    stops_in_good_order(server.child).await;
    // The demo logs nothing at its start; `serve` does.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let mut serve = mute();
    serve.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--data-dir"]).arg(&folder.0);
    for name in ["DATABASE_URL", "PUBLIC_URL", "ADMIT_CONFIG", "ADMIT_SECRET", "REDIS_URL"] {
        serve.env_remove(name);
    }
    let mut child = serve.kill_on_drop(true).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !client.get(format!("{url}/readyz")).send().await.is_ok_and(|answer| answer.status() == 200) {
        assert_eq!(child.try_wait().unwrap(), None, "it ended");
        assert!(Instant::now() < end, "it does not serve");
        tokio::time::sleep(Duration::from_millis(20)).await; // tidy-allow: the pause of a poll loop
    }
    assert!(device.send(&client, &url).await);
    stops_in_good_order(child).await;
    in_order(&folder.0);
}
