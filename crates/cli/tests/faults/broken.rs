//! The disk fails at a commit. The test makes the operating system refuse every further byte that the process writes to
//! files. For SQLite this is an unexplained I/O error.

use std::time::Duration;

use tokio::process::Command;

use crate::hammer::Hammer;
use crate::run;
use crate::serving::{Folder, Server, in_order};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_io_error_at_a_commit_nothing_is_acknowledged_the_process_ends_and_the_next_one_goes_on() {
    let folder = Folder::new("broken");
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    // The system also sends a signal that would end the process, so the signal is ignored. The log is a file too, and
    // the server must stop properly although nothing can be logged.
    std::fs::create_dir_all(&folder.0).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\" 2>>\"$LOG\"", env!("CARGO_BIN_EXE_admit")]);
    command.env("LOG", folder.0.join("log"));
    let mut server = Server::start_by(command, &folder.0, &[]).await;
    let url = server.url();
    let mut device = Hammer::pair(&client, &server, 0).await;
    for _ in 0..3 {
        assert!(device.send(&client, &url).await);
    }
    let before = device.acknowledged.clone();
    run("prlimit", &["--pid", &server.child.id().unwrap().to_string(), "--fsize=0:0"]);
    let (status, body) = device.offer(&client, &url).await.expect("whoever waits is told");
    assert_eq!((status, body["code"].as_str()), (503, Some("store_unavailable")), "{body}");
    assert_eq!(device.acknowledged, before, "nothing is acknowledged");
    let ended = tokio::time::timeout(Duration::from_secs(30), server.child.wait()).await;
    let ended = ended.expect("the process goes on with a database that fails").unwrap();
    assert_eq!(ended.code(), Some(1), "whoever watches it sees that it failed");
    let server = Server::start(&folder.0).await;
    assert_eq!(device.lost(&client, &server.url()).await, [0; 0]);
    device.hand_over(&client, &server.url()).await;
    server.kill().await;
    in_order(&folder.0);
}
