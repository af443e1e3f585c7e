//! `GET …/manifest` over HTTP: both signatures, encodings, 304, deltas.

use std::io::Read;

use admit_core::sign::{body_signature, check_body_signature};
use reqwest::Response;
use serde_json::Value;

use crate::device::Phone;
use crate::server::{TestServer, problem};

async fn fetch(server: &TestServer, phone: &Phone, query: &str, headers: &[(&str, &str)]) -> Response {
    let path = format!("/api/scanning/events/{}/manifest{query}", phone.event_id());
    let request = phone.bearer(server.get(&path));
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
}

/// Cuts the last member out of the bytes, as a device does.
fn without_signature(body: &[u8]) -> (Vec<u8>, String) {
    let text = std::str::from_utf8(body).unwrap();
    let at = text.rfind(",\"signature\":\"").unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    (format!("{}}}", &text[..at]).into_bytes(), value["signature"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn both_signatures_hold_under_the_devices_key_in_every_encoding() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let key = phone.key();
    for encoding in ["identity", "gzip", "zstd", "gzip, deflate, br, zstd"] {
        let answer = fetch(&server, &phone, "", &[("accept-encoding", encoding)]).await;
        assert_eq!(answer.status(), 200);
        let signature = answer.headers()["x-signature"].to_str().unwrap().to_owned();
        let coding = answer.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
        let bytes = answer.bytes().await.unwrap().to_vec();
        let body = match coding.as_deref() {
            None => bytes,
            Some("gzip") => {
                let mut plain = Vec::new();
                flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
                plain
            }
            Some("zstd") => zstd::decode_all(&bytes[..]).unwrap(),
            Some(other) => panic!("{other}"),
        };
        assert_eq!(coding.is_none(), encoding == "identity", "{encoding}");
        assert!(check_body_signature(key, &body, &signature), "{encoding}: X-Signature");
        let (unsigned, inner) = without_signature(&body);
        assert_eq!(inner, body_signature(key, &unsigned), "{encoding}: signature");
        let list: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(list["tickets"].as_array().unwrap().len(), 10);
        assert_eq!(list["event_id"], phone.event_id().as_str());
    }
}

#[tokio::test]
async fn who_has_the_newest_is_told_so_and_a_change_is_sent_as_a_delta() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let answer = fetch(&server, &phone, "", &[]).await;
    let etag = answer.headers()["etag"].to_str().unwrap().to_owned();
    assert!(etag.starts_with("W/\""), "{etag}");
    let version = answer.json::<Value>().await.unwrap()["manifest_version"].as_u64().unwrap();
    let again = fetch(&server, &phone, "", &[("if-none-match", &etag)]).await;
    assert_eq!(again.status(), 304);
    assert_eq!(again.headers()["etag"].to_str().unwrap(), etag);
    assert!(again.headers().contains_key("x-admit-witness"));

    let new = admit_app::tickets::NewTicket { barcode: Some("LATE-1".into()), ..Default::default() };
    let home = &server.home;
    admit_app::tickets::create(&server.state.app, &home.owner, home.event_id.clone(), vec![new]).await.unwrap();
    assert_eq!(fetch(&server, &phone, "", &[("if-none-match", &etag)]).await.status(), 200);
    let delta = fetch(&server, &phone, &format!("?since={version}"), &[]).await.json::<Value>().await.unwrap();
    assert_eq!(delta["since"], version);
    assert_eq!(delta["upserts"].as_array().unwrap().len(), 1);
    assert!(delta.get("tickets").is_none());
}

#[tokio::test]
async fn the_devices_clock_is_answered_in_whole_seconds() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let slow = server.state.app.clock.now().plus_ms(-30_000).to_string();
    let list = fetch(&server, &phone, "", &[("x-device-time", &slow)]).await.json::<Value>().await.unwrap();
    assert!((29..=31).contains(&list["offset_seconds"].as_i64().unwrap()), "{}", list["offset_seconds"]);
    let list = fetch(&server, &phone, "", &[]).await.json::<Value>().await.unwrap();
    assert_eq!(list["offset_seconds"], 0);
    let wrong = fetch(&server, &phone, "", &[("x-device-time", "yesterday")]).await;
    let wrong = problem(wrong, 400, "invalid_request").await;
    assert_eq!(wrong["errors"][0]["path"], "X-Device-Time");
}

#[tokio::test]
async fn the_body_reads_as_cores_own_shape() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let answer = fetch(&server, &phone, "", &[]).await;
    let body = answer.bytes().await.unwrap();
    assert!(body.ends_with(b"\"}"));
    let first = std::str::from_utf8(&body).unwrap();
    assert!(first.contains("\"barcode_hash\":\"sha256:"));
    assert!(!first.contains(&server.home.barcodes[0]), "a list never holds a code itself");
}
