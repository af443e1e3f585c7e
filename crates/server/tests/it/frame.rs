//! Rules for every answer: problems, headers, methods, requests of other sites, encodings, the documents.

use std::io::Write;
use std::time::{Duration, Instant};

use admit_server::{listen, metrics_router};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::device::Phone;
use crate::server::{TestServer, json, problem};

#[tokio::test]
async fn what_is_not_there_and_methods_that_are_not_taken_are_problems() {
    let server = TestServer::start().await;
    problem(server.get("/api/nothing").send().await.unwrap(), 404, "no_such_route").await;
    problem(server.post("/nothing").send().await.unwrap(), 404, "no_such_route").await;
    problem(server.get("/assets/gone-1234.js").send().await.unwrap(), 404, "no_such_file").await;
    problem(server.request(Method::PUT, "/api/scanning/pair").send().await.unwrap(), 405, "method_not_allowed").await;
    problem(server.get("/api/scanning/sync").send().await.unwrap(), 405, "method_not_allowed").await;
}

#[tokio::test]
async fn every_answer_has_its_time_its_id_and_the_headers_that_keep_browsers_careful() {
    let server = TestServer::start().await;
    for path in ["/healthz", "/api/scanning/time", "/api/nothing", "/docs"] {
        let answer = server.get(path).send().await.unwrap();
        let headers = answer.headers();
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "no-referrer", "{path}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe-inline"), "{path}: {policy}");
        assert!(policy.contains("base-uri 'none'"), "{path}: {policy}");
        assert!(!policy.contains("object-src"), "default-src covers objects. {path}: {policy}");
        assert!(!headers["x-request-id"].is_empty(), "{path}");
        let time = admit_core::time::Timestamp::parse(headers["x-server-time"].to_str().unwrap()).unwrap();
        assert!(server.state.app.clock.now().since(time).abs() < 60_000, "{path}");
    }
}

#[tokio::test]
async fn another_sites_page_changes_nothing() {
    let server = TestServer::start().await;
    let body = json!({ "pairing_token": "x", "device_id": "d" });
    let from = |name: &'static str, value: &'static str| {
        server.post("/api/scanning/pair").header(name, value).json(&body).send()
    };
    problem(from("sec-fetch-site", "cross-site").await.unwrap(), 403, "cross_site_request").await;
    problem(from("origin", "https://evil.example").await.unwrap(), 403, "cross_site_request").await;
    problem(from("sec-fetch-site", "same-origin").await.unwrap(), 404, "not_found").await;
    // A program sends neither header.
    problem(from("x-plain", "1").await.unwrap(), 404, "not_found").await;
}

#[tokio::test]
async fn no_other_site_may_read_an_answer() {
    let server = TestServer::start().await;
    for method in [Method::GET, Method::OPTIONS] {
        for path in ["/api/session", "/api/scanning/time", "/healthz"] {
            let asked = server.request(method.clone(), path).header("origin", "https://evil.example");
            let answer = asked.header("access-control-request-method", "GET").send().await.unwrap();
            let allows = answer.headers().keys().any(|name| name.as_str().starts_with("access-control-allow"));
            assert!(!allows, "{method} {path}: {:?}", answer.headers());
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn bodies_may_be_gzip_or_zstd_and_nothing_else() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let body = json!({ "log_id": "log", "head": 0 }).to_string().into_bytes();
    let send = |encoding: &'static str, body: Vec<u8>| {
        let request = phone.bearer(server.post("/api/scanning/log-status"));
        request.header("content-type", "application/json").header("content-encoding", encoding).body(body).send()
    };
    for (encoding, body) in
        [("gzip", gzip(&body)), ("zstd", zstd::encode_all(&body[..], 3).unwrap()), ("identity", body.clone())]
    {
        assert_eq!(json(send(encoding, body).await.unwrap(), 200).await, json!({ "missing": [] }), "{encoding}");
    }
    problem(send("br", body.clone()).await.unwrap(), 415, "unsupported_content_encoding").await;
    problem(send("gzip, gzip", gzip(&gzip(&body))).await.unwrap(), 415, "unsupported_content_encoding").await;
    problem(send("gzip", body).await.unwrap(), 400, "body_not_decodable").await;
}

#[tokio::test]
async fn a_bomb_is_refused_at_once_and_the_server_goes_on() {
    let server = TestServer::start().await;
    let phone = Phone::pair(&server, &server.home, "a").await;
    let mut brackets = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut spaces = zstd::Encoder::new(Vec::new(), 3).unwrap();
    for _ in 0..256 {
        brackets.write_all(&vec![b'['; 1024 * 1024]).unwrap();
        spaces.write_all(&vec![b' '; 1024 * 1024]).unwrap();
    }
    let cases =
        [("gzip", brackets.finish().unwrap(), "body_too_deep"), ("zstd", spaces.finish().unwrap(), "body_too_large")];
    for (encoding, body, code) in cases {
        let started = Instant::now();
        let request = phone.bearer(server.post("/api/scanning/sync")).header("content-type", "application/json");
        let answer = request.header("content-encoding", encoding).body(body).send().await.unwrap();
        problem(answer, 413, code).await;
        assert!(started.elapsed() < Duration::from_secs(2), "{encoding} took {:?}", started.elapsed());
    }
    assert_eq!(server.get("/healthz").send().await.unwrap().status(), 200);
}

/// The server's answer to exactly these bytes.
async fn raw(server: &TestServer, request: String) -> (u16, Value) {
    let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

#[tokio::test]
async fn a_body_has_a_length_or_comes_in_chunks() {
    let server = TestServer::start().await;
    let head = format!(
        "POST /api/scanning/pair HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n",
        server.address()
    );
    let (status, body) = raw(&server, format!("{head}\r\n")).await;
    assert_eq!((status, body["code"].as_str()), (411, Some("length_required")));
    let (status, body) = raw(&server, format!("{head}Content-Length: 0\r\n\r\n")).await;
    assert_eq!((status, body["code"].as_str()), (400, Some("invalid_request")));
    let (status, body) = raw(&server, format!("{head}Content-Length: 99999999999\r\n\r\n")).await;
    assert_eq!((status, body["code"].as_str()), (413, Some("body_too_large")));
    let chunks = "2\r\n{}\r\n0\r\n\r\n";
    let (status, body) = raw(&server, format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}")).await;
    assert_eq!((status, body["errors"][0]["path"].as_str()), (400, Some("pairing_token")));
}

#[tokio::test]
async fn the_document_describes_every_route_and_the_page_shows_them() {
    let server = TestServer::start().await;
    let document = json(server.get("/openapi.json").send().await.unwrap(), 200).await;
    for (method, path) in [
        ("post", "/api/scanning/pair"),
        ("get", "/api/scanning/events/{id}/manifest"),
        ("get", "/api/scanning/events/{id}/changes"),
        ("post", "/api/scanning/events/{id}/heartbeat"),
        ("post", "/api/scanning/sync"),
        ("get", "/api/scanning/time"),
        ("post", "/api/scanning/log-status"),
        ("get", "/api/events/{id}/stream"),
    ] {
        assert!(document["paths"][path][method].is_object(), "{method} {path}");
    }
    let text = document.to_string();
    for name in text.split("#/components/schemas/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document["components"]["schemas"][name].is_object(), "{name} is named and not described");
    }
    let page = server.get("/docs").send().await.unwrap().text().await.unwrap();
    assert!(page.contains("/api/scanning/events/{id}/manifest") && !page.contains("<script"));
    assert!(!page.contains("http://") && !page.contains("https://"), "the page needs nobody else");
}

#[tokio::test]
async fn health_and_metrics_answer() {
    let server = TestServer::start().await;
    let ready = server.get("/readyz").send().await.unwrap();
    assert_eq!(ready.status(), 200);
    let ready: serde_json::Value = ready.json().await.unwrap();
    let condition = |name: &str| {
        let checks = ready["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).map(|check| check["condition"].clone())
    };
    assert_eq!((&ready["ready"], condition("database")), (&true.into(), Some("ok".into())), "{ready}");
    assert_eq!(condition("clock"), Some("ok".into()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let serving = listen::serve(listener, metrics_router(server.state.clone()), server.state.shutdown.clone());
    let serving = tokio::spawn(serving);
    let answer = server.client.get(url).send().await.unwrap();
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let metrics = answer.text().await.unwrap();
    assert!(metrics.contains("admit_http_requests_total") && metrics.ends_with("# EOF\n"), "{metrics}");
    // The public address serves a page of the app there, or nothing; never a metric.
    let public = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    assert!(!public.contains("admit_"), "{public}");
    server.state.shutdown.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn long_answers_are_compressed_for_those_who_take_it() {
    let server = TestServer::start().await;
    let answer = server.get("/openapi.json").header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let answer = server.get("/openapi.json").send().await.unwrap();
    assert!(!answer.headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn time_lies_between_asking_and_answering() {
    let server = TestServer::start().await;
    let before = server.state.app.clock.now().ms();
    let body = json(server.get("/api/scanning/time").send().await.unwrap(), 200).await;
    let after = server.state.app.clock.now().ms();
    let (received, sent) = (body["received_at_ms"].as_i64().unwrap(), body["sent_at_ms"].as_i64().unwrap());
    assert!(before - 5 <= received && received <= sent && sent <= after + 5, "{before} {body} {after}");
}
