//! Bodies that are small on the wire and a gigabyte when decoded.

use std::process::Command;

use serde_json::Value;

use crate::hammer::Hammer;
use crate::serving::{Folder, Server};

const GIGABYTE: usize = 1 << 30;
/// The most memory that the server may take in addition, in KiB: a body's limit and the memory for reading it.
const MOST_KIB: u64 = 256 * 1024;

/// A zstd frame of `length` equal bytes. Each block of 128 KiB is four bytes long.
fn zstd(byte: u8, length: usize) -> Vec<u8> {
    const BLOCK: usize = 128 * 1024;
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38];
    let blocks = length / BLOCK;
    for block in 1..=blocks {
        // The block's head: its size, its kind (one byte repeated), and whether it is the last.
        let head = (BLOCK << 3) | (1 << 1) | usize::from(block == blocks);
        frame.extend(&u32::try_from(head).unwrap().to_le_bytes()[..3]);
        frame.push(byte);
    }
    frame
}

/// A gzip of `length` equal bytes, in parts of a megabyte.
fn gzip(byte: char, length: usize) -> Vec<u8> {
    let script = format!(
        "import gzip, sys; sys.stdout.buffer.write(gzip.compress(b'{byte}' * 1048576) * {})",
        length / (1024 * 1024)
    );
    let run = Command::new("python3").args(["-c", &script]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    run.stdout
}

/// Skippable frames, and data after them.
fn skippable() -> Vec<u8> {
    let empty = [&0x184D_2A50_u32.to_le_bytes()[..], &0_u32.to_le_bytes()].concat();
    let mut frames = empty.repeat(100_000);
    frames.extend(zstd(b'[', GIGABYTE));
    frames
}

/// The peak of a process's memory, in KiB. Each processor counts for itself, so a later value may be slightly lower.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gigabyte_in_a_small_body_is_413_and_takes_no_memory() {
    let folder = Folder::new("bombs");
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let server = Server::start(&folder.0).await;
    let mut device = Hammer::pair(&client, &server, 0).await;
    assert!(device.send(&client, &server.url()).await);
    let pid = server.child.id().unwrap();
    let before = peak(pid);
    let bombs = [
        ("zstd", zstd(b'[', GIGABYTE), "body_too_deep"),
        ("zstd", zstd(b' ', GIGABYTE), "body_too_large"),
        ("zstd", skippable(), "body_too_deep"),
        ("gzip", gzip('[', GIGABYTE), "body_too_deep"),
        ("gzip", gzip(' ', GIGABYTE), "body_too_large"),
    ];
    for (encoding, body, code) in bombs.iter().chain(&bombs) {
        let request =
            client.post(format!("{}/api/scanning/sync", server.url())).bearer_auth(&device.log.paired.api_key);
        let request = request.header("content-type", "application/json").header("content-encoding", *encoding);
        let answer = request.body(body.clone()).send().await.unwrap();
        assert_eq!(answer.status(), 413, "{encoding} {code}");
        let said: Value = answer.json().await.unwrap();
        assert_eq!(said["code"], *code, "{encoding}");
    }
    let more = peak(pid).saturating_sub(before);
    println!("{more} KiB more at most");
    assert!(more <= MOST_KIB, "{more} KiB for bodies of a gigabyte");
    assert!(device.send(&client, &server.url()).await, "and it goes on");
    server.kill().await;
}

/// Bodies of many tiny items, each of which takes a hundred times its bytes when it is parsed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_of_tiny_things_is_refused_before_it_grows() {
    const SENT: usize = 15 * 1024 * 1024;
    let folder = Folder::new("tiny");
    let client = admit_server::adapters::http_client::builder().no_proxy().build().unwrap();
    let server = Server::start(&folder.0).await;
    let mut device = Hammer::pair(&client, &server, 0).await;
    assert!(device.send(&client, &server.url()).await);
    let pid = server.child.id().unwrap();
    let before = peak(pid);
    let full =
        |of: &str, from: &str, to: &str| format!("{from}{}{of}{to}", format!("{of},").repeat(SENT / (of.len() + 1)));
    let sync = r#"{"device_id":"x","sync_batch_id":"b","scans":["#;
    let bombs = [
        // The caller is not authenticated yet. A NUL makes the server search for its place.
        ("session", full(r#"{"":0}"#, r#"{"email":"\u0000","password":"x","more":["#, "]}"), 413, "body_too_large"),
        ("scanning/pair", full("[]", r#"{"more":["#, "]}"), 413, "body_too_large"),
        ("scanning/sync", full("0", sync, "]}"), 400, "invalid_request"),
        ("scanning/sync", full(r#"{"":0}"#, r#"{"a":"\u0000","more":["#, "]}"), 400, "invalid_request"),
        ("scans/sync", full(r#"{"":0}"#, r#"{"a":"\u0000","more":["#, "]}"), 400, "invalid_request"),
    ];
    for (path, body, status, code) in bombs {
        let request = client.post(format!("{}/api/{path}", server.url())).bearer_auth(&device.log.paired.api_key);
        let answer = request.header("content-type", "application/json").body(body).send().await.unwrap();
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(answer.json::<Value>().await.unwrap()["code"], code, "{path}");
    }
    let more = peak(pid).saturating_sub(before);
    println!("{more} KiB more at most");
    assert!(more <= MOST_KIB, "{more} KiB for bodies of {SENT} bytes");
    assert!(device.send(&client, &server.url()).await, "and it goes on");
    server.kill().await;
}
